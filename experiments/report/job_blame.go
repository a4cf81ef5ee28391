package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments"
)

// jobBlame shows which jobs slow each other, and at which cables.
type jobBlame struct {
	Picture drawnFigure
	Note    string
	Worst   []worstCable
}

// worstCable is a cable at which a job waits for another.
type worstCable struct{ Job, By, From, To, Slowdown string }

// newJobBlame reads job_blame.csv or, without, the slowdowns of jobs.csv; nil where there is nothing that
// can be drawn. Of several points it shows the one in which a job is slowed most by another.
func newJobBlame(f *experiments.Folder) *jobBlame {
	p := experiments.NewPlot()
	t := f.Tables["job_blame"]
	if t == nil {
		b := &jobBlame{Note: "The time of each job beside the others, in times that it takes alone. measure.blame = true tells which jobs and cables slow it."}
		p.Title, p.Table, p.Style, p.X, p.Y = "Slowdown of jobs", "jobs", "bar", "job", []string{"slowdown"}
		return b.drawn(f, &p)
	}
	var at [6]int
	for i, name := range []string{"point", "job", "slowed_by", "from", "to", "slowdown"} {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil
		}
	}
	slowdown := func(row []string) float64 {
		x, err := strconv.ParseFloat(row[at[5]], 64)
		if err != nil {
			return 0
		}
		return x
	}
	sums, point := map[[3]string]float64{}, ""
	most := math.Inf(-1)
	for _, row := range t.Rows {
		cell := [3]string{row[at[0]], row[at[1]], row[at[2]]}
		sums[cell] += slowdown(row)
		if sums[cell] > most {
			most, point = sums[cell], row[at[0]]
		}
	}
	b := &jobBlame{Note: "By how much each job (a row) is slowed by each other one (a column), in times that it takes alone."}
	if len(f.File.Points) > 1 {
		for _, p := range f.File.Points {
			if strconv.Itoa(p.Index) == point {
				b.Note += fmt.Sprintf(" The point in which a job is slowed most: %s.", withoutSeed(f.File, p))
			}
		}
	}
	p.Title, p.Table, p.Style, p.X, p.Y, p.Z, p.Aggregate = "Who slows whom", "job_blame", "heat", "slowed_by", []string{"job"}, "slowdown", "sum"
	p.XLabel, p.YLabel, p.Where = "slowed by", "job", map[string]string{"point": point}
	var rows [][]string
	for _, row := range t.Rows {
		if row[at[0]] == point && row[at[3]] != "" && slowdown(row) > 0 {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(slowdown(b), slowdown(a)) })
	for _, row := range rows[:min(mostWorst, len(rows))] {
		b.Worst = append(b.Worst, worstCable{row[at[1]], row[at[2]], row[at[3]], row[at[4]], strconv.FormatFloat(slowdown(row), 'f', 3, 64)})
	}
	return b.drawn(f, &p)
}

// drawn is b with its picture; nil if it cannot be drawn.
func (b *jobBlame) drawn(f *experiments.Folder, p *experiments.PlotConfig) *jobBlame {
	var err error
	if b.Picture, err = drawFigure(f, p); err != nil {
		return nil
	}
	return b
}
