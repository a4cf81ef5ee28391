package mpi

import (
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
)

// connector decides how messages get from process to process: over a
// connection made at the start, over a relay, or over a connection made on
// demand. Making one, between a and b:
//
//   - a creates a QP (in the kernel) and sends a request to b over the static
//     connections: straight if all connections are on demand (as a datagram),
//     else over the relay, which passes it on;
//   - b creates a QP, brings it to ready-to-send and replies the same way;
//   - a brings its QP to ready-to-send; what had to wait leaves.
//
// Both directions are connected then. If both sides ask at the same time, each
// request serves as the reply to the other. With XRC, where a asks one process of
// a node for all, the request of another one of them does not: it is waiting for
// a reply of its own.
type connector struct {
	rt      *runtime
	peers   int          // a process can be connected to: ranks, or nodes with XRC
	state   [][]linkBits // per rank, allocated with its first connection on demand
	waiting map[uint64][]int32
	asked   map[uint64]int32 // with XRC: whom, where a request has no reply yet
	links   []int32          // QPs made on demand that are open, per rank
	buffers int              // receive buffers: of a process, or with RC of a connection
	perPeer map[uint64]*inbox
	earlier []times // of inboxes
}

// linkBits packs the states of 32 peers.
type linkBits uint64

// The states of a connection on demand.
const (
	linkNone    = 0
	linkPending = 1
	linkReady   = 2
)

func newConnector(rt *runtime, nodes int) connector {
	c := connector{rt: rt, peers: len(rt.ranks), waiting: map[uint64][]int32{}}
	settings := &rt.Connections
	if settings.perNode() {
		c.peers, c.asked = nodes, map[uint64]int32{}
	}
	c.state = make([][]linkBits, len(rt.ranks))
	c.links = make([]int32, len(rt.ranks))
	switch {
	case settings.Mode == RC:
		c.buffers, c.perPeer = settings.Preposted, map[uint64]*inbox{}
	case settings.Mode == UD:
		c.buffers = settings.UDBuffers
	default: // the shared receive queue holds one buffer a QP
		c.buffers = int(settings.QPs(len(rt.ranks), max(1, len(rt.ranks)/nodes)))
	}
	return c
}

// peer is what a process connects to for reaching rank b.
func (c *connector) peer(b int32) int32 {
	if c.rt.Connections.perNode() {
		return c.rt.nodeOf[b]
	}
	return b
}

// pair names the QPs at both ends of a connection.
func (c *connector) pair(from, to int32) (qp, peer hca.QP) {
	switch {
	case c.rt.Connections.Mode == UD:
		return hca.QP(from), hca.QP(to)
	case c.rt.Connections.perNode():
		// The sending QP belongs to the process and leads to a node; there a
		// target QP serves it.
		return hca.QP(from)<<32 | hca.QP(c.rt.nodeOf[to]), 1<<62 | hca.QP(from)
	}
	return hca.QP(from)<<32 | hca.QP(to), hca.QP(to)<<32 | hca.QP(from)
}

// static tells whether messages from a reach b on a connection made at the
// start. With XRC a connection to any process of b's node will do.
func (c *connector) static(a, b int32) bool {
	settings := &c.rt.Connections
	if settings.Connected(a, b) {
		return true
	}
	if settings.Group == 0 || !settings.perNode() {
		return false
	}
	return c.rt.nodeOf[settings.Relay(a, b, len(c.rt.ranks))] == c.rt.nodeOf[b]
}

// proxied tells whether messages from a to b go over a relay for good.
func (c *connector) proxied(a, b int32) bool { return c.rt.Connections.Proxy && !c.static(a, b) }

// route returns the rank to which a message from a to b goes first; false if it
// has to wait for a connection.
func (c *connector) route(id, a, b int32, now sim.Time) (hop int32, ok bool) {
	m := &c.rt.messages[id]
	if c.static(a, b) {
		return b, true
	}
	settings := &c.rt.Connections
	switch {
	case m.stage >= stageRequest && settings.OnDemand:
		c.rt.stats.Connecting++
		return b, true
	case m.stage >= stageRequest:
		c.rt.stats.Connecting += 2
		return settings.Relay(a, b, len(c.rt.ranks)), true
	case settings.Proxy:
		return settings.Relay(a, b, len(c.rt.ranks)), true
	}
	m.ready = now // before a request, which makes a message and may move this one
	switch c.get(a, b) {
	case linkReady:
		return b, true
	case linkNone:
		c.request(a, b, now)
	}
	key := c.key(a, b)
	c.waiting[key] = append(c.waiting[key], id)
	return 0, false
}

func (c *connector) key(a, b int32) uint64 { return uint64(a)<<32 | uint64(c.peer(b)) }

func (c *connector) get(a, b int32) int {
	if c.state[a] == nil {
		return linkNone
	}
	p := c.peer(b)
	return int(c.state[a][p/32] >> (p % 32 * 2) & 3)
}

func (c *connector) set(a, b int32, state int) {
	if c.state[a] == nil {
		c.state[a] = make([]linkBits, (c.peers+31)/32)
	}
	p := c.peer(b)
	bits := &c.state[a][p/32]
	*bits = *bits&^(3<<(p%32*2)) | linkBits(state)<<(p%32*2)
}

// kernel spends CPU time of a in the kernel.
func (c *connector) kernel(a int32, now, t sim.Time) sim.Time {
	c.rt.stats.KernelTime += t
	return c.rt.occupy(a, now, t)
}

// create makes a QP of a for a connection on demand.
func (c *connector) create(a int32, now sim.Time) sim.Time {
	c.rt.stats.QPs++
	c.links[a]++
	c.rt.stats.QPsPeak = max(c.rt.stats.QPsPeak, int64(c.links[a]))
	return c.kernel(a, now, c.rt.Adapter.QPCreate)
}

// request begins to connect a with b.
func (c *connector) request(a, b int32, now sim.Time) {
	c.set(a, b, linkPending)
	c.rt.stats.Handshakes++
	if c.asked != nil {
		c.asked[c.key(a, b)] = b
	}
	at := c.rt.occupy(a, c.create(a, now), c.rt.Protocols.SendOverhead)
	id := c.rt.allocate()
	c.rt.messages[id] = message{from: a, to: b, stage: stageRequest, open: 1}
	c.rt.kernel.Schedule(at, c.rt.handler, evPost, a, messageAndPeer(id, b))
}

// arrive takes in a request or a reply.
func (c *connector) arrive(id int32, now sim.Time) {
	m := &c.rt.messages[id]
	a, b := m.from, m.to // a asked
	if m.stage == stageReply {
		at := c.rt.takeIn(a, m, now, c.rt.Protocols.RecvOverhead)
		c.rt.close(id)
		c.establish(a, b, at)
		return
	}
	at := c.rt.takeIn(b, m, now, c.rt.Protocols.RecvOverhead)
	switch c.get(b, a) {
	case linkPending:
		if c.asked == nil || c.asked[c.key(b, a)] == a {
			c.rt.close(id)
			c.establish(b, a, at)
			return
		}
	case linkNone:
		at = c.create(b, at)
	}
	at = c.establish(b, a, at)
	m.stage = stageReply
	at = c.rt.occupy(b, at, c.rt.Protocols.SendOverhead)
	c.rt.kernel.Schedule(at, c.rt.handler, evPost, b, messageAndPeer(id, a))
}

// establish brings a's QP to b to ready-to-send, if it is not, and lets the
// messages leave that wait for it. It returns the time when that is done.
func (c *connector) establish(a, b int32, at sim.Time) sim.Time {
	if c.get(a, b) == linkReady {
		return at
	}
	at = c.kernel(a, at, c.rt.Adapter.QPModify)
	c.set(a, b, linkReady)
	key := c.key(a, b)
	for _, id := range c.waiting[key] {
		c.rt.stats.ConnectWait += at - c.rt.messages[id].ready
		c.rt.kernel.Schedule(at, c.rt.handler, evPost, a, messageAndPeer(id, b))
	}
	delete(c.waiting, key)
	delete(c.asked, key)
	return at
}

// tearDown closes the connections of a that were made on demand, at time at.
// Without XRC the other side closes its QP too; messages that are on their way
// arrive, later ones connect anew. Pending connections are left alone.
func (c *connector) tearDown(a int32, at sim.Time) {
	for word, bits := range c.state[a] {
		for i := int32(0); bits>>(2*i) != 0; i++ {
			if bits>>(2*i)&3 != linkReady {
				continue
			}
			c.state[a][word] &^= 3 << (2 * i)
			c.destroy(a, at)
			if b := int32(word)*32 + i; !c.rt.Connections.perNode() && c.get(b, a) == linkReady {
				c.set(b, a, linkNone)
				c.destroy(b, at)
			}
		}
	}
}

// destroy closes a QP of a.
func (c *connector) destroy(a int32, at sim.Time) {
	c.rt.stats.QPsClosed++
	c.links[a]--
	c.kernel(a, at, c.rt.Adapter.QPDestroy)
}

// inbox remembers until when the receive buffers that are in use are. It holds
// the last of these times; earlier ones, of which there are none where messages
// come one by one, are in a queue of the connector's.
type inbox struct {
	last    sim.Time
	count   int32 // of buffers in use, some of which may be known to be free again by now
	earlier int32 // in connector.earlier, + 1; 0: none
}

// times is a queue of ascending times.
type times struct {
	until []sim.Time
	head  int32 // those before it are out
}

// has tells whether one of so many buffers is not in use at time now. It looks
// at single times only where their number alone does not answer that.
func (c *connector) has(b *inbox, buffers int, now sim.Time) bool {
	if b.last <= now {
		if b.count > 1 {
			q := &c.earlier[b.earlier-1]
			q.until, q.head = q.until[:0], 0
		}
		b.count = 0
		return buffers > 0
	}
	if int(b.count) < buffers {
		return true
	}
	if b.count > 1 {
		q := &c.earlier[b.earlier-1]
		for b.count > 1 && q.until[q.head] <= now {
			q.head++
			b.count--
		}
		if b.count == 1 {
			q.until, q.head = q.until[:0], 0
		}
	}
	return int(b.count) < buffers
}

// use takes a buffer until a time, which is not before those given earlier.
func (c *connector) use(b *inbox, until sim.Time) {
	if b.count > 0 {
		if b.earlier == 0 {
			c.earlier = append(c.earlier, times{})
			b.earlier = int32(len(c.earlier))
		}
		q := &c.earlier[b.earlier-1]
		q.until = append(q.until, b.last)
	}
	b.last = until
	b.count++
}

// box is the inbox of the process that a message has come to: its own, or with
// RC one for each connection.
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

// takeBuffer tells whether a receive buffer is posted for a message.
func (c *connector) takeBuffer(m *message, now sim.Time) bool {
	if !c.rt.Protocols.LimitBuffers {
		return true
	}
	posted := c.buffers
	if c.perPeer == nil {
		posted = max(c.rt.Connections.SRQLeast, posted+int(c.links[m.hop]))
	}
	return c.has(c.box(m), posted, now)
}

// putBuffer notes that the buffer of a message is posted again at time at.
func (c *connector) putBuffer(m *message, at sim.Time) {
	if c.rt.Protocols.LimitBuffers {
		c.use(c.box(m), at)
	}
}
