package fabric

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// New builds the network of g in its idle state. Faults of the settings are
// returned together, each a *param.ParamError with its dotted key; a routing of
// another network is an error. Cost: linear in ports*vcs.
func New(g *topology.Graph, config Config, routing Routing, seed uint64) (*Fabric, error) {
	if err := config.validate(routing); err != nil {
		return nil, err
	}
	if err := checkRouting(g, routing); err != nil {
		return nil, err
	}
	timings, err := config.resolveChannels(g)
	if err != nil {
		return nil, err
	}
	vcs := config.Switch.VCs
	if vcs == 0 {
		vcs = max(1, routing.VCs())
	}
	f := &Fabric{
		graph: g, config: config, routing: routing, seed: seed, vcs: vcs, buffer: int32(config.Switch.BufferFlits), cycle: -1,
		cutThrough: config.Switch.FlowControl == "cut-through",
		inputFirst: config.Switch.Allocator == allocator.InputFirst,
		steps:      newStepTimes(&config.Switch),
		allVCs:     1<<vcs - 1, leastWindow: Never,
		routeDelay: uint32(config.Switch.RouteCycles),
		vaDelay:    uint32(config.Switch.VCAllocCycles),
	}
	if config.Switch.VCAllocCycles == 0 {
		f.combined = headFlit
	}
	f.view.f, f.view.vcs = f, vcs
	f.packets.used = new(atomic.Int32)
	f.injection = routing.InjectionVCs(vcs) & f.allVCs
	if r, ok := routing.(OccupancyReader); ok {
		f.occupancy = r.ReadsOccupancy()
	}
	if r, ok := routing.(GreedyDecider); ok {
		f.greedy = r.DecidesGreedily()
	}
	if r, ok := routing.(Departer); ok && r.DecidesAtTerminals() {
		f.departer, f.injection = r, 0
		f.departures = make([]sim.Stream, g.Terminals())
		for t := range f.departures {
			f.departures[t] = sim.NewStream(seed, "departure", t)
		}
	}
	if r, ok := routing.(EscapeRouting); ok {
		f.escape = newEscape(f, r)
	}
	f.layOutSwitches(seed)
	f.wire(timings)
	f.creditInterval = creditIntervalOf(config.Switch.CreditsPerCycle)
	f.storeForward = config.Switch.Forwarding == StoreAndForward
	if config.Switch.Hold {
		f.hold = newHolds(f)
	}
	if config.Fabric.Unit == UnitPacket {
		f.unit = newPacketUnit(f)
	}
	if f.registered, err = newRegistered(f); err != nil {
		return nil, err
	}
	f.large = f.isLarge()
	if config.sensesCredits(routing) {
		f.sensing = newSensing(f)
	}
	reach := f.reach(timings)
	if f.unit != nil {
		reach += f.unit.reach(f)
	}
	f.openWheels(reach)
	if f.occupancy {
		f.behind = newBehind(f, reach)
	}
	return f, nil
}

// openWheels makes the wheels of what stays in f.
func (f *Fabric) openWheels(reach int64) {
	f.horizon = reach
	f.flits[toTerminals], f.flits[toSwitches] = sim.NewWheel[flit](reach), sim.NewWheel[flit](reach)
	f.credits[0], f.wakes = sim.NewWheel[int32](reach), sim.NewWheel[int32](min(reach, 1024))
	if f.unit != nil {
		f.unit.openWheels(reach)
	}
	if f.sensing != nil {
		f.held = sim.NewWheel[heldCredit](reach)
	}
}

// validate checks what the tags cannot.
func (c *Config) validate(routing Routing) error {
	var faults []error
	for _, part := range []struct {
		prefix string
		config any
	}{{"fabric.", &c.Fabric}, {"switch.", &c.Switch}, {"terminal.", &c.Terminal}} {
		faults = append(faults, prefixed(part.prefix, param.Validate(part.config))...)
	}
	faults = append(faults, c.checkUnit(routing)...)
	vcs, need := c.Switch.VCs, routing.VCs()
	if vcs != 0 && vcs < need && !c.AllowDeadlock {
		faults = append(faults, &param.ParamError{Key: "switch.vcs", Value: vcs,
			Want: fmt.Sprintf("at least %d: what this routing needs to be free of deadlock (0 sets it so)", need)})
	}
	if need > MaxVCs {
		faults = append(faults, &param.ParamError{Key: "switch.vcs", Value: vcs,
			Want: fmt.Sprintf("%d virtual channels for this routing on this topology, and weft's switch has at most %d", need, MaxVCs)})
	}
	return errors.Join(faults...)
}

// MaxVCs is the largest number of virtual channels of a channel.
const MaxVCs = 16

// prefixed flattens joined errors and puts prefix before the keys.
func prefixed(prefix string, err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, prefixed(prefix, e)...)
		}
		return all
	}
	if p, ok := err.(*param.ParamError); ok {
		p.Key = prefix + p.Key
	}
	return []error{err}
}

func (f *Fabric) layOutSwitches(seed uint64) {
	g, vcs := f.graph, int32(f.vcs)
	f.switches = make([]switchState, g.Switches())
	f.streams = make([]sim.Stream, g.Switches())
	word, mostPorts := int32(0), int32(0)
	for s := range f.switches {
		first, end := g.Ports(topology.SwitchID(s))
		n := int32(end - first)
		words := (n*vcs + 63) / 64
		f.switches[s] = switchState{queue0: word * 64, port0: int32(first), ports: n}
		f.streams[s] = sim.NewStream(seed, "routing", s)
		word += words
		mostPorts = max(mostPorts, n)
	}
	f.queues = make([]inVC, word*64)
	f.waitNext = make([]int32, len(f.queues))
	f.acceptOV = make([]int32, len(f.queues))
	f.masks = make([]masks, word)
	f.wordSwitch = make([]int32, word)
	for q := range f.queues {
		f.queues[q].out = -1
	}
	f.active = make([]uint64, (word+63)/64)
	f.alloc = newScratch(mostPorts, vcs)
}

// wire fills in both ends of every channel.
func (f *Fabric) wire(timings []channelTiming) {
	g, vcs := f.graph, f.vcs
	ports, terminals := g.NumPorts(), g.Terminals()
	f.terminalOut0, f.terminalOV0 = int32(ports), int32(ports*vcs)
	f.outVC = make([]outVC, (ports+terminals)*vcs)
	f.out = make([]outPort, ports+terminals)
	f.in = make([]inPort, ports)
	for s := range f.switches {
		sw := &f.switches[s]
		end := int32(len(f.queues))
		if s+1 < len(f.switches) {
			end = f.switches[s+1].queue0
		}
		sw.masks = f.masks[sw.queue0/64 : end/64]
		if sw.ports > 0 {
			sw.queues, sw.outVCs = &f.queues[sw.queue0], &f.outVC[int(sw.port0)*vcs]
			sw.outs, sw.ins = &f.out[sw.port0], &f.in[sw.port0]
		}
		for w := range sw.masks {
			f.wordSwitch[int(sw.queue0/64)+w] = int32(s)
		}
	}
	f.terminals = make([]terminal, terminals)
	credit := int32(f.config.Switch.CreditCycles)
	limit := int64(f.config.Switch.OutputBufferFlits)
	// A terminal's buffers are unbounded, so what waits for its channel is
	// bounded at the switch: by what a switch would have room for, but not so that
	// flits on their way through the crossbar keep the channel from being full.
	terminalLimit := limit
	if limit == 0 {
		terminalLimit = max(int64(f.buffer)*int64(vcs), f.config.Switch.crossing()+2)
	}
	for p := range ports {
		port := topology.PortID(p)
		t := timings[g.PortClass[p]]
		o := outPort{latency: t.latency, free: 1<<vcs - 1, pace: f.paceOf(t.interval, limit)}
		f.in[p].delay = t.latency + credit
		if peer, ok := g.PeerPort(port); ok {
			o.dest, o.bounded, o.wheel = f.queueOf(peer, 0), 1, toSwitches
			f.in[p].upstream = f.ov(peer, 0)
		} else {
			terminal, _ := g.PeerTerminal(port)
			o.dest, o.pace = ^int32(terminal), f.paceOf(t.interval, terminalLimit)
			f.in[p].upstream = f.terminalOV(terminal, 0)
			f.out[ports+int(terminal)] = outPort{latency: t.latency, dest: f.queueOf(port, 0), pace: f.paceOf(t.interval, 0)}
		}
		f.out[p] = o
		for vc := range vcs {
			f.outVC[f.ov(port, vc)] = outVC{credits: f.bufferOf(port), owner: ^f.switches[g.PortSwitch[p]].queue0}
		}
	}
	for ov := f.terminalOV0; int(ov) < len(f.outVC); ov++ {
		f.outVC[ov].credits = f.buffer
	}
}

// paceOf numbers the pace of a channel with room for so many flits behind the
// crossbar; 0: for any number.
func (f *Fabric) paceOf(interval, limit int64) uint16 {
	p := pace{interval, Never}
	if limit > 0 && limit <= Never/interval {
		p.window = limit * interval
	}
	i := slices.Index(f.paces, p)
	if i < 0 {
		i = len(f.paces)
		f.paces = append(f.paces, p)
		f.leastWindow = min(f.leastWindow, p.window)
	}
	return uint16(i)
}

// sensesCredits tells whether credit round trips are measured.
func (c *Config) sensesCredits(routing Routing) bool {
	if mode := c.Switch.CreditSensing; mode != "auto" {
		return mode == "on"
	}
	r, ok := routing.(CreditSenser)
	return ok && r.SensesCredits()
}

// reach bounds how far ahead the fabric files flits and credits in the usual
// case: the longest channel, with some flits waiting for it.
func (f *Fabric) reach(timings []channelTiming) int64 {
	reach := int64(0)
	for _, t := range timings {
		reach = max(reach, int64(t.latency)+(4*t.interval)>>intervalShift)
	}
	s := &f.config.Switch
	pipeline := s.RouteCycles + s.VCAllocCycles + s.SwitchAllocCycles + s.CrossbarCycles + s.CreditCycles
	return reach + int64(pipeline) + int64(f.config.Terminal.InjectionCycles) + 16
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func classNames(g *topology.Graph) string {
	names := make([]string, len(g.Classes))
	for i, c := range g.Classes {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
