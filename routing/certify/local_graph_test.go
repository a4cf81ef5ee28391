package certify

import (
	"sync"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// TestLocal enters random dependencies at the switches of random graphs, from several
// goroutines, and compares with [Graph]: counts, and whether there is a cycle.
func TestLocal(t *testing.T) {
	stream := sim.NewStream(2, "local", 0)
	cyclic := 0
	const rounds = 200
	for round := range rounds {
		switches, vcs := 3+stream.IntN(6), 1+stream.IntN(3)
		b := topology.NewBuilder(switches, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "link", Latency: 1})
		for s := range switches {
			b.AddTerminal(topology.SwitchID(s), 0)
			b.AddLink(topology.SwitchID(s), topology.SwitchID((s+1)%switches), 1)
		}
		for range stream.IntN(4) * 10 { // parallel cables, too, and rows of several words
			from := stream.IntN(switches)
			b.AddLink(topology.SwitchID(from), topology.SwitchID((from+1+stream.IntN(switches-1))%switches), 1)
		}
		g := b.Freeze()
		plain, local := New(vcs), NewLocal(g, vcs)
		var entered []topology.Dependency
		for range stream.IntN(12 * switches * vcs) {
			held := topology.PortID(stream.IntN(g.NumPorts()))
			peer, ok := g.PeerPort(held)
			if !ok {
				continue
			}
			first, end := g.Ports(g.PortSwitch[peer])
			wanted := first + topology.PortID(stream.IntN(int(end-first)))
			if _, ok := g.PeerPort(wanted); ok {
				entered = append(entered, topology.Dependency{
					Held:   topology.Channel{Port: held, VC: uint8(stream.IntN(vcs))},
					Wanted: topology.Channel{Port: wanted, VC: uint8(stream.IntN(vcs))},
				})
			}
		}
		var threads sync.WaitGroup
		for thread := range 3 {
			threads.Go(func() {
				for i := thread; i < len(entered); i += 2 { // some of them twice
					d := entered[i]
					peer, _ := g.PeerPort(d.Held.Port)
					set := make([]uint64, local.width(g.PortSwitch[peer]))
					bit := g.LocalPort(d.Wanted.Port)*vcs + int(d.Wanted.VC)
					set[bit/64] |= 1 << (bit % 64)
					local.AddAll(d.Held, set)
				}
			})
		}
		threads.Wait()
		for _, d := range entered {
			plain.Add(d)
			if !local.Has(d) {
				t.Fatalf("round %d: %+v was entered and is not there", round, d)
			}
		}
		want := plain.Certify(1, 1)
		got, acyclic := local.Certify(1)
		if got.Channels != want.Channels || got.Dependencies != want.Dependencies || acyclic != want.Acyclic() {
			t.Fatalf("round %d: %+v, acyclic %v, want %+v", round, got, acyclic, want)
		}
		if !acyclic {
			cyclic++
		}
	}
	if cyclic < rounds/10 || cyclic > 9*rounds/10 {
		t.Errorf("%d of %d graphs have a cycle: not a test of both", cyclic, rounds)
	}
}
