// Package hardware holds weft's presets of machines against measured rows of benchmarks: latencies,
// bandwidths, message rates, collectives.
package hardware

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/mpi/systems"
)

// Columns of the table of verdicts; the verdict and a note follow. Errors are (weft - measured) / measured.
var Columns = []string{"system", "preset", "benchmark", "nodes", "per_node", "ranks", "bytes", "library", "quality", "class", "unit", "measured", "weft", "error_percent"}

func init() {
	judge.Register(judge.Source{
		Name: "hardware", Example: "weft reproduce hardware/alaska-ib --data measured/", Needs: "rows that machines measured", Open: Open,
		Help: `hardware, or hardware/SYSTEM, with --data, holds presets of machines against measurements.
There, rows.csv has a row a number (system, benchmark, nodes, ppn, ranks, size_bytes, value,
unit, library, quality), pairs.csv, which may lack, latencies of pairs of nodes, and
systems.toml a table [system.NAME] a machine: preset, library, libraries, by the beginning of
the library of rows, nodes_per_leaf, sockets, cores. errors.csv is written beside verdicts.csv.`,
	})
}

// Classes of benchmarks with the aim of the median of their absolute errors, in percent; 90 % are
// within twice that.
var aims = []classAim{{"latency", 10}, {"bandwidth", 3}, {"message rate", 15}, {"between nodes", 25}, {"inside a node", 25}}

type classAim struct {
	class string
	most  float64
}

// class is the class that a row counts in.
func (b *benchmark) class() string {
	switch {
	case b.nodes == 1:
		return "inside a node"
	case b.test == pingPong:
		return "latency"
	case b.test == collective:
		return "between nodes"
	}
	return b.test
}

// aim is what the median of a class may err by, in percent.
func aim(class string) float64 {
	if i := slices.IndexFunc(aims, func(a classAim) bool { return a.class == class }); i >= 0 {
		return aims[i].most
	}
	return 10
}

// Open is the reference of a folder.
func Open(data string) (*judge.Reference, error) {
	all, faults, err := read(data)
	if err != nil {
		return nil, err
	}
	section := &judge.Section{File: "verdicts.csv", Columns: Columns, Conclude: conclude}
	for _, s := range all {
		section.Entries = append(section.Entries, &judge.Entry{Name: s.name, Judge: s.judge})
	}
	return &judge.Reference{Name: "hardware", Place: data, Entry: "system", Sections: []*judge.Section{section}, Faults: faults}, nil
}

// judge measures the rows of a system, and draws them.
func (s *system) judge(session *judge.Session) (rows []judge.Row, _ bool, err error) {
	var preset *systems.Preset
	if s.Preset != "" {
		if preset, err = systems.Registry.New(s.Preset, struct{}{}); err != nil {
			return nil, false, err
		}
		s.Adapters = cmp.Or(s.Adapters, preset.Adapters)
	}
	s.machines, s.outcomes = map[string]*machine{}, map[string]*outcome{}
	var own []*row
	for _, r := range s.rows {
		if r.refused == "" {
			if err := s.assign(r, preset); err != nil {
				return nil, false, err
			}
			own = append(own, r)
		}
	}
	if err := s.settle(session, own); err != nil {
		return nil, false, err
	}
	if err := s.place(session, own); err != nil {
		return nil, false, err
	}
	for _, r := range s.rows {
		if preset != nil {
			r.fitted = r.fitted || slices.ContainsFunc(slices.Concat(preset.Fitted, systems.Library(r.benchmark.library).FitsOf()), func(f systems.Fit) bool {
				return f.System == s.name && f.Benchmark == r.title && f.Nodes == r.nodes && f.PerNode == r.perNode && strings.HasPrefix(r.library, f.Library) && slices.Contains(f.Sizes, r.bytes)
			})
		}
		r.judge()
		rows = append(rows, r.row(s))
	}
	if session.Out != "" {
		err = s.draw(filepath.Join(session.Out, "hardware"))
	}
	return rows, false, err
}

// assign gives a row its library and machine.
func (s *system) assign(r *row, preset *systems.Preset) (err error) {
	library, transport, why := s.libraryOf(r.library)
	r.benchmark.library = library
	if r.perftest {
		transport = "perftest" // what values of presets may be for
	}
	if why != "" && r.byRules() {
		r.tell(fmt.Sprintf("by the rules of %s: %s", library, why))
	}
	r.machine = library + " " + transport
	if s.machines[r.machine] == nil {
		s.machines[r.machine], err = newMachine(preset, library, transport, s)
	}
	return err
}

// outcome is what weft has for a benchmark, in the unit of its test.
type outcome struct {
	value float64
	err   error
}

// settle finds what weft has for rows, some at the same time; those of the same benchmark are simulated once.
func (s *system) settle(session *judge.Session, rows []*row) error {
	var beside errgroup.Group
	beside.SetLimit(max(1, session.Jobs))
	of := make([]*outcome, len(rows))
	for i, r := range rows {
		b, m := r.benchmark, s.machines[r.machine]
		ownAdapters := s.Adapters > 1 && r.test == collective && r.nodes > 1 && r.perNode > 1 && r.perNode <= s.Adapters
		if ownAdapters && m.byAdapter {
			b.nodes, b.perNode = b.ranks, 1
			r.tell("each rank has an adapter of its own, through which ranks of a node exchange")
		} else if ownAdapters {
			m = m.together(r.perNode)
			r.tell("the adapters of a node are one of their rate together")
		}
		if r.perftest {
			m = m.perftest()
		}
		key := fmt.Sprintf("%s %+v", r.machine, b)
		if s.outcomes[key] == nil {
			o := &outcome{}
			s.outcomes[key] = o
			beside.Go(func() error {
				if session.Context.Err() != nil {
					return experiments.ErrInterrupted
				}
				o.value, o.err = m.measure(&b)
				return nil
			})
		}
		of[i] = s.outcomes[key]
	}
	if err := beside.Wait(); err != nil {
		return err
	}
	for i, r := range rows {
		r.refused, r.simulated = "", of[i].value/cmp.Or(scaleOf(r.test, r.unit), 1)
		if of[i].err != nil {
			r.refused = of[i].err.Error()
		}
	}
	return nil
}

// isPlaced tells whether a row is of one process a node, so that its time tells how far apart they are.
func (r *row) isPlaced() bool {
	return (r.test == pingPong || r.test == collective) && r.perNode == 1 && r.nodes > 1 && !r.perftest && r.refused == ""
}

// place decides for each series of rows between two nodes whether it ran between leaf switches, which logs do not
// say: by its smallest message, which is calibrated by that. A lone row is taken to be near.
func (s *system) place(session *judge.Session, own []*row) error {
	placed := slices.DeleteFunc(own, func(r *row) bool { return !r.isPlaced() })
	all := results.Grouped(placed, func(r *row) string { return fmt.Sprint(r.machine, r.title, " on ", r.nodes) })
	all = slices.DeleteFunc(all, func(series []*row) bool { return len(series) < 2 || smallest(series).far })
	var farther, far []*row // the first of each series, as if it were
	for _, series := range all {
		first := *smallest(series)
		first.far = true
		farther = append(farther, &first)
	}
	if err := s.settle(session, farther); err != nil {
		return err
	}
	for i, series := range all {
		first := smallest(series)
		first.fitted = true
		if math.Abs(farther[i].err()) < math.Abs(first.err()) {
			far = append(far, series...)
		}
	}
	for _, r := range far {
		r.far = true
		r.tell(between)
	}
	return s.settle(session, far)
}

func smallest(series []*row) *row {
	return slices.MinFunc(series, func(a, b *row) int { return cmp.Compare(a.bytes, b.bytes) })
}

// between is the note of a row whose nodes are taken to be far apart.
const between = "taken to be between leaf switches, as the series' smallest message says"

// err is by how much weft differs, as a share of what was measured.
func (r *row) err() float64 { return r.simulated/r.measured - 1 }

// judge gives a row its verdict: 90 % of a class are within twice its aim.
func (r *row) judge() {
	within := math.Abs(r.err())*100 <= 2*aim(r.class())
	switch {
	case r.refused != "":
		r.verdict, r.note = judge.NotJudged, r.refused
	case r.fitted || r.test == hops:
		r.verdict = verdict.Calibrated
	case within:
		r.verdict = judge.Agrees
	default:
		r.verdict = judge.Differs
	}
}

func (r *row) row(s *system) judge.Row {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	weft, off := "", ""
	if r.refused == "" {
		weft, off = strconv.FormatFloat(r.simulated, 'g', 5, 64), strconv.FormatFloat(r.err()*100, 'f', 1, 64)
	}
	size := ""
	if r.bytes != unsized {
		size = strconv.FormatInt(r.bytes, 10)
	}
	return judge.Row{
		Cells: []string{s.name, s.Preset, r.title, number(r.nodes), number(r.perNode), number(r.ranks), size, r.library, r.quality, r.class(), r.unit,
			strconv.FormatFloat(r.measured, 'g', 10, 64), weft, off},
		Verdict: r.verdict, Note: r.note,
	}
}

// ErrorColumns are the columns of errors.csv: of a preset, by class and size, how far weft is off, over rows of
// quality A and B that it was not fitted to.
var ErrorColumns = []string{"preset", "class", "sizes", "rows", "median_percent", "p90_percent", "aim_percent"}

// sizeClasses are the sizes that are counted together, by their upper end.
var sizeClasses = []sizeClass{{"to 1 KiB", 1 << 10}, {"to 64 KiB", 64 << 10}, {"above", math.MaxInt64}}

type sizeClass struct {
	name string
	most int64
}

// aside is the number of ranks from which rates of messages are left out of errors.csv: those of 32 pairs
// on nodes of 32 cores fall, which weft has not.
const aside = 64

// group are the errors that are counted together.
type group struct{ preset, class, sizes string }

// order is the place of a group among those of its preset: "all" sizes come first.
func (g group) order() int {
	class := slices.IndexFunc(aims, func(a classAim) bool { return a.class == g.class })
	return len(sizeClasses)*2*class + slices.IndexFunc(sizeClasses, func(c sizeClass) bool { return c.name == g.sizes })
}

// conclude sums up the errors, and counts pairs of libraries, or of algorithms, of which the same one is
// faster with weft as in the measurements.
func conclude(table *results.Table, count judge.Count, _ bool) (judge.Conclusion, error) {
	errs := map[group][]float64{}
	var keys []group
	add := func(g group, x float64) {
		if errs[g] == nil {
			keys = append(keys, g)
		}
		errs[g] = append(errs[g], x)
	}
	rows := judge.RowsOf(table)
	at := func(r *judge.Row, column string) string { return r.Cells[slices.Index(Columns, column)] }
	for i := range rows {
		r := &rows[i]
		x, err := strconv.ParseFloat(at(r, "error_percent"), 64)
		if err != nil || r.Verdict == verdict.Calibrated || at(r, "quality") != "A" && at(r, "quality") != "B" {
			continue
		}
		bytes, err1 := strconv.ParseInt(at(r, "bytes"), 10, 64)
		ranks, err2 := strconv.Atoi(at(r, "ranks"))
		if err := errors.Join(err1, err2); err != nil {
			return judge.Conclusion{}, err
		}
		if at(r, "class") == "message rate" && ranks >= aside {
			continue
		}
		add(group{at(r, "preset"), at(r, "class"), "all"}, math.Abs(x))
		for _, c := range sizeClasses {
			if bytes <= c.most {
				add(group{at(r, "preset"), at(r, "class"), c.name}, math.Abs(x))
				break
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b group) int { return cmp.Or(strings.Compare(a.preset, b.preset), a.order()-b.order()) })
	shown := &results.Table{Columns: ErrorColumns}
	held, all := 0, 0
	for _, k := range keys {
		slices.Sort(errs[k])
		median, p90 := stat.Quantile(0.5, stat.Empirical, errs[k], nil), stat.Quantile(0.9, stat.Empirical, errs[k], nil)
		most := aim(k.class)
		if k.sizes == "all" {
			if all++; median <= most && p90 <= 2*most {
				held++
			}
		}
		shown.Rows = append(shown.Rows, []string{k.preset, k.class, k.sizes, strconv.Itoa(len(errs[k])), strconv.FormatFloat(median, 'f', 1, 64), strconv.FormatFloat(p90, 'f', 1, 64), strconv.FormatFloat(most, 'f', 0, 64)})
	}
	same, pairs := ordered(rows, at)
	return judge.Conclusion{
		Shown: shown, File: "errors.csv", Failed: held < all,
		Text: fmt.Sprintf("%s, %d calibrated; %d of %d classes of presets are within their aims; of %d pairs of libraries or algorithms %d are in the order measured", count, count[verdict.Calibrated], held, all, pairs, same),
	}, nil
}

// noPair are measurements that differ by so little, as a share, that they have no order.
const noPair = 0.1

// ordered counts pairs of rows that differ in nothing but their library or algorithm, and those of which
// the same one is better with weft as measured.
func ordered(rows []judge.Row, at func(*judge.Row, string) string) (same, pairs int) {
	number := func(r *judge.Row, column string) float64 {
		x, err := strconv.ParseFloat(at(r, column), 64)
		if err != nil {
			return math.NaN()
		}
		return x
	}
	kind := func(r *judge.Row) string { return strings.Split(at(r, "benchmark")+" ", " ")[0] }
	for i := range rows {
		for k := range i {
			a, b := &rows[k], &rows[i]
			alike := kind(a) == kind(b) && strings.Contains(a.Note, between) == strings.Contains(b.Note, between)
			for _, column := range []string{"system", "nodes", "per_node", "ranks", "bytes", "unit"} {
				alike = alike && at(a, column) == at(b, column)
			}
			if !alike || at(a, "library") == at(b, "library") && at(a, "benchmark") == at(b, "benchmark") {
				continue
			}
			measured, own := number(a, "measured")/number(b, "measured"), number(a, "weft")/number(b, "weft")
			if math.IsNaN(own) || math.Abs(measured-1) <= noPair {
				continue
			}
			if pairs++; (measured < 1) == (own < 1) {
				same++
			}
		}
	}
	return same, pairs
}
