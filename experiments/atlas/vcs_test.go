package atlas

import (
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/param"
)

// channelRow is how weft has a row of vcs.csv: networks and routings, and the virtual
// channels that the row gives for them. No network: why weft has no such pair.
type channelRow struct {
	topology, routing string
	networks          []Candidate
	pairs             []string
	vcs               int
	settings          []param.Setting
	why               string
}

var (
	hyperx3   = Candidate{"hyperx", "dims = [3, 3, 3]\nterminals = 2\n"}
	diameter2 = []Candidate{{"slim-fly", "q = 5\n"}, {"polarfly", "q = 5\n"}}
	star      = []Candidate{{"polarstar", "q = 3\nsupernode = \"paley\"\nd = 2\np = 1\n"}}
	random    = []Candidate{{"jellyfish", "switches = 24\ndegree = 5\nterminals = 1\n"}} // of diameter 3
	fly       = []Candidate{{"dragonfly", "p = 1\na = 4\nh = 2\n"}}
	plus      = []Candidate{{"megafly", "p = 1\nleaves = 2\nspines = 2\nh = 2\n"}}
	stacked   = []Candidate{{"oft", "k = 3\np = 1\n"}}
	jobs      = []Candidate{{"multi-plane", ""}, {"rail-optimised", ""}}
)

var channelRows = []channelRow{
	{"HyperX (flattened butterfly)", "DOR", []Candidate{hyperx3}, []string{"dor"}, 1, nil, ""},
	{"HyperX", "xyyx (order drawn at the source)", []Candidate{hyperx3}, []string{"o1turn"}, 2, nil, ""},
	{"HyperX", "VAL (DOR to a random router and DOR from it)", []Candidate{hyperx3}, []string{"val"}, 2, nil, ""},
	{"HyperX", "UGAL (minimal or VAL; DOR legs)", []Candidate{hyperx3}, []string{"ugal-l"}, 2, nil, ""},
	{"HyperX", "UGAL over xyyx", nil, nil, 0, nil, "UGAL is built on dimension order only"},
	{"HyperX of n dimensions", "MIN-adaptive", []Candidate{hyperx3}, []string{"table"}, 3, []param.Setting{param.Set("ties", "least-occupied")}, ""},
	{"HyperX", "DAL (at most one deroute in each dimension; any order)", []Candidate{hyperx3}, []string{"dal"}, 6, nil, ""},
	{"HyperX", "DimWAR (dimension order; one deroute in a dimension)", []Candidate{hyperx3}, []string{"dimwar"}, 2, nil, ""},
	{"HyperX of n dimensions", "OmniWAR (any order; m deroutes)", []Candidate{hyperx3}, []string{"omniwar"}, 5, []param.Setting{param.Set("deroutes", 2)}, ""},
	{"Slim Fly; PolarFly (diameter 2)", "MIN", diameter2, []string{"table"}, 2, nil, ""},
	{"Slim Fly; PolarFly", "VAL over routers; UGAL", diameter2, []string{"val", "ugal-l"}, 4, nil, ""},
	{"PolarFly", "UGAL-PF (intermediate = a neighbour of the source if the destination is two hops away; else a router two hops away)", diameter2[1:], []string{"ugal-pf"}, 4, nil, ""},
	{"Slim Fly q; PolarFly", "MIN or VAL by layers", nil, nil, 0, nil, "as many layers as are found; LASH and DFSSSP are in package opensm"},
	{"PolarStar (diameter 3)", "MIN", star, []string{"table"}, 3, nil, ""},
	{"PolarStar", "VAL; UGAL", star, []string{"val", "ugal-l"}, 6, nil, ""},
	{"Jellyfish and any graph of diameter D", "MIN (table)", random, []string{"table"}, 3, nil, ""},
	{"Jellyfish and any graph", "VAL; UGAL", random, []string{"val", "ugal-l"}, 6, nil, ""},
	{"Any graph", "up*/down*", random, []string{"up-down"}, 1, nil, ""},
	{"Any graph", "MIN-adaptive with up*/down* escape", random, []string{"adaptive-escape"}, 2, nil, ""},
	{"Dragonfly", "MIN (local; global; local)", fly, []string{"min"}, 2, nil, ""},
	{"Dragonfly", "VAL over groups; UGAL", fly, []string{"val", "ugal-l"}, 3, nil, ""},
	{"Dragonfly", "PAR", fly, []string{"par"}, 4, nil, ""},
	{"Dragonfly+ (Megafly)", "MIN (up; global; down)", plus, []string{"table"}, 1, nil, ""},
	{"Dragonfly+ (Megafly)", "VAL; UGAL; FPAR with L-G-L-L-G-L or L-G-G-L", plus, []string{"val", "ugal-l"}, 2, nil, ""},
	{"Orthogonal fat tree (two levels)", "MIN", stacked, []string{"table"}, 1, nil, ""},
	{"Orthogonal fat tree", "VAL; UGAL over outer routers", stacked, []string{"val", "ugal-l"}, 2, nil, ""},
	{"Fat tree (any tapering)", "NCA; up*/down*", []Candidate{{"xgft", ""}}, []string{"nca", "up-down"}, 1, nil, ""},
	{"Multi-plane", "any", jobs[:1], []string{"nca"}, 1, nil, ""},
	{"Rail-optimised", "NCA", jobs[1:], []string{"nca"}, 1, nil, ""},
	{"Torus", "DOR", []Candidate{{"torus", "dims = [4, 5]\n"}}, []string{"dor"}, 2, nil, ""},
}

// TestChannels: weft needs no more virtual channels than vcs.csv says, and each pair is
// free from deadlock with them.
func TestChannels(t *testing.T) {
	r := own(t)
	rows := 0
	if !r.table("vcs.csv", []string{"topology", "routing"}, func(line int, c []string, _ experiments.Problems) {
		rows++
		found := false
		for _, row := range channelRows {
			found = found || row.topology == c[0] && row.routing == c[1]
		}
		if !found {
			t.Errorf("vcs.csv:%d: %q: %q is compared with nothing", line, c[0], c[1])
		}
	}) {
		t.Fatal("no vcs.csv")
	}
	if rows != len(channelRows) {
		t.Errorf("%d rows, %d are compared", rows, len(channelRows))
	}
	for _, row := range channelRows {
		for _, n := range row.networks {
			x, err := n.Build()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range row.pairs {
				checkChannels(t, &row, x, n.Family, name)
			}
		}
	}
}

func checkChannels(t *testing.T, row *channelRow, x topology.Topology, family, name string) {
	t.Helper()
	built, err := routing.Registry.New(name, routing.Env{Topology: x, Seed: 1}, row.settings...)
	if err != nil {
		t.Errorf("%s on %s: %v", name, family, err)
		return
	}
	if built.VCs() > row.vcs {
		t.Errorf("%s on %s needs %d virtual channels, vcs.csv says %d", name, family, built.VCs(), row.vcs)
	}
	if c, err := network.Certify(x.Graph(), built, built.VCs()); err != nil || !c.Acyclic || !c.Exact {
		t.Errorf("%s on %s: %v %s%s", name, family, err, c.Text, c.Cycle)
	}
}
