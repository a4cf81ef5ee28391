package topology_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Gaps between explicit ports close in order, on both ends: switch 0 has
// cables in ports 1, 4 and 6, switch 1 in ports 0, 2 and 5, crossed.
func TestBuilderClosesGaps(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal"}, topology.Class{Name: "wire"})
	b.AddLinkAt(0, 6, 1, 0, 1)
	b.AddLinkAt(0, 1, 1, 5, 1)
	b.AddTerminalAt(0, 4, 0)
	b.AddTerminalAt(1, 2, 0)
	g := b.Freeze()
	// Ports 0, 1, 2 of switch 0 are its 1, 4, 6; ports 3, 4, 5 are switch 1's 0, 2, 5.
	simtest.EqualSlices(t, g.Peer, []int32{5, ^int32(0), 3, 2, ^int32(1), 0}, "peers of ports")
	simtest.ErrorIf(t, g.TerminalPort[0] != 1 || g.TerminalPort[1] != 4, "terminals at %v, want [1 4]", g.TerminalPort)
}

func TestBuilderRefusesMisuse(t *testing.T) {
	for want, f := range map[string]func(*topology.Builder){
		"cable from switch 1 to itself":    func(b *topology.Builder) { b.AddLink(1, 1, 0) },
		"two cables in port 3 of switch 0": func(b *topology.Builder) { b.AddTerminalAt(0, 3, 0); b.AddLinkAt(0, 3, 1, 0, 0) },
	} {
		simtest.Panics(t, func() { f(topology.NewBuilder(2, topology.Class{Name: "wire"})) }, "topology: "+want)
	}
}

// Distances and neighbours against gonum's all-pairs search, on one graph of
// each family, parallel cables included.
func TestDistancesMatchGonum(t *testing.T) {
	for name, g := range exported(t) {
		t.Run(name, func(t *testing.T) {
			oracle := simple.NewUndirectedGraph()
			for s := range g.Switches() {
				oracle.AddNode(simple.Node(s))
			}
			for p := range topology.PortID(g.NumPorts()) {
				if peer, ok := g.PeerPort(p); ok {
					oracle.SetEdge(simple.Edge{F: simple.Node(g.PortSwitch[p]), T: simple.Node(g.PortSwitch[peer])})
				}
			}
			all, _ := path.FloydWarshall(oracle)
			n := g.Neighbors()
			var d []int16
			for s := range topology.SwitchID(g.Switches()) {
				d = n.DistancesFrom(s, d)
				var near []topology.SwitchID
				for u, got := range d {
					want := all.Weight(int64(s), int64(u))
					simtest.FatalIf(t, float64(got) != want, "distance from %d to %d is %d, gonum says %v", s, u, got, want)
					if oracle.HasEdgeBetween(int64(s), int64(u)) {
						near = append(near, topology.SwitchID(u))
					}
				}
				simtest.FatalIf(t, !slices.Equal(n.Of(s), near), "neighbours of %d are %v, want %v", s, n.Of(s), near)
			}
		})
	}
}

func TestDistancesUnreachable(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "wire"})
	b.AddLink(0, 1, 0)
	simtest.EqualSlices(t, b.Freeze().DistancesFrom(1, nil), []int16{1, 0, topology.Unreachable}, "")
}

// A path as long as int16 can tell is measured, a longer one refused.
func TestDistancesTooFar(t *testing.T) {
	line := func(switches int) *topology.Graph {
		b := topology.NewBuilder(switches, topology.Class{Name: "wire"})
		for s := range topology.SwitchID(switches - 1) {
			b.AddLink(s, s+1, 0)
		}
		return b.Freeze()
	}
	d := line(math.MaxInt16+1).DistancesFrom(0, nil)
	simtest.ErrorIf(t, d[math.MaxInt16] != math.MaxInt16, "the end is at %d", d[math.MaxInt16])
	simtest.Panics(t, func() { line(math.MaxInt16+2).DistancesFrom(0, nil) }, "a path of more than 32767 cables")
}

func laidOut[C any](t *testing.T, name string, set func(*C)) (topology.Topology, *topology.Layout) {
	t.Helper()
	x := topologytest.Build(t, name, set)
	return x, topologytest.CheckLayout(t, x, 0.99)
}

// TestLayouts: where switches stand in grids and groups.
func TestLayouts(t *testing.T) {
	_, l := laidOut(t, "torus", func(c *topology.GridConfig) { c.Dims = []int{5, 3} })
	// Coordinate 0, 0 is the lower left corner; x runs fastest.
	if l.Places[0] != (topology.Place{0, 2}) || l.Places[4] != (topology.Place{4, 2}) || l.Places[5] != (topology.Place{0, 1}) || l.Longest == 0 {
		t.Errorf("torus: %v", l.Places)
	}
	_, l = laidOut(t, "mesh", func(c *topology.GridConfig) { c.Dims = []int{3, 3, 2} })
	simtest.ErrorIf(t, len(l.Frames) != 2 || l.Frames[1].Name != "plane 1" || l.Plane[8] != 0 || l.Plane[9] != 1, "mesh: %v, %v", l.Frames, l.Plane)
	x, l := laidOut(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 2, 4, 2 })
	for s, at := range l.Places {
		f := l.Frames[x.(topology.Grouped).GroupOf(topology.SwitchID(s))]
		d := math.Hypot(at.X-f.Center.X, at.Y-f.Center.Y)
		simtest.ErrorIf(t, d > f.Radius, "switch %d is %v from the centre of its group of radius %v", s, d, f.Radius)
	}
}

// TestTreeLayout: a fat tree stands in its levels, each pod over its own leaves; the
// same graph without the knowledge of its levels, as an imported one, is drawn alike.
func TestTreeLayout(t *testing.T) {
	x, l := laidOut(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 6, 3 })
	tree := x.(topology.Tree)
	heights := map[int]float64{}
	for s, at := range l.Places {
		level := tree.LevelOf(topology.SwitchID(s))
		y, known := heights[level]
		simtest.ErrorIf(t, known && y != at.Y, "level %d at %v and %v", level, y, at.Y)
		heights[level] = at.Y
	}
	simtest.ErrorIf(t, !(heights[0] > heights[1] && heights[1] > heights[2]), "levels at %v", heights)
	// k = 6: pods of 3 leaves and 3 switches above, 6 of them; leaf 3i is in pod i.
	for pod := range 6 {
		low, high := l.Places[3*pod].X, l.Places[3*pod+2].X
		for i := range 3 {
			at := l.Places[18+3*pod+i].X
			simtest.ErrorIf(t, at < low || at > high, "switch %d of pod %d at %v, its leaves from %v to %v", i, pod, at, low, high)
		}
	}
	imported := topology.LayoutOf(topology.NewFileNetwork(x.Graph()))
	simtest.ErrorIf(t, imported.Shape != topology.Levels || !slices.Equal(imported.Places, l.Places), "the imported tree is drawn in another way")
}

// TestFamilyLayouts: no two switches stand on each other, in the shape of the family.
func TestFamilyLayouts(t *testing.T) {
	for _, c := range []struct {
		family string
		set    func(any)
		shape  topology.Shape
		frames int
	}{
		{"megafly", topologytest.But(func(*topology.MegaflyConfig) {}), topology.Rings, 5},
		{"hyperx", topologytest.But(func(c *topology.HyperXConfig) { c.Dims = []int{4, 3, 3} }), topology.Rows, 0},
		{"torus", topologytest.But(func(c *topology.GridConfig) { c.Dims = []int{12} }), topology.Circle, 0},
		{"random-regular", topologytest.But(func(c *topology.RandomRegularConfig) { c.Switches, c.Degree = 40, 3 }), topology.Circle, 0},
		{"single-switch", topologytest.But(func(*topology.SingleSwitchConfig) {}), topology.Circle, 0},
		// Splitters of both stages below the spine: 3 levels of the same width.
		{"pk", topologytest.But(func(c *topology.PKConfig) { c.M, c.Cascades = 3, 1 }), topology.Levels, 0},
	} {
		topologytest.CheckShape(t, c.family, c.set, c.shape, c.frames)
	}
}

// The two Sunway machines of the multicast paper, as its numbers fit best.
func TestSunwayTrees(t *testing.T) {
	for _, c := range []struct {
		name      string
		config    topology.TrimmedTreeConfig
		facts     topology.Facts
		pathsUp   int // from a leaf to each top switch
		lastLeaf  int // terminals on the last leaf of a group
		middleUps int // cables from a middle switch up
	}{
		// 15 leaves a board: 14 of 18 and one of 4. Links 34*(15*16 + 32*8); cut 17*256.
		{"BlueLight", topology.TrimmedTreeConfig{34, 256, 18, 16, 32, 8, "blocks"}, topology.Facts{34*31 + 32, 8704, 34 * (240 + 256), 4, 17 * 256}, 8, 4, 16},
		// 8 leaves of 32. Links 160*(8*8 + 40*2); cut the lesser of 80*80 and
		// half of 1,280 leaves * 8 = 5,120.
		{"TaihuLight", topology.TrimmedTreeConfig{160, 256, 32, 8, 40, 2, "alternating"}, topology.Facts{160*16 + 40, 40960, 160 * (64 + 80), 4, 5120}, 2, 32, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := topologytest.Build(t, "trimmed-tree", func(d *topology.TrimmedTreeConfig) { *d = c.config })
			x, g := topo.(*topology.TrimmedTree), topo.Graph()
			topologytest.CheckGraph(t, g)
			if got := x.Facts(); got != c.facts || got.Switches != g.Switches() || got.Links != g.SwitchLinks() {
				t.Errorf("facts %+v, want %+v; the graph has %d switches, %d links", got, c.facts, g.Switches(), g.SwitchLinks())
			}
			leaves := c.config.Leaves()
			first, _ := x.UpPorts(topology.SwitchID(leaves - 1))
			simtest.ErrorIf(t, int(first-g.PortStart[leaves-1]) != c.lastLeaf, "last leaf has %d terminals, want %d", first-g.PortStart[leaves-1], c.lastLeaf)
			paths := map[topology.SwitchID]int{}
			for _, middle := range topologytest.LeadsTo(g, 0) {
				up, end := x.UpPorts(middle)
				simtest.ErrorIf(t, int(end-up) != c.middleUps, "switch %d has %d cables up, want %d", middle, end-up, c.middleUps)
				for _, top := range topologytest.LeadsTo(g, middle) {
					if x.LevelOf(top) == 2 {
						paths[top]++
					}
				}
			}
			for top, n := range paths {
				simtest.ErrorIf(t, n != c.pathsUp, "%d paths from leaf 0 to switch %d, want %d", n, top, c.pathsUp)
			}
			simtest.ErrorIf(t, len(paths) != c.config.Tops, "leaf 0 reaches %d of %d tops", len(paths), c.config.Tops)
		})
	}
}

// TestTopWiring: the middle switches of every top, in both wirings. BlueLight's 32 tops with 8
// cables each on 16 middles: alternating, even tops take 0 to 7 and odd ones 8 to 15; in blocks,
// tops 0 to 15 take 0 to 7. Where it does not come out even, 5 tops of 2 cables on 3 middles start
// at 0 2 1 0 2 (2t mod 3), in blocks at 0 0 1 2 2.
func TestTopWiring(t *testing.T) {
	for _, c := range []struct {
		config topology.TrimmedTreeConfig
		first  []int // middle switch at each top's first cable
	}{
		{topology.TrimmedTreeConfig{2, 10, 4, 3, 5, 2, "alternating"}, []int{0, 2, 1, 0, 2}},
		{topology.TrimmedTreeConfig{2, 10, 4, 3, 5, 2, "blocks"}, []int{0, 0, 1, 2, 2}},
		{topology.TrimmedTreeConfig{2, 256, 18, 16, 32, 8, "alternating"}, slices.Repeat([]int{0, 8}, 16)},
		{topology.TrimmedTreeConfig{2, 256, 18, 16, 32, 8, "blocks"}, slices.Concat(slices.Repeat([]int{0}, 16), slices.Repeat([]int{8}, 16))},
	} {
		x := topologytest.Build(t, "trimmed-tree", func(d *topology.TrimmedTreeConfig) { *d = c.config })
		g := x.Graph()
		middles, tops := c.config.Groups*c.config.Leaves(), c.config.Groups*(c.config.Leaves()+c.config.Middles)
		for top, first := range c.first {
			start, end := g.Ports(topology.SwitchID(tops + top))
			simtest.FatalIf(t, int(end-start) != c.config.Groups*c.config.TopCables, "%+v: top %d has %d ports", c.config, top, end-start)
			for i := range int(end - start) {
				peer, _ := g.PeerPort(start + topology.PortID(i))
				group, cable := i/c.config.TopCables, i%c.config.TopCables
				want := middles + group*c.config.Middles + (first+cable)%c.config.Middles
				simtest.Equal(t, int(g.PortSwitch[peer]), want, "%+v: cable %d of top %d leads to switch", c.config, i, top)
			}
		}
	}
}

// TestReadDrawing: what GraphML and DOT say of a network is read back: written again, it is the same. GraphML keeps
// the ports, too.
func TestReadDrawing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net")
	for name, g := range exported(t) {
		for form, write := range map[string]func(io.Writer, *topology.Graph) error{"GraphML": topology.WriteGraphML, "DOT": topology.WriteDOT} {
			var text, again bytes.Buffer
			simtest.Check(t, write(&text, g))
			simtest.Check(t, os.WriteFile(path, text.Bytes(), 0o666))
			back := simtest.Must(topology.ReadFile(path))(t).Graph()
			simtest.Check(t, write(&again, back))
			simtest.Check(t, os.WriteFile(path, []byte("\ufeff"+strings.ReplaceAll(text.String(), "\n", "\r\n")), 0o666)) // by an editor of Windows
			simtest.ErrorIf(t, !reflect.DeepEqual(simtest.Must(topology.ReadFile(path))(t).Graph(), back), "%s of %s with Windows' line ends", form, name)
			built := simtest.Must(param.Make(topology.Registry, "file", struct{}{}, func(c *topology.FileConfig) { c.Path = path }))(t)
			simtest.ErrorIf(t, !reflect.DeepEqual(built.Graph(), back), "%s of %s by topology.type = file", form, name)
			simtest.ErrorIf(t, again.String() != text.String() || !reflect.DeepEqual(back.Peer, g.Peer) && form == "GraphML",
				"%s of %s is read as another network:\n%.2000s\nwas\n%.2000s", form, name, again.String(), text.String())
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`target="s0"`, `target="s9"`, "switch 9: want 0 to"},
		{`<node id="s1">`, `<node id="s2">`, "s2: want s1 next"},
		{`<edge source="t0"`, `<edge source="t1"`, "t1: want one edge for every terminal"},
		{`<edge source="t0"`, `<edge id="e" source="t0"`, "is no element as weft writes it"},
	} {
		var text bytes.Buffer
		simtest.Check(t, topology.WriteGraphML(&text, namedGraph()))
		simtest.Check(t, os.WriteFile(path, []byte(strings.Replace(text.String(), c.old, c.new, 1)), 0o666))
		simtest.Refuse(topology.ReadFile(path))(t, c.want)
	}
}
