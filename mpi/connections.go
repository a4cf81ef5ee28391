package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/param"
)

// The connection modes.
const (
	RC    = "rc"     // reliable connection: a QP and a receive queue per peer process
	RCSRQ = "rc-srq" // the same with one shared receive queue per process
	XRCS  = "xrc-s"  // extended RC: a QP per peer node, receive buffers of one size
	XRCM  = "xrc-m"  // extended RC with shared receive queues of several buffer sizes
	UD    = "ud"     // unreliable datagram: one QP, an address handle per peer node
)

// Connections says how processes are connected and what that costs in memory: Peng, You, Yin,
// Research of Message Scalable Technology over InfiniBand Network (seed paper "connections"),
// sections 1 to 4. As there, completion queues and management structures do not count.
type Connections struct {
	Mode       string    `toml:"mode" doc:"transport service" choices:"rc|rc-srq|xrc-s|xrc-m|ud"`
	Group      int       `toml:"group" doc:"grouped connections: processes in a fully connected group; 0: all processes are one group" unit:"ranks" min:"0"`
	OnDemand   bool      `toml:"on_demand" doc:"connect nothing at the start, every pair at its first message"`
	TearDown   bool      `toml:"tear_down" doc:"a process closes its connections made on demand at the end of every phase of the program"`
	Proxy      bool      `toml:"proxy" doc:"grouped: group members forward messages in place of connections on demand"`
	Buffer     sim.Bytes `toml:"buffer" doc:"size of a receive buffer (s1)" min:"1B"`
	Request    sim.Bytes `toml:"request" doc:"size of a work request (s2)" min:"1B"`
	Preposted  int       `toml:"preposted" doc:"receive buffers per QP without a shared receive queue (n)" unit:"buffers" min:"1"`
	SendDepth  int       `toml:"send_depth" doc:"depth of a send queue (sd)" unit:"requests" min:"1"`
	RecvDepth  int       `toml:"recv_depth" doc:"depth of a receive queue (rd)" unit:"requests" min:"1"`
	Sizes      int       `toml:"sizes" doc:"xrc-m: buffer sizes: s1, s1/2, s1/4, ..., equally many of each" min:"1" max:"16"`
	SRQLeast   int       `toml:"srq_least" doc:"a shared receive queue holds one buffer a QP, but at least so many; the memory formulas count one a QP" unit:"buffers" min:"1"`
	SRQBuffers int       `toml:"srq_buffers" doc:"receive buffers of a process with a shared receive queue, or in mode ud, however many QPs it has; 0: one a QP (srq_least), 1,024 in mode ud" unit:"buffers" min:"0"`
}

// Memory of mode ud: receive buffers of a process, unless srq_buffers says otherwise; bytes of one,
// a packet and its 40-byte routing header; bytes of an address handle. Assumed, as MPI libraries'
// defaults.
const (
	udBuffers = 1024
	udBuffer  = 2048 + 40
	udAddress = 128
)

// DefaultConnections are the paper's numbers (sections 1, 3.2 and 5). It prints 8 kB; tables 1 and
// 2 count 8000 B, section 4.2 8192 B. SRQLeast is assumed, of the order of MPI libraries' defaults.
var DefaultConnections = Connections{
	Mode: RCSRQ, Buffer: 8000, Request: 64, Preposted: 5, SendDepth: 16, RecvDepth: 16, Sizes: 6,
	SRQLeast: 256,
}

// Validate implements the check of the registry.
func (c *Connections) Validate() error {
	var problems []error
	if c.Mode == RC && c.RecvDepth < c.Preposted {
		problems = append(problems, &param.ParamError{Key: "recv_depth", Value: c.RecvDepth, Want: fmt.Sprintf("at least preposted = %d", c.Preposted)})
	}
	if c.Mode == UD && (c.Group > 0 || c.OnDemand || c.Proxy) {
		problems = append(problems, &param.ParamError{Key: "mode", Value: c.Mode, Want: "a connected mode with group, on_demand or proxy"})
	}
	if c.Proxy && c.Group == 0 {
		problems = append(problems, &param.ParamError{Key: "proxy", Value: c.Proxy, Want: "group > 0 with it"})
	}
	if c.Group > 0 && c.OnDemand {
		problems = append(problems, &param.ParamError{Key: "on_demand", Value: c.OnDemand, Want: "false with group > 0, which connects on demand between groups"})
	}
	return errors.Join(problems...)
}

// perNode tells whether one QP reaches all processes of a peer node.
func (c *Connections) perNode() bool { return c.Mode == XRCS || c.Mode == XRCM }

// Footprint is what connections take.
type Footprint struct {
	Static, OnDemand int64 // QPs of a process, made at the start and on demand
	// Process and Node are the bytes of queues and pre-posted buffers; ProcessStatic omits QPs made
	// on demand, as table 2 of the paper.
	Process, ProcessStatic, Node float64
	// NodeQPs are the QPs of a node's processes, with those by which XRC receives: on average as
	// many as it sends by.
	NodeQPs int64
}

// QPs is the number of QPs with which a process of a job begins: ranks processes, perNode on a
// node; with groups of different sizes, of a process in a full group.
func (c *Connections) QPs(ranks, perNode int) int64 {
	if c.Mode == UD {
		return 1
	}
	if c.OnDemand {
		return 0
	}
	group := ranks
	others := 0 // one to the rank of the same index in each other group
	if c.Group > 0 && c.Group < ranks {
		group = c.Group
		others = ceilDiv(ranks, group) - 1
	}
	if c.perNode() {
		return int64(ceilDiv(group, perNode) + others)
	}
	return int64(group - 1 + others)
}

// Footprint is the memory of a process and a node of a job, with onDemand QPs made on demand each.
func (c *Connections) Footprint(ranks, perNode int, onDemand int64) Footprint {
	f := Footprint{Static: c.QPs(ranks, perNode), OnDemand: onDemand}
	f.NodeQPs = (f.Static + onDemand) * int64(min(perNode, ranks))
	if c.perNode() {
		f.NodeQPs *= 2
	}
	if c.Mode == UD {
		f.Process = float64(c.datagramBuffers())*float64(udBuffer+c.Request) + float64(c.SendDepth)*float64(c.Request) +
			float64(ceilDiv(ranks, perNode))*udAddress
		f.ProcessStatic = f.Process
	} else {
		shared := float64(c.shared()) * (c.bufferSize() + float64(c.Request))
		f.ProcessStatic = shared + c.perQP()*float64(f.Static)
		f.Process = shared + c.perQP()*float64(f.Static+onDemand)
	}
	f.Node = f.Process * float64(min(perNode, ranks))
	return f
}

// perQP is the memory of a QP and of the receive buffers posted on its account.
func (c *Connections) perQP() float64 {
	request, send := float64(c.Request), float64(c.SendDepth)*float64(c.Request)
	switch {
	case c.Mode == RC:
		return float64(c.Preposted)*float64(c.Buffer) + send + float64(c.RecvDepth)*request
	case c.shared() > 0:
		return send
	}
	return c.bufferSize() + send + request
}

// bufferSize is the mean size of a receive buffer.
func (c *Connections) bufferSize() float64 {
	if c.Mode != XRCM {
		return float64(c.Buffer)
	}
	sum := 0.0
	for i := range c.Sizes {
		sum += float64(c.Buffer) / float64(int(1)<<i)
	}
	return sum / float64(c.Sizes)
}

// shared is the number of receive buffers of a shared receive queue of fixed size, 0 of others.
func (c *Connections) shared() int {
	if c.Mode == RC {
		return 0
	}
	return c.SRQBuffers
}

// datagramBuffers are the receive buffers of a process in mode ud.
func (c *Connections) datagramBuffers() int { return cmp.Or(c.SRQBuffers, udBuffers) }

// ceilDiv is a/b rounded up, without overflow.
func ceilDiv(a, b int) int { return a/b + min(1, a%b) }

// linkState is the state of a connection on demand, on one side.
type linkState uint8

const (
	linkNone linkState = iota
	linkPending
	linkReady
	linkMade // asked for and answered; ready when the kernel is through
)

// links holds the states of all connections on demand: for each rank a table of its peers, 2 bits
// each, made with its first connection, in slabs of a few MiB.
type links struct {
	words int        // of a table
	table [][]uint64 // of each rank, with the states of 32 peers in a word; nil: none
	slab  []uint64   // what is left of the last one
}

func newLinks(ranks, peers int) links {
	return links{words: (peers + 31) / 32, table: make([][]uint64, ranks)}
}

func (l *links) get(a, peer int32) linkState {
	if l.table[a] == nil {
		return linkNone
	}
	return linkState(l.table[a][peer>>5] >> (peer & 31 * 2) & 3)
}

func (l *links) set(a, peer int32, state linkState) {
	if l.table[a] == nil {
		l.make(a)
	}
	w := &l.table[a][peer>>5]
	*w = *w&^(3<<(peer&31*2)) | uint64(state)<<(peer&31*2)
}

func (l *links) make(a int32) {
	if len(l.slab) < l.words {
		const slab = 4 << 20 // bytes
		tables := min(max(1, slab/8/l.words), len(l.table))
		l.slab = mem.HugePages(make([]uint64, tables*l.words))
	}
	l.table[a], l.slab = l.slab[:l.words:l.words], l.slab[l.words:]
}

// ready visits the peers in ascending order to which a's links are ready.
func (l *links) ready(a int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for word, left := range l.table[a] {
			first := int32(word) * 32
			for left != 0 {
				i := int32(bits.TrailingZeros64(left)) / 2
				state := linkState(left >> (2 * i) & 3)
				left &^= 3 << (2 * i)
				if state == linkReady && !yield(first+i) {
					return
				}
			}
		}
	}
}
