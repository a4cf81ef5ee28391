// Package traffic is the kind traffic: terminal programs, open-loop or others, over a fabric.
// Its points are replicated and searched for saturation (run.go), bounded and estimated before
// they run (throughput.go, preflight.go).
package traffic

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

//go:embed tables.txt
var tablesText string

// tables are the kind's.
var tables = experiments.ReadTables(tablesText, telemetry.Tables)

func init() {
	experiments.Register(experiments.Kind[trafficConfig, trafficRow]{
		Name:   "traffic",
		Doc:    "traffic of terminal programs, open-loop or others, through a network simulated flit by flit, or packet by packet: latency and throughput over load",
		Tables: tables,
		Silent: []string{"measure.series", "measure.queue_ports", "measure.queue_samples", "trace.choose", "trace.every", "trace.sources", "trace.destinations"},
		Defaults: func() trafficConfig {
			d := fabric.DefaultConfig()
			return trafficConfig{
				Topology: network.TopologyTable{Type: experiments.Choose(topology.Registry, "dragonfly")},
				Fabric:   d.Fabric, Switch: d.Switch, Terminal: d.Terminal,
				Routing: network.RoutingTable{Type: experiments.Choose(routing.Registry, "min")}, Recovery: network.DefaultRecovery(),
				Traffic: trafficTable{
					Pattern: experiments.Choose(traffic.Patterns, "uniform"), Process: experiments.Choose(traffic.Processes, "bernoulli"),
					Load: defaultLoad, PacketFlits: []int{1},
				},
				Program: programTable{experiments.Choose(terminal.Registry, openLoop)},
				Measure: measureTable{Precision: 0.05, Replications: 1, LoadPrecision: 0.01, QueuePorts: []string{"all"}, QueueSamples: []string{"waiting"}},
				Trace:   telemetry.NoTrace,
			}
		},
		Complete: func(c *trafficConfig, given func(string) bool) {
			network.FollowTopology(&c.Routing, &c.Topology, given)
			network.FollowClock(&c.Fabric, &c.Topology, c.Channel, given)
		},
		Check: checkTraffic,
		Draws: func(c *trafficConfig) bool { return experiments.Draws(c) },
		Preflight: func(c *trafficConfig, p *experiments.Preflight) error {
			return preflightTraffic(c.atLoad(c.offered()), p)
		},
		Run: runTraffic,
	})
}

// defaultLoad is the offered load of a file that gives none.
const defaultLoad = 0.1

type trafficConfig struct {
	Topology network.TopologyTable           `toml:"topology" doc:"switches, terminals and channels"`
	Fabric   fabric.PhysicalConfig           `toml:"fabric" doc:"what a flit and a cycle are"`
	Switch   fabric.SwitchConfig             `toml:"switch" doc:"input-queued virtual-channel switch"`
	Terminal fabric.TerminalConfig           `toml:"terminal" doc:"sources and sinks"`
	Channel  map[string]fabric.ChannelConfig `toml:"channel" names:"CLASS" doc:"channels, by the classes that the topology names, such as terminal, local and global"`
	Routing  network.RoutingTable            `toml:"routing" doc:"the way of packets"`
	Fault    map[string]network.FaultTable   `toml:"fault" names:"NAME" doc:"things that fail, under names of your own: links and switches that are down from the start, or for some time"`
	Recovery network.RecoveryTable           `toml:"recovery" doc:"what is done about faults"`
	Traffic  trafficTable                    `toml:"traffic" doc:"what is sent"`
	Phase    map[string]phaseTable           `toml:"phase" names:"NAME" doc:"changes of the traffic within the window, under names of your own; program open-loop"`
	Program  programTable                    `toml:"program" doc:"what terminals do: when they send, and what they answer"`
	Measure  measureTable                    `toml:"measure" doc:"how long, and what is kept"`
	Trace    telemetry.TraceTable            `toml:"trace" doc:"packets whose lives are written down"`
}

func (c *trafficConfig) AllowDeadlock() *bool { return &c.Fabric.AllowDeadlock }

type trafficTable struct {
	Pattern       experiments.Choice[traffic.Env, traffic.Pattern]        `toml:"pattern" doc:"destinations"`
	Process       experiments.Choice[traffic.ProcessEnv, traffic.Process] `toml:"process" doc:"times of packets"`
	Load          float64                                                 `toml:"load" doc:"offered load" unit:"flits per terminal and cycle" min:"0" max:"1"`
	PacketFlits   []int                                                   `toml:"packet_flits" doc:"size of packets, or a list of sizes to mix" unit:"flits" min:"1"`
	PacketWeights []float64                                               `toml:"packet_weights" doc:"how often each size of packet_flits occurs; default: equally often"`
}

type measureTable struct {
	Warmup        int64    `toml:"warmup" doc:"before the measured window; 0: until the mean latency has settled, and with routings that learn the mean number of hops too" unit:"cycles" min:"0" max:"1000000000000"`
	Window        int64    `toml:"window" doc:"measured; 0: as long as precision needs; with find at least" unit:"cycles" min:"0" max:"1000000000000"`
	Budget        int64    `toml:"budget" doc:"most cycles of warm-up and window together, where they are found, and at a load of find; 0: 100,000, or more: 4,000 times as many as a terminal takes to send a longest packet, 200 times the latency of the slowest channel" unit:"cycles" min:"0" max:"1000000000000"`
	Precision     float64  `toml:"precision" doc:"wanted half-width of the 95 % confidence interval of the mean latency, relative to it" min:"0.0001" max:"1"`
	Replications  int      `toml:"replications" doc:"independent runs that a point sums up, with seeds derived from its own; confidence intervals then come from their spread" min:"1" max:"1000"`
	Find          string   `toml:"find" doc:"saturation: search for the highest load at which the network is steady and the lowest at which it is saturated, instead of traffic.load; the row is that of the steady load" choices:"|saturation"`
	LoadPrecision float64  `toml:"load_precision" doc:"with find: step of the loads tried" unit:"flits per terminal and cycle" min:"0.001" max:"0.5"`
	Global        bool     `toml:"global_channels" doc:"write global_channels.csv, the load of the channels between groups, those to the next group and their neighbours told apart; needs a topology with groups"`
	Links         bool     `toml:"links" doc:"write links.csv, the flits that every channel carried in the window, by virtual channel"`
	Series        int      `toml:"series" doc:"write series/POINT.csv, the flits that every channel carried in each of so many intervals of the window, of the first replication; where the window is as long as precision needs, up to twice as many; 0: none" min:"0" max:"200"`
	Queues        sim.Time `toml:"queues" doc:"write queues.csv, what ports of switches show, sampled so often in the window (in whole cycles, rounded up), of the first replication; 0s: do not" min:"0ns"`
	QueuePorts    []string `toml:"queue_ports" doc:"ports that are sampled: all, a class of channels such as global, or names of switches and ports such as \"switch 0\" and \"switch 1 port 3\", in which * stands for anything"`
	QueueSamples  []string `toml:"queue_samples" doc:"what is sampled: flits waiting for the port; outstanding, those sent whose credits have not come back; sent and marked, flits that have left and packets that were marked since the sample before" choices:"waiting|outstanding|sent|marked"`
	Blame         bool     `toml:"blame" doc:"divide the latency of every measured packet into its parts: writes blame.csv, by channel and switch, and congestion.csv, the trees of stalled channels and their roots"`
	Levels        bool     `toml:"levels" doc:"write levels.csv, throughput and latency by service level; where the routing knows of none, all packets are of level 0"`
	Pairs         []string `toml:"pairs" doc:"write pairs.csv, throughput and latency of the packets from one terminal to another, each pair as \"SOURCE,DESTINATION\" by numbers or names; *: any terminal"`
	Lapse         sim.Time `toml:"time_lapse" doc:"write time_lapse.csv, accepted load and latency of what arrived in each interval of so long of the window (in whole cycles, rounded up); 0s: do not" min:"0ns"`
	Histogram     bool     `toml:"histogram" doc:"write histogram.csv, the distribution of packet latency"`
	Fairness      bool     `toml:"fairness" doc:"write fairness.csv: Jain's index and the extremes of what terminals send and receive"`
}

type trafficRow struct {
	OfferedLoad     float64 `column:"offered_load" doc:"flits per terminal that sends and cycle, as asked for or found; empty where the program is closed, or no load was found steady"`
	AcceptedLoad    float64 `column:"accepted_load" doc:"flits delivered in the window, per terminal that sends and cycle" best:"highest throughput"`
	LatencyMean     float64 `column:"latency_mean_ns" doc:"mean packet latency, from birth at the source to the arrival of the tail; latencies are empty where state is saturated: the packets that wait longest have not arrived"`
	LatencyCI95     float64 `column:"latency_ci95_ns" doc:"half-width of the 95 % confidence interval of latency_mean_ns (batch means); empty where the window is too short for one"`
	LatencyP50      float64 `column:"latency_p50_ns" doc:"median packet latency"`
	LatencyP95      float64 `column:"latency_p95_ns" doc:"95th percentile of packet latency"`
	LatencyP99      float64 `column:"latency_p99_ns" doc:"99th percentile of packet latency" best:"lowest 99th percentile of the latency"`
	LatencyMax      float64 `column:"latency_max_ns" doc:"largest packet latency"`
	NetworkLatency  float64 `column:"network_latency_mean_ns" doc:"mean latency without the time in the source queue"`
	Hops            float64 `column:"hops_mean" doc:"mean number of switches crossed"`
	MinimalFraction float64 `column:"minimal_fraction" doc:"share of packets that took no detour; 1 of routings without detours, whose paths may be longer than the shortest (up-down, min)"`
	Packets         int64   `column:"packets_measured" doc:"packets born in the window and delivered"`
	Cycles          int64   `column:"cycles" doc:"cycles simulated: warm-up, window and drain, of all replications"`
	State           string  `column:"state" doc:"whether the network keeps up: steady, saturated (latencies grow with the length of the run) or undecided"`
	StateReason     string  `column:"state_reason" doc:"what state follows from"`
	Saturated       bool    `column:"saturated" doc:"state is saturated"`
	Converged       bool    `column:"converged" doc:"state is steady, the warm-up settled, and precision was reached within the budget"`
	Dropped         int64   `column:"packets_dropped" doc:"transmissions of packets that faults discarded in the network, in the whole run, as the next three columns"`
	Retransmitted   int64   `column:"packets_retransmitted" doc:"transmissions that repeated another one"`
	Lost            int64   `column:"packets_lost" doc:"packets given up after their last transmission was dropped"`
	Unreachable     int64   `column:"packets_unreachable" doc:"packets given up because no path led to their destination"`
	AcceptedCI95    float64 `column:"accepted_ci95" doc:"half-width of the 95 % confidence interval of accepted_load, which covers slow swings and drift where state is saturated and the window is found; empty where the window is too short for one"`
	P50CI95         float64 `column:"latency_p50_ci95_ns" doc:"half-width of the 95 % confidence interval of latency_p50_ns, from the spread of replications; empty where there is one replication"`
	P95CI95         float64 `column:"latency_p95_ci95_ns" doc:"half-width of the 95 % confidence interval of latency_p95_ns, from the spread of replications; empty where there is one replication"`
	P99CI95         float64 `column:"latency_p99_ci95_ns" doc:"half-width of the 95 % confidence interval of latency_p99_ns, from the spread of replications; empty where there is one replication"`
	SaturatedLoad   float64 `column:"saturated_load" doc:"lowest load found saturated by measure.find, in flits per terminal and cycle; empty where none was"`
}

// trafficParts is what a configuration builds before its fabric.
type trafficParts struct {
	topology topology.Topology
	fabric   fabric.Config
	network.Routed
	pattern  traffic.Pattern
	senders  float64 // share of the terminals that send
	sizes    *traffic.Sizes
	workload fabric.Workload // nil: an open loop, which is made when it runs
	trace    observe.TracePlan
	pairs    []measure.Pair
	phases   []measure.Phase
}

// build constructs everything that is cheap; all problems are returned together.
func (c *trafficConfig) build(seed uint64) (*trafficParts, error) {
	parts := &trafficParts{fabric: fabric.Config{Fabric: c.Fabric, Switch: c.Switch, Terminal: c.Terminal, Channels: c.Channel}}
	var problems []error
	var err error
	if parts.sizes, err = traffic.NewSizes(c.Traffic.PacketFlits, c.Traffic.PacketWeights); err != nil {
		problems = append(problems, document.Under("traffic", "traffic.packet_flits", err))
	} else if c.Program.Type.Name() == openLoop { // known before the topology is built
		_, err := c.process(parts.sizes.Mean())
		problems = append(problems, err)
	}
	longest := slices.Max(append([]int{0}, c.Traffic.PacketFlits...))
	if program, answers := c.Program.Type.Config().(terminal.Answering); answers {
		longest = max(longest, program.AnswerFlits())
	}
	problems = append(problems, network.CheckFit(&c.Fabric, &c.Switch, longest))
	if parts.topology, err = c.Topology.Type.BuildShared(struct{}{}); err != nil {
		return nil, errors.Join(append(problems, err)...) // nothing else can be built
	}
	name := c.Topology.Type.Name()
	var unknown, impossible, unpaired, unchanged error
	parts.trace, unknown = c.Trace.Plan(parts.topology.Graph().Terminals())
	parts.pattern, impossible = c.Traffic.Pattern.Build(traffic.Env{Topology: parts.topology, TopologyName: name, Seed: param.SeedFor(c.Traffic.Pattern.Config(), seed)})
	parts.senders = parts.sending()
	parts.pairs, unpaired = pairsOf(parts.topology.Graph(), c.Measure.Pairs)
	parts.phases, unchanged = c.phases(parts, seed)
	problems = append(problems, unknown, impossible, unpaired, c.checkLapse(), unchanged)
	if _, grouped := parts.topology.(topology.Grouped); c.Measure.Global && !grouped {
		problems = append(problems, document.At("measure.global_channels", fmt.Errorf("needs a topology with groups; %s has none", name)))
	}
	if parts.Routed, err = c.Network(seed).Build(parts.topology, &parts.fabric); err == nil {
		if err = c.probe(parts); err == nil {
			err = parts.fabric.Check(parts.topology.Graph(), parts.Routing)
		}
	}
	problems = append(problems, err)
	if errors.Join(problems...) == nil {
		packets := c.kept(parts, c.Traffic.Load)
		problems = append(problems, input.CheckMemory("recovery.timeout", c.Recovery.Timeout, fmt.Sprintf("%.3g packets, kept until their timeout,", packets), keptBytes*packets))
	}
	losses := ""
	switch {
	case len(parts.Periods) > 1:
		losses = "faults that come or go during the run"
	case len(parts.Periods) > 0:
		losses = "faults"
	}
	if c.Measure.Blame && len(parts.Periods) > 1 {
		problems = append(problems, document.At("measure.blame", fmt.Errorf("does not go with %s: packets that are dropped have no latency to divide", losses)))
	}
	if errors.Join(problems...) == nil && c.Program.Type.Name() != openLoop {
		if parts.workload, err = c.workload(parts, seed); err != nil {
			problems = append(problems, err)
		} else if losses != "" && !fabric.BearsLosses(parts.workload) {
			problems = append(problems, document.At("program.type", fmt.Errorf("%q does not go with %s: it would wait for answers to packets that are lost", c.Program.Type.Name(), losses)))
		}
	}
	return parts, errors.Join(problems...)
}

// timeout is how many cycles a packet is kept for another transmission, even if it has arrived: as
// long as a run waits for one that faults have taken.
func (c *trafficConfig) timeout(parts *trafficParts) float64 {
	if c.Recovery.Retries == 0 || len(parts.Periods) < 2 {
		return 0
	}
	return float64(c.Recovery.Timeout) / float64(parts.fabric.Fabric.Clock)
}

// keptBytes is the memory of a packet that is kept, with its timer.
const keptBytes = 80

// kept is how many packets are kept at a load.
func (c *trafficConfig) kept(parts *trafficParts, load float64) float64 {
	return c.timeout(parts) * load * float64(parts.topology.Graph().Terminals()) * parts.senders / parts.sizes.Mean()
}

func checkTraffic(c *trafficConfig, seed uint64) ([]experiments.Warning, error) {
	var warnings []experiments.Warning
	if c.Measure.Find != "" {
		c = c.atLoad(c.Measure.LoadPrecision)
	}
	parts, err := c.build(seed)
	if err != nil {
		return nil, network.ExplainVCs(err, c.Network(seed))
	}
	if parts.closed() && c.Measure.Find != "" {
		return nil, document.At("measure.find", fmt.Errorf("needs a load; program %q is closed and offers none", c.Program.Type.Name()))
	}
	warnings = append(warnings, c.idle(parts)...)
	warnings = append(warnings, network.BufferWarnings(&parts.fabric, parts.topology.Graph())...)
	if c.Switch.OverlapsBookSim2() {
		warnings = append(warnings, experiments.Warning{Key: "switch.pipeline", Unset: true,
			Message: `is "overlapped" where it is left out: BookSim2's stages, which these settings look like, work on a packet one after the other, which is "serial" (docs/validation.md)`})
	}
	return append(warnings, c.warmupWarnings(parts)...), nil
}

// openLoop is the program of files that name none.
const openLoop = "open-loop"

type programTable struct {
	Type experiments.Choice[terminal.Env, fabric.Workload] `toml:"type" doc:"program that every terminal runs"`
}

// process makes the times of packets, if each counts for so many flits of the load.
func (c *trafficConfig) process(flits float64) (traffic.Process, error) {
	return c.Traffic.Process.Build(traffic.ProcessEnv{Load: c.Traffic.Load, MeanFlits: flits})
}

// silent tells of the terminals that send nothing; nil: all send.
func (parts *trafficParts) silent() func(topology.TerminalID) bool {
	if s, ok := parts.pattern.(traffic.Sparse); ok {
		return s.Silent
	}
	return nil
}

// sending is the share of the terminals that send.
func (parts *trafficParts) sending() float64 {
	n, quiet, silent := parts.topology.Graph().Terminals(), 0, parts.silent()
	for t := range topology.TerminalID(n) {
		if silent != nil && silent(t) {
			quiet++
		}
	}
	return 1 - float64(quiet)/float64(n)
}

// closed tells whether births wait for arrivals.
func (parts *trafficParts) closed() bool { return parts.workload != nil && parts.workload.Closed() }

// workload builds the program for the terminals of the point.
func (c *trafficConfig) workload(parts *trafficParts, seed uint64) (fabric.Workload, error) {
	var processErr error // which has its own keys
	w, err := c.Program.Type.Build(terminal.Env{
		Terminals: parts.topology.Graph().Terminals(), Pattern: parts.pattern, Sizes: parts.sizes, MeanFlits: parts.sizes.Mean(),
		Process: func(flits float64) (measure.Process, error) {
			var process traffic.Process
			process, processErr = c.process(flits)
			return process, processErr
		},
		Phases: parts.phases, Silent: parts.silent(), Seed: seed, Clock: c.Fabric.Clock,
	})
	if processErr != nil {
		return nil, processErr
	}
	return w, err
}

// writeProgram keeps what the program has noted: times, such as round trips, in program.csv, and
// values, such as windows, in samples.csv.
func writeProgram(run *experiments.Run, measures []measure.Measure, clock float64) {
	var times, values *experiments.Output
	for i := range measures {
		m, scale := &measures[i], clock
		name, unit := terminal.UnitOf(m.Name)
		cells := []any{name}
		t, kind := &times, "program"
		if unit != "" {
			cells, t, kind, scale = []any{name, unit}, &values, "samples", 1
		}
		if *t == nil {
			*t = run.Table(tables.Named(kind))
		}
		largest := math.NaN()
		if m.Cycles.N() > 0 {
			largest = float64(m.Cycles.Max()) * scale
		}
		quantile := func(q float64) float64 { return m.Cycles.Quantile(q) * scale }
		(*t).Add(append(cells, m.Cycles.N(), m.Mean()*scale, quantile(0.5), quantile(0.95), quantile(0.99), largest)...)
	}
}

// warmupWarnings finds a warm-up that ends before a packet can have arrived over the
// slowest channel between switches: the window would count how an empty network fills, and
// the accepted load would be too low. preflightTraffic compares with the idle latency, too.
func (c *trafficConfig) warmupWarnings(parts *trafficParts) []experiments.Warning {
	g := parts.topology.Graph()
	timings, err := parts.fabric.ChannelTimings(g)
	first := firstArrival(g, timings)
	if warmup := c.Measure.Warmup; err != nil || warmup == 0 || first <= warmup {
		return nil
	}
	return []experiments.Warning{{Key: "measure.warmup", Message: fmt.Sprintf(
		"= %d: ends before a packet can have arrived over the slowest channel between switches, after %d cycles on channels alone; 0 warms up until the mean latency has settled", c.Measure.Warmup, first)}}
}

// firstArrival is the least time in cycles that a flit takes on channels if one of them is the
// slowest between switches; 0 if there is one switch.
func firstArrival(g *topology.Graph, timings []fabric.ChannelTiming) int64 {
	between := int64(0)
	for p, peer := range g.Peer {
		if peer >= 0 {
			between = max(between, timings[g.PortClass[p]].Latency)
		}
	}
	if between == 0 {
		return 0
	}
	terminal := int64(math.MaxInt64)
	for _, p := range g.TerminalPort {
		terminal = min(terminal, timings[g.PortClass[p]].Latency)
	}
	return 2*terminal + between
}
