package experiments

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
)

// draw writes the figures of a file into its result folder and returns their
// names. Figures that cannot be drawn, such as those without a point, are left
// out, with an error at the end, which is [ErrInterrupted] if ctx ended first.
func (f *File) draw(ctx context.Context, found *Table, tables map[string]*Table, dir string) ([]string, error) {
	var written []string
	var left []error
	for i := range f.Plots {
		p := &f.Plots[i]
		source, err := f.plotSource(p, found, tables)
		if err != nil {
			left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
			continue
		}
		for _, format := range p.Formats {
			picture, err := Interruptible(ctx, func() ([]byte, error) { return p.Draw(source, format) })
			if errors.Is(err, ErrInterrupted) {
				return written, err
			}
			if err != nil {
				left = append(left, fmt.Errorf("%s: plot %s: %w", f.Name, p.File, err))
				break
			}
			name := figures.FileOf(p.File, format)
			if err := results.WriteInside(dir, name, picture); err != nil {
				left = append(left, err)
				break
			}
			written = append(written, name)
		}
	}
	return written, errors.Join(left...)
}

// plotSource finds the table of a figure: rows of further tables have the state of
// their points, and those of the performance all columns of the results.
func (f *File) plotSource(p *PlotConfig, found *Table, tables map[string]*Table) (*PlotSource, error) {
	table := found
	if p.Table != figures.ResultsTable {
		if table = tables[p.Table]; table == nil {
			return nil, fmt.Errorf("the run has no table %q: nothing in the file asks for it", p.Table)
		}
		columns := []string{results.StateColumn}
		if p.Table == performanceTable {
			columns = found.Columns
		}
		table = table.Joined(found, columns)
	}
	return &PlotSource{Table: table, Bound: func(point int) float64 {
		for _, p := range f.Points {
			if p.Index == point {
				return f.LoadBound(p)
			}
		}
		return 0
	}}, nil
}

// PlotSource is what a figure of the folder's file is drawn from.
func (f *Folder) PlotSource(p *PlotConfig) (*PlotSource, error) {
	tables := f.Tables
	if p.Table == performanceTable {
		t, err := readFolderTable(f.Dir, performanceFile)
		if err != nil {
			return nil, err
		}
		tables = map[string]*Table{performanceTable: t}
	}
	return f.File.plotSource(p, f.Results, tables)
}

// performanceTable is what points took to compute.
const performanceTable = "performance"
