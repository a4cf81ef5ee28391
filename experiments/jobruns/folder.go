// Package jobruns holds weft against runs of several applications on a dragonfly, alone and in
// mixes, as MFNetSim (PADS 2025) has published them. It reads a folder of that form, runs each
// cell with kind jobs, and compares the medians of communication times.
//
// The folder has summary.csv (columns app, situation, placement, routing, metric, median),
// ranks.csv (app, situation, placement, routing, rank, terminal, io_write_time_ns) and
// iterations.csv (app, situation, placement, routing, iteration, median_ns).
package jobruns

import (
	"os"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
)

// cell is a run of the folder: applications in a situation.
type cell struct {
	situation, placement, routing string
	jobs                          []*job
	faults                        document.Problems
}

// job is an application of a cell.
type job struct {
	app        string
	median     float64         // of the ranks' communication time, ns
	iterations map[int]float64 // medians of their times, ns
	ranks      []rank
}

type rank struct {
	number, terminal int
	held             float64 // ns, in writes
}

// name is the name of the entry; what runs alone is a cell of its own.
func (c *cell) name() string {
	name := c.situation
	if c.situation == alone {
		name += "/" + c.jobs[0].app
	}
	return name + "/" + c.placement + "/" + c.routing
}

const alone = "alone"

type reader struct {
	path   string
	cells  []*cell
	faults document.Problems
}

// job finds the job that a row of a table speaks of; nil where weft does not know the application, as
// with one that only writes.
func (r *reader) job(t *judge.Table, add bool) *job {
	app, situation, placement, routing := t.Cell("app"), t.Cell("situation"), t.Cell("placement"), t.Cell("routing")
	if _, known := applications[app]; !known {
		return nil
	}
	at := slices.IndexFunc(r.cells, func(c *cell) bool {
		return c.situation == situation && c.placement == placement && c.routing == routing && (situation != alone || c.jobs[0].app == app)
	})
	if at < 0 && add {
		at, r.cells = len(r.cells), append(r.cells, &cell{situation: situation, placement: placement, routing: routing})
	}
	if at < 0 {
		return nil
	}
	c := r.cells[at]
	if i := slices.IndexFunc(c.jobs, func(j *job) bool { return j.app == app }); i >= 0 {
		return c.jobs[i]
	}
	if !add {
		return nil
	}
	j := &job{app: app, iterations: map[int]float64{}}
	c.jobs = append(c.jobs, j)
	return j
}

// each calls do for each row of a table.
func (r *reader) each(file string, columns []string, do func(t *judge.Table)) {
	faults, there := judge.EachRow(os.DirFS(r.path), r.path, file, do, columns...)
	if !there {
		faults = document.Problems{{At: r.path + "/" + file, Message: "cannot be read: no such file or directory; see weft reproduce --help"}}
	}
	r.faults = append(r.faults, faults...)
}

// What the numbers of a folder are at most: times in ns, and ranks, terminals and iterations.
const (
	mostTime   = 1e18
	mostNumber = 1 << 24
)

func read(path string) (*reader, error) {
	r := &reader{path: path}
	key := []string{"app", "situation", "placement", "routing"}
	r.each("ranks.csv", append(key, "rank", "terminal", "io_write_time_ns"), func(t *judge.Table) {
		x := rank{t.Whole("rank", mostNumber), t.Whole("terminal", mostNumber), t.Number("io_write_time_ns", mostTime)}
		if t.Good() {
			if j := r.job(t, true); j != nil {
				j.ranks = append(j.ranks, x)
			}
		}
	})
	r.each("summary.csv", append(key, "metric", "median"), func(t *judge.Table) {
		if j := r.job(t, false); j != nil && t.Cell("metric") == applications[j.app].metric {
			j.median = t.Number("median", mostTime)
		}
	})
	r.each("iterations.csv", append(key, "iteration", "median_ns"), func(t *judge.Table) {
		i, median := t.Whole("iteration", mostNumber), t.Number("median_ns", mostTime)
		if j := r.job(t, false); j != nil && t.Good() {
			j.iterations[i] = median
		}
	})
	for _, c := range r.cells {
		c.check(path)
	}
	if len(r.cells) == 0 && len(r.faults) > 0 {
		return nil, r.faults
	}
	return r, nil
}

func (c *cell) check(path string) {
	fault := func(message string) {
		c.faults = append(c.faults, &document.Problem{At: path, Message: c.name() + ": " + message})
	}
	if routings[c.routing] == "" {
		fault("routing " + strconv.Quote(c.routing) + ": want minimal or prog-adaptive")
	}
	for _, j := range c.jobs {
		slices.SortStableFunc(j.ranks, func(a, b rank) int { return a.number - b.number })
		for i := range j.ranks {
			if j.ranks[i].number != i {
				fault("ranks.csv has the ranks of " + j.app + " not from 0 on, each once")
				break
			}
		}
		if j.median <= 0 {
			fault("summary.csv has no median of " + applications[j.app].metric + " for " + j.app)
		}
	}
}
