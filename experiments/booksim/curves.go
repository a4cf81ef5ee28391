// Package booksim holds weft against curves measured with BookSim2 (Jiang, Becker,
// Michelogiannakis, Balfour, Towles, Kim and Dally, ISPASS 2013): it reads a folder of curves with
// their configuration files, says by parameters alone which experiment of weft's is the same
// network, switch and traffic, and judges the results.
//
// The facts about BookSim2's settings come from its public snapshot of 2017-06-27. curves holds
// measurements with it: its configuration files, a CSV table for each curve, and tables
// NAME_seeds.csv with several seeds a load. example_* are the eight examples of its source
// (src/examples) without comments, followed by the sample periods of the measurement, at loads in
// flits (injection_rate_uses_flits).
package booksim

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
)

//go:embed curves
var embedded embed.FS

// Own is the folder of curves that comes with weft.
func Own() fs.FS { return judge.Embedded(embedded, "curves") }

// Curve is what one file holds of a curve, with the configuration that it was measured with.
type Curve struct {
	Name   string // of the configuration, without .cfg
	File   string // that the points are in
	Config *Config
	Points []Point           // in the file's order
	Faults document.Problems // of its rows and its configuration: it cannot be judged then
	Shares Shares            // that its means may differ by; zero: the shares of this package's curves
	// Noise is the relative standard deviation of the latency of one BookSim2 seed, by load, as
	// known apart from the curve's seeds.
	Noise map[float64]float64
}

// Point is one measurement.
type Point struct {
	Load      float64 // offered, in flits per terminal and cycle
	Seed      string  // empty where the file has no such column
	Saturated bool
	// Overloaded says that queues still grew though BookSim2 took the point for stable.
	Overloaded bool
	Deadlock   bool    // BookSim2's network stopped for good
	Latency    float64 // mean of packets, from birth, in cycles; NaN where none is given, of points that are not stable
	Accepted   float64 // in flits per terminal and cycle; NaN where none is given, of a deadlock only
	line       int
}

// Columns of a table of curves. "curve" and "seed" may be missing: the file then names the curve.
const (
	curveColumn    = "curve"
	seedColumn     = "seed"
	statusColumn   = "status"
	loadColumn     = "offered_flits_per_node_cycle"
	latencyColumn  = "avg_packet_latency_cycles"
	acceptedColumn = "accepted_flits_per_node_cycle"
)

var wanted = []string{loadColumn, statusColumn, latencyColumn, acceptedColumn}

// ReadFolder reads all tables of curves in a folder and the configurations beside them. ignored
// names tables without a curve's columns. name is the folder in messages. A curve's problems are
// its Faults. The error, of type document.Problems: there is no curve.
func ReadFolder(folder fs.FS, name string) (curves []Curve, ignored []string, err error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, nil, document.Problems{{At: name, Message: "cannot be read: " + results.Reason(err)}}
	}
	r := &reader{folder: folder, name: name, configs: map[string]config{}}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".csv") {
			continue
		}
		found, any := r.table(entry.Name())
		if !any {
			ignored = append(ignored, path.Join(name, entry.Name()))
		}
		curves = append(curves, found...)
	}
	if len(curves) == 0 {
		return nil, nil, document.Problems{{At: name, Message: fmt.Sprintf("holds no curves; want CSV tables with the columns %s, and NAME.cfg for the curve NAME", strings.Join(wanted, ", "))}}
	}
	slices.SortStableFunc(curves, func(a, b Curve) int { return strings.Compare(a.Name, b.Name) })
	return curves, ignored, nil
}

type reader struct {
	folder  fs.FS
	name    string
	configs map[string]config // by curve
}

// config is a configuration, or what is wrong with it.
type config struct {
	*Config
	faults document.Problems
}

// curveName is a name that can be one of a file and of a folder.
var curveName = input.Pattern(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}$`)

// table reads a table of curves; any is false for other files. Problems that name no curve are of
// the file's own.
func (r *reader) table(file string) (curves []Curve, any bool) {
	whole := Curve{Name: strings.TrimSuffix(file, ".csv"), File: file}
	t, fault := judge.OpenTable(r.folder, r.name, file, ',', wanted...)
	if t != nil && len(t.Missing(wanted...)) == len(wanted) {
		return nil, false
	}
	if fault != nil {
		whole.Faults = document.Problems{fault}
		return []Curve{whole}, true
	}
	of := map[string]int{} // curves by name
	curve := func(name string) *Curve {
		i, there := of[name]
		if !there {
			i, of[name] = len(curves), len(curves)
			c := r.config(name, t)
			curves = append(curves, Curve{Name: name, File: file, Config: c.Config, Faults: slices.Clone(c.faults)})
		}
		return &curves[i]
	}
	for cut := range t.Rows {
		name := whole.Name
		if t.Has(curveColumn) {
			name = t.Cell(curveColumn)
		}
		if !curveName().MatchString(name) {
			if cut == nil {
				cut = t.Problem("%s = %s: want a name of letters, digits and . _ + -", curveColumn, shown(name))
			}
			whole.Faults = append(whole.Faults, cut)
			continue
		}
		c := curve(name)
		if cut != nil {
			c.Faults = append(c.Faults, cut)
			continue
		}
		p, faults := point(t)
		p.line = t.Line
		for _, q := range c.Points {
			if len(faults) == 0 && q.Load == p.Load && q.Seed == p.Seed {
				faults = append(faults, t.Problem("repeats the load and the seed of line %d", q.line))
			}
		}
		if c.Faults = append(c.Faults, faults...); len(faults) == 0 {
			c.Points = append(c.Points, p)
		}
	}
	if len(curves) == 0 && len(whole.Faults) == 0 {
		whole.Faults = document.Problems{{At: t.At, Message: "holds no point"}}
	}
	if len(whole.Faults) > 0 {
		curves = append(curves, whole)
	}
	return curves, true
}

// noNumber is how programs write that there is none.
var noNumber = []string{"", "-", "nan", "-nan", "inf"}

func point(t *judge.Table) (p Point, faults document.Problems) {
	fault := func(column, want string) {
		faults = append(faults, t.Problem("%s = %s: want %s", column, shown(t.Cell(column)), want))
	}
	number := func(name string, most float64, want string) float64 {
		x, err := strconv.ParseFloat(t.Cell(name), 64)
		if err != nil || !(x >= 0 && x <= most) {
			fault(name, want)
		}
		return x
	}
	none := func(name string) bool { return slices.Contains(noNumber, strings.ToLower(t.Cell(name))) }
	switch t.Cell(statusColumn) {
	case "stable":
	case "saturated":
		p.Saturated = true
	case "overloaded":
		p.Overloaded = true
	case "deadlock":
		p.Deadlock = true
	default:
		fault(statusColumn, "stable, overloaded, saturated or deadlock")
	}
	const loads = "a load above 0, at most 1"
	if p.Load = number(loadColumn, 1, loads); p.Load == 0 && len(faults) == 0 {
		fault(loadColumn, loads)
	}
	if p.Accepted = math.NaN(); !p.Deadlock || !none(acceptedColumn) {
		p.Accepted = number(acceptedColumn, 1.5, "a load from 0 on, in flits per node and cycle")
	}
	if p.Latency = math.NaN(); !p.Saturated && !p.Deadlock || !none(latencyColumn) {
		p.Latency = number(latencyColumn, 1e12, "cycles, at least 0")
	}
	p.Seed = t.Cell(seedColumn)
	return p, faults
}

// config reads the configuration of a curve, once; t is at the first row of it.
func (r *reader) config(name string, t *judge.Table) config {
	if c, there := r.configs[name]; there {
		return c
	}
	c, at := config{}, path.Join(r.name, name+".cfg")
	text, err := judge.ReadFile(r.folder, name+".cfg")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.faults = document.Problems{t.Problem("is of curve %s, and there is no %s beside it", name, at)}
	case err != nil:
		c.faults = document.Problems{{At: at, Message: "cannot be read: " + err.Error()}}
	default:
		if parsed, err := ParseConfig(at, text); !errors.As(err, &c.faults) {
			c.Config = parsed
			if graph := parsed.Text("network_file"); graph != "" {
				parsed.graph, parsed.graphErr = judge.ReadFile(r.folder, graph)
			}
		}
	}
	r.configs[name] = c
	return c
}

func init() {
	judge.Register(judge.Source{
		Name: "booksim", Example: "weft reproduce booksim --data measured/", Open: Open,
		Help: `booksim, or booksim/CURVE, holds weft against curves
measured with BookSim2: those that come with weft or, with --data, those of a
folder. There, NAME.csv is a curve (columns offered_flits_per_node_cycle, status,
avg_packet_latency_cycles, accepted_flits_per_node_cycle; curve and seed where a
table holds several) and NAME.cfg the configuration that BookSim2 was given.`,
	})
}

// Open is the reference of a folder of curves, or of those that come with weft.
func Open(data string) (*judge.Reference, error) {
	return open(judge.Folder(data, Own(), "the curves of weft"))
}

func open(folder fs.FS, place string) (*judge.Reference, error) {
	curves, ignored, err := ReadFolder(folder, place)
	if err != nil {
		return nil, err
	}
	section := &judge.Section{File: "verdicts.csv", Columns: Columns}
	r := &judge.Reference{Name: "booksim", Place: place, Entry: "curve", Sections: []*judge.Section{section}}
	for _, name := range ignored {
		r.Warnings = append(r.Warnings, name+": warning: no table of curves: left aside")
	}
	for len(curves) > 0 {
		name, n := curves[0].Name, 1
		for n < len(curves) && curves[n].Name == name {
			n++
		}
		section.Entries = append(section.Entries, entry(name, curves[:n]))
		curves = curves[n:]
	}
	return r, nil
}

func entry(name string, files []Curve) *judge.Entry {
	x := &Experiment{Name: name}
	readable := -1
	var faults document.Problems
	for i := range files {
		x.Curves, faults = append(x.Curves, &files[i]), append(faults, files[i].Faults...)
		if readable < 0 && len(files[i].Faults) == 0 {
			readable = i
		}
	}
	x.Text = func(loads []float64, seeds int) (string, map[string][]byte, bool, error) {
		return files[readable].Config.Experiment("BookSim2's "+name, loads, seeds)
	}
	return &judge.Entry{Name: name, Faults: &faults, Partly: readable >= 0,
		Judge: func(s *judge.Session) ([]judge.Row, bool, error) { return x.Judge(s, filepath.Join(s.Out, "booksim")) }}
}

// Seeds that each load of a curve is run with, and those of a load that is too noisy with so many.
const (
	fewSeeds, moreSeeds           = 5, 20
	fewQuickSeeds, moreQuickSeeds = 3, 10
)

// Experiment is what weft runs for a curve.
type Experiment struct {
	Name   string
	Curves []*Curve // the same, as some files have it
	// Text is the experiment file for some loads, with the files that it reads, by name. The error
	// says why weft has no counterpart.
	Text func(loads []float64, seeds int) (text string, files map[string][]byte, canDeadlock bool, err error)
}

// Judge runs a curve, with results in a folder, and judges it. Loads at which the seeds leave too
// much open run again with more, if that helps.
func (x *Experiment) Judge(s *judge.Session, results string) (verdicts []judge.Row, failed bool, err error) {
	few, more := fewSeeds, moreSeeds
	if s.Quick {
		few, more = fewQuickSeeds, moreQuickSeeds
		all := x.loads(anyPoint)
		for _, c := range x.Curves {
			c.At(someLoads(all))
		}
	}
	var run Run
	dir := filepath.Join(results, x.Name)
	if loads := x.loads(moves); len(loads) > 0 {
		run.Results, run.Why, failed, err = x.run(s, results, dir, loads, few)
	}
	if err == nil {
		err = x.runDeadlocks(s, results, &run)
	}
	if err != nil {
		return nil, failed, err
	}
	var noisy []float64
	rows := make([][]Row, len(x.Curves))
	for i, c := range x.Curves {
		if rows[i], err = c.Judge(run); err != nil {
			return nil, failed, err
		}
		noisy = append(noisy, MoreSeeds(rows[i], more)...)
	}
	if len(noisy) > 0 {
		slices.Sort(noisy)
		noisy = slices.Compact(noisy)
		again, why, failedAgain, err := x.run(s, results, dir+"-more-seeds", noisy, more)
		if err := errors.Join(err, why); err != nil {
			return nil, failed, err
		}
		failed = failed || failedAgain
		for i, c := range x.Curves {
			part := *c
			part.At(noisy)
			better, err := part.Judge(Run{Results: again})
			if err != nil {
				return nil, failed, err
			}
			rows[i] = replaced(rows[i], better)
		}
	}
	for _, r := range slices.Concat(rows...) {
		verdicts = append(verdicts, r.verdict())
	}
	return verdicts, failed, nil
}

// loads are the loads of all files of the curve that have points of a kind.
func (x *Experiment) loads(of func(*Point) bool) (all []float64) {
	for _, c := range x.Curves {
		if len(c.Faults) == 0 {
			all = append(all, c.loadsOf(of)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// someLoads are the first of some loads, one in the middle and the last.
func someLoads(all []float64) []float64 {
	if len(all) == 0 {
		return nil
	}
	return slices.Compact([]float64{all[0], all[len(all)/2], all[len(all)-1]})
}

// load writes what the experiment for some loads reads, below the folder of results, and makes it;
// why says why there is none. A network that can deadlock, as BookSim2's does, may on request.
func (x *Experiment) load(s *judge.Session, dir string, loads []float64, seeds int, allow bool) (file *experiments.File, why, err error) {
	text, files, canDeadlock, why := x.Text(loads, seeds)
	if why != nil {
		return nil, why, nil
	}
	path := x.Name + ".toml"
	if len(files) > 0 {
		path = filepath.Join(dir, "inputs", x.Name, path)
	}
	for name, content := range files {
		if err := results.WriteBelow(filepath.Join(filepath.Dir(path), name), content); err != nil {
			return nil, nil, err
		}
	}
	file, why = s.Load(path, text, allow && canDeadlock)
	return file, why, nil
}

// run runs some loads; why says why they were not run.
func (x *Experiment) run(s *judge.Session, inputs, dir string, loads []float64, seeds int) (table *results.Table, why error, failed bool, err error) {
	file, why, err := x.load(s, inputs, loads, seeds, true)
	if why != nil || err != nil {
		return nil, why, false, err
	}
	outcome, err := s.Run(x.Name, file, dir)
	if err != nil {
		return nil, nil, false, err
	}
	return outcome.Results, nil, len(outcome.Failures) > 0, nil
}

// runDeadlocks finds what weft makes of loads at which BookSim2's network stopped for good: its
// certificate refuses the network, or else it runs under the watchdog.
func (x *Experiment) runDeadlocks(s *judge.Session, results string, run *Run) error {
	for _, load := range x.loads(stops) {
		file, why, err := x.load(s, results, []float64{load}, fewQuickSeeds, false)
		if err != nil {
			return err
		}
		if why != nil {
			if reason, _, refused := strings.Cut(judge.Refusal(why), network.AllowHint); refused {
				run.Refused = reason
			} else {
				run.Why = why
			}
			return nil
		}
		outcome, err := s.Run(x.Name, file, fmt.Sprintf("%s-deadlock-%v", filepath.Join(results, x.Name), load))
		if err != nil {
			return err
		}
		for _, f := range outcome.Failures {
			if strings.Contains(f.Reason, "deadlock: ") {
				if run.Stopped == nil {
					run.Stopped = map[float64]string{}
				}
				run.Stopped[load], _, _ = strings.Cut(f.Reason, "\n")
			}
		}
	}
	return nil
}
