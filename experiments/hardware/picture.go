package hardware

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
)

// draw writes a picture of a system: for each class of its benchmarks, by size, measured points over
// simulated curves, and below them the errors in percent. It draws nothing of a system without rows by size.
func (s *system) draw(folder string) error {
	var pages [][]byte
	for _, a := range aims {
		values, errors := s.figures(a.class)
		for _, f := range []*plot.Figure{values, errors} {
			if len(f.Series) == 0 {
				continue
			}
			page, err := f.Render("svg")
			if err != nil {
				return fmt.Errorf("picture of %s: %w", s.name, err)
			}
			pages = append(pages, page)
		}
	}
	if len(pages) == 0 {
		return nil
	}
	stacked, err := stack(pages)
	if err != nil {
		return err
	}
	return results.WriteBelow(filepath.Join(folder, strings.NewReplacer("/", "-", `\`, "-").Replace(s.name)+".svg"), stacked)
}

// figures are the figures of a class: a hue for each benchmark.
func (s *system) figures(class string) (values, errors *plot.Figure) {
	values = &plot.Figure{Title: s.name + ": " + class, XLabel: "size (bytes)", LogX: true, LogY: true, Style: plot.Line, Height: 3.6}
	errors = &plot.Figure{XLabel: "size (bytes)", YLabel: "error of weft (%)", LogX: true, Style: plot.Scatter, Height: 2.2}
	shown := slices.DeleteFunc(slices.Clone(s.rows), func(r *row) bool { return r.refused != "" || r.bytes == 0 || r.class() != class })
	series := results.Grouped(shown, func(r *row) string { return fmt.Sprintf("%s, %d ranks, %s", r.title, r.ranks, r.library) })
	const most = 6 // that are told apart
	for i, rows := range series[:min(most, len(series))] {
		name := fmt.Sprintf("%s, %d ranks, %s", rows[0].title, rows[0].ranks, rows[0].library)
		slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(a.bytes, b.bytes) })
		measured := plot.Series{Name: name, Hue: i + 1, Look: 1}
		own := plot.Series{Name: name + ", weft", Hue: i + 1, Look: 2}
		off := plot.Series{Name: name, Hue: i + 1, Look: 1}
		for _, r := range rows {
			x := float64(r.bytes)
			measured.X, measured.Y = append(measured.X, x), append(measured.Y, r.measured)
			own.X, own.Y = append(own.X, x), append(own.Y, r.simulated)
			off.X, off.Y = append(off.X, x), append(off.Y, math.Min(100, math.Max(-100, 100*r.err())))
			values.YLabel = r.unit
		}
		values.Series = append(values.Series, own, measured)
		errors.Series = append(errors.Series, off)
	}
	return values, errors
}

// sized finds the size of an SVG in points.
var sized = input.Pattern(`<svg[^>]* width="([0-9.]+)pt" height="([0-9.]+)pt"`)

func stack(pages [][]byte) ([]byte, error) {
	var b bytes.Buffer
	width, height := 0.0, 0.0
	for _, page := range pages {
		found := sized().FindSubmatch(page)
		start := bytes.Index(page, []byte("<svg"))
		if found == nil || start < 0 {
			return nil, fmt.Errorf("an SVG without its size")
		}
		w, err1 := strconv.ParseFloat(string(found[1]), 64)
		h, err2 := strconv.ParseFloat(string(found[2]), 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("an SVG with a size of %q", found[0])
		}
		fmt.Fprintf(&b, "<svg y=\"%gpt\"%s", height, page[start+len("<svg"):])
		width, height = max(width, w), height+h
	}
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%gpt\" height=\"%gpt\">\n%s</svg>\n", width, height, b.Bytes()), nil
}
