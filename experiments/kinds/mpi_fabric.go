package kinds

import (
	"errors"
	"fmt"
	"maps"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func (c *mpiConfig) AllowDeadlock() *bool { return &c.Fabric.AllowDeadlock }

func preflightMPI(c *mpiConfig, p *experiments.Preflight) error {
	if c.Job.Machine != "fabric" {
		return nil
	}
	err := network.CheckCertified(p, c.spec(p.Seed, 1), c.Fabric.AllowDeadlock)
	if err != nil || !p.Thorough {
		return err
	}
	return c.predictWork(p)
}

// spec names what packets of one of so many service levels have of the network.
func (c *mpiConfig) spec(seed uint64, levels int) *network.Spec {
	return network.NewSpec(&c.Topology, &c.Routing, c.Switch.VCs/levels, seed, c.Fabric.AllowDeadlock).Through(&c.Switch)
}

// fabricParts builds what the fabric of an adapter is made of, with virtual channels for each of
// so many service levels.
func (c *mpiConfig) fabricParts(adapter *hca.Config, seed uint64, levels int) (topology.Topology, fabric.Config, fabric.Routing, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, fabric.Config{}, nil, err
	}
	config := fabric.Config{Fabric: c.Fabric, Switch: c.Switch, Terminal: c.Terminal, Channels: c.channels(t.Graph(), adapter)}
	if c.Switch.VCs%levels != 0 {
		return nil, config, nil, &param.ParamError{Key: "switch.vcs", Value: c.Switch.VCs, Want: fmt.Sprintf("a multiple of %d, the number of service levels, which have as many each", levels)}
	}
	r, err := c.Routing.Type.Build(routing.Env{Topology: t, TopologyName: c.Topology.Type.Name(), VCs: c.Switch.VCs / levels, Seed: seed, AllowDeadlock: c.Fabric.AllowDeadlock, Shared: c.Topology.Type.Shared()})
	if err == nil && levels > 1 {
		r, err = routing.ServiceLevels(r, levels)
	}
	return t, config, r, err
}

// channels gives the channels to terminals the pace of the adapters' engines,
// which is what holds up the network when they are slower than the link.
func (c *mpiConfig) channels(g *topology.Graph, adapter *hca.Config) map[string]fabric.ChannelConfig {
	all := map[string]fabric.ChannelConfig{}
	maps.Copy(all, c.Channel)
	for p := range g.NumPorts() {
		if _, terminal := g.PeerTerminal(topology.PortID(p)); !terminal {
			continue
		}
		name := g.Classes[g.PortClass[p]].Name
		if channel := all[name]; channel.Rate == 0 && channel.Link == "" && channel.CyclesPerFlit == 0 {
			channel.Rate = adapter.Rate()
			all[name] = channel
		}
	}
	return all
}

// checkNetwork finds what is wrong with the fabric for so many nodes.
func (c *mpiConfig) checkNetwork(adapter *hca.Config, nodes int, seed uint64, levels int) ([]experiments.Warning, error) {
	t, config, r, err := c.fabricParts(adapter, seed, levels)
	if err != nil {
		return nil, network.ExplainVCs(err, c.spec(seed, levels))
	}
	g := t.Graph()
	packet := int((int64(adapter.MTU) + int64(c.Fabric.FlitBytes) - 1) / int64(c.Fabric.FlitBytes))
	problems := []error{config.Check(g, r), network.CheckFit(&c.Fabric, &c.Switch, packet)}
	if n := len(g.Hosts()); nodes > n {
		problems = append(problems, document.At("topology.type", fmt.Errorf("has %d hosts; the ranks need %d nodes (placement.per_node = %d)", n, nodes, c.Placement.PerNode)))
	}
	_, bad := c.Trace.plan(g.Terminals())
	problems = append(problems, bad)
	use := network.Use{Config: &config, Routing: r}
	return append(network.BufferWarnings(&config, g), use.Idle()...), errors.Join(problems...)
}

// worthBusy, which only tests change, is the number of terminals with traffic times cycles
// of a window from which a second thread pays, where not all of them send all the time;
// worthOpen where they do, 0: as the fabric has it.
var worthBusy, worthOpen = int64(2000), int64(0)

// overFabric makes the network through the fabric, and what is to be done when
// the run is over: find out whether the network came to rest for good, and fill in what
// row says of it.
func (c *mpiConfig) overFabric(adapter *hca.Config, run *experiments.Run, seed uint64, seen *mpiObserved, timeline bool, row *mpiRow) (mpi.Divide, func(mpi.Result, error) (mpi.Result, error), error) {
	t, config, r, err := c.fabricParts(adapter, seed, 1)
	if err != nil {
		return nil, nil, err
	}
	f, err := core.New(t.Graph(), config, r, seed)
	if err != nil {
		return nil, nil, err
	}
	timings, err := config.ChannelTimings(t.Graph())
	if err != nil {
		return nil, nil, err
	}
	if row.Bound, _, err = c.demand(t.Graph(), &config, adapter, seed, false); err != nil {
		return nil, nil, err
	}
	watch, err := c.observe(f, timeline)
	if err != nil {
		return nil, nil, err
	}
	var n *fabricNetwork
	divide := c.divide(f, adapter, run, watch.all, nil, &n)
	return divide, func(result mpi.Result, err error) (mpi.Result, error) {
		fabricCounter(f, run)()
		if errors.Is(err, mpi.ErrStopped) || n == nil || !n.ran { // it is not at rest, or a state could not be read whole
			return result, err
		}
		if err := errors.Join(f.Rest(), err); err != nil {
			return result, err
		}
		row.Links, row.Network = channelTimes(f, timings)
		seen.add(watch, n.over())
		return result, nil
	}, nil
}

// divide has a run divide f, and put its network there, with a tracer of all packets if there is
// one.
func (c *mpiConfig) divide(f *core.Fabric, adapter *hca.Config, run *experiments.Run, all *observe.Tracer, jobs *transportJobs, n **fabricNetwork) mpi.Divide {
	return func(nodes int, alone sim.Time, why string) (_ mpi.Division, err error) {
		if alone > 0 {
			why = f.DivideFor(run.Threads, int64(alone/f.Clock()), worthBusy, occupied(f.Graph(), nodes))
		}
		run.OnOneThread(why)
		if *n, err = newFabricNetwork(f, c.Fabric.FlitBytes, adapter, nodes, jobs); err == nil && all != nil {
			(*n).follow(all)
		}
		return *n, err
	}
}

// occupied tells the terminals of the first nodes, by 1, from others.
func occupied(g *topology.Graph, nodes int) []int32 {
	weights, hosts := make([]int32, g.Terminals()), g.Hosts()
	for _, rails := range hosts[:min(nodes, len(hosts))] {
		weights[rails[0]] = 1
	}
	return weights
}

// What is written of the network that a program's messages take: the same tables as of
// kind traffic. The window is the whole run, from the first cycle to the end of the last rank
// and of what is then still under way.

// checkObserved finds what is asked for of a machine without channels.
func (c *mpiConfig) checkObserved() error {
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

// wholeRun is a window from cycle 0 on.
func wholeRun() *measure.Meter {
	m := measure.NewMeter(1)
	m.Open(0)
	return m
}

// networkWatch is what looks at the network of a replication.
type networkWatch struct {
	fabric *core.Fabric
	blame  *observe.Blame
	trace  *observe.Tracer
	all    *observe.Tracer // of all packets, for the timeline
	series *observe.ChannelSeries
}

// observe has f observed as the file asks for, from its first cycle on.
func (c *mpiConfig) observe(f *core.Fabric, timeline bool) (*networkWatch, error) {
	w := &networkWatch{fabric: f}
	all := wholeRun()
	if c.Measure.Blame {
		w.blame = observe.StartBlame(f, all)
	}
	if c.Trace.Packets > 0 {
		plan, err := c.Trace.plan(f.Graph().Terminals())
		if err != nil {
			return nil, err
		}
		w.trace = observe.StartTrace(f, all, plan)
	}
	if timeline {
		w.all = observe.StartTrace(f, all, observe.TracePlan{})
	}
	if c.Measure.Series > 0 {
		w.series = observe.StartSeries(f, c.Measure.Series)
	}
	return w, nil
}

// mpiObserved is what has been seen of a program: of its networks and, in the first replication,
// of its ranks.
type mpiObserved struct {
	observed
	graph    *topology.Graph // of the first
	timeline *timelineWriter // likewise
}

// add enters the network of a replication whose last packet was delivered before cycle end.
func (o *mpiObserved) add(w *networkWatch, end int64) {
	o.observed.add(w.fabric.ChannelFlits(), end, w.blame)
	if o.graph != nil {
		return
	}
	o.graph = w.fabric.Graph()
	if w.trace != nil {
		o.traces = w.trace.Packets()
	}
	if w.series != nil {
		o.series = w.series.Series(end)
	}
}
