package atlas

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
)

// Listed is a network of a size with what it is and takes.
type Listed struct {
	Candidate
	Metrics               topology.Metrics
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
func Ranks() []string {
	var names []string
	for name := range ranks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mostTerminals bounds the size of lists.
const mostTerminals = 1 << 20

// List builds what [Candidates] gives and sorts it by a rank; equals stay in the order of
// families. set are settings KEY=VALUE of the floor and the prices of kind "cost".
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
	slices.SortStableFunc(all, func(a, b Listed) int {
		switch x, y := by(&a), by(&b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return all, nil
}

// listed builds a candidate and counts what it takes.
func listed(ctx context.Context, c Candidate, set []string) (*Listed, error) {
	f, err := experiments.Load("atlas", "kind = \"cost\"\n"+c.Table(), experiments.Options{Set: set})
	if err != nil {
		return nil, err
	}
	n, err := f.TopologyOf(f.Points[0])
	if err != nil {
		return nil, err
	}
	l := &Listed{Candidate: c, Metrics: topology.Measure(n.Graph())}
	l.Capacity = l.Metrics.UniformCapacity
	if x, ok := n.(topology.Formed); ok {
		if own := x.Forms().UniformCapacity; own > 0 {
			l.Capacity = min(l.Capacity, own)
		}
	}
	outcome, err := f.Execute(ctx, experiments.Execution{Jobs: 1})
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
func ListTable(all []Listed) *experiments.Table {
	t := &experiments.Table{Columns: []string{"topology", "settings", "terminals", "switches", "radix_ports", "diameter_hops", "mean_distance_hops",
		"uniform_bound", "cables_copper", "cables_optical", "longest_cable_m", "cabinets", "power_kw", "price", "price_per_terminal"}}
	for _, l := range all {
		m := &l.Metrics
		t.Rows = append(t.Rows, []string{l.Family, l.Line(), fmt.Sprint(m.Terminals), fmt.Sprint(m.Switches), fmt.Sprint(l.Radix),
			fmt.Sprint(m.Diameter()), short(m.MeanDistance), short(l.Capacity), fmt.Sprint(l.Copper), fmt.Sprint(l.Optical),
			short(l.Longest), fmt.Sprint(l.Cabinets), short(l.Watts / 1000), fmt.Sprintf("%.0f", l.Price), fmt.Sprintf("%.0f", l.Price/float64(m.Terminals))})
	}
	return t
}

// short writes a number with four digits; what is none is an empty cell.
func short(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4g", x)
}
