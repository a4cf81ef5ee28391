package report

import (
	"html/template"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// drawnFigure is a figure as plot draws it, and for the width of a telephone.
type drawnFigure struct {
	Label        string
	Wide, Narrow template.HTML
	Panels       bool
	Files        []file
}

// figure draws a plot.
func figure(f *experiments.Folder, p *experiments.PlotConfig) (drawnFigure, error) {
	d := drawnFigure{Label: p.Title + ": " + strings.Join(p.Y, ", ") + " over " + p.X, Panels: p.Panels != ""}
	source, err := f.PlotSource(p)
	if err != nil {
		return d, err
	}
	wide, narrow, err := p.PagePictures(source)
	if err != nil {
		return d, err
	}
	d.Wide, d.Narrow = d.element(wide), d.element(narrow)
	return d, nil
}

// element is a picture as an element of a page.
func (d *drawnFigure) element(picture []byte) template.HTML {
	_, element, found := strings.Cut(string(picture), "<svg ")
	if !found {
		panic("report: a picture that is not SVG")
	}
	return template.HTML(`<svg role="img" aria-label="` + template.HTMLEscapeString(d.Label) + `" ` + element)
}
