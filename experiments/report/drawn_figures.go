package report

import (
	"encoding/json"
	"html/template"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// drawnFigure is a figure: a picture, and the numbers for the page's script.
type drawnFigure struct {
	Title, Label string
	Picture      template.HTML
	Chart        string // JSON; empty where the script cannot draw it
	Files        []file
}

// figure draws a plot.
func figure(f *experiments.Folder, p *experiments.PlotConfig) (drawnFigure, error) {
	d := drawnFigure{Title: p.Title, Label: p.Title + ": " + strings.Join(p.Y, ", ") + " over " + p.X}
	source, err := f.PlotSource(p)
	if err != nil {
		return d, err
	}
	chart, err := p.Chart(source)
	if err != nil {
		return d, err
	}
	if chart != nil {
		text, err := json.Marshal(chart)
		if err != nil {
			return d, err
		}
		d.Chart = string(text)
	}
	picture, err := p.Draw(source, "svg")
	if err != nil {
		return d, err
	}
	_, element, found := strings.Cut(string(picture), "<svg ")
	if !found {
		panic("report: a picture that is not SVG")
	}
	d.Picture = template.HTML(`<svg role="img" aria-label="` + template.HTMLEscapeString(d.Label) + `" ` + element)
	return d, nil
}
