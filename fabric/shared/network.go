package shared

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
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

// Network is a network in simulation, a clocked component of a kernel.
type Network struct {
	kernel  *sim.Kernel
	ends    EndPoints
	graph   *topology.Graph
	config  Config
	timing  Timing
	packets packets
	flights flights
	ahead   bool     // outputs are too many for level-2 caches
	target  int32    // what the event at hand is for
	out     []output // by port, then by terminal
	inputs  []input  // by port
	held    []held   // likewise; nil without pause
	routes  routes
	uneven  bool            // outputs between switches differ, or are slower than terminals
	soonest map[int]soonest // by switch and leaf, as routes
	salts   []uint64        // by switch
	streams []sim.Stream    // by switch

	dividers map[sim.Rate]*sim.Divider

	paths      uint8
	pauses     bool
	mixed      bool // control and data in one queue
	trims      bool
	candidates []int32
}

// input is where a channel ends.
type input struct {
	from *output // that settles before its packets arrive; nil: it is eager
	at   topology.SwitchID
	row  int32 // of the table of routes
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

// Events of packets.
const (
	arrives = iota // at an input port, or ^terminal
	leaves         // an output that is eager
	stops          // an output: a pause frame
	goesOn         // likewise
)

// New builds a network. Settings that are 0 follow the round-trip time of timing, from end to end
// of an empty network. Errors name settings.
func New(kernel *sim.Kernel, g *topology.Graph, config Config, timing Timing, ends EndPoints, seed uint64) (*Network, error) {
	n := &Network{
		kernel: kernel, ends: ends, graph: g, config: config, timing: timing, packets: packets{free: -1},
		out: make([]output, g.NumPorts()+g.Terminals()), pauses: config.Full == "pause", trims: config.Full == "trim", mixed: config.Control == "with-data",
		dividers: map[sim.Rate]*sim.Divider{}, soonest: map[int]soonest{}, streams: make([]sim.Stream, g.Switches()), salts: make([]uint64, g.Switches()),
	}
	kernel.RegisterClocked(n)
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
	n.findUneven()
	if n.pauses {
		n.held = make([]held, g.NumPorts())
	}
	for p, from := range g.Peer {
		in := input{at: g.PortSwitch[p], row: int32(g.PortSwitch[p]) * int32(n.routes.width)}
		if from >= 0 && !n.out[from].eager {
			in.from = &n.out[from]
		}
		n.inputs = append(n.inputs, in)
	}
	n.ahead = len(n.out) > 1<<12
	n.flights.span(n.out, max(timing.Packet, int64(config.Header)))
	return n, nil
}

// connect sets up an output.
func (n *Network) connect(p int, seed uint64) {
	g, o := n.graph, &n.out[p]
	o.number, o.data.head, o.control.head, o.sending, o.until, o.stream = int32(p), -1, -1, idle, never, sim.NewStream(seed, "queue", p)
	o.from, o.full, o.limit = n.timing.MarkFrom, n.timing.MarkTo, n.timing.Queue
	o.controlLimit = 2 * n.timing.Queue
	if n.timing.MarkTo == math.MaxInt64 {
		o.from = never
	}
	if n.pauses || n.mixed {
		o.controlLimit = math.MaxInt64
	}
	port := topology.PortID(p)
	if p >= g.NumPorts() { // of a terminal
		t := topology.TerminalID(p - g.NumPorts())
		port = g.TerminalPort[t]
		o.to = int32(port)
		o.limit, o.controlLimit, o.from = math.MaxInt64, math.MaxInt64, math.MaxInt64
		o.latency = n.timing.flight(g.PortClass[port]) + n.timing.delay(g.PortSwitch[port])
	} else if t, ok := g.PeerTerminal(port); ok {
		if o.to = ^int32(t); n.timing.HostsUnmarked {
			o.from = math.MaxInt64
		}
		o.latency = n.timing.flight(g.PortClass[port])
	} else {
		peer, _ := g.PeerPort(port)
		o.to = int32(peer)
		o.latency = n.timing.flight(g.PortClass[port]) + n.timing.delay(g.PortSwitch[peer])
	}
	o.host = p >= g.NumPorts()
	o.eager = n.pauses || o.latency == 0 || o.host
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
	o.divider = d
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
	n.run(o, max(1, sim.Rate(math.Round(float64(o.divider.Rate())*share))))
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
func (n *Network) Wake(t topology.TerminalID) { n.start(&n.out[n.graph.NumPorts()+int(t)]) }

// start has an output send that is idle, unless it is paused.
func (n *Network) start(o *output) {
	if o.sending == idle && !o.paused {
		n.serve(o, int64(n.kernel.Now()))
	}
}

// Counters returns the counters of output p up to the present: a port, or terminal t at ports + t.
// A pause that lasts counts as far as it has come.
func (n *Network) Counters(p int) Counters {
	o := n.present(p)
	c := Counters{Sent: o.sent, SentBytes: o.sentBytes, DeepestData: o.deepest, seldom: o.seldom}
	if p < len(n.held) {
		c.DeepestInPort = n.held[p].deepest
	}
	if o.paused {
		c.PausedFor += int64(n.kernel.Now())
	}
	return c
}

// present is an output as it is now: behind the last event if a run was stopped by it.
func (n *Network) present(p int) *output {
	o := &n.out[p]
	if !n.kernel.Stopped() {
		n.target = math.MaxInt32
	}
	n.settle(o, int64(n.kernel.Now()))
	return o
}

// Handled is the number of events so far.
func (n *Network) Handled() uint64 { return n.flights.listed - uint64(len(n.flights.order)) }

// Rate is the rate of an output, of a port or terminal, numbered as for Counters.
func (n *Network) Rate(p int) sim.Rate { return n.out[p].divider.Rate() }

// Waiting is the number of bytes in an output, those in service among them.
func (n *Network) Waiting(p int) int64 {
	o := n.present(p)
	return o.data.bytes + o.control.bytes
}

// NextTick implements [sim.Clocked].
func (n *Network) NextTick() sim.Time {
	return sim.Time(n.flights.first(&n.packets, int64(n.kernel.Now())))
}

// Tick implements [sim.Clocked].
func (n *Network) Tick(sim.Time) {
	f := &n.flights
	for {
		e := f.take()
		n.target = e.target
		if n.ahead && f.ahead > 0 {
			f.ahead = n.packets.at(f.ahead-1).next + 1
		}
		if p := n.packets.at(e.id); p.event != arrives {
			n.happened(e, p)
		} else if e.target >= 0 {
			n.arrived(e.target, e.id, p)
		} else {
			n.delivered(^e.target, e.id, p)
		}
		next := sim.Time(0)
		if last := len(f.order) - 1; last >= 0 {
			next = sim.Time(f.order[last].at)
			if n.ahead {
				n.prefetch(f.order[last].target)
			}
		} else {
			next = n.NextTick()
		}
		if !n.kernel.Pass(next) {
			return
		}
	}
}

// prefetch fetches the output that settles next into caches.
func (n *Network) prefetch(target int32) {
	if uint(target) < uint(len(n.inputs)) && n.inputs[target].from != nil {
		mem.PrefetchRow(unsafe.Pointer(n.inputs[target].from))
	}
}

// happened is an event of an output.
func (n *Network) happened(e flight, p *Packet) {
	o := &n.out[e.target]
	if p.event == leaves {
		n.serve(o, e.at)
		return
	}
	n.pause(o, p.event == stops)
	n.packets.release(e.id)
}

// settle has packets leave an output that have left before the event at hand. They leave late, but before anything
// depends on it: at the latest as they arrive.
func (n *Network) settle(o *output, now int64) {
	if o.until < now || o.until == now && o.number < n.target {
		n.serve(o, now)
	}
}

// serve has an output go on from the end of what it sends, or from now on if it is idle or an event tells the end, and
// then with what waits, up to the event at hand.
func (n *Network) serve(o *output, now int64) {
	for from := min(o.until, now); ; {
		if o.sending >= 0 {
			o.sent++
			o.sentBytes += int64(o.size)
			if o.first {
				o.control.bytes -= int64(o.size)
			} else if o.data.bytes -= int64(o.size); o.data.bytes > o.from {
				n.mark(o, n.packets.at(o.sending))
			}
			if o.eager {
				n.letGo(o.in, o.size)
				n.flights.put(o.sending, n.packets.at(o.sending), arrives, o.to, from+o.latency)
			}
			if o.sending, o.until = idle, never; o.paused {
				return
			}
		}
		q := &o.control
		if q.head < 0 {
			if q = &o.data; q.head < 0 {
				if q = n.ask(o); q == nil {
					return
				}
			}
		}
		id := q.head
		p := n.packets.at(id)
		q.head = p.next
		o.sending, o.size, o.first, o.in = id, p.Size, q == &o.control, p.target
		from += int64(o.serializer.Time(int64(p.Size), o.divider))
		if o.eager {
			n.flights.put(id, p, leaves, o.number, from)
			return
		}
		o.until = from
		n.flights.put(id, p, arrives, o.to, from+o.latency)
		if from > now || from == now && o.number >= n.target {
			return
		}
	}
}

// ask has a terminal say what its output sends next, and returns the queue that it is in; nil: nothing, or the output is a
// switch's.
func (n *Network) ask(o *output) *fifo {
	if !o.host {
		return nil
	}
	o.sending = asked // it may be woken meanwhile
	id := n.ends.Next(topology.TerminalID(int(o.number) - n.graph.NumPorts()))
	if o.sending = idle; id < 0 {
		return nil
	}
	p := n.packets.at(id)
	q := o.class(p, n.mixed)
	q.put(&n.packets, id, p)
	return q
}

// class is the queue of a packet.
func (o *output) class(p *Packet, mixed bool) *fifo {
	if p.Control && !mixed {
		return &o.control
	}
	return &o.data
}

// mark marks a packet, perhaps, that leaves more behind than may stay unmarked.
func (n *Network) mark(o *output, p *Packet) {
	waiting := o.data.bytes
	if !p.Control && (waiting >= o.full || o.stream.Float64()*float64(o.full-o.from) < float64(waiting-o.from)*n.config.MarkMax) {
		p.Marked = true
		o.Marked++
	}
}

// delivered takes a packet from the channel to a terminal.
func (n *Network) delivered(t, id int32, p *Packet) {
	n.settle(&n.out[n.graph.TerminalPort[t]], p.at)
	n.ends.Arrived(topology.TerminalID(t), p)
	n.packets.release(id)
}

// arrived takes a packet from a channel to a switch.
func (n *Network) arrived(at, id int32, p *Packet) {
	in, r := &n.inputs[at], &n.routes
	if in.from == nil {
		n.holdUp(at, p)
	} else if in.from.until <= p.at {
		n.settle(in.from, p.at)
	}
	port := alone - r.set[int(in.row)+int(r.leaf[p.Dst])]
	if port < 0 {
		port = n.route(in.at, p)
	}
	n.enqueue(&n.out[port], id, p)
}

// enqueue appends a packet to an output, or to another class of it as its header, or drops it.
func (n *Network) enqueue(o *output, id int32, p *Packet) {
	if o.until <= p.at {
		n.settle(o, p.at)
	}
	q := &o.data
	if bytes := q.bytes + int64(p.Size); !p.Control && bytes <= o.limit {
		o.deepest = max(o.deepest, bytes)
	} else if q = n.squeeze(o, id, p); q == nil {
		return
	}
	q.put(&n.packets, id, p)
	if o.sending == idle && !o.paused {
		n.serve(o, p.at)
	}
}

// squeeze finds the queue of a control packet, or of the header of a data packet that has no room; nil: it is dropped.
func (n *Network) squeeze(o *output, id int32, p *Packet) *fifo {
	if !p.Control {
		if o.data.head >= 0 && o.stream.Uint64()>>63 == 0 { // the last one gives way, under the other's number
			last := n.packets.at(o.data.tail)
			o.data.bytes += int64(p.Size) - int64(last.Size)
			*p, *last = *last, *p
			last.next = -1
		}
		if !n.trims {
			n.drop(o, id, p)
			return nil
		}
		p.Size, p.Trimmed, p.Control, p.LastHop = min(p.Size, int32(n.config.Header)), true, true, o.to < 0
		o.Trimmed++
	}
	q := o.class(p, n.mixed)
	if bytes := q.bytes + int64(p.Size); bytes > o.limit && bytes > o.controlLimit {
		n.drop(o, id, p)
		return nil
	}
	return q
}

func (n *Network) drop(o *output, id int32, p *Packet) {
	o.Dropped++
	n.letGo(p.target, p.Size)
	n.packets.release(id)
}
