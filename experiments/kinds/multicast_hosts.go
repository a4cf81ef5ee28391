package kinds

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// hostTable is the [host] table: what lies between a process and the network.
type hostTable struct {
	SendOverhead    sim.Time  `toml:"send_overhead" doc:"from the post of a work request until the adapter begins to read the message" min:"0ns"`
	ReceiveOverhead sim.Time  `toml:"receive_overhead" doc:"from the last byte in memory until the process has the completion" min:"0ns"`
	DMARate         sim.Rate  `toml:"dma_rate" doc:"rate at which the adapter moves data: a packet is read whole before it is sent; one that arrives is written while it comes in" min:"1kb/s"`
	MTU             sim.Bytes `toml:"mtu" doc:"payload of a full packet; longer messages are cut" min:"1B"`
}

// hosts are the adapters on the terminals of a fabric: they read messages, send
// them as packets, take packets in, and drop those of groups that nobody behind
// them has joined. Sending and receiving are engines of their own, each one
// packet at a time. Bytes travel in whole flits; headers are not modelled: rates
// are those left to the payload.
type hosts struct {
	hostTable
	fabric     *core.Fabric
	clock      sim.Time
	flit       int64      // bytes
	incoming   []sim.Time // by terminal: time of a flit on its channel
	nodes      []host
	background *measure.OpenLoop // unicast packets beside the messages; may be nil
	carrier    carrier
	sinks      []*hostSink // by domain of the fabric
	before     hostTally   // of the state that it goes on from
}

// host is the adapter of a terminal.
type host struct {
	reading sim.Time // until then
	writing sim.Time // likewise
	packets []hostPacket
	head    int
}

type hostPacket struct {
	posted int64 // cycle from which the terminal knows of it; not later than its birth
	spec   fabric.PacketSpec
}

// hostPacketBytes is the least that a packet takes while its message is sent.
const hostPacketBytes = 48

// arrival is a packet of a message that a member of its group has taken.
type arrival struct {
	message, member int32
	done            sim.Time // the process has it
}

// hostSink takes in what arrives at the terminals of a domain, on its thread.
type hostSink struct {
	*hosts
	arrivals []arrival // that the carrier has not been told of
	tally    hostTally
}

// hostTally counts packets that have arrived.
type hostTally struct {
	taken, redundant int64 // of messages: by members, and by terminals outside of the group
	unicast, latency int64 // of the background, with the sum of their latencies in cycles
}

// backgroundTag marks the background's packets; messages are numbered below.
const backgroundTag = 0

func newHosts(c hostTable, f *core.Fabric, flit sim.Bytes, timings []fabric.ChannelTiming) *hosts {
	g := f.Graph()
	h := &hosts{hostTable: c, fabric: f, clock: f.Clock(), flit: int64(flit), nodes: make([]host, g.Terminals())}
	h.incoming = make([]sim.Time, g.Terminals())
	for t := range h.incoming {
		h.incoming[t] = sim.Time(timings[g.PortClass[g.TerminalPort[t]]].CyclesPerFlit * float64(h.clock))
	}
	return h
}

// packetsOf is the number of packets of a message.
func (c *hostTable) packetsOf(bytes int64) int {
	return int(max(1, (bytes+int64(c.MTU)-1)/int64(c.MTU)))
}

// send posts a message at time now and returns when its last byte has been read.
// to says where it goes; number comes back with its packets.
func (h *hosts) send(now sim.Time, src topology.TerminalID, to fabric.PacketSpec, bytes int64, number int32) (read sim.Time) {
	n := &h.nodes[src]
	if n.head == len(n.packets) {
		n.packets, n.head = n.packets[:0], 0
	}
	first, posted := len(n.packets), int64((now+h.clock-1)/h.clock)
	n.reading = max(n.reading, now+h.SendOverhead)
	for left := bytes; ; left -= int64(h.MTU) {
		size := min(left, int64(h.MTU))
		n.reading += sim.Time(h.DMARate.PicosecondsFor(sim.Bytes(size)))
		to.Birth = int64((n.reading + h.clock - 1) / h.clock)
		to.Flits = h.flitsOf(size)
		to.Tag = uint64(number+1)<<32 | uint64(size)
		n.packets = append(n.packets, hostPacket{posted, to})
		if left <= int64(h.MTU) {
			break
		}
	}
	h.fabric.WakeAt(src, n.packets[first].spec.Birth)
	return n.reading
}

// flitsOf is the length of a packet with so many bytes.
func (h *hosts) flitsOf(bytes int64) int32 { return int32(max(1, (bytes+h.flit-1)/h.flit)) }

// leastDelay is the shortest time from a packet's arrival until another that it gives rise
// to is born.
func (h *hosts) leastDelay() sim.Time { return h.ReceiveOverhead + h.SendOverhead }

// Next implements fabric.Source: messages first. A message may have been posted ahead of
// the terminal's time: it is not sent, in place of the background, before it is known.
func (h *hosts) Next(t topology.TerminalID, until int64, spec *fabric.PacketSpec) bool {
	n := &h.nodes[t]
	next := fabric.PacketSpec{Birth: fabric.Never}
	if n.head < len(n.packets) {
		next = n.packets[n.head].spec
		if next.Birth <= until && n.packets[n.head].posted <= h.fabric.Present(t) {
			n.head++
			*spec = next
			return true
		}
	}
	if h.background != nil {
		ok := h.background.Next(t, until, spec)
		if ok || spec.Birth < next.Birth {
			return ok
		}
	}
	*spec = next
	return false
}

// Part implements fabric.PartedSink: what hears of arrivals in a domain.
func (h *hosts) Part() fabric.Sink {
	h.sinks = append(h.sinks, &hostSink{hosts: h})
	return h.sinks[len(h.sinks)-1]
}

// Deliver implements fabric.Sink for a fabric in one part.
func (h *hosts) Deliver(d *fabric.Delivery) { h.sinks[0].Deliver(d) }

// tally sums up what has arrived.
func (h *hosts) tally() hostTally {
	all := h.before
	for _, s := range h.sinks {
		all.taken += s.tally.taken
		all.redundant += s.tally.redundant
		all.unicast += s.tally.unicast
		all.latency += s.tally.latency
	}
	return all
}

// take tells the carrier what has arrived since it was last called, while no domain is
// simulated.
func (h *hosts) take() {
	for _, s := range h.sinks {
		for _, a := range s.arrivals {
			h.carrier.arrived(a)
		}
		s.arrivals = s.arrivals[:0]
	}
}

// Deliver implements fabric.Sink.
func (h *hostSink) Deliver(d *fabric.Delivery) {
	if d.Tag>>32 == backgroundTag {
		h.tally.unicast++
		h.tally.latency += d.Cycle - d.Birth
		return
	}
	message, bytes := int32(d.Tag>>32)-1, int64(uint32(d.Tag))
	member, takes := h.carrier.member(message, d.Dst)
	if !takes {
		h.tally.redundant++
		return
	}
	n := &h.nodes[d.Dst]
	now := sim.Time(d.Cycle) * h.clock
	begun := now - sim.Time(d.Flits-1)*h.incoming[d.Dst]
	n.writing = max(now, max(n.writing, begun)+sim.Time(h.DMARate.PicosecondsFor(sim.Bytes(bytes))))
	h.tally.taken++
	h.arrivals = append(h.arrivals, arrival{message, int32(member), n.writing + h.ReceiveOverhead})
}
