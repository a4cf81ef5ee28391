package kinds

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/transport"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// flows are those of a file or a pattern.
func (t *flowsTable) flows(terminals int, rate sim.Rate, seed uint64) (flows []transport.Flow, triggers []transport.Trigger, err error) {
	bytes := int64(t.Bytes)
	switch {
	case t.File != "":
		text, err := input.ReadInput(t.File, input.MaxInput)
		if err != nil {
			return nil, nil, experiments.At("flows.file", fmt.Errorf("%s: %w", t.File, err))
		}
		m, err := transport.ReadMatrix(t.File, text)
		if err != nil {
			return nil, nil, experiments.At("flows.file", err)
		}
		if m.Nodes > terminals {
			return nil, nil, experiments.At("flows.file", fmt.Errorf("%s has %d nodes, and the network %d terminals", t.File, m.Nodes, terminals))
		}
		return m.Flows, m.Triggers, nil
	case terminals < 2:
		return nil, nil, experiments.At("topology.type", fmt.Errorf("has %d terminal; flows need two", terminals))
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
	return flows, triggers, experiments.Under("flows", "flows.pattern", err)
}

// alone is the completion time of a flow in the empty network.
func (c *flowsConfig) alone(net *shared.Network, f *transport.Flow) sim.Time {
	payload := int64(c.Transport.Packet - c.Transport.Header)
	packets := max(1, (f.Bytes+payload-1)/payload)
	last := f.Bytes - (packets-1)*payload + int64(c.Transport.Header)
	return sim.Time(net.Alone(topology.TerminalID(f.Src), topology.TerminalID(f.Dst), packets, last, int64(c.Transport.Header)))
}

func init() {
	tables := map[string]experiments.FurtherDescription{
		"flows": {Doc: "every flow", Columns: []experiments.Column{
			{Name: "flow", Doc: "its number"},
			{Name: "source", Doc: "terminal that sends"},
			{Name: "destination", Doc: "terminal that it is for"},
			{Name: "bytes", Doc: "payload"},
			{Name: "start_us", Doc: "when it began; empty: it did not"},
			{Name: "end_us", Doc: "when all of it was acknowledged, or had arrived; empty: it was not"},
			{Name: "fct_us", Doc: "time between, the flow completion time"},
			{Name: "slowdown", Doc: "that, over the time that it takes alone in the network"},
		}},
		"size_classes": {Doc: "flows by size, in powers of ten", Columns: []experiments.Column{
			{Name: "bytes_above", Doc: "flows have more bytes than these"},
			{Name: "bytes_to", Doc: "and no more than these"},
			{Name: "flows", Doc: "how many there are"},
			{Name: "flows_completed", Doc: "how many of them have ended"},
			{Name: "fct_mean_us", Doc: "mean time that a flow took"},
			{Name: "fct_p99_us", Doc: "99th percentile of it"},
			{Name: "slowdown_mean", Doc: "mean of that time over the time alone"},
			{Name: "slowdown_p50", Doc: "median"}, {Name: "slowdown_p95", Doc: "95th percentile"}, {Name: "slowdown_p99", Doc: "99th percentile"},
		}},
		"flows queues": {Doc: "the deepest queue over time", Columns: []experiments.Column{
			{Name: "time_us", Doc: "of the sample"},
			{Name: "deepest_bytes", Doc: "waiting at the port of a switch with the most"},
			{Name: "port", Doc: "that port"},
			{Name: "mean_bytes", Doc: "waiting at a port of a switch, mean"},
		}},
	}
	for name, d := range tables {
		experiments.DescribeTable(name, d)
	}
}

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
	row.Slowdown, row.Slowdown50, row.Slowdown99 = meanOf(slowdowns), quantile(slowdowns, 0.5), quantile(slowdowns, 0.99)
	row.Jain = jainIndex(rates)
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

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

// writeFlows keeps every flow: flows.csv.
func writeFlows(run *experiments.Run, p *flowsParts, c *flowsConfig, ends *transport.System, net *shared.Network) {
	t := run.Table("flows", "flow", "source", "destination", "bytes", "start_us", "end_us", "fct_us", "slowdown")
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
	t := run.Table("size_classes", "bytes_above", "bytes_to", "flows", "flows_completed", "fct_mean_us", "fct_p99_us", "slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99")
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
			t.Add(low, high, all, len(times), meanOf(times), quantile(times, 0.99), meanOf(slowdowns), quantile(slowdowns, 0.5), quantile(slowdowns, 0.95), quantile(slowdowns, 0.99))
		}
		if !rest {
			return
		}
		low = high
	}
}

// queueSamples are the depths of queues over time: queues.csv.
type queueSamples struct {
	table    *experiments.Output // nil: none are kept
	net      *shared.Network
	graph    *topology.Graph
	interval sim.Time
}

func newQueueSamples(run *experiments.Run, net *shared.Network, g *topology.Graph, interval sim.Time) *queueSamples {
	q := &queueSamples{net: net, graph: g, interval: interval}
	if interval > 0 {
		q.table = run.Table("queues", "time_us", "deepest_bytes", "port", "mean_bytes")
	}
	return q
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
