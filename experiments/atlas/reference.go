// Package atlas holds weft against what is known of the field's topologies: it reads a
// folder of exact, bounding and published numbers, graphs and curves measured with
// BookSim2 on them, builds each network by weft's own generators, and judges.
//
// The folder reference is the one that comes with weft: measurements and computations
// that were made apart from weft, described by the README there.
package atlas

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/judge"
)

//go:embed reference
var embedded embed.FS

// Own is the folder that comes with weft.
func Own() fs.FS {
	own, err := fs.Sub(embedded, "reference")
	if err != nil {
		panic("atlas: " + err.Error())
	}
	return own
}

// Reference is a folder that weft is judged by.
type Reference struct {
	folder  fs.FS
	name    string // of the folder, for messages
	Targets []Target
	Curves  []Curve
	seeds   []seedPoint
	// What is wrong with seeds.csv: it is of no number and no curve alone.
	seedFaults experiments.Problems
}

// Target is a row of targets.csv.
type Target struct {
	ID, Topology, Instance, Metric, Value, Kind string
	Faults                                      experiments.Problems // the row cannot be read
}

// Read reads a folder: targets.csv, curves.csv, seeds.csv and the folders curves and graphs.
// Any of the tables may be missing, not all. name is what the folder is called in messages.
// Numbers and curves with problems have them as their Faults. The error is of type
// experiments.Problems: there is no table.
func Read(folder fs.FS, name string) (*Reference, error) {
	r := &Reference{folder: folder, name: name}
	there := 0
	for _, t := range []struct {
		file    string
		columns []string
		row     func(line int, c []string, faults experiments.Problems)
	}{
		{"targets.csv", []string{"id", "topology", "instance", "metric", "value", "kind"}, func(_ int, c []string, faults experiments.Problems) {
			r.Targets = append(r.Targets, Target{c[0], c[1], c[2], c[3], c[4], c[5], faults})
		}},
		{"curves.csv", []string{"curve", "graph", "routing", "traffic"}, func(line int, c []string, faults experiments.Problems) {
			r.Curves = append(r.Curves, Curve{Curve: booksim.Curve{Name: c[0], File: "curves.csv", Faults: faults}, Graph: c[1], Routing: c[2], Traffic: c[3], line: line})
		}},
		{"seeds.csv", []string{"curve", "load", "latency"}, func(line int, c []string, faults experiments.Problems) {
			load, err := strconv.ParseFloat(c[1], 64)
			latency, err2 := strconv.ParseFloat(c[2], 64)
			if err := errors.Join(err, err2); err != nil && len(faults) == 0 {
				faults = experiments.Problems{{At: fmt.Sprintf("%s:%d", path.Join(name, "seeds.csv"), line), Message: err.Error()}}
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
		return nil, experiments.Problems{{At: name, Message: "holds neither targets.csv nor curves.csv nor seeds.csv"}}
	}
	if len(r.Curves) > 0 {
		r.readCurves()
	}
	r.setNoise()
	return r, nil
}

// table reads the named columns of a CSV table; false if there is none. A row that cannot be
// read, or the one that stands for a whole table, comes with its problems.
func (r *Reference) table(file string, columns []string, row func(line int, cells []string, faults experiments.Problems)) bool {
	t, problem := judge.OpenTable(r.folder, r.name, file, ',', columns...)
	if problem != nil {
		whole := make([]string, len(columns))
		whole[0] = file
		row(1, whole, experiments.Problems{problem})
		return true
	}
	if t == nil {
		return false
	}
	for {
		problem, more := t.Next()
		if !more {
			return true
		}
		var faults experiments.Problems
		if problem != nil {
			faults = append(faults, problem)
		}
		row(t.Line, t.Cells(columns...), faults)
	}
}

// seedPoint is a row of seeds.csv: a point of a curve again, with another seed.
type seedPoint struct {
	curve         string
	load, latency float64
}

// setNoise says of every point of every curve how much a seed of BookSim2's latency
// varies: as much as at the points of seeds.csv that are no nearer to saturation, of which
// the noisiest counts. How near a point is, is its load in units of the largest accepted load
// of its curve. Points farther from saturation than all of seeds.csv have no noise known.
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
