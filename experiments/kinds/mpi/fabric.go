package mpi

import (
	"errors"
	"fmt"
	"maps"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/adapters"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func (c *Config) AllowDeadlock() *bool { return &c.Fabric.AllowDeadlock }

func preflightMPI(c *Config, p *experiments.Preflight) error {
	if c.Job.Machine != "fabric" {
		return c.predictMessages(p)
	}
	err := network.CheckCertified(p, c.Spec(p.Seed, 1), c.Fabric.AllowDeadlock)
	if err != nil || !p.Thorough {
		return err
	}
	return c.predictWork(p)
}

// Spec names what packets of one of so many service levels have of the network.
func (c *Config) Spec(seed uint64, levels int) *network.Spec {
	return network.NewSpec(&c.Topology, &c.Routing, c.Switch.VCs/levels, seed, c.Fabric.AllowDeadlock).Through(&c.Switch)
}

// FabricParts builds what the fabric of an adapter is made of, with virtual channels for each of
// so many service levels, to be looked at: a run has a routing of its own.
func (c *Config) FabricParts(adapter *hca.Config, seed uint64, levels int) (topology.Topology, fabric.Config, fabric.Routing, error) {
	return c.fabricParts(adapter, seed, levels, (*network.Spec).Looked)
}

func (c *Config) fabricParts(adapter *hca.Config, seed uint64, levels int, route func(*network.Spec, topology.Topology) (fabric.Routing, error)) (topology.Topology, fabric.Config, fabric.Routing, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, fabric.Config{}, nil, err
	}
	config := fabric.Config{Fabric: c.Fabric, Switch: c.Switch, Terminal: c.Terminal, Channels: c.channels(t.Graph(), adapter)}
	c.ways(&config, t.Graph())
	if c.Switch.VCs%levels != 0 {
		return nil, config, nil, &param.ParamError{Key: "switch.vcs", Value: c.Switch.VCs, Want: fmt.Sprintf("a multiple of %d, the number of service levels, which have as many each", levels)}
	}
	r, err := route(c.Spec(seed, levels), t)
	if err == nil && levels > 1 {
		r, err = routing.ServiceLevels(r, levels)
	}
	return t, config, r, err
}

// channels gives the channels to terminals the pace of the adapters' engines,
// which is what holds up the network when they are slower than the link.
func (c *Config) channels(g *topology.Graph, adapter *hca.Config) map[string]fabric.ChannelConfig {
	all := map[string]fabric.ChannelConfig{}
	maps.Copy(all, c.Channel)
	last := -1
	for _, p := range g.TerminalPort {
		class := int(g.PortClass[p])
		if class == last {
			continue
		}
		last = class
		name := g.Classes[class].Name
		if channel := all[name]; channel.Rate == 0 && channel.Link == "" && channel.CyclesPerFlit == 0 {
			channel.Rate = adapter.Rate()
			all[name] = channel
		}
	}
	return all
}

// CheckNetwork finds what is wrong with the fabric for so many nodes, and adds to warnings.
func (c *Config) CheckNetwork(warnings []experiments.Warning, adapter *hca.Config, nodes int, seed uint64, levels int) ([]experiments.Warning, error) {
	t, config, r, err := c.FabricParts(adapter, seed, levels)
	if err != nil {
		return nil, network.ExplainVCs(err, c.Spec(seed, levels))
	}
	g := t.Graph()
	packet := int((int64(adapter.MTU) + int64(c.Fabric.FlitBytes) - 1) / int64(c.Fabric.FlitBytes))
	problems := []error{config.Check(g, r), network.CheckFit(&c.Fabric, &c.Switch, packet)}
	if n := g.HostCount(); nodes > n {
		problems = append(problems, document.At("topology.type", fmt.Errorf("has %d hosts; the ranks need %d nodes (placement.per_node = %d)", n, nodes, c.Placement.PerNode)))
	}
	_, bad := c.Trace.Plan(g.Terminals())
	problems = append(problems, bad)
	use := network.Use{Config: &config, Routing: r}
	return use.Idle(append(warnings, network.BufferWarnings(&config, g)...)), errors.Join(problems...)
}

// Simulation is a fabric on which ranks run.
type Simulation struct {
	*core.Fabric
	Adapters *adapters.Network // nil until the run divides the fabric
	All      *observe.Tracer   // of all packets, for a timeline; nil: none
	flit     sim.Bytes
	adapter  *hca.Config
	run      *experiments.Run
	jobs     *adapters.Jobs // nil: one program

	// What looks at it as the file asks for; nil: nothing.
	blame  *observe.Blame
	trace  *observe.Tracer
	series *observe.ChannelSeries
}

// Open builds the fabric of a replication, with virtual channels for each of so many service levels.
func (c *Config) Open(adapter *hca.Config, run *experiments.Run, seed uint64, levels int, jobs *adapters.Jobs) (*Simulation, error) {
	t, config, r, err := c.fabricParts(adapter, seed, levels, (*network.Spec).Route)
	if err != nil {
		return nil, err
	}
	f, err := core.New(t.Graph(), config, r, seed)
	return &Simulation{Fabric: f, flit: c.Fabric.FlitBytes, adapter: adapter, run: run, jobs: jobs}, err
}

// Divide is an [mpi.Divide]: it divides the fabric and puts adapters there.
func (s *Simulation) Divide(nodes int, alone sim.Time, why string) (_ mpi.Division, err error) {
	if alone > 0 {
		weights, hosts := make([]int32, s.Graph().Terminals()), s.Graph().Hosts()
		for _, rails := range hosts[:min(nodes, len(hosts))] {
			weights[rails[0]] = 1
		}
		why = s.DivideFor(s.run.Threads, int64(alone/s.Clock()), network.WorthBusy, weights)
	}
	s.run.OnOneThread(why)
	if s.Adapters, err = adapters.New(s.Fabric, s.flit, s.adapter, nodes, s.jobs); err == nil && s.All != nil {
		s.Adapters.Follow(s.All)
	}
	return s.Adapters, err
}

// End is called when a run is over, with its error. It finds out whether the fabric came to rest for
// good; whole is false where it was stopped before, or did not begin.
func (s *Simulation) End(err error) (whole bool, _ error) {
	network.Counter(s.Fabric, s.run)()
	if errors.Is(err, mpi.ErrStopped) || errors.Is(err, mpi.ErrTooLate) || s.Adapters == nil || !s.Adapters.Ran { // or a state could not be read whole
		return false, err
	}
	return true, errors.Join(s.Rest(), err)
}

// overFabric makes the network through the fabric, and what is to be done when the run is over: fill
// in what row says of it.
func (c *Config) overFabric(adapter *hca.Config, run *experiments.Run, seed uint64, seen *mpiObserved, timeline bool, row *mpiRow) (mpi.Divide, func(mpi.Result, error) (mpi.Result, error), error) {
	s, err := c.Open(adapter, run, seed, 1, nil)
	if err != nil {
		return nil, nil, err
	}
	timings, err := s.Config.ChannelTimings(s.Graph())
	if err != nil {
		return nil, nil, err
	}
	w, err := c.build()
	if err != nil {
		return nil, nil, err
	}
	asked, err := c.DemandOf(w, s.Graph(), &s.Config, adapter, seed, false)
	if err != nil {
		return nil, nil, err
	}
	row.Bound = asked.Seconds
	if err := c.observe(s, timeline); err != nil {
		return nil, nil, err
	}
	return s.Divide, func(result mpi.Result, err error) (mpi.Result, error) {
		whole, err := s.End(err)
		if whole && err == nil {
			row.Links, row.Network = 0, 0
			carried := telemetry.Carried{Timings: timings}
			carried.Add(s.ChannelFlits(), s.Graph().NumPorts()+s.Graph().Terminals(), s.Cycle())
			for i, cycles := range carried.Busy(s.Graph()) {
				most := &row.Links
				if telemetry.BetweenSwitches(s.Graph(), i) {
					most = &row.Network
				}
				*most = max(*most, cycles*s.Clock().Seconds())
			}
			seen.add(s)
			seen.Carried.Timings = timings
		}
		return result, err
	}, nil
}

// What is written of the network that a program's messages take: the same tables as of
// kind traffic. The window is the whole run, from the first cycle to the end of the last rank
// and of what is then still under way.

// checkObserved finds what is asked for of a machine without channels.
func (c *Config) checkObserved() error {
	switch l := &c.LogGOPS; {
	case c.Job.Machine != "loggops":
	case l.Compatible && l.Atlahs:
		return &param.ParamError{Key: "loggops.atlahs", Value: true, Want: "false with loggops.loggopsim: they are two simulators"}
	case c.Measure.Timeline && l.Compatible:
		return document.At("measure.timeline", errors.New("needs loggops.loggopsim = false: LogGOPSim's times do not add up"))
	case c.Measure.Timeline && l.Atlahs:
		return document.At("measure.timeline", errors.New("needs loggops.atlahs = false: parts of ATLAHS's times are nobody's"))
	}
	if c.Job.Machine == "fabric" {
		return nil
	}
	var problems []error
	for key, asked := range map[string]bool{"measure.links": c.Measure.Links, "measure.series": c.Measure.Series > 0, "measure.blame": c.Measure.Blame, "trace.packets": c.Trace.Packets > 0} {
		if asked {
			problems = append(problems, document.At(key, errors.New(`needs job.machine = "fabric": `+c.Job.Machine+" has no channels")))
		}
	}
	return errors.Join(problems...)
}

// observe has a fabric observed as the file asks for, from its first cycle on.
func (c *Config) observe(s *Simulation, timeline bool) error {
	all := telemetry.WholeRun()
	if c.Measure.Blame {
		s.blame = observe.StartBlame(s.Fabric, all)
	}
	if c.Trace.Packets > 0 {
		plan, err := c.Trace.Plan(s.Graph().Terminals())
		if err != nil {
			return err
		}
		s.trace = observe.StartTrace(s.Fabric, all, plan)
	}
	if timeline {
		s.All = observe.StartTrace(s.Fabric, all, observe.TracePlan{})
	}
	if c.Measure.Series > 0 {
		s.series = observe.StartSeries(s.Fabric, c.Measure.Series)
	}
	return nil
}

// mpiObserved is what has been seen of a program: of its networks and, in the first replication,
// of its ranks.
type mpiObserved struct {
	telemetry.Observed
	graph    *topology.Graph           // of the first
	timeline *telemetry.TimelineWriter // likewise
}

// add enters the network of a replication that is over.
func (o *mpiObserved) add(s *Simulation) {
	end := s.Adapters.Over()
	o.Observed.Add(s.Graph(), s.ChannelFlits(), end, s.blame)
	if o.graph != nil {
		return
	}
	o.graph = s.Graph()
	if s.trace != nil {
		o.Traces = s.trace.Packets()
	}
	if s.series != nil {
		o.Series = s.series.Series(end)
	}
}
