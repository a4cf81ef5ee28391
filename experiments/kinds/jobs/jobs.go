// Package jobs is the kind jobs: several programs of ranks that share a fabric, or a batch list
// of them, each alone and beside the others.
package jobs

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/connections"
	kind "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	_ "github.com/weft-sim/weft/mpi/applications" // programs for jobs
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

//go:embed tables.txt
var tablesText string

// tables are the kind's.
var tables = experiments.ReadTables(tablesText, telemetry.Tables)

func init() {
	experiments.Register(experiments.Kind[jobsConfig, jobsRow]{
		Name:   "jobs",
		Doc:    "several programs that share a network, each alone and beside the others: who slows whom",
		Tables: tables,
		Defaults: func() jobsConfig {
			d := fabric.DefaultConfig()
			d.Fabric.Clock = kind.DefaultFlitTime
			var first jobTable // of a file that has none
			first.Defaults()
			if err := errors.Join(first.Program.Choose("halo"), first.Placement.Choose("contiguous")); err != nil {
				panic("kinds: " + err.Error())
			}
			return jobsConfig{
				Job:      map[string]jobTable{"first": first},
				Protocol: mpi.DefaultProtocols, Connections: mpi.DefaultConnections, Noise: mpi.DefaultNoise,
				HCA:    kind.HCATable{Preset: experiments.Choose(hca.Registry, kind.DefaultAdapter)},
				System: kind.DefaultSystem(), Memory: mpi.DefaultMemory,
				Local:    mpi.DefaultLocalWork,
				Batch:    batchTable{experiments.Choose(batchPolicies, noBatch), experiments.Choose(placements, "contiguous")},
				Measure:  jobsMeasure{Replications: 1, Alone: true},
				Topology: network.TopologyTable{Type: experiments.Choose(topology.Registry, "dragonfly")},
				Routing:  network.RoutingTable{Type: experiments.Choose(routing.Registry, "min")},
				Fabric:   d.Fabric, Switch: d.Switch, Terminal: d.Terminal,
			}
		},
		Complete: func(c *jobsConfig, given func(string) bool) {
			network.FollowTopology(&c.Routing, &c.Topology, given)
			network.FollowClock(&c.Fabric, &c.Topology, c.Channel, given)
			c.followSystem(given)
			c.planned = new(atomic.Pointer[jobPlan])
		},
		Check: checkJobs,
		Draws: func(c *jobsConfig) bool { return experiments.Draws(c) },
		Preflight: func(c *jobsConfig, p *experiments.Preflight) error {
			m := c.mpi()
			err := network.CheckCertified(p, m.Spec(p.Seed, c.levels()), c.Fabric.AllowDeadlock)
			if err != nil || !p.Thorough {
				return err
			}
			return c.predictWork(p, m)
		},
		Run:         runJobs,
		Revision:    1,
		BeginsAgain: "the programs of several jobs keep no state from which they could go on",
	})
}

type jobsConfig struct {
	Job         map[string]jobTable `toml:"job" names:"NAME" doc:"programs that run at the same time, under names of your own; hosts are given to them in the order of their names"`
	Batch       batchTable          `toml:"batch" doc:"a list of jobs that come and go, in place of jobs that are all there"`
	Local       mpi.LocalWork       `toml:"local" doc:"work of programs inside a rank"`
	Protocol    mpi.Protocols       `toml:"protocol" doc:"costs and thresholds of the message-passing library"`
	Connections mpi.Connections     `toml:"connections" doc:"how processes are connected"`
	System      kind.SystemTable    `toml:"system" doc:"presets of whole machines"`
	HCA         kind.HCATable       `toml:"hca" doc:"host channel adapters"`
	Memory      mpi.Memory          `toml:"memory" doc:"a node's memory, which its processes share"`
	Noise       mpi.Noise           `toml:"noise" doc:"what puts ranks out of step"`
	Measure     jobsMeasure         `toml:"measure" doc:"what is run, and what is written"`

	Topology network.TopologyTable           `toml:"topology" doc:"switches, terminals and channels"`
	Routing  network.RoutingTable            `toml:"routing" doc:"the way of packets"`
	Fabric   fabric.PhysicalConfig           `toml:"fabric" doc:"what a flit and a cycle are"`
	Switch   fabric.SwitchConfig             `toml:"switch" doc:"input-queued virtual-channel switch"`
	Terminal fabric.TerminalConfig           `toml:"terminal" doc:"end points"`
	Channel  map[string]fabric.ChannelConfig `toml:"channel" names:"CLASS" doc:"channels, by the classes that the topology names; those to terminals are as fast as the adapter's engines unless told otherwise"`

	planned *atomic.Pointer[jobPlan] // the plan made last before a run: points of other seeds share the configuration
}

// followSystem sets what machine and adapter have and the file does not give; what kind mpi has in
// [workload], this one has in [local].
func (c *jobsConfig) followSystem(given func(string) bool) {
	m := c.mpi()
	m.FollowPreset(m.FollowSystem(func(key string) bool {
		work, of := strings.CutPrefix(key, "workload.")
		return given(key) || of && given("local."+work)
	}))
	c.System, c.HCA, c.Protocol, c.Memory, c.Fabric, c.Switch, c.Terminal = m.System, m.HCA, m.Protocol, m.Memory, m.Fabric, m.Switch, m.Terminal
	c.Local = m.Workload.LocalWork
	if c.System.Library == "" {
		return
	}
	for name, job := range c.Job { // in any order
		kind.FollowLibrary(job.Program.Config(), c.System.Library, given("job."+name+".library"))
	}
}

func (c *jobsConfig) AllowDeadlock() *bool { return &c.Fabric.AllowDeadlock }

type jobTable struct {
	Program   experiments.Choice[skeletons.Env, skeletons.Program] `toml:"program" doc:"what the ranks do: a skeleton, traffic, a GOAL schedule"`
	Placement experiments.Choice[placeEnv, placer]                 `toml:"placement" doc:"which hosts it gets"`
	Ranks     int                                                  `toml:"ranks" doc:"ranks of the program; a GOAL schedule has its own" min:"1" max:"16777216"`
	PerNode   int                                                  `toml:"per_node" doc:"ranks on a host" min:"1" max:"65536"`
	Start     sim.Time                                             `toml:"start" doc:"when it begins" min:"0ns"`
	Repeat    int                                                  `toml:"repeat" doc:"how often the program runs, one after the other; 0: until all jobs that have a number are through, as background" min:"0" max:"1000000"`
	Level     int                                                  `toml:"level" doc:"service level of its packets: each level from 0 to the highest of any job has virtual channels of its own, as many as the routing needs" min:"0" max:"15"`
	Until     sim.Time                                             `toml:"until" doc:"time from which on no rank begins the program again; 0ns: none" min:"0ns"`
}

func (t *jobTable) Defaults() {
	*t = jobTable{
		Program: experiments.Choose(skeletons.Registry, "halo"), Placement: experiments.Choose(placements, "contiguous"),
		Ranks: 16, PerNode: 1, Repeat: 1,
	}
}

type jobsMeasure struct {
	Replications int  `toml:"replications" doc:"independent runs that a point sums up, with seeds derived from its own" min:"1" max:"1000"`
	Alone        bool `toml:"alone" doc:"run every job that has a number of repetitions by itself, too, on the hosts that it has among the others: gives slowdowns"`
	Ranks        bool `toml:"ranks" doc:"write job_ranks.csv: where every rank was and when it was through, in the first replication"`
	Links        bool `toml:"links" doc:"write links.csv, the flits that every channel carried while all jobs ran, by virtual channel"`
	Timeline     bool `toml:"timeline" doc:"write timeline.csv, what every rank does and waits for at which time while all jobs run, critical_path.csv, the chain of work and messages that led to the end of each job with a number of repetitions, and both for Perfetto, timelines/POINT.json; of the first replication"`
	Blame        bool `toml:"blame" doc:"write job_blame.csv: by how much each job slows each other one, and at which cables, in the first replication; a run for each pair of jobs"`
}

type jobsRow struct {
	Jobs     int     `column:"jobs" doc:"number of jobs"`
	Elapsed  float64 `column:"elapsed_s" doc:"simulated time until the last job with a number of repetitions was through" best:"lowest time of all jobs"`
	Slowdown float64 `column:"slowdown_max" doc:"slowdown of the job that the others slow most: its time beside them over its time alone; empty without measure.alone" best:"lowest slowdown of the job that is slowed most"`
	CI95     float64 `column:"slowdown_max_ci95" doc:"half-width of the 95 % confidence interval of slowdown_max, from the spread of the replications; empty for a single one"`
	Mean     float64 `column:"slowdown_mean" doc:"a job's time beside the others over its time alone, mean over jobs"`
	Slowest  string  `column:"slowest" doc:"the job of slowdown_max"`
}

func (c *jobsConfig) levels() int {
	n := 1
	for _, job := range c.Job {
		n = max(n, job.Level+1)
	}
	return n
}

// names lists the tables [job.NAME] in the order in which jobs get ranks: by the alphabet.
func (c *jobsConfig) names() []string { return slices.Sorted(maps.Keys(c.Job)) }

// mpi is a configuration of kind mpi with the same network.
func (c *jobsConfig) mpi() *kind.Config {
	return &kind.Config{
		Job: kind.JobTable{Machine: "fabric"}, Workload: kind.WorkloadTable{LocalWork: c.Local}, System: c.System,
		Placement: mpi.Placement{Type: mpi.Explicit, PerNode: 1},
		Protocol:  c.Protocol, Connections: c.Connections, HCA: c.HCA, Noise: c.Noise, Memory: c.Memory, Measure: kind.MeasureTable{Links: c.Measure.Links},
		Trace: telemetry.NoTrace, Topology: c.Topology, Routing: c.Routing, Fabric: c.Fabric, Switch: c.Switch, Terminal: c.Terminal, Channel: c.Channel,
	}
}

// jobPlan is the jobs of a point with their hosts.
type jobPlan struct {
	seed     uint64
	jobs     []mpi.Job
	tables   []jobTable // of each job
	programs []string   // their fingerprints
	hosts    []int32    // by rank
	batch    []batchedJob
	warnings []experiments.Warning
}

// add takes in a job on hosts of its own.
func (p *jobPlan) add(job mpi.Job, program string, table jobTable, hosts []int32) {
	for r := range job.Ranks {
		p.hosts = append(p.hosts, hosts[r/table.PerNode])
	}
	p.jobs, p.tables, p.programs = append(p.jobs, job), append(p.tables, table), append(p.programs, program)
}

// sharedPlan is plan before a run, once for a point, and for points one behind the other that have the same jobs.
func (c *jobsConfig) sharedPlan(seed uint64) (*jobPlan, error) {
	if p := c.planned.Load(); p != nil && p.seed == seed {
		return p, nil
	}
	reads := struct {
		Job      map[string]jobTable
		Batch    batchTable
		Local    mpi.LocalWork
		Topology network.TopologyTable
		seed     uint64
	}{c.Job, c.Batch, c.Local, c.Topology, seed}
	p, err := experiments.Latest(c.Topology.Type.Shared(), "plan", &reads, func() (*jobPlan, error) { return c.plan(seed) })
	if err == nil {
		c.planned.Store(p)
	}
	return p, err
}

// nodes are the hosts of a job, by rank.
func (p *jobPlan) nodes(job int) []int {
	first := lists.Sum(p.jobs[:job], func(before mpi.Job) int { return before.Ranks })
	return lists.Map(p.hosts[first:first+p.jobs[job].Ranks], func(host int32) int { return int(host) })
}

// plan places the jobs; problems of all of them are returned together.
func (c *jobsConfig) plan(seed uint64) (*jobPlan, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	env, p := placeEnv{topology: t}, &jobPlan{seed: seed}
	env.hosts, _ = experiments.Share(c.Topology.Type.Shared(), "hosts\n"+c.Topology.Type.Fingerprint(), func() ([]topology.SwitchID, error) {
		g := t.Graph()
		return lists.Map(g.Hosts(), func(rails []topology.TerminalID) topology.SwitchID { return g.TerminalSwitch(rails[0]) }), nil
	})
	costs := c.Local.Costs()
	switch policy, err := c.Batch.Policy.Build(struct{}{}); {
	case err != nil:
		return nil, err
	case policy != nil:
		return p, document.Under("batch", "batch.file", c.planBatch(p, policy, env, costs, seed))
	}
	free := slices.Repeat([]bool{true}, len(env.hosts))
	var problems []error
	for i, name := range c.names() {
		table := c.Job[name]
		job, program, err := table.job(name, costs, sim.Picosecond)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		stream := sim.NewStream(seed, "jobs.placement", i)
		env.stream = &stream
		placer, err := table.Placement.Build(env)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		need := (job.Ranks + table.PerNode - 1) / table.PerNode
		hosts := placer(env, free, need)
		if len(hosts) < need {
			problems = append(problems, &param.ParamError{Key: "job." + name + ".placement", Value: table.Placement.Name(),
				Want: fmt.Sprintf("%d hosts; it finds %d free ones of the %d of the topology", need, len(hosts), len(env.hosts))})
			continue
		}
		for _, h := range hosts {
			free[h] = false
		}
		p.add(job, program, table, hosts)
	}
	return p, errors.Join(problems...)
}

// Programs are the jobs in the order of their ranks, whose programs have times in ns. Jobs that run as long as others, or
// until a time, are refused: what they do is no schedule.
func (c *jobsConfig) Programs() ([]mpi.Job, error) {
	var all []mpi.Job
	var problems []error
	for _, name := range c.names() {
		table := c.Job[name]
		if table.Repeat == 0 || table.Until > 0 {
			problems = append(problems, &param.ParamError{Key: "job." + name + ".repeat", Value: table.Repeat, Want: "a number of repetitions and no until: what runs as long as others do is no schedule"})
			continue
		}
		job, _, err := table.job(name, c.Local.Costs(), sim.Nanosecond)
		problems = append(problems, err)
		all = append(all, job)
	}
	return all, errors.Join(problems...)
}

// job is the job of a table, and the fingerprint of its program.
func (t *jobTable) job(name string, costs mpi.Costs, unit sim.Time) (mpi.Job, string, error) {
	fingerprint := t.Program.Fingerprint()
	program, err := t.Program.BuildNamed(skeletons.Env{Ranks: t.Ranks, PerNode: t.PerNode}, fingerprint)
	if err == nil {
		err = kind.CheckPhases("job."+name, program)
	}
	if err != nil {
		return mpi.Job{}, "", err
	}
	needs := skeletons.NeedsOf(program)
	if needs.CPUs > 1 || needs.NICs > 1 {
		return mpi.Job{}, "", &param.ParamError{Key: "job." + name + ".program", Value: "goal", Want: fmt.Sprintf("a schedule with one CPU and one NIC a rank; this one has %d and %d", needs.CPUs, needs.NICs)}
	}
	begin := func() mpi.Workload { return program.Run(unit, costs) }
	return mpi.Job{Name: name, Ranks: needs.Ranks, Program: begin, Start: t.Start, Repeat: t.Repeat, Until: t.Until}, fingerprint, nil
}

func checkJobs(c *jobsConfig, seed uint64) ([]experiments.Warning, error) {
	if len(c.Job) == 0 {
		return nil, document.At("job", errors.New("is missing: want a table [job.NAME] for each job"))
	}
	if len(c.Job) > 1000 {
		return nil, document.At("job", fmt.Errorf("has %d tables; want at most 1000", len(c.Job)))
	}
	if c.Connections.TearDown {
		return nil, &param.ParamError{Key: "connections.tear_down", Value: true, Want: "false: jobs have no phases in common at whose ends connections could be closed"}
	}
	if err := c.Noise.Check(); err != nil {
		return nil, document.Under("noise", "noise", err)
	}
	if c.Measure.Blame && !c.Measure.Alone {
		return nil, &param.ParamError{Key: "measure.blame", Value: true, Want: "measure.alone, too: blame is for what a job takes longer than alone"}
	}
	p, err := c.sharedPlan(seed)
	if err != nil {
		return nil, err
	}
	some := false
	programs := lists.Map(p.tables, func(table jobTable) any { return table.Program.Config() })
	for i := range p.jobs {
		some = some || p.jobs[i].Repeat > 0
	}
	if !some {
		return nil, &param.ParamError{Key: "job." + p.jobs[0].Name + ".repeat", Value: 0, Want: "at least one job with a number of repetitions: the others run as long as it does"}
	}
	m := c.mpi()
	adapter, err := m.Adapter()
	if err != nil {
		return nil, err
	}
	warnings := append(append(make([]experiments.Warning, 0, 36), p.warnings...), p.pairWarnings(m, adapter.MaxQP)...) // few points have more
	warnings = experiments.IdleOf(kind.IdleRuntime(warnings, m, programs...), idleJobs, m)
	if adapter.MTU > adapter.Quantum {
		warnings = append(warnings, experiments.Warning{Key: "hca.quantum", Message: "is smaller than a packet (hca.mtu)"})
	}
	ranks, nodes := 0, int(slices.Max(p.hosts))+1
	for i, program := range programs {
		ranks += p.jobs[i].Ranks
		if last := core.Last(c.Fabric.Clock); p.jobs[i].Start > last {
			return warnings, &param.ParamError{Key: "job." + p.jobs[i].Name + ".start", Value: p.jobs[i].Start, Want: fmt.Sprintf("at most %.4g s, as far as a fabric is simulated with this fabric.clock", last.Seconds())}
		}
		if p.jobs[i].Repeat == 1 {
			warnings = append(warnings, experiments.Warning{Key: "job." + p.jobs[i].Name + ".until", Message: "the program runs once", Idle: true})
		}
		if err := kind.CheckPackets(&adapter, p.jobs[i].Ranks, program); err != nil {
			return warnings, err
		}
	}
	if err := kind.CheckContexts(&adapter, ranks, nodes); err != nil {
		return warnings, err
	}
	warnings, err = m.CheckNetwork(warnings, &adapter, nodes, seed, c.levels())
	var problem *param.ParamError
	if errors.As(err, &problem) && problem.Key == "level" {
		for _, name := range c.names() {
			if c.Job[name].Level == problem.Value {
				problem.Key = "job." + name + ".level"
			}
		}
	}
	return warnings, err
}

// idleJobs are settings of connections that only count for their memory, which kind jobs does not
// report.
var idleJobs = []experiments.Idle[*kind.Config]{{
	Key:     "connections.buffer connections.request connections.send_depth connections.recv_depth connections.sizes",
	Because: "kind jobs does not report the memory of connections",
}}

// pairWarnings is for the jobs of a plan, whose processes connect within their own job.
func (p *jobPlan) pairWarnings(m *kind.Config, most int) []experiments.Warning {
	pairs := int64(0)
	for i, job := range p.jobs {
		pairs = max(pairs, m.Connections.Footprint(job.Ranks, p.tables[i].PerNode, 0).NodeQPs)
	}
	return connections.PairWarnings(pairs, most, "hca.max_qp")
}
