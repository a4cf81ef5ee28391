package flows

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/transport"
	"github.com/weft-sim/weft/sim"
)

type flowsRow struct {
	Flows      int64   `column:"flows" doc:"flows that were to be sent"`
	Completed  int64   `column:"flows_completed" doc:"flows whose last packet was acknowledged before measure.end"`
	Tail       float64 `column:"tail_us" doc:"time at which the last flow was complete, from the start of the run; empty if some were not"`
	First      float64 `column:"first_us" doc:"time at which the first flow was complete, from the start of the run"`
	Mean       float64 `column:"mean_us" doc:"mean time at which flows were complete, from the start of the run"`
	Victim     float64 `column:"victim_us" doc:"pattern victim: completion time of the flow beside the incast, the mean of its repetitions; empty otherwise" best:"lowest completion time of the victim"`
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

	VictimSlowdown float64 `column:"victim_slowdown" doc:"pattern victim: slowdown of the flow beside the incast; empty otherwise" best:"lowest slowdown of the victim"`
	IncastP50      float64 `column:"incast_fct_p50_us" doc:"pattern victim: fct_p50_us of the incast alone; empty otherwise"`
	IncastP99      float64 `column:"incast_fct_p99_us" doc:"pattern victim: fct_p99_us of the incast alone; empty otherwise"`
	IncastSlowdown float64 `column:"incast_slowdown_mean" doc:"pattern victim: slowdown_mean of the incast alone; empty otherwise"`
	IncastJain     float64 `column:"incast_jain_index" doc:"pattern victim: jain_index of the incast alone; empty otherwise"`
}

type timedFlow struct {
	*transport.Flow
	began, ended sim.Time // -1: it has not
	slowdown     float64  // its time over that in the empty network; NaN: it has not ended
}

func (f *timedFlow) took() sim.Time { return f.ended - f.began }

func (c *flowsConfig) timed(flows []transport.Flow, ends *transport.System, net *shared.Network) []timedFlow {
	all := make([]timedFlow, len(flows))
	began, ended := ends.Ends()
	sprayed := c.Transport.Spray != "single" || c.Switch.Paths != "hash"
	for i := range flows {
		f := &all[i]
		*f = timedFlow{&flows[i], began[i], ended[i], math.NaN()}
		if f.ended >= 0 {
			packets, last := c.Transport.PacketsOf(f.Bytes)
			f.slowdown = float64(f.took()) / float64(net.Alone(topology.TerminalID(f.Src), topology.TerminalID(f.Dst), packets, last, int64(c.Transport.Header), sprayed))
		}
	}
	return all
}

// row sums a run up.
func (c *flowsConfig) row(p *flowsParts, flows []timedFlow, n *transport.Counts, net *shared.Network) flowsRow {
	row := flowsRow{
		Flows: int64(len(flows)), Packets: n.Sent, Again: n.Again, Acks: n.Acknowledged, Nacks: n.Refused, Pulls: n.Pulls, Requests: n.Requests,
		Notified: n.Notified, Reordered: n.Reordered, Timeouts: n.Timeouts,
		First: math.NaN(), Tail: math.NaN(), Mean: math.NaN(), Victim: math.NaN(),
		VictimSlowdown: math.NaN(), IncastP50: math.NaN(), IncastP99: math.NaN(), IncastSlowdown: math.NaN(), IncastJain: math.NaN(),
	}
	var all, ofIncast, ofVictim completed
	each := len(flows) / c.Flows.Repeat // of a pattern, the last of which is the victim
	sum, last, bytes := 0.0, sim.Time(0), 0.0
	for i := range flows {
		f := &flows[i]
		if f.ended < 0 {
			continue
		}
		row.Completed++
		at := f.ended.Microseconds()
		sum += at
		if last = max(last, f.ended); math.IsNaN(row.First) || at < row.First {
			row.First = at
		}
		all.add(f)
		if c.victim() && i%each == each-1 {
			ofVictim.add(f)
		} else {
			ofIncast.add(f)
		}
		bytes += float64(f.Bytes)
	}
	if row.Completed > 0 {
		row.Mean = sum / float64(row.Completed)
		row.Goodput = bytes * 8 / last.Nanoseconds()
	}
	if row.Completed == row.Flows {
		row.Tail = last.Microseconds()
	}
	if c.victim() {
		row.Victim, row.VictimSlowdown = network.Mean(ofVictim.times), network.Mean(ofVictim.slowdowns)
		row.IncastP50, row.IncastP99 = quantile(ofIncast.times, 0.5), quantile(ofIncast.times, 0.99)
		row.IncastSlowdown, row.IncastJain = network.Mean(ofIncast.slowdowns), network.JainIndex(ofIncast.rates)
	}
	row.P50, row.P99 = quantile(all.times, 0.5), quantile(all.times, 0.99)
	row.Slowdown, row.Slowdown50, row.Slowdown99 = network.Mean(all.slowdowns), quantile(all.slowdowns, 0.5), quantile(all.slowdowns, 0.99)
	row.Jain = network.JainIndex(all.rates)
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

type completed struct{ times, slowdowns, rates []float64 }

func (x *completed) add(f *timedFlow) {
	took := f.took().Microseconds()
	x.times, x.slowdowns, x.rates = append(x.times, took), append(x.slowdowns, f.slowdown), append(x.rates, float64(f.Bytes)/took)
}

// victim tells whether the last flow of a pattern is beside the others.
func (c *flowsConfig) victim() bool { return c.Flows.Pattern == "victim" && c.Flows.File == "" }

// quantile is the smallest of the values that are not below a share q of all; NaN of none. It
// sorts them.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return stat.Quantile(q, stat.Empirical, values, nil)
}

// writeFlows keeps every flow: flows.csv.
func writeFlows(run *experiments.Run, flows []timedFlow) {
	t := run.Table(tables.Named("flows"))
	for i := range flows {
		f := &flows[i]
		start, end, took := math.NaN(), math.NaN(), math.NaN()
		if f.began >= 0 {
			start = f.began.Microseconds()
		}
		if f.ended >= 0 {
			end, took = f.ended.Microseconds(), f.took().Microseconds()
		}
		t.Add(f.ID, f.Src, f.Dst, f.Bytes, start, end, took, f.slowdown)
	}
}

// writeLinks keeps what every channel has carried until a time: links.csv.
func writeLinks(run *experiments.Run, g *topology.Graph, net *shared.Network, until sim.Time) {
	t := run.Table(tables.Named(results.LinksName))
	for i := range g.NumPorts() + g.Terminals() {
		from, to, class := telemetry.ChannelEnds(g, i)
		bytes := net.Counters(i).SentBytes
		t.Add(from, to, class, bytes, 100*float64(bytes)*8/(float64(net.Rate(i))*until.Seconds()), telemetry.BetweenSwitches(g, i))
	}
}

// writeSizeClasses divides flows by size, at powers of ten: size_classes.csv.
func writeSizeClasses(run *experiments.Run, flows []timedFlow) {
	t := run.Table(tables.Named("size_classes"))
	for low := int64(0); low < 1<<60; {
		high := max(1000, low*10)
		var ended completed
		all := 0
		rest := false
		for i := range flows {
			f := &flows[i]
			rest = rest || f.Bytes > high
			if f.Bytes <= low || f.Bytes > high {
				continue
			}
			if all++; f.ended >= 0 {
				ended.add(f)
			}
		}
		if all > 0 {
			t.Add(low, high, all, len(ended.times), network.Mean(ended.times), quantile(ended.times, 0.99),
				network.Mean(ended.slowdowns), quantile(ended.slowdowns, 0.5), quantile(ended.slowdowns, 0.95), quantile(ended.slowdowns, 0.99))
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
func (q *queueSamples) sample(now sim.Time) error {
	if q.table == nil {
		return nil
	}
	if len(q.table.Rows) == mostSamples {
		return document.At("measure.queues", fmt.Errorf("gives more than %d samples by %v: want a longer time", mostSamples, now))
	}
	deepest, at, sum := int64(-1), 0, int64(0)
	for p := range q.graph.NumPorts() {
		waiting := q.net.Waiting(p)
		if sum += waiting; waiting > deepest {
			deepest, at = waiting, p
		}
	}
	q.table.Add(now.Microseconds(), deepest, q.graph.PortName(topology.PortID(at)), float64(sum)/float64(q.graph.NumPorts()))
	return nil
}

// mostSamples bounds the memory that samples take.
const mostSamples = 1 << 20
