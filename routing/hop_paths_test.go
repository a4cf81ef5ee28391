package routing_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// try builds a routing by name and settings.
func try(topo topology.Topology, vcs int, name string, settings ...param.Setting) (fabric.Routing, error) {
	return routing.Registry.New(name, routing.Env{Topology: topo, VCs: vcs, AllowDeadlock: vcs != 0}, settings...)
}

func must(t testing.TB, topo topology.Topology, vcs int, name string, settings ...param.Setting) fabric.Routing {
	t.Helper()
	return simtest.Must(try(topo, vcs, name, settings...))(t)
}

// checkNeed holds a routing to a number of virtual channels: with them no channels wait for each other, with one fewer
// they do, and the routing is refused, unless it has a cycle by intent (escapes) or does with fewer (less).
func checkNeed(t *testing.T, what string, topo topology.Topology, need int, name string, less bool, settings ...param.Setting) {
	t.Helper()
	r := must(t, topo, 0, name, settings...)
	simtest.ErrorIf(t, r.VCs() != need, "%s %v on %s needs %d virtual channels, want %d", name, settings, what, r.VCs(), need)
	cert, _ := routingtest.Certificate(t, topo, r, need)
	simtest.ErrorIf(t, !cert.Acyclic(), "%s %v on %s: %s", name, settings, what, cert.Describe(topo.Graph()))
	if _, escapes := r.(fabric.EscapeRouting); escapes || need == 1 || less {
		return
	}
	r = must(t, topo, need-1, name, settings...)
	cert, _ = routingtest.Certificate(t, topo, r, need-1)
	simtest.ErrorIf(t, cert.Acyclic(), "%s %v on %s: no cycle with %d virtual channels", name, settings, what, need-1)
	simtest.Refuse(routing.Registry.New(name, routing.Env{Topology: topo, VCs: need - 1}, settings...))(t,
		fmt.Sprintf("switch.vcs = %d: want at least %d, which routing %q needs", need-1, need, name))
}

// TestNeeds: as many virtual channels as hops, and with one fewer there is a cycle of channels (cdg_checks.csv of the atlas's reference data: found
// there by another program). Slim Fly q = 5 and PolarFly q = 7 have diameter 2, the random graph of 57 switches of degree 8 diameter 3. On Dragonfly+
// and the orthogonal fat tree, whose switches have ranks, each leg takes one (vcs.csv of the same data); in a dragonfly Valiant takes one for each of
// three groups. Dimension order takes two in rings of four, none of whose minimal paths in rings of three has two hops in a row.
func TestNeeds(t *testing.T) {
	slimfly, polarfly := edgeList(t, "slimfly_q5", 1), edgeList(t, "polarfly_q7", 1)
	jellyfish := edgeList(t, "jellyfish_n57_r8", 1)
	megafly, oft := build[topology.MegaflyConfig](t, "megafly", nil), build[families.OFTConfig](t, "oft", nil)
	file := func(name string) param.Setting {
		return param.Set("next_hops", filepath.Join("testdata", name+".nexthop.gz"))
	}
	for _, c := range []struct {
		what     string
		topo     topology.Topology
		need     int
		name     string
		settings []param.Setting
	}{
		{"Slim Fly", slimfly, 2, "table", []param.Setting{file("slimfly_q5")}},
		{"Slim Fly", slimfly, 2, "table", nil},
		{"Slim Fly", slimfly, 4, "val", nil},
		{"Slim Fly", slimfly, 4, "ugal-l", nil},
		{"PolarFly", polarfly, 2, "table", []param.Setting{param.Set("ties", "random")}},
		{"PolarFly", polarfly, 4, "val", nil},
		{"PolarFly", polarfly, 4, "ugal-pf", nil},
		{"Jellyfish", jellyfish, 3, "table", []param.Setting{file("jellyfish_n57_r8")}},
		{"Jellyfish", jellyfish, 3, "table", []param.Setting{param.Set("ties", "least-occupied")}},
		{"Jellyfish", jellyfish, 1, "up-down", nil},
		{"Dragonfly+", megafly, 1, "table", nil},
		{"Dragonfly+", megafly, 2, "val", nil},
		{"Dragonfly+", megafly, 2, "ugal-l", nil},
		{"OFT", oft, 1, "table", nil},
		{"OFT", oft, 2, "val", nil},
		{"OFT", oft, 2, "ugal-l", nil},
		{"dragonfly", dragonfly(t, 2, 4, 2, 0), 3, "val", nil},
		{"rings of 4", torus(t, 1, 4, 4), 2, "dor", nil},
		{"rings of 4", torus(t, 1, 4, 4), 4, "val", nil},
		{"rings of 3", torus(t, 1, 3, 3), 1, "dor", nil},
		{"mesh", mesh(t, 1, 8, 8), 1, "dor", nil},
		{"mesh", mesh(t, 1, 4, 4), 2, "val", nil},
		{"hypercube", mesh(t, 1, 2, 2, 2), 1, "dor", nil},
	} {
		checkNeed(t, c.what, c.topo, c.need, c.name, false, c.settings...)
	}
}

// TestNextHopsFile: packets go by the paths of the file, on the virtual channel of the hop's number alone.
func TestNextHopsFile(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	var next [][]string
	for _, line := range lines(t, "slimfly_q5.nexthop.gz") {
		next = append(next, strings.Fields(line))
	}
	r := must(t, topo, 0, "table", param.Set("next_hops", "testdata/slimfly_q5.nexthop.gz"), param.Set("spread_vcs", false))
	for src := range topology.TerminalID(50) {
		for dst := range topology.TerminalID(50) {
			paths(topo, r, 4, src, dst, func(path []step, _ uint32) {
				for hop, s := range path[:len(path)-1] {
					want, _ := strconv.Atoi(next[s.from][dst])
					simtest.FatalIf(t, int(s.to) != want || s.vcs != 1<<hop || s.share != 1, "to %d: %+v, want %d", dst, path, want)
				}
			})
		}
	}
}

// TestNextHopsRefuses: paths that no cable carries or that go round in circles, and files that cannot be read, on a ring of four switches.
func TestNextHopsRefuses(t *testing.T) {
	ring, good := torus(t, 1, 4), "-1 1 1 3\n0 -1 2 2\n1 1 -1 3\n0 0 2 -1\n"
	for text, want := range map[string]string{
		good: "",
		strings.Replace(good, "-1 1 1 3", "-1 1 2 3", 1): "from switch 0 to switch 2 comes 2, which no cable leads to",
		strings.Replace(good, "0 -1 2 2", "0 -1 0 2", 1): "from switch 0 to switch 2 the path goes round in circles",
		"-1 1": "1: 2 columns, want 4",
	} {
		path := filepath.Join(t.TempDir(), "next.txt")
		simtest.Check(t, os.WriteFile(path, []byte(text), 0o666))
		_, err := try(ring, 0, "table", param.Set("next_hops", path))
		simtest.ErrorIf(t, want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)), "%q: %v, want %s", text, err, want)
	}
	simtest.Refuse(try(ring, 0, "table", param.Set("next_hops", "nowhere")))(t, "next_hops = nowhere: want a readable file")
}

// TestDetours: val draws every other switch with the same probability, its paths lead there and
// back, and the length is the sum of both legs; the sum of the probabilities of all paths is 1.
func TestDetours(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	g, r := topo.Graph(), must(t, topo, 0, "val")
	d := g.DistancesFrom(0, nil)
	far := topology.TerminalID(slices.Index(d, 2))
	lengths := map[int]float64{}
	paths(topo, r, 4, 0, far, func(path []step, _ uint32) {
		for hop, s := range path[:len(path)-1] {
			simtest.FatalIf(t, s.vcs != 1<<hop, "hop %d on virtual channels %b", hop, s.vcs)
		}
		lengths[len(path)-1] += path[len(path)-1].share
	})
	want := map[int]float64{} // by the distances of the 48 other switches
	back := g.DistancesFrom(topology.SwitchID(far), nil)
	for s := range topology.SwitchID(50) {
		if s != 0 && s != topology.SwitchID(far) {
			want[int(d[s]+back[s])] += 1.0 / 48
		}
	}
	for hops := range 6 {
		simtest.Near(t, lengths[hops], want[hops], 1e-9, "of %d hops are packets to the part of", hops)
	}
}

// TestTablePaths: every path is as short as the graph's distance, hop n is on virtual channel n alone, hashed ties give
// one path for a pair, and random ones every shortest path (counted by the usual recursion over distances).
func TestTablePaths(t *testing.T) {
	topo := build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 40, 4, 2 })
	g := topo.Graph()
	for _, ties := range []string{"hashed", "random"} {
		r := must(t, topo, 0, "table", param.Set("ties", ties))
		for dst := range topology.TerminalID(g.Terminals()) {
			distance := g.DistancesFrom(g.TerminalSwitch(dst), nil)
			count := paths(topo, r, r.VCs(), 0, dst, func(path []step, _ uint32) {
				simtest.Equal(t, len(path)-1, int(distance[g.TerminalSwitch(0)]), "to %d in hops", dst)
				for n, s := range path[:len(path)-1] {
					simtest.ErrorIf(t, s.vcs != 1<<n, "hop %d on virtual channels %b", n, s.vcs)
				}
			})
			want := map[string]int{"hashed": 1, "random": shortest(g, distance, g.TerminalSwitch(0))}[ties]
			simtest.ErrorIf(t, count != want, "%s: %d paths to %d, want %d", ties, count, dst, want)
		}
	}
}

// shortest counts the shortest paths from s to the switch at distance 0.
func shortest(g *topology.Graph, distance []int16, s topology.SwitchID) int {
	if distance[s] == 0 {
		return 1
	}
	count := 0
	for _, next := range g.Links(s) {
		if distance[next] == distance[s]-1 {
			count += shortest(g, distance, next)
		}
	}
	return count
}

// TestTableNeeds: what is missing is said. The mesh has diameter 2 + 3. A ring of 40 has diameter 20, more than a switch can have.
func TestTableNeeds(t *testing.T) {
	for _, c := range []struct {
		topo topology.Topology
		vcs  int
		want string
	}{
		{mesh(t, 1, 3, 4), 4, `switch.vcs = 4: want at least 5, which routing "table" needs`},
		{torus(t, 1, 40), 0, `needs 20 virtual channels on this topology; a channel can have 16`},
		{parted{}, 0, "needs a connected network; no path joins switch 1 and switch 0"},
		{torus(t, 1, 16385), 0, "at most 16384 switches with terminals; this topology has 16385"},
	} {
		simtest.Refuse(param.Make[routing.TableConfig](routing.Registry, "table", routing.Env{Topology: c.topo, VCs: c.vcs}, nil))(t, c.want)
	}
	simtest.Refuse(try(mesh(t, 1, 256, 257), 0, "val"))(t, "at most 65536 switches on grids; this topology has 65792") // whose numbers packets carry
}

// parted is two switches without a cable between them.
type parted struct{}

func (parted) Facts() topology.Facts { return topology.Facts{} }

func (parted) Graph() *topology.Graph {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	return b.Freeze()
}

// counted is a Sharing that keeps everything and counts what is made.
type counted struct {
	values map[string]any
	made   int
}

func (c *counted) Get(key string, build func() (any, error)) (any, error) {
	if value, ok := c.values[key]; ok {
		return value, nil
	}
	c.made++
	value, err := build()
	c.values[key] = value
	return value, err
}

// TestShared: tables are made once for all routings with the same paths, whatever they
// make of virtual channels and ties; other paths and other graphs have tables of their own.
func TestShared(t *testing.T) {
	jellyfish := func(seed uint64) topology.Topology {
		return build(t, "jellyfish", func(c *families.JellyfishConfig) { c.Switches, c.Degree, c.Terminals, c.Seed = 12, 3, 2, seed })
	}
	x, y := jellyfish(1), jellyfish(2)
	c := &counted{values: map[string]any{}}
	for i, on := range []struct {
		topo topology.Topology
		name string
		set  []param.Setting
		made int
	}{
		{x, "table", nil, 1},
		{x, "table", []param.Setting{param.Set("ties", "random"), param.Set("hop_vcs", "any")}, 1},
		{x, "table", []param.Setting{param.Set("ties", "one")}, 2},
		{y, "table", nil, 3},
		{x, "val", nil, 4},
		{x, "val", []param.Setting{param.Set("spread_vcs", true)}, 4},
		{x, "table", []param.Setting{param.Set("spread_vcs", true)}, 4},
	} {
		shared := simtest.Must(routing.Registry.New(on.name, routing.Env{Topology: on.topo, Shared: c}, on.set...))(t)
		alone := must(t, on.topo, 0, on.name, on.set...)
		simtest.ErrorIf(t, c.made != on.made, "step %d: %d tables made, want %d", i, c.made, on.made)
		for _, vcs := range []int{alone.VCs(), 2*alone.VCs() + 1} {
			a, b := dependencies(t, on.topo, shared, vcs), dependencies(t, on.topo, alone, vcs)
			simtest.ErrorIf(t, !slices.Equal(a, b), "step %d: %d dependencies with shared tables, %d without, or others", i, len(a), len(b))
		}
	}
}

// dependencies lists the dependencies of a routing, in the order of their discovery.
func dependencies(t *testing.T, x topology.Topology, r fabric.Routing, vcs int) (all []topology.Dependency) {
	t.Helper()
	simtest.Must2(routing.Dependencies(x.Graph(), r, vcs, 0, func(d topology.Dependency) { all = append(all, d) }))(t)
	return all
}
