package fabric

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Probe samples what is known of some ports of switches at regular times: every Interval cycles
// of the window of a run that is measured ([measure.Run]), beginning with its first cycle, or of
// all of a run to its end ([measure.RunToEnd]). A sample is taken as its cycle begins: what
// has happened before counts, what happens in it does not. No result depends on probes; they
// see the same with both units where all times are whole cycles. Cost: four bytes for each
// port, quantity and sample, a visit of the ports for each sample, and what observers cost.
type Probe struct {
	Ports      []topology.PortID // of switches
	Interval   int64             // cycles from a sample to the next, at least 1
	Quantities []Quantity
}

// Quantity is what can be sampled of a port of a switch.
type Quantity uint8

const (
	// Waiting is the flits in the switch routed to leave by the port that have not left, as
	// [Queues].WaitingAll.
	Waiting Quantity = iota
	// Outstanding is the flits sent whose credit has not come back, as [Queues].OutstandingAll; 0
	// to a terminal without buffers.
	Outstanding
	// Sent is the number of flits that have left by the port since the sample before.
	Sent
	// Marked is the number of packets that the port has marked since the sample before.
	Marked
	quantities
)

var quantityNames = [quantities]string{"waiting", "outstanding", "sent", "marked"}

func (q Quantity) String() string { return quantityNames[q] }

// QuantityOf is the quantity of a name.
func QuantityOf(name string) (q Quantity, ok bool) {
	i := slices.Index(quantityNames[:], name)
	return Quantity(max(i, 0)), i >= 0
}

// Samples are what a probe has seen.
type Samples struct {
	*Probe
	First int64 // cycle of the first sample
	// Rows are the samples, in order (len = quantities*ports): all ports for a quantity, then the
	// next.
	Rows [][]uint32
}

// At is what sample i says about a quantity of a port, by their places in the probe.
func (s *Samples) At(i, quantity, port int) uint32 { return s.Rows[i][quantity*len(s.Ports)+port] }

// Probed tells whether any probe samples a quantity.
func (c *Config) Probed(q Quantity) bool {
	return slices.ContainsFunc(c.Probes, func(p Probe) bool { return slices.Contains(p.Quantities, q) })
}

// checkProbes finds what probes cannot see.
func (c *Config) checkProbes(routing Routing) (problems []error) {
	refuse := func(key string, value any, want string) {
		problems = append(problems, &param.ParamError{Key: "probe." + key, Value: value, Want: want})
	}
	for i := range c.Probes {
		p := &c.Probes[i]
		if p.Interval < 1 {
			refuse("interval", p.Interval, "at least 1 cycle")
		}
		for _, q := range p.Quantities {
			if q >= quantities {
				refuse("quantities", int(q), fmt.Sprintf("0 to %d", quantities-1))
			} else if why := c.CannotProbe(q, routing); why != "" {
				refuse("quantities", q, why)
			}
		}
	}
	return problems
}

// CannotProbe says what a quantity needs that probes cannot see with these settings and routing; ""
// if they can.
func (c *Config) CannotProbe(q Quantity, routing Routing) (want string) {
	_, escapes := routing.(EscapeRouting)
	switch {
	case escapes && (q == Waiting || q == Sent):
		return "others with this routing, whose packets wait for several ports at once: nobody counts what waits for one"
	case q == Sent && NeedsOf(routing).HeldSlots:
		return "others with this routing, for which flits go on waiting when they have left, until their credits do"
	case q == Marked && !c.Switch.Marks():
		return "others, or a switch.marking: without one no port marks packets"
	}
	return ""
}
