package netmap

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// build makes a topology of the registry.
func build[C any](t *testing.T, name string, set func(*C)) topology.Topology {
	t.Helper()
	x, err := param.Make(topology.Registry, name, struct{}{}, set)
	if err != nil {
		t.Fatal(err)
	}
	return x
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
	const hottest, coldest = "#67000d", "#e4e8ee"
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
		// 4x4 torus: 64 directed links, 16 of them closing rings (two stubs
		// each); 16 switches.
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
			m := &Map{Topology: c.t, Loads: make([]float64, g.NumPorts()+g.Terminals()), Top: 0.8}
			found := false
			for p := topology.PortID(0); int(p) < g.NumPorts(); p++ {
				if peer, ok := g.PeerPort(p); ok && g.PortSwitch[p] == c.from && g.PortSwitch[peer] == c.to && !found {
					m.Loads[p], found = 0.8, true
				}
			}
			if !found {
				t.Fatal("no such channel")
			}
			picture, _ := m.Draw()
			if c.matrix {
				picture, _, _ = m.Matrix()
			}
			marks, shapes := 0, 0
			for _, e := range elements(t, picture) {
				if e.title == "" {
					continue
				}
				colour := e.attr["fill"] + e.attr["stroke"]
				switch {
				case e.title == c.title+": 0.800":
					marks++
					if colour != hottest {
						t.Errorf("%s has colour %s", e.title, colour)
					}
				case colour != coldest || !strings.HasSuffix(e.title, ": 0.000"):
					t.Errorf("%s has colour %s", e.title, colour)
				}
				shapes++
			}
			if marks != c.marks || shapes != c.shapes || shapes != len(picture.Loads) {
				t.Errorf("%d marks and %d shapes for %d loads, want %d and %d", marks, shapes, len(picture.Loads), c.marks, c.shapes)
			}
		})
	}
}

// drawn is an element of an SVG picture.
type drawn struct {
	name, title, text string
	attr              map[string]string
}

// elements lists what a picture draws, and checks that it lies inside.
func elements(t *testing.T, p *Picture) []drawn {
	t.Helper()
	var all []drawn
	decoder := xml.NewDecoder(strings.NewReader(p.SVG()))
	inTitle := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			inTitle = x.Name.Local == "title"
			if inTitle || x.Name.Local == "svg" || x.Name.Local == "g" {
				continue
			}
			d := drawn{name: x.Name.Local, attr: map[string]string{}}
			for _, a := range x.Attr {
				d.attr[a.Name.Local] = a.Value
			}
			for key, most := range map[string]float64{"x": p.Width, "x1": p.Width, "x2": p.Width, "cx": p.Width, "y": p.Height, "y1": p.Height, "y2": p.Height, "cy": p.Height} {
				text, given := d.attr[key]
				value, err := strconv.ParseFloat(text, 64)
				if given && (err != nil || math.IsNaN(value) || value < 0 || value > most) {
					t.Errorf("%s of %s = %s lies outside of %v x %v", key, d.name, text, p.Width, p.Height)
				}
			}
			all = append(all, d)
		case xml.EndElement:
			if x.Name.Local == "title" {
				inTitle = false
			}
		case xml.CharData:
			if len(all) == 0 {
				continue
			}
			if last := &all[len(all)-1]; inTitle {
				last.title += string(x)
			} else {
				last.text += strings.TrimSpace(string(x))
			}
		}
	}
}

// TestNames: every switch of some hundred has its name in the picture, and names
// stand apart: in a tree of upright names, a torus of numbers, on a circle of long
// ones. A picture of thousands has none.
func TestNames(t *testing.T) {
	long := build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree = 64, 3 })
	g := *long.Graph()
	g.Names = &topology.Names{}
	for s := range g.Switches() {
		g.Names.Switch = append(g.Names.Switch, fmt.Sprintf("rack %d: <leaf> switch of a vendor", s))
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
		m := &Map{Topology: c.t}
		picture, _ := m.Draw()
		names := map[string][2]float64{}
		for _, e := range elements(t, picture) {
			if e.name != "text" || e.attr["font-size"] == "11" {
				continue
			}
			x, _ := strconv.ParseFloat(e.attr["x"], 64)
			y, _ := strconv.ParseFloat(e.attr["y"], 64)
			size, _ := strconv.ParseFloat(e.attr["font-size"], 64)
			if size < 4 || size > 9 {
				t.Errorf("%s: a name of %v points", name, size)
			}
			names[e.text] = [2]float64{x, y}
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
				if a != b && math.Hypot(at[0]-other[0], at[1]-other[1]) < 4 {
					t.Errorf("%s: %q and %q stand in one place", name, a, b)
				}
			}
		}
	}
}

// TestRender: PNG and PDF are made, PDF with its font, the same each time.
func TestRender(t *testing.T) {
	m := &Map{Topology: fatTree(t, 4, 3)}
	picture, how := m.Draw()
	if !strings.HasPrefix(how, "Leaf switches at the bottom") {
		t.Error(how)
	}
	for _, format := range Formats {
		first, err := picture.Render(format)
		second, err2 := picture.Render(format)
		if err != nil || err2 != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s: %v, %v", format, err, err2)
		}
		switch format {
		case "png":
			image, err := png.Decode(bytes.NewReader(first))
			if err != nil || image.Bounds().Dx() < 500 {
				t.Errorf("png: %v, %v", err, image.Bounds())
			}
		case "pdf":
			if !bytes.Contains(first, []byte("/FontFile2")) {
				t.Error("pdf: no embedded font")
			}
		case "svg":
			if !bytes.HasPrefix(first, []byte(`<svg width="`)) {
				t.Errorf("svg: %.60s", first)
			}
		}
	}
	if _, err := picture.Render("gif"); err == nil {
		t.Error("gif: no error")
	}
	m.Most = 3
	if picture, how := m.Draw(); picture != nil || how != "Too large to draw: 64 links." {
		t.Errorf("a limit of 3: %v, %s", picture, how)
	}
}
