package experiments

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
)

// data writes the numbers that a figure shows as CSV: a row for each point.
func (p *PlotConfig) data(f *plot.Figure) ([]byte, error) {
	t := p.dataTable(f)
	var b bytes.Buffer
	err := t.Write(&b)
	return b.Bytes(), err
}

// stateNames are those of the states in figures' data.
var stateNames = map[plot.State]string{plot.Steady: "steady", plot.Undecided: "undecided", plot.Saturated: "saturated"}

// cellOf writes a number; empty where there is none.
func cellOf(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func (p *PlotConfig) dataTable(f *plot.Figure) *Table {
	if f.Field != nil {
		t := &Table{Columns: []string{p.X, p.Y[0], p.Z, stateColumn}}
		for j, row := range f.Field.Values {
			for i, v := range row {
				t.Rows = append(t.Rows, []string{f.Field.Columns[i], f.Field.Rows[j], cellOf(v), stateNames[f.Field.States[j][i]]})
			}
		}
		return t
	}
	value := "value"
	if len(p.Y) == 1 && len(p.Baseline) == 0 && f.Style != plot.Histogram && f.Style != plot.Curve && f.Style != plot.Box {
		value = p.Y[0]
	}
	t := &Table{Columns: []string{"series", p.X}}
	has := func(is func(s *plot.Series) bool) bool {
		return slices.ContainsFunc(f.Series, func(s plot.Series) bool { return is(&s) })
	}
	ends, boxes := has(func(s *plot.Series) bool { return s.XEnd != nil }), has(func(s *plot.Series) bool { return s.Quantiles != nil })
	halves, states := has(func(s *plot.Series) bool { return s.HalfWidth != nil }), has(func(s *plot.Series) bool { return s.States != nil })
	if p.Style == "percentile" {
		t.Columns[1] = "percentile"
	}
	if p.Panels != "" {
		t.Columns = append([]string{p.Panels}, t.Columns...)
	}
	if ends {
		t.Columns = append(t.Columns, "to")
	}
	t.Columns = append(t.Columns, value)
	for _, c := range []struct {
		there bool
		names []string
	}{{halves, []string{"ci95"}}, {states, []string{stateColumn}}, {boxes, []string{"low", "quartile1", "median", "quartile3", "high"}}} {
		if c.there {
			t.Columns = append(t.Columns, c.names...)
		}
	}
	panels := f.Panels
	if panels == nil {
		panels = []*plot.Figure{f}
	}
	for _, panel := range panels {
		for i := range panel.Series {
			s := &panel.Series[i]
			for j := range s.X {
				var row []string
				if p.Panels != "" {
					row = append(row, panel.Title)
				}
				x := cellOf(s.X[j])
				switch {
				case panel.Categories != nil:
					x = panel.Categories[int(s.X[j])]
				case p.Style == "percentile":
					x = cellOf(100 * (1 - math.Pow(10, -s.X[j])))
				}
				row = append(row, s.Name, x)
				if ends {
					row = append(row, cellOf(s.XEnd[j]))
				}
				row = append(row, cellOf(s.Y[j]))
				if halves {
					row = append(row, cellOf(at(s.HalfWidth, j)))
				}
				if states {
					state := plot.Steady
					if j < len(s.States) {
						state = s.States[j]
					}
					row = append(row, stateNames[state])
				}
				if boxes {
					for _, q := range s.Quantiles[j] {
						row = append(row, cellOf(q))
					}
				}
				t.Rows = append(t.Rows, row)
			}
		}
		t.Rows = append(t.Rows, p.referenceRows(t, panel)...)
	}
	return t
}

// at is an element of a list that may be nil.
func at(list []float64, i int) float64 {
	if i < len(list) {
		return list[i]
	}
	return math.NaN()
}

// referenceRows are the points of a panel's references, as series of their names.
func (p *PlotConfig) referenceRows(t *Table, panel *plot.Figure) (rows [][]string) {
	x := 1
	if p.Panels != "" {
		x = 2
	}
	for _, r := range panel.References {
		name := strings.TrimSuffix(r.Name+", "+r.Bar, ", ")
		for i := range r.X {
			row := make([]string, len(t.Columns))
			row[0] = panel.Title
			row[x-1], row[x] = name, cellOf(r.X[i])
			if panel.Categories != nil {
				row[x] = panel.Categories[int(r.X[i])]
			}
			value := x + 1
			if t.Columns[value] == "to" {
				value++
			}
			row[value] = cellOf(r.Y[i])
			rows = append(rows, row)
		}
	}
	return rows
}
