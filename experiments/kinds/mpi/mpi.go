// Package mpi is the kind mpi: programs of ranks on the runtime, over a network without contention
// or through a fabric, or on the LogGOPS machine. Kind jobs has its network from here.
package mpi

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

//go:embed tables.txt
var tablesText string

// tables are the kind's.
var tables = experiments.ReadTables(tablesText, telemetry.Tables)

func init() {
	experiments.Register(experiments.Kind[Config, mpiRow]{
		Name:   "mpi",
		Doc:    "a message-passing program, a skeleton or a GOAL schedule, on nodes with modelled adapters or on the LogGOPS machine",
		Tables: tables,
		Defaults: func() Config {
			d := fabric.DefaultConfig()
			d.Fabric.Clock = DefaultFlitTime
			return Config{
				Job:         JobTable{Ranks: 16, Machine: "loggp"},
				Workload:    WorkloadTable{experiments.Choose(skeletons.Registry, "ping-pong"), mpi.DefaultLocalWork},
				Placement:   mpi.Placement{Type: mpi.Block, PerNode: 4},
				Protocol:    mpi.DefaultProtocols,
				Connections: mpi.DefaultConnections,
				HCA:         HCATable{experiments.Choose(hca.Registry, DefaultAdapter)},
				System:      DefaultSystem(),
				LogGP:       mpi.DefaultLogGP,
				LogGOPS:     mpi.DefaultLogGOPS,
				Noise:       mpi.DefaultNoise,
				Memory:      mpi.DefaultMemory,
				Measure:     MeasureTable{Replications: 1},
				Trace:       telemetry.NoTrace,
				Topology:    network.TopologyTable{Type: experiments.Choose(topology.Registry, "single-switch")},
				Routing:     network.RoutingTable{Type: experiments.Choose(routing.Registry, "table")},
				Fabric:      d.Fabric, Switch: d.Switch, Terminal: d.Terminal,
			}
		},
		Complete: func(c *Config, given func(string) bool) {
			network.FollowClock(&c.Fabric, &c.Topology, c.Channel, given)
			c.FollowPreset(c.FollowSystem(given))
		},
		Check:     checkMPI,
		Preflight: preflightMPI,
		Draws:     func(c *Config) bool { return c.Placement.Type == mpi.Random || experiments.Draws(c) },
		Run:       runMPI,
		PointBeginsAgain: func(c *Config) string {
			if c.Measure.Timeline {
				return telemetry.AgainTimeline
			}
			return ""
		},
		Revision: 4,
	})
}

// The adapter of files that name none, and the time of a flit of 64 B on its link.
const (
	DefaultAdapter  = "qdr"
	DefaultFlitTime = 16 * sim.Nanosecond
)

type Config struct {
	Job         JobTable             `toml:"job" doc:"ranks and machine"`
	Workload    WorkloadTable        `toml:"workload" doc:"what the ranks do"`
	System      SystemTable          `toml:"system" doc:"presets of whole machines"`
	Placement   mpi.Placement        `toml:"placement" doc:"ranks on nodes"`
	Protocol    mpi.Protocols        `toml:"protocol" doc:"costs and thresholds of the message-passing library"`
	Connections mpi.Connections      `toml:"connections" doc:"how processes are connected"`
	HCA         HCATable             `toml:"hca" doc:"host channel adapters"`
	Noise       mpi.Noise            `toml:"noise" doc:"what puts ranks out of step; not for machine loggops"`
	Memory      mpi.Memory           `toml:"memory" doc:"a node's memory, which its processes share; not for machine loggops"`
	Measure     MeasureTable         `toml:"measure" doc:"how often a point is run, and what is written of the network"`
	Trace       telemetry.TraceTable `toml:"trace" doc:"machine fabric: packets of the run whose lives are written down"`
	LogGP       mpi.LogGP            `toml:"loggp" doc:"network without contention inside"`
	LogGOPS     mpi.LogGOPS          `toml:"loggops" doc:"machine of LogGOPSim; times in ns"`

	Topology network.TopologyTable           `toml:"topology" doc:"machine fabric: switches, terminals and channels; nodes are terminals"`
	Routing  network.RoutingTable            `toml:"routing" doc:"machine fabric: the way of packets"`
	Fabric   fabric.PhysicalConfig           `toml:"fabric" doc:"machine fabric: what a flit and a cycle are"`
	Switch   fabric.SwitchConfig             `toml:"switch" doc:"machine fabric: input-queued virtual-channel switch"`
	Terminal fabric.TerminalConfig           `toml:"terminal" doc:"machine fabric: end points"`
	Channel  map[string]fabric.ChannelConfig `toml:"channel" names:"CLASS" doc:"machine fabric: channels, by the classes that the topology names; those to terminals are as fast as the adapter's engines unless told otherwise"`
}

type JobTable struct {
	Ranks       int    `toml:"ranks" doc:"ranks of a skeleton; a GOAL schedule has its own" min:"1"`
	Machine     string `toml:"machine" doc:"loggp: runtime, adapters, a network without contention; fabric: runtime, adapters, switches and channels flit by flit; loggops: the LogGOPS machine, which knows none of the tables but its own" choices:"loggp|fabric|loggops"`
	Extrapolate int    `toml:"extrapolate" doc:"iterations of the whole program: total_s is the first simulated one, and the mean of the others for the rest; 0: as many as are simulated" min:"0"`
	FinishTimes bool   `toml:"finish_times" doc:"write ranks.csv, the finish time of every rank"`
}

type WorkloadTable struct {
	Type experiments.Choice[skeletons.Env, skeletons.Program] `toml:"type" doc:"skeleton of an application, or goal, trace: a schedule from a file"`
	mpi.LocalWork
}

type MeasureTable struct {
	Replications int  `toml:"replications" doc:"independent runs that a point sums up, with seeds derived from its own: times are their means, with 95 % confidence intervals from their spread, and counts their means, rounded; ranks.csv is of the first" min:"1" max:"1000"`
	Links        bool `toml:"links" doc:"machine fabric: write links.csv, the flits that every channel carried in the whole run, by virtual channel"`
	Series       int  `toml:"series" doc:"machine fabric: write series/POINT.csv, the flits that every channel carried in so many intervals of the run, or up to twice as many, of the first replication; 0: none" min:"0" max:"200"`
	Timeline     bool `toml:"timeline" doc:"write timeline.csv, what every rank does and waits for at which time, critical_path.csv, the chain of work and messages that led to the end, and both for Perfetto, timelines/POINT.json; of the first replication"`
	Blame        bool `toml:"blame" doc:"machine fabric: divide the latency of every packet into its parts: writes blame.csv, by channel and switch, and congestion.csv, the trees of stalled channels and their roots"`
}

type HCATable struct {
	Preset experiments.Choice[struct{}, hca.Config] `toml:"preset" doc:"adapter to start from; protocol.copy_rate and workload.copy_rate are of its generation unless they are given"`
}

type mpiRow struct {
	Elapsed      float64 `column:"elapsed_s" doc:"simulated time of what was run"`
	ElapsedCI95  float64 `column:"elapsed_ci95_s" doc:"half-width of the 95 % confidence interval of elapsed_s, from the spread of the replications; empty for a single one"`
	Total        float64 `column:"total_s" doc:"elapsed_s extrapolated to job.extrapolate iterations" best:"lowest run time"`
	TotalCI95    float64 `column:"total_ci95_s" doc:"half-width of the 95 % confidence interval of total_s"`
	First        float64 `column:"first_iteration_s" doc:"first iteration, in which connections are made; empty without iterations"`
	FirstCI95    float64 `column:"first_iteration_ci95_s" doc:"half-width of the 95 % confidence interval of first_iteration_s"`
	Steady       float64 `column:"steady_iteration_s" doc:"mean of all iterations but the first; empty with fewer than two"`
	SteadyCI95   float64 `column:"steady_iteration_ci95_s" doc:"half-width of the 95 % confidence interval of steady_iteration_s"`
	Extrapolated bool    `column:"extrapolated" doc:"total_s has iterations that were not simulated"`
	Messages     int64   `column:"messages" doc:"point-to-point messages of the program that were simulated"`
	Control      int64   `column:"control_messages" doc:"RTS, CTS, FIN and what an algorithm sends to synchronise"`
	Handshakes   int64   `column:"handshakes" doc:"requests for a connection on demand"`
	QPs          float64 `column:"qps_on_demand_mean" doc:"QPs made on demand per process"`
	QPsPeak      int64   `column:"qps_on_demand_peak" doc:"QPs made on demand and open at once, of the process with the most"`
	KernelTime   float64 `column:"qp_kernel_per_rank_s" doc:"CPU time per process for making QPs"`
	ConnectWait  float64 `column:"connect_wait_per_rank_s" doc:"time that messages waited for their connection, summed, per process"`
	Misses       int64   `column:"context_misses" doc:"QP contexts that an adapter had to load"`
	MissTime     float64 `column:"context_miss_per_node_s" doc:"engine time of an adapter for loading them"`
	NotReady     int64   `column:"receiver_not_ready" doc:"arrivals that found no receive buffer"`
	Leaders      float64 `column:"leaders" doc:"leaders a node, where the skeleton is an alltoall by leaders"`
	Static       float64 `column:"memory_static_per_process_bytes" doc:"memory of a process for connections made at the start"`
	Memory       float64 `column:"memory_per_process_bytes" doc:"memory of a process with qps_on_demand_peak"`
	CPU          float64 `column:"cpu_mean_s" doc:"time that the CPU of a rank was at work, mean over ranks: computing, calls, copies and the kernel, interruptions included; the rest of elapsed_s it waited. This and the next eight are empty on machine loggops"`
	CPUMax       float64 `column:"cpu_max_s" doc:"cpu_mean_s of the rank with the most; close to elapsed_s: CPUs limit"`
	Copies       float64 `column:"copies_mean_s" doc:"part of cpu_mean_s for moving data inside the node: eager and shared messages on both sides, and the program's own copies"`
	CopiesMax    float64 `column:"copies_max_s" doc:"copies_mean_s of the rank with the most"`
	Adapter      float64 `column:"adapter_mean_s" doc:"time that an engine of an adapter was at work (requests, contexts, bytes), mean over the sending and the receiving ones"`
	AdapterMax   float64 `column:"adapter_max_s" doc:"adapter_mean_s of the busiest engine; close to elapsed_s: adapters limit"`
	Links        float64 `column:"terminal_links_max_s" doc:"time that flits took on the busiest channel between a terminal and its switch, which goes at the adapter's pace unless the file says otherwise; machine fabric"`
	Network      float64 `column:"network_max_s" doc:"time that flits took on the busiest channel between switches; close to elapsed_s: the network limits; machine fabric"`
	Bound        float64 `column:"bound_s" doc:"what the program takes at least under any routing: the most of its slowest message alone, and of the work of a CPU, an adapter, a terminal's link and the channels of a switch to others; messages do not wait for each other in it; machine fabric"`
	Operation    float64 `column:"operation_mean_s" doc:"as OSU's collective tests print it: what an iteration takes on a rank without the barrier behind it, mean over the ranks that take part and all iterations but the first (a single one counts); this and the next six are empty for programs without iterations"`
	OperationMin float64 `column:"operation_min_s" doc:"operation_mean_s of the rank with the least"`
	OperationMax float64 `column:"operation_max_s" doc:"operation_mean_s of the rank with the most"`
	Bandwidth    float64 `column:"bandwidth_bytes_per_s" doc:"osu-bandwidth: the bytes of all pairs over the time of the slowest sender, as osu_bw and osu_mbw_mr count"`
	MessageRate  float64 `column:"messages_per_s" doc:"osu-bandwidth: the messages of all pairs over the same time"`
	AlgBW        float64 `column:"algbw_bytes_per_s" doc:"osu-alltoall: as nccl-tests count, the vector, or the blocks of all ranks, over operation_mean_s"`
	BusBW        float64 `column:"busbw_bytes_per_s" doc:"algbw_bytes_per_s times what of it each rank has to send at least: 2(n-1)/n in an allreduce, (n-1)/n in an alltoall or allgather, 1 from or to a root"`
	NodeQPs      int64   `column:"qps_per_node" doc:"QPs of all processes of a node, the peak of those made on demand and those included by which XRC receives; 0 on machine loggops"`
}

// FollowPreset gives copies the rate of the adapter's generation, and the clock the time of a flit on its
// link, where no other is given.
func (c *Config) FollowPreset(given func(string) bool) {
	if adapter, ok := c.HCA.Preset.Config().(*hca.Config); ok && c.HCA.Preset.Name() != DefaultAdapter && c.Fabric.Clock == DefaultFlitTime && !given("fabric.clock") {
		c.Fabric.Clock = fabric.FlitTime(adapter.LinkRate, c.Fabric.FlitBytes)
	}
	rate, known := mpi.CopyRates[c.HCA.Preset.Name()]
	if !known {
		return
	}
	if !given("protocol.copy_rate") {
		c.Protocol.CopyRate = rate
	}
	if !given("workload.copy_rate") {
		c.Workload.CopyRate = rate
	}
}

// copyWarnings finds copies that eager messages wait for more than for the adapter. A rank of an
// all-to-all copies what it sends and what it receives, one after the other; the ranks of a
// node do so side by side and share the adapter.
func (c *Config) copyWarnings(adapter *hca.Config) []experiments.Warning {
	copies := float64(c.Protocol.CopyRate) / 2 * float64(c.Placement.PerNode)
	measured := c.System.Preset.Name() != "" && c.System.Preset.Name() != systems.QDR
	if measured || !c.Protocol.EagerCopies || c.Protocol.EagerLimit == 0 || copies >= 0.75*float64(adapter.Rate()) {
		return nil
	}
	return []experiments.Warning{{Key: "protocol.copy_rate", Message: fmt.Sprintf(
		"= %v limits eager messages, up to %v: with placement.per_node = %d a node copies %.4g Gb/s in each direction, beside an adapter of %v; protocol.eager_copies = false is a library without copies",
		c.Protocol.CopyRate, c.Protocol.EagerLimit, c.Placement.PerNode, copies/1e9, adapter.Rate())}}
}

func (c *Config) program() (skeletons.Program, error) {
	program, err := c.Workload.Type.BuildShared(skeletons.Env{Ranks: c.Job.Ranks, PerNode: c.Placement.PerNode})
	var problems []error
	for _, problem := range param.Errors(err) {
		var p *param.ParamError
		if errors.As(problem, &p) && p.Key == "workload.ranks" { // which stands elsewhere
			problem = &param.ParamError{Key: "job.ranks", Value: p.Value, Want: p.Want}
		}
		problems = append(problems, problem)
	}
	return program, errors.Join(problems...)
}

// build makes the workload in the time unit of its machine.
func (c *Config) build() (mpi.Workload, error) {
	program, err := c.program()
	if err != nil {
		return nil, err
	}
	unit := sim.Picosecond
	if c.Job.Machine == "loggops" {
		unit = sim.Nanosecond
	}
	return program.Run(unit, c.Workload.Costs()), nil
}

// Programs is the job of the point, whose program has times in ns.
func (c *Config) Programs() ([]mpi.Job, error) {
	program, err := c.program()
	return []mpi.Job{{Program: func() mpi.Workload { return program.Run(sim.Nanosecond, c.Workload.Costs()) }, Repeat: 1}}, err
}

// Adapter is the adapter of every node. Its packets are no longer than the fabric's MTU.
func (c *Config) Adapter() (hca.Config, error) {
	preset := &c.HCA.Preset
	adapter, err := experiments.Latest(preset.Shared(), "adapter", preset.Config(), func() (hca.Config, error) { return preset.Build(struct{}{}) })
	if m := c.Fabric.MTU; c.Job.Machine == "fabric" && m > 0 {
		adapter.MTU = min(adapter.MTU, m)
	}
	return adapter, err
}
