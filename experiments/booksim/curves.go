// Package booksim holds weft against curves measured with BookSim2 (Jiang, Becker,
// Michelogiannakis, Balfour, Towles, Kim and Dally, ISPASS 2013): it reads a
// folder of curves with their configuration files, says by parameters alone which
// experiment of weft's is the same network, switch and traffic, and judges the
// results.
//
// The facts about BookSim2's settings are those of its public snapshot of
// 2017-06-27. curves holds measurements with it: configuration files as they were
// given to it, a CSV table for each curve, and longpackets_seeds.csv, in which every
// load was run with five seeds.
package booksim

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
)

//go:embed curves
var embedded embed.FS

// Own is the folder of curves that comes with weft.
func Own() fs.FS {
	own, err := fs.Sub(embedded, "curves")
	if err != nil {
		panic("booksim: " + err.Error())
	}
	return own
}

// Curve is what one file holds of a curve, with the configuration that it was
// measured with.
type Curve struct {
	Name   string // of the configuration, without .cfg
	File   string // that the points are in
	Config *Config
	Points []Point              // in the file's order
	Faults experiments.Problems // of its rows and its configuration: it cannot be judged then
	Shares Shares               // that its means may differ by; zero: those of this package's curves
	// Noise is the relative standard deviation of the latency of one of BookSim2's seeds, by
	// load, as far as it is known apart from the curve's seeds.
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

// steady tells whether a latency and an accepted load that do not change with the length of
// the run can be expected.
func (p *Point) steady() bool { return !p.Saturated && !p.Overloaded && !p.Deadlock }

// Columns of a table of curves. "curve" and "seed" may be missing: the file's name
// is then the curve's.
const (
	curveColumn    = "curve"
	seedColumn     = "seed"
	statusColumn   = "status"
	loadColumn     = "offered_flits_per_node_cycle"
	latencyColumn  = "avg_packet_latency_cycles"
	acceptedColumn = "accepted_flits_per_node_cycle"
)

var wanted = []string{loadColumn, statusColumn, latencyColumn, acceptedColumn}

// ReadFolder reads all tables of curves in a folder and the configurations beside
// them. Tables without any of the columns of a curve are left aside, and named in
// ignored. name is what the folder is called in messages. A curve with problems has them as
// its Faults. The error is of type experiments.Problems: there is no curve.
func ReadFolder(folder fs.FS, name string) (curves []Curve, ignored []string, err error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, nil, experiments.Problems{{At: name, Message: "cannot be read: " + judge.Reason(err).Error()}}
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
		return nil, nil, experiments.Problems{{At: name, Message: fmt.Sprintf("holds no curves; want CSV tables with the columns %s, and NAME.cfg for the curve NAME", strings.Join(wanted, ", "))}}
	}
	slices.SortStableFunc(curves, func(a, b Curve) int { return strings.Compare(a.Name, b.Name) })
	return curves, ignored, nil
}

// reader reads a folder.
type reader struct {
	folder  fs.FS
	name    string
	configs map[string]config // by curve
}

// config is a configuration, or what is wrong with it.
type config struct {
	*Config
	faults experiments.Problems
}

// curveName is a name that can be one of a file and of a folder.
var curveName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}$`)

// table reads a table of curves; any is false if the file is something else. Problems that
// are of no curve by name are of the one that the file is called after.
func (r *reader) table(file string) (curves []Curve, any bool) {
	whole := Curve{Name: strings.TrimSuffix(file, ".csv"), File: file}
	t, fault := judge.OpenTable(r.folder, r.name, file, ',', wanted...)
	if t != nil && len(t.Missing(wanted...)) == len(wanted) {
		return nil, false
	}
	if fault != nil {
		whole.Faults = experiments.Problems{fault}
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
	for {
		cut, more := t.Next()
		if !more {
			break
		}
		name := whole.Name
		if t.Has(curveColumn) {
			name = t.Cell(curveColumn)
		}
		if !curveName.MatchString(name) {
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
		whole.Faults = experiments.Problems{{At: t.At, Message: "holds no point"}}
	}
	if len(whole.Faults) > 0 {
		curves = append(curves, whole)
	}
	return curves, true
}

// noNumber is how programs write that there is none.
var noNumber = []string{"", "-", "nan", "-nan", "inf"}

// point reads a row.
func point(t *judge.Table) (p Point, faults experiments.Problems) {
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
		c.faults = experiments.Problems{t.Problem("is of curve %s, and there is no %s beside it", name, at)}
	case err != nil:
		c.faults = experiments.Problems{{At: at, Message: "cannot be read: " + err.Error()}}
	default:
		if parsed, err := ParseConfig(at, text); !errors.As(err, &c.faults) {
			c.Config = parsed
		}
	}
	r.configs[name] = c
	return c
}
