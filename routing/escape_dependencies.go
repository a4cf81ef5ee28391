package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

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
