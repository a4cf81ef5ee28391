package kinds

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

func init() {
	experiments.DescribeTable("queues", experiments.FurtherDescription{
		Doc: "ports of switches over time; cells of what was not sampled are empty",
		Columns: []experiments.Column{
			{Name: "time_ns", Doc: "from the start of the window: what happened before counts"},
			{Name: "port", Doc: "of a switch"},
			{Name: "to", Doc: "port or terminal that its channel leads to"},
			{Name: "class", Doc: "class of the channel"},
			{Name: "waiting_flits", Doc: "routed to leave by the port and still in the switch"},
			{Name: "outstanding_flits", Doc: "sent, and their credits have not come back"},
			{Name: "sent_flits", Doc: "that have left since the sample before"},
			{Name: "marked_packets", Doc: "that the port has marked since the sample before"},
		},
	})
}

// probe is the probe that the point asks for, in parts whose routing is built; none if it asks
// for none.
func (c *trafficConfig) probe(parts *trafficParts) error {
	m := &c.Measure
	if m.Queues == 0 {
		return nil
	}
	p := fabric.Probe{Interval: cyclesOf(m.Queues, c.Fabric.Clock)}
	var problems []error
	for i, name := range m.QueueSamples {
		q, _ := fabric.QuantityOf(name)
		if why := parts.fabric.CannotProbe(q, parts.Routing); why != "" {
			problems = append(problems, experiments.At(fmt.Sprintf("measure.queue_samples[%d]", i), fmt.Errorf("= %q: want %s", name, why)))
			continue
		}
		p.Quantities = append(p.Quantities, q)
	}
	g := parts.topology.Graph()
	chosen := make([]bool, g.NumPorts())
	for i, pattern := range m.QueuePorts {
		if !choosePorts(g, pattern, chosen) {
			problems = append(problems, experiments.At(fmt.Sprintf("measure.queue_ports[%d]", i),
				fmt.Errorf("= %q names no port: want all, a class of channels such as %s, a switch such as %q, or a port such as %q, in which * stands for anything",
					pattern, g.Classes[len(g.Classes)-1].Name, g.SwitchName(0), g.PortName(0))))
		}
	}
	for port := range chosen {
		if chosen[port] {
			p.Ports = append(p.Ports, topology.PortID(port))
		}
	}
	cycles := m.Window
	if cycles == 0 {
		if cycles = m.Budget; cycles == 0 {
			cycles = measure.DefaultBudget
		}
	}
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
	t := run.Table("queues", "time_ns", "port", "to", "class", "waiting_flits", "outstanding_flits", "sent_flits", "marked_packets")
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
