package atlas

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/cables"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim/input"
)

// subject is the network that a row of the targets speaks of.
type subject struct {
	topology topology.Topology // nil: the graph is a file's, of no family
	graph    *topology.Graph
	file     string // graphs/FILE.edges.gz; "" if weft built the graph
	measured *metrics.Metrics
}

// subjectOf is the network of a registered family with some settings.
func subjectOf(family, settings string) (*subject, error) {
	config, err := topology.Registry.Config(family)
	if err == nil {
		_, err = toml.Decode(settings, config)
	}
	if err != nil {
		return nil, err
	}
	x, err := topology.Registry.Build(family, config, struct{}{})
	if err != nil {
		return nil, err
	}
	return &subject{topology: x, graph: x.Graph()}, nil
}

// metrics are measured when they are first asked for.
func (n *subject) metrics() *metrics.Metrics {
	if n.measured == nil {
		m := metrics.Measure(n.graph)
		n.measured = &m
	}
	return n.measured
}

// dataError is an error in a file of the folder.
type dataError struct{ error }

func (e *dataError) Unwrap() error { return e.error }

func dataErrorf(format string, args ...any) error { return &dataError{fmt.Errorf(format, args...)} }

// data is the text of a file of the folder that an entry needs.
func (r *Reference) data(file string) (string, error) {
	text, err := judge.ReadFile(r.folder, file)
	if err != nil {
		return "", dataErrorf("%s: cannot be read: %w", path.Join(r.name, file), err)
	}
	return text, nil
}

func (r *Reference) graphFile(name string, terminals int) (*subject, error) {
	file := "graphs/" + name + ".edges.gz"
	text, err := r.data(file)
	if err != nil {
		return nil, err
	}
	g, _, err := cables.ReadEdges(file, []byte(text), terminals)
	if err != nil {
		return nil, &dataError{err}
	}
	return &subject{graph: g, file: name}, nil
}

// numbers reads a file of the folder that holds numbers, by lines; those that begin with # do not
// count.
func (r *Reference) numbers(file string) ([][]int, error) {
	text, err := r.data(file)
	if err != nil {
		return nil, err
	}
	var rows [][]int
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" || strings.HasPrefix(fields[0], "#") {
			continue
		}
		row := make([]int, len(fields))
		for k, field := range fields {
			if row[k], err = strconv.Atoi(field); err != nil {
				return nil, dataErrorf("%s:%d: %q is no number", path.Join(r.name, file), i+1, field)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// nextHops is the table of a graph: next[r][d].
func (r *Reference) nextHops(n *subject) ([][]int, error) {
	file := "graphs/" + n.file + ".nexthop.gz"
	next, err := r.numbers(file)
	if err != nil {
		return nil, err
	}
	size := n.graph.Switches()
	if len(next) != size {
		return nil, dataErrorf("%s: %d rows, want %d", file, len(next), size)
	}
	for row, hops := range next {
		if len(hops) != size {
			return nil, dataErrorf("%s: row %d has %d columns, want %d", file, row, len(hops), size)
		}
		for d, hop := range hops {
			if hop < -1 || hop >= size || hop < 0 != (row == d) {
				return nil, dataErrorf("%s: row %d, column %d: %d, want a switch, 0 to %d, and -1 on the diagonal", file, row, d, hop, size-1)
			}
		}
	}
	return next, nil
}

// destinations is a permutation of the terminals of a graph, graphs/NAME.TRAFFIC.gz.
func (r *Reference) destinations(name, traffic string, terminals int) ([]int, error) {
	file := "graphs/" + name + "." + traffic + ".gz"
	rows, err := r.numbers(file)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, row := range rows {
		if len(row) != 1 || row[0] < 0 || row[0] >= terminals {
			return nil, dataErrorf("%s: destination %d: %v, want a terminal, 0 to %d", file, len(all), row, terminals-1)
		}
		all = append(all, row[0])
	}
	if len(all) != terminals {
		return nil, dataErrorf("%s: %d destinations, want %d", file, len(all), terminals)
	}
	return all, nil
}

// family says how a topology's instances are written, and which network weft builds for one: of a
// registered family, with settings that name the form's groups, or made of them.
type family struct{ Topology, Form, Network, Settings string }

//go:embed counterparts.toml
var counterpartsText string

// counterparts is what weft builds and runs: its file says more.
var counterparts = sync.OnceValue(func() (c struct {
	Families []family
	Metrics  map[string]string
	Sizes    map[string]string
	Routings map[string]struct {
		Text        string
		CanDeadlock bool `toml:"can_deadlock"`
	}
}) {
	if _, err := toml.Decode(counterpartsText, &c); err != nil {
		panic("atlas: " + err.Error())
	}
	return c
})

// balancedMegafly has as many leaves and spines a group as terminals a leaf and global cables a
// spine.
func balancedMegafly(half int) string {
	return fmt.Sprintf("leaves = %[1]d\nspines = %[1]d\nh = %[1]d\np = %[1]d\n", half)
}

// railsOf is the cluster without tapering of so many units and rails, a unit as large as half the
// ports of a switch: two levels as long as a leaf has a cable to every spine, else three. A leaf
// reaches as many of its rail's spines as it has uplinks; with more, a rail's units stand in
// groups.
func railsOf(units, rails, ports int) string {
	half := ports / 2
	if half < 1 || units < 1 || rails < 1 || units > 1<<16 || rails > 1<<16 {
		return "rails = 0\nnodes = 0\nunits = 0\nuplinks = 0\nspines = 0\ngroups = 0\n" // refused by its bounds
	}
	text := fmt.Sprintf("rails = %d\nnodes = %[2]d\nunits = %[3]d\nuplinks = %[2]d\n", rails, half, units)
	spines := units * rails * half / ports
	if spines <= half {
		return text + fmt.Sprintf("spines = %d\n", spines)
	}
	// As many spines as units for each rail, each with half of its ports down.
	groups := 1
	for groups <= units && (units%groups != 0 || units/groups > half || half%(units/groups) != 0) {
		groups++
	}
	return text + fmt.Sprintf("spines = %d\ncores = %d\nspine_uplinks = %d\ngroups = %d\n", units/min(groups, units), spines, half, groups)
}

// A PolarStar's factors and its terminals a router, as they may be written: ER_8 x Paley 13, ER_11
// x inductive quad, ER_11 * IQ of degree 3; q=11, supernode iq, d=3, p=5.
var (
	structureForm = input.Pattern(`(?i)\b(?:er[_ ]?\(?|q ?= ?)(\d+)`)
	paleyForm     = input.Pattern(`(?i)paley(?: graph)?[ _(]*(\d*)`)
	quadForm      = input.Pattern(`(?i)inductive[ -]quad(?:[ _(]*(?:of )?(\d+))?|\biq`)
	degreeForm    = input.Pattern(`(?i)(?:\bd' ?= ?|\biq[_ ]?|quad(?: of)? degree |q ?= ?\d+.*\bd ?= ?)(\d+)`)
	terminalForm  = input.Pattern(`(?i)(?:\bp ?= ?(\d+)|(\d+) terminals a router)`)
)

// polarStarOf is the settings of a PolarStar by its factors; "" if they are none. An inductive
// quad without a number is the smallest with cables, 8 switches of degree 3: with ER_11 it makes
// the network of 15 ports of the paper's evaluation.
func polarStarOf(instance string) string {
	number := func(form func() *regexp.Regexp) (n int, found bool) {
		groups := form().FindStringSubmatch(instance)
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
		return ""
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
	supernode := "iq"
	if paley {
		supernode = "paley"
	}
	return fmt.Sprintf("q = %d\nsupernode = %q\nd = %d\np = %d\n", q, supernode, degree, p)
}

// graphInstance is how a graph of the folder is written.
var graphInstance = input.Pattern(`^graphs/([A-Za-z0-9_.-]+)\.edges\.gz, (\d+) terminals a router$`)

// errNoInstance says that a row speaks of no network.
type errNoInstance struct{ t *Target }

func (e errNoInstance) Error() string {
	return fmt.Sprintf("%s, %q, is no network that is built here", e.t.Topology, e.t.Instance)
}

func (r *Reference) instance(t *Target) (*subject, error) {
	if f := graphInstance().FindStringSubmatch(t.Instance); f != nil {
		terminals, err := strconv.Atoi(f[2])
		if err != nil || terminals < 1 {
			return nil, fmt.Errorf("%s terminals a router", f[2])
		}
		return r.graphFile(f[1], terminals)
	}
	if t.Topology == "PolarStar" {
		if settings := polarStarOf(t.Instance); settings != "" {
			return subjectOf("polarstar", settings)
		}
	}
	text := t.ID + "\n" + strings.TrimSpace(t.Instance)
	for _, f := range counterparts().Families {
		form := regexp.MustCompile(f.Form)
		at := form.FindStringSubmatchIndex(text)
		if f.Topology != t.Topology || at == nil {
			continue
		}
		if f.Settings != "" {
			return subjectOf(f.Network, string(form.ExpandString(nil, f.Settings, text, at)))
		}
		var numbers []int
		for _, s := range form.FindStringSubmatch(text)[1:] {
			n, err := strconv.Atoi(s)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, n)
		}
		if f.Network == "megafly" {
			return subjectOf(f.Network, balancedMegafly(numbers[0]/2))
		}
		return subjectOf(f.Network, railsOf(numbers[0], numbers[1], numbers[2]))
	}
	return nil, errNoInstance{t}
}
