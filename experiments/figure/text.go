package figure

import (
	"slices"

	"github.com/weft-sim/weft/sim/input"
)

// printable is the figure with all its texts as they may stand in a picture: names
// come from files of other programs, and a control character makes an SVG file that
// nothing opens.
func (f *Figure) printable() *Figure {
	p := *f
	p.Title, p.XLabel, p.YLabel, p.LegendTitle = input.Printable(f.Title), input.Printable(f.XLabel), input.Printable(f.YLabel), input.Printable(f.LegendTitle)
	p.Marks, p.Panels = slices.Clone(f.Marks), slices.Clone(f.Panels)
	for i := range p.Marks {
		p.Marks[i].Name, p.Marks[i].Label = input.Printable(p.Marks[i].Name), input.Printable(p.Marks[i].Label)
	}
	for i := range p.Panels {
		p.Panels[i] = p.Panels[i].printable()
	}
	if f.Field != nil {
		field := *f.Field
		field.Label, field.Columns, field.Rows = input.Printable(field.Label), slices.Clone(field.Columns), slices.Clone(field.Rows)
		for i := range field.Columns {
			field.Columns[i] = input.Printable(field.Columns[i])
		}
		for i := range field.Rows {
			field.Rows[i] = input.Printable(field.Rows[i])
		}
		p.Field, p.Categories = &field, field.Columns
	}
	p.Series, p.References = slices.Clone(f.Series), slices.Clone(f.References)
	for i := range p.References {
		p.References[i].Name, p.References[i].Bar = input.Printable(p.References[i].Name), input.Printable(p.References[i].Bar)
	}
	if f.Field == nil {
		p.Categories = slices.Clone(f.Categories)
	}
	for i := range p.Categories {
		p.Categories[i] = input.Printable(p.Categories[i])
	}
	for i := range p.Series {
		p.Series[i].Name = input.Printable(p.Series[i].Name)
	}
	return &p
}
