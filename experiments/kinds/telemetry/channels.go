// Package telemetry holds what kinds write of what happened in a network and in the ranks on it:
// flits by channel, blame and congestion, lives of packets, timelines and critical paths.
package telemetry

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// ShareColumns are the last ones of links.csv in all kinds.
var ShareColumns = []experiments.Column{
	{Name: "percent", Doc: "share of what the channel can carry at its rate, in per cent"},
	{Name: "between_switches", Doc: "neither end is a terminal"},
}

var LinksTable = experiments.FurtherTable{Name: results.LinksName, Doc: "what every channel carried in the window, by virtual channel", Columns: append([]experiments.Column{
	{Name: "from", Doc: "port or terminal that the channel leads out of"},
	{Name: "to", Doc: "port or terminal that it leads to"},
	{Name: "class", Doc: "class of the channel, as the topology names it"},
	{Name: "vc", Doc: "virtual channel, from 0"},
	{Name: "flits", Doc: "flits that the switch handed to it in the window; with a speedup a few of them may wait in its output queue at the end, and some that waited at the start are not counted"},
	{Name: "flits_per_cycle", Doc: "flits over the cycles of the window: 1 is all that a channel carries, so that a full one shows 1, or a little more where its output queue has grown"},
}, ShareColumns...)}

// WriteLinks keeps how much every channel carried in the window, by virtual
// channel: links.csv. Channels out of switch ports come first, in port order,
// then those out of terminals.
func WriteLinks(run *experiments.Run, g *topology.Graph, c *Carried) {
	t := run.Table(LinksTable)
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
	// Timings are those of the channels, by class; only for WriteLinks.
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
func (o *Observed) Add(flits []uint32, window int64, blame *observe.Blame) {
	o.Carried.Add(flits, window)
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

// Add enters what channels have carried in a window of so many cycles.
func (c *Carried) Add(flits []uint32, window int64) {
	if c.Flits == nil {
		c.Flits = make([]int64, len(flits))
	}
	for i, n := range flits {
		c.Flits[i] += int64(n)
	}
	c.Window += window
}

// Rate is the load of channel i on all virtual channels together, in flits per
// cycle.
func (c *Carried) Rate(i, channels int) float64 {
	vcs := len(c.Flits) / channels
	sum := int64(0)
	for _, n := range c.Flits[i*vcs : (i+1)*vcs] {
		sum += n
	}
	return float64(sum) / float64(c.Window)
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

// ChannelEnds names both ends and the class of channel i: out of port i, or of
// terminal i - ports.
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
