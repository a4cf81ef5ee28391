// Package atlas holds weft against what is known of the field's topologies: it reads a
// folder of exact, bounding and published numbers, graphs and curves measured with
// BookSim2 on them, builds each network by weft's own generators, and judges.
//
// Folder reference comes with weft: measurements and computations made apart from weft; its README
// describes them.
package atlas

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/fabric/topology"
	members "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim/lists"
)

//go:embed reference
var embedded embed.FS

// Own is the folder that comes with weft.
func Own() fs.FS { return judge.Embedded(embedded, "reference") }

// Reference is a folder that weft is judged by.
type Reference struct {
	folder  fs.FS
	name    string // of the folder, for messages
	Targets []Target
	Curves  []Curve
	seeds   []seedPoint
	// What is wrong with seeds.csv, which is of no number or curve alone.
	seedFaults document.Problems
}

// Target is a row of targets.csv.
type Target struct {
	ID, Topology, Instance, Metric, Value, Kind string
	Faults                                      document.Problems // the row cannot be read
}

// Read reads a folder: targets.csv, curves.csv, seeds.csv and the folders curves and graphs. Tables
// may be missing, but not all (the error, of type document.Problems). name is the folder in
// messages. Problems of numbers and curves are their Faults.
func Read(folder fs.FS, name string) (*Reference, error) {
	r := &Reference{folder: folder, name: name}
	there := 0
	for _, t := range []struct {
		file    string
		columns []string
		row     func(line int, c []string, faults document.Problems)
	}{
		{"targets.csv", []string{"id", "topology", "instance", "metric", "value", "kind"}, func(_ int, c []string, faults document.Problems) {
			r.Targets = append(r.Targets, Target{c[0], c[1], c[2], c[3], c[4], c[5], faults})
		}},
		{"curves.csv", []string{"curve", "graph", "routing", "traffic"}, func(line int, c []string, faults document.Problems) {
			r.Curves = append(r.Curves, Curve{Curve: booksim.Curve{Name: c[0], File: "curves.csv", Faults: faults}, Graph: c[1], Routing: c[2], Traffic: c[3], line: line})
		}},
		{"seeds.csv", []string{"curve", "load", "latency"}, func(line int, c []string, faults document.Problems) {
			load, err := strconv.ParseFloat(c[1], 64)
			latency, err2 := strconv.ParseFloat(c[2], 64)
			if err := errors.Join(err, err2); err != nil && len(faults) == 0 {
				faults = document.Problems{{At: fmt.Sprintf("%s:%d", path.Join(name, "seeds.csv"), line), Message: err.Error()}}
			}
			if r.seedFaults = append(r.seedFaults, faults...); len(faults) == 0 {
				r.seeds = append(r.seeds, seedPoint{c[0], load, latency})
			}
		}},
	} {
		if r.table(t.file, t.columns, t.row) {
			there++
		}
	}
	if there == 0 {
		return nil, document.Problems{{At: name, Message: "holds neither targets.csv nor curves.csv nor seeds.csv"}}
	}
	if len(r.Curves) > 0 {
		r.readCurves()
	}
	r.setNoise()
	return r, nil
}

// table reads the named columns of a CSV table; false if there is none. Rows that cannot be read,
// or one for a whole table, come with problems.
func (r *Reference) table(file string, columns []string, row func(line int, cells []string, faults document.Problems)) bool {
	t, problem := judge.OpenTable(r.folder, r.name, file, ',', columns...)
	if problem != nil {
		whole := make([]string, len(columns))
		whole[0] = file
		row(1, whole, document.Problems{problem})
		return true
	}
	if t == nil {
		return false
	}
	for problem := range t.Rows {
		var faults document.Problems
		if problem != nil {
			faults = append(faults, problem)
		}
		row(t.Line, t.Cells(columns...), faults)
	}
	return true
}

// seedPoint is a row of seeds.csv: a point of a curve again, with another seed.
type seedPoint struct {
	curve         string
	load, latency float64
}

// setNoise gives every point of every curve the variation of BookSim2's latency between seeds: the
// largest among points of seeds.csv that are no nearer to saturation. Nearness is the load over the
// largest accepted load of the curve. Points farther from saturation than all of seeds.csv have no
// known noise.
func (r *Reference) setNoise() {
	type known struct{ nearness, deviation float64 }
	var all []known
	for i := range r.Curves {
		c := &r.Curves[i]
		for _, p := range c.Points {
			latencies := []float64{p.Latency}
			for _, s := range r.seeds {
				if s.curve == c.Name && s.load == p.Load {
					latencies = append(latencies, s.latency)
				}
			}
			if len(latencies) > 2 && !p.Saturated && !p.Overloaded && !p.Deadlock {
				mean, deviation := stat.MeanStdDev(latencies, nil)
				all = append(all, known{p.Load / c.largestAccepted(), deviation / mean})
			}
		}
	}
	for i := range r.Curves {
		c := &r.Curves[i]
		c.Noise = map[float64]float64{}
		for _, p := range c.Points {
			for _, k := range all {
				if k.nearness <= p.Load/c.largestAccepted() {
					c.Noise[p.Load] = math.Max(c.Noise[p.Load], k.deviation)
				}
			}
		}
	}
}

func (c *Curve) largestAccepted() float64 {
	most := 0.0
	for _, p := range c.Points {
		if p.Accepted > most { // a deadlock may have none
			most = p.Accepted
		}
	}
	return most
}

// JudgeTargets computes every number that can be. Exact numbers, bounds that follow from a formula
// and published counts of networks must be met in all digits given; cuts that were found and bounds
// of a whole family may be on the right side. Other published numbers are not judged.
func (r *Reference) JudgeTargets() []judge.Row {
	networks := map[string]*subject{} // by instance
	rows := make([]judge.Row, len(r.Targets))
	for i := range r.Targets {
		t := &r.Targets[i]
		own, verdict, note := r.own(t, networks)
		rows[i] = judge.Row{Cells: []string{t.ID, t.Topology, t.Instance, t.Metric, t.Kind, t.Value, own}, Verdict: verdict, Note: note}
	}
	return rows
}

// own is weft's number for a target, as it is compared, and the verdict on it.
func (r *Reference) own(t *Target, networks map[string]*subject) (own, verdict, note string) {
	if len(t.Faults) > 0 {
		return "", judge.Unreadable, judge.Note(t.Faults)
	}
	if law, ok := laws[t.ID]; ok {
		if problem := law.hold(); problem != nil {
			return "", judge.Differs, problem.Error()
		}
		return t.Value, judge.Agrees, "a formula: holds on weft's networks of several sizes"
	}
	metric, ok := measures[cmp.Or(counterparts().Metrics[t.Metric], t.Metric)]
	if !ok {
		return "", judge.NotJudged, "a statement, or a number of no network"
	}
	key := t.Topology + "\n" + t.Instance
	n := networks[key]
	if n == nil {
		var err error
		n, err = r.instance(t)
		switch {
		case errors.As(err, new(errNoInstance)):
			return "", judge.NotJudged, err.Error()
		case errors.Is(err, fs.ErrNotExist):
			return "", judge.NotRun, "the folder has no such graph"
		case err != nil:
			return "", uncomputed(err), err.Error()
		}
		networks[key] = n
	}
	text, x, err := metric(r, n)
	if err != nil {
		return "", uncomputed(err), err.Error()
	}
	verdict = judge.Agrees
	if !agrees(t, text, x) {
		verdict = judge.Differs
	}
	return cmp.Or(text, strconv.FormatFloat(x, 'f', digits(t.Value), 64)), verdict, ""
}

// uncomputed is the verdict on a number that cannot be computed: because of a file, or of weft.
func uncomputed(err error) string {
	if errors.As(err, new(*dataError)) && !errors.Is(err, fs.ErrNotExist) {
		return judge.Unreadable
	}
	return judge.NotRun
}

func digits(value string) int {
	_, behind, _ := strings.Cut(value, ".")
	return len(behind)
}

// agrees compares in the digits given; of a cut that was found weft's may be smaller.
func agrees(t *Target, text string, x float64) bool {
	if text != "" {
		return text == t.Value
	}
	want, err := strconv.ParseFloat(t.Value, 64)
	if err != nil {
		return false
	}
	if t.Metric == "bisection_best_cut_found" {
		return x <= want
	}
	return math.Abs(x-want) <= 0.5*math.Pow(10, -float64(digits(t.Value)))*(1+1e-6)+1e-12
}

// law is a formula of targets.csv, with settings of a family's networks to check it on.
type law struct {
	family   string
	settings []string
	check    func(n *subject) error
}

// laws are by the id of the formula.
var laws = map[string]law{
	// Bisection of at least q^3/2: the algebraic connectivity is q.
	"slimfly-bisection": {"slim-fly", eachOf("q = %d\n", 3, 4, 5, 7, 8, 9, 11, 13), func(n *subject) error {
		q := n.topology.(*members.SlimFly).Q
		return same("bisection", spectralBisection(n), float64(q*q*q)/2, 1e-6)
	}},
	// The algebraic connectivity is q+1-sqrt(q).
	"polarfly-bisection": {"polarfly", eachOf("q = %d\n", 2, 3, 4, 5, 7, 8, 9, 11, 13), func(n *subject) error {
		q := float64(n.topology.(*members.PolarFly).Q)
		return same("algebraic connectivity", metrics.AlgebraicConnectivity(n.graph), q+1-math.Sqrt(q), 1e-6)
	}},
	// No Jellyfish has a smaller mean distance than the tree of levels 1, r, r(r-1), ...
	"jellyfish-mean": {"jellyfish", lists.Make(8, func(seed int) string {
		return fmt.Sprintf("switches = %d\ndegree = %d\nterminals = 1\nseed = %d\n", 20+10*seed, 4+seed, seed)
	}), func(n *subject) error {
		if m := n.metrics(); m.MeanDistance < metrics.MeanDistanceBound(m.Switches, m.Degree[1]) {
			return fmt.Errorf("mean distance %v below the bound", m.MeanDistance)
		}
		return nil
	}},
	// No network has more switches than the Moore bound; Hoffman-Singleton's, of q = 5, has all.
	"moore": {"slim-fly", eachOf("q = %d\n", 5, 7, 9), func(n *subject) error {
		if e := n.metrics().MooreEfficiency(); e > 1 || n.topology.(*members.SlimFly).Q == 5 && e != 1 {
			return fmt.Errorf("%v of the Moore bound", e)
		}
		return nil
	}},
	"hyperx-meandist": {"hyperx", hyperXs, func(n *subject) error {
		want := 0.0
		for _, s := range n.topology.(*topology.HyperX).HyperXConfig.Dims {
			want += 1 - 1/float64(s)
		}
		return same("mean distance", n.metrics().UniformHops, want, 1e-12)
	}},
	"hyperx-uniform": {"hyperx", hyperXs, func(n *subject) error {
		x := n.topology.(*topology.HyperX)
		return same("uniform saturation", saturation(uniformFlows(n.graph), byShortest(n.graph, true)), float64(slices.Min(x.HyperXConfig.Dims))/float64(x.Terminals), 1e-9)
	}},
	"hyperx-bisection": {"hyperx", hyperXs, func(n *subject) error {
		dims := n.topology.(*topology.HyperX).HyperXConfig.Dims
		if slices.ContainsFunc(dims, func(s int) bool { return s%2 != 0 }) {
			return nil
		}
		return same("bisection", float64(n.topology.Facts().Bisection), float64(slices.Min(dims)*n.graph.Switches())/4, 0)
	}},
	// (k²/4)(k²/4+1) terminals of switches of k ports.
	"dfplus-max": {"megafly", []string{balancedMegafly(2), balancedMegafly(3), balancedMegafly(4)}, func(n *subject) error {
		half := n.topology.(*topology.Megafly).Leaves
		return same("terminals", float64(n.topology.Facts().Terminals), float64(half*half*(half*half+1)), 0)
	}},
	// min(1, h/(T*(1-1/g))) if the cables up are no narrower, as with a leaf's terminals many
	// spines.
	"dfplus-capacity": {"megafly", []string{"p = 2\nleaves = 2\nspines = 2\nh = 2\n", "p = 3\nleaves = 3\nspines = 3\nh = 1\n", "p = 4\nleaves = 4\nspines = 4\nh = 2\n"}, func(n *subject) error {
		x := n.topology.(*topology.Megafly)
		want := min(1, float64(x.H)/(float64(x.P)*(1-1/float64(x.G))))
		return same("capacity", min(1, x.Forms().UniformCapacity), want, 1e-12)
	}},
	// Switches on a path: 1 on the same rail of a unit, 3 else.
	"rail-hops": {"rail-optimised", []string{""}, func(n *subject) error {
		rail, g := n.topology.(*members.RailOptimised), n.graph
		for a := range topology.TerminalID(g.Terminals()) {
			d := g.DistancesFrom(g.TerminalSwitch(a), nil)
			for b := range topology.TerminalID(g.Terminals()) {
				want := int16(2)
				if rail.RailOf(a) == rail.RailOf(b) && rail.NodeOf(a)/rail.Nodes == rail.NodeOf(b)/rail.Nodes {
					want = 0
				}
				if got := d[g.TerminalSwitch(b)]; got != want {
					return fmt.Errorf("terminals %d and %d: %d switches on the path, want %d", a, b, got+1, want+1)
				}
			}
		}
		return nil
	}},
}

func (l law) hold() error {
	for _, settings := range l.settings {
		n, err := subjectOf(l.family, settings)
		if err == nil {
			err = l.check(n)
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", l.family, (&Candidate{l.family, settings}).Line(), err)
		}
	}
	return nil
}

// hyperXs are some of three terminals a switch.
var hyperXs = eachOf("dims = %s\nterminals = 3\n", "[4, 4]", "[3, 5]", "[2, 4, 6]", "[6]", "[3, 3, 3]")

// eachOf puts each value into a form of settings.
func eachOf[T any](form string, values ...T) (settings []string) {
	return lists.Map(values, func(v T) string { return fmt.Sprintf(form, v) })
}

func same(what string, got, want, allowed float64) error {
	if math.Abs(got-want) > allowed*max(1, math.Abs(want)) {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}
