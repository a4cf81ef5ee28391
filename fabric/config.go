// Package fabric is what users of a simulated network see: its settings ([Config]), what a
// routing is given and gives ([Routing], [Head], [View], [Hop], and the needs that a routing
// may declare), and what terminals send and are told ([Source], [PacketSpec], [Sink],
// [Delivery], [Workload]). Nothing is simulated here: package fabric/core makes a network
// of a graph, settings and a routing, and runs it. docs/model.md has the timing diagram.
package fabric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Config holds all of a fabric but its graph and its routing. Change what differs in a
// [DefaultConfig].
type Config struct {
	Fabric   PhysicalConfig
	Switch   SwitchConfig
	Terminal TerminalConfig
	// Channels overrides the channel classes of the topology, by class name.
	Channels map[string]ChannelConfig
	// Probes sample ports of switches while the network runs.
	Probes []Probe
}

// PhysicalConfig is the [fabric] table: flits and cycles, and whether the network may deadlock.
type PhysicalConfig struct {
	FlitBytes sim.Bytes `toml:"flit_bytes" doc:"payload of a flit; needed only where rates are given in bits per second" min:"1B"`
	MTU       sim.Bytes `toml:"mtu" doc:"largest payload of a packet, as the ports of an InfiniBand fabric have: 256B, 512B, 1KiB, 2KiB or 4KiB; longer messages of kind mpi are cut, longer packets refused; left out: no limit" min:"0B"`
	Unit      string    `toml:"unit" doc:"what is simulated one by one: flits, or whole packets with their flits' times worked out: faster, with the same times where all are whole cycles; packet implies switch.hold, which needs switch.flow_control cut-through" choices:"flit|packet"`
	Clock     sim.Time  `toml:"clock" doc:"length of a cycle of the flit clock; 1ns makes a cycle read as a nanosecond; left out, it follows link, or beside an imported fabric the fastest of its cables" min:"1ps" max:"1ms"`
	Link      string    `toml:"link" doc:"InfiniBand link, such as 4xHDR, that carries a flit in a cycle, line coding taken off: sets the clock"`
	// AllowDeadlock accepts fewer virtual channels than the routing needs to be free of deadlock;
	// nothing else here checks that.
	AllowDeadlock bool `toml:"allow_deadlock" doc:"run a network that can deadlock, as --allow-deadlock does: warned of, noted in manifest.json and the report, and ended with the cycle of buffers if it comes to that"`
}

// mtus are the MTUs of ports (InfiniBand Architecture Specification, volume 1, 14.2.5.6,
// NeighborMTU); one for all data lanes.
var mtus = []sim.Bytes{256, 512, 1024, 2048, 4096}

// Validate checks the MTU; see [param.Validate].
func (c *PhysicalConfig) Validate() error {
	if c.MTU == 0 || slices.Contains(mtus, c.MTU) {
		return nil
	}
	return &param.ParamError{Key: "mtu", Value: c.MTU, Want: "256B, 512B, 1KiB, 2KiB or 4KiB, or it left out"}
}

// SwitchConfig is the [switch] table. Stages are counted in steps of the switch core, of which a
// core with speedup s takes s a cycle.
type SwitchConfig struct {
	VCs               int              `toml:"vcs" doc:"virtual channels of every channel; 0: as many as the routing needs" min:"0" max:"16"`
	BufferFlits       int              `toml:"buffer_flits" doc:"input buffer of each virtual channel" unit:"flits" min:"1" max:"1000000000"`
	RouteCycles       int              `toml:"route_cycles" doc:"route computation" unit:"cycles of the switch core" min:"0" max:"10000"`
	VCAllocCycles     int              `toml:"vc_alloc_cycles" doc:"virtual-channel allocation; 0: heads take a virtual channel by winning the switch" unit:"cycles of the switch core" min:"0" max:"10000"`
	SwitchAllocCycles int              `toml:"switch_alloc_cycles" doc:"switch allocation" unit:"cycles of the switch core" min:"1" max:"10000"`
	CrossbarCycles    int              `toml:"crossbar_cycles" doc:"crossbar and output stage" unit:"cycles of the switch core" min:"0" max:"10000"`
	CreditCycles      int              `toml:"credit_cycles" doc:"processing of a credit that has come back, at a switch; at a terminal it takes a cycle" unit:"cycles" min:"0" max:"10000"`
	CreditsPerCycle   int              `toml:"credits_per_cycle" doc:"credits that an input sends back in a cycle, over all of its virtual channels; 0: one for every slot freed" min:"0" max:"16"`
	Speedup           float64          `toml:"speedup" doc:"steps of the switch core in a cycle of the flit clock" min:"1" max:"16"`
	Allocator         allocator.Choice `toml:"allocator" doc:"switch allocator"`
	InputSpeedup      int              `toml:"input_speedup" doc:"inputs of the crossbar that a port has: its virtual channels, modulo so many, do not wait for one another" min:"1" max:"16"`
	VCAllocator       string           `toml:"vc_allocator" doc:"allocator of virtual channels, in round robins and one iteration: with output-first each grants a packet, and packets accept (iSLIP); with input-first packets put one forward, and each chooses" choices:"output-first|input-first"`
	VCReuse           string           `toml:"vc_reuse" doc:"when a virtual channel is given to the next packet: once the tail of the last one is sent, or once all of its credits have come back" choices:"tail-sent|credits-back"`
	Iterations        int              `toml:"iterations" doc:"iterations of the switch allocator in a step; 1 where it does not iterate" min:"1" max:"16"`
	OutputBufferFlits int              `toml:"output_buffer_flits" doc:"flits that may wait behind the crossbar for the channel; 0: unbounded" unit:"flits" min:"0" max:"1000000000"`
	Marking           marking.Choice   `toml:"marking" doc:"when ports mark packets for congestion, which programs are told of"`
	CreditSensing     string           `toml:"credit_sensing" doc:"delay credits by the congestion that their round trips show; auto: where the routing relies on it" choices:"auto|on|off"`
	CreditsUndelayed  []string         `toml:"credits_undelayed" doc:"channel classes over which credits are never delayed by credit sensing"`
	VLArbHigh         string           `toml:"vlarb_high" doc:"InfiniBand's arbitration between lanes, which are virtual channels: table of high priority, LANE:WEIGHT,... with weights of 64 bytes; empty with vlarb_low: flits of all lanes take turns"`
	VLArbLow          string           `toml:"vlarb_low" doc:"table of low priority"`
	VLHighLimit       int              `toml:"vl_high_limit" doc:"what the high table may send before the low one has a chance, in 4096 bytes; 0: a packet, 255: no limit" min:"0" max:"255"`
	FlowControl       string           `toml:"flow_control" doc:"when a packet of several flits may go on: wormhole with the first credit, cut-through when the whole packet fits" choices:"wormhole|cut-through"`
	Hold              bool             `toml:"hold" doc:"a packet keeps its input and its output of the switch from its first flit to its last, as it does where it is the unit; needs flow_control cut-through"`
	Pipeline          string           `toml:"pipeline" doc:"route_cycles and vc_alloc_cycles of the packets behind the front of a queue: overlapped with the leaving of those before them, or serial, from the front of the queue on" choices:"overlapped|serial"`
	Forwarding        string           `toml:"forwarding" doc:"when a packet may go on at the earliest: cut-through as its head arrives, store-and-forward when all of it has; the latter needs flow_control cut-through" choices:"cut-through|store-and-forward"`
}

// Validate checks the allocator; see [param.Validate].
func (c *SwitchConfig) Validate() error { return allocator.Check(c.Allocator.Name(), c.Iterations) }

// Marks tells whether ports mark packets.
func (c *SwitchConfig) Marks() bool {
	return c.Marking.Name() != marking.None && c.Marking.Name() != ""
}

// TerminalConfig is the [terminal] table.
type TerminalConfig struct {
	InjectionCycles int    `toml:"injection_cycles" doc:"from the birth of a packet at an idle terminal until its first flit enters the channel" unit:"cycles" min:"0" max:"1000000"`
	BufferFlits     int    `toml:"buffer_flits" doc:"buffer of each virtual channel at which a terminal receives; it takes a flit as it arrives and returns a credit; 0: it takes every flit, without credits" unit:"flits" min:"0" max:"1000000000"`
	VLArbHigh       string `toml:"vlarb_high" doc:"InfiniBand's arbitration between the lanes of a terminal's packets, as in a host channel adapter: table of high priority, LANE:WEIGHT,... with weights of 64 bytes; empty with vlarb_low: as in [switch]"`
	VLArbLow        string `toml:"vlarb_low" doc:"table of low priority"`
	VLHighLimit     int    `toml:"vl_high_limit" doc:"what the high table may send before the low one has a chance, in 4096 bytes; 0: a packet, 255: no limit" min:"0" max:"255"`
}

// ChannelConfig is a [channel.CLASS] table. Zero values leave what the topology says.
type ChannelConfig struct {
	Latency       sim.Time `toml:"latency" doc:"flight time of a flit, and of a credit back; whole cycles, at least one" min:"0ns"`
	CreditLatency sim.Time `toml:"credit_latency" doc:"of a credit back; whole cycles; 0ns: latency" min:"0ns"`
	Rate          sim.Rate `toml:"rate" doc:"data rate, with fabric.flit_bytes; default: one flit a cycle"`
	Link          string   `toml:"link" doc:"instead of rate: InfiniBand width and speed, such as 4xEDR"`
	CyclesPerFlit float64  `toml:"cycles_per_flit" doc:"instead of rate: cycles that a flit occupies the channel, at least 1" min:"0" max:"1000000"`
}

// DefaultConfig is the switch of the quick start: speedup 2, buffers of 32 flits, a virtual channel
// allocated in the step in which it is first used. (With a step between the two, a virtual channel
// stands idle for part of every packet, and a single one cannot fill its channel with packets of
// one flit: docs/model.md.)
func DefaultConfig() Config {
	return Config{
		Fabric: PhysicalConfig{FlitBytes: 64, Unit: UnitFlit, Clock: sim.Nanosecond},
		Switch: SwitchConfig{
			BufferFlits: 32, RouteCycles: 0, VCAllocCycles: 0, SwitchAllocCycles: 1, CrossbarCycles: 1,
			CreditCycles: 1, CreditsPerCycle: 1, Speedup: 2, Allocator: allocator.Named(allocator.ISLIP), Iterations: 1, InputSpeedup: 1, VCAllocator: OutputFirst, VCReuse: TailSent, FlowControl: "wormhole", Forwarding: CutThrough, Pipeline: Overlapped,
			Marking: marking.Named(marking.None), CreditSensing: "auto", CreditsUndelayed: []string{"global"},
		},
		Terminal: TerminalConfig{InjectionCycles: 1},
	}
}

// Units: what a fabric simulates one by one.
const (
	UnitFlit   = "flit"
	UnitPacket = "packet"
)

// When a packet may leave a switch.
const (
	CutThrough      = "cut-through"
	StoreAndForward = "store-and-forward"
)

// Values of SwitchConfig.Pipeline.
const (
	Overlapped = "overlapped"
	Serial     = "serial"
)

// Values of SwitchConfig.VCAllocator and SwitchConfig.VCReuse.
const (
	OutputFirst = "output-first"
	InputFirst  = "input-first"
	TailSent    = "tail-sent"
	CreditsBack = "credits-back"
)

// Overlaps tells whether packets behind the front of a queue go through stages.
func (c *SwitchConfig) Overlaps() bool {
	return c.Pipeline == Overlapped && c.RouteCycles+c.VCAllocCycles > 0
}

// Cycles is the longest time of a flit in an idle switch, without channels: all stages, in whole
// cycles.
func (c *SwitchConfig) Cycles() int64 { return c.CyclesBehind(0) }

// CyclesBehind is [SwitchConfig.Cycles] of a head that waits for its tail, so many cycles behind it:
// it is routed meanwhile.
func (c *SwitchConfig) CyclesBehind(tail float64) int64 {
	route := float64(c.RouteCycles)
	return int64(math.Ceil((max(route, tail*c.Speedup) + float64(c.steps()) - route) / c.Speedup))
}

// PacketSteps is the least mean steps of the switch core that a packet of so many flits occupies a
// queue, and a virtual channel out of the switch, however much waits: docs/model.md, "Overlap".
func (c *SwitchConfig) PacketSteps(flits float64) (queue, output float64) {
	route, vc := float64(c.RouteCycles), float64(c.VCAllocCycles)
	if c.Pipeline == Serial {
		return route + vc + flits, vc + flits
	}
	return max(route, vc, flits), vc + flits
}

// steps is the number of steps of the switch core that a head takes.
func (c *SwitchConfig) steps() int {
	return c.RouteCycles + c.VCAllocCycles + c.SwitchAllocCycles + c.CrossbarCycles
}

// OverlapsBookSim2 tells whether stages overlap in a switch that otherwise has the pipeline of most
// set-ups of BookSim2: stages for virtual channels and switch, an internal speedup of 2.
func (c *SwitchConfig) OverlapsBookSim2() bool {
	return c.Pipeline == Overlapped && c.VCAllocCycles >= 1 && c.SwitchAllocCycles >= 1 && c.Speedup == 2 && !c.Hold
}

// CrossingCycles is the longest from a flit's grant to its departure by an idle channel, in cycles.
func (c *SwitchConfig) CrossingCycles() int64 {
	return int64(math.Ceil(float64(c.SwitchAllocCycles+c.CrossbarCycles) / c.Speedup))
}

// Holds tells whether packets hold their ports of a switch: by [SwitchConfig.Hold] or as the unit.
func (c *Config) Holds() bool { return c.Switch.Hold || c.Fabric.Unit == UnitPacket }

// OutputsHoldUp tells whether too few flits may wait behind the crossbar, from their grant on, to
// fill any channel.
func (c *SwitchConfig) OutputsHoldUp() bool {
	return c.OutputBufferFlits > 0 && int64(c.OutputBufferFlits) <= c.CrossingCycles()
}

// CyclesVary tells whether the time in an idle switch can be below [SwitchConfig.Cycles]: n cycles
// have floor(n*speedup) to ceil(n*speedup) steps, by their first cycle.
func (c *SwitchConfig) CyclesVary() bool {
	return math.Ceil(float64(c.Cycles()-1)*c.Speedup) >= float64(c.steps())
}

// RoundTrip is the shortest credit round trip of a channel in cycles: from a flit's grant at one switch,
// or its departure from a terminal, until its credit can be used there, if the next switch passes it
// on at once.
func (c *SwitchConfig) RoundTrip(channel ChannelTiming, terminal bool) int64 {
	back := int64(math.Ceil(float64(c.RouteCycles+c.VCAllocCycles+c.SwitchAllocCycles) / c.Speedup))
	trip := channel.Latency + back + channel.CreditLatency
	if terminal {
		return trip + TerminalCreditCycles
	}
	return trip + int64(c.CreditCycles) + c.CrossingCycles()
}

// TerminalCreditCycles is the cycles from the arrival of a credit at a terminal until it can be used there.
const TerminalCreditCycles = 1

// RoundTripToTerminal is [SwitchConfig.RoundTrip] of a channel to a terminal that has buffers: it sends the
// credit a cycle after the flit's arrival.
func (c *SwitchConfig) RoundTripToTerminal(channel ChannelTiming) int64 {
	return c.CrossingCycles() + channel.Latency + 1 + channel.CreditLatency + int64(c.CreditCycles)
}

// ChannelTiming is a channel class in cycles.
type ChannelTiming struct {
	Latency       int64   // at least 1
	CreditLatency int64   // of credits back, at least 1
	CyclesPerFlit float64 // at least 1: time that a flit occupies the channel, a multiple of 2^-20
}

// timingBits is the precision of a flit's time on a channel: rates that do not divide the clock
// keep their mean to one part in a million.
const timingBits = 20

// parseLink reads the InfiniBand link of a setting.
func parseLink(key, link string) (rate sim.Rate, err error) {
	if _, rate, err = topology.ParseLink(link); err != nil {
		_, want, _ := strings.Cut(err.Error(), "want ")
		err = &param.ParamError{Key: key, Value: link, Want: want}
	}
	return rate, err
}

// FlitTime is the longest clock, in whole ps, at which a channel of a rate takes a cycle or more a
// flit.
func FlitTime(rate sim.Rate, flit sim.Bytes) sim.Time {
	return max(1, sim.Time(rate.PicosecondsFor(flit)))
}

func classNames(g *topology.Graph) string {
	names := lists.Make(len(g.Classes), func(i int) string { return g.Classes[i].Name })
	return strings.Join(names, ", ")
}

// ChannelTimings turns the classes of g and their overrides into cycles. Problems are joined
// *param.ParamError with keys such as "channel.local.latency".
func (c *Config) ChannelTimings(g *topology.Graph) ([]ChannelTiming, error) {
	var problems []error
	timings := make([]ChannelTiming, len(g.Classes))
	known := map[string]bool{}
	for i, class := range g.Classes {
		known[class.Name] = true
		t, errs := c.resolveChannel(class, c.Channels[class.Name])
		timings[i] = t
		problems = append(problems, errs...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Channels)) {
		if !known[name] {
			problems = append(problems, &param.ParamError{Key: "channel." + name, Value: "(a table)", Want: "a channel class of this topology: " + classNames(g)})
		}
	}
	if c.Fabric.Link != "" {
		if clock, err := c.Fabric.LinkTime(); err != nil {
			problems = append(problems, err)
		} else if clock != c.Fabric.Clock {
			problems = append(problems, &param.ParamError{Key: "fabric.clock", Value: c.Fabric.Clock, Want: fmt.Sprintf("%v, the time of a flit on fabric.link = %q, or either of them left out", clock, c.Fabric.Link)})
		}
	}
	return timings, errors.Join(problems...)
}

// LinkTime is the clock that Link stands for.
func (c *PhysicalConfig) LinkTime() (sim.Time, error) {
	rate, err := parseLink("fabric.link", c.Link)
	if err != nil {
		return 0, err
	}
	return FlitTime(rate, c.FlitBytes), nil
}

func (c *Config) resolveChannel(class topology.Class, over ChannelConfig) (ChannelTiming, []error) {
	var problems []error
	key := "channel." + class.Name
	clock := c.Fabric.Clock
	flight := func(name string, over sim.Time, otherwise int64) int64 {
		latency := otherwise
		if over != 0 {
			latency = int64(over / clock)
			if over%clock != 0 || latency < 1 {
				problems = append(problems, &param.ParamError{Key: key + name, Value: over, Want: fmt.Sprintf("whole cycles of %v, at least one", clock)})
			}
		}
		if latency > math.MaxInt32/4 {
			problems = append(problems, &param.ParamError{Key: key + name, Value: over, Want: "less than 2^29 cycles"})
		}
		return min(latency, math.MaxInt32/4)
	}
	latency := flight(".latency", over.Latency, int64(max(class.Latency, 1)))
	back := flight(".credit_latency", over.CreditLatency, latency)
	cycles := 1.0
	rate := class.Rate
	if over.Rate != 0 {
		rate = over.Rate
	}
	if over.Link != "" {
		var err error
		if rate, err = parseLink(key+".link", over.Link); err != nil {
			problems = append(problems, err)
		}
	}
	switch {
	case over.Link != "" && (over.Rate != 0 || over.CyclesPerFlit != 0):
		problems = append(problems, &param.ParamError{Key: key + ".link", Value: over.Link, Want: "it alone, without rate or cycles_per_flit"})
	case over.Rate != 0 && over.CyclesPerFlit != 0:
		problems = append(problems, &param.ParamError{Key: key + ".rate", Value: over.Rate, Want: "either rate or cycles_per_flit, not both"})
	case over.CyclesPerFlit != 0:
		cycles = over.CyclesPerFlit
	case rate != 0:
		cycles = rate.PicosecondsFor(c.Fabric.FlitBytes) / float64(clock)
	}
	if !(cycles >= 1 && cycles <= 1e6) {
		name := ".rate"
		if over.CyclesPerFlit != 0 {
			name = ".cycles_per_flit"
		}
		want := "1 to 1,000,000 cycles a flit"
		if cycles < 1 && over.CyclesPerFlit == 0 {
			want = fmt.Sprintf("at least 1 cycle a flit: fabric.clock = \"%v\" works with flits of %v, and so do larger flits", FlitTime(rate, c.Fabric.FlitBytes), c.Fabric.FlitBytes)
		}
		problems = append(problems, &param.ParamError{Key: key + name, Value: fmt.Sprintf("%g cycles a flit", cycles), Want: want})
		cycles = 1
	}
	return ChannelTiming{latency, back, math.Round(cycles*(1<<timingBits)) / (1 << timingBits)}, problems
}

// FaultPlan is what fails in a run, and what is done about it.
//
// From the cycle of a failure on its channels carry nothing. Packets are discarded of which a part
// is on such a channel, waits for it behind the crossbar, or stands in its switch and was routed to
// it, as are those routed to it until the routing knows: switches of InfiniBand discard what waits
// for an inactive port. A packet is discarded whole and at once, wherever its flits are, and its
// credits are back at once; in hardware a truncated packet goes on to its destination, closed by an
// error, and takes bandwidth on the way. Credits on a failed link are not lost: links agree on them
// anew when they come back.
type FaultPlan struct {
	// Periods tells what is down when, from cycle 0 on.
	Periods []topology.Period
	// AfterWarmup: all periods but the first count cycles from the end of [measure.Run]'s warm-up;
	// the first lasts until then.
	AfterWarmup bool
	// Routing is the routing of each period (len = len(Periods)), of one algorithm with the same
	// virtual channels; the first is the fabric's.
	Routing []Routing
	// Reroute is the number of cycles from a change until the routing goes by it.
	Reroute int64
	// Timeout is the cycles after which an unacknowledged packet is sent again, Retries times at
	// most.
	Timeout int64
	Retries int
}

// FaultTally counts packets in a network with faults. Each packet born is delivered once,
// unreachable or lost; each transmission is delivered or dropped.
type FaultTally struct {
	Dropped       int64 // transmissions discarded in the network
	Retransmitted int64 // transmissions that repeat another
	Duplicates    int64 // transmissions delivered that had been before
	Lost          int64 // packets given up, the last transmission of which was dropped
	Unreachable   int64 // packets given up for want of a path
	GivenUpFlits  int64 // of lost and unreachable packets
	WastedFlits   int64 // delivered, but of duplicates or of packets that were not delivered whole
}

// Add sums two tallies up.
func (t *FaultTally) Add(o FaultTally) {
	t.Dropped += o.Dropped
	t.Retransmitted += o.Retransmitted
	t.Duplicates += o.Duplicates
	t.Lost += o.Lost
	t.Unreachable += o.Unreachable
	t.GivenUpFlits += o.GivenUpFlits
	t.WastedFlits += o.WastedFlits
}
