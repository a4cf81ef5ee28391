// Package flows is the kind of experiments "flows": messages between terminals under the congestion
// control of Ethernet.
package flows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/transport"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	experiments.Register(experiments.Kind[flowsConfig, flowsRow]{
		Name:        "flows",
		Doc:         "messages between terminals under congestion control, through switches that drop, trim or pause: completion times, fairness and what the network does",
		Tables:      []experiments.FurtherTable{eachFlowTable.AskedBy("measure.flows"), sizeClassesTable, flowQueuesTable.AskedBy("measure.queues")},
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
		Check: func(c *flowsConfig, seed uint64) ([]experiments.Warning, error) {
			_, err := c.build(seed)
			return experiments.IdleOf(idleFlows, c), err
		},
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
	Rate    sim.Rate `toml:"rate" doc:"rate of terminals, and of all cables without a rate of their own"`
	Latency sim.Time `toml:"latency" doc:"time of flight"`
}

type flowsTable struct {
	File     string    `toml:"file" doc:"connection matrix of htsim; relative to the experiment file; in place of pattern" file:"read"`
	Pattern  string    `toml:"pattern" doc:"permutation: every terminal to another one, drawn at random; incast: the terminals behind the receiver to it; victim: the same, and a flow beside it, from the fifth terminal behind the receiver to the next one; all-to-all: every terminal to every other, one behind the other; poisson: flows are born at random times between random terminals" choices:"permutation|incast|victim|all-to-all|poisson"`
	Bytes    sim.Bytes `toml:"bytes" doc:"size of a flow; poisson with sizes fixed" min:"1"`
	Senders  int       `toml:"senders" doc:"terminals that send in an incast" min:"1"`
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
	Completed  int64   `column:"flows_completed" doc:"flows whose last packet was acknowledged before measure.end"`
	Tail       float64 `column:"tail_us" doc:"time at which the last flow was complete, from the start of the run; empty if some were not"`
	First      float64 `column:"first_us" doc:"time at which the first flow was complete, from the start of the run"`
	Mean       float64 `column:"mean_us" doc:"mean time at which flows were complete, from the start of the run"`
	Victim     float64 `column:"victim_us" doc:"pattern victim: completion time of the flow beside the incast; empty otherwise" best:"lowest completion time of the victim"`
	P50        float64 `column:"fct_p50_us" doc:"median completion time, from the start of the flow"`
	P99        float64 `column:"fct_p99_us" doc:"99th percentile of completion times" best:"lowest 99th percentile of the completion times"`
	Slowdown   float64 `column:"slowdown_mean" doc:"mean of completion time / that of the flow alone in the network"`
	Slowdown50 float64 `column:"slowdown_p50" doc:"median slowdown of a flow"`
	Slowdown99 float64 `column:"slowdown_p99" doc:"99th percentile of the slowdown of flows"`
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
		if !slices.ContainsFunc(t.Graph().Classes, func(c topology.Class) bool { return c.Name == name }) {
			problems = append(problems, document.At("channel."+name, errors.New("is no channel class of this topology")))
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
		problems = append(problems, document.At("switch.degraded", errors.New("needs a topology with levels")))
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

// idleFlows are the settings of congestion control that change nothing, beside the others.
var idleFlows = []experiments.Idle[*flowsConfig]{
	{Key: "switch.mark_to", When: (*flowsConfig).ignoresMarks, Because: "no sender heeds marks"},
	{Key: "switch.mark_from", When: (*flowsConfig).ignoresMarks, Because: "no sender heeds marks"},
	{Key: "transport.entropies", When: func(c *flowsConfig) bool { return c.Transport.Spray == "single" }, Because: `transport.spray = "single" has one a flow`},
	{Key: "transport.entropies", When: func(c *flowsConfig) bool { return c.Transport.Spray != "single" && c.Switch.Paths != "hash" }, Because: "switch.paths chooses the way of data, and not by entropy"},
	{Key: "transport.window_packets", When: func(c *flowsConfig) bool { return c.Transport.Control != "constant" }, Because: `it is of control = "constant"`},
	{Key: "transport.nscc.*", When: func(c *flowsConfig) bool { return c.Transport.Control != "nscc" && c.Transport.Control != "both" }, Because: `it is of control = "nscc" and "both"`},
	{Key: "transport.dcqcn.*", When: func(c *flowsConfig) bool { return c.Transport.Control != "dcqcn" }, Because: `it is of control = "dcqcn"`},
	{Key: "switch.pause_above", When: neverPauses, Because: `it is of switch.full = "pause"`},
	{Key: "switch.pause_below", When: neverPauses, Because: `it is of switch.full = "pause"`},
	{Key: "flows.senders", When: otherPattern("incast", "victim"), Because: `it is of flows.pattern = "incast" and "victim"`},
	{Key: "flows.receiver", When: otherPattern("incast", "victim"), Because: `it is of flows.pattern = "incast" and "victim"`},
	{Key: "flows.sizes", When: otherPattern("poisson"), Because: `it is of flows.pattern = "poisson"`},
	{Key: "flows.load", When: otherPattern("poisson"), Because: `it is of flows.pattern = "poisson"`},
	{Key: "flows.duration", When: otherPattern("poisson"), Because: `it is of flows.pattern = "poisson"`},
	{Key: "flows.pattern", When: fromFile, Because: "flows.file takes its place"},
	{Key: "flows.bytes", When: fromFile, Because: "flows.file has sizes"},
	{Key: "transport.share_connections", When: func(c *flowsConfig) bool { return !fromFile(c) }, Because: "it is of the connections of flows.file"},
}

func fromFile(c *flowsConfig) bool { return c.Flows.File != "" }

func otherPattern(patterns ...string) func(*flowsConfig) bool {
	return func(c *flowsConfig) bool { return fromFile(c) || !slices.Contains(patterns, c.Flows.Pattern) }
}

func neverPauses(c *flowsConfig) bool { return c.Switch.Full != "pause" }

func (c *flowsConfig) ignoresMarks() bool {
	return !slices.Contains([]string{"nscc", "both", "rccc", "dcqcn"}, c.Transport.Control) && !slices.Contains([]string{"bitmap", "reps", "mixed"}, c.Transport.Spray)
}

// AllowDeadlock tells whether it may run although it can deadlock.
func (c *flowsConfig) AllowDeadlock() *bool { return &c.Switch.AllowDeadlock }

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
	p, err := c.build(run.Seed)
	if err != nil {
		return row, err
	}
	g, kernel := p.topology.Graph(), sim.NewKernel()
	ends, err := transport.New(kernel, g, p.tree, c.Transport, p.flows, p.triggers)
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
		step, queues.table = c.Measure.Queues, run.Table(flowQueuesTable)
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

// flows are those of a file or a pattern.
func (t *flowsTable) flows(terminals int, rate sim.Rate, seed uint64) (flows []transport.Flow, triggers []transport.Trigger, err error) {
	bytes := int64(t.Bytes)
	switch {
	case t.File != "":
		text, err := input.ReadInput(t.File, input.MaxInput)
		if err != nil {
			return nil, nil, document.At("flows.file", fmt.Errorf("%s: %w", t.File, err))
		}
		m, err := transport.ReadMatrix(t.File, text)
		if err != nil {
			return nil, nil, document.At("flows.file", err)
		}
		if m.Nodes > terminals {
			return nil, nil, document.At("flows.file", fmt.Errorf("%s has %d nodes, and the network %d terminals", t.File, m.Nodes, terminals))
		}
		return m.Flows, m.Triggers, nil
	case terminals < 2:
		return nil, nil, document.At("topology.type", fmt.Errorf("has %d terminal; flows need two", terminals))
	case t.Pattern == "incast":
		flows, err = transport.Incast(terminals, t.Senders, t.Receiver, bytes)
	case t.Pattern == "victim":
		flows, err = transport.Victim(terminals, t.Senders, t.Receiver, bytes)
	case t.Pattern == "all-to-all":
		flows, triggers = transport.AllToAll(terminals, bytes)
	case t.Pattern == "poisson":
		flows, err = transport.Poisson(terminals, transport.SizesOf[t.Sizes], bytes, t.Load, rate, t.Duration, seed)
		if len(flows) == 0 && err == nil {
			err = fmt.Errorf("no flow is born in %v", t.Duration)
		}
	default:
		flows = transport.Permutation(terminals, bytes, seed)
	}
	return flows, triggers, document.Under("flows", "flows.pattern", err)
}

// alone is the completion time of a flow in the empty network.
func (c *flowsConfig) alone(net *shared.Network, f *transport.Flow) sim.Time {
	payload := int64(c.Transport.Packet - c.Transport.Header)
	packets := max(1, (f.Bytes+payload-1)/payload)
	last := f.Bytes - (packets-1)*payload + int64(c.Transport.Header)
	return sim.Time(net.Alone(topology.TerminalID(f.Src), topology.TerminalID(f.Dst), packets, last, int64(c.Transport.Header)))
}

var (
	eachFlowTable = experiments.FurtherTable{Name: "flows", Doc: "every flow", Columns: []experiments.Column{
		{Name: "flow", Doc: "number of the flow"},
		{Name: "source", Doc: "terminal that sends"},
		{Name: "destination", Doc: "terminal that it is for"},
		{Name: "bytes", Doc: "payload"},
		{Name: "start_us", Doc: "when it began; empty: it did not"},
		{Name: "end_us", Doc: "when all of the flow was acknowledged, or had arrived; empty: it was not"},
		{Name: "fct_us", Doc: "from start_us to end_us, the flow completion time"},
		{Name: "slowdown", Doc: "fct_us over the time that the flow takes alone in the network"},
	}}
	sizeClassesTable = experiments.FurtherTable{Name: "size_classes", Doc: "flows by size, in powers of ten", Columns: []experiments.Column{
		{Name: "bytes_above", Doc: "flows have more bytes than these"},
		{Name: "bytes_to", Doc: "flows have no more bytes than these"},
		{Name: "flows", Doc: "how many there are"},
		{Name: "flows_completed", Doc: "how many of them have ended"},
		{Name: "fct_mean_us", Doc: "mean time that a flow took"},
		{Name: "fct_p99_us", Doc: "99th percentile of the time that a flow took"},
		{Name: "slowdown_mean", Doc: "mean of a flow's time over its time alone in the network"},
		{Name: "slowdown_p50", Doc: "median slowdown"}, {Name: "slowdown_p95", Doc: "95th percentile of the slowdown"}, {Name: "slowdown_p99", Doc: "99th percentile of the slowdown"},
	}}
	flowQueuesTable = experiments.FurtherTable{Name: "queues", Doc: "the deepest queue over time", Columns: []experiments.Column{
		{Name: "time_us", Doc: "time of the sample"},
		{Name: "deepest_bytes", Doc: "waiting at the port of a switch with the most"},
		{Name: "port", Doc: "the port with the deepest queue"},
		{Name: "mean_bytes", Doc: "waiting at a port of a switch, mean"},
	}}
)

// row sums a run up.
func (c *flowsConfig) row(p *flowsParts, ends *transport.System, net *shared.Network) flowsRow {
	began, ended := ends.Ends()
	n := &ends.Counts
	row := flowsRow{
		Flows: int64(len(p.flows)), Packets: n.Sent, Again: n.Again, Acks: n.Acknowledged, Nacks: n.Refused, Pulls: n.Pulls, Requests: n.Requests,
		Notified: n.Notified, Reordered: n.Reordered, Timeouts: n.Timeouts,
		First: math.NaN(), Tail: math.NaN(), Mean: math.NaN(), Victim: math.NaN(),
	}
	var times, slowdowns, rates []float64
	sum, last, bytes := 0.0, sim.Time(0), 0.0
	for i := range p.flows {
		if ended[i] < 0 {
			continue
		}
		row.Completed++
		at, took := ended[i].Microseconds(), ended[i]-began[i]
		sum += at
		if last = max(last, ended[i]); math.IsNaN(row.First) || at < row.First {
			row.First = at
		}
		times = append(times, took.Microseconds())
		slowdowns = append(slowdowns, float64(took)/float64(c.alone(net, &p.flows[i])))
		rates = append(rates, float64(p.flows[i].Bytes)/took.Microseconds())
		bytes += float64(p.flows[i].Bytes)
	}
	if row.Completed > 0 {
		row.Mean = sum / float64(row.Completed)
		row.Goodput = bytes * 8 / last.Nanoseconds()
	}
	if row.Completed == row.Flows {
		row.Tail = last.Microseconds()
	}
	if last := len(p.flows) - 1; c.Flows.Pattern == "victim" && c.Flows.File == "" && ended[last] >= 0 {
		row.Victim = (ended[last] - began[last]).Microseconds()
	}
	row.P50, row.P99 = quantile(times, 0.5), quantile(times, 0.99)
	row.Slowdown, row.Slowdown50, row.Slowdown99 = network.Mean(slowdowns), quantile(slowdowns, 0.5), quantile(slowdowns, 0.99)
	row.Jain = network.JainIndex(rates)
	g := p.topology.Graph()
	for i := range g.NumPorts() + g.Terminals() {
		q := net.Counters(i)
		row.Trimmed += q.Trimmed
		row.Dropped += q.Dropped
		row.Marked += q.Marked
		row.Pauses += q.Paused
		row.PausedFor += float64(q.PausedFor) / 1e6
		row.Hops += q.Sent
		row.Deepest = max(row.Deepest, q.DeepestData)
	}
	return row
}

// quantile is the smallest of the values that are not below a share q of all; NaN of none. It
// sorts them.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
}

// writeFlows keeps every flow: flows.csv.
func writeFlows(run *experiments.Run, p *flowsParts, c *flowsConfig, ends *transport.System, net *shared.Network) {
	t := run.Table(eachFlowTable)
	began, ended := ends.Ends()
	for i := range p.flows {
		f := &p.flows[i]
		start, end, took, slowdown := math.NaN(), math.NaN(), math.NaN(), math.NaN()
		if began[i] >= 0 {
			start = began[i].Microseconds()
		}
		if ended[i] >= 0 {
			end, took = ended[i].Microseconds(), (ended[i] - began[i]).Microseconds()
			slowdown = float64(ended[i]-began[i]) / float64(c.alone(net, f))
		}
		t.Add(f.ID, f.Src, f.Dst, f.Bytes, start, end, took, slowdown)
	}
}

// writeSizeClasses divides flows by size, at powers of ten: size_classes.csv.
func writeSizeClasses(run *experiments.Run, p *flowsParts, c *flowsConfig, ends *transport.System, net *shared.Network) {
	t := run.Table(sizeClassesTable)
	began, ended := ends.Ends()
	for low := int64(0); low < 1<<60; {
		high := max(1000, low*10)
		var times, slowdowns []float64
		all := 0
		rest := false
		for i := range p.flows {
			f := &p.flows[i]
			rest = rest || f.Bytes > high
			if f.Bytes <= low || f.Bytes > high {
				continue
			}
			if all++; ended[i] >= 0 {
				times = append(times, (ended[i] - began[i]).Microseconds())
				slowdowns = append(slowdowns, float64(ended[i]-began[i])/float64(c.alone(net, f)))
			}
		}
		if all > 0 {
			t.Add(low, high, all, len(times), network.Mean(times), quantile(times, 0.99), network.Mean(slowdowns), quantile(slowdowns, 0.5), quantile(slowdowns, 0.95), quantile(slowdowns, 0.99))
		}
		if !rest {
			return
		}
		low = high
	}
}

// queueSamples are the depths of queues over time: queues.csv.
type queueSamples struct {
	table *experiments.Output // nil: none are kept
	net   *shared.Network
	graph *topology.Graph
}

// sample notes the queues of switches at a time.
func (q *queueSamples) sample(now sim.Time) {
	if q.table == nil {
		return
	}
	deepest, at, sum := int64(-1), 0, int64(0)
	for p := range q.graph.NumPorts() {
		waiting := q.net.Waiting(p)
		if sum += waiting; waiting > deepest {
			deepest, at = waiting, p
		}
	}
	q.table.Add(now.Microseconds(), deepest, q.graph.PortName(topology.PortID(at)), float64(sum)/float64(q.graph.NumPorts()))
}
