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
	p.Categories, p.Series = slices.Clone(f.Categories), slices.Clone(f.Series)
	for i := range p.Categories {
		p.Categories[i] = input.Printable(p.Categories[i])
	}
	for i := range p.Series {
		p.Series[i].Name = input.Printable(p.Series[i].Name)
	}
	return &p
}
