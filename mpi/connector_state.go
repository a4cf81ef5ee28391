package mpi

import (
	"maps"
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// connections archives the connections made on demand, the messages that wait for them,
// and the receive buffers of those that have their own.
func (x *archiver) connections() {
	x.Mark("connections")
	pending := 0
	for r := range int32(len(x.all.ranks)) {
		if x.Err() != nil {
			return
		}
		links := &x.all.parts[0].of(r).connect.links
		has := links.table[r] != nil
		if snapshot.Bool(x.Archive, &has); has {
			pending += x.links(links, r)
		}
	}
	x.waitingMessages(pending)
	x.boxes()
}

// links archives the states of a rank's connections and counts those that are being made.
func (x *archiver) links(l *links, r int32) (pending int) {
	if l.table[r] == nil {
		l.make(r)
	}
	a, peers := x.Archive, len(x.all.ranks)
	if x.all.Connections.perNode() {
		peers = len(x.all.partOf)
	}
	for first := int32(0); int(first) < peers; first += 32 {
		states := uint64(*l.of(r, first))
		snapshot.Uint64(a, &states)
		*l.of(r, first) = linkBits(states)
		for i := range int32(32) {
			state := linkState(states >> (2 * i) & 3)
			x.Check(state == linkNone || state <= linkReady && int(first+i) < peers, "a connection of rank %d to peer %d is in state %d", r, first+i, state)
			if state == linkPending {
				pending++
			}
		}
	}
	return pending
}

// waitingMessages archives those that wait for so many connections.
func (x *archiver) waitingMessages(pending int) {
	var all []int32
	if !x.Reading() {
		all = x.waiting()
	}
	snapshot.List(x.Archive, &all, snapshot.Int)
	if !x.Reading() {
		return
	}
	for _, id := range all {
		if !x.see(id, travelling) {
			return
		}
		from, to := x.all.messages.At(id).ends()
		c := &x.all.parts[0].of(from).connect
		if c.get(from, to) != linkPending {
			x.Fail("a message of rank %d waits for a connection to rank %d that is not being made", from, to)
			return
		}
		if !c.waited(from, to) {
			pending--
		}
		c.wait(id, from, to)
	}
	x.Check(pending == 0, "%d connections are being made for no message", pending)
}

// waiting are the messages that wait, those for one connection in their order.
func (x *archiver) waiting() (all []int32) {
	chained := func(c chain) {
		for next := c.head; next != 0; next = x.all.messages.At(next - 1).next {
			all = append(all, next-1)
		}
	}
	for r := range x.all.ranks {
		chained(x.all.ranks[r].waiting.chain)
	}
	for _, rt := range x.parts {
		for _, key := range slices.Sorted(maps.Keys(rt.connect.waiting)) {
			chained(rt.connect.waiting[key])
		}
	}
	return all
}

// waited tells whether a message waits for a's connection to b.
func (c *connector) waited(a, b int32) bool {
	peer := c.peer(b)
	if own := &c.rt.ranks[a].waiting; own.head != 0 && own.peer == peer {
		return true
	}
	_, known := c.waiting[uint64(a)<<32|uint64(peer)]
	return known
}

// box is an inbox of a connection, with its key.
type keyedBox struct {
	key uint64
	rt  *runtime
	box *inbox
}

// boxes archives the receive buffers of connections that have their own.
func (x *archiver) boxes() {
	if x.all.parts[0].connect.perPeer == nil {
		return
	}
	var all []keyedBox
	for _, rt := range x.parts {
		for key, b := range rt.connect.perPeer {
			if b.count > 0 {
				all = append(all, keyedBox{key, rt, b})
			}
		}
	}
	slices.SortFunc(all, func(a, b keyedBox) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	snapshot.List(x.Archive, &all, func(a *snapshot.Archive, k *keyedBox) {
		at, from := int32(k.key>>32), int32(k.key)
		snapshot.Int(a, &at)
		snapshot.Int(a, &from)
		if x.Check(x.isRank(at) && x.isRank(from), "buffers of rank %d for rank %d", at, from); x.Err() != nil {
			return
		}
		if x.Reading() {
			*k = keyedBox{uint64(at)<<32 | uint64(from), x.all.parts[0].of(at), &inbox{}}
			k.rt.connect.perPeer[k.key] = k.box
		}
		x.inbox(k.rt, k.box, x.all.ranks[at].cpu)
	})
}
