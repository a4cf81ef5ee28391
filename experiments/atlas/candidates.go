package atlas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	_ "github.com/weft-sim/weft/experiments/kinds" // candidates are measured by the kinds cost and traffic
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
)

// Candidate is a network that can be built at a size: the table [topology] of an experiment file.
type Candidate struct {
	Family   string
	Settings string // lines of TOML below type
}

// Table is the text of the table [topology].
func (c *Candidate) Table() string {
	return fmt.Sprintf("[topology]\ntype = %q\n%s", c.Family, c.Settings)
}

// Line is the settings in one line.
func (c *Candidate) Line() string {
	return strings.ReplaceAll(strings.TrimSpace(c.Settings), "\n", ", ")
}

// load makes the network, and the experiment that counts what it takes.
func (c *Candidate) load(set []string) (*experiments.File, topology.Topology, error) {
	f, err := experiments.Load("atlas", "kind = \"cost\"\n"+c.Table(), experiments.Options{Set: set})
	if err != nil {
		return nil, nil, err
	}
	n, err := f.TopologyOf(f.Points[0])
	return f, n, err
}

// Build makes the network.
func (c *Candidate) Build() (topology.Topology, error) {
	_, n, err := c.load(nil)
	return n, err
}

// mostRadix bounds the ports of a switch that are searched.
const mostRadix = 1024

// Candidates lists, of each family that scales to any size, the smallest network of at least so
// many terminals on switches of at most radix ports that carries uniform traffic, by its authors'
// rule of balance: as many terminals a switch as its channels allow. HyperX comes in each number of
// dimensions, PolarStar with either supernode. Families that cannot reach the size are left out.
func Candidates(terminals, radix int) []Candidate {
	var all []Candidate
	for _, find := range []func(n, r int) []Candidate{
		slimFlySize, polarFlySize, polarStarSize, dragonflySize, megaflySize, hyperXSize, fatTreeSize, oftSize, randomSize,
	} {
		all = append(all, find(terminals, radix)...)
	}
	return all
}

// share is how many of n things each of so many places has to take.
func share(n, places int) int { return (n + places - 1) / places }

// primePower tells the numbers by which several families scale.
func primePower(q int) bool {
	_, _, is := topology.PrimePower(q)
	return is
}

func slimFlySize(n, radix int) []Candidate {
	for q := 3; q <= radix; q++ {
		if !primePower(q) || q%4 == 2 {
			continue
		}
		degree := (3*q - ((q+1)%4 - 1)) / 2
		if p := share(n, 2*q*q); p <= (degree+1)/2 && degree+p <= radix {
			return []Candidate{{"slim-fly", fmt.Sprintf("q = %d\np = %d\n", q, p)}}
		}
	}
	return nil
}

func polarFlySize(n, radix int) []Candidate {
	for q := 2; q <= radix; q++ {
		if p := share(n, q*q+q+1); primePower(q) && p <= (q+2)/2 && q+1+p <= radix {
			return []Candidate{{"polarfly", fmt.Sprintf("q = %d\np = %d\n", q, p)}}
		}
	}
	return nil
}

func polarStarSize(n, radix int) []Candidate {
	var all []Candidate
	for _, supernode := range []string{"iq", "paley"} {
		best, switches := "", 0
		for q := 2; q < radix; q++ {
			if !primePower(q) {
				continue
			}
			for d := 0; q+1+d < radix; d++ {
				size := 2*d + 2
				fits := d%4 == 0 || d%4 == 3
				if supernode == "paley" {
					size, fits = 2*d+1, d > 0 && d%2 == 0 && primePower(2*d+1)
				}
				all := (q*q + q + 1) * size
				p := share(n, all)
				if degree := q + 1 + d; fits && p <= (degree+2)/3 && degree+p <= radix && (switches == 0 || all < switches) {
					best, switches = fmt.Sprintf("q = %d\nsupernode = %q\nd = %d\np = %d\n", q, supernode, d, p), all
				}
			}
		}
		if best != "" {
			all = append(all, Candidate{"polarstar", best})
		}
	}
	return all
}

func dragonflySize(n, radix int) []Candidate {
	for h := 1; 4*h-1 <= radix; h++ { // p = h, a = 2h
		if g := share(n, 2*h*h); g <= 2*h*h+1 {
			return []Candidate{{"dragonfly", fmt.Sprintf("p = %d\na = %d\nh = %d\ng = %d\n", h, 2*h, h, max(2, g))}}
		}
	}
	return nil
}

func megaflySize(n, radix int) []Candidate {
	for m := 1; 2*m <= radix; m++ { // p = leaves = spines = h
		if g := share(n, m*m); g <= m*m+1 {
			return []Candidate{{"megafly", fmt.Sprintf("p = %d\nleaves = %d\nspines = %d\nh = %d\ng = %d\n", m, m, m, m, max(2, g))}}
		}
	}
	return nil
}

func hyperXSize(n, radix int) []Candidate {
	var all []Candidate
	for dims := 1; dims <= 4; dims++ {
		for s := 2; dims*(s-1) < radix; s++ {
			switches := topology.Power(s, dims)
			if t := share(n, switches); t <= s && dims*(s-1)+t <= radix {
				list := strings.TrimSuffix(strings.Repeat(fmt.Sprint(s, ", "), dims), ", ")
				all = append(all, Candidate{"hyperx", fmt.Sprintf("dims = [%s]\nterminals = %d\n", list, t)})
				break
			}
		}
	}
	return all
}

// fatTreeSize uses half of the ports below the top each way. The top has the switches and cables
// that the pods need.
func fatTreeSize(n, radix int) []Candidate {
	half := radix / 2
	if half < 1 {
		return nil
	}
	m, w, parallel, below := []int{}, []int{}, []int{}, 1
	for below*radix < n {
		if len(m) == 6 {
			return nil
		}
		m, w, parallel, below = append(m, half), append(w, half), append(parallel, 1), below*half
		if half == 1 {
			return nil
		}
	}
	top := share(n, below)
	if len(m) == 0 {
		return []Candidate{{"xgft", fmt.Sprintf("m = [%d]\nw = [1]\n", max(1, top))}}
	}
	cables := half // parallel ones to each top switch
	for half%cables != 0 || top*cables > radix {
		cables--
	}
	m, w, parallel = append(m, top), append(w, half/cables), append(parallel, cables)
	w[0] = 1 // a terminal hangs from one leaf
	return []Candidate{{"xgft", fmt.Sprintf("m = %s\nw = %s\nparallel = %s\n", tomlList(m), tomlList(w), tomlList(parallel))}}
}

func tomlList(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }

func oftSize(n, radix int) []Candidate {
	for k := 3; 2*k <= radix && k <= topology.MaxDesignSize; k++ {
		if p := share(n, 2*(k*k-k+1)); primePower(k-1) && p <= k {
			return []Candidate{{"oft", fmt.Sprintf("k = %d\np = %d\n", k, p)}}
		}
	}
	return nil
}

// randomSize is the random graphs with the most terminals a switch for which the bound of uniform
// traffic by the least mean distance is 1 or more, all other ports leading to switches.
func randomSize(n, radix int) []Candidate {
	for t := radix - 3; t >= 1; t-- {
		switches := max(4, share(n, t))
		degree := min(radix-t, switches-1)
		if degree >= 3 && float64(degree) >= float64(t)*metrics.MeanDistanceBound(switches, degree) {
			return []Candidate{
				{"jellyfish", fmt.Sprintf("switches = %d\ndegree = %d\nterminals = %d\n", switches, degree, t)},
				{"xpander", fmt.Sprintf("degree = %d\nlift = %d\nterminals = %d\n", degree, share(switches, degree+1), t)},
			}
		}
	}
	return nil
}

// Listed is a network of a size with what it is and takes.
type Listed struct {
	Candidate
	Metrics               metrics.Metrics
	Capacity              float64 // bound of uniform traffic: of the family, or of all channels
	Radix, Cabinets       int
	Copper, Optical       int
	Longest, Watts, Price float64
}

// Ranks are what a list can be sorted by, the least first; of capacity the largest.
var ranks = map[string]func(l *Listed) float64{
	"price":     func(l *Listed) float64 { return l.Price / float64(l.Metrics.Terminals) },
	"power":     func(l *Listed) float64 { return l.Watts / float64(l.Metrics.Terminals) },
	"switches":  func(l *Listed) float64 { return float64(l.Metrics.Switches) },
	"cables":    func(l *Listed) float64 { return float64(l.Copper + l.Optical) },
	"optical":   func(l *Listed) float64 { return float64(l.Optical) },
	"diameter":  func(l *Listed) float64 { return float64(l.Metrics.Diameter()) },
	"distance":  func(l *Listed) float64 { return l.Metrics.MeanDistance },
	"capacity":  func(l *Listed) float64 { return -l.Capacity },
	"terminals": func(l *Listed) float64 { return float64(l.Metrics.Terminals) },
}

// Ranks lists their names in alphabetical order.
func Ranks() []string { return slices.Sorted(maps.Keys(ranks)) }

// mostTerminals bounds the size of lists.
const mostTerminals = 1 << 20

// List builds [Candidates] and sorts them by a rank, equals by family. set are settings KEY=VALUE
// of the floor and the prices of kind "cost".
func List(ctx context.Context, terminals, radix int, rank string, set []string) ([]Listed, error) {
	by, ok := ranks[rank]
	switch {
	case terminals < 1 || terminals > mostTerminals:
		return nil, fmt.Errorf("--terminals %d: want 1 to %d", terminals, mostTerminals)
	case radix < 2 || radix > mostRadix:
		return nil, fmt.Errorf("--radix %d: want 2 to %d ports", radix, mostRadix)
	case !ok:
		return nil, fmt.Errorf("--rank %s: want %s", rank, strings.Join(Ranks(), ", "))
	}
	var all []Listed
	for _, c := range Candidates(terminals, radix) {
		l, err := listed(ctx, c, set)
		if err != nil {
			return nil, err
		}
		all = append(all, *l)
	}
	slices.SortStableFunc(all, func(a, b Listed) int { return cmp.Compare(by(&a), by(&b)) })
	return all, nil
}

func listed(ctx context.Context, c Candidate, set []string) (*Listed, error) {
	f, n, err := c.load(set)
	if err != nil {
		return nil, err
	}
	l := &Listed{Candidate: c, Metrics: metrics.Measure(n.Graph())}
	l.Capacity = l.Metrics.UniformCapacity
	if x, ok := n.(topology.Formed); ok {
		if own := x.Forms().UniformCapacity; own > 0 {
			l.Capacity = min(l.Capacity, own)
		}
	}
	outcome, err := engine.Execute(ctx, f, engine.Execution{Jobs: 1})
	if err != nil {
		return nil, err
	}
	if len(outcome.Failures) > 0 {
		return nil, errors.New("atlas: " + c.Family + ": its cost cannot be computed")
	}
	var numbers []float64
	for _, name := range []string{"radix_ports", "cabinets", "cables_copper", "cables_optical", "longest_cable_m", "power_w", "price"} {
		x, err := outcome.Results.Numbers(name)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, x[0])
	}
	l.Radix, l.Cabinets, l.Copper, l.Optical = int(numbers[0]), int(numbers[1]), int(numbers[2]), int(numbers[3])
	l.Longest, l.Watts, l.Price = numbers[4], numbers[5], numbers[6]
	return l, nil
}

// ListTable is the list for a reader and for a file.
func ListTable(all []Listed) *results.Table {
	t := &results.Table{Columns: []string{"topology", "settings", "terminals", "switches", "radix_ports", "diameter_hops", "mean_distance_hops",
		"uniform_bound", "cables_copper", "cables_optical", "longest_cable_m", "cabinets", "power_kw", "price", "price_per_terminal"}}
	for _, l := range all {
		m := &l.Metrics
		t.Rows = append(t.Rows, []string{l.Family, l.Line(), fmt.Sprint(m.Terminals), fmt.Sprint(m.Switches), fmt.Sprint(l.Radix),
			fmt.Sprint(m.Diameter()), short(m.MeanDistance), short(l.Capacity), fmt.Sprint(l.Copper), fmt.Sprint(l.Optical),
			short(l.Longest), fmt.Sprint(l.Cabinets), short(l.Watts / 1000), fmt.Sprintf("%.0f", l.Price), fmt.Sprintf("%.0f", l.Price/float64(m.Terminals))})
	}
	return t
}

func short(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4g", x)
}
