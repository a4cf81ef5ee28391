package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
)

// blame shows where the latency of the points of an experiment came from.
type blame struct {
	Picture template.HTML
	Narrow  template.HTML // for the width of a telephone
	Note    string
	Caption string // of the point with the worst channels
	Worst   []worst
}

// worst is one of the channels that are most to blame.
type worst struct {
	From, To, Class, Share, Time, Most string
}

const (
	mostBars    = 40
	mostWorst   = 10
	barsWidth   = 640 // of the picture in its own units; the page scales it
	narrowWidth = 340
)

// partColours are the fills of the parts, by core.Part.
var partColours = [core.NumParts]string{"#9aa5b1", "#c6dbef", "#6baed6", "#2171b5", "#d7301f", "#fd8d3c", "#67000d", "#d9d9d9"}

// blamedPoint is a row of scope all, and the channels of the point.
type blamedPoint struct {
	label    string
	behind   bool                   // the network did not keep up
	parts    [core.NumParts]float64 // nanoseconds
	total    float64
	channels []blamedChannel
	places   map[[3]string]int // of channels, by their ends and class
}

type blamedChannel struct {
	from, to, class string
	parts           [core.NumParts]float64
	total, root     float64
}

// newBlame reads blame.csv; nil where there is none that can be read.
func newBlame(f *experiments.Folder) *blame {
	t := f.Tables["blame"]
	if t == nil {
		return nil
	}
	points, err := blamedPoints(f, t)
	if err != nil || len(points) == 0 {
		return nil
	}
	b := &blame{Note: "Mean latency of the measured packets by its parts, in ns."}
	shown := points
	if len(shown) > mostBars {
		shown = shown[:mostBars]
		b.Note += fmt.Sprintf(" The first %d of %d points; blame.csv has them all.", mostBars, len(points))
	}
	if slices.Contains(f.File.SweptKeys(), seedKey) {
		b.Note += " Each is the mean of its seeds."
	}
	b.Picture, b.Narrow = stackedBars(shown, barsWidth), stackedBars(shown, narrowWidth)
	slowest := slices.MaxFunc(points, func(a, b blamedPoint) int { return cmp.Compare(a.total, b.total) })
	b.Caption = slowest.label
	slices.SortStableFunc(slowest.channels, func(a, b blamedChannel) int { return cmp.Compare(b.root, a.root) })
	for _, c := range slowest.channels[:min(mostWorst, len(slowest.channels))] {
		if c.root == 0 {
			break
		}
		most := core.PartVC // what is most of the waiting
		for _, part := range []core.Part{core.PartSwitch, core.PartCredit, core.PartSerial, core.PartEjection} {
			if c.parts[part] > c.parts[most] {
				most = part
			}
		}
		b.Worst = append(b.Worst, worst{
			c.from, c.to, c.class, percentage(c.root),
			strconv.FormatFloat(c.total, 'f', 3, 64), core.PartNames[most],
		})
	}
	return b
}

// percentage is a share of all with two digits that count or, from 10 % on,
// three: those of a network of thousands of channels are small.
func percentage(share float64) string {
	const least = 0.01
	percent := 100 * share
	if percent < least {
		return "< 0.01 %"
	}
	digits := 1
	for limit := 1.0; percent < limit; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(percent, 'f', digits, 64) + " %"
}

// blamedPoints reads the table, in its order.
func blamedPoints(f *experiments.Folder, t *experiments.Table) ([]blamedPoint, error) {
	names := []string{"point", "scope", "from", "to", "channel_class", "total_ns", "root_share"}
	for _, part := range core.PartNames {
		names = append(names, part+"_ns")
	}
	at := make([]int, len(names))
	for i, name := range names {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	// Variant by variant and by load: refinement adds points behind all others.
	labels, order := map[string]string{}, map[string]int{}
	for _, v := range variants(f, func(*experiments.Point) bool { return true }) {
		for _, p := range v.points {
			order[withoutSeed(f.File, p)] = len(order)
		}
	}
	for _, p := range f.File.Points {
		labels[strconv.Itoa(p.Index)] = withoutSeed(f.File, p)
	}
	saturated := map[string]bool{}
	if point := slices.Index(f.Results.Columns, "point"); point >= 0 {
		for i, r := range f.Results.Rows {
			saturated[r[point]] = f.Results.State(i) == measure.Saturated
		}
	}
	number := func(cell string) float64 {
		x, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return 0 // an empty cell: there was nothing to measure
		}
		return x
	}
	var points []blamedPoint
	for _, r := range t.Rows {
		c := blamedChannel{from: r[at[2]], to: r[at[3]], class: r[at[4]], total: number(r[at[5]]), root: number(r[at[6]])}
		for i := range c.parts {
			c.parts[i] = number(r[at[len(names)-int(core.NumParts)+i]])
		}
		switch scope := r[at[1]]; {
		case scope == "all":
			label := labels[r[at[0]]]
			if label == "" {
				label = "The only point"
			}
			points = append(points, blamedPoint{label: label, behind: saturated[r[at[0]]], parts: c.parts, total: c.total})
		case scope == "channel" && len(points) > 0:
			last := &points[len(points)-1]
			last.channels = append(last.channels, c)
		}
	}
	points = meanOfSeeds(points)
	slices.SortStableFunc(points, func(a, b blamedPoint) int { return cmp.Compare(order[a.label], order[b.label]) })
	return points, nil
}

// num prints a coordinate.
func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// stackedBars draws a bar for each point: its label above, its parts from left
// to right. The longest bar of those that kept up fills the width; one of a
// saturated point, which would dwarf them all, is shrunk to it and says so.
func stackedBars(points []blamedPoint, barsWidth float64) template.HTML {
	const (
		line, thickness = 14.0, 12.0
		left, room      = 4.0, 70.0 // margin; for the number behind a bar
	)
	columns := 4
	if barsWidth < 500 {
		columns = 2
	}
	legend := 8 + 18*float64((len(core.PartNames)+columns-1)/columns)
	top, all := 0.0, 0.0
	for _, p := range points {
		all = max(all, p.total)
		if !p.behind {
			top = max(top, p.total)
		}
	}
	if top == 0 {
		top = all
	}
	scaleTo := func(top float64) float64 {
		if top > 0 {
			return (barsWidth - left - room) / top
		}
		return 0
	}
	labels, height := make([][]string, len(points)), legend
	for i, p := range points {
		label := p.label
		if p.total > top {
			label += " (saturated: the bar is not to scale)"
		}
		labels[i] = broken(label, int((barsWidth-2*left)/6))
		height += line*float64(len(labels[i])) + thickness + 4
	}
	var c strings.Builder
	fmt.Fprintf(&c, `<svg role="img" aria-label="parts of the mean latency" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg">`+"\n", num(barsWidth), num(height))
	text := func(x, y float64, words string) {
		fmt.Fprintf(&c, `<text x="%s" y="%s" font-size="11" fill="#1b1f24">%s</text>`+"\n", num(x), num(y), template.HTMLEscapeString(words))
	}
	for i, name := range core.PartNames {
		x, y := left+float64(i%columns)*barsWidth/float64(columns), 4+float64(i/columns)*18
		fmt.Fprintf(&c, `<rect x="%s" y="%s" width="10" height="10" fill="%s" />`+"\n", num(x), num(y), partColours[i])
		text(x+15, y+9, name)
	}
	y := legend
	for i, p := range points {
		x, scale := left, scaleTo(max(top, p.total))
		for _, words := range labels[i] {
			text(x, y+10, words)
			y += line
		}
		for part, time := range p.parts {
			width := time * scale
			if width > 0 {
				fmt.Fprintf(&c, `<rect x="%.2f" y="%s" width="%.2f" height="%s" fill="%s"><title>%s: %.4g ns</title></rect>`+"\n",
					x, num(y), width, num(thickness), partColours[part], core.PartNames[part], time)
			}
			x += width
		}
		text(x+5, y+thickness-2, fmt.Sprintf("%.4g ns", p.total))
		y += thickness + 4
	}
	c.WriteString("</svg>")
	return template.HTML(c.String())
}

// broken divides a text between words into lines of about so many letters.
func broken(text string, letters int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= letters {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
