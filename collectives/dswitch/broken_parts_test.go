package dswitch

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// A thousand random permutations on each of ten (N, m), and on networks of two
// and three cascades: every packet arrives at its destination in its session.
func TestSessionsRandomPermutations(t *testing.T) {
	configs := []topology.PKConfig{{M: 3, Cascades: 2}, {M: 4, Cascades: 2}, {M: 3, Cascades: 3}}
	for _, m := range []int{3, 4, 5, 6, 8, 9, 10, 12, 14, 17} {
		configs = append(configs, topology.PKConfig{M: m, Cascades: 1})
	}
	count := 1000
	if testing.Short() {
		count = 50
	}
	for i, c := range configs {
		n := pkNetwork(t, c)
		schedule := newRandomPermutations(n, count, i%2 == 0, 1)
		arrived, fixed := 0, 0
		for s := range count {
			for x := range n.Processors() {
				if schedule.to(s, x) == x {
					fixed++
				}
			}
		}
		n.SingleAccess = true // one packet a processor and session is enough
		o := n.Run(schedule, SessionOptions{PacketFlits: 1, Received: func(session, source, destination int) {
			simtest.FatalIf(t, schedule.to(session, source) != destination, "%s: session %d: packet of %d at %d", n.sw.Name(), session, source, destination)
			arrived++
		}})
		simtest.ErrorIf(t, o.Conflicts+o.AccessDrops+o.Unplugged != 0 || arrived != count*n.Processors()-fixed,
			"%s: %d of %d packets arrived: %+v", n.sw.Name(), arrived, count*n.Processors()-fixed, o)
	}
}

// subsets calls visit for every set of exactly size of the n first numbers.
func subsets(n, size int, visit func([]int)) {
	set := make([]int, size)
	var grow func(from, at int)
	grow = func(from, at int) {
		if at == size {
			visit(set)
			return
		}
		for i := from; i <= n-(size-at); i++ {
			set[at] = i
			grow(i+1, at+1)
		}
	}
	grow(0, 0)
}

// expectedReach counts living pairs by the combinatorics of the design alone: the living processors whose channel to a
// living block lives are pairwise joined by that block and by no other, so that there are sum of C(a_b, 2) direct
// pairs; two processors are restored if some third shares such a block with each.
func expectedReach(d *topology.Design, faults []Fault) Reach {
	N, m := d.Points(), d.Size()
	deadPoint, deadBlock, deadChannel := make([]bool, N), make([]bool, N), make([]bool, N*m)
	for _, f := range faults {
		switch f.Kind {
		case UnitFault:
			deadPoint[f.Index] = true
		case SwitchFault:
			deadBlock[f.Index] = true
		case ChannelFault:
			deadChannel[f.Index*m+f.Port] = true
		}
	}
	var r Reach
	joined := make([][]bool, N)
	for x := range joined {
		joined[x] = make([]bool, N)
		if !deadPoint[x] {
			r.Living++
		}
	}
	for b := range N {
		if deadBlock[b] {
			continue
		}
		var members []int
		for j := range m {
			if x := d.Point(b, j); !deadPoint[x] && !deadChannel[x*m+j] {
				members = append(members, x)
			}
		}
		r.Direct += len(members) * (len(members) - 1) / 2
		for _, x := range members {
			for _, y := range members {
				joined[x][y] = x != y
			}
		}
	}
	for x := range N {
		for y := range x {
			if deadPoint[x] || deadPoint[y] || joined[x][y] {
				continue
			}
			detour := false
			for z := range N {
				detour = detour || joined[x][z] && joined[z][y]
			}
			if detour {
				r.Detour++
			} else {
				r.Cut++
			}
		}
	}
	return r
}

// Every set of up to three faulty processors, switches and channels for N = 7 (35 parts) and of up to two for N = 13
// (78; three without -short), and every single one for N = 21, against the combinatorics. Up to m-1 faults of any kind
// never separate two living processors: if their common block is lost, of the (m-1)^2 third processors at which another
// block of x meets another of y each further fault spoils at most m-1, so that m-2 more leave at least m-1 of them. m
// faults can (all channels of one processor).
func TestSessionsFaultsExhaustive(t *testing.T) {
	for _, c := range []struct{ m, most int }{{3, 3}, {4, 3}, {5, 1}} {
		n := pccNetwork(t, c.m, 1)
		parts, separated := Faults(n.sw), false
		for size := 1; size <= c.most; size++ {
			if testing.Short() && len(parts) > 35 && size > 2 {
				continue
			}
			faults := make([]Fault, size)
			subsets(len(parts), size, func(set []int) {
				for i, p := range set {
					faults[i] = parts[p]
				}
				n.Fail(faults...)
				got, want := n.Reach(), expectedReach(n.sw.Design(), faults)
				simtest.FatalIf(t, got != want, "%+v: %+v, want %+v", faults, got, want)
				simtest.FatalIf(t, got.Cut > 0 && size < c.m, "%+v: %d pairs cut by fewer than m faults", faults, got.Cut)
				separated = separated || got.Cut > 0
			})
		}
		n.Fail()
		isolate := make([]Fault, c.m)
		for j := range isolate {
			isolate[j] = Fault{Kind: ChannelFault, Stage: 1, Port: j}
		}
		n.Fail(isolate...)
		simtest.Equal(t, n.Reach().Cut, n.Processors()-1, "m = %d: without its channels processor 0 loses", c.m)
		simtest.ErrorIf(t, c.m == 3 && !separated, "no three faults separate two processors")
	}
}

// checkFaultsByFlit compares the analysis with what gets through flit by flit: the cyclic permutations, each processor
// routing around what has failed where it has a choice, reach exactly the direct pairs, without conflicts.
func checkFaultsByFlit(t *testing.T, n *SessionNetwork, faults []Fault) {
	t.Helper()
	n.Fail(faults...)
	reach, o := n.Reach(), checkConserved(t, n.Run(newCyclic(n, true), SessionOptions{PacketFlits: 1}))
	simtest.FatalIf(t, o.Received != 2*reach.Direct || o.MissingPairs != 2*(reach.Detour+reach.Cut) || o.Conflicts+o.AccessDrops+o.FaultDrops != 0,
		"%s with %+v: received %d, missing %d, %+v: %+v", n.sw.Name(), faults, o.Received, o.MissingPairs, reach, o)
	// What was heard also says which pairs a third processor can restore.
	detours := 0
	for x := range n.Processors() {
		for y := range x {
			if o.Heard(x, y) || n.faults.unitDead(0, x) || n.faults.unitDead(0, y) {
				continue
			}
			for z := range n.Processors() {
				if o.Heard(z, x) && o.Heard(y, z) {
					detours++
					break
				}
			}
		}
	}
	simtest.FatalIf(t, detours != reach.Detour, "%s with %+v: %d pairs have a detour, analysis says %d", n.sw.Name(), faults, detours, reach.Detour)
}

func TestSessionsFaultsByFlit(t *testing.T) {
	for _, m := range []int{3, 4} {
		n := pccNetwork(t, m, 1)
		parts := Faults(n.sw)
		for size := 1; size <= 2; size++ {
			faults := make([]Fault, size)
			subsets(len(parts), size, func(set []int) {
				for i, p := range set {
					faults[i] = parts[p]
				}
				checkFaultsByFlit(t, n, faults)
			})
		}
	}
	// Sampled above: up to 12 faults at once.
	stream := sim.NewStream(1, "test-faults", 0)
	for _, c := range []topology.PKConfig{{M: 5, Cascades: 1}, {M: 8, Cascades: 1}, {M: 3, Cascades: 2}, {M: 4, Cascades: 2}, {M: 3, Cascades: 3}} {
		n := pkNetwork(t, c)
		parts := Faults(n.sw)
		for range 20 {
			sim.Shuffle(&stream, parts)
			checkFaultsByFlit(t, n, parts[:1+stream.IntN(12)])
		}
	}
}

// Section 1: any k < N/2 processors may fail. Processors forward nothing, so that the others keep all their direct paths.
func TestSessionsProcessorFaults(t *testing.T) {
	for _, c := range []topology.PKConfig{{M: 3, Cascades: 1}, {M: 5, Cascades: 1}, {M: 3, Cascades: 2}} {
		n := pkNetwork(t, c)
		R := n.Processors()
		var faults []Fault
		for k := 1; 2*k < R; k++ {
			faults = append(faults, Fault{Kind: UnitFault, Stage: 1, Index: (k * 2) % R})
			n.Fail(faults...)
			simtest.Equal(t, n.Reach(), (Reach{Living: R - k, Direct: (R - k) * (R - k - 1) / 2}), "%s, %d failed", n.sw.Name(), k)
		}
	}
}

// In PK_2 processors on equal elements have m paths: one inner switch less
// leaves them joined, all others of its ports lose each other directly.
func TestSessionsInnerSwitchFault(t *testing.T) {
	n := pkNetwork(t, topology.PKConfig{M: 3, Cascades: 2})
	// All 7 units of copy 0, into which row 1 of table 2 is plugged: processors 1 7 5 8 14 12 15. Of their 21 pairs
	// (1,8), (7,14), (5,12), (1,15), (8,15) are on equal elements modulo 7 and keep two paths.
	var faults []Fault
	for u := range 7 {
		faults = append(faults, Fault{Kind: UnitFault, Stage: 2, Index: u})
	}
	n.Fail(faults...)
	simtest.Equal(t, n.Reach(), (Reach{Living: 15, Direct: 105 - 16, Detour: 16}), "")
	checkFaultsByFlit(t, n, faults)
}

// TestRelaysShareTheWork: a failed switch of PK_1(7, 3, 1) parts three processors, 6 ordered pairs. The four others can
// relay, each in turn, so that two sessions do: each of the three receives two packets.
func TestRelaysShareTheWork(t *testing.T) {
	n := pkNetwork(t, topology.PKConfig{M: 3, Cascades: 1})
	n.Fail(Fault{Kind: SwitchFault, Index: 2})
	sessions := n.relays()
	load, all := map[int]int{}, 0
	for _, relays := range sessions {
		for _, r := range relays {
			load[r.Via]++
			all++
		}
	}
	simtest.ErrorIf(t, len(sessions) != 2 || all != 6 || len(load) != 4, "%d relays by %v in %d sessions, want 6 by four in 2", all, load, len(sessions))
}

// After the all-to-all of a damaged network relays give every restorable pair its packet, and after a single
// permutation those whose relay has had it.
func TestSessionsRelays(t *testing.T) {
	for _, c := range []topology.PKConfig{{M: 4, Cascades: 1}, {M: 3, Cascades: 2}} {
		for seed := range uint64(10) {
			t.Run(fmt.Sprintf("m=%d/k=%d/seed=%d", c.M, c.Cascades, seed), func(t *testing.T) {
				config := DefaultSessionsConfig()
				config.Schedule, config.FailSwitches, config.FailChannels, config.FailProcessors = "digits", 2, 3, 1
				n := pkNetwork(t, c)
				r := simtest.Must(RunSessions(t.Context(), n.sw, config, seed, nil))(t)
				simtest.ErrorIf(t, r.Row.RelayedPairs != 2*r.Reach.Detour || r.Row.MissingPairs != 2*(r.Reach.Detour+r.Reach.Cut),
					"relayed %d, missing %d, %+v", r.Row.RelayedPairs, r.Row.MissingPairs, r.Reach)
				config.Schedule, config.Permutations = "random", 1
				r = simtest.Must(RunSessions(t.Context(), n.sw, config, seed, nil))(t)
				n.Fail(r.Faults...)
				heard := 0
				for _, relay := range slices.Concat(n.relays()...) {
					if r.Row.Heard(relay.Via, relay.Source) {
						heard++
					}
				}
				simtest.Equal(t, r.Row.RelayedPairs, heard, "relayed after one permutation")
			})
		}
	}
}
