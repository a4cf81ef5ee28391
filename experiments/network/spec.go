// Package network holds what kinds of experiments have in common whose packets go through a
// network, and what can be said of that network without a run: the tables [topology], [routing],
// [fault.NAME] and [recovery] of an experiment file, the routing around faults, the certificate
// that a routing is free of deadlock, and the flit clock that follows from the links; pictures,
// descriptions and exports of a network, and what has changed from one network to another.
package network

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/proof"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// TopologyTable is the [topology] table of every kind that has a network.
type TopologyTable struct {
	Type experiments.Choice[struct{}, topology.Topology] `toml:"type" doc:"family of the network"`
}

// RoutingTable is the [routing] table of every kind that routes packets.
type RoutingTable struct {
	Type experiments.Choice[routing.Env, fabric.Routing] `toml:"type" doc:"algorithm that chooses the way of packets"`
}

// Spec names a network by the tables of an experiment file, without building it: what
// certificates and channel loads are computed of.
type Spec struct {
	topology   *TopologyTable
	routing    *RoutingTable
	vcs        int // as set; 0: as many as the routing needs
	seed       uint64
	allow      bool    // it may have fewer than it needs
	faults     *Faults // nil: none
	cutThrough bool    // packets hold no channel but the one that their head is in
	name       string  // its fingerprint, once it was asked for
}

// NewSpec names the network of a kind's tables. vcs is switch.vcs, 0 for as many as the
// routing needs; with allowDeadlock the routing is built with fewer than it needs, too.
func NewSpec(t *TopologyTable, r *RoutingTable, vcs int, seed uint64, allowDeadlock bool) *Spec {
	return &Spec{topology: t, routing: r, vcs: vcs, seed: seed, allow: allowDeadlock}
}

// Open builds the network. Errors carry dotted keys.
func (n *Spec) Open() (routing.Routed, error) {
	t := &n.topology.Type
	topo, err := t.BuildShared(struct{}{})
	if err != nil {
		return routing.Routed{}, err
	}
	built, err := n.Route(topo)
	if err != nil {
		return routing.Routed{}, err
	}
	return Opened(topo.Graph(), built, n.vcs), nil
}

// Seed is the point's.
func (n *Spec) Seed() uint64 { return n.seed }

// routingSeed is 0 for a routing that draws nothing.
func (n *Spec) routingSeed() uint64 { return param.SeedFor(n.routing.Type.Config(), n.seed) }

// env is what the routing is built for on the network's topology.
func (n *Spec) env(t topology.Topology) routing.Env {
	x := &n.topology.Type
	return routing.Env{Topology: t, TopologyName: x.Name(), VCs: n.vcs, Seed: n.routingSeed(), AllowDeadlock: n.allow, Shared: x.Shared()}
}

// Route builds the routing on the network's topology, around its faults for all of their periods.
// Errors carry dotted keys.
func (n *Spec) Route(t topology.Topology) (fabric.Routing, error) {
	if n.faults == nil {
		return n.routing.Type.Build(n.env(t))
	}
	periods, err := n.faults.Periods(t.Graph())
	if err != nil {
		return nil, err
	}
	return n.routing.around(periods, n.env(t))
}

// Looked is Route for a check, which only looks at it: the same for points one behind the other that have the network.
func (n *Spec) Looked(t topology.Topology) (fabric.Routing, error) {
	key := fmt.Sprint(n.allow, n.Fingerprint())
	return experiments.Latest(n.topology.Type.Shared(), "routing", key, func() (fabric.Routing, error) { return n.Route(t) })
}

// Through is n with the flow control of switches like s.
func (n *Spec) Through(s *fabric.SwitchConfig) *Spec {
	n.cutThrough = s.FlowControl == "cut-through"
	return n
}

// WithFaults is n with the faults of a kind's tables, around which it routes.
func (n *Spec) WithFaults(x *Faults) *Spec {
	if len(x.Tables) > 0 {
		n.faults = x
	}
	return n
}

// Opened is a network that has been built, with so many virtual channels a channel; with
// vcs = 0, as many as the routing needs, at least one.
func Opened(g *topology.Graph, r fabric.Routing, vcs int) routing.Routed {
	vcs = cmp.Or(vcs, max(1, r.VCs()))
	return routing.Routed{Graph: g, Routing: r, VCs: vcs}
}

// Limits are the least cycles that channels take for a flit of packets of so many: the channels
// themselves, and the pipeline of the switches that they join, which takes its time for a packet of
// every virtual channel.
func Limits(s *fabric.SwitchConfig, o routing.Routed, timings []fabric.ChannelTiming, flits float64) *routing.Limits {
	queue, output := s.PacketSteps(flits)
	cycles := func(steps float64, vcs int) float64 { return steps / (flits * s.Speedup * float64(vcs)) }
	x := &routing.Limits{Class: CyclesPerFlit(timings)}
	injection := o.VCs // where the routing chooses among them
	if !fabric.NeedsOf(o.Routing).Departs {
		injection = bits.OnesCount32(o.Routing.InjectionVCs(o.VCs))
	}
	x.Part[routing.Injection] = cycles(queue, injection)
	x.Part[routing.Between] = cycles(max(queue, output), o.VCs)
	x.Part[routing.Ejection] = cycles(output, o.VCs)
	return x
}

// CyclesPerFlit is what channels of each class take for a flit.
func CyclesPerFlit(timings []fabric.ChannelTiming) []float64 {
	return lists.Map(timings, func(t fabric.ChannelTiming) float64 { return t.CyclesPerFlit })
}

// Fingerprint names the network: equal for points that share it. Its tables do not change from
// then on.
func (n *Spec) Fingerprint() string {
	if n.name == "" {
		n.name = fmt.Sprintf("%s\n%s\n%d %v %d", n.topology.Type.Fingerprint(), n.routing.Type.Fingerprint(), n.vcs, n.cutThrough, n.routingSeed())
		if n.faults != nil {
			n.name += "\n" + lists.Join(n.faults.names(), "", func(name string) string { return fmt.Sprintf("%+v\n", n.faults.Tables[name]) })
		}
	}
	return n.name
}

// certificateBudget is the number of hops that a certificate follows, destination by
// destination, before it stops at a sample of these: a second or two. Routings that are
// followed goal by goal need no sample.
const certificateBudget = 20_000_000

// AllowHint ends the message about a network that is refused because it can deadlock: it
// tells how to run it all the same.
const AllowHint = "; --allow-deadlock, or fabric.allow_deadlock = true, runs it all the same"

// Certificate is what is known of a network's freedom from deadlock.
type Certificate struct {
	Acyclic bool   // no cycle among the dependencies that were followed
	Exact   bool   // all of them were
	Fits    bool   // a walk of all paths is no more than a certificate may cost
	Text    string // a sentence
	Cycle   string // by channel, indented lines; empty if there is none
}

// CertifyWithin is [Certify] of a network that has been built, within a budget of hops.
// wormhole: packets hold the channels behind their heads.
func CertifyWithin(o routing.Routed, budget int, wormhole bool) (Certificate, error) {
	found, err := proof.Of(o, proof.Settings{Budget: budget, Wormhole: wormhole})
	if err != nil {
		return Certificate{}, err
	}
	c := Certificate{Acyclic: found.Acyclic(), Exact: found.Exact(), Fits: found.Fits, Text: found.Describe(o.Graph)}
	if !c.Acyclic { // the cycle stands below the sentence, which goes on
		c.Text, c.Cycle, _ = strings.Cut(c.Text, "\n")
		c.Cycle = "\n" + c.Cycle
	}
	return c, nil
}

// Certify builds the channel dependency graph of a routing with so many virtual channels,
// under wormhole flow control, and looks for cycles; where there are too many paths, among a
// sample of the destinations.
func Certify(g *topology.Graph, r fabric.Routing, vcs int) (Certificate, error) {
	return CertifyWithin(Opened(g, r, vcs), certificateBudget, true)
}

// Prove certifies the network as [Certify] does, once for all points that share it; the others
// do not even open it. The error says why there is no certificate.
func (n *Spec) Prove(shared *experiments.Shared) (Certificate, error) {
	return experiments.Cached(shared, "certificate "+n.Fingerprint(), func() (Certificate, error) {
		o, err := n.Open()
		if err != nil {
			return Certificate{}, err
		}
		return CertifyWithin(o, certificateBudget, !n.cutThrough)
	})
}

// CheckCertified notes the certificate of a network in a preflight. It refuses one that can
// deadlock, unless that is allowed. Cost: as of [Certify], once for points that share a network.
func CheckCertified(p *experiments.Preflight, n *Spec, allowed bool) error {
	if built, err := n.topology.Type.BuildShared(struct{}{}); err == nil {
		if d, ok := built.(topology.Doubtful); ok {
			for _, doubt := range d.Doubts() {
				p.Warn("topology.path", "%s", doubt)
			}
		}
	}
	c, err := n.Prove(p.Shared())
	switch {
	case err != nil:
		p.Warn("routing.type", "= %q has no certificate of freedom from deadlock: %v", n.routing.Type.Name(), err)
	case c.Acyclic:
		p.Note("deadlock", "%s", c.Text)
	case allowed:
		p.Warn("routing.type", "= %q %s", n.routing.Type.Name(), c.Text+c.Cycle)
		p.MayDeadlock(fmt.Sprintf("%s on %s %s%s", n.routing.Type.Name(), n.topology.Type.Name(), c.Text, c.Cycle))
	default:
		return document.At("routing.type", fmt.Errorf("= %q %s%s%s", n.routing.Type.Name(), c.Text, AllowHint, c.Cycle))
	}
	return nil
}

// ExplainVCs adds to a complaint about too few virtual channels, if err is
// nothing else, the cycle of channels that they leave on n.
func ExplainVCs(err error, n *Spec) error {
	var problem *param.ParamError
	for _, e := range param.Errors(err) {
		if !errors.As(e, &problem) || problem.Key != "switch.vcs" {
			return err
		}
	}
	if problem == nil {
		return nil
	}
	unsafe := *n
	unsafe.allow = true
	if c, err := unsafe.Prove(n.topology.Type.Shared()); err == nil && !c.Acyclic {
		problem.Want += AllowHint + ": " + c.Text + c.Cycle
	}
	return err
}

// CheckFit refuses packets of up to most flits that are longer than the MTU, or that no
// buffer of the switch holds, where its flow control needs one to (cut-through). The error is
// a *param.ParamError.
func CheckFit(p *fabric.PhysicalConfig, s *fabric.SwitchConfig, most int) error {
	if bytes := sim.Bytes(most) * p.FlitBytes; p.MTU > 0 && bytes > p.MTU {
		return &param.ParamError{Key: "fabric.mtu", Value: p.MTU, Want: fmt.Sprintf("at least %v, or shorter packets: the longest has %d flits of fabric.flit_bytes", bytes, most)}
	}
	if s.FlowControl != "cut-through" || most <= s.BufferFlits {
		return nil
	}
	return &param.ParamError{Key: "switch.buffer_flits", Value: s.BufferFlits, Want: fmt.Sprintf("at least %d: under cut-through a packet goes on only where it fits whole", most)}
}

// FollowClock sets the flit clock, fabric.clock, where it is not given: to the time
// of a flit on fabric.link or, beside an imported fabric that states the rates of
// its cables, on the fastest of them; a default of the kind's own is not exceeded.
// Where channels have a latency, of which the clock must be a divisor, it is the
// longest that is. What is wrong with the configuration is left to the kind's check.
func FollowClock(f *fabric.PhysicalConfig, t *TopologyTable, channels map[string]fabric.ChannelConfig, given func(key string) bool) {
	if given("fabric.clock") {
		return
	}
	if f.Link != "" {
		if clock, err := f.LinkTime(); err == nil {
			f.Clock = clock
		}
		return
	}
	if _, imported := t.Type.Config().(topology.PathConfig); !imported {
		return
	}
	built, err := t.Type.BuildShared(struct{}{})
	if err != nil {
		return
	}
	clock := sim.Time(math.MaxInt64)
	latency := sim.Time(0) // greatest common divisor
	for _, class := range built.Graph().Classes {
		over := channels[class.Name]
		rate := cmp.Or(over.Rate, class.Rate)
		if over.Link != "" {
			if _, linked, err := topology.ParseLink(over.Link); err == nil {
				rate = linked
			}
		}
		if rate != 0 && over.CyclesPerFlit == 0 {
			clock = min(clock, fabric.FlitTime(rate, f.FlitBytes))
		}
		latency = topology.GCD(latency, over.Latency)
	}
	if clock == math.MaxInt64 {
		return
	}
	if own := f.Clock; own != fabric.DefaultConfig().Fabric.Clock {
		clock = min(clock, own)
	}
	if latency != 0 {
		for part := (latency + clock - 1) / clock; part < 1<<22; part++ {
			if latency%part == 0 {
				clock = latency / part
				break
			}
		}
	}
	f.Clock = clock
}

// BufferWarnings finds buffers that are too small for their channels.
func BufferWarnings(c *fabric.Config, g *topology.Graph) []experiments.Warning {
	return lists.Map(c.BufferWarnings(g), func(w fabric.BufferWarning) experiments.Warning {
		return experiments.Warning{Key: w.Key, Message: w.Message}
	})
}

// FollowTopology chooses the routing where none is given and the kind's default does not fit the topology:
// minimal on groups, dimension order on grids, the nearest common ancestor on trees, else
// shortest paths by tables. What is wrong with the configuration is left to the kind's check.
func FollowTopology(r *RoutingTable, t *TopologyTable, given func(key string) bool) {
	if given("routing.type") || t.Type.Config() == nil { // nil: no topology that is known
		return
	}
	built, err := t.Type.BuildShared(struct{}{})
	if err != nil {
		return
	}
	fits := func(name string) bool {
		_, err := routing.Registry.New(name, routing.Env{Topology: built, Shared: t.Type.Shared()})
		return err == nil
	}
	if fits(r.Type.Name()) {
		return
	}
	for _, name := range []string{"min", "dor", "nca"} {
		if fits(name) && r.Type.Choose(name) == nil {
			return
		}
	}
	_ = r.Type.Choose("table") // registered, as package routing is here
}

// Use is what decides which settings of a network change something.
type Use struct {
	Config  *fabric.Config
	Routing fabric.Routing
	Faults  *Faults         // nil: the kind has none
	Sized   *topology.Graph // where what is sent is sized in flits; nil: in bytes
	Longest int             // flits of the longest packet; 0: not known
	// Reacts tells that something beside the routing reads marks: what terminals do, or a
	// series of samples.
	Reacts bool
	// Unnamed tells that nothing written names virtual channels.
	Unnamed bool
}

// countsBytes tells whether something in a network whose packets are sized in flits counts bytes.
func (u *Use) countsBytes() bool {
	f := &u.Config.Fabric
	if f.Link != "" || f.MTU > 0 || u.arbitrates() || u.Config.Switch.Marks() {
		return true
	}
	return slices.ContainsFunc(u.Sized.Classes, func(c topology.Class) bool {
		own := u.Config.Channels[c.Name]
		return c.Rate != 0 || own.Rate != 0 || own.Link != ""
	})
}

// arbitrates tells whether lanes have weights.
func (u *Use) arbitrates() bool {
	own, ok := u.Routing.(fabric.LaneArbitration)
	s, t := &u.Config.Switch, &u.Config.Terminal
	return s.VLArbLow+s.VLArbHigh+t.VLArbLow+t.VLArbHigh != "" || ok && own.ArbitratesLanes()
}

// Idle adds warnings of the settings that change nothing.
func (u *Use) Idle(warnings []experiments.Warning) []experiments.Warning {
	warnings = experiments.IdleOf(warnings, idle, u)
	if r, ok := u.Routing.(param.Idler); ok {
		for _, s := range r.IdleSettings() {
			warnings = append(warnings, experiments.Warning{Key: "routing." + s.Key, Message: s.Because, Idle: true})
		}
	}
	if u.Faults != nil {
		for _, name := range u.Faults.names() {
			if t := u.Faults.Tables[name]; len(t.Links)+len(t.Switches) == 0 && !(t.Fraction > 0) {
				warnings = append(warnings, experiments.Warning{Key: "fault." + name + ".*", Message: noFaults, Idle: true})
			}
		}
	}
	return warnings
}

func (u *Use) faulty() bool { return u.Faults != nil && len(u.Faults.Tables) > 0 }

const noFaults = "nothing fails"

var idle = []experiments.Idle[*Use]{
	{Key: "routing.spread_vcs", When: func(u *Use) bool { return u.Config.Switch.VCs <= u.Routing.VCs() && !u.faulty() }, Because: "there are no more virtual channels than the routing needs"},
	{Key: "recovery.*", When: func(u *Use) bool { return u.Faults != nil && len(u.Faults.Tables) == 0 }, Because: noFaults},
	{Key: "recovery.timeout", When: func(u *Use) bool { return u.faulty() && u.Faults.Recovery.Retries == 0 }, Because: "recovery.retries is 0"},
	{Key: "fabric.flit_bytes", When: func(u *Use) bool { return u.Sized != nil && !u.countsBytes() }, Because: "no rate, link or size is in bytes"},
	{Key: "switch.flow_control switch.hold switch.forwarding", When: func(u *Use) bool {
		return u.Longest == 1 && u.Config.Switch.VCAllocCycles == 0
	}, Because: "packets have one flit, and heads take a virtual channel by winning the switch"},
	{Key: "switch.pipeline", When: func(u *Use) bool { return u.Config.Switch.RouteCycles+u.Config.Switch.VCAllocCycles == 0 }, Because: "route_cycles and vc_alloc_cycles are 0"},
	{Key: "switch.credits_per_cycle", When: func(u *Use) bool {
		s := &u.Config.Switch
		return u.Sized != nil && s.Speedup*float64(s.InputSpeedup) == 1 && !u.faulty()
	}, Because: "an input frees one slot at most in a cycle"},
	{Key: "routing.global_vc", When: func(u *Use) bool {
		s := &u.Config.Switch
		return u.Unnamed && s.VCs <= u.Routing.VCs() && s.InputSpeedup == 1 && !u.arbitrates() && !u.faulty()
	}, Because: "virtual channels of global channels have other numbers only, in the same order"},
	{Key: "switch.input_speedup", When: func(u *Use) bool { return max(u.Config.Switch.VCs, u.Routing.VCs()) == 1 }, Because: "an input has one virtual channel"},
	{Key: "switch.credit_sensing", When: func(u *Use) bool {
		return u.Config.Switch.CreditSensing == "off" && !fabric.NeedsOf(u.Routing).SensesCredits
	}, Because: "it is off, as the routing does not rely on it"},
	{Key: "switch.credits_undelayed", When: func(u *Use) bool { return !u.Config.Switch.SensesCredits(u.Routing) }, Because: "no credits are delayed: switch.credit_sensing is off"},
	{Key: "switch.marking", When: func(u *Use) bool { return !u.Reacts && !fabric.NeedsOf(u.Routing).Marked }, Because: "nothing reacts to marks: neither the routing nor what the terminals do"},
}

// Counter tells run, on every call, what f has done since the last.
func Counter(f *core.Fabric, run *experiments.Run) func() {
	var counted core.Counters
	return func() {
		now := f.Counters
		hops, injected := now.FlitHops-counted.FlitHops, now.InjectedFlits-counted.InjectedFlits
		run.Count(2*hops+injected, hops) // every hop is the arrival of a flit and of a credit
		counted = now
	}
}

// WorthBusy, which only tests change, is the number of terminals with traffic times cycles
// of a window from which a second thread pays, where not all of them send all the time;
// WorthOpen where they do, 0: as the fabric has it.
var WorthBusy, WorthOpen = int64(2000), int64(0)

// CyclesOf is the number of cycles that begin in a time.
func CyclesOf(t, clock sim.Time) int64 { return int64((t + clock - 1) / clock) }

// Memory is the memory of an empty network, in bytes: of records of a port, of its virtual
// channels, and of a terminal with its random streams.
func Memory(g *topology.Graph, vcs int) float64 {
	return float64(g.NumPorts())*(100+60*float64(vcs)) + float64(g.Terminals())*400
}

// BlameTimes is what blame makes of the time: BenchmarkBlame of fabric, at load
// 0.7.
const BlameTimes = 1.8

// NoteBlame counts what blame takes.
func NoteBlame(p *experiments.Preflight) {
	p.Slower(BlameTimes)
	p.Note("cost", "measure.blame takes about %v times as long as a run without, counted below", BlameTimes)
}

// JainIndex is the fairness of shares (Jain, Chiu and Hawe 1984): the square
// of their sum over n times the sum of their squares. 1 if all are equal, k/n
// if k of them have everything; NaN if there is nothing to share.
func JainIndex(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Mean is the mean of some values; NaN of none.
func Mean(values []float64) float64 { return lists.Total(values) / float64(len(values)) }
