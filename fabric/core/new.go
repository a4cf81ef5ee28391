package core

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// New builds the network of g in its idle state. Problems of the settings are
// returned together, each a *param.ParamError with its dotted key; a routing of
// another network is an error. Cost: linear in ports*vcs.
func New(g *topology.Graph, config fabric.Config, routing fabric.Routing, seed uint64) (*Fabric, error) {
	if err := config.CheckSettings(routing); err != nil {
		return nil, err
	}
	config.Switch.Hold = config.Holds()
	if err := checkRouting(g, routing); err != nil {
		return nil, err
	}
	timings, err := config.ChannelTimings(g)
	if err != nil {
		return nil, err
	}
	vcs := config.Switch.VCs
	if vcs == 0 {
		vcs = max(1, routing.VCs())
	}
	f := &Fabric{
		hardware: hardware{network: network{
			graph: g, Config: config, routing: routing, seed: seed, vcs: vcs, buffer: int32(config.Switch.BufferFlits),
			cutThrough: config.Switch.FlowControl == "cut-through", creditsBack: config.Switch.VCReuse == fabric.CreditsBack, storeForward: config.Switch.Forwarding == fabric.StoreAndForward,
			allVCs: 1<<vcs - 1, unicastVCs: vcs, leastWindow: fabric.Never,
			RouteDelay:     uint32(config.Switch.RouteCycles),
			VADelay:        uint32(config.Switch.VCAllocCycles),
			creditInterval: creditIntervalOf(config.Switch.CreditsPerCycle),
		}},
		cycle: -1,
	}
	f.roomy = f.cutThrough || f.creditsBack
	f.packets = &packetTable{}
	if config.Switch.VCAllocCycles == 0 {
		f.Combined = HeadFlit
	}
	f.ask(routing)
	f.labels = newLabels(&f.network)
	f.layOutSwitches()
	f.wire(timings)
	if r, ok := routing.(fabric.Learner); ok {
		f.memory = r.NewMemory(func(p topology.PortID) int64 { return f.Latency(&f.Out[p]) })
	}
	if f.allocators, err = newAllocators(&f.network); err != nil {
		return nil, err
	}
	f.lanes, f.laneQueues = newLanes(&f.network), newLaneQueues(&f.network)
	f.large = f.isLarge()
	if config.Switch.SensesCredits(routing) {
		f.sensing = newSensing(&f.network)
	}
	if config.Switch.Hold {
		f.hold = &holds{ports: make([]heldPort, len(f.in))}
	}
	f.horizon = f.reach(timings)
	if config.Fabric.Unit == fabric.UnitPacket {
		f.unit = newPacketUnit(f)
		f.horizon += f.unit.reach(f)
	}
	f.divideInto(make([]int, len(f.Switches)), 1, fabric.Never)
	if config.Switch.Marks() {
		m, err := newMarker(f)
		if err != nil {
			return nil, err
		}
		if m != nil {
			f.Observe(m)
		}
	}
	if err := f.newProbes(); err != nil {
		return nil, err
	}
	return f, nil
}

// reach bounds how far ahead the fabric files flits and credits in the usual
// case: the longest channel, with flits waiting for it that fill the buffers at its end, or 256 cycles.
func (f *Fabric) reach(timings []fabric.ChannelTiming) int64 {
	reach, s := int64(0), &f.Config.Switch
	waiting := int64(f.buffer) * int64(f.vcs)
	if s.OutputBufferFlits > 0 {
		waiting = min(waiting, int64(s.OutputBufferFlits))
	}
	for _, t := range timings {
		interval := intervalOf(t)
		reach = max(reach, t.Latency+max(4*interval, min(waiting*interval, 256<<IntervalShift))>>IntervalShift)
	}
	pipeline := s.RouteCycles + s.VCAllocCycles + s.SwitchAllocCycles + s.CrossbarCycles + s.CreditCycles
	return reach + int64(pipeline) + int64(f.Config.Terminal.InjectionCycles) + 16
}
