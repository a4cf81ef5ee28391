package opensm

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// chain is two switches with two hosts each and two cables between them.
func chain(names *topology.Names) *topology.Graph {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for _, s := range []topology.SwitchID{0, 0, 1, 1} {
		b.AddTerminal(s, 0)
	}
	b.AddLink(0, 1, 1)
	b.AddLink(0, 1, 1)
	g := b.Freeze()
	g.Names = names
	return g
}

func newSubnet(t testing.TB, g *topology.Graph, manager topology.TerminalID, lmc int) *Subnet {
	t.Helper()
	return simtest.Must(NewSubnet(g, manager, lmc))(t)
}

// LIDs go by port GUID with the last byte first. ibsim's are 0x100001, 3, 5, 7 and 0x200000, 1: switch 0, host 0, switch 1, hosts 1, 2, 3.
func TestLIDs(t *testing.T) {
	s := newSubnet(t, chain(nil), 2, 0)
	simtest.EqualSlices(t, s.TerminalLID, []int32{3, 5, 1, 6}, "LIDs of hosts, the manager's first:")
	simtest.EqualSlices(t, s.SwitchLID, []int32{2, 4}, "LIDs of switches")
	// With two LIDs a port: the manager 2, switch 4, host 6, switch 8, hosts 10 and 12.
	s = newSubnet(t, chain(nil), 2, 1)
	simtest.EqualSlices(t, s.TerminalLID, []int32{6, 10, 2, 12}, "LIDs of hosts")
	simtest.ErrorIf(t, s.MaxLID != 13 || s.Ends[13].Terminal != 3 || s.Ends[5] != nobody, "LIDs up to %d: %v", s.MaxLID, s.Ends)
	// Stated LIDs stay, but one that is taken, or too large.
	s = newSubnet(t, chain(&topology.Names{Terminals: []topology.AdapterPort{{LID: 9}, {LID: 9}, {}, {LID: 60000}}, Switches: []topology.SwitchName{{LID: 1}, {}}}), 2, 0)
	simtest.EqualSlices(t, slices.Concat(s.TerminalLID, s.SwitchLID), []int32{9, 4, 2, 5, 1, 3}, "LIDs of hosts and switches")
	// Two LIDs a port, LID 2 stated: the manager does not fit before it, the second switch does.
	s = newSubnet(t, chain(&topology.Names{Switches: []topology.SwitchName{{LID: 2}, {}}}), 2, 1)
	simtest.EqualSlices(t, slices.Concat(s.TerminalLID, s.SwitchLID), []int32{6, 8, 4, 10, 2, 1}, "LIDs around a stated one")
}

func TestNewSubnetProblems(t *testing.T) {
	for want, names := range map[string]*topology.Names{
		"two cables at port 1 of": {Port: []int32{1, 1, 2, 3, 1, 2, 3, 4}},
		"has a port 255":          {Port: []int32{1, 2, 3, 255, 1, 2, 3, 4}},
	} {
		simtest.Refuse(NewSubnet(chain(names), 0, 0))(t, want)
	}
	_, err := NewSubnet(chain(nil), 4, 0)
	simtest.ErrorIf(t, err == nil, "a manager that is not there")
}

// minhop on two cables: switch 0 sends its own hosts by ports 1 and 2 (counted, too), the others in turn by 3 and 4;
// the switch itself has port 0. Hosts come before switches, which are not counted: switch 1 goes by port 3 again.
func TestMinHop(t *testing.T) {
	s, o := newSubnet(t, chain(nil), 0, 0), DefaultOptions()
	tables := simtest.Must(routeMinHop("minhop", s, &o, false))(t)
	// LIDs: host 0 1, switch 0 2, switch 1 3, hosts 1, 2, 3: 4, 5, 6.
	simtest.EqualSlices(t, tables.LFT[0], []uint8{noPath, 1, 0, 3, 2, 3, 4}, "switch 0:")
	pairs, _ := tables.Unreachable()
	simtest.ErrorIf(t, pairs != 0, "%d pairs without a path", pairs)
	simtest.Equal(t, checkTables(tables, true), "", "a chain, which cannot have a cycle:")
	tables.LFT[0][6] = noPath // OpenSM's dump ends with the highest LID, not with a count
	var dump strings.Builder
	simtest.ErrorIf(t, tables.WriteLFTDump(&dump) != nil || strings.Count(dump.String(), "\n6 lids dumped\n") != 2, "%s", &dump)
}

// The aggregation nodes of switches are adapters to OpenSM: every engine makes the same tables, or refuses in the same
// words, as where the same adapters are hosts; only traffic and its certificate do without them.
func TestAggregationNodesAreAdapters(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	r := sim.NewStream(1, "aggregation", 0)
	tables, refusals := 0, 0
	for round := range rounds {
		drawn := randomNetwork(&r)
		for terminal := range drawn.Terminals() {
			name := fmt.Sprintf("host%d", terminal)
			if terminal > 0 && r.IntN(3) == 0 {
				name = fmt.Sprintf("Reducing unit %d", terminal)
			}
			drawn.Names.Terminals = append(drawn.Names.Terminals, topology.AdapterPort{Name: name})
		}
		var text strings.Builder
		simtest.Check(t, ib.WriteNetDiscover(&text, drawn))
		hosts := simtest.Must(ib.ReadNetDiscover(strings.NewReader(text.String()), "hosts"))(t)
		units := simtest.Must(ib.ReadNetDiscover(strings.NewReader(strings.ReplaceAll(text.String(), "Reducing unit", "Aggregation Node")), "units"))(t)
		lmc := r.IntN(2)
		a, b := subnetOf(t, hosts.Graph(), lmc), subnetOf(t, units.Graph(), lmc)
		simtest.FatalIf(t, a.adapterPorts() != b.adapterPorts(), "%d and %d adapter ports", a.adapterPorts(), b.adapterPorts())
		o := randomOptions(&r, a)
		for _, e := range engines {
			name := e.Name
			if name == "torus-2QoS" {
				continue // wants a file
			}
			want, problem := e.Route(a, o)
			got, again := e.Route(b, o)
			simtest.FatalIf(t, fmt.Sprint(problem) != fmt.Sprint(again), "round %d, %s: %v, want %v", round, name, again, problem)
			if problem != nil {
				refusals++
				continue
			}
			tables++
			simtest.FatalIf(t, !reflect.DeepEqual(got.LFT, want.LFT) || !slices.Equal(got.LevelsInUse(), want.LevelsInUse()) || got.Lanes != want.Lanes,
				"round %d, %s: other tables than with hosts", round, name)
			for _, write := range []func(*Tables) string{levelsText, lanesText(o)} {
				simtest.FatalIf(t, write(got) != write(want), "round %d, %s: other levels or lanes than with hosts", round, name)
			}
		}
	}
	simtest.ErrorIf(t, tables < 5*rounds || refusals == 0, "%d tables and %d refusals", tables, refusals)
}

func subnetOf(t *testing.T, g *topology.Graph, lmc int) *Subnet {
	t.Helper()
	manager := simtest.Must(FindManager(g, "host0", 0))(t)
	return newSubnet(t, g, manager, lmc)
}

func levelsText(t *Tables) string {
	var text strings.Builder
	_ = t.WriteSL(&text)
	return text.String()
}

func lanesText(o *Options) func(*Tables) string { return func(t *Tables) string { return t.SL2VL(o) } }

// Two switches with a host and an aggregation node each: traffic, its paths and its certificate are of the hosts, and the nodes have LIDs and routes.
func TestAggregationNodesSendNothing(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "x", Latency: 1})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 0)
	g := b.Freeze()
	g.Names = &topology.Names{Aggregation: []topology.AdapterPort{
		{Name: "a", Switch: 0, Port: 9, NodeGUID: 0x900, PortGUID: 0x901, LID: 77},
		{Name: "b", Switch: 1, Port: 9, NodeGUID: 0x902, PortGUID: 0x903},
	}}
	s, o := newSubnet(t, g, 0, 0), DefaultOptions()
	tables := simtest.Must(routeMinHop("minhop", s, &o, false))(t)
	simtest.ErrorIf(t, s.MaxLID != 77 || tables.LFT[s.Node[0]][77] != 9 || tables.LFT[s.Node[1]][77] != 2,
		"LID 77 of %d: ports %d and %d", s.MaxLID, tables.LFT[s.Node[0]][77], tables.LFT[s.Node[1]][77])
	paths := 0
	tables.eachPath(tables.newClasses(), func(path []int32, _ []uint8) { paths++ })
	pairs, first := tables.Unreachable()
	simtest.ErrorIf(t, pairs != 0 || paths != 4, "%d paths; %d pairs cannot be reached, %s", paths, pairs, first) // from two switches to two LIDs
	// Tables that lose an aggregation node are none that traffic notices.
	tables.LFT[s.Node[0]][s.TerminalLID[3]] = noPath
	pairs, first = tables.Unreachable()
	simtest.ErrorIf(t, pairs != 0, "%d pairs cannot be reached, %s", pairs, first)
}

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "roots"), []byte("# two roots\n0x0002c90000000001\n  18 \n"), 0o600))
	c := simtest.Must(ReadConfig(strings.NewReader(simtest.Text(t, "testdata/opensm.conf")), "opensm.conf", dir))(t)
	if !slices.Equal(c.Engines, []string{"ftree", "updn"}) || !c.NoFallback || c.GUID != 0x2c903000010f1 || c.LMC != 2 || !c.ConnectRoots ||
		!slices.Equal(c.Roots, []uint64{0x2c90000000001, 18}) || !c.HasRoots || c.HasNodes || c.ScatterPorts != 7 || !c.QoS {
		t.Errorf("%+v", c)
	}
	// max_op_vls 3 is the code of four lanes.
	simtest.ErrorIf(t, c.OperationalVLs != 4 || c.MaxVLs != 4, "%d lanes, want 4", c.OperationalVLs)
	got := written(c.OperationalVLs, c.SL2VL.SwitchPort, c.SL2VL.All)
	simtest.ErrorIf(t, got != [16]uint8{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 15, 15}, "SL2VL %v", got)
	simtest.ErrorIf(t, len(c.Warnings) != 1 || c.Warnings[0] != `opensm.conf:15: unknown key "shiny": passed over`, "warnings %q", c.Warnings)
}

// TestFilesOfOtherEngines: OpenSM opens no files of engines that it is not asked for; opensm --create-config
// names one of torus-2QoS, whatever the engine.
func TestFilesOfOtherEngines(t *testing.T) {
	const text = "torus_config /nowhere/torus-2QoS.conf\nroot_guid_file /nowhere/roots\ncn_guid_file /nowhere/nodes\nlfts_file /nowhere/lfts\nrouting_engine minhop\n"
	c := simtest.Must(ReadConfig(strings.NewReader(text), "x", "."))(t)
	simtest.ErrorIf(t, c.HasRoots || c.HasNodes || c.Torus != nil || len(c.Named) > 0 || len(c.Warnings) > 0, "%+v", c)
	for engine, want := range map[string]string{"ftree": "x:3: cn_guid_file", "updn": "x:2: root_guid_file", "torus-2QoS": "x:1: torus_config"} {
		simtest.Refuse(ReadConfig(strings.NewReader(text), "x", ".", "sssp", engine))(t, want)
	}
}

func TestReadConfigProblems(t *testing.T) {
	for text, want := range map[string]string{
		"routing_engine best\n": `x:1: routing_engine: no routing engine "best": want dfsssp`,
		"lmc 8\n":               "x:1: lmc = \"8\": want 0 to 7",
		"\nqos yes\n":           "x:2: qos = \"yes\": want TRUE or FALSE",
		"guid host\n":           "x:1: guid = \"host\"",
		"qos_sl2vl 0,1\n":       "x:1: qos_sl2vl: 2 lanes, want 16",
		"qos_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16\n":     "lane \"16\" of SL 15",
		"torus_config none\nrouting_engine minhop,torus-2QoS\n": "x:1: torus_config: none cannot be read",
		"root_guid_file none\nrouting_engine updn\n":            "x:1: root_guid_file: none cannot be read",
		"io_guid_file ios\n":                                    "x:1: io_guid_file = \"ios\": it changes the tables",
		"lmc_esp0 TRUE\nquasi_ftree_indexing TRUE\n":            "x:2: quasi_ftree_indexing",
		"lmc\n": "x:1: lmc without a value",
	} {
		simtest.Refuse(ReadConfig(strings.NewReader(text), "x", "."))(t, want)
	}
}

func TestReadTorusConfig(t *testing.T) {
	c := simtest.Must(ReadTorusConfig(strings.NewReader("torus 4 5m 3 # size\nxp_link 0x20 0x21\nym_link 0x20 34\nz_dateline -1\n"), "t"))(t)
	simtest.ErrorIf(t, c.Size != [3]int{4, 5, 3} || c.Wraps != [3]bool{true, false, true} || c.Links[0][0] != [2]uint64{0x20, 0x21} ||
		c.Links[3][0] != [2]uint64{0x20, 34} || c.Dateline != [3]int{0, 0, -1}, "%+v", c)
	for text, want := range map[string]string{
		"":                               "t:1: no size",
		"torus 99 99 99\n":               "t:1: a torus of 970299 switches",
		"torus 4 5\n":                    "t:1: torus: want three sizes",
		"torus 0 5 3\n":                  `t:1: size "0"`,
		"torus 4 5x 3\n":                 `t:1: size "5x"`,
		"torus 4 4 4\ntorus 4 4 4\n":     "t:2: torus: the size is given twice",
		"torus 4 4 4\nxp_link 0x1\n":     "t:2: xp_link: want the GUIDs of two switches",
		"torus 4 4 4\nxp_link 0x1 y\n":   `t:2: xp_link: "y" is no GUID`,
		"torus 4 4 4\nx_dateline far\n":  "t:2: x_dateline",
		"torus 4 4 4\nnext_seed\n":       "t:2: next_seed is not modelled",
		"torus 4 4 4\ny_dateline -4\n":   "t: y_dateline -4: want -3 to 3",
		"torus 4 4 4\nup_link 0x1 0x2\n": `t:2: "up_link"`,
	} {
		simtest.Refuse(ReadTorusConfig(strings.NewReader(text), "t"))(t, want)
	}
}

func TestReadGUIDs(t *testing.T) {
	guids, err := ReadGUIDs(strings.NewReader("\ufeff0x1F\r\n\n0x20 # core\n"), "g")
	simtest.ErrorIf(t, err != nil || !slices.Equal(guids, []uint64{0x1f, 0x20}), "%v, %v", guids, err)
	simtest.Refuse(ReadGUIDs(strings.NewReader("0x1f\ncore\n0x1 0x2\n"), "g"))(t, `g:2: "core"`, "g:3:")
}

func FuzzReadConfig(f *testing.F) {
	f.Add("routing_engine ftree,updn\nlmc 1\nqos TRUE\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\nmax_op_vls 4\n")
	f.Add("guid 0x1\nscatter_ports 5 # seed\nroot_guid_file (null)\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "_file") || strings.Contains(text, "torus_config") {
			return // would open files of any name
		}
		c, err := ReadConfig(strings.NewReader(text), "opensm.conf", dir)
		simtest.FatalIf(t, err == nil && (c.LMC < 0 || c.LMC > 7 || c.OperationalVLs < 1 || c.OperationalVLs > 15), "%+v", c)
	})
}

func FuzzReadGUIDs(f *testing.F) {
	f.Add("0x0002c90200001234\n77\n")
	f.Fuzz(func(t *testing.T, text string) {
		guids, err := ReadGUIDs(strings.NewReader(text), "guids")
		simtest.FatalIf(t, err == nil && len(guids) > strings.Count(text, "\n")+1, "%d GUIDs in %d lines", len(guids), strings.Count(text, "\n")+1)
	})
}

func FuzzReadTorusConfig(f *testing.F) {
	f.Add("torus 4 4 4\nxp_link 0x1 0x2\nxm_link 0x1 0x3\nx_dateline 1\n")
	f.Add("mesh 5t 5 1\nyp_link 1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadTorusConfig(strings.NewReader(text), "torus")
		if err != nil {
			return
		}
		for _, size := range c.Size {
			simtest.FatalIf(t, size < 1 || size > maxTorusSize, "%+v", c)
		}
	})
}

// TestHeap inserts, lowers, removes and pops at random: what is popped always has the
// smallest key, and every parent is at most as large as its children.
func TestHeap(t *testing.T) {
	r, h := sim.NewStream(1, "heap", 0), newHeap(40)
	h.clear()
	keys := map[int32]uint64{}
	for range 5000 {
		v := int32(r.IntN(40))
		key, in := keys[v]
		has := h.at[v] != outside
		simtest.FatalIf(t, has != in, "vertex %d: in the heap %t, want %t", v, has, in)
		switch {
		case !in:
			keys[v] = uint64(r.IntN(30))
			h.insert(v, keys[v])
		case r.IntN(3) == 0:
			h.remove(v)
			delete(keys, v)
		case r.IntN(2) == 0 && key > 0:
			keys[v] = key - 1
			h.lower(v, key-1)
		default:
			least := h.pop()
			var all []uint64
			for _, k := range keys {
				all = append(all, k)
			}
			simtest.FatalIf(t, keys[least] != slices.Min(all), "popped a key of %d, the smallest is %d", keys[least], slices.Min(all))
			delete(keys, least)
		}
		for i, e := range h.entries {
			simtest.FatalIf(t, i > 0 && h.entries[(i-1)/4].key > e.key || h.at[e.vertex] != int32(i) || keys[e.vertex] != e.key, "entry %d is out of place", i)
		}
		simtest.FatalIf(t, h.size() != len(keys), "%d entries, want %d", h.size(), len(keys))
	}
}
