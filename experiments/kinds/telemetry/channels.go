// Package telemetry holds what kinds write of what happened in a network and in the ranks on it:
// flits by channel, blame and congestion, lives of packets, timelines and critical paths.
package telemetry

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

//go:embed tables.txt
var tablesText string

// Tables are those that several kinds have.
var Tables = experiments.ReadTables(tablesText, nil)

// WriteLinks keeps how much every channel carried in the window, by virtual channel: links.csv.
// Channels out of switch ports come first, in port order, then those out of terminals.
func WriteLinks(run *experiments.Run, g *topology.Graph, c *Carried) {
	t := run.Table(Tables.Named(results.LinksName))
	ends := g.NumPorts() + g.Terminals()
	vcs := len(c.Flits) / ends
	for i, flits := range c.Flits {
		from, to, class := ChannelEnds(g, i/vcs)
		perFlit := c.Timings[g.PortClass[channelPort(g, i/vcs)]].CyclesPerFlit
		rate := float64(flits) / float64(c.Window)
		t.Add(from, to, class, i%vcs, flits, rate, 100*rate*perFlit, BetweenSwitches(g, i/vcs))
	}
}

// Carried is what channels have carried in the windows of all replications.
type Carried struct {
	Flits  []int64 // len = (ports+terminals)*vcs, as measure.Result.ChannelFlits
	Window int64   // cycles
	// Timings are the channels' timings, by class; only for WriteLinks and Busy.
	Timings []fabric.ChannelTiming
}

// Observed is what has been seen of the networks of all replications; of the first where they
// cannot be summed up.
type Observed struct {
	Carried Carried
	blame   *observe.Blame
	Traces  []*observe.PacketTrace
	Series  *observe.Series
}

// Add enters what channels have carried in a replication, and where its packets waited.
func (o *Observed) Add(g *topology.Graph, flits []uint32, window int64, blame *observe.Blame) {
	o.Carried.Add(flits, g.NumPorts()+g.Terminals(), window)
	if o.blame == nil {
		o.blame = blame
	} else {
		o.blame.Add(blame)
	}
}

// Write writes what there is, and of links and packets what a file asks for.
func (o *Observed) Write(run *experiments.Run, g *topology.Graph, clock sim.Time, links, packets bool) {
	if links {
		WriteLinks(run, g, &o.Carried)
	}
	if o.blame != nil {
		writeBlame(run, g, o.blame, clock.Nanoseconds())
	}
	if o.Series != nil {
		writeSeries(run, g, o.Series)
	}
	if packets {
		run.Attach("traces", "txt", traceText(g, o.Traces, clock))
		run.Attach("traces", "json", traceEvents(g, o.Traces, clock))
		writePackets(run, g, o.Traces, clock)
	}
}

// Add enters what so many channels have carried in a window of so many cycles. Replications can
// differ in virtual channels, where a routing draws its paths.
func (c *Carried) Add(flits []uint32, channels int, window int64) {
	had, vcs := len(c.Flits)/channels, len(flits)/channels
	if had < vcs {
		before := c.Flits
		c.Flits = make([]int64, len(flits))
		for i, n := range before {
			c.Flits[i/had*vcs+i%had] = n
		}
	}
	all := max(had, vcs)
	for i, n := range flits {
		c.Flits[i/vcs*all+i%vcs] += int64(n)
	}
	c.Window += window
}

// Rate is the load of channel i on all virtual channels together, in flits per cycle.
func (c *Carried) Rate(i, channels int) float64 {
	return float64(c.sum(i, channels)) / float64(c.Window)
}

// sum is the flits of channel i on all virtual channels together.
func (c *Carried) sum(i, channels int) int64 {
	vcs := len(c.Flits) / channels
	return lists.Total(c.Flits[i*vcs : (i+1)*vcs])
}

// Busy is for how many cycles each channel of a network has carried flits.
func (c *Carried) Busy(g *topology.Graph) []float64 {
	channels := g.NumPorts() + g.Terminals()
	return lists.Make(channels, func(i int) float64 {
		return float64(c.sum(i, channels)) * c.Timings[g.PortClass[channelPort(g, i)]].CyclesPerFlit
	})
}

// channelPort is the port of a switch at which channel i begins, or ends if a terminal sends.
func channelPort(g *topology.Graph, i int) topology.PortID {
	if i >= g.NumPorts() {
		return g.TerminalPort[i-g.NumPorts()]
	}
	return topology.PortID(i)
}

// BetweenSwitches tells whether channel i, as in [ChannelEnds], joins two switches.
func BetweenSwitches(g *topology.Graph, i int) bool {
	_, ok := g.PeerPort(channelPort(g, i))
	return ok
}

// ChannelEnds names both ends and the class of channel i: out of port i, or of terminal i - ports.
func ChannelEnds(g *topology.Graph, i int) (from, to, class string) {
	port := channelPort(g, i)
	class = g.Classes[g.PortClass[port]].Name
	if i >= g.NumPorts() {
		return g.TerminalName(topology.TerminalID(i - g.NumPorts())), g.PortName(port), class
	}
	if peer, ok := g.PeerPort(port); ok {
		return g.PortName(port), g.PortName(peer), class
	}
	terminal, ok := g.PeerTerminal(port)
	if !ok {
		panic(fmt.Sprintf("kinds: port %d leads nowhere", port))
	}
	return g.PortName(port), g.TerminalName(terminal), class
}

// writeSeries keeps what every channel carried in the intervals of the window: series/POINT.csv,
// one row a channel, in the order of links.csv, and one column an interval.
func writeSeries(run *experiments.Run, g *topology.Graph, s *observe.Series) {
	t := &results.Table{Columns: []string{"from", "to", "class"}}
	from := int64(0)
	for _, to := range s.Ends {
		t.Columns = append(t.Columns, fmt.Sprintf("%d-%d", from, to))
		from = to
	}
	for i := range g.NumPorts() + g.Terminals() {
		from, to, class := ChannelEnds(g, i)
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

// WholeRun is a window from cycle 0 on.
func WholeRun() *measure.Meter {
	m := measure.NewMeter(1)
	m.Open(0)
	return m
}

// writeBlame keeps where the latency of measured packets came from: blame.csv and congestion.csv.
func writeBlame(run *experiments.Run, g *topology.Graph, b *observe.Blame, clock float64) {
	t := run.Table(Tables.Named("blame"))
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
	sum := lists.Total(values)
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

// writeCongestion keeps the congestion trees: the channels that most of the waiting has its root
// at, each followed by the channels that it stalls, and those by theirs.
func writeCongestion(run *experiments.Run, g *topology.Graph, b *observe.Blame, roots []float64) {
	t := run.Table(Tables.Named("congestion"))
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
