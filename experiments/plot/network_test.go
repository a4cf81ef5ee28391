package plot

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"math"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

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
				simtest.ErrorIf(t, a != b && math.Hypot(float64(at.X-other.X), float64(at.Y-other.Y)) < 4,
					"%s: %q and %q stand in one place", name, a, b)
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
			if err != nil || image.Bounds().Dx() < 500 {
				t.Errorf("png: %v, %v", err, image.Bounds())
			}
		case "pdf":
			simtest.ErrorIf(t, !bytes.Contains(first, []byte("/FontFile2")), "pdf: no embedded font")
		case "svg":
			simtest.ErrorIf(t, !bytes.HasPrefix(first, []byte("<?xml")), "svg: %.60s", first)
		}
	}
	simtest.Refuse(picture.Render("gif"))(t, "")
	m.Most = 3
	if picture, how := m.Draw(); picture != nil || how != "Too large to draw: 64 links." {
		t.Errorf("a limit of 3: %v, %s", picture, how)
	}
}
