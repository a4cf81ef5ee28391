package multicast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/stats"
)

// latencySimulation is a point of kind multicast-latency at work.
type latencySimulation struct {
	kernel *sim.Kernel
	fabric *core.Fabric
	*hosts
	loop     *multicastLoop
	hardware *hardwareCarrier // nil without multicast
	plan     *multicastPlan   // likewise
	timings  []fabric.ChannelTiming
}

// simulation builds the point.
func (c *latencyConfig) simulation(p *latencyParts, run *experiments.Run) (*latencySimulation, error) {
	s := &latencySimulation{kernel: sim.NewKernel(), timings: p.timings}
	config := p.fabric
	config.Switch.VCs = p.unicast
	m := &c.Messages
	if m.replicated() {
		var err error
		if s.plan, err = c.plan(p, run.Seed, run.Threads); err != nil {
			return nil, err
		}
		config.Switch.VCs += s.plan.layers.Count
	}
	var err error
	if s.fabric, err = core.New(p.topology.Graph(), config, p.routing, run.Seed); err != nil {
		return nil, err
	}
	s.loop = &multicastLoop{rotate: m.Rotate, think: m.Think, warmup: m.Warmup, wanted: m.Count}
	for i, g := range p.groups[:c.active(p)] {
		s.loop.groups = append(s.loop.groups, loopGroup{members: g.Terminals, random: sim.NewStream(run.Seed, "multicast group", i)})
	}
	s.hosts = newHosts(c.Host, s.fabric, c.Fabric.FlitBytes, p.timings)
	if s.plan != nil {
		if err := s.openHardware(c, p); err != nil {
			return nil, err
		}
	}
	switch m.Carrier {
	case "multicast":
		s.hosts.carrier = s.hardware
	case "allreduce-multicast":
		s.hosts.carrier, err = newMulticastAllreduce(s.kernel, s.hardware)
	default:
		s.hosts.carrier, err = newSoftwareCarrier(s.kernel, s.hosts, s.loop, m.Carrier, int64(m.Bytes))
	}
	if err != nil {
		return nil, err
	}
	s.loop.carrier = s.carrier
	s.loop.kernel, s.loop.name = s.kernel, s.kernel.Register(s.loop)
	if m.UnicastLoad > 0 {
		if s.background, err = unicastSource(p, m, run.Seed, c.Topology.Type.Name()); err != nil {
			return nil, err
		}
	}
	run.OnOneThread(s.fabric.DivideFor(run.Threads, s.Window(), network.WorthBusy, nil))
	return s, nil
}

// Window implements core.HostModel: the shortest time from a packet's arrival until another that it
// gives rise to is born.
func (s *latencySimulation) Window() int64 {
	return max(1, network.CyclesOf(s.ReceiveOverhead+s.SendOverhead, s.clock))
}

// Before implements core.HostModel: what happens at the hosts, as far as it is known before cycle
// first, which is until the earliest time at which something that arrives in it can be complete.
func (s *latencySimulation) Before(first, end int64) int64 {
	s.catchUp(min(sim.Time(first)*s.clock+s.ReceiveOverhead-1, sim.Time(end)*s.clock))
	if next := s.kernel.Next(); next < sim.MaxTime {
		return max(first, int64(next/s.clock))
	}
	return fabric.Never
}

func (s *latencySimulation) Over(cycle int64) bool {
	s.catchUp(sim.Time(cycle) * s.clock)
	s.thin()
	return s.kernel.Pending() == 0
}

// catchUp has the hosts do what they do until a time.
func (s *latencySimulation) catchUp(until sim.Time) {
	s.take()
	if until >= s.kernel.Now() {
		s.kernel.Run(until)
	}
}

// openHardware gives the switches their tables and every group its way.
func (s *latencySimulation) openHardware(c *latencyConfig, p *latencyParts) error {
	if err := s.fabric.SetMulticast(s.plan.tables(), p.unicast); err != nil {
		return err
	}
	s.hardware = &hardwareCarrier{hosts: s.hosts, loop: s.loop, bytes: int64(c.Messages.Bytes), packets: c.Host.packetsOf(int64(c.Messages.Bytes))}
	for i := range s.loop.groups {
		tree, err := s.plan.forest.Planted(p.groups[i].ID)
		if err != nil {
			return err
		}
		members := len(s.loop.groups[i].members)
		s.hardware.routes = append(s.hardware.routes, groupRoute{
			mlid: int32(tree.Colour), vcs: 1 << (p.unicast + s.plan.layers.Of[s.plan.index[tree]]),
			heard: make([]int64, members), sent: make([]int64, members),
		})
	}
	return nil
}

// unicastSource is the unicast traffic beside the messages.
func unicastSource(p *latencyParts, m *messagesTable, seed uint64, name string) (*measure.OpenLoop, error) {
	sizes, err := traffic.NewSizes([]int{m.UnicastFlits}, nil)
	if err != nil {
		return nil, err
	}
	process, err := param.Make(traffic.Processes, "bernoulli", traffic.ProcessEnv{Load: m.UnicastLoad, MeanFlits: sizes.Mean()}, func(*struct{}) {})
	if err != nil {
		return nil, err
	}
	pattern, err := uniform(p, seed, name)
	if err != nil {
		return nil, err
	}
	return measure.NewOpenLoop(p.topology.Graph().Terminals(), pattern, process, sizes, seed), nil
}

// uniform is where unicast packets go.
func uniform(p *latencyParts, seed uint64, name string) (traffic.Pattern, error) {
	return param.Make(traffic.Patterns, "uniform", traffic.Env{Topology: p.topology, TopologyName: name, Seed: seed}, func(*traffic.UniformConfig) {})
}

// run goes on until every group has had its messages and the network is empty.
func (s *latencySimulation) run(ctx context.Context, spread sim.Time, plan measure.ToEnd) error {
	if plan.From == nil {
		s.loop.start(spread)
	}
	err := measure.RunToEnd(ctx, s.fabric, s, plan)
	switch {
	case err != nil:
		return err
	case s.loop.left > 0:
		return fmt.Errorf("%d groups stopped before they had their messages", s.loop.left)
	case s.hardware != nil:
		return s.hardware.verify()
	}
	return nil
}

// thin ends the background when all groups have had their messages.
func (s *latencySimulation) thin() {
	if s.loop.left == 0 && s.background != nil {
		s.background.Stop(0)
	}
}

func (s *latencySimulation) row() latencyRow {
	l := s.loop
	row := latencyRow{Groups: len(l.groups), MeanTFI: math.NaN(), Unicast: math.NaN(), Cycles: s.fabric.Cycle()}
	var all messageTimes
	row.GroupMin, row.GroupMax = math.Inf(1), math.Inf(-1)
	for i := range l.groups {
		all.add(&l.groups[i])
		mean := timesOf(&l.groups[i]).mean()
		row.GroupMin, row.GroupMax = min(row.GroupMin, mean), max(row.GroupMax, mean)
	}
	row.Messages, row.LatencyMean, row.LatencyMax = all.N(), all.mean(), all.longest.Nanoseconds()
	row.LatencyP50, row.LatencyP99 = all.Quantile(0.5)/1e3, all.Quantile(0.99)/1e3
	row.Rate = float64(row.Messages) / (l.last - l.first).Nanoseconds() * 1e3
	if s.plan != nil {
		m := s.plan.forest.Measure()
		row.Trees, row.Colours, row.Layers = m.Trees, m.Colours, s.plan.layers.Count
		row.MaxEFI, row.MeanTFI, row.MaxHeight = m.MaxEFI, m.MeanTFI, m.MaxHeight
	}
	row.LinkMax, row.LinkMean = s.utilisation()
	t := s.tally()
	if row.Deliveries, row.Redundant = t.taken, t.redundant; t.unicast > 0 {
		row.Unicast = float64(t.latency) / float64(t.unicast) * s.fabric.Clock().Nanoseconds()
	}
	return row
}

// carried is what channels have carried in the whole run.
func (s *latencySimulation) carried() *telemetry.Carried {
	c := &telemetry.Carried{Timings: s.timings}
	c.Add(s.fabric.ChannelFlits(), s.fabric.Graph().NumPorts()+s.fabric.Graph().Terminals(), s.fabric.Cycle())
	return c
}

// utilisation is the share of the run for which channels carried flits: the most and the mean.
func (s *latencySimulation) utilisation() (most, mean float64) {
	busy := s.carried().Busy(s.fabric.Graph())
	for _, cycles := range busy {
		share := cycles / float64(s.fabric.Cycle())
		most = max(most, share)
		mean += share / float64(len(busy))
	}
	return most, mean
}

type messageTimes struct {
	stats.Histogram // in ps
	sum, longest    sim.Time
}

// add enters the measured messages of a group.
func (m *messageTimes) add(g *loopGroup) {
	for _, x := range g.latency {
		m.Add(int64(x))
		m.sum += x
		m.longest = max(m.longest, x)
	}
}

func timesOf(g *loopGroup) *messageTimes {
	m := &messageTimes{}
	m.add(g)
	return m
}

// mean is in ns.
func (m *messageTimes) mean() float64 { return m.sum.Nanoseconds() / float64(m.N()) }

// writeGroups keeps the latency of every group: groups.csv.
func (s *latencySimulation) writeGroups(run *experiments.Run) {
	t := run.Table(latencyTables.Named("groups"))
	for i := range s.loop.groups {
		g := &s.loop.groups[i]
		m := timesOf(g)
		t.Add(i, len(g.members), m.N(), m.mean(), m.Quantile(0.5)/1e3, m.Quantile(0.99)/1e3, m.longest.Nanoseconds())
	}
}

// multicastPlan is the trees of a point, with their layers.
type multicastPlan struct {
	forest *multicast.Forest
	layers *multicast.Layers
	index  map[*multicast.Planted]int // of layers.Of
	unsafe error                      // they can deadlock, which is allowed
}

// plan routes the groups; points with the same network, groups and engine share the outcome.
func (c *latencyConfig) plan(p *latencyParts, seed uint64, threads int) (*multicastPlan, error) {
	key := fmt.Sprintf("multicast plan %s\n%s\n%s\n%v %v %d %d %d %v", c.Topology.Type.Fingerprint(), c.Groups.Pattern.Fingerprint(), c.Multicast.Engine.Fingerprint(),
		c.Multicast.Entries, c.Multicast.PerPort, c.Multicast.Layers, p.unicast, seed, c.Fabric.AllowDeadlock)
	return experiments.Share(c.Topology.Type.Shared(), key, func() (*multicastPlan, error) { return c.makePlan(p, seed, threads) })
}

func (c *latencyConfig) makePlan(p *latencyParts, seed uint64, threads int) (*multicastPlan, error) {
	env, err := c.Multicast.environment(&c.Topology, p.topology.Graph(), seed, threads)
	if err != nil {
		return nil, err
	}
	engine, err := c.Multicast.Engine.Build(env)
	if err != nil {
		return nil, err
	}
	result, err := multicast.Route(engine, p.groups, false, nil)
	if err != nil {
		return nil, document.At("multicast.engine", fmt.Errorf("= %q: %w", c.Multicast.Engine.Name(), err))
	}
	if result.Refused > 0 {
		return nil, document.At("multicast.entries", fmt.Errorf("= %v: %s refused %d of %d groups", c.Multicast.Entries, c.Multicast.Engine.Name(), result.Refused, len(p.groups)))
	}
	plan := &multicastPlan{forest: result.Forest, index: map[*multicast.Planted]int{}}
	var trees []*multicast.Tree
	for t := range plan.forest.Trees {
		plan.index[t] = len(trees)
		trees = append(trees, t.Tree)
	}
	most := min(c.Multicast.Layers, fabric.MaxVCs-p.unicast)
	if most < 1 {
		return nil, document.At("switch.vcs", fmt.Errorf("leaves no virtual channel for multicast packets: unicast packets take %d of %d", p.unicast, fabric.MaxVCs))
	}
	plan.layers, err = multicast.AssignLayers(p.topology.Graph(), trees, most)
	var cyclic *multicast.CyclicError
	switch {
	case errors.As(err, &cyclic) && c.Fabric.AllowDeadlock:
		plan.unsafe = err
		plan.layers = &multicast.Layers{Of: make([]int, len(trees)), Count: most}
		for i := range trees {
			plan.layers.Of[i] = i % most
		}
	case err != nil:
		return nil, document.At("multicast.layers", fmt.Errorf("= %d: %w%s", c.Multicast.Layers, err, network.AllowHint))
	}
	return plan, nil
}

// tables are the plan's forwarding tables as switches read them. An MLID is a colour.
func (p *multicastPlan) tables() []fabric.MulticastTable {
	all := p.forest.Tables()
	tables := make([]fabric.MulticastTable, len(all))
	for s, rows := range all {
		t := &tables[s]
		t.Ports = rows.Ports
		for _, colour := range rows.Colours {
			t.MLIDs = append(t.MLIDs, int32(colour))
		}
	}
	return tables
}

// This file writes the state of a point of kind multicast-latency, and reads it: what the
// groups have done, what hosts and carriers keep, the network, and the events to come.

// Archive implements snapshot.Archiver, when the hosts have done all up to the present
// cycle: the state is the same for any number of threads.
func (s *latencySimulation) Archive(a *snapshot.Archive) {
	a.Mark("groups")
	snapshot.Value(a, s.loop)
	s.carrier.archive(a)
	s.hosts.archive(a)
	sim.ArchiveKernels(a, []*sim.Kernel{s.kernel}, func(a *snapshot.Archive, e *sim.Event) int {
		snapshot.Int(a, &e.Arg)
		return 0
	})
	if a.Reading() {
		s.thin()
	}
}

func (c *hardwareCarrier) archive(a *snapshot.Archive) {
	a.Mark("multicast")
	for i := range c.routes {
		snapshot.Value(a, &c.routes[i])
	}
}

func (c *softwareCarrier) archive(a *snapshot.Archive) {
	a.Mark("collectives")
	snapshot.Array(a, "groups", c.groups, func(a *snapshot.Archive, g *softwareGroup) { g.archive(a) })
	snapshot.Value(a, &c.flows)
	snapshot.Value(a, &c.free)
}

// archive archives those counts that are not 0, by ascending ranks.
func (g *softwareGroup) archive(a *snapshot.Archive) {
	snapshot.Int(a, &g.sender)
	g.run.Archive(a)
	pairs := slices.DeleteFunc(slices.SortedFunc(maps.Keys(g.met), func(p, q softwarePair) int { return cmp.Or(cmp.Compare(p.from, q.from), cmp.Compare(p.to, q.to)) }), func(p softwarePair) bool { return g.met[p] == 0 })
	snapshot.List(a, &pairs, func(a *snapshot.Archive, p *softwarePair) {
		n := g.met[*p]
		snapshot.Value(a, p)
		snapshot.Int(a, &n)
		g.met[*p] = n
	})
}

func (h *hosts) archive(a *snapshot.Archive) {
	a.Mark("hosts")
	snapshot.Array(a, "terminals", h.nodes, snapshot.Value)
	tally := h.tally()
	if snapshot.Value(a, &tally); a.Reading() {
		h.before = tally
	}
	if h.background != nil {
		h.background.Archive(a)
	}
}

// multicastAllreduce is the carrier that sums over the members of a group by both ways: vectors go
// to the sender up a binomial tree of unicast messages, and the result to all by the network's
// multicast. Multicast packets are datagrams, as in InfiniBand; nothing acknowledges them, as
// nothing is lost here (Hoefler, Siebert, Rehm, IPDPS 2007, send what is lost again along a chain).
// To combine two vectors costs nothing. The numbers of unicast messages follow those of groups.
type multicastAllreduce struct {
	*hardwareCarrier
	up *softwareCarrier
}

func newMulticastAllreduce(k *sim.Kernel, down *hardwareCarrier) (*multicastAllreduce, error) {
	up, err := newSoftwareCarrier(k, down.hosts, down.loop, "reduce-binomial", down.bytes)
	if err != nil {
		return nil, err
	}
	c := &multicastAllreduce{down, up}
	up.first, up.ends = int32(len(down.routes)), c
	return c, nil
}

// post implements carrier: all members call at once.
func (c *multicastAllreduce) post(now sim.Time, group, sender int) { c.up.post(now, group, sender) }

// complete is told that the sender has the result.
func (c *multicastAllreduce) complete(group int, at sim.Time) {
	c.hardwareCarrier.post(at, group, c.up.groups[group].sender)
}

func (c *multicastAllreduce) member(message int32, t topology.TerminalID) (member int, takes bool) {
	return c.of(message).member(message, t)
}

func (c *multicastAllreduce) arrived(a arrival) { c.of(a.message).arrived(a) }

func (c *multicastAllreduce) of(message int32) carrier {
	if message < c.up.first {
		return c.hardwareCarrier
	}
	return c.up
}

func (c *multicastAllreduce) archive(a *snapshot.Archive) {
	c.hardwareCarrier.archive(a)
	c.up.archive(a)
}
