package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

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
func writeGlobalChannels(run *experiments.Run, t topology.Grouped, c *telemetry.Carried) {
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
				table.Add(from, offset, role, c.Rate(int(p), g.NumPorts()+g.Terminals()))
			}
		}
	}
}

var fairnessTable = experiments.FurtherTable{Name: "fairness", Doc: "how evenly terminals are served", Columns: []experiments.Column{
	{Name: "direction", Doc: "sent, of the terminals that send, or received, of all"},
	{Name: "jain_index", Doc: "Jain's index of fairness: 1 if all terminals have the same, k/n if k of n have everything"},
	{Name: "mean_flits_per_cycle", Doc: "mean over the terminals"},
	{Name: "min_flits_per_cycle", Doc: "flits per cycle of the terminal with the least"},
	{Name: "min_terminal", Doc: "name of the terminal with the least"},
	{Name: "max_flits_per_cycle", Doc: "flits per cycle of the terminal with the most"},
	{Name: "max_terminal", Doc: "name of the terminal with the most"},
}}

// writeFairness keeps how evenly terminals are served: fairness.csv. silent tells of terminals
// that send nothing of their own; nil: all send.
func writeFairness(run *experiments.Run, g *topology.Graph, c *telemetry.Carried, silent func(topology.TerminalID) bool) {
	t := run.Table(fairnessTable)
	channels := g.NumPorts() + g.Terminals()
	var sent, received []float64
	var senders []topology.TerminalID
	for i := range topology.TerminalID(g.Terminals()) {
		received = append(received, c.Rate(int(g.TerminalPort[i]), channels))
		if silent == nil || !silent(i) {
			sent, senders = append(sent, c.Rate(g.NumPorts()+int(i), channels)), append(senders, i)
		}
	}
	for _, x := range []struct {
		direction string
		rates     []float64
		of        []topology.TerminalID
	}{{"sent", sent, senders}, {"received", received, topology.Numbers[topology.TerminalID](g.Terminals())}} {
		least, most := slices.Min(x.rates), slices.Max(x.rates)
		first := func(rate float64) string { return g.TerminalName(x.of[slices.Index(x.rates, rate)]) }
		t.Add(x.direction, network.JainIndex(x.rates), network.Mean(x.rates), least, first(least), most, first(most))
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

// matches tells whether a name fits a pattern, in which * stands for anything. Cost:
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
			from, to, class := telemetry.ChannelEnds(g, int(port))
			cells := [4]any{math.NaN(), math.NaN(), math.NaN(), math.NaN()} // by quantity
			for q, quantity := range s.Quantities {
				cells[quantity] = int64(s.At(i, q, k))
			}
			t.Add(append([]any{float64(int64(i)*s.Interval) * clock, from, to, class}, cells[:]...)...)
		}
	}
}
