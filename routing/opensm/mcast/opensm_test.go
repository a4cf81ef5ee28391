package mcast

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// The files in testdata are measurements: OpenSM 3.3.23 on ibsim 0.10,
// two fabrics, the engines minhop and sssp, five group patterns.

func opensmFile(t testing.TB, name string) []byte {
	t.Helper()
	return simtest.Must(input.ReadInput(filepath.Join("testdata", name), input.MaxInput))(t)
}

// newEnv is what engines see of a network.
func newEnv(t testing.TB, graph *topology.Graph) multicast.Env {
	t.Helper()
	return simtest.Must(multicast.NewEnv(graph, 1))(t)
}

// groupsOf are the groups of an SA dump.
func groupsOf(t testing.TB, graph *topology.Graph, file string) []SAGroup {
	t.Helper()
	return simtest.Must(ReadSADump(bytes.NewReader(opensmFile(t, file)), file, graph))(t)
}

func opensmFabric(t testing.TB, net string) multicast.Env {
	t.Helper()
	im := simtest.Must(ib.ReadNetDiscover(bytes.NewReader(opensmFile(t, net+".ibnetdiscover.txt.gz")), net))(t)
	return newEnv(t, im.Graph())
}

// readableGroups are the groups of an SA dump that OpenSM makes trees for.
func readableGroups(t testing.TB, graph *topology.Graph, file string) []SAGroup {
	t.Helper()
	return slices.DeleteFunc(groupsOf(t, graph, file), func(g SAGroup) bool { return g.Size() < 2 })
}

// joinSA routes the groups and returns MLIDs for the engine's colours.
func joinSA(t testing.TB, e multicast.Engine, groups []SAGroup) func(multicast.Colour) (uint16, error) {
	t.Helper()
	mlids := map[multicast.Colour]uint16{}
	for _, g := range groups {
		simtest.Check(t, e.Join(g.Group))
		p := simtest.Must(e.Forest().Planted(g.ID))(t)
		mlids[p.Colour] = g.MLID
	}
	return func(c multicast.Colour) (uint16, error) { return mlids[c], nil }
}

// Every table, EFI and summary that OpenSM gave, bit for bit.
func TestOpenSMTables(t *testing.T) {
	results := simtest.Must(csv.NewReader(bytes.NewReader(opensmFile(t, "results.csv"))).ReadAll())(t)
	engines := map[string]string{"minhop": "minhop-mc", "sssp": "opensm-sssp"}
	for _, row := range results[1:] {
		r := map[string]string{}
		for i, key := range results[0] {
			r[key] = row[i]
		}
		name := r["net"] + "." + r["engine"] + "." + r["pattern"]
		t.Run(name, func(t *testing.T) {
			env := opensmFabric(t, r["net"])
			groups := readableGroups(t, env.Graph, r["pattern"]+".sa.gz")
			e, err := param.Make(multicast.Registry, engines[r["engine"]], env, func(*struct{}) {})
			if r["engine"] == "sssp" {
				e, err = param.Make(multicast.Registry, engines[r["engine"]], env, func(*OpenSMSSSPConfig) {})
			}
			simtest.Check(t, err)
			mlid := joinSA(t, e, groups)
			simtest.Check(t, e.Forest().Check())
			tables := simtest.Must(TablesOf(e.Forest(), mlid))(t)
			var dump bytes.Buffer
			simtest.Check(t, WriteMCFDBs(&dump, env.Graph, tables))
			want := opensmFile(t, name+".mcfdbs.gz")
			simtest.ErrorIf(t, !bytes.Equal(dump.Bytes(), want), "the tables differ: %s", firstDifference(dump.String(), string(want)))
			read, err := ReadMCFDBs(bytes.NewReader(want), name, env.Graph)
			simtest.ErrorIf(t, err != nil || fmt.Sprint(read) != fmt.Sprint(tables), "tables read back differ, or %v", err)
			checkEFI(t, e.Forest(), opensmFile(t, name+".efi.csv.gz"))
			checkResults(t, e.Forest(), groups, r)
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
	return "one is longer"
}

func checkEFI(t *testing.T, f *multicast.Forest, file []byte) {
	t.Helper()
	rows, want := simtest.Must(csv.NewReader(bytes.NewReader(file)).ReadAll())(t), map[string]string{}
	for _, row := range rows[1:] {
		want[strings.Join(row[:4], ",")] = row[4]
	}
	graph := f.Env().Graph
	groups := map[topology.PortID]int{} // over the cable up from a switch
	for p := range f.Trees {
		for _, up := range p.Up[1:] {
			groups[up] += len(p.Groups)
		}
	}
	used := 0
	for p := range graph.NumPorts() {
		q, ok := graph.PeerPort(topology.PortID(p))
		efi := groups[topology.PortID(p)] + groups[q] // in either direction
		if !ok || efi == 0 {
			continue
		}
		a, b := graph.PortSwitch[p], graph.PortSwitch[q]
		x, y := graph.Names.Switches[a].GUID, graph.Names.Switches[b].GUID
		if x > y {
			continue
		}
		used++
		key := fmt.Sprintf("%#x,%d,%#x,%d", x, graph.Names.Port[p], y, graph.Names.Port[q])
		simtest.ErrorIf(t, want[key] != strconv.Itoa(efi), "EFI of %s is %d, want %q", key, efi, want[key])
	}
	simtest.ErrorIf(t, used != len(want) || used == 0, "%d links in use, want %d", used, len(want))
}

func checkResults(t *testing.T, f *multicast.Forest, groups []SAGroup, r map[string]string) {
	t.Helper()
	m, roots := f.Measure(), map[topology.SwitchID]bool{}
	switches, used := 0, 0
	for p := range f.Trees {
		roots[p.Switches[0]] = true
		switches += len(p.Switches)
	}
	for load, n := range f.EFIHistogram() {
		if load > 0 {
			used += n
		}
	}
	round := func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
	number := func(key string) string { // two digits after the point
		x := simtest.Must(strconv.ParseFloat(r[key], 64))(t)
		return round(x)
	}
	for key, got := range map[string]float64{
		"switches":   float64(f.Env().Graph.Switches()),
		"hosts":      float64(f.Env().Graph.Terminals()),
		"groups":     float64(len(groups)),
		"max_efi":    float64(m.MaxEFI),
		"max_height": float64(m.MaxHeight),
		// A tree of n switches has n-1 links.
		"mean_efi_used_links":    float64(m.TreeLinks) / float64(used),
		"used_switch_links":      float64(used),
		"mean_height":            m.MeanHeight,
		"mean_switches_per_tree": float64(switches) / float64(m.Trees),
		"distinct_roots":         float64(len(roots)),
		"first_fit_colors":       float64(firstFitColours(f, groups)),
	} {
		simtest.ErrorIf(t, round(got) != number(key), "%s = %s, want %s", key, round(got), number(key))
	}
}

// firstFitColours replants the trees one after the other, each in the first colour free in its switches.
func firstFitColours(f *multicast.Forest, groups []SAGroup) int {
	taken, colours := map[topology.SwitchID]map[int]bool{}, 0
	for _, g := range groups {
		p, err := f.Planted(g.ID)
		if err != nil {
			return -1
		}
		colour := 0
		for slices.ContainsFunc(p.Tree.Switches, func(s topology.SwitchID) bool { return taken[s][colour] }) {
			colour++
		}
		for _, s := range p.Tree.Switches {
			if taken[s] == nil {
				taken[s] = map[int]bool{}
			}
			taken[s][colour] = true
		}
		colours = max(colours, colour+1)
	}
	return colours
}

// The tables do not depend on the order of joins, nor on groups that left.
func TestOpenSMEnginesForgetOtherGroups(t *testing.T) {
	env := opensmFabric(t, "torus_4x4x4_1")
	groups := readableGroups(t, env.Graph, "random_64_256x8.sa.gz")
	for _, name := range []string{"minhop-mc", "opensm-sssp"} {
		trees := func(order []SAGroup, leave bool) string {
			config, _ := multicast.Registry.Config(name)
			e := simtest.Must(multicast.Registry.Build(name, config, env))(t)
			joinSA(t, e, order)
			if leave {
				for _, g := range order[:len(order)/2] {
					simtest.Check(t, e.Leave(g.ID))
				}
				joinSA(t, e, order[:len(order)/2])
			}
			text := ""
			for _, g := range groups {
				p := simtest.Must(e.Forest().Planted(g.ID))(t)
				text += fmt.Sprintln(p.Switches, p.Up)
			}
			return text
		}
		backwards := slices.Clone(groups)
		slices.Reverse(backwards)
		want := trees(groups, false)
		simtest.ErrorIf(t, trees(backwards, false) != want || trees(groups, true) != want, "%s: trees depend on other groups", name)
	}
}

// OpenSM's dump of its min-hop tables is what MinHop says, and the engine fed from the dump gives the same tables.
func TestLIDMatrix(t *testing.T) {
	for _, net := range []string{"ft3_8", "torus_4x4x4_1"} {
		env, dump := opensmFabric(t, net), opensmFile(t, net+".minhop.lid-matrix.dump.gz")
		m := simtest.Must(ReadLIDMatrix(bytes.NewReader(dump), net, env.Graph))(t)
		simtest.ErrorIf(t, !m.matchesShortestPaths(env.Hops), "%s: the dump differs from breadth-first distances", net)
		groups := readableGroups(t, env.Graph, map[string]string{"ft3_8": "grid_4x4x8.sa.gz", "torus_4x4x4_1": "random_64_256x8.sa.gz"}[net])
		own, fed := simtest.Must(multicast.Registry.Build("minhop-mc", new(struct{}), env))(t), simtest.Must(NewMinHopMCFrom(env, m))(t)
		a, _ := TablesOf(own.Forest(), joinSA(t, own, groups))
		b, _ := TablesOf(fed.Forest(), joinSA(t, fed, groups))
		simtest.ErrorIf(t, fmt.Sprint(a) != fmt.Sprint(b), "%s: the engine fed from the dump gives other tables", net)
		lines := strings.SplitAfter(string(dump), "\n")
		less := simtest.Must(ReadLIDMatrix(strings.NewReader(lines[0]+lines[1]+strings.Join(lines[3:], "")), net, env.Graph))(t)
		simtest.ErrorIf(t, slices.Equal(less.hops, m.hops), "%s: a row that is missing, as those that updn forbids, is there", net)
		for _, c := range []struct{ name, text, want string }{
			{"cut", strings.Join(lines[:len(lines)/2], ""), "the file is cut"},
			{"no row to itself", lines[0] + strings.Join(lines[2:], ""), "has no row to itself"},
			{"unknown switch", strings.Replace(string(dump), "guid 0x0000000000200000", "guid 0x0000000000900000", 1), net + ":1: switch 0000000000900000"},
			{"unknown port", strings.Replace(string(dump), "portguid 0x0000000000200001", "portguid 0x0000000000900001", 1), net + ":3: port 0000000000900001"},
			{"short row", strings.Replace(string(dump), "0x0002: 00 ff ", "0x0002: 00 ", 1), net + ":2: "},
			{"no number", strings.Replace(string(dump), "0x0002: 00 ff ", "0x0002: 00 xy ", 1), net + ":2: hop count"},
			{"row first", strings.Join(lines[1:], ""), net + ":1: row before"},
			{"row twice", lines[0] + lines[1] + strings.Join(lines[1:], ""), net + ":3: a second row"},
			{"something else", "hello\n", net + ":1: \"hello\""},
		} {
			_, err := ReadLIDMatrix(strings.NewReader(c.text), net, env.Graph)
			simtest.Fail(t, err, c.want)
			simtest.ErrorIf(t, c.name == "unknown switch" && strings.Contains(err.Error(), "\n"), "%s: the rows of an unknown switch are problems of their own: %v", net, err)
		}
	}
}

// chain joins so many switches in a row, a host on each.
func chain(switches int) *topology.Graph {
	b := topology.NewBuilder(switches, topology.Class{Name: "local"})
	for s := range switches {
		b.AddTerminal(topology.SwitchID(s), 0)
	}
	for s := range switches - 1 {
		b.AddLink(topology.SwitchID(s), topology.SwitchID(s+1), 0)
	}
	return b.Freeze()
}

// Measured: 60 switches in a row with LMC 6 (3,900 LIDs: 59 hops x 3900^2 =
// 0.90e9) are routed, with LMC 7 (7,740 LIDs: 3.5e9 > 2^31-1) refused.
func TestSSSPInfinity(t *testing.T) {
	graph := chain(60)
	env := newEnv(t, graph)
	set := func(lmc int, fallback bool) (multicast.Engine, error) {
		return param.Make(multicast.Registry, "opensm-sssp", env, func(c *OpenSMSSSPConfig) { c.LMC, c.Fallback = lmc, fallback })
	}
	_, err := set(6, false)
	simtest.ErrorIf(t, err != nil, "LMC 6: %v", err)
	var refused *opensm.InfinityError
	_, err = set(7, false)
	simtest.FatalIf(t, !errors.As(err, &refused), "LMC 7: %v, want an *opensm.InfinityError", err)
	// (2^31-2) / 7740^2 = 35.8: from the end of the chain 36 switches can be
	// reached (the host's own link is 1 long), 24 cannot.
	simtest.ErrorIf(t, refused.LIDs != 7740 || refused.Allowed != 35 || refused.Lost != 24, "%+v", *refused)
	e := simtest.Must(set(7, true))(t)
	simtest.Check(t, e.Join(multicast.NewGroup(0, []topology.TerminalID{0, 2}, nil)))
	p, _ := e.Forest().Planted(0)
	simtest.ErrorIf(t, p == nil || p.Switches[0] != 1 || p.Height != 2, "the fallback's tree is %+v", p)
}
