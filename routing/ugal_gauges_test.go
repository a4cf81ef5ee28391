package routing

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// flitsWaiting are queues by port and virtual channel, in front of buffers of 6 flits with 2 credits outstanding; all else of
// [fabric.Queues] is not asked for.
type flitsWaiting struct {
	fabric.Queues
	at map[topology.PortID][3]int
}

func (q flitsWaiting) Waiting(p topology.PortID, vc int) int { return q.at[p][vc] }
func (flitsWaiting) Outstanding(topology.PortID, int) int    { return 2 }
func (flitsWaiting) Credits(topology.PortID, int) int        { return 4 }
func (q flitsWaiting) WaitingAll(p topology.PortID) int      { return q.at[p][0] + q.at[p][1] + q.at[p][2] }

// gauged is the view of 5 groups of two switches with a terminal (port 4s of switch s), a channel to the other (4s+1) and two to other groups (4s+2,
// 4s+3), which lead in the order of the groups: of group 0 switch 0 has those to groups 1 and 2, switch 1 those to 3 (port 6) and 4 (port 7); of
// group 3 switch 6 has that to group 1 (port 27). With h = 3 in place of 2 channels to other groups a switch has five ports.
func gauged(t *testing.T, h int, queues map[topology.PortID][3]int) (topology.Topology, fabric.View) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", 2), param.Set("h", h), param.Set("g", 5)))(t)
	streams := make([]sim.Stream, topo.Graph().Switches())
	for i := range streams {
		streams[i] = sim.NewStream(1, "gauges", i)
	}
	return topo, fabric.NewView(fabric.Sight{Graph: topo.Graph(), VCs: 3, Streams: streams}, flitsWaiting{at: queues})
}

// compared are the minimal path of a packet from switch 0 to a terminal, and its detour by way of a group.
func compared(u *ugal, v *fabric.View, dst topology.TerminalID, via uint32) (h fabric.Head, minimal, detour candidate) {
	h = fabric.Head{Switch: 0, Dst: dst}
	minimal, detour = u.minimal(v, &h, u.minimalVC), u.begin(v, &h, viaState(via, u.detourVC), int32(via))
	minimal.hops, detour.hops = u.minimalHops(&h, minimal.state), u.detourHops(&h, detour.state, via)
	return h, minimal, detour
}

// TestGauges: q*H of both paths. Virtual channels are L0 G1 L1 G2 L2 for local and global ones, minimal
// packets begin at L1 or G2.
//
// To terminal 2 the minimal path is port 2 alone (8 flits, 2 on channel 2), 1 hop. The detour by group 3 leaves by port 1 (14 flits, 3 on channel 0),
// then port 6 (9 flits) and, from the switch at which it comes in, port 27, with a last hop to switch 2: 4 hops. To terminal 6, in group 3, both
// leave by port 1, channel 1 of which has 7 flits: minimally by port 6, 2 hops, by group 4 by port 7 (1 flit) with a hop in each of the three groups:
// 5. Terminal 3 is on the switch at which the detour by group 3 comes in: 3 hops, and the minimal path has a last hop to it: 2.
func TestGauges(t *testing.T) {
	topo, v := gauged(t, 2, map[topology.PortID][3]int{2: {1, 5, 2}, 1: {3, 7, 4}, 6: {2, 4, 3}, 7: {1, 0, 0}, 27: {50, 50, 0}})
	for _, c := range []struct {
		name, weight string
		apart, same  [2]int // paths by different ports, and by the same
	}{
		{"ugal-l", "hops", [2]int{8 * 1, 14 * 4}, [2]int{14 * 2, 14 * 5}},
		{"ugal-l-vc", "hops", [2]int{2 * 1, 3 * 4}, [2]int{7 * 2, 3 * 5}},
		{"ugal-l-vch", "hops", [2]int{8 * 1, 14 * 4}, [2]int{7 * 2, 3 * 5}},
		{"ugal-l-cr", "hops", [2]int{8 * 1, 14 * 4}, [2]int{7 * 2, 3 * 5}},
		{"ugal-g", "hops", [2]int{8 * 1, 9 * 4}, [2]int{9 * 2, 1 * 5}},
		{"ugal-l", "global-hops", [2]int{8, 14 * 2}, [2]int{14, 14 * 2}},
		{"ugal-l-vc", "global-hops", [2]int{2, 3 * 2}, [2]int{7, 3 * 2}},
		{"ugal-l-vch", "global-hops", [2]int{8, 14 * 2}, [2]int{7, 3 * 2}},
		{"ugal-g", "global-hops", [2]int{8, 9 * 2}, [2]int{9, 1 * 2}},
	} {
		r := simtest.Must(Registry.New(c.name, Env{Topology: topo, VCs: 3}, param.Set("weight", c.weight)))(t)
		u, ok := r.(*ugal)
		if !ok {
			u = r.(creditRoundTrip).ugal
		}
		further := c.apart
		if c.weight == "hops" {
			further = [2]int{2 * c.apart[0], 3 * c.apart[1] / 4}
		}
		for _, p := range []struct {
			dst  topology.TerminalID
			via  uint32
			want [2]int
		}{{2, 3, c.apart}, {6, 4, c.same}, {3, 3, further}} {
			h, minimal, detour := compared(u, &v, p.dst, p.via)
			m, nm := u.costs(u, &v, &h, minimal, detour)
			simtest.ErrorIf(t, m != p.want[0] || nm != p.want[1], "%s, %s, to terminal %d: %d and %d, want %v", c.name, c.weight, p.dst, m, nm, p.want)
		}
	}
}

// TestGaugeOfSeveralChannels: both channels from group 0 to group 4 are switch 1's, ports 7 (9 flits) and 9 (4 flits). At switch 0 UGAL-G takes them
// for 13/2 = 6 flits each, as switch 1 will draw one; switch 1 has drawn it, whose flits count.
func TestGaugeOfSeveralChannels(t *testing.T) {
	topo, v := gauged(t, 3, map[topology.PortID][3]int{1: {0, 20, 0}, 7: {2, 3, 4}, 9: {4, 0, 0}})
	u, drawn := simtest.Must(Registry.New("ugal-g", Env{Topology: topo, VCs: 3}))(t).(*ugal), map[topology.PortID]int{}
	for range 20 {
		for _, at := range []topology.SwitchID{0, 1} {
			h := fabric.Head{Switch: at, Dst: 8}
			minimal := u.minimal(&v, &h, u.minimalVC)
			want := map[topology.PortID]int{1: 6, 7: 9, 9: 4}[minimal.hop.Port]
			simtest.Equal(t, u.globalQueue(&v, &h, minimal, 4), want, "at switch %d by port %d: flits", at, minimal.hop.Port)
			drawn[minimal.hop.Port]++
		}
	}
	simtest.ErrorIf(t, drawn[1] != 20 || drawn[7] == 0 || drawn[9] == 0, "ports were taken %v times", drawn)
	for estimate, within := range map[string]bool{"global-queue": true, "path-queues": false} { // which leave the group
		u := simtest.Must(Registry.New("ugal-g", Env{Topology: topo, VCs: 3}, param.Set("estimate", estimate)))(t).(*ugal)
		simtest.Equal(t, u.ReadsWithin([]int{0, 0, 0, 0, 1, 1, 1, 1, 1, 1}), within, "%s: reads queues of its own part only:", estimate)
	}
}

// TestQThreshold: at its source, where a threshold of 0.2 is on the minimal channel's 100 cycles, a packet leaves by
// another channel if that takes 80 or less. A packet from group 0 to group 1 by way of group 3 is decided on at the first
// switch there if that is 7, and not if it is 6, which has the channel to group 1 itself.
func TestQThreshold(t *testing.T) {
	topo, _ := gauged(t, 2, nil)
	q := simtest.Must(Registry.New("q-adaptive", Env{Topology: topo, VCs: 8}, param.Set("exploration", 0), param.Set("source_threshold", 0.2)))(t).(*qAdaptive)
	m, random := q.NewMemory(func(topology.PortID) int64 { return 1 }).(*qMemory), sim.NewStream(1, "threshold", 0)
	h := fabric.Head{Switch: 0, Dst: 4}
	minimal := q.minimal(&h, &random)
	for other, minimally := range map[float32]bool{79: false, 80: false, 81: true, 99: true} {
		estimates := m.row(0, 0)
		for i := range estimates {
			estimates[i] = other
		}
		estimates[q.column[minimal]] = 100
		got := q.choose(m, &h, 0, 0, &random)
		simtest.ErrorIf(t, (got == minimal) != minimally, "%v cycles by another channel: port %d, the minimal one is %d", other, got, minimal)
	}
	for s, want := range map[topology.SwitchID]bool{6: false, 7: true} {
		decides, between := q.decides(&fabric.Head{Switch: s, In: topology.PortID(4*s + 2), Dst: 2, State: 1})
		simtest.ErrorIf(t, decides != want || between != want, "switch %d of a group between decides: %v, want %v", s, decides, want)
	}
}

// TestQSlot: a packet keeps the place of its terminal at its source, the first or the second of two.
func TestQSlot(t *testing.T) {
	topo, now := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 2), param.Set("a", 2), param.Set("h", 1)))(t), int64(0)
	q := simtest.Must(Registry.New("q-adaptive", Env{Topology: topo, VCs: 8}, param.Set("exploration", 0)))(t).(*qAdaptive)
	memory := q.NewMemory(func(topology.PortID) int64 { return 1 })
	v := fabric.NewView(fabric.Sight{Graph: topo.Graph(), VCs: 8, Cycle: &now, Memory: memory, Streams: make([]sim.Stream, 6)}, flitsWaiting{})
	for place, port := range topo.Graph().TerminalPort[:2] {
		h := fabric.Head{Switch: 0, In: port, Dst: 4}
		q.Route(&v, &h)
		simtest.Equal(t, h.State>>qSlot&1, uint32(place), "place of the terminal:")
	}
}

// TestUGALOffset: a packet goes minimally if q_m*H_m <= q_nm*H_nm + T, at equality, too. By global hops 8
// flits on the minimal path stand against twice 3 on the detour.
func TestUGALOffset(t *testing.T) {
	topo, v := gauged(t, 2, map[topology.PortID][3]int{2: {0, 8, 0}, 1: {3, 0, 0}})
	for offset, minimally := range map[int]bool{0: false, 1: false, 2: true, 3: true} {
		u := simtest.Must(Registry.New("ugal-l", Env{Topology: topo, VCs: 3}, param.Set("weight", "global-hops"), param.Set("threshold", offset)))(t).(*ugal)
		h, minimal, detour := compared(u, &v, 2, 3)
		chosen := u.best(&v, &h, minimal, func() (uint32, bool) { return detour.launch, true })
		simtest.ErrorIf(t, (chosen.launch == minimal.launch) != minimally, "offset %d: minimal %v, want %v", offset, !minimally, minimally)
	}
}

// graphOnly is a network without groups and coordinates.
type graphOnly struct{ graph *topology.Graph }

func (graphOnly) Facts() topology.Facts    { return topology.Facts{} }
func (x graphOnly) Graph() *topology.Graph { return x.graph }

// onAny is a routing for four switches with a terminal each and links in this order, and what it sees.
func onAny[R fabric.Routing](t *testing.T, name string, links [][2]topology.SwitchID, queues map[topology.PortID][3]int, set ...param.Setting) (R, fabric.View) {
	b := topology.NewBuilder(4, topology.Class{Name: "terminal", Latency: 1})
	for s := range topology.SwitchID(4) {
		b.AddTerminal(s, 0)
	}
	for _, l := range links {
		b.AddLink(l[0], l[1], 0)
	}
	g := b.Freeze()
	view := fabric.NewView(fabric.Sight{Graph: g, VCs: 8, Streams: []sim.Stream{sim.NewStream(1, "any", 0), {}, {}, {}}}, flitsWaiting{at: queues})
	return simtest.Must(Registry.New(name, Env{Topology: graphOnly{g}}, set...))(t).(R), view
}

var all = [][2]topology.SwitchID{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}} // switch 0 has port s to switch s

// TestHopsOfDetours: in a row of switches 0 to 3 the detour from 1 to 2 by 0 has 1 + 2 hops, that by 3 has 2 + 1, and
// the minimal path 1. If a file has packets from 0 to 1 by 2, these are 2 hops, or the 1 of a shortest path. Every hop of the longest
// detour has a virtual channel: of 2-0-1-3-1-0 in the row 2-0-1-3, five; and of 2-1-3-1-2-0, where a file has 3-1-2-0 and 2-1-3 as paths.
func TestHopsOfDetours(t *testing.T) {
	u, v := onAny[*pathUGAL](t, "ugal-l", [][2]topology.SwitchID{{0, 1}, {1, 2}, {2, 3}}, nil)
	for state, want := range map[uint32]int{direct(): 1, over(0): 3, over(3): 3} {
		_, hops := u.first(&v, &fabric.Head{Switch: 1, Dst: 2}, state)
		simtest.Equal(t, hops, want, "state %#x: hops", state)
	}
	file := filepath.Join(t.TempDir(), "by2")
	simtest.Check(t, os.WriteFile(file, []byte("-1 2 2 3\n0 -1 2 3\n0 1 -1 3\n0 1 2 -1\n"), 0o666))
	for lengths, want := range map[string]int{"paths": 2, "shortest": 1} {
		u, v := onAny[*pathUGAL](t, "ugal-l", all, nil, param.Set("next_hops", file), param.Set("lengths", lengths))
		_, hops := u.first(&v, &fabric.Head{Switch: 0, Dst: 1}, direct())
		simtest.Equal(t, hops, want, "lengths %s: hops", lengths)
	}
	row, _ := onAny[fabric.Routing](t, "val", [][2]topology.SwitchID{{2, 0}, {0, 1}, {1, 3}}, nil)
	simtest.Check(t, os.WriteFile(file, []byte("-1 1 2 1\n2 -1 2 3\n0 1 -1 1\n1 1 2 -1\n"), 0o666))
	oneWay, _ := onAny[fabric.Routing](t, "val", all, nil, param.Set("next_hops", file))
	simtest.ErrorIf(t, row.VCs() != 5 || oneWay.VCs() != 5, "%d and %d virtual channels, want 5", row.VCs(), oneWay.VCs())
}

// TestBestDetour: 10 flits wait for the minimal path from 0 to 1, of 1 hop, 4 for the detour by 3 and 1 for that by 2, of 2
// hops each: 10, 8 and 2. Of 16 candidates the second is one, but for once in 2^16.
func TestBestDetour(t *testing.T) {
	u, v := onAny[*pathUGAL](t, "ugal-l", all, map[topology.PortID][3]int{1: {10}, 2: {1}, 3: {4}}, param.Set("candidates", 16))
	for range 20 {
		port, ok := u.decide(&v, &fabric.Head{Switch: 0, Dst: 1})
		simtest.ErrorIf(t, !ok || port != 2, "the packet leaves by port %d, want 2", port)
	}
}

// TestTwoThirds: by UGAL-PF a packet leaves the minimal path, port 1, once two thirds of a buffer wait for it, 4 of 6 flits,
// and fewer elsewhere; as SST has it, once it is 3/2 of the shortest of the others, 6 flits and 4.
func TestTwoThirds(t *testing.T) {
	type choice struct{ reading, waiting string } // flits at ports 1, 2 and 3
	for c, minimally := range map[choice]bool{{"paper", "300"}: true, {"paper", "400"}: false, {"paper", "455"}: true, {"sst", "544"}: true, {"sst", "644"}: false} {
		queues := map[topology.PortID][3]int{1: {int(c.waiting[0] - '0')}, 2: {int(c.waiting[1] - '0')}, 3: {int(c.waiting[2] - '0')}}
		set := map[string][]param.Setting{"sst": {param.Set("candidates", 16), param.Set("threshold", 0)}}[c.reading]
		u, v := onAny[*ugalPF](t, "ugal-pf", all, queues, append(set, param.Set("reading", c.reading), param.Set("sensing", "waiting"))...)
		simtest.Equal(t, u.decide(&v, &fabric.Head{Switch: 0, Dst: 1}) == direct(), minimally, "%v: minimal:", c)
	}
	u, v := onAny[*ugalPF](t, "ugal-pf", all, nil, param.Set("neighbour_ties", "lowest"), param.Set("sensing", "waiting"))
	simtest.Equal(t, u.emptiest(&v, &fabric.Head{Switch: 0, Dst: 1}, nil).port, 1, "the port to the lowest of three neighbours is")
}

// TestCenter: in a row of switches 0 to 3 the farthest is 2 hops from 1 and from 2, and 3 from the others: 1 is the root.
func TestCenter(t *testing.T) {
	u, _ := onAny[*upDownStar](t, "up-down", [][2]topology.SwitchID{{0, 1}, {1, 2}, {2, 3}}, nil)
	simtest.Equal(t, u.rank[1], 0, "place of switch 1 in the order:")
}

// TestDrawsOfIdle: a minimal path that costs nothing is taken at once, and the intermediates of three candidates are drawn
// all the same: what is drawn next does not depend on that.
func TestDrawsOfIdle(t *testing.T) {
	next := map[bool]uint64{}
	for _, compare := range []bool{false, true} {
		topo, v := gauged(t, 2, nil)
		u := simtest.Must(Registry.New("ugal-l", Env{Topology: topo, VCs: 3}, param.Set("candidates", 3)))(t).(*ugal)
		u.idleSuffices = u.idleSuffices && !compare
		h := fabric.Head{Switch: 0, Dst: 2}
		u.decide(&v, &h, u.minimal(&v, &h, u.minimalVC))
		next[compare] = v.Random(0).Uint64()
	}
	simtest.Equal(t, next[false], next[true], "the next number is")
}

// TestOnlyDetour: of three groups, of a terminal on each of two switches, a packet from the first to
// the second has one detour, by way of the third. Within its group it has none.
func TestOnlyDetour(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", 2), param.Set("h", 1)))(t)
	r, random := simtest.Must(Registry.New("val", Env{Topology: topo}))(t).(*valiant), sim.NewStream(1, "detours", 0)
	state, ok := r.drawDetour(&fabric.Head{Switch: 0, Dst: 2}, &random)
	simtest.ErrorIf(t, !ok || state&viaMask != 2, "detour by way of group %d, %v; want group 2", state&viaMask, ok)
	_, ok = r.drawDetour(&fabric.Head{Switch: 0, Dst: 1}, &random)
	simtest.ErrorIf(t, ok, "a packet within its group has a detour")
}

// TestDetoursAround: of 4 groups of 3 switches, with switch 6 down, a packet from group 0 to 1 draws group 2 or 3, and one of
// the two or three switches there that are left: 1/4 each, or 1/6. By number a switch has to fit 16 bits.
func TestDetoursAround(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", 3), param.Set("h", 3), param.Set("g", 4)))(t)
	down, shares := topology.NewDown(topo.Graph()), map[uint32]float64{}
	down.FailSwitch(6)
	r := simtest.Must(Registry.New("val", Env{Topology: topo, Down: down}, param.Set("intermediate", "router")))(t).(*valiant)
	r.eachDetour(&fabric.Head{Switch: 0, Dst: 3}, func(state uint32, share float64) { shares[state&viaMask] = share })
	simtest.ErrorIf(t, !maps.Equal(shares, map[uint32]float64{7: 1. / 4, 8: 1. / 4, 9: 1. / 6, 10: 1. / 6, 11: 1. / 6}), "detours through %v", shares)
	down.FailSwitch(7)
	down.FailSwitch(8) // nobody misses a group that is all down
	simtest.Must(Registry.New("min", Env{Topology: topo, Down: down}))(t)
	simtest.Check(t, (&groupWalk{at: make([]seat, 1<<16)}).lead("val", "router"))
	simtest.Fail(t, (&groupWalk{at: make([]seat, 1<<16+1)}).lead("val", "router"), "at most 65536 switches")
}

// TestAnyRouter: with any-router a detour leads through every switch but those of the source's group, the destination's among them. Switches 0 and 1
// are the group of the source, 2 and 3 that of the destination. As in BookSim2 a packet within its group goes on virtual channel 2.
func TestAnyRouter(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", 2), param.Set("h", 1)))(t)
	u := simtest.Must(Registry.New("ugal-l", Env{Topology: topo}, param.Set("intermediate", "any-router")))(t).(*ugal)
	random, drawn := sim.NewStream(1, "detours", 0), map[uint32]bool{}
	for range 200 {
		if via, ok := u.drawIntermediate(&fabric.Head{Switch: 0, Dst: 2}, &random); ok {
			drawn[via] = true
		}
	}
	simtest.ErrorIf(t, !maps.Equal(drawn, (map[uint32]bool{2: true, 3: true, 4: true, 5: true})), "detours through %v, want 2 to 5", drawn)
	topo, v := gauged(t, 2, nil)
	u = simtest.Must(Registry.New("ugal-l", Env{Topology: topo, VCs: 3}, param.Set("intermediate", "any-router"), param.Set("detour_vc", "booksim2")))(t).(*ugal)
	simtest.Equal(t, u.Depart(&v, &fabric.Head{Switch: 0, Dst: 1}), 1<<2, "virtual channels within the group:")
}

// TestComparePaths: a row of switches 0 to 3 becomes a ring by a cable from 3 to 0. Of 12 pairs the 6 of neighbours stay, 0
// and 3 come nearer, from 3 hops to 1, and those two apart get a second path of 2. All hops are 6*1 + 4*2 + 2*3 in the row, 8*1
// + 4*2 in the ring. Where another switch has the place of 2, only 0 and 1 keep their path; where cables are plugged in another
// order, and ports have the old numbers, all do. The first destination is of 3 pairs and counts for 4.
func TestComparePaths(t *testing.T) {
	routed := func(links ...[2]topology.SwitchID) Routed {
		r, _ := onAny[*table](t, "table", links, nil, param.Set("ties", "random"))
		return Routed{r.graph, r, r.VCs()}
	}
	row, ring, other := routed([][2]topology.SwitchID{{0, 1}, {1, 2}, {2, 3}}...), routed(all[0], all[3], all[5], all[2]), routed(all[5], all[3], all[0])
	other.Graph.Names = &topology.Names{Port: []int32{0, 1, 0, 2, 1, 0, 2, 1, 0, 1}}
	for _, c := range []struct {
		a, b  Routed
		third int // what has become of switch and terminal 2
		want  PathChanges
	}{
		{row, ring, 2, PathChanges{12, 4, 4, 12, 12, 6, 4, 2, 0, 20. / 12, 16. / 12, 3, 2}},
		{ring, row, 2, PathChanges{12, 4, 4, 12, 12, 6, 4, 0, 2, 16. / 12, 20. / 12, 2, 3}},
		{row, row, -1, PathChanges{6, 3, 3, 6, 6, 2, 4, 0, 0, (2*1 + 2*2 + 2*3) / 6., 12. / 6, 3, 3}},
		{row, other, 2, PathChanges{12, 4, 4, 12, 12, 12, 0, 0, 0, 20. / 12, 20. / 12, 3, 3}},
	} {
		changes := &topology.Changes{SwitchTo: []topology.SwitchID{0, 1, 2, 3}, TerminalTo: []topology.TerminalID{0, 1, 2, 3}}
		changes.SwitchTo[2], changes.TerminalTo[2] = topology.SwitchID(c.third), topology.TerminalID(c.third)
		simtest.Equal(t, *simtest.Must(ComparePaths(c.a, c.b, changes, 0))(t), c.want, "changes:")
		some := simtest.Must(ComparePaths(c.a, c.b, changes, c.want.Of))(t)
		simtest.ErrorIf(t, some.Destinations != 1 || some.Pairs != c.want.Of-1, "%d pairs of %d destinations", some.Pairs, some.Destinations)
	}
}

// TestEscapeWalksAnew: the dependencies of packets to a destination do not depend on those walked to before.
func TestEscapeWalksAnew(t *testing.T) {
	topo := simtest.Must(topology.Registry.New("torus", struct{}{}, param.Set("dims", []int{4, 5})))(t)
	r := simtest.Must(Registry.New("adaptive-escape", Env{Topology: topo}))(t).(fabric.EscapeRouting)
	shared := &escapeWalk{}
	for _, dst := range simtest.Must(newWalker(topo.Graph(), r, r.VCs()))(t).ends() {
		alone := &escapeWalk{walker: simtest.Must(newWalker(topo.Graph(), r, r.VCs()))(t), escape: r.EscapeVCs(r.VCs()), wormhole: true}
		shared.walker, shared.escape, shared.wormhole = alone.walker, alone.escape, true
		var want, got []topology.Dependency
		simtest.Check(t, alone.to(dst, alone.ends(), func(d topology.Dependency) { want = append(want, d) }))
		simtest.Check(t, shared.to(dst, alone.ends(), func(d topology.Dependency) { got = append(got, d) }))
		simtest.ErrorIf(t, !slices.Equal(got, want), "to %d: %d dependencies, want %d, or others", dst, len(got), len(want))
	}
}

// TestPolarizedSpares: where each is joined to each, switch 0 reaches 1 straight or, with a second virtual channel, by 2 or 3.
func TestPolarizedSpares(t *testing.T) {
	r, _ := onAny[*polarized](t, "polarized", all, nil, param.Set("hops", 2))
	ways := 0
	r.Explore(2, fabric.Head{Switch: 0, Dst: 1}, func(fabric.Hop, uint32, float64) { ways++ })
	simtest.Equal(t, ways, 3, "ways out of switch 0:")
}

// TestArrivals: packets of two threads that have ended a stage alike come by the channels of both, 1 and 2; of four switches 1
// and 3 have any, the first and the second in the list.
func TestArrivals(t *testing.T) {
	var x, y arrivals
	x.at(stageKey{at: 1}, 1).in[0] = 1
	y.at(stageKey{at: 3}, 1).in[0] = 4
	y.at(stageKey{at: 1}, 1).in[0] = 2
	x.join(&y)
	r, _ := onAny[*table](t, "table", all, nil)
	x.sort(r.graph)
	simtest.ErrorIf(t, x.list[0].in[0] != 1|2 || x.list[1].in[0] != 4, "%+v", x.list)
	simtest.EqualSlices(t, x.start, []int32{0, 0, 1, 1, 2}, "places of switches in the list")
}

// TestEvenDemands: half a flit from every terminal of switches with 1, 2 and 1 is 2/2 and 1/2 to the first.
func TestEvenDemands(t *testing.T) {
	var got []float64
	(&evenDemands{weight: 0.5, size: []int{1, 2, 1}}).to(0, func(_ int, flow float64) { got = append(got, flow) })
	simtest.EqualSlices(t, got, []float64{1, 0.5}, "from the second and third switch come")
}

// TestGridDistances: in a ring of five switch 0 is 0, 1, 2, 2 and 1 hops from the others in turn, in a row up to 4.
func TestGridDistances(t *testing.T) {
	for family, want := range map[string][]int{"torus": {0, 1, 2, 2, 1}, "mesh": {0, 1, 2, 3, 4}} {
		topo := simtest.Must(topology.Registry.New(family, struct{}{}, param.Set("dims", []int{5})))(t)
		w := simtest.Must(newGridWalk("dor", Env{Topology: topo}, ruleDateline))(t)
		for s, hops := range want {
			simtest.Equal(t, w.apart(0, topology.SwitchID(s)), hops, "%s, 0 to %d: hops", family, s)
		}
	}
}

// A path that climbs, crosses, descends, climbs again, crosses twice and descends changes its class as it climbs again and at the second crossing.
func TestTurnClasses(t *testing.T) {
	turns := &turns{direction: []uint8{uint8(climbs), uint8(crosses), uint8(descends)}}
	made, classes := uint32(0), []uint32{}
	for _, port := range []topology.PortID{0, 1, 2, 0, 1, 1, 2, 2} {
		var class uint32
		class, made = turns.step(made, port)
		classes = append(classes, class)
	}
	simtest.EqualSlices(t, classes, []uint32{0, 0, 0, 1, 1, 2, 2, 2}, "classes")
}

// A file of three switches in a row: 0 - 1 - 2.
const row3 = "# row r, column d\n-1 1 1\n0 -1 2\n\n1 1 -1\n"

func TestReadNextHops(t *testing.T) {
	next, err := readNextHops("row.txt", []byte(row3), 3)
	want := []int32{-1, 1, 1, 0, -1, 2, 1, 1, -1}
	simtest.ErrorIf(t, err != nil || fmt.Sprint(next) != fmt.Sprint(want), "%v, %v, want %v", next, err, want)
	for text, want := range map[string]string{
		"-1 1 1\n0 -1 2\n":             "row.txt:2: 2 rows, want 3, one for each switch",
		"-1 1 1\n0 -1\n1 1 -1\n":       "row.txt:2: 2 columns, want 3, one for each switch",
		"-1 1 1\n0 -1 3\n1 x -1\n":     "row.txt:2: column 3: \"3\", want a switch, 0 to 2, or -1\nrow.txt:3: column 2: \"x\", want a switch, 0 to 2, or -1",
		row3 + "0 0 0\n":               "row.txt:6: 4 rows, want 3, one for each switch",
		"":                             "row.txt:1: 0 rows, want 3, one for each switch",
		"-1 1 1\n0 -1 \x1b\n1 1 -1 \n": `row.txt:2: column 3: "\\u001b", want a switch, 0 to 2, or -1`,
	} {
		_, err := readNextHops("row.txt", []byte(text), 3)
		simtest.ErrorIf(t, err == nil || err.Error() != want, "%q: %v, want %s", text, err, want)
	}
	many := strings.Repeat("x\n", 100) // after the last problem that is listed comes the remark that there may be more
	_, err = readNextHops("row.txt", []byte(many), 100)
	simtest.Equal(t, strings.Count(fmt.Sprint(err), "\n"), input.MostProblems, "problems listed:")
}

// What is read without a problem is a table of switches.
func FuzzReadNextHops(f *testing.F) {
	f.Add([]byte(row3), uint8(3))
	f.Add([]byte("-1"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, switches uint8) {
		next, err := readNextHops("x", data, int(switches))
		if err != nil {
			return
		}
		simtest.FatalIf(t, len(next) != int(switches)*int(switches), "%d entries for %d switches", len(next), switches)
		for _, n := range next {
			simtest.FatalIf(t, n < -1 || n >= int32(switches), "entry %d", n)
		}
	})
}

// TestOwnPARDiverts: a packet that has come to the gateway of its minimal path by a local hop may
// leave it by its global channels only, all of them, on the virtual channel of its source group.
func TestOwnPARDiverts(t *testing.T) {
	const a, h = 4, 2
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", a), param.Set("h", h)))(t)
	r := simtest.Must(Registry.New("par-own", Env{Topology: topo}, param.Set("global_vc", "same")))(t)
	g, grouped := topo.Graph(), topo.(topology.Grouped)
	explorer := r.(fabric.Explorer)
	for dst := range g.Terminals() {
		head := fabric.Head{Switch: 0, In: g.TerminalPort[0], Dst: topology.TerminalID(dst)}
		if grouped.GroupOf(g.TerminalSwitch(head.Dst)) == 0 {
			continue
		}
		explorer.Explore(3, head, func(hop fabric.Hop, state uint32, _ float64) {
			peer, _ := g.PeerPort(hop.Port)
			at := head
			if at.Switch, at.In, at.State = g.PortSwitch[peer], peer, state; !undecided(state) || grouped.GroupOf(at.Switch) != 0 {
				return
			}
			ports := map[topology.PortID]bool{}
			explorer.Explore(3, at, func(hop fabric.Hop, _ uint32, _ float64) {
				ports[hop.Port] = true
				peer, ok := g.PeerPort(hop.Port)
				simtest.ErrorIf(t, !ok || grouped.GroupOf(g.PortSwitch[peer]) == 0 || hop.VCs != 1,
					"terminal %d: port %d, virtual channels %b at its gateway", dst, hop.Port, hop.VCs)
			})
			simtest.ErrorIf(t, len(ports) != h, "terminal %d: %d ways out of its gateway, want %d", dst, len(ports), h)
		})
	}
}
