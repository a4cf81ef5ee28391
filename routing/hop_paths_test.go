package routing_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
)

// try builds a routing by name and settings.
func try(topo topology.Topology, vcs int, name string, settings ...param.Setting) (fabric.Routing, error) {
	return routing.Registry.New(name, routing.Env{Topology: topo, VCs: vcs, AllowDeadlock: vcs != 0}, settings...)
}

func must(t testing.TB, topo topology.Topology, vcs int, name string, settings ...param.Setting) fabric.Routing {
	t.Helper()
	r, err := try(topo, vcs, name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHopNumberedNeeds: as many virtual channels as hops, and with one fewer there is
// a cycle of channels (cdg_checks.csv of the atlas's reference data: found there by
// another program). Slim Fly q = 5 and PolarFly q = 7 have diameter 2, the random
// graph of 57 switches of degree 8 diameter 3.
func TestHopNumberedNeeds(t *testing.T) {
	slimfly := edgeList(t, "slimfly_q5", 1)
	polarfly := edgeList(t, "polarfly_q7", 1)
	jellyfish := edgeList(t, "jellyfish_n57_r8", 1)
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
	} {
		r := must(t, c.topo, 0, c.name, c.settings...)
		if r.VCs() != c.need {
			t.Errorf("%s on %s needs %d virtual channels, want %d", c.name, c.what, r.VCs(), c.need)
		}
		if cert, _ := routingtest.Certificate(t, c.topo, r, c.need); !cert.Acyclic() {
			t.Errorf("%s on %s: %s", c.name, c.what, cert.Describe(c.topo.Graph()))
		}
		if c.need == 1 {
			continue
		}
		r = must(t, c.topo, c.need-1, c.name, c.settings...)
		if cert, _ := routingtest.Certificate(t, c.topo, r, c.need-1); cert.Acyclic() {
			t.Errorf("%s on %s: no cycle with %d virtual channels", c.name, c.what, c.need-1)
		}
	}
}

// TestNextHopsFile: packets go by the paths of the file, on the virtual channel of the
// hop's number alone.
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
					if want, _ := strconv.Atoi(next[s.from][dst]); int(s.to) != want || s.vcs != 1<<hop || s.share != 1 {
						t.Fatalf("to %d: %+v, want %d", dst, path, want)
					}
				}
			})
		}
	}
}

// TestNextHopsRefuses: paths that no cable carries or that go round in circles, and
// files that cannot be read, on a ring of four switches.
func TestNextHopsRefuses(t *testing.T) {
	ring := torus(t, 1, 4)
	good := "-1 1 1 3\n0 -1 2 2\n1 1 -1 3\n0 0 2 -1\n"
	for text, want := range map[string]string{
		good: "",
		strings.Replace(good, "-1 1 1 3", "-1 1 2 3", 1): "from switch 0 to switch 2 comes 2, which no cable leads to",
		strings.Replace(good, "0 -1 2 2", "0 -1 0 2", 1): "from switch 0 to switch 2 the path goes round in circles",
		"-1 1": "1: 2 columns, want 4",
	} {
		path := filepath.Join(t.TempDir(), "next.txt")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := try(ring, 0, "table", param.Set("next_hops", path))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := try(ring, 0, "table", param.Set("next_hops", "nowhere")); err == nil || !strings.Contains(err.Error(), "next_hops = nowhere: want a readable file") {
		t.Errorf("%v", err)
	}
}

// TestDetours: val draws every other switch with the same probability, its paths lead
// there and back, and the length is that of both legs; the sum of the probabilities of
// all paths is 1.
func TestDetours(t *testing.T) {
	topo := edgeList(t, "slimfly_q5", 1)
	g := topo.Graph()
	r := must(t, topo, 0, "val")
	d := g.DistancesFrom(0, nil)
	far := topology.TerminalID(0)
	for s, hops := range d {
		if hops == 2 {
			far = topology.TerminalID(s)
		}
	}
	lengths := map[int]float64{}
	paths(topo, r, 4, 0, far, func(path []step, _ uint32) {
		for hop, s := range path[:len(path)-1] {
			if s.vcs != 1<<hop {
				t.Fatalf("hop %d on virtual channels %b", hop, s.vcs)
			}
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
		if diff := lengths[hops] - want[hops]; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%v of the packets make %d hops, want %v", lengths[hops], hops, want[hops])
		}
	}
}
