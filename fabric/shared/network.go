package shared

import (
	"errors"
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// EndPoints are all terminals.
type EndPoints interface {
	// Next gives the packet that a terminal sends next, as its link is free; -1: none. Such a
	// terminal is asked again after [Network.Wake].
	Next(t topology.TerminalID) int32
	// Arrived takes a packet that has arrived whole; it is released afterwards.
	Arrived(t topology.TerminalID, p *Packet)
}

// Network is a network in simulation, driven by a kernel.
type Network struct {
	kernel  *sim.Kernel
	id      sim.HandlerID
	ends    EndPoints
	graph   *topology.Graph
	config  Config
	timing  Timing
	packets packets
	out     []output // by port, then by terminal
	held    []int64  // by input port: bytes in its switch; nil without pause
	pausing []bool   // likewise: the sender has been told to pause
	routes  *routes
	salts   []uint64     // by switch
	streams []sim.Stream // by switch

	dividers map[sim.Rate]*sim.Divider

	paths      uint8
	pauses     bool
	mixed      bool // control and data in one queue
	trims      bool
	candidates []int32
}

const (
	byHash = iota
	adaptive
	roundRobin
)

// What an output sends, if it is no packet.
const (
	idle  = -1
	asked = -2 // a terminal that is being asked for its next packet
)

// Kinds of events.
const (
	left    = iota // target: output
	arrived        // target: input port, or ^terminal; arg: packet
	paused         // target: output; arg: 1 stop, 0 go on
)

// New builds a network. Settings that are 0 follow the round-trip time of timing, from end to end
// of an empty network. Errors name settings.
func New(kernel *sim.Kernel, g *topology.Graph, config Config, timing Timing, ends EndPoints, seed uint64) (*Network, error) {
	n := &Network{
		kernel: kernel, ends: ends, graph: g, config: config, timing: timing, packets: packets{free: -1},
		out: make([]output, g.NumPorts()+g.Terminals()), pauses: config.Full == "pause", trims: config.Full == "trim", mixed: config.Control == "with-data",
		dividers: map[sim.Rate]*sim.Divider{}, streams: make([]sim.Stream, g.Switches()), salts: make([]uint64, g.Switches()),
	}
	n.id = kernel.Register(n)
	n.paths = map[string]uint8{"adaptive": adaptive, "round-robin": roundRobin}[config.Paths]
	if n.paths == adaptive && n.pauses && config.Queue == 0 {
		return nil, errors.New(`switch.paths = "adaptive" goes by shares of switch.queue, which is 0B with switch.full = "pause"`)
	}
	var err error
	if n.routes, err = newRoutes(g, seed); err != nil {
		return nil, err
	}
	for s := range n.streams {
		n.streams[s] = sim.NewStream(seed, "paths", s)
		n.salts[s] = n.streams[s].Uint64()
	}
	for p := range n.out {
		n.connect(p, seed)
	}
	slow, err := Degraded(g, timing.tree, config.Degraded)
	if err != nil {
		return nil, err
	}
	for _, p := range slow {
		n.slow(int32(p))
	}
	if n.pauses {
		n.held, n.pausing = make([]int64, g.NumPorts()), make([]bool, g.NumPorts())
	}
	return n, nil
}

// connect sets up an output.
func (n *Network) connect(p int, seed uint64) {
	g, o := n.graph, &n.out[p]
	o.sending, o.stream = idle, sim.NewStream(seed, "queue", p)
	o.from, o.full, o.limit = n.timing.MarkFrom, n.timing.MarkTo, n.timing.Queue
	o.controlLimit = 2 * n.timing.Queue
	o.marks = n.timing.MarkTo < math.MaxInt64
	if n.pauses || n.mixed {
		o.controlLimit = math.MaxInt64
	}
	port := topology.PortID(p)
	if p >= g.NumPorts() { // of a terminal
		t := topology.TerminalID(p - g.NumPorts())
		port = g.TerminalPort[t]
		o.to = int32(port)
		o.limit, o.controlLimit, o.marks = math.MaxInt64, math.MaxInt64, false
		o.latency = n.timing.flight(g.PortClass[port]) + n.timing.delay(g.PortSwitch[port])
	} else if t, ok := g.PeerTerminal(port); ok {
		o.terminal, o.to = true, ^int32(t)
		o.marks = o.marks && !n.timing.HostsUnmarked
		o.latency = n.timing.flight(g.PortClass[port])
	} else {
		peer, _ := g.PeerPort(port)
		o.to = int32(peer)
		o.latency = n.timing.flight(g.PortClass[port]) + n.timing.delay(g.PortSwitch[peer])
	}
	o.flight = n.timing.flight(g.PortClass[port])
	n.run(o, n.timing.rate(g.PortClass[port]))
}

// run has an output send at a rate. Outputs of one rate share a divider.
func (n *Network) run(o *output, rate sim.Rate) {
	d := n.dividers[rate]
	if d == nil {
		one := sim.NewDivider(rate)
		d = &one
		n.dividers[rate] = d
	}
	o.rate, o.divider = rate, d
}

// Degraded lists the ports of the cables that so many degraded switches slow down; tree is nil where the
// network has no levels. The error is a *param.ParamError.
func Degraded(g *topology.Graph, tree topology.Tree, switches int) (slow []topology.PortID, err error) {
	if switches == 0 {
		return nil, nil
	}
	refuse := func(format string, args ...any) error {
		return &param.ParamError{Key: "switch.degraded", Value: switches, Want: fmt.Sprintf(format, args...)}
	}
	if tree == nil || tree.Levels() < 2 {
		return nil, refuse("0, or a topology of two levels or more")
	}
	levels := tree.Levels()
	top, below := 0, topology.SwitchID(-1)
	for s := range topology.SwitchID(g.Switches()) {
		switch level := tree.LevelOf(s); {
		case level == levels-2 && below < 0:
			below = s // the first of the first pod
		case level == levels-1:
			reaches := levels == 2
			for _, next := range g.Links(s) {
				reaches = reaches || next == below
			}
			if !reaches || top == switches {
				continue
			}
			top++
			for p, next := range g.Links(s) {
				switch {
				case levels == 2:
					slow = append(slow, p, topology.PortID(g.Peer[p]))
				case next == below:
					slow = append(slow, p)
				}
			}
		}
	}
	if top < switches {
		return nil, refuse("at most %d, the switches of the highest level that lead to the first pod", top)
	}
	return slow, nil
}

// slow gives a port its share of everything, a quarter.
func (n *Network) slow(p int32) {
	const share = 0.25
	o := &n.out[p]
	n.run(o, max(1, sim.Rate(math.Round(float64(o.rate)*share))))
	for _, b := range []*int64{&o.limit, &o.controlLimit, &o.from, &o.full} {
		if *b < math.MaxInt64 {
			*b = int64(float64(*b) * share)
		}
	}
}

// Take makes a packet for [EndPoints].Next to give.
func (n *Network) Take() (int32, *Packet) { return n.packets.take() }

// InFlight is the number of packets that have been taken and not released.
func (n *Network) InFlight() int { return n.packets.inUse }

// Wake has a terminal send, which may have said that it has nothing.
func (n *Network) Wake(t topology.TerminalID) {
	p := int32(n.graph.NumPorts()) + int32(t)
	n.start(p, &n.out[p])
}

// Counters returns the counters of output p up to the present: a port, or terminal t at ports + t.
// A pause that lasts counts as far as it has come.
func (n *Network) Counters(p int) Counters {
	o := &n.out[p]
	c := o.Counters
	if o.paused {
		c.PausedFor += int64(n.kernel.Now()) - c.pausedAt
	}
	return c
}

// Rate is the rate of an output, of a port or terminal, numbered as for Counters.
func (n *Network) Rate(p int) sim.Rate { return n.out[p].rate }

// Waiting is the number of bytes in an output, those in service among them.
func (n *Network) Waiting(p int) int64 { return n.out[p].data.bytes + n.out[p].control.bytes }

// Handle implements [sim.Handler].
func (n *Network) Handle(k *sim.Kernel, e sim.Event) {
	switch e.Kind {
	case left:
		n.left(e.Target)
	case arrived:
		n.arrived(e.Target, int32(e.Arg))
	case paused:
		n.pause(e.Target, e.Arg != 0)
	}
}

// begin has an output send what is next, if anything waits.
func (n *Network) begin(at int32, o *output) {
	var id int32
	switch {
	case int(at) >= n.graph.NumPorts():
		o.sending = asked // it may be woken meanwhile
		if id = n.ends.Next(topology.TerminalID(int(at) - n.graph.NumPorts())); id < 0 {
			o.sending = idle
			return
		}
		p := n.packets.at(id)
		o.class(p, n.mixed).bytes += int64(p.Size)
	case o.control.Len() > 0:
		id = o.control.Take()
	case o.data.Len() > 0:
		id = o.data.Take()
	default:
		return
	}
	o.sending = id
	n.kernel.After(o.serializer.Time(int64(n.packets.at(id).Size), o.divider), n.id, left, at, 0)
}

// class is the queue of a packet.
func (o *output) class(p *Packet, mixed bool) *fifo {
	if p.Control && !mixed {
		return &o.control
	}
	return &o.data
}

// left is the end of a packet's service.
func (n *Network) left(at int32) {
	o := &n.out[at]
	id := o.sending
	p := n.packets.at(id)
	o.sending = idle
	o.Sent++
	o.SentBytes += int64(p.Size)
	q := o.class(p, n.mixed)
	q.bytes -= int64(p.Size)
	if o.marks && !p.Control && q.bytes > o.from {
		if q.bytes >= o.full || o.stream.Float64()*float64(o.full-o.from) < float64(q.bytes-o.from)*n.config.MarkMax {
			p.Marked = true
			o.Marked++
		}
	}
	if n.pauses && p.in >= 0 {
		n.letGo(p)
	}
	n.kernel.After(sim.Time(o.latency), n.id, arrived, o.to, int64(id))
	if !o.paused {
		n.begin(at, o)
	}
}

// arrived takes a packet from a channel.
func (n *Network) arrived(at, id int32) {
	p := n.packets.at(id)
	if at < 0 {
		n.ends.Arrived(topology.TerminalID(^at), p)
		n.packets.release(id)
		return
	}
	p.Hops++
	if n.pauses {
		n.holdUp(at, p)
	}
	port := n.route(n.graph.PortSwitch[at], p)
	n.enqueue(port, id, p)
}

// enqueue appends a packet to an output, or to another class of it as its header, or drops it.
func (n *Network) enqueue(port, id int32, p *Packet) {
	o := &n.out[port]
	if !p.Control {
		if o.data.bytes+int64(p.Size) <= o.limit {
			o.data.put(id, p.Size)
			o.DeepestData = max(o.DeepestData, o.data.bytes)
			n.start(port, o)
			return
		}
		if o.data.Len() > 0 && o.stream.Uint64()>>63 == 0 { // the last one gives way
			last := o.data.At(o.data.Len() - 1)
			other := *last
			*last = id
			v := n.packets.at(other)
			o.data.bytes += int64(p.Size) - int64(v.Size)
			id, p = other, v
		}
		if !n.trims {
			n.drop(o, id, p)
			return
		}
		p.Size, p.Trimmed, p.Control, p.LastHop = int32(n.config.Header), true, true, o.terminal
		o.Trimmed++
	}
	q := o.class(p, n.mixed)
	if q.bytes+int64(p.Size) > o.controlLimit {
		n.drop(o, id, p)
		return
	}
	q.put(id, p.Size)
	n.start(port, o)
}

// start has an output send that is idle, unless it is paused.
func (n *Network) start(port int32, o *output) {
	if o.sending == idle && !o.paused {
		n.begin(port, o)
	}
}

func (n *Network) drop(o *output, id int32, p *Packet) {
	o.Dropped++
	if n.pauses && p.in >= 0 {
		n.letGo(p)
	}
	n.packets.release(id)
}
