package telemetry

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/stats"
)

var BlameTable = experiments.FurtherTable{Name: "blame", Doc: "parts of the latency of measured packets", Columns: append(append([]experiments.Column{
	{Name: "scope", Doc: "all; packets: sent minimally or not; switch: a switch with all its channels; channel"},
	{Name: "from", Doc: "port, terminal or switch; with scope packets minimal or non-minimal"},
	{Name: "to", Doc: "port or terminal that the channel leads to"},
	{Name: "channel_class", Doc: "class of the channel"},
	{Name: "packets", Doc: "measured packets that the means are over"},
}, partColumns()...), []experiments.Column{
	{Name: "total_ns", Doc: "sum of the parts: with scope all, the mean latency"},
	{Name: "root_share", Doc: "share of all waiting in the network that has its root at the channel"},
}...)}

// partColumns documents the parts of the latency (docs/blame.md).
func partColumns() []experiments.Column {
	doc := map[string]string{
		"source_queue":      "at its terminal, until the head enters the channel",
		"route":             "route computation",
		"vc_allocation":     "waiting for a virtual channel, and the stage itself",
		"switch_allocation": "switch allocation, waiting for it, and the crossbar",
		"credit_stall":      "no buffer free at the far end of the channel",
		"serialisation":     "flits in front, of the packet itself and of others on their way out",
		"ejection":          "waiting for the channel to the destination",
		"wire":              "latencies of the channels",
	}
	var columns []experiments.Column
	for _, name := range core.PartNames {
		columns = append(columns, experiments.Column{Name: name + "_ns", Doc: "mean part of the latency: " + doc[name]})
	}
	return columns
}

// writeBlame keeps where the latency of measured packets came from: blame.csv
// and congestion.csv.
func writeBlame(run *experiments.Run, g *topology.Graph, b *observe.Blame, clock float64) {
	t := run.Table(BlameTable)
	all := b.Packets[0] + b.Packets[1]
	add := func(scope, from, to, class string, packets int64, p *core.Parts, per int64, root float64) {
		row := []any{scope, from, to, class, packets}
		scale := clock / float64(per)
		for _, x := range p {
			row = append(row, stats.Finite(float64(x)*scale))
		}
		t.Add(append(row, stats.Finite(float64(p.Total())*scale), root)...)
	}
	total := b.Classes[0]
	total.Add(&b.Classes[1])
	add("all", "", "", "", all, &total, all, math.NaN())
	for i, name := range []string{"minimal", "non-minimal"} {
		if b.Packets[i] > 0 {
			add("packets", name, "", "", b.Packets[i], &b.Classes[i], b.Packets[i], math.NaN())
		}
	}
	for i := range b.Levels {
		if l := &b.Levels[i]; l.Packets > 0 {
			add("level", fmt.Sprint(i), "", "", l.Packets, &l.Parts, l.Packets, math.NaN())
		}
	}
	links, roots := b.Links(), shares(b.Roots())
	for s := range topology.SwitchID(g.Switches()) {
		var sum core.Parts
		root := 0.0
		first, end := g.Ports(s)
		for p := first; p < end; p++ {
			sum.Add(&links[p])
			root += roots[p]
		}
		add("switch", g.SwitchName(s), "", "", all, &sum, all, root)
	}
	for i := range links {
		from, to, class := ChannelEnds(g, i)
		add("channel", from, to, class, all, &links[i], all, roots[i])
	}
	writeCongestion(run, g, b, roots)
}

// shares are values as parts of their sum.
func shares(values []float64) []float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	for i := range values {
		values[i] = stats.Finite(values[i] / sum)
	}
	return values
}

const (
	mostRoots    = 5
	mostBranches = 3
	mostDepth    = 4
	leastBranch  = 0.01 // of the waiting that a tree's root is to blame for
)

var CongestionTable = experiments.FurtherTable{Name: "congestion", Doc: "channels with the largest root_share, as trees of the channels that they stall", Columns: []experiments.Column{
	{Name: "tree", Doc: "number of the tree, from the largest share on"},
	{Name: "depth", Doc: "0: the root; 1: stalled by it; and so on"},
	{Name: "from", Doc: "port or terminal that the channel leads out of"},
	{Name: "to", Doc: "port or terminal that it leads to"},
	{Name: "channel_class", Doc: "class of the channel"},
	{Name: "share", Doc: "share of all waiting that passes through the channel on its way to the root"},
}}

// writeCongestion keeps the congestion trees: the channels that most of the
// waiting has its root at, each followed by the channels that it stalls, and
// those by theirs.
func writeCongestion(run *experiments.Run, g *topology.Graph, b *observe.Blame, roots []float64) {
	t := run.Table(CongestionTable)
	waiting := 0.0
	order := make([]int, len(roots))
	for i, p := range b.Links() {
		order[i] = i
		waiting += float64(p.Waiting())
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(roots[j], roots[i]) })
	for tree, root := range order[:min(mostRoots, len(order))] {
		var path []int
		var grow func(channel int, share float64)
		grow = func(channel int, share float64) {
			from, to, class := ChannelEnds(g, channel)
			t.Add(tree+1, len(path), from, to, class, share)
			if channel >= g.NumPorts() || len(path) == mostDepth {
				return
			}
			path = append(path, channel)
			branches := b.Upstream(topology.PortID(channel))
			for _, x := range branches[:min(mostBranches, len(branches))] {
				if part := x.Stalled / waiting; part >= leastBranch*roots[root] && !slices.Contains(path, x.Channel) {
					grow(x.Channel, part)
				}
			}
			path = path[:len(path)-1]
		}
		if roots[root] > 0 {
			grow(root, roots[root])
		}
	}
}
