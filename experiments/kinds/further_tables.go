package kinds

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/stats"
)

var linksTable = experiments.FurtherTable{Name: "links", Doc: "what every channel carried in the window, by virtual channel", Columns: []experiments.Column{
	{Name: "from", Doc: "port or terminal that the channel leads out of"},
	{Name: "to", Doc: "port or terminal that it leads to"},
	{Name: "class", Doc: "class of the channel, as the topology names it"},
	{Name: "vc", Doc: "virtual channel, from 0"},
	{Name: "flits", Doc: "flits that the switch handed to it in the window; with a speedup a few of them may wait in its output queue at the end, and some that waited at the start are not counted"},
	{Name: "flits_per_cycle", Doc: "flits over the cycles of the window: 1 is all that a channel carries, so that a full one shows 1, or a little more where its output queue has grown"},
}}

// writeLinks keeps how much every channel carried in the window, by virtual
// channel: links.csv. Channels out of switch ports come first, in port order,
// then those out of terminals.
func writeLinks(run *experiments.Run, g *topology.Graph, c *carried) {
	t := run.Table(linksTable)
	ends := g.NumPorts() + g.Terminals()
	vcs := len(c.flits) / ends
	for i, flits := range c.flits {
		from, to, class := channelEnds(g, i/vcs)
		t.Add(from, to, class, i%vcs, flits, float64(flits)/float64(c.window))
	}
}

// carried is what channels have carried in the windows of all replications.
type carried struct {
	flits  []int64 // len = (ports+terminals)*vcs, as measure.Result.ChannelFlits
	window int64   // cycles
}

// observed is what has been seen of the networks of all replications; of the first where they
// cannot be summed up.
type observed struct {
	carried carried
	blame   *observe.Blame
	traces  []*observe.PacketTrace
	series  *observe.Series
}

// add enters what channels have carried in a replication, and where its packets waited.
func (o *observed) add(flits []uint32, window int64, blame *observe.Blame) {
	o.carried.add(flits, window)
	if o.blame == nil {
		o.blame = blame
	} else {
		o.blame.Add(blame)
	}
}

// write writes what there is, and of links and packets what a file asks for.
func (o *observed) write(run *experiments.Run, g *topology.Graph, clock sim.Time, links, packets bool) {
	if links {
		writeLinks(run, g, &o.carried)
	}
	if o.blame != nil {
		writeBlame(run, g, o.blame, clock.Nanoseconds())
	}
	if o.series != nil {
		writeSeries(run, g, o.series)
	}
	if packets {
		run.Attach("traces", "txt", traceText(g, o.traces, clock))
		run.Attach("traces", "json", traceEvents(g, o.traces, clock))
		writePackets(run, g, o.traces, clock)
	}
}

func (c *carried) add(flits []uint32, window int64) {
	if c.flits == nil {
		c.flits = make([]int64, len(flits))
	}
	for i, n := range flits {
		c.flits[i] += int64(n)
	}
	c.window += window
}

// rate is the load of channel i on all virtual channels together, in flits per
// cycle.
func (c *carried) rate(i, channels int) float64 {
	vcs := len(c.flits) / channels
	sum := int64(0)
	for _, n := range c.flits[i*vcs : (i+1)*vcs] {
		sum += n
	}
	return float64(sum) / float64(c.window)
}

// channelEnds names both ends and the class of channel i: out of port i, or of
// terminal i - ports.
func channelEnds(g *topology.Graph, i int) (from, to, class string) {
	if i >= g.NumPorts() {
		terminal := topology.TerminalID(i - g.NumPorts())
		port := g.TerminalPort[terminal]
		return g.TerminalName(terminal), g.PortName(port), g.Classes[g.PortClass[port]].Name
	}
	port := topology.PortID(i)
	class = g.Classes[g.PortClass[port]].Name
	if peer, ok := g.PeerPort(port); ok {
		return g.PortName(port), g.PortName(peer), class
	}
	terminal, ok := g.PeerTerminal(port)
	if !ok {
		panic(fmt.Sprintf("kinds: port %d leads nowhere", port))
	}
	return g.PortName(port), g.TerminalName(terminal), class
}

var globalChannelsTable = experiments.FurtherTable{Name: "global_channels", Doc: "load of the channels between groups", Columns: []experiments.Column{
	{Name: "group", Doc: "group that the channel leads out of"},
	{Name: "offset", Doc: "groups from there to the one that it leads to, modulo their number"},
	{Name: "role", Doc: "minimal: to the next group; beside: another channel of a switch that has such a one; other"},
	{Name: "flits_per_cycle", Doc: "flits by the length of the window"},
}}

// writeGlobalChannels keeps how much every global channel of a grouped topology
// carried in the window: global_channels.csv. Channels are told apart as figure
// 9 of the dragonfly paper does for worst-case traffic, by where they lead and
// by their switch: role is minimal for channels to the next group, beside for
// the others of a switch that has such a channel, and other.
func writeGlobalChannels(run *experiments.Run, t topology.Grouped, c *carried) {
	g := t.Graph()
	table := run.Table(globalChannelsTable)
	groups := t.Groups()
	for from := range groups {
		next := map[topology.SwitchID]bool{} // switches with a channel to the next group
		for _, p := range t.Gateways(from, (from+1)%groups) {
			next[g.PortSwitch[p]] = true
		}
		for offset := 1; offset < groups; offset++ {
			for _, p := range t.Gateways(from, (from+offset)%groups) {
				role := "other"
				switch {
				case offset == 1:
					role = "minimal"
				case next[g.PortSwitch[p]]:
					role = "beside"
				}
				table.Add(from, offset, role, c.rate(int(p), g.NumPorts()+g.Terminals()))
			}
		}
	}
}

var fairnessTable = experiments.FurtherTable{Name: "fairness", Doc: "how evenly terminals are served", Columns: []experiments.Column{
	{Name: "direction", Doc: "sent or received"},
	{Name: "jain_index", Doc: "Jain's index of fairness: 1 if all terminals have the same, k/n if k of n have everything"},
	{Name: "mean_flits_per_cycle", Doc: "mean over the terminals"},
	{Name: "min_flits_per_cycle", Doc: "flits per cycle of the terminal with the least"},
	{Name: "min_terminal", Doc: "name of the terminal with the least"},
	{Name: "max_flits_per_cycle", Doc: "flits per cycle of the terminal with the most"},
	{Name: "max_terminal", Doc: "name of the terminal with the most"},
}}

// writeFairness keeps how evenly terminals are served: fairness.csv.
func writeFairness(run *experiments.Run, g *topology.Graph, c *carried) {
	t := run.Table(fairnessTable)
	channels := g.NumPorts() + g.Terminals()
	sent, received := make([]float64, g.Terminals()), make([]float64, g.Terminals())
	for i := range sent {
		sent[i] = c.rate(g.NumPorts()+i, channels)
		received[i] = c.rate(int(g.TerminalPort[i]), channels)
	}
	for _, x := range []struct {
		direction string
		rates     []float64
	}{{"sent", sent}, {"received", received}} {
		least, most := slices.Min(x.rates), slices.Max(x.rates)
		first := func(rate float64) string { return g.TerminalName(topology.TerminalID(slices.Index(x.rates, rate))) }
		t.Add(x.direction, network.JainIndex(x.rates), network.Mean(x.rates), least, first(least), most, first(most))
	}
}

// writeSeries keeps what every channel carried in the intervals of the window:
// series/POINT.csv, one row a channel, in the order of links.csv, and one
// column an interval.
func writeSeries(run *experiments.Run, g *topology.Graph, s *observe.Series) {
	t := &results.Table{Columns: []string{"from", "to", "class"}}
	from := int64(0)
	for _, to := range s.Ends {
		t.Columns = append(t.Columns, fmt.Sprintf("%d-%d", from, to))
		from = to
	}
	for i := range g.NumPorts() + g.Terminals() {
		from, to, class := channelEnds(g, i)
		row := []string{from, to, class}
		for _, flits := range s.Flits {
			row = append(row, strconv.FormatUint(uint64(flits[i]), 10))
		}
		t.Rows = append(t.Rows, row)
	}
	var b strings.Builder
	if err := t.Write(&b); err != nil {
		panic("kinds: " + err.Error()) // a Builder takes everything
	}
	run.Attach(results.SeriesFolder, "csv", b.String())
}

var blameTable = experiments.FurtherTable{Name: "blame", Doc: "parts of the latency of measured packets", Columns: append(append([]experiments.Column{
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
	t := run.Table(blameTable)
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

var congestionTable = experiments.FurtherTable{Name: "congestion", Doc: "channels with the largest root_share, as trees of the channels that they stall", Columns: []experiments.Column{
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
	t := run.Table(congestionTable)
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

var queuesTable = experiments.FurtherTable{Name: "queues", Doc: "ports of switches over time; cells of what was not sampled are empty", Columns: []experiments.Column{
	{Name: "time_ns", Doc: "from the start of the window: what happened before counts"},
	{Name: "port", Doc: "port of a switch"},
	{Name: "to", Doc: "port or terminal that its channel leads to"},
	{Name: "class", Doc: "class of the channel"},
	{Name: "waiting_flits", Doc: "flits that are routed to leave by the port and still in the switch"},
	{Name: "outstanding_flits", Doc: "flits that were sent and whose credits have not come back"},
	{Name: "sent_flits", Doc: "flits that have left by the port since the sample before"},
	{Name: "marked_packets", Doc: "packets that the port has marked since the sample before"},
}}

// probe is the probe that the point asks for, in parts whose routing is built; none if it asks
// for none.
func (c *trafficConfig) probe(parts *trafficParts) error {
	m := &c.Measure
	if m.Queues == 0 {
		return nil
	}
	p := fabric.Probe{Interval: network.CyclesOf(m.Queues, c.Fabric.Clock)}
	var problems []error
	for i, name := range m.QueueSamples {
		q, _ := fabric.QuantityOf(name)
		if why := parts.fabric.CannotProbe(q, parts.Routing); why != "" {
			problems = append(problems, document.At(fmt.Sprintf("measure.queue_samples[%d]", i), fmt.Errorf("= %q: want %s", name, why)))
			continue
		}
		p.Quantities = append(p.Quantities, q)
	}
	g := parts.topology.Graph()
	chosen := make([]bool, g.NumPorts())
	for i, pattern := range m.QueuePorts {
		if !choosePorts(g, pattern, chosen) {
			problems = append(problems, document.At(fmt.Sprintf("measure.queue_ports[%d]", i),
				fmt.Errorf("= %q names no port: want all, a class of channels such as %s, a switch such as %q, or a port such as %q, in which * stands for anything",
					pattern, g.Classes[len(g.Classes)-1].Name, g.SwitchName(0), g.PortName(0))))
		}
	}
	for port := range chosen {
		if chosen[port] {
			p.Ports = append(p.Ports, topology.PortID(port))
		}
	}
	cycles := cmp.Or(m.Window, c.budget(0, false))
	const rowBytes = 300 // of queues.csv, with its cells
	rows := math.Ceil(float64(cycles)/float64(p.Interval)) * float64(len(p.Ports))
	problems = append(problems, input.CheckMemory("measure.queues", m.Queues, fmt.Sprintf("%.3g samples of ports", rows), rows*rowBytes))
	parts.fabric.Probes = append(parts.fabric.Probes, p)
	return errors.Join(problems...)
}

// choosePorts chooses the ports that a pattern names, if there are any.
func choosePorts(g *topology.Graph, pattern string, chosen []bool) (any bool) {
	for p := range chosen {
		port := topology.PortID(p)
		if pattern == "all" || pattern == g.Classes[g.PortClass[p]].Name || matches(pattern, g.SwitchName(g.PortSwitch[p])) || matches(pattern, g.PortName(port)) {
			chosen[p], any = true, true
		}
	}
	return any
}

// matches tells whether a name is that of a pattern, in which * stands for anything. Cost:
// linear in the length of the name for each *.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		rest, ok = after, ok && found
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// writeQueues keeps what ports were sampled for: queues.csv, all ports of a time, then of the next.
func writeQueues(run *experiments.Run, g *topology.Graph, s *fabric.Samples, clock float64) {
	t := run.Table(queuesTable)
	for i := range s.Rows {
		for k, port := range s.Ports {
			from, to, class := channelEnds(g, int(port))
			cells := [4]any{math.NaN(), math.NaN(), math.NaN(), math.NaN()} // by quantity
			for q, quantity := range s.Quantities {
				cells[quantity] = int64(s.At(i, q, k))
			}
			t.Add(append([]any{float64(int64(i)*s.Interval) * clock, from, to, class}, cells[:]...)...)
		}
	}
}
