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
)

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
			drawn.Names.Terminal = append(drawn.Names.Terminal, name)
		}
		var text strings.Builder
		if err := ib.WriteNetDiscover(&text, drawn); err != nil {
			t.Fatal(err)
		}
		hosts, err := ib.ReadNetDiscover(strings.NewReader(text.String()), "hosts")
		if err != nil {
			t.Fatal(err)
		}
		units, err := ib.ReadNetDiscover(strings.NewReader(strings.ReplaceAll(text.String(), "Reducing unit", "Aggregation Node")), "units")
		if err != nil {
			t.Fatal(err)
		}
		lmc := r.IntN(2)
		a, b := subnetOf(t, hosts.Graph(), lmc), subnetOf(t, units.Graph(), lmc)
		if a.adapterPorts() != b.adapterPorts() {
			t.Fatalf("%d and %d adapter ports", a.adapterPorts(), b.adapterPorts())
		}
		o := randomOptions(&r, a)
		for _, name := range Engines() {
			if name == "torus-2QoS" {
				continue // wants a file
			}
			want, problem := registry[name].Route(a, o)
			got, again := registry[name].Route(b, o)
			if fmt.Sprint(problem) != fmt.Sprint(again) {
				t.Fatalf("round %d, %s: %v, want %v", round, name, again, problem)
			}
			if problem != nil {
				refusals++
				continue
			}
			tables++
			if !reflect.DeepEqual(got.LFT, want.LFT) || !slices.Equal(got.LevelsInUse(), want.LevelsInUse()) || got.Lanes != want.Lanes {
				t.Fatalf("round %d, %s: other tables than with hosts", round, name)
			}
			for _, write := range []func(*Tables) string{levelsText, lanesText(o)} {
				if write(got) != write(want) {
					t.Fatalf("round %d, %s: other levels or lanes than with hosts", round, name)
				}
			}
		}
	}
	if tables < 5*rounds || refusals == 0 {
		t.Errorf("%d tables and %d refusals", tables, refusals)
	}
}

func subnetOf(t *testing.T, g *topology.Graph, lmc int) *Subnet {
	t.Helper()
	manager := topology.TerminalID(slices.Index(ib.Names(g).Terminal, "host0"))
	s, err := NewSubnet(g, manager, lmc)
	if err != nil {
		t.Fatal(err)
	}
	return s
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
	g.Names = &topology.Names{Aggregation: []topology.AggregationNode{
		{Name: "a", Switch: 0, Port: 9, NodeGUID: 0x900, PortGUID: 0x901, LID: 77},
		{Name: "b", Switch: 1, Port: 9, NodeGUID: 0x902, PortGUID: 0x903},
	}}
	s, err := NewSubnet(g, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	tables, err := registry["minhop"].Route(s, &o)
	if err != nil {
		t.Fatal(err)
	}
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
