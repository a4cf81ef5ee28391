package mpi

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/connections"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

func checkMPI(c *Config, seed uint64) ([]experiments.Warning, error) {
	adapter, err := c.Adapter()
	if err != nil {
		return nil, err
	}
	if err := c.checkMemory(&adapter); err != nil {
		return nil, err
	}
	if err := c.checkObserved(); err != nil {
		return nil, err
	}
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	needs := skeletons.NeedsOf(program)
	var warnings []experiments.Warning
	if t, ok := program.(interface{ Notes() []string }); ok { // what of a trace is not replayed as it stands
		warnings = lists.Map(t.Notes(), func(note string) experiments.Warning { return experiments.Warning{Key: "workload.file", Message: note} })
	}
	warnings = experiments.IdleOf(experiments.IdleOf(warnings, idleMachines, c), idleProgram, c)
	if c.Job.Machine == "loggops" {
		return warnings, document.Under("loggops", "loggops", c.LogGOPS.Check())
	}
	warnings = IdleRuntime(experiments.IdleOf(warnings, telemetry.IdleTrace, &c.Trace), c, c.Workload.Type.Config())
	if needs.CPUs > 1 || needs.NICs > 1 {
		return nil, &param.ParamError{Key: "job.machine", Value: c.Job.Machine, Want: fmt.Sprintf("loggops: the schedule uses %d CPUs and %d NICs a rank, of which the runtime has one each", needs.CPUs, needs.NICs)}
	}
	if bad := c.Noise.Check(); bad != nil {
		return nil, document.Under("noise", "noise", bad)
	}
	nodes, bad := c.Placement.NumNodes(needs.Ranks)
	if bad != nil {
		return nil, document.Under("placement", "placement", bad)
	}
	if adapter.MTU > adapter.Quantum {
		warnings = append(warnings, experiments.Warning{Key: "hca.quantum", Message: "is smaller than a packet (hca.mtu)"})
	}
	warnings = slices.Concat(warnings, c.copyWarnings(&adapter), connections.PairWarnings(c.Connections.Footprint(needs.Ranks, c.Placement.PerNode, 0).NodeQPs, adapter.MaxQP, "hca.max_qp"))
	if c.Job.Machine == "fabric" {
		return c.CheckNetwork(warnings, &adapter, nodes, seed, 1)
	}
	return warnings, nil
}

// What a run takes at least, in bytes: records of a rank (its state, first
// operations, receives, place, progress and finish time); of a phase, which check
// and run keep until memory is collected; a clock of the LogGOPS machine; a packet that waits in an adapter.
const (
	rankBytes   = 300
	phaseBytes  = 24
	clockBytes  = 8
	packetBytes = 24
)

// checkMemory refuses, before anything is built, what no run could hold.
func (c *Config) checkMemory(adapter *hca.Config) error {
	name := c.Workload.Type.Name()
	own := name == "goal" || name == "trace" // ranks, of the file
	if !own {
		if err := c.checkRanks(c.Job.Ranks, 1, "job.ranks", adapter); err != nil {
			return err
		}
	}
	program, err := c.program()
	if err != nil {
		return err
	}
	if g, ok := program.(interface{ Ranks() int }); ok && own {
		needs := skeletons.NeedsOf(program)
		return c.checkRanks(g.Ranks(), needs.CPUs+2*needs.NICs, "workload.file", adapter)
	}
	if c.Job.Machine == "fabric" {
		if err := CheckPackets(adapter, c.Job.Ranks, c.Workload.Type.Config()); err != nil {
			return err
		}
	}
	return CheckPhases("workload", program)
}

// mostPhases bounds the time and memory of a check.
const mostPhases = 1 << 24

// CheckPhases refuses more iterations of the program of a table than can be counted or held.
func CheckPhases(table string, program skeletons.Program) error {
	p, ok := program.(mpi.Phased)
	if !ok {
		return nil
	}
	key := table + ".iterations"
	switch n := p.Phases(); {
	case n > math.MaxInt32 || p.Rounds(0) > math.MaxInt32 || p.Rounds(0) < 0:
		return &param.ParamError{Key: key, Value: n, Want: "at most 2147483647 rounds of messages in all iterations"}
	case n > mostPhases:
		return &param.ParamError{Key: key, Value: n, Want: fmt.Sprintf("at most %d iterations", mostPhases)}
	}
	return input.CheckMemory(key, p.Phases(), "so many iterations", phaseBytes*float64(p.Phases()))
}

// CheckPackets refuses messages of a program that the fabric cannot cut into packets: the packets
// of a burst are held by every adapter that sends.
func CheckPackets(adapter *hca.Config, ranks int, program any) error {
	longest := sim.Bytes(0)
	param.EachSetting(program, func(_ *param.Field, v reflect.Value) {
		if bytes, ok := v.Interface().(sim.Bytes); ok {
			longest = max(longest, bytes)
		}
	})
	if longest/adapter.MTU > maxMessagePackets {
		return &param.ParamError{Key: "hca.mtu", Value: adapter.MTU, Want: fmt.Sprintf("messages of at most %d packets; with those of the workload, of %v, this makes more", maxMessagePackets, longest)}
	}
	burst := min(longest, adapter.Quantum) / adapter.MTU
	return input.CheckMemory("hca.mtu", adapter.MTU, "the packets of a burst of every rank", packetBytes*float64(burst)*float64(ranks))
}

// maxMessagePackets bounds what the packets of a message are numbered with.
const maxMessagePackets = 1<<30 - 1

// checkRanks refuses numbers of ranks, which the setting key leads to, that no run
// could hold. A rank has so many clocks on the LogGOPS machine.
func (c *Config) checkRanks(ranks, clocks int, key string, adapter *hca.Config) error {
	if ranks > math.MaxInt32 {
		return &param.ParamError{Key: key, Value: ranks, Want: "at most 2147483647 ranks"}
	}
	bytes := rankBytes * float64(ranks)
	clocked := c.Job.Machine == "loggops"
	if clocked {
		bytes += clockBytes * float64(clocks) * float64(ranks)
	}
	if err := input.CheckMemory(key, ranks, "so many ranks", bytes); err != nil || clocked {
		return err
	}
	nodes, _ := c.Placement.NumNodes(ranks) // what is wrong with them is found later
	return CheckContexts(adapter, ranks, nodes)
}

// CheckContexts refuses adapters of so many nodes that hold more contexts than the memory, with those of the ranks.
func CheckContexts(adapter *hca.Config, ranks, nodes int) error {
	bytes := rankBytes*float64(ranks) + adapter.ContextBytes()*float64(nodes)
	return input.CheckMemory("hca.context_entries", adapter.ContextEntries, "the contexts of so many adapters and their ranks", bytes)
}

// IdleRuntime is idle of the tables that kind jobs has, too, beside the settings of programs.
func IdleRuntime(warnings []experiments.Warning, c *Config, programs ...any) []experiments.Warning {
	library := experiments.Idle[[]any]{Key: "system.library", When: c.ignoresLibrary, Because: "it adds no costs over this transport, and no program asks for its algorithms"}
	warnings = experiments.IdleOf(experiments.IdleOf(warnings, connections.Idle, &c.Connections), idleProtocol, c)
	return experiments.IdleOf(experiments.IdleOf(warnings, idleNoise, &c.Noise), []experiments.Idle[[]any]{library}, programs)
}

// IdleMessages warns of settings of messages that programs do not send: all take some ways only.
func (c *Config) IdleMessages(w mpi.Ways) []experiments.Warning {
	return experiments.IdleOf(nil, []experiments.Idle[mpi.Ways]{
		{Key: "protocol.shared_latency protocol.shared_overhead protocol.shared_short protocol.shared_peer_time protocol.shared_rate protocol.single_copy protocol.single_copy_time protocol.single_copy_rate memory.domains memory.domain_ranks memory.domain_latency memory.domain_rate",
			When: func(w mpi.Ways) bool { return !w.Inside }, Because: "no message stays in a node"},
		{Key: "protocol.zero_copy protocol.eager_copies protocol.eager_acknowledged protocol.eager_segment protocol.segment_overhead protocol.staging_page_time",
			When: func(w mpi.Ways) bool { return !w.Eager && !c.Connections.Proxy }, Because: "no message between nodes goes eagerly"},
		{Key: "protocol.rendezvous protocol.read_overhead protocol.register_time protocol.register_page_time hca.page_time",
			When: func(w mpi.Ways) bool { return !w.RDMA }, Because: allEager},
		{Key: "protocol.poll_overhead", When: func(w mpi.Ways) bool { return !w.Polled }, Because: "no receiver polls: that is of protocol.rendezvous = \"read\" and \"get\", and of direct writes"},
		{Key: "protocol.acknowledge", When: func(w mpi.Ways) bool {
			return !w.RDMA && (c.Connections.Mode == mpi.UD || !c.Protocol.EagerAcknowledged && c.Protocol.ZeroCopy == 0)
		}, Because: allEager},
	}, w)
}

const allEager = "all messages between nodes go eagerly, and no sender waits for one to come"

// idleMachines are tables of other machines than the point's.
var idleMachines = []experiments.Idle[*Config]{
	ofMachines("topology.* routing.* fabric.* switch.* terminal.* channel.* trace.*", "fabric"),
	ofMachines("loggp.*", "loggp"),
	ofMachines("loggops.*", "loggops"),
	ofMachines("system.* placement.* protocol.* connections.* noise.* memory.*", "loggp", "fabric"),
}

func ofMachines(tables string, machines ...string) experiments.Idle[*Config] {
	return experiments.Idle[*Config]{
		Key: tables, When: func(c *Config) bool { return !slices.Contains(machines, c.Job.Machine) },
		Because: fmt.Sprintf("it is of job.machine = \"%s\"", strings.Join(machines, `" or "`)),
	}
}

var idleProtocol = []experiments.Idle[*Config]{
	{Key: "connections.tear_down hca.qp_create hca.qp_modify", When: connectsBefore, Because: "no connections are made on demand"},
	{Key: "hca.qp_destroy", When: func(c *Config) bool { return !c.Connections.TearDown || connectsBefore(c) }, Because: "no connections are closed"},
	{Key: "hca.rnr_delay", When: func(c *Config) bool { return !c.Protocol.LimitBuffers }, Because: "protocol.limit_buffers is false"},
	{Key: "connections.srq_least", When: func(c *Config) bool { return !c.Protocol.LimitBuffers }, Because: "protocol.limit_buffers is false"},
	{Key: "connections.srq_least", When: func(c *Config) bool { return c.Connections.SRQBuffers > 0 }, Because: "connections.srq_buffers is given"},
	{Key: "protocol.read_overhead", When: func(c *Config) bool { return c.Protocol.Rendezvous == "write" }, Because: `it is of protocol.rendezvous = "read" and "get"`},
	{Key: "protocol.segment_overhead", When: func(c *Config) bool { return c.Protocol.EagerSegment == 0 }, Because: "protocol.eager_segment is 0B"},
	{Key: "protocol.single_copy_time protocol.single_copy_rate", When: func(c *Config) bool { return c.Protocol.SingleCopy == 0 }, Because: "protocol.single_copy is 0B"},
	{Key: "hca.page_time", When: func(c *Config) bool { return c.Protocol.RegisterPage == 0 }, Because: "protocol.register_page_time is 0ns"},
	{Key: "hca.inline_limit", When: (*Config).fetchesForNothing, Because: "protocol.buffer_time and hca.fetch_time are 0ns, hca.inline_rate and fetch_rate 0Gb/s"},
	{Key: "loggp.far_latency", When: func(c *Config) bool { return c.LogGP.PerLeaf == 0 }, Because: "loggp.nodes_per_leaf is 0"},
	{Key: "memory.domains memory.domain_ranks", When: oneDomain, Because: "memory.bandwidth is without limit, and memory.domain_latency and domain_rate are not given"},
	{Key: "system.transport", When: func(c *Config) bool { return !c.System.byTransport() }, Because: "no cost of the machine or the library depends on it"},
	{Key: "system.far_switches", When: func(c *Config) bool { return c.Job.Machine == "fabric" }, Because: "it is of loggp.far_latency"},
	{Key: "system.spine_latency system.far_switches", When: func(c *Config) bool { return c.System.Near() == 0 }, Because: "system.cable_latency and switch_latency are 0ns"},
	{Key: "system.spine_latency system.far_switches", When: func(c *Config) bool { return c.Job.Machine == "loggp" && c.LogGP.PerLeaf == 0 }, Because: "loggp.nodes_per_leaf is 0"},
	{Key: "memory.domain_latency memory.domain_rate", When: func(c *Config) bool { return c.Memory.Domains == 1 }, Because: "memory.domains is 1"},
	{Key: "memory.cached", When: func(c *Config) bool { return c.Memory.Bandwidth == 0 }, Because: "memory.bandwidth is without limit"},
}

// idleProgram are settings of the one program of kind mpi.
var idleProgram = []experiments.Idle[*Config]{
	{Key: "workload.window", When: func(c *Config) bool { return c.Workload.Type.Name() == "ping-pong" }, Because: `it is of workload.type = "osu-bandwidth"`},
	{Key: "placement.nodes", When: func(c *Config) bool { return c.Placement.Type != mpi.Explicit }, Because: `it is of placement.type = "explicit"`},
}

// fetchesForNothing tells whether it makes no difference if the bytes of a request go with the doorbell.
func (c *Config) fetchesForNothing() bool {
	adapter, err := c.Adapter()
	return err == nil && c.Protocol.BufferTime == 0 && adapter.FetchTime == 0 && adapter.FetchRate == 0 && adapter.InlineRate == 0
}

func connectsBefore(c *Config) bool { return !c.Connections.OnDemand && c.Connections.Group == 0 }

var idleNoise = []experiments.Idle[*mpi.Noise]{
	{Key: "noise.call_distribution", When: func(n *mpi.Noise) bool { return n.Call == 0 }, Because: "noise.call is 0"},
	{Key: "noise.compute_distribution", When: func(n *mpi.Noise) bool { return n.Compute == 0 }, Because: "noise.compute is 0"},
	{Key: "noise.spread", When: func(n *mpi.Noise) bool {
		return !(n.Call > 0 && n.CallLaw == mpi.Normal || n.Compute > 0 && n.ComputeLaw == mpi.Normal)
	}, Because: "nothing is drawn from a normal distribution"},
	{Key: "noise.daemon_every", When: func(n *mpi.Noise) bool { return n.DaemonTime == 0 }, Because: "noise.daemon_time is 0"},
	{Key: "noise.daemon_time", When: func(n *mpi.Noise) bool { return n.DaemonEvery == 0 }, Because: "noise.daemon_every is 0"},
}

// oneDomain tells whether it makes no difference in which domain of a node's memory a rank is.
func oneDomain(c *Config) bool {
	return c.Memory.Bandwidth == 0 && c.Memory.Between == 0 && c.Memory.Across == 0
}
