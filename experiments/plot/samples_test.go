package plot

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// latency is a load-latency curve with the shape of a queue: base / (1 - load
// / capacity), and beyond capacity the latency of a run that does not settle.
func latency(name string, base, capacity float64) Series {
	s := Series{Name: name}
	for load := 0.05; load < 1; load += 0.05 {
		y, state := base*(1+0.3*load/(capacity-load)), Steady
		if load >= capacity {
			y, state = 3000+8000*(load-capacity), Saturated
		}
		s.X = append(s.X, load)
		s.Y = append(s.Y, y)
		s.HalfWidth = append(s.HalfWidth, 0.02*y+0.3*base*load)
		s.States = append(s.States, state)
	}
	return s
}

func samples() map[string]*Figure {
	loads := &Figure{
		Title:  "Dragonfly, 1056 terminals, uniform traffic",
		XLabel: "Offered load (flits per terminal and cycle)", YLabel: "Mean latency (ns)",
		Style: Line,
		Series: []Series{
			latency("min", 12, 0.97), latency("val", 20, 0.51), latency("ugal-l", 13, 0.83),
			latency("ugal-g", 12.5, 0.93), latency("ugal-l-vc", 14, 0.72), latency("ugal-l-vch", 13.5, 0.88),
		},
	}
	two := &Figure{Title: "Two curves", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line, Series: []Series{latency("min", 12, 0.97), latency("val", 20, 0.51)}}
	throughput := &Figure{Title: "Throughput", XLabel: "Offered load", YLabel: "Accepted load", Style: Line}
	for _, s := range two.Series {
		t := Series{Name: s.Name, X: s.X, States: s.States}
		capacity := map[string]float64{"min": 0.97, "val": 0.51}[s.Name]
		for _, x := range s.X {
			t.Y = append(t.Y, min(x, capacity))
		}
		throughput.Series = append(throughput.Series, t)
	}
	logs := &Figure{Title: "All-to-all", XLabel: "Message size (B)", YLabel: "Time (µs)", Style: Line, LogX: true, LogY: true}
	for i, name := range []string{"Bruck", "ring", "PLP"} {
		s := Series{Name: name}
		for size := 1.0; size <= 1<<20; size *= 4 {
			s.X = append(s.X, size)
			s.Y = append(s.Y, float64(i+1)*10+size/float64(20*(i+1)))
		}
		logs.Series = append(logs.Series, s)
	}
	bar := &Figure{
		Title: "Use of the global channels", XLabel: "Routing", YLabel: "Utilisation", Style: Bar,
		Categories: []string{"UGAL-G", "UGAL-L", "UGAL-L_VCH"},
		Series: []Series{
			{Name: "minimal channel", X: []float64{0, 1, 2}, Y: []float64{0.98, 0.99, 0.97}, HalfWidth: []float64{0.01, 0.02, 0.01}},
			{Name: "same switch", X: []float64{0, 1, 2}, Y: []float64{0.46, 0.21, 0.44}},
			{Name: "others", X: []float64{0, 1, 2}, Y: []float64{0.47, 0.52, math.NaN()}},
		},
	}
	histogram := &Figure{Title: "Latency of packets", XLabel: "Latency (ns)", YLabel: "Share of packets per ns", Style: Histogram, LegendTitle: "buffers"}
	for i, name := range []string{"16", "256"} {
		s := Series{Name: name}
		for x := 4.0; x < 200; x += 2 {
			y := math.Round(9000*math.Exp(-math.Pow((x-20-10*float64(i))/12, 2)) + 2000*math.Exp(-math.Pow((x-90-50*float64(i))/20, 2)))
			if y > 0 {
				s.X, s.XEnd, s.Y = append(s.X, x), append(s.XEnd, x+2), append(s.Y, y/4e5)
			}
		}
		histogram.Series = append(histogram.Series, s)
	}
	outlier := &Figure{Title: "Two bins far apart", XLabel: "Latency (ns)", YLabel: "Share of packets per ns", Style: Histogram, Series: []Series{{
		X: []float64{4, 34}, XEnd: []float64{5, 35}, Y: []float64{0.9, 0.1},
	}}}
	logHistogram := &Figure{Title: "Latency of packets", XLabel: "Latency (ns)", YLabel: "Share of packets per ns", Style: Histogram, LogY: true, LegendTitle: "buffers", Series: histogram.Series}
	logBar := &Figure{Title: "Entries", XLabel: "Engine", YLabel: "Entries", Style: Bar, LogY: true, Categories: bar.Categories}
	for _, s := range bar.Series {
		t := Series{Name: s.Name, X: s.X, HalfWidth: s.HalfWidth}
		for _, y := range s.Y {
			t.Y = append(t.Y, 1000*y*y)
		}
		logBar.Series = append(logBar.Series, t)
	}
	many := &Figure{
		Title:  "A figure with very many series, whose title says all that there is to say of it and is far too long for a line, traffic.pattern = transpose, switch.vcs = 4",
		XLabel: "Offered load (flits per terminal and cycle)", YLabel: "Mean latency, 95th percentile of latency, 99th percentile of latency of packets and of their network part (ns)",
		Style: Line, LegendTitle: "topology",
	}
	crowd := &Figure{Title: "Many bars", XLabel: "Topology", YLabel: "Entries", Style: Bar}
	for i := range 40 {
		name := fmt.Sprintf("topology number %d of 40, with a name", i)
		many.Series = append(many.Series, latency(name, 10+float64(i)/4, 0.41+float64(i)/83))
		crowd.Categories = append(crowd.Categories, name)
	}
	for i := range 3 {
		s := Series{Name: fmt.Sprint("engine ", i)}
		for j := range crowd.Categories {
			s.X, s.Y = append(s.X, float64(j)), append(s.Y, float64(10+i*j))
		}
		crowd.Series = append(crowd.Series, s)
	}
	adaptive := &Figure{Title: "A valid point high up", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line, Series: []Series{
		{Name: "MIN", X: []float64{0.1, 0.2, 0.3, 0.6}, Y: []float64{20, 2500, 3000, math.NaN()}, States: []State{Steady, Saturated, Saturated, Saturated}},
		{Name: "UGAL-L", X: []float64{0.1, 0.2, 0.3, 0.4, 0.5}, Y: []float64{150, 60, 40, 45, 3000}, States: []State{Steady, Steady, Steady, Undecided, Saturated}},
	}}
	sizes := &Figure{Title: "Bytes along both axes", XLabel: "Message size (B)", YLabel: "Memory (B)", Style: Line, Series: []Series{
		{Name: "rc", X: []float64{0, 4096, 65536, 1 << 20}, Y: []float64{1e5, 3e5, 4e6, 9e6}, HalfWidth: []float64{0, 0, 1e6, 1e6}},
	}}
	full := &Figure{Title: "No free corner", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line}
	for i := range 10 {
		s := Series{Name: fmt.Sprint("variant ", i)}
		for x := range 20 {
			s.X, s.Y = append(s.X, float64(x)), append(s.Y, float64((x*7+i*13)%23))
		}
		full.Series = append(full.Series, s)
	}
	single := &Figure{Title: "One load", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line, Series: []Series{
		{Name: "min", X: []float64{0.5}, Y: []float64{20}, HalfWidth: []float64{3}},
		{Name: "val", X: []float64{0.5}, Y: []float64{30}, HalfWidth: []float64{2}},
	}}
	scatter := &Figure{Title: "Points", XLabel: "Time (ns)", YLabel: "Latency (ns)", Style: Scatter}
	cdf := &Figure{Title: "Distribution", XLabel: "Latency (ns)", YLabel: "Share of packets", Style: Curve}
	boxed := &Figure{Title: "Spread", XLabel: "Routing", YLabel: "Latency (ns)", Style: Box, Categories: []string{"min", "val", "ugal-l"}}
	for i, name := range []string{"uniform", "worst-case"} {
		s, c, b := Series{Name: name}, Series{Name: name}, Series{Name: name}
		for x := range 60 {
			s.X, s.Y = append(s.X, float64(x)), append(s.Y, 20+float64((x*(7+i))%31))
			c.X, c.Y = append(c.X, 10+float64(x*(i+1))/3), append(c.Y, 1-math.Exp(-float64(x)/9))
		}
		for x := range boxed.Categories {
			low := float64(5 + 3*x + 4*i)
			b.X, b.Y = append(b.X, float64(x)), append(b.Y, low+4)
			b.Quantiles = append(b.Quantiles, [5]float64{low, low + 2, low + 4, low + 7, low + 20})
		}
		scatter.Series, cdf.Series, boxed.Series = append(scatter.Series, s), append(cdf.Series, c), append(boxed.Series, b)
	}
	marked := &Figure{Title: "Known of the load", XLabel: "Offered load", YLabel: "Mean latency (ns)", Style: Line, Whiskers: true, Series: two.Series, Marks: []Mark{
		{Name: "knee", Vertical: true, From: 0.45, To: 0.55, Hue: 2}, {Name: "bound", Label: "bound 0.5", Vertical: true, From: 0.5, To: 0.5, Hue: 2},
		{Name: "bound", Vertical: true, From: 7, To: 7, Hue: 1}, // off the axis
	}}
	column := *loads
	column.Width, column.Height, column.FontSize = 3.4, 2.4, 7
	tinted := &Figure{Title: "Colours of a scale", XLabel: "Time", YLabel: "Latency", Style: Line}
	for i := range 4 {
		s := latency(fmt.Sprint("load ", i), 10+float64(i), 0.9)
		s.Hue, s.Tint, s.Look = -1, float64(i)/3, i+1
		tinted.Series = append(tinted.Series, s)
	}
	return map[string]*Figure{
		"scatter": scatter, "cdf": cdf, "box": boxed, "marked": marked, "column": &column, "tinted": tinted,
		"loads": loads, "two": two, "throughput": throughput, "logs": logs, "bar": bar, "log-bar": logBar, "crowd": crowd,
		"histogram": histogram, "outlier": outlier, "log-histogram": logHistogram,
		"many": many, "adaptive": adaptive, "sizes": sizes, "full": full, "single": single,
	}
}

// randomFigure is a figure of any style with values of any kind.
func randomFigure(r *rand.Rand) *Figure {
	f := &Figure{
		Title: strings.Repeat("title ", r.IntN(40)), XLabel: []string{"", "Message size (B)", "Offered load"}[r.IntN(3)],
		YLabel: []string{"", "Memory (B)", "Time (s)", strings.Repeat("label ", 30)}[r.IntN(4)],
		Style:  []Style{Line, Bar, Histogram}[r.IntN(3)], LogX: r.IntN(3) == 0, LogY: r.IntN(3) == 0,
		LegendTitle: strings.Repeat("shared ", r.IntN(20)/10*r.IntN(12)),
	}
	if r.IntN(5) == 0 {
		f.YMax = 10
	}
	scale := math.Pow(10, float64(r.IntN(24)-12))
	value := func() float64 {
		switch r.IntN(12) {
		case 0:
			return 0
		case 1:
			return math.NaN()
		case 2:
			return math.Inf(1)
		case 3:
			return -scale * r.Float64()
		}
		return scale * r.ExpFloat64()
	}
	for range 1 + r.IntN(60)/(1+r.IntN(20)) {
		f.Categories = append(f.Categories, strings.Repeat("category ", r.IntN(4)))
	}
	for i := range 1 + r.IntN(50)/(1+r.IntN(20)) {
		s := Series{Name: strings.Repeat(fmt.Sprint("name ", i, " "), r.IntN(8))}
		x := 0.0
		for j := range 1 + r.IntN(12) {
			if f.Style == Bar {
				x = float64(j % len(f.Categories))
			}
			s.X, s.Y, s.HalfWidth = append(s.X, x), append(s.Y, value()), append(s.HalfWidth, value())
			s.States = append(s.States, State(r.IntN(4)))
			x += 1 + scale*r.Float64()
			s.XEnd = append(s.XEnd, x)
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// TestRandomFigures: whatever the values, a figure that can be drawn keeps to
// the picture and its legend off the data.
func TestRandomFigures(t *testing.T) {
	drawn := 0
	for seed := range uint64(300) {
		f := randomFigure(rand.New(rand.NewPCG(seed, 0)))
		if f.Check() != nil {
			continue
		}
		drawn++
		l, tape := record(f)
		picture := grown(vg.Rectangle{Max: l.size}, 0.01)
		for _, m := range tape.marks {
			if b := m.box(); !within(picture, b) {
				t.Errorf("%d: %q of %v is at %v, the picture is %v", seed, m.text, m.ink, b, l.size)
				break
			}
			if m.ofSeries() && l.legend != nil && m.covers(grown(l.box, -0.01)) && !within(grown(l.box, 3), m.box()) {
				t.Errorf("%d: the legend at %v lies over data at %v", seed, l.box, m.box())
				break
			}
		}
	}
	simtest.ErrorIf(t, drawn < 200, "%d figures drawn", drawn)
}

// build makes a topology of the registry.
func build[C any](t *testing.T, name string, set func(*C)) topology.Topology {
	t.Helper()
	return simtest.Must(param.Make(topology.Registry, name, struct{}{}, set))(t)
}

func torus(t *testing.T, dims ...int) topology.Topology {
	return build(t, "torus", func(c *topology.GridConfig) { c.Dims = dims })
}

func fatTree(t *testing.T, k, n int) topology.Topology {
	return build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = k, n })
}

// TestHotSpot: in every layout, the one hot channel has the hottest colour and
// all others the coldest.
func TestHotSpot(t *testing.T) {
	const hottest, coldest = "#67000D", "#E4E8EE"
	dragonfly := build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 1, 2, 1 })
	for _, c := range []struct {
		name   string
		t      topology.Topology
		matrix bool
		from   topology.SwitchID // with a channel to the switch to
		to     topology.SwitchID
		title  string
		marks  int // elements of the hot channel
		shapes int // elements in all that show a load
	}{
		// 4x4 torus: 64 directed links, 16 of them closing rings (two stubs each); 16 switches.
		{"torus", torus(t, 4, 4), false, 0, 1, "switch 0 to switch 1", 1, 48 + 2*16 + 16},
		{"torus, closing a ring", torus(t, 4, 4), false, 0, 3, "switch 0 to switch 3", 2, 48 + 2*16 + 16},
		// 3x3x2 mesh: between planes only the square shows; each plane has 12
		// cables, 24 directed links; 18 switches.
		{"mesh between planes", build(t, "mesh", func(c *topology.GridConfig) { c.Dims = []int{3, 3, 2} }), false, 0, 9, "switch 0", 1, 48 + 18},
		// k = 4, n = 2: 4 leaves, 2 roots, two cables between each pair:
		// 8 pairs, 16 directed links; 6 switches.
		{"fat tree", fatTree(t, 4, 2), false, 4, 0, "switch 4 to switch 0", 1, 16 + 6},
		// p = h = 1, a = 2: 3 groups, a matrix of 9, or 3 local and 3 global
		// cables; switches 0 and 1 in group 0.
		{"dragonfly", dragonfly, true, 0, 1, "group 0 to 0", 1, 9},
		{"rings", dragonfly, false, 0, 1, "switch 0 to switch 1", 1, 12 + 6},
		{"random", build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree = 5, 4 }), false, 2, 4, "switch 2 to switch 4", 1, 20 + 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := c.t.Graph()
			m := &Network{Topology: c.t, Loads: make([]float64, g.NumPorts()+g.Terminals()), Top: 0.8}
			found := false
			for p := topology.PortID(0); int(p) < g.NumPorts(); p++ {
				if peer, ok := g.PeerPort(p); ok && g.PortSwitch[p] == c.from && g.PortSwitch[peer] == c.to && !found {
					m.Loads[p], found = 0.8, true
				}
			}
			simtest.FatalIf(t, !found, "no such channel")
			picture, _ := m.Draw()
			if c.matrix {
				picture, _, _ = m.Matrix()
			}
			marks, shapes := 0, 0
			for _, e := range titled(t, &picture.Drawing) {
				switch {
				case e.title == c.title+": 0.800":
					marks++
					simtest.ErrorIf(t, e.colour != hottest, "%s has colour %s", e.title, e.colour)
				case e.colour != coldest || !strings.HasSuffix(e.title, ": 0.000"):
					t.Errorf("%s has colour %s", e.title, e.colour)
				}
				shapes++
			}
			recordDrawing(t, &picture.Drawing)
			simtest.Alike(t, c.name, marks, c.marks, shapes, c.shapes, shapes, len(picture.Heats))
		})
	}
}

// titledPath is a path of an SVG picture with a title.
type titledPath struct{ title, colour string }

func titled(t *testing.T, d *Drawing) (all []titledPath) {
	t.Helper()
	svg := simtest.Must(d.Render("svg"))(t)
	for _, found := range regexp.MustCompile(`<title>(.*)</title>\s*<path [^>]*style="(?:fill:none;stroke|fill):(#\w+)`).FindAllSubmatch(svg, -1) {
		all = append(all, titledPath{html.UnescapeString(string(found[1])), string(found[2])})
	}
	return all
}

// recordDrawing draws onto a tape, and checks that all lies on the picture.
func recordDrawing(t *testing.T, d *Drawing) *tape {
	t.Helper()
	tape := &tape{}
	for _, element := range d.elements {
		element(draw.Canvas{Canvas: tape, Rectangle: vg.Rectangle{Max: d.Size}})
	}
	for _, m := range tape.marks {
		simtest.ErrorIf(t, !within(grown(vg.Rectangle{Max: d.Size}, 1), m.box()), "%q at %v lies outside of %v", m.text, m.box(), d.Size)
	}
	return tape
}

// TestNetworkNames: every switch of some hundred has its name in the picture, and names
// stand apart: in a tree of upright names, a torus of numbers, on a circle of long
// ones. A picture of thousands has none.
func TestNetworkNames(t *testing.T) {
	long := build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree = 64, 3 })
	g := *long.Graph()
	g.Names = &topology.Names{}
	for s := range g.Switches() {
		g.Names.Switches = append(g.Names.Switches, topology.SwitchName{Name: fmt.Sprintf("rack %d: <leaf> switch of a vendor", s)})
	}
	for name, c := range map[string]struct {
		t     topology.Topology
		named bool
	}{
		"tree":      {fatTree(t, 12, 3), true}, // 180 switches
		"dragonfly": {build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 4, 8, 4 }), true},
		"torus":     {torus(t, 16, 16), true},
		"ring":      {torus(t, 40), true},
		"fabric":    {topology.NewFileNetwork(&g), true},
		"large":     {torus(t, 24, 24, 24), false},
	} {
		m := &Network{Topology: c.t}
		picture, _ := m.Draw()
		names := map[string]vg.Point{}
		for _, mark := range recordDrawing(t, &picture.Drawing).marks {
			if mark.text != "" {
				names[mark.text] = mark.box().Min.Add(mark.box().Max).Scale(0.5)
			}
		}
		for s := range topology.SwitchID(c.t.Graph().Switches()) {
			if _, there := names[shortName(c.t.Graph(), s)]; there != c.named {
				t.Errorf("%s: switch %d is named: %v", name, s, there)
				break
			}
		}
		if !c.named {
			continue
		}
		for a, at := range names {
			for b, other := range names {
				simtest.ErrorIf(t, a != b && math.Hypot(float64(at.X-other.X), float64(at.Y-other.Y)) < 4, "%s: %q and %q stand in one place", name, a, b)
			}
		}
	}
}

// TestNetworkFormats: PNG and PDF are made, PDF with its font, the same each time.
func TestNetworkFormats(t *testing.T) {
	m := &Network{Topology: fatTree(t, 4, 3)}
	picture, how := m.Draw()
	simtest.ErrorIf(t, !strings.HasPrefix(how, "Leaf switches at the bottom"), "%v", how)
	for _, format := range []string{"svg", "png", "pdf"} {
		first, err := picture.Render(format)
		second, err2 := picture.Render(format)
		simtest.FatalIf(t, err != nil || err2 != nil || !bytes.Equal(first, second), "%s: %v, %v", format, err, err2)
		switch format {
		case "png":
			image, err := png.Decode(bytes.NewReader(first))
			simtest.ErrorIf(t, err != nil || image.Bounds().Dx() < 500, "png: %v, %v", err, image.Bounds())
		case "pdf":
			simtest.ErrorIf(t, !bytes.Contains(first, []byte("/FontFile2")), "pdf: no embedded font")
		case "svg":
			simtest.ErrorIf(t, !bytes.HasPrefix(first, []byte("<?xml")), "svg: %.60s", first)
		}
	}
	simtest.Refuse(picture.Render("gif"))(t, "")
	m.Most = 3
	nothing, how := m.Draw()
	simtest.ErrorIf(t, nothing != nil || how != "Too large to draw: 64 links.", "a limit of 3: %v, %s", nothing, how)
}
