package routing

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// TerminalBlind is implemented by routings that say whether their decisions
// before the last switch depend on the source and destination terminals only
// through their switches, and not on the injection virtual channel. Walks over
// all paths then follow one terminal of each switch.
type TerminalBlind interface{ IgnoresTerminals() bool }

// Widener is implemented by routings that choose between paths by a hash of the
// packet's ends, so that each pair has to be followed by itself, and know a routing
// whose paths include all of theirs and do not.
type Widener interface {
	// Widened is that routing; nil: none, as nothing is hashed. It splits flows
	// evenly where r hashes: the mean over all hashes.
	Widened() fabric.Routing
}

// Widened is the wider routing of a [Widener], or else nil. If it has no cycle of
// channel dependencies, neither has r.
func Widened(r fabric.Routing) fabric.Routing {
	if w, ok := r.(Widener); ok {
		return w.Widened()
	}
	return nil
}

func ignoresTerminals(r fabric.Routing) bool {
	b, ok := r.(TerminalBlind)
	return ok && b.IgnoresTerminals()
}

// walker follows the possible paths of packets through a fabric's routing.
type walker struct {
	graph *topology.Graph
	r     fabric.Routing
	e     fabric.Explorer
	vcs   int
	blind bool
	limit int // of hops to a destination; 0: none
}

func newWalker(g *topology.Graph, r fabric.Routing, vcs int) (*walker, error) {
	e, ok := r.(fabric.Explorer)
	if !ok {
		return nil, fmt.Errorf("the paths of this routing cannot be listed: %T has no method Explore", r)
	}
	return &walker{g, r, e, vcs, ignoresTerminals(r), 0}, nil
}

// ends lists the terminals that stand for all as sources and destinations.
func (w *walker) ends() []topology.TerminalID {
	if w.blind {
		_, sample := numberLeaves(w.graph)
		return sample
	}
	all := make([]topology.TerminalID, w.graph.Terminals())
	for t := range all {
		all[t] = topology.TerminalID(t)
	}
	return all
}

// heads lists what a packet from src to dst can look like at its first switch:
// one head for each injection virtual channel, or one alone where the routing
// ignores it.
func (w *walker) heads(src, dst topology.TerminalID) (heads []fabric.Head) {
	w.eachHead(src, dst, func(h fabric.Head) { heads = append(heads, h) })
	return heads
}

// eachHead visits what heads lists.
func (w *walker) eachHead(src, dst topology.TerminalID, visit func(fabric.Head)) {
	port := w.graph.TerminalPort[src]
	for set := w.r.InjectionVCs(w.vcs); set != 0; set &= set - 1 {
		visit(fabric.Head{Switch: w.graph.PortSwitch[port], In: port, VC: uint8(bits.TrailingZeros32(set)), Dst: dst})
		if w.blind {
			return
		}
	}
}

// injections is the number of heads that eachHead visits.
func (w *walker) injections() int {
	if w.blind {
		return 1
	}
	return bits.OnesCount32(w.r.InjectionVCs(w.vcs))
}

// follow is the head behind hop on virtual channel vc; arrived tells that the
// hop leads to the destination. Decisions that no switch can carry out are
// errors.
func (w *walker) follow(h fabric.Head, hop fabric.Hop, state uint32, vc uint8) (next fabric.Head, arrived bool, err error) {
	first, end := w.graph.Ports(h.Switch)
	if hop.Port < first || hop.Port >= end || hop.VCs == 0 || hop.VCs>>w.vcs != 0 || state>>fabric.StateBits != 0 {
		return h, false, fmt.Errorf("the routing sends a packet from %s to %s out of port %d on virtual channels %b with state %x: not possible with %d virtual channels",
			w.graph.SwitchName(h.Switch), w.graph.TerminalName(h.Dst), hop.Port, hop.VCs, state, w.vcs)
	}
	if t, ok := w.graph.PeerTerminal(hop.Port); ok {
		if t != h.Dst {
			return h, false, fmt.Errorf("the routing delivers a packet for %s to %s", w.graph.TerminalName(h.Dst), w.graph.TerminalName(t))
		}
		return h, true, nil
	}
	peer, _ := w.graph.PeerPort(hop.Port)
	return fabric.Head{Switch: w.graph.PortSwitch[peer], In: peer, VC: vc, Dst: h.Dst, State: state}, false, nil
}

// eachHop visits what follows on the hops that a packet at a head can make, on each of their
// virtual channels, until an error.
func (w *walker) eachHop(h fabric.Head, visit func(hop fabric.Hop, next fabric.Head, arrived bool) error) (err error) {
	w.e.Explore(w.vcs, h, func(hop fabric.Hop, state uint32, _ float64) {
		for set := hop.VCs; err == nil; {
			next, arrived, problem := w.follow(h, hop, state, uint8(bits.TrailingZeros32(set)))
			if err = problem; err == nil {
				err = visit(hop, next, arrived)
			}
			if set &= set - 1; set == 0 || arrived {
				return
			}
		}
	})
	return err
}

// Dependencies walks every path that routing r can choose on g with vcs
// virtual channels, destination by destination, and yields each dependency
// between two channels (repeatedly). It stops before the next destination once
// it has followed budget hops (0: no limit); the destinations are taken in a
// random order, the same in every run, so that those done are a fair sample. It
// returns the number of destinations walked and of all; where r ignores
// terminals, a destination stands for all terminals of its switch. Decisions
// that lead nowhere or to the wrong terminal are errors.
func Dependencies(g *topology.Graph, r fabric.Routing, vcs, budget int, yield func(topology.Dependency)) (walked, all int, err error) {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return 0, 0, err
	}
	ends := w.ends()
	seen := newHeadNumbers(g.NumPorts(), vcs)
	return sample(ends, budget, func(dst topology.TerminalID) (followed int, err error) {
		seen.reset()
		return w.dependenciesTo(dst, ends, seen, yield)
	})
}

// sample walks to destinations in a random order, the same in every run, until
// budget hops have been followed (0: no limit). It returns how many it walked to,
// of how many.
func sample(ends []topology.TerminalID, budget int, walk func(dst topology.TerminalID) (followed int, err error)) (walked, all int, err error) {
	order := append([]topology.TerminalID(nil), ends...)
	stream := sim.NewStream(0, "dependencies", 0)
	sim.Shuffle(&stream, order)
	total := 0
	for i, dst := range order {
		if budget > 0 && total >= budget {
			return i, len(order), nil
		}
		followed, err := walk(dst)
		if err != nil {
			return i, len(order), err
		}
		total += followed
	}
	return len(order), len(order), nil
}

// dependenciesTo walks the paths of all sources to dst and returns the number
// of hops followed.
func (w *walker) dependenciesTo(dst topology.TerminalID, sources []topology.TerminalID, seen *headNumbers, yield func(topology.Dependency)) (followed int, err error) {
	var pending []fabric.Head
	for _, src := range sources {
		pending = append(pending, w.heads(src, dst)...)
	}
	injected := len(pending)
	for i := 0; i < len(pending) && err == nil; i++ {
		h := pending[i]
		w.e.Explore(w.vcs, h, func(hop fabric.Hop, state uint32, _ float64) { // eachHop, faster
			for set := hop.VCs; err == nil; {
				vc := uint8(bits.TrailingZeros32(set))
				next, arrived, problem := w.follow(h, hop, state, vc)
				if followed++; w.limit > 0 && followed > w.limit {
					err = errEnough
					return
				}
				if err = problem; err != nil || arrived {
					return
				}
				if i >= injected {
					held, _ := w.graph.PeerPort(h.In)
					yield(topology.Dependency{Held: topology.Channel{Port: held, VC: h.VC}, Wanted: topology.Channel{Port: hop.Port, VC: vc}})
				}
				if _, known := seen.of(next); !known {
					pending = append(pending, next)
				}
				if set &= set - 1; set == 0 {
					return
				}
			}
		})
	}
	return followed, err
}

// Ends is the number of destinations that [Dependencies] walks to: terminals, or where r
// ignores these, switches with terminals.
func Ends(g *topology.Graph, r fabric.Routing) int {
	return len((&walker{graph: g, blind: ignoresTerminals(r)}).ends())
}

// samples is the number of destinations by which WalkExceeds judges.
const samples = 4

// WalkExceeds tells whether [Dependencies] would follow more hops than a budget, by its
// first destinations; so it is, without a look, where there are more pairs of ends than
// that. Routings without a walk are said not to. Cost: the budget times the share of those
// destinations at most.
func WalkExceeds(g *topology.Graph, r fabric.Routing, vcs, budget int) bool {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return false
	}
	ends := w.ends()
	each := budget / len(ends)
	if len(ends) > each {
		return true
	}
	seen, total, walked := newHeadNumbers(g.NumPorts(), vcs), 0, 0
	_, _, err = sample(ends, 0, func(dst topology.TerminalID) (int, error) {
		if walked++; walked > samples {
			return 0, errEnough
		}
		seen.reset()
		w.limit = max(1, samples*each-total)
		followed, err := w.dependenciesTo(dst, ends, seen, func(topology.Dependency) {})
		total += followed
		return followed, err
	})
	return (err == nil || err == errEnough) && total > each*min(walked, samples)
}

// errEnough ends a walk that has shown enough.
var errEnough = errors.New("routing: walked far enough")

// EscapeDependencies walks every path that an adaptive routing with escape
// channels can choose, as [Dependencies] does, and yields the extended channel
// dependency graph of its escape channels (Duato, IEEE TPDS 1995): each direct
// dependency, of an escape channel that a packet wants next on the one that it
// is in, and with wormhole each indirect one, where the packet has gone on by
// adaptive channels in between. Without a cycle the routing is free from
// deadlock, provided that from wherever a packet can be there is an escape hop:
// where there is none, an error says so. (Its escape hops then also lead to the
// destination: each is a dependency on the one before, and without a cycle they
// end, which they can only there.)
//
// This is the sufficient half of Duato's condition for the escape channels that
// the routing names; other choices might do where these do not. No escape
// channel is used adaptively, so that cross dependencies are direct or indirect
// ones. Under cut-through flow control a packet that has gone on leaves the
// channel behind it in any case, so that direct dependencies are enough (Duato,
// IEEE TPDS 1996). Wormhole needs the indirect ones, and adaptive channels that
// are given away only when empty, see [fabric.EscapeRouting].
//
// Cost: that of Dependencies; with wormhole, for each destination, the number
// of escape channels times that of the adaptive channels beyond.
func EscapeDependencies(g *topology.Graph, r fabric.EscapeRouting, vcs int, wormhole bool, budget int, yield func(topology.Dependency)) (walked, all int, err error) {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return 0, 0, err
	}
	ends := w.ends()
	x := &escapeWalk{walker: w, escape: r.EscapeVCs(vcs), wormhole: wormhole, known: newHeadNumbers(g.NumPorts(), vcs)}
	return sample(ends, budget, func(dst topology.TerminalID) (int, error) {
		before := x.followed
		err := x.to(dst, ends, yield)
		return x.followed - before, err
	})
}

// escapeWalk follows the packets to one destination after the other.
type escapeWalk struct {
	*walker
	escape   uint32 // virtual channels
	wormhole bool
	followed int // hops, in all searches
	heads    []escapeHead
	injected int // the first heads, which known does not number
	known    *headNumbers
	seen     []int32 // by head: 1 + the start of the search that saw it last
}

// escapeHead is where a packet can be.
type escapeHead struct {
	fabric.Head
	wants    []topology.Channel // escape channels
	adaptive []int32            // heads beyond adaptive channels
}

func (x *escapeWalk) to(dst topology.TerminalID, sources []topology.TerminalID, yield func(topology.Dependency)) error {
	x.heads = x.heads[:0]
	x.known.reset()
	for _, src := range sources {
		for _, h := range x.walker.heads(src, dst) {
			x.heads = append(x.heads, escapeHead{Head: h})
		}
	}
	x.injected = len(x.heads)
	for i := 0; i < len(x.heads); i++ {
		if err := x.expand(i); err != nil {
			return err
		}
	}
	x.seen = append(x.seen[:0], make([]int32, len(x.heads))...)
	for i := x.injected; i < len(x.heads); i++ {
		if h := &x.heads[i]; x.escape>>h.VC&1 != 0 {
			x.depend(int32(i), yield)
		}
	}
	return nil
}

// expand lists what a packet at head i can do.
func (x *escapeWalk) expand(i int) (err error) {
	h := x.heads[i]
	ends := false
	err = x.eachHop(h.Head, func(hop fabric.Hop, next fabric.Head, arrived bool) error {
		x.followed++
		switch {
		case arrived:
			ends = true
		case x.escape>>next.VC&1 != 0:
			x.number(next)
			h.wants = append(h.wants, topology.Channel{Port: hop.Port, VC: next.VC})
		default:
			h.adaptive = append(h.adaptive, x.number(next))
		}
		return nil
	})
	if err == nil && !ends && len(h.wants) == 0 {
		err = fmt.Errorf("the routing has no escape channel for a packet to %s that has come in by %s on virtual channel %d",
			x.graph.TerminalName(h.Dst), x.graph.PortName(h.In), h.VC)
	}
	x.heads[i] = h
	return err
}

// number is the number of a head.
func (x *escapeWalk) number(h fabric.Head) int32 {
	n, known := x.known.of(h)
	if !known {
		x.heads = append(x.heads, escapeHead{Head: h})
	}
	return int32(x.injected) + n
}

// depend yields the dependencies on the escape channel that leads to a head.
func (x *escapeWalk) depend(start int32, yield func(topology.Dependency)) {
	port, _ := x.graph.PeerPort(x.heads[start].In)
	held := topology.Channel{Port: port, VC: x.heads[start].VC}
	reached := []int32{start}
	x.seen[start] = start + 1
	for i := 0; i < len(reached); i++ {
		h := &x.heads[reached[i]]
		for _, wanted := range h.wants {
			yield(topology.Dependency{Held: held, Wanted: wanted})
		}
		if !x.wormhole {
			return
		}
		for _, n := range h.adaptive {
			if x.seen[n] != start+1 {
				x.seen[n] = start + 1
				reached = append(reached, n)
			}
		}
	}
	x.followed += len(reached) - 1
}

// headNumbers numbers the heads that a walk comes to, towards one destination:
// 0, 1, 2, ... in order of discovery. Where packets carry one state only at a
// place, as most do, it is an array by port and virtual channel.
type headNumbers struct {
	vcs   int
	count int32
	walk  uint32     // the slots of others are free
	slots []headSlot // len = ports*vcs
	rest  map[uint64]int32
}

type headSlot struct {
	walk   uint32
	state  uint32
	number int32
}

func newHeadNumbers(ports, vcs int) *headNumbers {
	return &headNumbers{vcs: vcs, walk: 1, slots: make([]headSlot, ports*vcs), rest: map[uint64]int32{}}
}

// reset forgets all heads.
func (n *headNumbers) reset() {
	n.walk++
	if n.walk == 0 {
		clear(n.slots)
		n.walk = 1
	}
	n.count = 0
	if len(n.rest) > 0 {
		clear(n.rest)
	}
}

// of is the number of a head; known tells whether it had one.
func (n *headNumbers) of(h fabric.Head) (number int32, known bool) {
	slot := &n.slots[int(h.In)*n.vcs+int(h.VC)]
	if slot.walk != n.walk {
		*slot = headSlot{n.walk, h.State, n.count}
		n.count++
		return slot.number, false
	}
	if slot.state == h.State {
		return slot.number, true
	}
	key := uint64(h.In)<<32 | uint64(h.VC)<<fabric.StateBits | uint64(h.State)
	number, known = n.rest[key]
	if !known {
		number = n.count
		n.rest[key] = number
		n.count++
	}
	return number, known
}
