package mpi

import (
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
)

// connector decides how messages get from process to process: over a connection made at the start,
// a relay, or a connection made on demand. Making one, between a and b:
//
//   - a creates a QP (in the kernel) and sends a request to b: straight if all connections are on
//     demand (as a datagram), else over the static ones and the relay, which passes it on;
//   - b creates a QP, brings it to ready-to-send and replies the same way;
//   - a brings its QP to ready-to-send; what had to wait leaves.
//
// Both directions are connected then. If both sides ask at the same time, each request serves as the
// reply to the other. With XRC a asks one process of a node for all; the request of another process
// of that node is no reply, and waits for a reply of its own.
type connector struct {
	rt        *runtime
	perNode   bool // one QP reaches all processes of a peer node
	datagrams bool // no connections at all: UD
	dynamic   bool // not all are connected at the start
	links     links
	group     int32            // the size of groups; 0 without them
	waiting   map[uint64]chain // messages in order, by number+1, that wait for a connection, by link
	buffers   int              // receive buffers: of a process, or with RC of a connection
	perPeer   map[uint64]*inbox
	turned    map[uint64][]int32 // messages that found no receive buffer, and those behind them, by receiver and sender
	again     bool               // the first of some comes again
}

func newConnector(rt *runtime, nodes int) connector {
	settings := &rt.Connections
	c := connector{rt: rt, perNode: settings.perNode(), datagrams: settings.Mode == UD, group: int32(min(settings.Group, math.MaxInt32)), waiting: map[uint64]chain{}, turned: map[uint64][]int32{}}
	c.dynamic = !c.datagrams && (settings.OnDemand || settings.Group > 0)
	peers := len(rt.ranks)
	if c.perNode {
		peers = nodes
	}
	c.links = newLinks(len(rt.ranks), peers)
	switch {
	case settings.Mode == RC:
		c.buffers, c.perPeer = settings.Preposted, map[uint64]*inbox{}
	case c.datagrams:
		c.buffers = settings.datagramBuffers()
	default: // the shared receive queue holds one buffer a QP
		perNode := ceilDiv(len(rt.ranks), nodes)
		if rt.Placement.Type != Explicit {
			perNode = rt.Placement.PerNode
		}
		c.buffers = int(settings.QPs(len(rt.ranks), perNode))
	}
	return c
}

// peer is what a process connects to for reaching rank b.
func (c *connector) peer(b int32) int32 {
	if c.perNode {
		return c.rt.nodeOf[b]
	}
	return b
}

// pair names the QPs at both ends of a connection.
func (c *connector) pair(from, to int32) (qp, peer hca.QP) {
	switch {
	case c.datagrams:
		return hca.QP(from), hca.QP(to)
	case c.perNode:
		// The sending QP belongs to the process and leads to a node; there a target QP serves it.
		return hca.QP(from)<<32 | hca.QP(c.rt.nodeOf[to]), 1<<62 | hca.QP(from)
	}
	return hca.QP(from)<<32 | hca.QP(to), hca.QP(to)<<32 | hca.QP(from)
}

// way tells how messages from a reach b: static if on a connection made at the start (with XRC, to
// any process of b's node). If not, and there are groups, relay is the process in between: the
// member of b's group with a's index, to which a is connected, and which is connected to b. If b's
// group has no such member, it is the member of a's group with b's index.
func (c *connector) way(a, b int32) (relay int32, static bool) {
	n := c.group
	if n == 0 {
		return 0, !c.dynamic
	}
	ga, gb := a/n, b/n
	if ga == gb || a-ga*n == b-gb*n {
		return 0, true
	}
	if relay = a + (gb-ga)*n; int(relay) >= len(c.rt.ranks) {
		relay = b + (ga-gb)*n
	}
	return relay, c.perNode && c.rt.nodeOf[relay] == c.rt.nodeOf[b]
}

// proxied tells whether messages from a to b go over a relay for good.
func (c *connector) proxied(a, b int32) bool {
	if !c.rt.Connections.Proxy {
		return false
	}
	_, static := c.way(a, b)
	return !static
}

// route finds the rank to which message id from a to b goes first: b, or a relay. false: it waits
// for a connection, which is asked for if nobody has. Steps of making connections count.
func (c *connector) route(id, a, b int32, now sim.Time) (hop int32, ok bool) {
	relay, static := c.way(a, b)
	if static {
		return b, true
	}
	settings := &c.rt.Connections
	m := c.rt.messages.At(id)
	switch {
	case m.stage >= stageRequest && settings.OnDemand:
		c.rt.stats.Connecting++
		return b, true
	case m.stage >= stageRequest:
		c.rt.stats.Connecting += 2
		return relay, true
	case settings.Proxy:
		return relay, true
	}
	state := c.get(a, b)
	if state == linkReady {
		return b, true
	}
	m.ready = now // before a request, which makes a message and may move this one
	c.wait(id, a, b)
	if state == linkNone {
		c.request(a, b, now)
	}
	return 0, false
}

func (c *connector) get(a, b int32) linkState { return c.links.get(a, c.peer(b)) }

func (c *connector) set(a, b int32, state linkState) { c.links.set(a, c.peer(b), state) }

func (c *connector) link(a, b int32) uint64 { return uint64(a)<<32 | uint64(c.peer(b)) }

// wait keeps a message until a is connected to b.
func (c *connector) wait(id, a, b int32) {
	c.rt.messages.At(id).next = 0
	to := c.waiting[c.link(a, b)]
	if to.head == 0 {
		to.head = id + 1
	} else {
		c.rt.messages.At(to.tail - 1).next = id + 1
	}
	to.tail = id + 1
	c.waiting[c.link(a, b)] = to
}

// released takes out the messages that wait for a's connection to b, linked by next, and returns
// the first, + 1.
func (c *connector) released(a, b int32) int32 {
	first := c.waiting[c.link(a, b)].head
	delete(c.waiting, c.link(a, b))
	return first
}

// kernel spends CPU time of a in the kernel.
func (c *connector) kernel(a int32, now, t sim.Time) sim.Time {
	c.rt.stats.KernelTime += t
	return c.rt.occupy(a, now, t, Connecting, -1)
}

func (c *connector) create(a int32, now sim.Time) sim.Time {
	c.rt.stats.QPs++
	q := &c.rt.ranks[a]
	q.connected++
	c.rt.stats.QPsPeak = max(c.rt.stats.QPsPeak, int64(q.connected))
	return c.kernel(a, now, c.rt.Adapter.QPCreate)
}

func (c *connector) request(a, b int32, now sim.Time) {
	c.set(a, b, linkPending)
	c.rt.stats.Handshakes++
	at := c.rt.occupy(a, c.create(a, now), c.rt.Protocols.SendOverhead, Connecting, -1)
	id := c.rt.allocate()
	m := c.rt.messages.At(id)
	*m = message{from: a, to: b, stage: stageRequest, open: 1, transit: m.transit}
	if c.rt.Timeline != nil {
		*c.rt.transit(m) = transit{departure: departure{number: -1}}
	}
	c.rt.kernel.Schedule(at, c.rt.handler, evPost, a, int64(id))
}

func (c *connector) arrive(id int32, now sim.Time) {
	m := c.rt.messages.At(id)
	a, b := m.from, m.to // a asked
	if m.stage == stageReply {
		at := c.rt.takeIn(a, m, now, c.rt.Protocols.RecvOverhead, Connecting, id)
		c.rt.close(id, m)
		c.establish(a, b, at)
		return
	}
	at := c.rt.takeIn(b, m, now, c.rt.Protocols.RecvOverhead, Connecting, id)
	switch c.get(b, a) {
	case linkPending:
		asked := a // by b for the connection, which is not ready; with XRC the process of a's node that the first waiting message is for
		if c.perNode {
			_, asked = c.rt.messages.At(c.waiting[c.link(b, a)].head - 1).ends()
		}
		if asked == a {
			c.rt.close(id, m)
			c.establish(b, a, at)
			return
		}
	case linkNone:
		at = c.create(b, at)
	}
	at = c.establish(b, a, at)
	m.stage = stageReply
	at = c.rt.occupy(b, at, c.rt.Protocols.SendOverhead, Connecting, id)
	c.rt.kernel.Schedule(at, c.rt.handler, evPost, b, int64(id))
}

// establish brings a's QP to b to ready-to-send, if it is not. It returns the time of that, until which messages wait.
func (c *connector) establish(a, b int32, at sim.Time) sim.Time {
	if c.get(a, b) >= linkReady {
		return at
	}
	at = c.kernel(a, at, c.rt.Adapter.QPModify)
	c.set(a, b, linkMade)
	c.rt.kernel.Schedule(at, c.rt.handler, evReady, a, int64(b))
	return at
}

// ready lets the messages leave that have waited for a's connection to b, in their order.
func (c *connector) ready(a, b int32, now sim.Time) {
	c.set(a, b, linkReady)
	for next := c.released(a, b); next != 0; {
		id := next - 1
		m := c.rt.messages.At(id)
		next = m.next
		c.rt.stats.ConnectWait += now - m.ready
		c.rt.post(id, m, now)
	}
}

// tearDown closes the connections of a made on demand, at time at. Without XRC the other side
// closes its QP too; messages on their way arrive, later ones connect anew. Pending connections
// stay.
func (c *connector) tearDown(a int32, at sim.Time) {
	for b := range c.links.ready(a) {
		c.links.set(a, b, linkNone)
		c.destroy(a, at)
		if !c.perNode && c.links.get(b, a) == linkReady {
			c.links.set(b, a, linkNone)
			c.destroy(b, at)
		}
	}
}

func (c *connector) destroy(a int32, at sim.Time) {
	c.rt.stats.QPsClosed++
	c.rt.ranks[a].connected--
	c.kernel(a, at, c.rt.Adapter.QPDestroy)
}

// inbox has the times until which receive buffers are in use, in ascending order: of all that are,
// and of some that are free again.
type inbox []sim.Time

// fewTimes is the length of an inbox up to which past times stay in it.
const fewTimes = 16

// has tells whether one of so many buffers is not in use at time now.
func (b *inbox) has(buffers int, now sim.Time) bool {
	if len(*b) < min(buffers, fewTimes) {
		return true
	}
	over := 0
	for over < len(*b) && (*b)[over] <= now {
		over++
	}
	*b = slices.Delete(*b, 0, over) // whose memory stays
	return len(*b) < buffers
}

// box is the inbox of the process that a message has come to: one in all, or with RC one a
// connection.
func (c *connector) box(m *message) *inbox {
	if c.perPeer == nil {
		return &c.rt.ranks[m.hop].inbox
	}
	from, _ := m.ends()
	key := uint64(m.hop)<<32 | uint64(from)
	b := c.perPeer[key]
	if b == nil {
		b = &inbox{}
		c.perPeer[key] = b
	}
	return b
}

// turnsAway tells whether a message waits: for a receive buffer, or behind another one on its connection that does.
func (c *connector) turnsAway(id int32, m *message, now sim.Time) bool {
	from, _ := m.ends()
	key := uint64(m.hop)<<32 | uint64(from)
	turned, again := c.turned[key], c.again
	if len(turned) > 0 && !again {
		c.turned[key] = append(turned, id)
		return true
	}
	if m.stage != stageData && !c.takeBuffer(m, now) {
		if c.rt.stats.NotReady++; !again {
			c.turned[key] = append(turned, id)
		}
		c.rt.kernel.After(c.rt.Adapter.RNRDelay, c.rt.handler, evAgain, m.hop, int64(from))
		return true
	}
	if again {
		c.turned[key] = turned[1:]
	}
	return false
}

// comesAgain has a rank take messages of another that found no receive buffer, up to one that finds none again.
func (c *connector) comesAgain(to, from int32) {
	key := uint64(to)<<32 | uint64(from)
	for left := len(c.turned[key]); left > 0; left-- {
		c.again = true
		c.rt.delivered(c.turned[key][0])
		if c.again = false; len(c.turned[key]) == left {
			return
		}
	}
	delete(c.turned, key)
}

// takeBuffer tells whether a receive buffer is posted for a message.
func (c *connector) takeBuffer(m *message, now sim.Time) bool {
	if !c.rt.Protocols.LimitBuffers {
		return true
	}
	posted := c.buffers
	if n := c.rt.Connections.shared(); n > 0 {
		posted = n
	} else if c.perPeer == nil {
		posted = max(c.rt.Connections.SRQLeast, posted+int(c.rt.ranks[m.hop].connected))
	}
	return c.box(m).has(posted, now)
}

// putBuffer notes that the buffer of a message is posted again at time at, not before earlier ones
// of its inbox.
func (c *connector) putBuffer(m *message, at sim.Time) {
	if c.rt.Protocols.LimitBuffers {
		b := c.box(m)
		*b = append(*b, at)
	}
}
