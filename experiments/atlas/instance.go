package atlas

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// family says how the instances of a topology are written, and what weft builds for one.
type family struct {
	topology string // in targets.csv
	form     *regexp.Regexp
	build    func(numbers []int) (topology.Topology, error) // the form's groups
}

// families are tried in order; of the id and the instance, joined by a line end, a form
// finds what it needs.
var families = []family{
	{"Slim Fly", regexp.MustCompile(`\nq=(\d+), p=(\d+)`), func(n []int) (topology.Topology, error) {
		return made("slim-fly", func(c *topology.SlimFlyConfig) { c.Q, c.P = n[0], n[1] })
	}},
	{"Slim Fly", regexp.MustCompile(`\nq=(\d+)$`), func(n []int) (topology.Topology, error) {
		return made("slim-fly", func(c *topology.SlimFlyConfig) { c.Q = n[0] })
	}},
	{"PolarFly", regexp.MustCompile(`\nq=(\d+), p=(\d+)`), func(n []int) (topology.Topology, error) {
		return made("polarfly", func(c *topology.PolarFlyConfig) { c.Q, c.P = n[0], n[1] })
	}},
	{"PolarFly", regexp.MustCompile(`\nq=(\d+)$`), func(n []int) (topology.Topology, error) {
		return made("polarfly", func(c *topology.PolarFlyConfig) { c.Q = n[0] })
	}},
	{"HyperX", regexp.MustCompile(`\n(\d+)x(\d+)x(\d+), (\d+) terminals a router`), func(n []int) (topology.Topology, error) {
		return made("hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Terminals = n[:3], n[3] })
	}},
	{"HyperX", regexp.MustCompile(`\n(\d+)x(\d+)x(\d+)$`), func(n []int) (topology.Topology, error) {
		return made("hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Terminals = n, 1 })
	}},
	{"HyperX", regexp.MustCompile(`\n(\d+)x(\d+)$`), func(n []int) (topology.Topology, error) {
		return made("hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Terminals = n, 1 })
	}},
	{"Dragonfly+ (Megafly)", regexp.MustCompile(`^megafly_l(\d+)_h(\d+)_T(\d+)_g(\d+)-`), func(n []int) (topology.Topology, error) {
		return made("megafly", func(c *topology.MegaflyConfig) {
			c.Leaves, c.Spines, c.H, c.P, c.G = n[0], n[0], n[1], n[2], n[3]
		})
	}},
	{"Dragonfly+ (Megafly)", regexp.MustCompile(`\nswitch radix (\d+)$`), func(n []int) (topology.Topology, error) {
		return made("megafly", func(c *topology.MegaflyConfig) {
			half := n[0] / 2
			c.Leaves, c.Spines, c.H, c.P = half, half, half, half
		})
	}},
	{"orthogonal fat tree (two levels)", regexp.MustCompile(`\nk=(\d+)$`), func(n []int) (topology.Topology, error) {
		return made("oft", func(c *topology.OFTConfig) { c.K = n[0] })
	}},
	{"rail-optimised", regexp.MustCompile(`, (\d+) scalable units, (\d+) rails, switches of (\d+) ports$`), func(n []int) (topology.Topology, error) {
		return made("rail-optimised", func(c *topology.RailConfig) { *c = railsOf(n[0], n[1], n[2]) })
	}},
}

// railsOf is the cluster without tapering of so many units and rails, a unit as large as half
// the ports of a switch: two levels as long as a leaf has a cable to every spine, else three. A
// leaf reaches as many spines of its rail as it has uplinks: with more of them the units of a
// rail stand in groups.
func railsOf(units, rails, ports int) topology.RailConfig {
	half := ports / 2
	if half < 1 || units < 1 || rails < 1 || units > 1<<16 || rails > 1<<16 {
		return topology.RailConfig{} // refused by its bounds
	}
	c := topology.RailConfig{Rails: rails, Nodes: half, Units: units, Uplinks: half, Spines: units * rails * half / ports, Groups: 1}
	if c.Spines > half {
		// As many spines as units for each rail, each with half of its ports down.
		c.Groups = 1
		for units%c.Groups != 0 || units/c.Groups > half || half%(units/c.Groups) != 0 {
			if c.Groups++; c.Groups > units {
				break
			}
		}
		c.Spines, c.Cores, c.SpineUplinks = units/min(c.Groups, units), units*rails*half/ports, half
	}
	return c
}

// The factors of a PolarStar and its terminals a router, as they may be written: ER_8 x Paley
// 13, ER_11 x inductive quad, ER_11 * IQ of degree 3; q=11, supernode iq, d=3, p=5.
var (
	structureForm = regexp.MustCompile(`(?i)\b(?:er[_ ]?\(?|q ?= ?)(\d+)`)
	paleyForm     = regexp.MustCompile(`(?i)paley(?: graph)?[ _(]*(\d*)`)
	quadForm      = regexp.MustCompile(`(?i)inductive[ -]quad(?:[ _(]*(?:of )?(\d+))?|\biq`)
	degreeForm    = regexp.MustCompile(`(?i)(?:\bd' ?= ?|\biq[_ ]?|quad(?: of)? degree |q ?= ?\d+.*\bd ?= ?)(\d+)`)
	terminalForm  = regexp.MustCompile(`(?i)(?:\bp ?= ?(\d+)|(\d+) terminals a router)`)
)

// polarStarOf builds a PolarStar by its factors; nil if they are none. An inductive quad
// without a number is the smallest with cables, 8 switches of degree 3: with ER_11 it makes
// the network of 15 ports of the paper's evaluation.
func polarStarOf(instance string) (topology.Topology, error) {
	number := func(form *regexp.Regexp) (n int, found bool) {
		groups := form.FindStringSubmatch(instance)
		for i := 1; i < len(groups); i++ {
			if x, err := strconv.Atoi(groups[i]); err == nil {
				n = x
			}
		}
		return n, groups != nil
	}
	q, known := number(structureForm)
	size, paley := number(paleyForm)
	quadSize, quad := number(quadForm)
	if !known || paley == quad {
		return nil, nil
	}
	degree, given := number(degreeForm)
	switch {
	case paley && size > 0:
		degree = (size - 1) / 2
	case given:
	case quadSize > 0:
		degree = (quadSize - 2) / 2
	default:
		degree = 3
	}
	p, _ := number(terminalForm)
	return made("polarstar", func(c *topology.PolarStarConfig) {
		c.Q, c.D, c.P, c.Supernode = q, degree, p, "iq"
		if paley {
			c.Supernode = "paley"
		}
	})
}

// made builds a registered topology.
func made[C any](name string, set func(*C)) (topology.Topology, error) {
	return param.Make(topology.Registry, name, struct{}{}, set)
}

// graphInstance is how a graph of the folder is written.
var graphInstance = regexp.MustCompile(`^graphs/([A-Za-z0-9_.-]+)\.edges\.gz, (\d+) terminals a router$`)

// errNoInstance says that a row speaks of no network.
type errNoInstance struct{ t *Target }

func (e errNoInstance) Error() string {
	return fmt.Sprintf("%s, %q, is no network that is built here", e.t.Topology, e.t.Instance)
}

// instance builds or reads the network of a row.
func (r *Reference) instance(t *Target) (*subject, error) {
	if f := graphInstance.FindStringSubmatch(t.Instance); f != nil {
		terminals, err := strconv.Atoi(f[2])
		if err != nil || terminals < 1 {
			return nil, fmt.Errorf("%s terminals a router", f[2])
		}
		return r.graphFile(f[1], terminals)
	}
	if t.Topology == "PolarStar" {
		if x, err := polarStarOf(t.Instance); x != nil || err != nil {
			if err != nil {
				return nil, err
			}
			return newSubject(x), nil
		}
	}
	text := t.ID + "\n" + strings.TrimSpace(t.Instance)
	for _, f := range families {
		found := f.form.FindStringSubmatch(text)
		if f.topology != t.Topology || found == nil {
			continue
		}
		var numbers []int
		for _, s := range found[1:] {
			n, err := strconv.Atoi(s)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, n)
		}
		x, err := f.build(numbers)
		if err != nil {
			return nil, err
		}
		return newSubject(x), nil
	}
	return nil, errNoInstance{t}
}
