// Package flows is the kind of experiments "flows": messages between terminals under the congestion
// control of Ethernet.
package flows

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/transport"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

//go:embed tables.txt
var tablesText string

// tables are the kind's.
var tables = experiments.ReadTables(tablesText, nil)

func init() {
	experiments.Register(experiments.Kind[flowsConfig, flowsRow]{
		Name:        "flows",
		Doc:         "messages between terminals under congestion control, through switches that drop, trim or pause: completion times, fairness and what the network does",
		Tables:      tables,
		BeginsAgain: "its state is not kept: points of a hundred thousand flows take seconds",
		Defaults: func() flowsConfig {
			return flowsConfig{
				Topology:  network.TopologyTable{Type: experiments.Choose(topology.Registry, "xgft")},
				Network:   networkTable{Rate: 100e9, Latency: sim.Microsecond},
				Switch:    shared.DefaultConfig(),
				Transport: transport.DefaultConfig(),
				Flows:     flowsTable{Pattern: "permutation", Bytes: 2_000_000, Senders: 15, Sizes: "fixed", Load: 0.5, Duration: sim.Millisecond, Repeat: 1},
				Measure:   flowsMeasure{End: 10 * sim.Second},
			}
		},
		Check: func(c *flowsConfig, seed uint64) ([]experiments.Warning, error) {
			p, err := c.build()
			if err != nil {
				return nil, err
			}
			return append(experiments.IdleOf(nil, idleFlows, c), c.warnings(p)...), c.checkWorkload(p, seed)
		},
		Preflight: preflightFlows,
		Draws:     func(c *flowsConfig) bool { return !otherPattern("poisson")(c) },
		Run:       runFlows,
	})
}

type flowsConfig struct {
	Topology  network.TopologyTable     `toml:"topology" doc:"switches, terminals and channels"`
	Network   networkTable              `toml:"network" doc:"all cables that neither the topology nor [channel] says anything of"`
	Channel   map[string]shared.Channel `toml:"channel" names:"CLASS" doc:"channels, by the classes that the topology names"`
	Switch    shared.Config             `toml:"switch" doc:"output-queued switches that drop, trim or pause"`
	Transport transport.Config          `toml:"transport" doc:"end points: packets, acknowledgements, congestion control, spraying"`
	Flows     flowsTable                `toml:"flows" doc:"what is sent"`
	Measure   flowsMeasure              `toml:"measure" doc:"what is measured"`
}

type networkTable struct {
	Rate    sim.Rate `toml:"rate" doc:"rate of terminals, and of all cables without a rate of their own"`
	Latency sim.Time `toml:"latency" doc:"time of flight" min:"0ns" max:"1000s"`
}

type flowsMeasure struct {
	End    sim.Time `toml:"end" doc:"time at which the run ends, if flows have not" min:"1ps"`
	Flows  bool     `toml:"flows" doc:"write flows.csv: every flow with its times"`
	Links  bool     `toml:"links" doc:"write links.csv, what every channel carried until the last flow was complete, or the run ended"`
	Queues sim.Time `toml:"queues" doc:"write queues.csv: bytes in the deepest queues, sampled so often; 0s: do not" min:"0ns"`
}

// flowsParts is what a configuration builds.
type flowsParts struct {
	topology topology.Topology
	tree     topology.Tree
	timing   shared.Timing
}

func (c *flowsConfig) build() (*flowsParts, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	p := &flowsParts{topology: t}
	p.tree, _ = t.(topology.Tree)
	var problems []error
	if c.Network.Rate < 1e6 || c.Network.Rate > 1e15 {
		problems = append(problems, &param.ParamError{Key: "network.rate", Value: c.Network.Rate, Want: "1Mb/s to 1000Tb/s"})
	}
	classes := lists.Map(t.Graph().Classes, func(c topology.Class) string { return c.Name })
	for name := range c.Channel {
		if !slices.Contains(classes, name) {
			problems = append(problems, document.At("channel."+name, fmt.Errorf("is no channel class of this topology: want %s", strings.Join(classes, ", "))))
		}
	}
	if c.Switch.Full == "pause" && c.Switch.Paths == "adaptive" && c.Switch.Queue == 0 {
		problems = append(problems, &param.ParamError{Key: "switch.queue", Value: c.Switch.Queue, Want: `above 0B with switch.paths = "adaptive", which goes by shares of it`})
	}
	if c.Transport.Repeat == "go-back-n" && (c.Switch.Full == "trim" || c.Transport.Spray != "single" || c.Switch.Paths != "hash") {
		problems = append(problems, &param.ParamError{Key: "transport.repeat", Value: c.Transport.Repeat, Want: `"selective", or transport.spray = "single", switch.paths = "hash" and switch.full = "drop" or "pause": a receiver that throws away what comes out of order needs one path, and no trimmed packets`})
	}
	if c.Switch.Full == "trim" && c.Switch.Header > c.Transport.Packet {
		problems = append(problems, &param.ParamError{Key: "switch.header", Value: c.Switch.Header, Want: fmt.Sprintf("at most transport.packet = %v, of which it is what is left", c.Transport.Packet)})
	}
	_, err = shared.Degraded(t.Graph(), p.tree, c.Switch.Degraded)
	problems = append(problems, err)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	timed, _ := t.(shared.Timed)
	p.timing = shared.NewTiming(t.Graph(), p.tree, timed, &c.Switch, c.Channel, shared.Channel{Rate: c.Network.Rate, Latency: c.Network.Latency}, c.Transport.Packet, c.Transport.Header)
	p.timing.HostsUnmarked = c.Transport.Control == "rccc" || c.Transport.Control == "both"
	if c.Transport.Control == "dcqcn" {
		p.timing.MarkByDefault(&c.Switch)
	}
	return p, nil
}

// warnings are about settings that do not do what their names promise.
func (c *flowsConfig) warnings(p *flowsParts) (list []experiments.Warning) {
	warn := func(key, format string, args ...any) {
		list = append(list, experiments.Warning{Key: key, Message: fmt.Sprintf(format, args...)})
	}
	q, whose := c.Switch.Queue, ""
	if c.Switch.Degraded > 0 {
		q, whose = q/4, " on degraded cables"
	}
	if c.Switch.Queue > 0 && q < c.Transport.Packet {
		warn("switch.queue", "= %v holds no full packet%s (transport.packet = %v): none gets through, however often it is sent again", c.Switch.Queue, whose, c.Transport.Packet)
	} else if c.Switch.Full == "pause" && c.Switch.Queue > 0 {
		if needed, inputs := p.timing.Headroom(p.topology.Graph(), &c.Switch); c.Switch.Queue < needed {
			warn("switch.queue", "holds less than the %v that %d inputs of a switch bring before their senders stop, so that packets may be dropped in spite of switch.full = \"pause\": of each pause_above, what its cable carries in a round trip, and two packets", needed, inputs)
		}
	}
	if wait := c.Transport.Timeout(&p.timing); wait > 0 && wait < p.timing.OwnRTT {
		warn("switch.queue", "= %v makes a timeout of %v, 15us and what a terminal takes to send six queues, and a full packet and its answer take %v in the empty network: packets are sent again although none is lost", sim.Bytes(p.timing.Queue), sim.Time(wait), sim.Time(p.timing.OwnRTT))
	}
	if !otherPattern("poisson")(c) {
		mean := c.Flows.meanBytes()
		packets, _ := c.Transport.PacketsOf(int64(mean))
		if wire := c.Flows.Load * (1 + float64(packets)*float64(c.Transport.Header)/mean); wire >= 1 {
			warn("flows.load", "= %v counts payload: with headers flows fill %.3g of the terminals' rate", c.Flows.Load, wire)
		}
	}
	return list
}

// idleFlows are the settings of congestion control that change nothing, beside the others.
var idleFlows = []experiments.Idle[*flowsConfig]{
	{Key: "switch.mark_from switch.mark_to switch.mark_max", When: (*flowsConfig).ignoresMarks, Because: "no sender heeds marks, which are only counted (packets_marked)"},
	{Key: "switch.mark_max", When: func(c *flowsConfig) bool {
		return c.Switch.Full == "pause" && c.Transport.Control != "dcqcn" && c.Switch.MarkFrom+c.Switch.MarkTo == 0
	}, Because: `switch.full = "pause" marks nothing where mark_from and mark_to are 0B`},
	{Key: "transport.entropies", When: func(c *flowsConfig) bool { return c.Transport.Spray == "single" }, Because: `transport.spray = "single" has one a flow`},
	{Key: "transport.entropies", When: func(c *flowsConfig) bool { return c.Transport.Spray != "single" && c.Switch.Paths != "hash" }, Because: "switch.paths chooses the way of data, and not by entropy"},
	{Key: "transport.window_packets", When: func(c *flowsConfig) bool { return c.Transport.Control != "constant" }, Because: `it is of control = "constant"`},
	{Key: "transport.nscc.*", When: func(c *flowsConfig) bool { return c.Transport.Control != "nscc" && c.Transport.Control != "both" }, Because: `it is of control = "nscc" and "both"`},
	{Key: "transport.dcqcn.*", When: func(c *flowsConfig) bool { return c.Transport.Control != "dcqcn" }, Because: `it is of control = "dcqcn"`},
	{Key: "switch.header", When: func(c *flowsConfig) bool { return c.Switch.Full != "trim" }, Because: `it is of switch.full = "trim"`},
	{Key: "switch.pause_above switch.pause_below switch.allow_deadlock", When: func(c *flowsConfig) bool { return c.Switch.Full != "pause" }, Because: `it is of switch.full = "pause"`},
	{Key: "flows.senders flows.receiver", When: otherPattern("incast", "victim"), Because: `it is of flows.pattern = "incast" and "victim"`},
	{Key: "flows.sizes flows.load flows.duration", When: otherPattern("poisson"), Because: `it is of flows.pattern = "poisson"`},
	{Key: "flows.pattern", When: fromFile, Because: "flows.file takes its place"},
	{Key: "flows.bytes", When: fromFile, Because: "flows.file has sizes"},
	{Key: "flows.repeat", When: fromFile, Because: "flows.file lists all flows"},
	{Key: "transport.share_connections", When: func(c *flowsConfig) bool { return !fromFile(c) }, Because: "it is of the connections of flows.file"},
}

func fromFile(c *flowsConfig) bool { return c.Flows.File != "" }

func otherPattern(patterns ...string) func(*flowsConfig) bool {
	return func(c *flowsConfig) bool { return fromFile(c) || !slices.Contains(patterns, c.Flows.Pattern) }
}

func (c *flowsConfig) ignoresMarks() bool {
	return !slices.Contains([]string{"nscc", "both", "rccc", "dcqcn"}, c.Transport.Control) && !slices.Contains([]string{"bitmap", "reps", "mixed"}, c.Transport.Spray)
}

// AllowDeadlock tells whether it may run although it can deadlock.
func (c *flowsConfig) AllowDeadlock() *bool { return &c.Switch.AllowDeadlock }

// preflightFlows looks for pauses that can wait for each other.
func preflightFlows(c *flowsConfig, p *experiments.Preflight) error {
	if p.Thorough {
		if err := c.predictWork(p); err != nil {
			return err
		}
	}
	if c.Switch.Full != "pause" {
		return nil
	}
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return err
	}
	graph := certify.New(1)
	if err := shared.Dependencies(t.Graph(), graph.Add); err != nil {
		return document.At("topology.type", err)
	}
	found := graph.Certify(1, 1)
	text := found.Describe(t.Graph())
	switch {
	case found.Acyclic():
		p.Note("deadlock", "pauses: %s", text)
	case c.Switch.AllowDeadlock:
		p.MayDeadlock("pauses: " + text)
	default:
		return document.At("switch.full", fmt.Errorf("= \"pause\" %s; --allow-deadlock, or switch.allow_deadlock = true, runs it all the same", text))
	}
	return nil
}

func runFlows(ctx context.Context, c *flowsConfig, run *experiments.Run) (row flowsRow, err error) {
	p, err := c.build()
	if err != nil {
		return row, err
	}
	flows, triggers, err := c.Flows.flows(p.topology.Graph().Terminals(), c.Network.Rate, run.Seed)
	if err != nil {
		return row, err
	}
	g, kernel := p.topology.Graph(), sim.NewKernel()
	ends, err := transport.New(kernel, g, c.Transport, flows, triggers)
	if err != nil {
		return row, document.At("flows", err)
	}
	net, err := shared.New(kernel, g, c.Switch, p.timing, ends, run.Seed)
	if err != nil {
		return row, document.At("switch", err)
	}
	ends.Over(net, &p.timing, c.Switch.Full == "trim", run.Seed)
	queues := &queueSamples{net: net, graph: g}
	step := max(c.Measure.End/1000, sim.Microsecond)
	if c.Measure.Queues > 0 {
		step, queues.table = c.Measure.Queues, run.Table(tables.Named("queues"))
	}
	counted := uint64(0)
	for more := true; more && ends.Left() > 0 && kernel.Now() < c.Measure.End; {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		more = kernel.Run(min(kernel.Now()+step, c.Measure.End))
		if err := queues.sample(kernel.Now()); err != nil {
			return row, err
		}
		handled := kernel.Handled() + net.Handled()
		run.Count(int64(handled-counted), 0)
		counted = handled
		run.AdvanceAtMost(int64(len(flows)-ends.Left()), int64(len(flows)), "flows")
	}
	if ends.Left() > 0 && kernel.Next() == sim.MaxTime {
		return row, fmt.Errorf("%d of %d flows wait for each other for ever at %v: a cycle of paused ports, with %d packets in the network", ends.Left(), len(flows), kernel.Now(), net.InFlight())
	}
	timed := c.timed(flows, ends, net)
	row = c.row(p, timed, &ends.Counts, net)
	run.Count(0, row.Hops)
	if c.Measure.Flows {
		writeFlows(run, timed)
	}
	if c.Measure.Links {
		until := min(kernel.Now(), c.Measure.End)
		if _, ended := ends.Ends(); ends.Left() == 0 {
			until = slices.Max(ended)
		}
		writeLinks(run, g, net, until)
	}
	writeSizeClasses(run, timed)
	return row, nil
}
