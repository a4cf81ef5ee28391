package opensm

import (
	"fmt"
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

// LIDs go by port GUID with the last byte first. Names that are missing are ibsim's:
// port GUIDs 0x100001, 3, 5, 7 of the hosts, 0x200000 and 0x200001 of the switches, so the
// order is switch 0 (..00), host 0 (10 00 01), switch 1 (20 00 01), hosts 1, 2, 3.
func TestLIDs(t *testing.T) {
	s := newSubnet(t, chain(nil), 2, 0)
	if want := []int32{3, 5, 1, 6}; !slices.Equal(s.TerminalLID, want) { // the manager's first
		t.Errorf("LIDs of hosts %v, want %v", s.TerminalLID, want)
	}
	if want := []int32{2, 4}; !slices.Equal(s.SwitchLID, want) {
		t.Errorf("LIDs of switches %v, want %v", s.SwitchLID, want)
	}
	// With two LIDs a port: the manager 2, switch 4, host 6, switch 8, hosts 10 and 12.
	s = newSubnet(t, chain(nil), 2, 1)
	if want := []int32{6, 10, 2, 12}; !slices.Equal(s.TerminalLID, want) {
		t.Errorf("LIDs of hosts %v, want %v", s.TerminalLID, want)
	}
	simtest.ErrorIf(t, s.MaxLID != 13 || s.Ends[13].Terminal != 3 || s.Ends[5] != nobody, "LIDs up to %d: %v", s.MaxLID, s.Ends)
	// Stated LIDs stay, but one that is taken, or too large.
	s = newSubnet(t, chain(&topology.Names{Terminals: []topology.AdapterPort{{LID: 9}, {LID: 9}, {}, {LID: 60000}}, Switches: []topology.SwitchName{{LID: 1}, {}}}), 2, 0)
	if want := []int32{9, 4, 2, 5}; !slices.Equal(s.TerminalLID, want) || !slices.Equal(s.SwitchLID, []int32{1, 3}) {
		t.Errorf("LIDs of hosts %v, of switches %v, want %v and 1, 3", s.TerminalLID, s.SwitchLID, want)
	}
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

// minhop on two cables: switch 0 sends its own hosts by ports 1 and 2 (counted, too),
// the others in turn by 3 and 4; the switch itself has port 0. Hosts come before
// switches, which are not counted: switch 1 goes by port 3 again.
func TestMinHop(t *testing.T) {
	s := newSubnet(t, chain(nil), 0, 0)
	o := DefaultOptions()
	tables := simtest.Must(routeMinHop("minhop", s, &o, false))(t)
	// LIDs: host 0 1, switch 0 2, switch 1 3, hosts 1, 2, 3: 4, 5, 6.
	want := []uint8{noPath, 1, 0, 3, 2, 3, 4}
	simtest.ErrorIf(t, !slices.Equal(tables.LFT[0], want), "switch 0: %v, want %v", tables.LFT[0], want)
	pairs, _ := tables.Unreachable()
	simtest.ErrorIf(t, pairs != 0, "%d pairs without a path", pairs)
	// A chain cannot have a cycle.
	problem := checkTables(tables, true)
	simtest.ErrorIf(t, problem != "", "%v", problem)
}

// The aggregation nodes of switches are adapters to OpenSM: every engine makes the same
// tables, or refuses in the same words, as where the same adapters are hosts; only
// traffic and its certificate do without them.
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
			if !reflect.DeepEqual(got.LFT, want.LFT) || !slices.Equal(got.LevelsInUse(), want.LevelsInUse()) || got.Lanes != want.Lanes {
				t.Fatalf("round %d, %s: other tables than with hosts", round, name)
			}
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

func lanesText(o *Options) func(*Tables) string {
	return func(t *Tables) string { return t.SL2VL(o) }
}

// Two switches with a host and an aggregation node each: traffic, its paths and its
// certificate are of the hosts, and the nodes have LIDs and routes.
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
	s := newSubnet(t, g, 0, 0)
	o := DefaultOptions()
	tables := simtest.Must(routeMinHop("minhop", s, &o, false))(t)
	if s.MaxLID != 77 || tables.LFT[s.Node[0]][77] != 9 || tables.LFT[s.Node[1]][77] != 2 {
		t.Errorf("LID 77 of %d: ports %d and %d", s.MaxLID, tables.LFT[s.Node[0]][77], tables.LFT[s.Node[1]][77])
	}
	paths := 0
	tables.eachPath(tables.newClasses(), func(path []int32, _ []uint8) { paths++ })
	if pairs, first := tables.Unreachable(); pairs != 0 || paths != 4 { // from two switches to two LIDs
		t.Errorf("%d paths; %d pairs cannot be reached, %s", paths, pairs, first)
	}
	// Tables that lose an aggregation node are none that traffic notices.
	tables.LFT[s.Node[0]][s.TerminalLID[3]] = noPath
	if pairs, first := tables.Unreachable(); pairs != 0 {
		t.Errorf("%d pairs cannot be reached, %s", pairs, first)
	}
}
