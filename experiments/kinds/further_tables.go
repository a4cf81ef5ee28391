package kinds

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
)

// writeLinks keeps how much every channel carried in the window, by virtual
// channel: links.csv. Channels out of switch ports come first, in port order,
// then those out of terminals.
func writeLinks(run *experiments.Run, g *topology.Graph, c *carried) {
	t := run.Table("links", "from", "to", "class", "vc", "flits", "flits_per_cycle")
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

// writeGlobalChannels keeps how much every global channel of a grouped topology
// carried in the window: global_channels.csv. Channels are told apart as figure
// 9 of the dragonfly paper does for worst-case traffic, by where they lead and
// by their switch: role is minimal for channels to the next group, beside for
// the others of a switch that has such a channel, and other.
func writeGlobalChannels(run *experiments.Run, t topology.Grouped, c *carried) {
	g := t.Graph()
	table := run.Table("global_channels", "group", "offset", "role", "flits_per_cycle")
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

// writeFairness keeps how evenly terminals are served: fairness.csv.
func writeFairness(run *experiments.Run, g *topology.Graph, c *carried) {
	t := run.Table("fairness", "direction", "jain_index", "mean_flits_per_cycle",
		"min_flits_per_cycle", "min_terminal", "max_flits_per_cycle", "max_terminal")
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
		least, most, sum := 0, 0, 0.0
		for i, rate := range x.rates {
			sum += rate
			if rate < x.rates[least] {
				least = i
			}
			if rate > x.rates[most] {
				most = i
			}
		}
		t.Add(x.direction, jainIndex(x.rates), sum/float64(len(x.rates)),
			x.rates[least], g.TerminalName(topology.TerminalID(least)), x.rates[most], g.TerminalName(topology.TerminalID(most)))
	}
}

// jainIndex is the fairness of shares (Jain, Chiu and Hawe 1984): the square
// of their sum over n times the sum of their squares. 1 if all are equal, k/n
// if k of them have everything; NaN if there is nothing to share.
func jainIndex(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// writeSeries keeps what every channel carried in the intervals of the window:
// series/POINT.csv, one row a channel, in the order of links.csv, and one
// column an interval.
func writeSeries(run *experiments.Run, g *topology.Graph, s *observe.Series) {
	t := &experiments.Table{Columns: []string{"from", "to", "class"}}
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
	run.Attach(experiments.SeriesFolder, "csv", b.String())
}
