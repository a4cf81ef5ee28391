package routing

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// TerminalBlind is implemented by routings that say whether their decisions before the last switch
// depend on the source and destination terminals only through their switches, and not on the
// injection virtual channel. Walks over all paths then follow one terminal of each switch.
type TerminalBlind interface{ IgnoresTerminals() bool }

// Widener is implemented by routings that choose paths by a hash of the packet's ends, so that each
// pair must be followed by itself, and that know a wider routing without the hash.
type Widener interface {
	// Widened is a routing whose paths include all of this one, split evenly where this one hashes
	// (the mean over all hashes); nil if nothing is hashed.
	Widened() fabric.Routing
}

// Widened is the wider routing of a [Widener], else nil. If it has no dependency cycle, r has none.
func Widened(r fabric.Routing) fabric.Routing {
	if w, ok := r.(Widener); ok {
		return w.Widened()
	}
	return nil
}

// ignoresTerminals tells whether packets to one switch go alike, whatever their terminals.
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
	limit int          // of hops to a destination; 0: none
	seen  *headNumbers // of walk
}

func newWalker(g *topology.Graph, r fabric.Routing, vcs int) (*walker, error) {
	e, ok := r.(fabric.Explorer)
	if !ok {
		return nil, fmt.Errorf("the paths of this routing cannot be listed: %T has no method Explore", r)
	}
	return &walker{graph: g, r: r, e: e, vcs: vcs, blind: ignoresTerminals(r)}, nil
}

// ends lists the terminals that stand for all as sources and destinations.
func (w *walker) ends() []topology.TerminalID {
	if w.blind {
		_, sample := numberLeaves(w.graph)
		return sample
	}
	return topology.Numbers[topology.TerminalID](w.graph.Terminals())
}

// eachHead visits the heads of packets from src to dst at their first switch: one for each
// injection virtual channel, or one alone where the routing ignores the channel.
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

// follow is the head behind hop on virtual channel vc; arrived tells that the hop leads to the
// destination. Decisions that no switch can carry out are errors.
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

type move struct {
	at      int // number of the packet's head
	head    fabric.Head
	hop     fabric.Hop
	next    fabric.Head // behind it
	arrived bool        // at the destination: there is no next
	number  int         // of next
	fresh   bool        // no move before led there
}

// walk visits the moves of packets from the given heads, and of all heads that these lead to, in
// order of discovery, until an error. It returns the heads, the given ones first.
func (w *walker) walk(heads []fabric.Head, visit func(m *move) error) (all []fabric.Head, err error) {
	if w.seen == nil {
		w.seen = newHeadNumbers(w.graph.NumPorts(), w.vcs)
	}
	w.seen.reset()
	first := len(heads)
	m := &move{}
	for ; m.at < len(heads) && err == nil; m.at++ {
		m.head = heads[m.at]
		w.e.Explore(w.vcs, m.head, func(hop fabric.Hop, state uint32, _ float64) {
			m.hop = hop
			for set := hop.VCs; err == nil; {
				if m.next, m.arrived, err = w.follow(m.head, hop, state, uint8(bits.TrailingZeros32(set))); err != nil {
					return
				}
				if !m.arrived {
					number, known := w.seen.of(m.next)
					if m.number, m.fresh = first+int(number), !known; m.fresh {
						heads = append(heads, m.next)
					}
				}
				err = visit(m)
				if set &= set - 1; set == 0 || m.arrived {
					return
				}
			}
		})
	}
	return heads, err
}

func (w *walker) held(h *fabric.Head) topology.Channel {
	port, _ := w.graph.PeerPort(h.In)
	return topology.Channel{Port: port, VC: h.VC}
}

// headsTo are the heads of packets from some terminals to another.
func (w *walker) headsTo(dst topology.TerminalID, sources []topology.TerminalID) (heads []fabric.Head) {
	for _, src := range sources {
		w.eachHead(src, dst, func(h fabric.Head) { heads = append(heads, h) })
	}
	return heads
}

// Dependencies walks every path that routing r can choose on g with vcs virtual channels,
// destination by destination, and yields each dependency between two channels (repeatedly). It
// stops before the next destination once it has followed budget hops (0: no limit); the
// destinations are taken in a random order, the same in every run, so that those done are a fair
// sample. It returns the number of destinations walked and of all; where r ignores terminals, a
// destination stands for all terminals of its switch. Decisions that lead nowhere or to the wrong
// terminal are errors.
func Dependencies(g *topology.Graph, r fabric.Routing, vcs, budget int, yield func(topology.Dependency)) (walked, all int, err error) {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return 0, 0, err
	}
	ends := w.ends()
	return sample(ends, budget, func(dst topology.TerminalID) (followed int, err error) { return w.dependenciesTo(dst, ends, yield) })
}

// sample walks to destinations in a random order, the same in every run, until budget hops have
// been followed (0: no limit). It returns how many destinations were walked, and how many there
// are.
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

// dependenciesTo walks the paths of all sources to dst and returns the number of hops followed.
func (w *walker) dependenciesTo(dst topology.TerminalID, sources []topology.TerminalID, yield func(topology.Dependency)) (followed int, err error) {
	heads := w.headsTo(dst, sources)
	injected := len(heads)
	_, err = w.walk(heads, func(m *move) error {
		if followed++; w.limit > 0 && followed > w.limit {
			return errEnough
		}
		if !m.arrived && m.at >= injected {
			yield(topology.Dependency{Held: w.held(&m.head), Wanted: topology.Channel{Port: m.hop.Port, VC: m.next.VC}})
		}
		return nil
	})
	return followed, err
}

// Ends is the number of destinations that [Dependencies] walks to: terminals, or switches with
// terminals where r ignores terminals.
func Ends(g *topology.Graph, r fabric.Routing) int {
	return len((&walker{graph: g, blind: ignoresTerminals(r)}).ends())
}

// samples is the number of destinations by which WalkExceeds judges.
const samples = 4

// WalkExceeds tells whether [Dependencies] would follow more than budget hops, judged by its first
// destinations, or at once if there are more pairs of ends than budget. It is false for routings
// without a walk. Cost: at most the budget times the share of those destinations.
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
	total, walked := 0, 0
	_, _, err = sample(ends, 0, func(dst topology.TerminalID) (int, error) {
		if walked++; walked > samples {
			return 0, errEnough
		}
		w.limit = max(1, samples*each-total)
		followed, err := w.dependenciesTo(dst, ends, func(topology.Dependency) {})
		total += followed
		return followed, err
	})
	return (err == nil || err == errEnough) && total > each*min(walked, samples)
}

// errEnough ends a walk that has shown enough.
var errEnough = errors.New("routing: walked far enough")

// EscapeDependencies walks every path that an adaptive routing with escape channels can choose, as
// [Dependencies] does, and yields the extended channel dependency graph of its escape channels
// (Duato, IEEE TPDS 1995): each direct dependency, of an escape channel that a packet wants next on
// the one that it is in, and with wormhole each indirect one, where the packet has gone on by
// adaptive channels in between. Without a cycle the routing is free from deadlock, provided that
// from wherever a packet can be there is an escape hop: where there is none, an error says so.
// (Escape hops then lead to the destination: without a cycle they end, and only there can they
// end.)
//
// This is the sufficient half of Duato's condition for the escape channels that the routing names;
// other choices might do where these do not. No escape channel is used adaptively, so that cross
// dependencies are direct or indirect ones. Under cut-through flow control a packet that has gone
// on leaves the channel behind it in any case, so that direct dependencies are enough (Duato, IEEE
// TPDS 1996). Wormhole needs the indirect ones, and adaptive channels that are given away only when
// empty, see [fabric.EscapeRouting].
//
// Cost: as Dependencies; with wormhole, for each destination, the number
// of escape channels times the number of adaptive channels beyond.
func EscapeDependencies(g *topology.Graph, r fabric.EscapeRouting, vcs int, wormhole bool, budget int, yield func(topology.Dependency)) (walked, all int, err error) {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return 0, 0, err
	}
	ends := w.ends()
	x := &escapeWalk{walker: w, escape: r.EscapeVCs(vcs), wormhole: wormhole}
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
	heads    []fabric.Head
	ways     []escapeWays // by head
	found    []int        // by head: 1 + the start of the search that saw it last
}

// escapeWays is where a packet can go on.
type escapeWays struct {
	wants    []topology.Channel // escape channels
	adaptive []int              // heads beyond adaptive channels
	arrives  bool
}

// to yields the dependencies of escape channels of packets from sources to dst.
func (x *escapeWalk) to(dst topology.TerminalID, sources []topology.TerminalID, yield func(topology.Dependency)) (err error) {
	x.heads = x.headsTo(dst, sources)
	injected := len(x.heads)
	x.ways = append(x.ways[:0], make([]escapeWays, injected)...)
	x.heads, err = x.walk(x.heads, func(m *move) error {
		x.followed++
		if m.fresh && !m.arrived {
			x.ways = append(x.ways, escapeWays{})
		}
		switch ways := &x.ways[m.at]; {
		case m.arrived:
			ways.arrives = true
		case x.escape>>m.next.VC&1 != 0:
			ways.wants = append(ways.wants, topology.Channel{Port: m.hop.Port, VC: m.next.VC})
		default:
			ways.adaptive = append(ways.adaptive, m.number)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, h := range x.heads {
		if !x.ways[i].arrives && len(x.ways[i].wants) == 0 {
			return fmt.Errorf("the routing has no escape channel for a packet to %s that has come in by %s on virtual channel %d",
				x.graph.TerminalName(h.Dst), x.graph.PortName(h.In), h.VC)
		}
	}
	x.found = append(x.found[:0], make([]int, len(x.heads))...)
	for i := injected; i < len(x.heads); i++ {
		if x.escape>>x.heads[i].VC&1 != 0 {
			x.depend(i, yield)
		}
	}
	return nil
}

// depend yields the dependencies on the escape channel that leads to a head.
func (x *escapeWalk) depend(start int, yield func(topology.Dependency)) {
	held, reached := x.held(&x.heads[start]), []int{start}
	x.found[start] = start + 1
	for i := 0; i < len(reached); i++ {
		ways := &x.ways[reached[i]]
		for _, wanted := range ways.wants {
			yield(topology.Dependency{Held: held, Wanted: wanted})
		}
		if !x.wormhole {
			return
		}
		for _, n := range ways.adaptive {
			if x.found[n] != start+1 {
				x.found[n] = start + 1
				reached = append(reached, n)
			}
		}
	}
	x.followed += len(reached) - 1
}

// headNumbers numbers the heads of a walk to one destination in order of discovery. It is an array
// where packets have one state only at each port and virtual channel, as most do.
type headNumbers struct {
	vcs   int
	count int32
	walk  uint32     // the slots of others are free
	slots []headSlot // len = ports*vcs
	rest  map[uint64]int32
}

// headSlot has the number of a head at a port and virtual channel.
type headSlot struct {
	walk   uint32
	state  uint32
	number int32
}

func newHeadNumbers(ports, vcs int) *headNumbers {
	return &headNumbers{vcs: vcs, walk: 1, slots: make([]headSlot, ports*vcs), rest: map[uint64]int32{}}
}

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
	return n.number(int(h.In)*n.vcs+int(h.VC), h.State)
}

func (n *headNumbers) number(place int, state uint32) (number int32, known bool) {
	slot := &n.slots[place]
	if slot.walk != n.walk {
		*slot = headSlot{n.walk, state, n.count}
		n.count++
		return slot.number, false
	}
	if slot.state == state {
		return slot.number, true
	}
	key := uint64(place)<<32 | uint64(state)
	number, known = n.rest[key]
	if !known {
		number = n.count
		n.rest[key] = number
		n.count++
	}
	return number, known
}
