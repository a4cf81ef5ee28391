package jobs

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	kind "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// placements holds the ways to choose a job's hosts among those that are free.
var placements = param.NewRegistry[placeEnv, placer]("placement")

// placeEnv is what a placement chooses for.
type placeEnv struct {
	topology topology.Topology
	hosts    []topology.SwitchID // of each host its switch
	stream   *sim.Stream
}

// placer chooses hosts, in the order in which ranks take them; fewer than needed where it
// finds no more.
type placer func(e placeEnv, free []bool, need int) []int32

// drawnConfig is of placements at random.
type drawnConfig struct{}

func (drawnConfig) Seeded() {}

// fragmentedConfig configures hosts with gaps between.
type fragmentedConfig struct {
	Every int `toml:"every" doc:"placement fragmented: every so-manieth free host, from the first on, and then those between" min:"1"`
}

// listedConfig configures hosts that are given.
type listedConfig struct {
	Nodes []int `toml:"nodes" doc:"placement listed: hosts by number, in the order of ranks; they may be another job's, too" min:"0"`
}

func init() {
	param.Register(placements, "contiguous", "the first free hosts", struct{}{}, func(struct{}, placeEnv) (placer, error) {
		return contiguous, nil
	})
	param.Register(placements, "random", "free hosts at random", drawnConfig{}, func(drawnConfig, placeEnv) (placer, error) {
		return func(e placeEnv, free []bool, need int) []int32 {
			all := contiguous(e, free, len(free))
			sim.Shuffle(e.stream, all)
			return all[:min(need, len(all))]
		}, nil
	})
	param.Register(placements, "random-switch", "switches at random, with all free hosts of each", drawnConfig{}, func(drawnConfig, placeEnv) (placer, error) {
		return func(e placeEnv, free []bool, need int) []int32 {
			return byUnit(e, free, need, func(s topology.SwitchID) int { return int(s) })
		}, nil
	})
	param.Register(placements, "random-group", "groups of a dragonfly, or pods of a fat tree, at random, with all free hosts of each", drawnConfig{}, func(_ drawnConfig, e placeEnv) (placer, error) {
		groups, err := groupsOf(e.topology)
		if err != nil {
			return nil, err
		}
		return func(e placeEnv, free []bool, need int) []int32 {
			return byUnit(e, free, need, func(s topology.SwitchID) int { return groups[s] })
		}, nil
	})
	param.Register(placements, "fragmented", "free hosts at regular distances, as a machine in use leaves them", fragmentedConfig{2}, func(c fragmentedConfig, _ placeEnv) (placer, error) {
		return func(e placeEnv, free []bool, need int) (hosts []int32) {
			all := contiguous(e, free, len(free))
			for first := range min(c.Every, len(all)) {
				for i := first; i < len(all) && len(hosts) < need; i += c.Every {
					hosts = append(hosts, all[i])
				}
			}
			return hosts
		}, nil
	})
	param.Register(placements, "listed", "hosts by number", listedConfig{}, newListed)
}

func contiguous(_ placeEnv, free []bool, need int) (hosts []int32) {
	for h := range free {
		if free[h] && len(hosts) < need {
			hosts = append(hosts, int32(h))
		}
	}
	return hosts
}

// byUnit takes units of switches in random order.
func byUnit(e placeEnv, free []bool, need int, unitOf func(topology.SwitchID) int) (hosts []int32) {
	members := map[int][]int32{}
	var units []int
	for h := range free {
		u := unitOf(e.hosts[h])
		if members[u] == nil {
			units = append(units, u)
		}
		members[u] = append(members[u], int32(h))
	}
	sim.Shuffle(e.stream, units)
	for _, u := range units {
		for _, h := range members[u] {
			if free[h] && len(hosts) < need {
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}

// groupsOf numbers the groups of a topology by switch: of a dragonfly its groups; of a tree what
// hangs together below its highest level.
func groupsOf(t topology.Topology) ([]int, error) {
	g := t.Graph()
	groups := make([]int, g.Switches())
	if grouped, ok := t.(topology.Grouped); ok {
		for s := range groups {
			groups[s] = grouped.GroupOf(topology.SwitchID(s))
		}
		return groups, nil
	}
	tree, ok := t.(topology.Tree)
	if !ok {
		return nil, errors.New("needs a topology with groups, or a tree with pods")
	}
	for s := range groups {
		groups[s] = -1
	}
	below := func(s topology.SwitchID) bool { return tree.LevelOf(s) < tree.Levels()-1 }
	for s := range groups {
		if groups[s] >= 0 {
			continue
		}
		groups[s] = s
		for reached := []topology.SwitchID{topology.SwitchID(s)}; len(reached) > 0 && below(topology.SwitchID(s)); {
			at := reached[0]
			reached = reached[1:]
			for _, next := range g.Links(at) {
				if below(next) && groups[next] < 0 {
					groups[next] = s
					reached = append(reached, next)
				}
			}
		}
	}
	return groups, nil
}

func newListed(c listedConfig, e placeEnv) (placer, error) {
	if len(c.Nodes) == 0 {
		return nil, &param.ParamError{Key: "nodes", Value: "nothing", Want: "hosts"}
	}
	hosts := make([]int32, len(c.Nodes))
	for i, n := range c.Nodes {
		if n < 0 || n >= len(e.hosts) {
			return nil, &param.ParamError{Key: "nodes", Value: n, Want: fmt.Sprintf("hosts of the topology, 0 to %d", len(e.hosts)-1)}
		}
		if hosts[i] = int32(n); slices.Contains(hosts[:i], int32(n)) {
			return nil, &param.ParamError{Key: "nodes", Value: n, Want: "every host once"}
		}
	}
	return func(_ placeEnv, _ []bool, need int) []int32 { return hosts[:min(need, len(hosts))] }, nil
}

// predictWork estimates what the point costs: its jobs together, each alone and, for blame, with more
// and more of the others, where packets take shortest ways and no run is slowed.
func (c *jobsConfig) predictWork(p *experiments.Preflight, m *kind.Config) error {
	plan, err := c.sharedPlan(p.Seed)
	if err != nil {
		return err
	}
	adapter, err := m.Adapter()
	if err != nil {
		return err
	}
	t, config, r, err := m.FabricParts(&adapter, p.Seed, c.levels())
	if err != nil {
		return err
	}
	names, programs, others := make([]string, len(plan.jobs)), map[string]float64{}, m.Walks(p, &config)
	for j, job := range plan.jobs {
		name, operations := kind.Walk(p, job.Program, fmt.Sprintln(plan.programs[j], c.Local, plan.tables[j].PerNode), plan.nodes(j), others)
		names[j], programs[name] = name, operations
	}
	mtu, bytes := adapter.MTU, network.Memory(t.Graph(), max(r.VCs(), c.Switch.VCs))
	p.Later(programs, kind.NotWalked, func(float64) error {
		jobs, m := make([]kind.Demand, len(plan.jobs)), c.mpi()
		for j, job := range plan.jobs {
			m.Placement.Nodes = plan.nodes(j)
			if jobs[j], err = m.SharedDemand(p, names[j], job.Program, c.levels()); err != nil {
				return err
			}
		}
		m.Work(p, c.predictRuns(p, plan, jobs, m), mtu, bytes)
		return nil
	})
	return nil
}

// predictRuns estimates them from what each job asks for.
func (c *jobsConfig) predictRuns(p *experiments.Preflight, plan *jobPlan, jobs []kind.Demand, m *kind.Config) (hops float64) {
	ways, last := mpi.Ways{}, 0.0
	runs := func(j int, until float64) float64 { // until a time
		return max(1, math.Ceil((until-plan.jobs[j].Start.Seconds())/max(jobs[j].Seconds, 1e-12)))
	}
	for j, job := range plan.jobs {
		d := &jobs[j]
		ways = ways.Or(d.Ways)
		times := float64(job.Repeat)
		if job.Until > 0 {
			times = min(times, runs(j, job.Until.Seconds()))
		}
		if job.Repeat > 0 {
			d.Hops *= times
			last = max(last, job.Start.Seconds()+times*d.Seconds)
		}
	}
	all, alone, blame, simulations := 0.0, 0.0, 0.0, 0
	for j := range jobs {
		if plan.jobs[j].Repeat == 0 {
			jobs[j].Hops *= runs(j, last)
		}
		all += jobs[j].Hops
	}
	for victim := range jobs {
		if plan.jobs[victim].Repeat == 0 {
			continue
		}
		alone += jobs[victim].Hops
		together := jobs[victim].Hops
		for by := range jobs {
			if by != victim {
				together += jobs[by].Hops
				blame += together
				simulations++
			}
		}
	}
	p.Note("latency", "the jobs take %.4g us at least: the last to end, without the others", last*1e6)
	p.WarnOf(m.IdleMessages(ways))
	hops = all
	if c.Measure.Alone {
		hops += alone
	}
	hops *= float64(c.Measure.Replications)
	if c.Measure.Blame {
		p.Slower(network.BlameTimes)
		p.Note("cost", "measure.blame takes %d more simulations, each about %v times as long as one without, counted below", simulations, network.BlameTimes)
		hops += blame
	}
	return hops
}
