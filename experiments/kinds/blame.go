package kinds

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/stats"
)

// writeBlame keeps where the latency of measured packets came from: blame.csv
// and congestion.csv.
func writeBlame(run *experiments.Run, g *topology.Graph, b *observe.Blame, clock float64) {
	columns := []string{"scope", "from", "to", "channel_class", "packets"}
	for _, name := range core.PartNames {
		columns = append(columns, name+"_ns")
	}
	t := run.Table("blame", append(columns, "total_ns", "root_share")...)
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
		from, to, class := channelEnds(g, i)
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

// writeCongestion keeps the congestion trees: the channels that most of the
// waiting has its root at, each followed by the channels that it stalls, and
// those by theirs.
func writeCongestion(run *experiments.Run, g *topology.Graph, b *observe.Blame, roots []float64) {
	t := run.Table("congestion", "tree", "depth", "from", "to", "channel_class", "share")
	waiting := 0.0
	order := make([]int, len(roots))
	for i, p := range b.Links() {
		order[i] = i
		waiting += float64(p.Waiting())
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case roots[i] > roots[j]:
			return -1
		case roots[i] < roots[j]:
			return 1
		}
		return 0
	})
	for tree, root := range order[:min(mostRoots, len(order))] {
		var path []int
		var grow func(channel int, share float64)
		grow = func(channel int, share float64) {
			from, to, class := channelEnds(g, channel)
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
