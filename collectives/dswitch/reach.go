package dswitch

import (
	"math/bits"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// Fault names one failed part of a distributed full switch.
type Fault struct {
	Kind  FaultKind
	Stage int // 1..k of units and channels, 1 next to the processors, which are its units
	Index int // of the unit, the spine switch, or the unit that a channel leads away from
	Port  int // 0..m-1 of the unit at which a channel starts, which fails in both directions
}

// FaultKind tells what failed.
type FaultKind uint8

const (
	UnitFault    FaultKind = iota // a splitter/joiner pair, or a processor
	SwitchFault                   // a spine switch
	ChannelFault                  // the cable away from a unit's port
)

// Faults lists every part of s that can fail, in a fixed order: units, spine switches, channels.
func Faults(s *topology.DistributedSwitch) []Fault {
	var all []Fault
	for stage := 1; stage <= s.Cascades(); stage++ {
		for u := range s.Units(stage) {
			all = append(all, Fault{Kind: UnitFault, Stage: stage, Index: u})
		}
	}
	for b := range s.Copies(0) {
		all = append(all, Fault{Kind: SwitchFault, Index: b})
	}
	for stage := 1; stage <= s.Cascades(); stage++ {
		for u := range s.Units(stage) {
			for j := range s.Radix() {
				all = append(all, Fault{Kind: ChannelFault, Stage: stage, Index: u, Port: j})
			}
		}
	}
	return all
}

// sessionFaults marks failed parts; nil means none.
type sessionFaults struct {
	unit, cable [][]bool // by stage from 0: per unit; per unit*m+j
	spine       []bool   // per switch
}

func (f *sessionFaults) unitDead(stage, unit int) bool  { return f != nil && f.unit[stage][unit] }
func (f *sessionFaults) switchDead(b int) bool          { return f != nil && f.spine[b] }
func (f *sessionFaults) cableDead(stage, port int) bool { return f != nil && f.cable[stage][port] }

// Fail switches off exactly the given parts; none repairs everything.
func (n *SessionNetwork) Fail(faults ...Fault) {
	n.faults = nil
	if len(faults) == 0 {
		return
	}
	f := &sessionFaults{unit: make([][]bool, n.k), cable: make([][]bool, n.k), spine: make([]bool, n.sw.Copies(0))}
	for s := range n.k {
		f.cable[s] = make([]bool, len(n.up[s]))
		f.unit[s] = make([]bool, len(n.up[s])/n.m)
	}
	for _, x := range faults {
		switch x.Kind {
		case UnitFault:
			f.unit[x.Stage-1][x.Index] = true
		case SwitchFault:
			f.spine[x.Index] = true
		case ChannelFault:
			f.cable[x.Stage-1][x.Index*n.m+x.Port] = true
		}
	}
	n.faults = f
}

// Reach is what failed parts leave of the connections: unordered pairs of living processors.
type Reach struct {
	Living int // processors
	// Direct pairs have a path of their own, Detour pairs one over a third processor, which sends
	// on; Cut pairs none.
	Direct, Detour, Cut int
}

// directPairs holds for each processor the others to which it has a path without failed parts. The
// relation is symmetric: the way back uses the same parts.
func (n *SessionNetwork) directPairs() []bitRow {
	R := n.Processors()
	rows := newBitRows(R)
	route := make([]uint8, n.k+1)
	for x := range R {
		for y := range x {
			if n.innerRoute(n.k, 0, x, y, route) {
				rows[x].set(y)
				rows[y].set(x)
			}
		}
	}
	return rows
}

// Reach analyses the network with its present faults; without any, all pairs have a path. Cost:
// R^2/2 routes and R^3/128 steps for the detours of broken pairs.
func (n *SessionNetwork) Reach() Reach {
	if R := n.Processors(); n.faults == nil {
		return Reach{Living: R, Direct: R * (R - 1) / 2}
	}
	rows, r := n.directPairs(), Reach{}
	for x := range rows {
		if n.faults.unitDead(0, x) {
			continue
		}
		r.Living++
		for y := range x {
			if n.faults.unitDead(0, y) {
				continue
			}
			switch {
			case rows[x].has(y):
				r.Direct++
			case rows[x].meets(rows[y]):
				r.Detour++
			default:
				r.Cut++
			}
		}
	}
	return r
}

// Relay is a packet that Via sends to Destination for Source, whose own paths there have failed.
type Relay struct{ Source, Via, Destination int }

// relays chooses, for every ordered pair of living processors without a path, a third processor
// that has paths to both: the one with the fewest relays so far, the lowest if equal. After an
// all-to-all it holds the source's packet already. Relays are packed into sessions first fit:
// partial permutations, without conflict.
func (n *SessionNetwork) relays() [][]Relay {
	rows, R := n.directPairs(), n.Processors()
	load := make([]int, R)
	var sessions [][]Relay
	var sends, receives []bitRow
	for x := range R {
		for y := range R {
			if x == y || n.faults.unitDead(0, x) || n.faults.unitDead(0, y) || rows[x].has(y) {
				continue
			}
			via := -1
			for z := range R {
				if rows[x].has(z) && rows[y].has(z) && (via < 0 || load[z] < load[via]) {
					via = z
				}
			}
			if via < 0 {
				continue
			}
			load[via]++
			t := 0
			for t < len(sessions) && (sends[t].has(via) || receives[t].has(y)) {
				t++
			}
			if t == len(sessions) {
				sessions = append(sessions, nil)
				sends, receives = append(sends, newBitRow(R)), append(receives, newBitRow(R))
			}
			sessions[t] = append(sessions[t], Relay{x, via, y})
			sends[t].set(via)
			receives[t].set(y)
		}
	}
	return sessions
}

// bitRow is a set of processors.
type bitRow []uint64

func newBitRow(n int) bitRow    { return make(bitRow, (n+63)/64) }
func (b bitRow) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitRow) set(i int)      { b[i/64] |= 1 << (i % 64) }

func newBitRows(n int) []bitRow { return lists.Make(n, func(int) bitRow { return newBitRow(n) }) }

func (b bitRow) count() int { return lists.Sum(b, func(w uint64) int { return bits.OnesCount64(w) }) }

// meets tells whether the sets have a common member.
func (b bitRow) meets(c bitRow) bool {
	for w := range b {
		if b[w]&c[w] != 0 {
			return true
		}
	}
	return false
}

// newRelaySchedule plays relays as sessions.
func newRelaySchedule(n *SessionNetwork, relays [][]Relay, indirect bool) *SessionSchedule {
	to := make([][]int, len(relays))
	for t, session := range relays {
		to[t] = make([]int, n.Processors())
		for x := range to[t] {
			to[t][x] = x
		}
		for _, relay := range session {
			to[t][relay.Via] = relay.Destination
		}
	}
	return permutations(n, len(relays), indirect, func(t, x int) int { return to[t][x] })
}
