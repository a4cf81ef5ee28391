package atlas

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	_ "github.com/weft-sim/weft/routing/opensm" // its engines make pairs, too
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestPairs: every pair is certified with the defaults, or refused with a reason; with a
// choice that can deadlock a cycle is named where there is one. Engines of OpenSM do what
// OpenSM does, and some promise nothing. make soak-pairs takes all networks, else some.
func TestPairs(t *testing.T) {
	pairs, cycles, refused := 0, 0, 0
	for _, n := range Networks() {
		if some := []string{"hyperx", "megafly", "oft", "kautz", "polarfly"}; os.Getenv("SOAK_TIME") == "" && !slices.Contains(some, n.Family) {
			continue
		}
		all := simtest.Must(Pairs(&n))(t)
		for _, p := range all {
			pairs++
			switch {
			case p.Refused != "":
				refused++
				t.Logf("%s %s %s refused: %s", n.Family, p.Routing, p.Variant, p.Refused)
			case p.Variant == "" && !p.Certificate.Acyclic && !strings.HasPrefix(p.Routing, "opensm-"):
				t.Errorf("%s with %s: %s%s", n.Family, p.Routing, p.Certificate.Text, p.Certificate.Cycle)
			case !p.Certificate.Acyclic:
				cycles++
			}
		}
	}
	t.Logf("%d pairs, %d with a cycle, %d refused", pairs, cycles, refused)
	simtest.ErrorIf(t, pairs < 20 || cycles == 0, "%d pairs, %d with a cycle", pairs, cycles)
}

// TestSoakPairs checks, for every registered topology and every variant of every registered
// routing, OpenSM's too, a random network on which they go together: no network with
// a certificate stops, and one that stops has a cycle. See [routingtest.Trial.Check]. make
// soak-pairs runs it, with seeds from SOAK_SEED on.
func TestSoakPairs(t *testing.T) {
	if os.Getenv("SOAK_TIME") == "" {
		t.Skip("needs SOAK_TIME: see make soak-pairs")
	}
	seed := uint64(1)
	if setting := os.Getenv("SOAK_SEED"); setting != "" {
		_, err := fmt.Sscan(setting, &seed)
		simtest.FatalIf(t, err != nil, "SOAK_SEED = %q: want a number", setting)
	}
	var all routingtest.Tally
	pairs := map[[2]string]bool{}
	for _, family := range topologytest.Families() {
		for _, name := range routing.Registry.Names() {
			for _, v := range routingtest.Variants(t, name) {
				seed++
				tr := routingtest.DrawTrialOf(t, seed, family, v)
				if tr == nil {
					continue // the family has not got what the routing needs
				}
				all.Add(tr.Check(t, 6000))
				pairs[[2]string{family, name}] = true
			}
		}
		fmt.Println(family, all)
	}
	t.Logf("%d pairs of topology and routing: %v", len(pairs), all)
	simtest.ErrorIf(t, all.Certified < 300 || all.Stopped == 0, "%v: want 300 with a certificate, and some that stop", all)
}

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
	if !r.table("vcs.csv", []string{"topology", "routing"}, func(line int, c []string, _ document.Problems) {
		rows++
		found := false
		for _, row := range channelRows {
			found = found || row.topology == c[0] && row.routing == c[1]
		}
		simtest.ErrorIf(t, !found, "vcs.csv:%d: %q: %q is compared with nothing", line, c[0], c[1])
	}) {
		t.Fatal("no vcs.csv")
	}
	simtest.ErrorIf(t, rows != len(channelRows), "%d rows, %d are compared", rows, len(channelRows))
	for _, row := range channelRows {
		for _, n := range row.networks {
			x := simtest.Must(n.Build())(t)
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
	simtest.ErrorIf(t, built.VCs() > row.vcs, "%s on %s needs %d virtual channels, vcs.csv says %d", name, family, built.VCs(), row.vcs)
	c, err := network.Certify(x.Graph(), built, built.VCs())
	simtest.ErrorIf(t, err != nil || !c.Acyclic || !c.Exact, "%s on %s: %v %s%s", name, family, err, c.Text, c.Cycle)
}

// cycleCases are the cases of cdg_checks.csv: with fewer virtual channels than a routing
// needs, the last ones share the highest there is, as there.
var cycleCases = map[string]struct {
	network Candidate // of family "": the graph of the reference that Settings names, with its table
	routing string
	vcs     int
}{
	"polarfly_q7 MIN table, min(hop,0) classes=1":          {Candidate{"", "polarfly_q7"}, "table", 1},
	"polarfly_q7 MIN table, min(hop,1) classes=2":          {Candidate{"", "polarfly_q7"}, "table", 2},
	"polarfly_q7 VAL classes=2":                            {Candidate{"", "polarfly_q7"}, "val", 2},
	"polarfly_q7 VAL classes=3":                            {Candidate{"", "polarfly_q7"}, "val", 3},
	"polarfly_q7 VAL classes=4":                            {Candidate{"", "polarfly_q7"}, "val", 4},
	"slimfly_q5 MIN table, min(hop,0) classes=1":           {Candidate{"", "slimfly_q5"}, "table", 1},
	"slimfly_q5 MIN table, min(hop,1) classes=2":           {Candidate{"", "slimfly_q5"}, "table", 2},
	"slimfly_q5 VAL classes=2":                             {Candidate{"", "slimfly_q5"}, "val", 2},
	"slimfly_q5 VAL classes=3":                             {Candidate{"", "slimfly_q5"}, "val", 3},
	"slimfly_q5 VAL classes=4":                             {Candidate{"", "slimfly_q5"}, "val", 4},
	"slimfly_q7 MIN table, min(hop,0) classes=1":           {Candidate{"slim-fly", "q = 7\np = 1\n"}, "table", 1},
	"slimfly_q7 MIN table, min(hop,1) classes=2":           {Candidate{"slim-fly", "q = 7\np = 1\n"}, "table", 2},
	"jellyfish_n57_r8 MIN table, min(hop,0) classes=1":     {Candidate{"", "jellyfish_n57_r8"}, "table", 1},
	"jellyfish_n57_r8 MIN table, min(hop,1) classes=2":     {Candidate{"", "jellyfish_n57_r8"}, "table", 2},
	"jellyfish_n57_r8 MIN table, min(hop,2) classes=3":     {Candidate{"", "jellyfish_n57_r8"}, "table", 3},
	"polarstar_er3_paley5 MIN table, min(hop,0) classes=1": {star[0], "table", 1},
	"polarstar_er3_paley5 MIN table, min(hop,1) classes=2": {star[0], "table", 2},
	"polarstar_er3_paley5 MIN table, min(hop,2) classes=3": {star[0], "table", 3},
	"HyperX 3^2 DOR 1 class":                               {Candidate{"hyperx", "dims = [3, 3]\nterminals = 1\n"}, "dor", 1},
	"HyperX 3^2 DimWAR 2 classes":                          {Candidate{"hyperx", "dims = [3, 3]\nterminals = 1\n"}, "dimwar", 2},
	"HyperX 3^2 DimWAR 1 class":                            {Candidate{"hyperx", "dims = [3, 3]\nterminals = 1\n"}, "dimwar", 1},
	"HyperX 3^2 MIN-adaptive 1 class":                      {Candidate{"hyperx", "dims = [3, 3]\nterminals = 1\n"}, "table", 1},
	"HyperX 3^3 DOR 1 class":                               {Candidate{"hyperx", "dims = [3, 3, 3]\nterminals = 1\n"}, "dor", 1},
	"HyperX 3^3 DimWAR 2 classes":                          {Candidate{"hyperx", "dims = [3, 3, 3]\nterminals = 1\n"}, "dimwar", 2},
	"HyperX 3^3 DimWAR 1 class":                            {Candidate{"hyperx", "dims = [3, 3, 3]\nterminals = 1\n"}, "dimwar", 1},
	"HyperX 3^3 MIN-adaptive 1 class":                      {Candidate{"hyperx", "dims = [3, 3, 3]\nterminals = 1\n"}, "table", 1},
	"Megafly MIN 1 class":                                  {plus[0], "table", 1},
	"Megafly VAL 1 class":                                  {plus[0], "val", 1},
	"OFT k=4 MIN 1 class":                                  {Candidate{"oft", "k = 4\np = 1\n"}, "table", 1},
	"OFT k=4 VAL 1 class":                                  {Candidate{"oft", "k = 4\np = 1\n"}, "val", 1},
	"OFT k=4 VAL 2 classes":                                {Candidate{"oft", "k = 4\np = 1\n"}, "val", 2},
	"Megafly VAL, class 1 from the turn at the intermediate leaf (or the second global)": {plus[0], "val", 2},
}

// TestCycles: weft's certificates find a cycle where the reference found one, and none where
// it found none.
func TestCycles(t *testing.T) {
	r, dir, seen := own(t), t.TempDir(), 0
	found := r.table("cdg_checks.csv", []string{"case", "dependency_graph"}, func(_ int, cells []string, _ document.Problems) {
		c, known := cycleCases[cells[0]]
		if !known {
			simtest.Equal(t, cells[0], "Megafly VAL, class 1 after the first global hop", "is compared with nothing:") // a rule that is wrong, and that weft has not got
			return
		}
		seen++
		var settings []param.Setting
		var x topology.Topology
		if c.network.Family == "" {
			n := simtest.Must(r.graphFile(c.network.Settings, 1))(t)
			x = topology.NewFileNetwork(n.graph)
			table := simtest.Must(r.data("graphs/" + c.network.Settings + ".nexthop.gz"))(t)
			path := filepath.Join(dir, c.network.Settings)
			simtest.Check(t, os.WriteFile(path, []byte(table), 0o666))
			settings = append(settings, param.Set("next_hops", path))
		} else {
			var err error
			x, err = c.network.Build()
			simtest.Check(t, err)
		}
		if strings.Contains(cells[0], "MIN-adaptive") {
			settings = append(settings, param.Set("ties", "least-occupied"))
		}
		built, err := routing.Registry.New(c.routing, routing.Env{Topology: x, VCs: c.vcs, AllowDeadlock: true}, settings...)
		if err != nil {
			t.Errorf("%s: %v", cells[0], err)
			return
		}
		proof, err := network.Certify(x.Graph(), built, c.vcs)
		if err != nil || !proof.Exact || proof.Acyclic != (cells[1] == "acyclic") {
			t.Errorf("%s: %s; weft: %v %s%s", cells[0], cells[1], err, proof.Text, proof.Cycle)
		}
	})
	simtest.ErrorIf(t, !found || seen < 30, "%d cases", seen)
}
