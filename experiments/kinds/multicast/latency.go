// Package multicast has the kinds multicast-routing, trees and forwarding tables of groups, and
// multicast-latency, messages to groups through a fabric.
package multicast

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

//go:embed latency_tables.txt
var latencyText string

var latencyTables = experiments.ReadTables(latencyText, telemetry.Tables)

func init() {
	experiments.Register(experiments.Kind[latencyConfig, latencyRow]{
		Name:   "multicast-latency",
		Doc:    "messages to groups through the fabric, replicated by its switches or sent from member to member, and sums over groups, in a closed loop",
		Tables: latencyTables,
		Defaults: func() latencyConfig {
			d := fabric.DefaultConfig()
			d.Switch.FlowControl = "cut-through"
			return latencyConfig{
				Topology:  network.TopologyTable{Type: experiments.Choose(topology.Registry, "fat-tree")},
				Fabric:    d.Fabric,
				Switch:    d.Switch,
				Terminal:  d.Terminal,
				Routing:   network.RoutingTable{Type: experiments.Choose(routing.Registry, "table")},
				Groups:    groupsTable{Pattern: experiments.Choose(multicast.Patterns, "blocks")},
				Multicast: layeredTable{multicastTable{Engine: experiments.Choose(multicast.Registry, "mr4lms"), Entries: multicast.Unlimited}, 8},
				Host:      hostTable{SendOverhead: 500 * sim.Nanosecond, ReceiveOverhead: 500 * sim.Nanosecond, DMARate: 100e9, MTU: 2048},
				Messages:  messagesTable{Carrier: "multicast", Bytes: 2048, Count: 500, Warmup: 10, Spread: 10 * sim.Microsecond, UnicastFlits: 1},
			}
		},
		Complete: func(c *latencyConfig, given func(string) bool) {
			network.FollowClock(&c.Fabric, &c.Topology, c.Channel, given)
		},
		Check:     checkLatency,
		Preflight: preflightLatency,
		Run:       runLatency,
	})
}

type latencyConfig struct {
	Topology  network.TopologyTable           `toml:"topology" doc:"switches, terminals and channels"`
	Fabric    fabric.PhysicalConfig           `toml:"fabric" doc:"what a flit and a cycle are"`
	Switch    fabric.SwitchConfig             `toml:"switch" doc:"input-queued virtual-channel switch; vcs are those of unicast packets, to which one for each layer of multicast trees comes"`
	Terminal  fabric.TerminalConfig           `toml:"terminal" doc:"sources and sinks"`
	Channel   map[string]fabric.ChannelConfig `toml:"channel" names:"CLASS" doc:"channels, by the classes that the topology names"`
	Routing   network.RoutingTable            `toml:"routing" doc:"the way of unicast packets"`
	Groups    groupsTable                     `toml:"groups" doc:"who belongs to which group"`
	Multicast layeredTable                    `toml:"multicast" doc:"how trees are made"`
	Host      hostTable                       `toml:"host" doc:"adapters and processes"`
	Messages  messagesTable                   `toml:"messages" doc:"what the groups send"`
	Measure   latencyMeasureTable             `toml:"measure" doc:"what is kept beside the row"`
}

func (c *latencyConfig) AllowDeadlock() *bool { return &c.Fabric.AllowDeadlock }

type layeredTable struct {
	multicastTable
	Layers int `toml:"layers" doc:"most layers that trees are divided among so that none can deadlock; each is a virtual channel" min:"1" max:"15"`
}

type messagesTable struct {
	Carrier      string    `toml:"carrier" doc:"multicast: one packet, replicated by switches; broadcast-binomial and broadcast-scatter-allgather: in software, of unicast messages; an allreduce, for which all members call at once: of unicast messages, but of allreduce-multicast, which reduces to the sender up a binomial tree and sends the result by multicast" choices:"multicast|broadcast-binomial|broadcast-scatter-allgather|allreduce-multicast|allreduce-recursive-doubling|allreduce-recursive-halving|allreduce-ring"`
	Bytes        sim.Bytes `toml:"bytes" doc:"size of a message" min:"1B" max:"1GiB"`
	Count        int       `toml:"count" doc:"measured messages of each group" min:"1" max:"100000000"`
	Warmup       int       `toml:"warmup" doc:"messages of each group before those" min:"0" max:"100000000"`
	Active       int       `toml:"active" doc:"groups that send: the first so many; 0: all. The others keep their trees" min:"0"`
	Rotate       bool      `toml:"rotate" doc:"members take turns at sending; otherwise the first of each group sends"`
	Think        sim.Time  `toml:"think" doc:"mean of the exponential pause between a message's completion and the group's next" min:"0ns" max:"1s"`
	Spread       sim.Time  `toml:"spread" doc:"groups begin at random times within this" min:"0ns" max:"1s"`
	UnicastLoad  float64   `toml:"unicast_load" doc:"unicast packets beside the messages, to random terminals" unit:"flits per terminal and cycle" min:"0" max:"1"`
	UnicastFlits int       `toml:"unicast_flits" doc:"size of those packets" unit:"flits" min:"1" max:"65536"`
}

// replicated tells whether switches replicate packets.
func (m *messagesTable) replicated() bool {
	return m.Carrier == "multicast" || m.Carrier == "allreduce-multicast"
}

type latencyMeasureTable struct {
	Groups bool `toml:"groups" doc:"write groups.csv, the latency of every group"`
	Links  bool `toml:"links" doc:"write links.csv, the flits that every channel carried, by virtual channel"`
}

type latencyRow struct {
	Groups      int     `column:"groups" doc:"groups that send; those of one member never do"`
	Trees       int     `column:"trees" doc:"multicast trees; 0 without multicast"`
	Colours     int     `column:"colours" doc:"forwarding-table entries needed; 0 without multicast"`
	Layers      int     `column:"layers" doc:"layers of trees, each free of deadlock; 0 without multicast"`
	MaxEFI      int     `column:"max_efi" doc:"most groups over one cable between switches; 0 without multicast"`
	MeanTFI     float64 `column:"mean_tfi" doc:"groups over trees; empty without multicast"`
	MaxHeight   int     `column:"max_height" doc:"most cables from a tree's root to a member; 0 without multicast"`
	Messages    int64   `column:"messages" doc:"messages measured"`
	LatencyMean float64 `column:"latency_mean_ns" doc:"mean from the post of a message until the last member has it"`
	LatencyP50  float64 `column:"latency_p50_ns" doc:"median latency of a message"`
	LatencyP99  float64 `column:"latency_p99_ns" doc:"99th percentile of message latency" best:"lowest 99th percentile of the latency"`
	LatencyMax  float64 `column:"latency_max_ns" doc:"largest latency of a message"`
	GroupMin    float64 `column:"group_mean_min_ns" doc:"mean latency of the group with the least"`
	GroupMax    float64 `column:"group_mean_max_ns" doc:"mean latency of the group with the greatest"`
	Rate        float64 `column:"messages_per_us" doc:"measured messages per microsecond, of all groups together"`
	Deliveries  int64   `column:"deliveries" doc:"packets that members took, unmeasured ones included"`
	Redundant   int64   `column:"redundant" doc:"packets that terminals outside of the group got and dropped, unmeasured ones included"`
	LinkMax     float64 `column:"link_utilisation_max" doc:"share of the whole run for which the busiest channel carried flits"`
	LinkMean    float64 `column:"link_utilisation_mean" doc:"share of the whole run for which a channel carried flits, mean over channels"`
	Unicast     float64 `column:"unicast_latency_mean_ns" doc:"mean latency of the unicast packets beside the messages; empty without any"`
	Cycles      int64   `column:"cycles" doc:"cycles simulated"`
}

// latencyParts is what a configuration builds.
type latencyParts struct {
	topology topology.Topology
	fabric   fabric.Config
	routing  fabric.Routing
	unicast  int // virtual channels
	groups   []multicast.Group
	timings  []fabric.ChannelTiming
}

func (c *latencyConfig) build(seed uint64) (*latencyParts, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	p := &latencyParts{topology: t, fabric: fabric.Config{Fabric: c.Fabric, Switch: c.Switch, Terminal: c.Terminal, Channels: c.Channel}}
	var problems []error
	most := int((min(c.Messages.Bytes, c.Host.MTU) + c.Fabric.FlitBytes - 1) / c.Fabric.FlitBytes)
	if c.Messages.UnicastLoad > 0 {
		most = max(most, c.Messages.UnicastFlits)
	}
	problems = append(problems, network.CheckFit(&c.Fabric, &c.Switch, most))
	if p.routing, err = c.Network(seed).Route(t); err != nil {
		problems = append(problems, err)
	} else {
		problems = append(problems, p.fabric.Check(t.Graph(), p.routing))
		if p.unicast = c.Switch.VCs; p.unicast == 0 {
			p.unicast = max(1, p.routing.VCs())
		}
		if p.timings, err = p.fabric.ChannelTimings(t.Graph()); err != nil {
			problems = append(problems, err)
		}
	}
	if c.Messages.replicated() {
		problems = append(problems, p.fabric.CheckMulticast(p.routing))
	}
	all, err := c.Groups.Pattern.Build(multicast.PatternEnv{Terminals: t.Graph().Terminals(), Seed: seed})
	if err != nil {
		return nil, errors.Join(append(problems, err)...)
	}
	p.groups = lists.Filter(all, func(g multicast.Group) bool { return len(g.Terminals) > 1 })
	switch {
	case len(p.groups) == 0:
		problems = append(problems, document.At("groups.pattern", errors.New("makes no group of two members or more")))
	case c.Messages.Active > len(p.groups):
		problems = append(problems, &param.ParamError{Key: "messages.active", Value: c.Messages.Active, Want: fmt.Sprintf("at most %d, the groups of two members or more", len(p.groups))})
	default:
		packets := float64(c.Host.packetsOf(int64(c.Messages.Bytes)))
		problems = append(problems, input.CheckMemory("host.mtu", c.Host.MTU, "the packets of a message of each group", hostPacketBytes*packets*float64(c.active(p))))
	}
	return p, errors.Join(problems...)
}

// active is the number of groups that send.
func (c *latencyConfig) active(p *latencyParts) int { return cmp.Or(c.Messages.Active, len(p.groups)) }

// Network names what unicast packets are routed through, for the certificate and weft topology.
func (c *latencyConfig) Network(seed uint64) *network.Spec {
	return network.NewSpec(&c.Topology, &c.Routing, c.Switch.VCs, seed, c.Fabric.AllowDeadlock).Through(&c.Switch)
}

func checkLatency(c *latencyConfig, seed uint64) ([]experiments.Warning, error) {
	p, err := c.build(seed)
	if err != nil {
		return nil, network.ExplainVCs(err, c.Network(seed))
	}
	use := network.Use{Config: &p.fabric, Routing: p.routing}
	warnings := experiments.IdleOf(use.Idle(network.BufferWarnings(&p.fabric, p.topology.Graph())), idleTrees, &c.Multicast.multicastTable)
	return experiments.IdleOf(warnings, idleLatency, builtLatency{c, p}), nil
}

// builtLatency is a point and what it builds.
type builtLatency struct {
	*latencyConfig
	parts *latencyParts
}

var idleLatency = []experiments.Idle[builtLatency]{
	{Key: "messages.unicast_flits", When: func(b builtLatency) bool { return b.Messages.UnicastLoad == 0 }, Because: "messages.unicast_load is 0"},
	{Key: "multicast.*", When: func(b builtLatency) bool { return !b.Messages.replicated() }, Because: "no switch replicates packets (messages.carrier)"},
	{Key: "multicast.per_port multicast.layers messages.active", When: builtLatency.alone, Because: "there is one group of two members or more"},
	{Key: "routing.*", When: func(b builtLatency) bool { return b.unrouted() && (b.alone() || b.Switch.VCs > 0) }, Because: noUnicast},
	{Key: "switch.vcs", When: func(b builtLatency) bool { return b.unrouted() && b.alone() }, Because: noUnicast},
}

const noUnicast = "no packet goes to one terminal: messages.carrier is multicast, and messages.unicast_load 0"

func (b builtLatency) alone() bool { return len(b.parts.groups) == 1 }

// unrouted tells whether no packet is routed, nor anything done by the routing or by the numbers of
// virtual channels: credits are not delayed, lanes have no weights, channels are not listed. Between
// groups the allocator may go by the number of virtual channels.
func (b builtLatency) unrouted() bool {
	s := &b.parts.fabric.Switch
	return b.Messages.Carrier == "multicast" && b.Messages.UnicastLoad == 0 && !s.SensesCredits(b.parts.routing) &&
		s.VLArbLow+s.VLArbHigh+b.Terminal.VLArbLow+b.Terminal.VLArbHigh == "" && !b.Measure.Links
}

func preflightLatency(c *latencyConfig, pre *experiments.Preflight) error {
	n := c.Network(pre.Seed)
	if c.Messages.UnicastLoad > 0 || c.Messages.Carrier != "multicast" {
		if err := network.CheckCertified(pre, n, c.Fabric.AllowDeadlock); err != nil {
			return err
		}
	}
	if !c.Messages.replicated() && c.Messages.UnicastLoad == 0 {
		return nil
	}
	p, err := c.build(pre.Seed)
	if err != nil {
		return err
	}
	if c.Messages.UnicastLoad > 0 {
		o := network.Opened(p.topology.Graph(), p.routing, p.unicast)
		load, err := experiments.Share(pre.Shared(), "unicast load "+n.Fingerprint(), func() (*routing.Load, error) { return c.unicastLoads(p, o, pre.Seed) })
		if err != nil {
			return err
		}
		bound, _ := load.Bound(network.Limits(&c.Switch, o, p.timings, float64(c.Messages.UnicastFlits)))
		if c.Messages.UnicastLoad > bound*(1+1e-9) {
			pre.Warn("messages.unicast_load", "= %v: unicast packets alone fill the first channel at %.4g: they fall behind, and messages of longer packets may wait for ever", c.Messages.UnicastLoad, bound)
		}
	}
	if !c.Messages.replicated() {
		return nil
	}
	plan, err := c.plan(p, pre.Seed, 1)
	if err != nil {
		return err
	}
	if plan.unsafe == nil {
		pre.Note("deadlock", "%d multicast trees on %d layers, each of its own virtual channel: %d dependencies between channels, no cycle: free of deadlock", plan.forest.NumTrees(), plan.layers.Count, plan.layers.Dependencies)
	} else {
		pre.Warn("multicast.layers", "= %d: %v", c.Multicast.Layers, plan.unsafe)
	}
	return nil
}

// boundHops is how many hops may be followed for the loads of unicast packets: a second's.
const boundHops = 10_000_000

// unicastLoads are what unicast packets load channels with: all of them, or, where ways depend on
// queues or take long to follow, those of terminals.
func (c *latencyConfig) unicastLoads(p *latencyParts, o routing.Routed, seed uint64) (*routing.Load, error) {
	pattern, err := uniform(p, seed, c.Topology.Type.Name())
	if err != nil {
		return nil, err
	}
	matrix := pattern.(routing.Matrix)
	if !routing.WalkExceeds(o.Graph, o.Routing, o.VCs, boundHops) {
		if load, err := routing.Loads(o.Graph, o.Routing, o.VCs, matrix); err == nil {
			return load, nil
		}
	}
	return routing.TerminalLoads(o.Graph, matrix), nil
}

func runLatency(ctx context.Context, c *latencyConfig, run *experiments.Run) (latencyRow, error) {
	p, err := c.build(run.Seed)
	if err != nil {
		return latencyRow{}, err
	}
	s, err := c.simulation(p, run)
	if err != nil {
		return latencyRow{}, err
	}
	count, all := network.Counter(s.fabric, run), int64(len(s.loop.groups))*int64(s.loop.wanted)
	progress := func() {
		count()
		run.Advance(s.loop.measured, all, "messages")
	}
	kept := run.Checkpoint()
	if err := s.run(ctx, c.Messages.Spread, measure.ToEnd{Progress: progress, From: kept.Open(), Snapshot: kept.SaveTo}); err != nil {
		return latencyRow{}, err
	}
	row := s.row()
	if c.Measure.Groups {
		s.writeGroups(run)
	}
	if c.Measure.Links {
		telemetry.WriteLinks(run, p.topology.Graph(), s.carried())
	}
	return row, nil
}
