package kinds

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/transport"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	experiments.Register(experiments.Kind[flowsConfig, flowsRow]{
		Name:        "flows",
		Doc:         "messages between terminals under congestion control, through switches that drop, trim or pause: completion times, fairness and what the network does",
		Tables:      []string{"flows", "size_classes", "queues"},
		Asked:       map[string]string{"flows": "measure.flows", "queues": "measure.queues"},
		BeginsAgain: "its state is not kept: points of a hundred thousand flows take seconds",
		Defaults: func() flowsConfig {
			return flowsConfig{
				Topology:  network.TopologyTable{Type: experiments.Choose(topology.Registry, "xgft")},
				Network:   networkTable{Rate: 100e9, Latency: sim.Microsecond},
				Switch:    shared.DefaultConfig(),
				Transport: transport.DefaultConfig(),
				Flows:     flowsTable{Pattern: "permutation", Bytes: 2_000_000, Senders: 15, Sizes: "fixed", Load: 0.5, Duration: sim.Millisecond},
				Measure:   flowsMeasure{End: 10 * sim.Second},
			}
		},
		Check:     checkFlows,
		Preflight: preflightFlows,
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
	Rate    sim.Rate `toml:"rate" doc:"of terminals, and of all cables without a rate of their own"`
	Latency sim.Time `toml:"latency" doc:"time of flight"`
}

type flowsTable struct {
	File     string    `toml:"file" doc:"connection matrix of htsim; relative to the experiment file; in place of pattern" file:"read"`
	Pattern  string    `toml:"pattern" doc:"permutation: every terminal to another one, drawn at random; incast: the terminals behind the receiver to it; victim: the same, and a flow beside it, from the fifth terminal behind the receiver to the next one; all-to-all: every terminal to every other, one behind the other; poisson: flows are born at random times between random terminals" choices:"permutation|incast|victim|all-to-all|poisson"`
	Bytes    sim.Bytes `toml:"bytes" doc:"of a flow; poisson with sizes fixed" min:"1"`
	Senders  int       `toml:"senders" doc:"flows of an incast" min:"1"`
	Receiver int       `toml:"receiver" doc:"terminal that an incast goes to" min:"0"`
	Sizes    string    `toml:"sizes" doc:"poisson: distribution of sizes: fixed, or as published of web search, of Hadoop clusters and of storage" choices:"fixed|web-search|hadoop|ali-storage"`
	Load     float64   `toml:"load" doc:"poisson: offered, as a share of the terminals' rate" min:"0.001" max:"1"`
	Duration sim.Time  `toml:"duration" doc:"poisson: time in which flows are born"`
}

type flowsMeasure struct {
	End    sim.Time `toml:"end" doc:"time at which the run ends, if flows have not"`
	Flows  bool     `toml:"flows" doc:"write flows.csv: every flow with its times"`
	Queues sim.Time `toml:"queues" doc:"write queues.csv: bytes in the deepest queues, sampled so often; 0s: do not"`
}

type flowsRow struct {
	Flows      int64   `column:"flows" doc:"flows that were to be sent"`
	Completed  int64   `column:"flows_completed" doc:"of them, those whose last packet was acknowledged before measure.end"`
	Tail       float64 `column:"tail_us" doc:"time at which the last flow was complete, from the start of the run; empty if some were not"`
	First      float64 `column:"first_us" doc:"time at which the first one was"`
	Mean       float64 `column:"mean_us" doc:"mean of those times"`
	Victim     float64 `column:"victim_us" doc:"pattern victim: completion time of the flow beside the incast; empty otherwise"`
	P50        float64 `column:"fct_p50_us" doc:"median completion time, from the start of the flow"`
	P99        float64 `column:"fct_p99_us" doc:"99th percentile of completion times"`
	Slowdown   float64 `column:"slowdown_mean" doc:"mean of completion time / that of the flow alone in the network"`
	Slowdown50 float64 `column:"slowdown_p50" doc:"its median"`
	Slowdown99 float64 `column:"slowdown_p99" doc:"its 99th percentile"`
	Goodput    float64 `column:"goodput_gbps" doc:"bytes of complete flows over the time of the last, of the whole network"`
	Jain       float64 `column:"jain_index" doc:"fairness of the flows' mean rates (Jain, Chiu and Hawe 1984)"`
	Packets    int64   `column:"packets_data" doc:"data packets sent, repeated ones among them"`
	Again      int64   `column:"packets_repeated" doc:"data packets sent again"`
	Acks       int64   `column:"packets_ack" doc:"acknowledgements"`
	Nacks      int64   `column:"packets_nack" doc:"negative acknowledgements, of trimmed packets"`
	Pulls      int64   `column:"packets_pull" doc:"credits sent by receivers"`
	Requests   int64   `column:"packets_request" doc:"requests to send, after a timeout without credit"`
	Notified   int64   `column:"packets_cnp" doc:"notifications of congestion"`
	Trimmed    int64   `column:"packets_trimmed" doc:"packets cut down to their headers"`
	Dropped    int64   `column:"packets_dropped" doc:"packets for which there was no room"`
	Marked     int64   `column:"packets_marked" doc:"marks set by queues"`
	Reordered  int64   `column:"packets_reordered" doc:"data packets that arrived behind a later one of their connection"`
	Timeouts   int64   `column:"timeouts" doc:"packets repeated because nothing was heard of them"`
	Pauses     int64   `column:"pauses" doc:"pause frames received"`
	PausedFor  float64 `column:"paused_us" doc:"time for which outputs were paused, in sum"`
	Deepest    int64   `column:"queue_max_bytes" doc:"deepest data queue"`
	Hops       int64   `column:"packet_hops" doc:"channels crossed by packets of all kinds"`
}

// flowsParts is what a configuration builds.
type flowsParts struct {
	topology topology.Topology
	tree     topology.Tree
	timing   shared.Timing
	flows    []transport.Flow
	triggers []transport.Trigger
}

func (c *flowsConfig) build(seed uint64) (*flowsParts, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	p := &flowsParts{topology: t}
	p.tree, _ = t.(topology.Tree)
	var problems []error
	if c.Network.Rate < 1e6 {
		problems = append(problems, &param.ParamError{Key: "network.rate", Value: c.Network.Rate, Want: "at least 1Mb/s"})
	}
	for name := range c.Channel {
		known := false
		for _, class := range t.Graph().Classes {
			known = known || class.Name == name
		}
		if !known {
			problems = append(problems, experiments.At("channel."+name, errors.New("is no channel class of this topology")))
		}
	}
	if c.Switch.Full == "pause" && c.Switch.Paths == "adaptive" && c.Switch.Queue == 0 {
		problems = append(problems, &param.ParamError{Key: "switch.queue", Value: c.Switch.Queue, Want: `above 0B with switch.paths = "adaptive", which goes by shares of it`})
	}
	if c.Transport.Control == "dcqcn" && c.Switch.MarkTo == 0 {
		problems = append(problems, &param.ParamError{Key: "switch.mark_to", Value: c.Switch.MarkTo, Want: `above 0B with transport.control = "dcqcn": without marks it changes nothing`})
	}
	if c.Transport.Repeat == "go-back-n" && (c.Switch.Full == "trim" || c.Transport.Spray != "single" || c.Switch.Paths != "hash") {
		problems = append(problems, &param.ParamError{Key: "transport.repeat", Value: c.Transport.Repeat, Want: `"selective", or transport.spray = "single", switch.paths = "hash" and switch.full = "drop" or "pause": a receiver that throws away what comes out of order needs one path, and no trimmed packets`})
	}
	if c.Switch.Degraded > 0 && p.tree == nil {
		problems = append(problems, experiments.At("switch.degraded", errors.New("needs a topology with levels")))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	timed, _ := t.(shared.Timed)
	p.timing = shared.NewTiming(t.Graph(), p.tree, timed, &c.Switch, c.Channel, shared.Channel{Rate: c.Network.Rate, Latency: c.Network.Latency}, c.Transport.Packet, c.Transport.Header)
	p.timing.HostsUnmarked = c.Transport.Control == "rccc" || c.Transport.Control == "both"
	p.flows, p.triggers, err = c.Flows.flows(t.Graph().Terminals(), c.Network.Rate, seed)
	return p, err
}

func checkFlows(c *flowsConfig, seed uint64) ([]experiments.Warning, error) {
	_, err := c.build(seed)
	return c.idle(), err
}

// idle are the settings of congestion control that change nothing, beside the others.
func (c *flowsConfig) idle() (warnings []experiments.Warning) {
	d, control, spray := transport.DefaultConfig(), c.Transport.Control, c.Transport.Spray
	heeds := control == "nscc" || control == "both" || control == "rccc" || control == "dcqcn" || spray == "bitmap" || spray == "reps" || spray == "mixed"
	for _, x := range []struct {
		idle         bool
		key, because string
	}{
		{!heeds && c.Switch.MarkTo > 0, "switch.mark_to", "no sender heeds marks"},
		{spray == "single" && c.Transport.Entropies != d.Entropies, "transport.entropies", `transport.spray = "single" has one a flow`},
		{control != "constant" && c.Transport.Window > 0, "transport.window_packets", `it is of control = "constant"`},
		{control != "nscc" && control != "both" && c.Transport.NSCC != d.NSCC, "transport.nscc", `it is of control = "nscc" and "both"`},
		{control != "dcqcn" && c.Transport.DCQCN != d.DCQCN, "transport.dcqcn", `it is of control = "dcqcn"`},
		{c.Switch.Full != "pause" && (c.Switch.XOff != shared.DefaultConfig().XOff || c.Switch.XOn != shared.DefaultConfig().XOn), "switch.pause_above", `it is of switch.full = "pause"`},
		{c.Switch.Paths != "hash" && c.Transport.Entropies != d.Entropies, "transport.entropies", "switch.paths chooses the way of data, and not by entropy"},
	} {
		if x.idle {
			warnings = append(warnings, experiments.Warning{Key: x.key, Message: "changes nothing: " + x.because})
		}
	}
	return warnings
}

// SetAllowDeadlock lets the configuration run although it can deadlock.
func (c *flowsConfig) SetAllowDeadlock() { c.Switch.AllowDeadlock = true }

// AllowsDeadlock tells whether it may.
func (c *flowsConfig) AllowsDeadlock() bool { return c.Switch.AllowDeadlock }

// preflightFlows looks for pauses that can wait for each other.
func preflightFlows(c *flowsConfig, p *experiments.Preflight) error {
	if c.Switch.Full != "pause" {
		return nil
	}
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return err
	}
	graph := certify.New(1)
	if err := shared.Dependencies(t.Graph(), graph.Add); err != nil {
		return experiments.At("topology.type", err)
	}
	found := graph.Certify(1, 1)
	text := found.Describe(t.Graph())
	switch {
	case found.Acyclic():
		p.Note("deadlock", "pauses: %s", text)
	case c.Switch.AllowDeadlock:
		p.MayDeadlock("pauses: " + text)
	default:
		return experiments.At("switch.full", fmt.Errorf("= \"pause\" %s; --allow-deadlock, or switch.allow_deadlock = true, runs it all the same", text))
	}
	return nil
}

func runFlows(ctx context.Context, c *flowsConfig, run *experiments.Run) (row flowsRow, err error) {
	p, err := c.build(run.Seed)
	if err != nil {
		return row, err
	}
	g, kernel := p.topology.Graph(), sim.NewKernel()
	ends, err := transport.New(kernel, g, p.tree, c.Transport, p.flows, p.triggers)
	if err != nil {
		return row, experiments.At("flows", err)
	}
	net, err := shared.New(kernel, g, c.Switch, p.timing, ends, run.Seed)
	if err != nil {
		return row, experiments.At("switch", err)
	}
	ends.Over(net, &p.timing, c.Switch.Full == "trim", run.Seed)
	queues := newQueueSamples(run, net, g, c.Measure.Queues)
	step := max(c.Measure.End/1000, sim.Microsecond)
	if c.Measure.Queues > 0 {
		step = c.Measure.Queues
	}
	counted := uint64(0)
	for more := true; more && ends.Left() > 0 && kernel.Now() < c.Measure.End; {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		more = kernel.Run(min(kernel.Now()+step, c.Measure.End))
		queues.sample(kernel.Now())
		run.Count(int64(kernel.Handled()-counted), 0)
		counted = kernel.Handled()
		run.AdvanceAtMost(int64(len(p.flows)-ends.Left()), int64(len(p.flows)), "flows")
	}
	if ends.Left() > 0 && kernel.Next() == sim.MaxTime {
		return row, fmt.Errorf("%d of %d flows wait for each other for ever at %v: a cycle of paused ports, with %d packets in the network", ends.Left(), len(p.flows), kernel.Now(), net.InFlight())
	}
	row = c.row(p, ends, net)
	if c.Measure.Flows {
		writeFlows(run, p, c, ends, net)
	}
	writeSizeClasses(run, p, c, ends, net)
	return row, nil
}
