package fabric

import (
	"slices"

	"github.com/weft-sim/weft/fabric/allocator"
	"github.com/weft-sim/weft/fabric/marking"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Config holds everything about a fabric that is neither its graph nor its
// routing. Use [DefaultConfig] and change what differs.
type Config struct {
	Fabric   PhysicalConfig
	Switch   SwitchConfig
	Terminal TerminalConfig
	// Channels overrides the channel classes of the topology, by class name.
	Channels map[string]ChannelConfig
	// Probes sample ports of switches while the network runs.
	Probes []Probe
}

// PhysicalConfig is the [fabric] table: what a flit and a cycle are, and whether the
// network may deadlock.
type PhysicalConfig struct {
	FlitBytes sim.Bytes `toml:"flit_bytes" doc:"payload of a flit; needed only where rates are given in bits per second" min:"1B"`
	MTU       sim.Bytes `toml:"mtu" doc:"largest payload of a packet, as the ports of an InfiniBand fabric have: 256B, 512B, 1KiB, 2KiB or 4KiB; longer messages of kind mpi are cut, longer packets refused; left out: no limit" min:"0B"`
	Unit      string    `toml:"unit" doc:"what is simulated one by one: flits, or whole packets with their flits' times worked out: faster, with the same times where all are whole cycles; packet needs switch.hold" choices:"flit|packet"`
	Clock     sim.Time  `toml:"clock" doc:"length of a cycle of the flit clock; 1ns makes a cycle read as a nanosecond; left out, it follows link, or beside an imported fabric the fastest of its cables" min:"1ps"`
	Link      string    `toml:"link" doc:"InfiniBand link, such as 4xHDR, that carries a flit in a cycle, line coding taken off: sets the clock"`
	// AllowDeadlock accepts fewer virtual channels than the routing needs to be free of
	// deadlock; nothing else here looks at whether it is.
	AllowDeadlock bool `toml:"allow_deadlock" doc:"run a network that can deadlock, as --allow-deadlock does: warned of, noted in manifest.json and the report, and ended with the cycle of buffers if it comes to that"`
}

// mtus are those that ports can have (InfiniBand Architecture Specification, volume 1,
// 14.2.5.6, NeighborMTU). A port has one for all of its data lanes.
var mtus = []sim.Bytes{256, 512, 1024, 2048, 4096}

// Validate checks the MTU; see [param.Validate].
func (c *PhysicalConfig) Validate() error {
	if c.MTU == 0 || slices.Contains(mtus, c.MTU) {
		return nil
	}
	return &param.ParamError{Key: "mtu", Value: c.MTU, Want: "256B, 512B, 1KiB, 2KiB or 4KiB, or it left out"}
}

// SwitchConfig is the [switch] table. Stages are counted in steps of the
// switch core; a core with speedup s takes s steps a cycle, so that at speedup
// 1 a step is a cycle of the flit clock.
type SwitchConfig struct {
	VCs               int              `toml:"vcs" doc:"virtual channels of every channel; 0: as many as the routing needs" min:"0" max:"16"`
	BufferFlits       int              `toml:"buffer_flits" doc:"input buffer of each virtual channel" unit:"flits" min:"1" max:"1000000000"`
	RouteCycles       int              `toml:"route_cycles" doc:"route computation" unit:"cycles of the switch core" min:"0" max:"10000"`
	VCAllocCycles     int              `toml:"vc_alloc_cycles" doc:"virtual-channel allocation; 0: heads take a virtual channel by winning the switch" unit:"cycles of the switch core" min:"0" max:"10000"`
	SwitchAllocCycles int              `toml:"switch_alloc_cycles" doc:"switch allocation" unit:"cycles of the switch core" min:"1" max:"10000"`
	CrossbarCycles    int              `toml:"crossbar_cycles" doc:"crossbar and output stage" unit:"cycles of the switch core" min:"0" max:"10000"`
	CreditCycles      int              `toml:"credit_cycles" doc:"processing of a credit that has come back" unit:"cycles" min:"0" max:"10000"`
	CreditsPerCycle   int              `toml:"credits_per_cycle" doc:"credits that an input sends back in a cycle, over all of its virtual channels; 0: one for every slot freed" min:"0" max:"16"`
	Speedup           float64          `toml:"speedup" doc:"steps of the switch core in a cycle of the flit clock" min:"1" max:"16"`
	Allocator         allocator.Choice `toml:"allocator" doc:"switch allocator"`
	Iterations        int              `toml:"iterations" doc:"iterations of the switch allocator in a step; 1 where it does not iterate" min:"1" max:"16"`
	OutputBufferFlits int              `toml:"output_buffer_flits" doc:"flits that may wait behind the crossbar for the channel; 0: unbounded" unit:"flits" min:"0" max:"1000000000"`
	Marking           marking.Choice   `toml:"marking" doc:"when ports mark packets for congestion, which programs are told of"`
	CreditSensing     string           `toml:"credit_sensing" doc:"delay credits by the congestion that their round trips show; auto: where the routing relies on it" choices:"auto|on|off"`
	CreditsUndelayed  []string         `toml:"credits_undelayed" doc:"channel classes over which credits are never delayed by credit sensing"`
	VLArbHigh         string           `toml:"vlarb_high" doc:"InfiniBand's arbitration between lanes, which are virtual channels: table of high priority, LANE:WEIGHT,... with weights of 64 bytes; empty with vlarb_low: flits of all lanes take turns"`
	VLArbLow          string           `toml:"vlarb_low" doc:"table of low priority"`
	VLHighLimit       int              `toml:"vl_high_limit" doc:"what the high table may send before the low one has a chance, in 4096 bytes; 0: a packet, 255: no limit" min:"0" max:"255"`
	FlowControl       string           `toml:"flow_control" doc:"when a packet of several flits may go on: wormhole with the first credit, cut-through when the whole packet fits" choices:"wormhole|cut-through"`
	Hold              bool             `toml:"hold" doc:"a packet keeps its input and its output of the switch from its first flit to its last; needs flow_control cut-through"`
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

// ChannelConfig is a [channel.CLASS] table. Zero values leave what the
// topology says.
type ChannelConfig struct {
	Latency       sim.Time `toml:"latency" doc:"flight time of a flit, and of a credit back; whole cycles, at least one"`
	Rate          sim.Rate `toml:"rate" doc:"data rate, with fabric.flit_bytes; default: one flit a cycle"`
	Link          string   `toml:"link" doc:"instead of rate: InfiniBand width and speed, such as 4xEDR"`
	CyclesPerFlit float64  `toml:"cycles_per_flit" doc:"instead of rate: cycles that a flit occupies the channel, at least 1" min:"0" max:"1000000"`
}

// DefaultConfig is the switch of the quick start: speedup 2, buffers of 32
// flits, a virtual channel allocated in the step in which it is first used.
// (With a step between the two, a virtual channel stands idle for part of
// every packet, and a single one cannot fill its channel with packets of one
// flit: docs/model.md.)
func DefaultConfig() Config {
	return Config{
		Fabric: PhysicalConfig{FlitBytes: 64, Unit: UnitFlit, Clock: sim.Nanosecond},
		Switch: SwitchConfig{
			BufferFlits: 32, RouteCycles: 0, VCAllocCycles: 0, SwitchAllocCycles: 1, CrossbarCycles: 1,
			CreditCycles: 1, CreditsPerCycle: 1, Speedup: 2, Allocator: allocator.Named(allocator.ISLIP), Iterations: 1, FlowControl: "wormhole", Forwarding: CutThrough, Pipeline: Overlapped,
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
