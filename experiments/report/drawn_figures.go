package report

import (
	"html/template"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/plot"
)

// drawnFigure is a figure as plot draws it, and for the width of a telephone.
type drawnFigure struct {
	Wide, Narrow template.HTML
	Panels       bool
	Files        []file
}

// drawFigure draws a plot.
func drawFigure(f *experiments.Folder, p *experiments.PlotConfig) (drawnFigure, error) {
	source, err := f.PlotSource(p)
	if err != nil {
		return drawnFigure{}, err
	}
	wide, narrow, err := p.PagePictures(source)
	if err != nil {
		return drawnFigure{}, err
	}
	label := p.Title + ": " + strings.Join(p.Y, ", ") + " over " + p.X
	return drawnFigure{Wide: svgElement(wide, label), Narrow: svgElement(narrow, label), Panels: p.Panels != ""}, nil
}

// svgElement is a picture as an element of a page, with a label for readers that do not see it.
func svgElement(picture []byte, label string) template.HTML {
	_, rest, found := strings.Cut(string(picture), "<svg ")
	if !found {
		panic("report: a picture that is not SVG")
	}
	return template.HTML(`<svg role="img" aria-label="` + template.HTMLEscapeString(label) + `" ` + rest)
}

// embedded is a drawing as an element of a page.
func embedded(d *plot.Drawing, label string) template.HTML {
	picture, err := d.Render("svg")
	if err != nil {
		panic("report: " + err.Error()) // of another format only
	}
	return svgElement(picture, label)
}
