package flows

import (
	"fmt"
	"unsafe"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/transport"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

type flowsTable struct {
	File     string    `toml:"file" doc:"connection matrix of htsim; relative to the experiment file; in place of pattern" file:"read"`
	Pattern  string    `toml:"pattern" doc:"permutation: every terminal to another one, drawn at random; incast: the terminals behind the receiver to it; victim: the same, and a flow beside it, from the fifth terminal behind the receiver to the next one; all-to-all: every terminal to every other, one behind the other; poisson: flows are born at random times between random terminals" choices:"permutation|incast|victim|all-to-all|poisson"`
	Bytes    sim.Bytes `toml:"bytes" doc:"size of a flow; poisson with sizes fixed" min:"1"`
	Senders  int       `toml:"senders" doc:"terminals that send in an incast" min:"1"`
	Receiver int       `toml:"receiver" doc:"terminal that an incast goes to" min:"0"`
	Sizes    string    `toml:"sizes" doc:"poisson: distribution of sizes: fixed, or as published of web search, of Hadoop clusters and of storage" choices:"fixed|web-search|hadoop|ali-storage"`
	Load     float64   `toml:"load" doc:"poisson: payload offered, headers not counted, as a share of the terminals' rate" min:"0.001" max:"1"`
	Duration sim.Time  `toml:"duration" doc:"poisson: time in which flows are born" min:"0ns"`
	Repeat   int       `toml:"repeat" doc:"how often each flow of a pattern is sent, one time behind the other" min:"1" max:"1000000"`
}

// flows come from a file or a pattern.
func (t *flowsTable) flows(terminals int, rate sim.Rate, seed uint64) (flows []transport.Flow, triggers []transport.Trigger, err error) {
	bytes := int64(t.Bytes)
	switch {
	case t.File != "":
		text, err := input.ReadInput(t.File, input.MaxInput)
		if err != nil {
			return nil, nil, document.At("flows.file", fmt.Errorf("%s: %w", t.File, err))
		}
		if err := input.CheckMemory("flows.file", t.File, "so many flows", transport.MatrixBytes(text)); err != nil {
			return nil, nil, err
		}
		m, err := transport.ReadMatrix(t.File, text)
		if err != nil {
			return nil, nil, document.At("flows.file", err)
		}
		if m.Nodes > terminals {
			return nil, nil, document.At("flows.file", fmt.Errorf("%s has %d nodes, and the network %d terminals", t.File, m.Nodes, terminals))
		}
		return m.Flows, m.Triggers, nil
	case terminals < 2:
		return nil, nil, document.At("topology.type", fmt.Errorf("has %d terminal; flows need two", terminals))
	case t.Pattern == "incast":
		flows, err = transport.Incast(terminals, t.Senders, t.Receiver, bytes)
	case t.Pattern == "victim":
		flows, err = transport.Victim(terminals, t.Senders, t.Receiver, bytes)
	case t.Pattern == "all-to-all":
		flows, triggers = transport.AllToAll(terminals, bytes)
	case t.Pattern == "poisson":
		flows, err = transport.Poisson(terminals, transport.SizesOf[t.Sizes], bytes, t.Load, rate, t.Duration, seed)
		if len(flows) == 0 && err == nil {
			err = fmt.Errorf("no flow is born in %v", t.Duration)
		}
	default:
		flows = transport.Permutation(terminals, bytes, seed)
	}
	if err == nil {
		flows, triggers = transport.Repeated(flows, triggers, t.Repeat)
	}
	return flows, triggers, document.Under("flows", "flows.pattern", err)
}

// count is the number of flows of a pattern, or what is expected of poisson, each as often as it
// is sent.
func (t *flowsTable) count(terminals int, rate sim.Rate) float64 {
	once := float64(terminals)
	switch t.Pattern {
	case "incast":
		once = float64(t.Senders)
	case "victim":
		once = float64(t.Senders + 1)
	case "all-to-all":
		once *= once - 1
	case "poisson":
		once = transport.PoissonFlows(terminals, t.meanBytes(), t.Load, rate, t.Duration)
	}
	return once * float64(t.Repeat)
}

// meanBytes is the mean size of the flows of a pattern.
func (t *flowsTable) meanBytes() float64 {
	if sizes := transport.SizesOf[t.Sizes]; sizes != nil && t.Pattern == "poisson" {
		return sizes.Mean()
	}
	return float64(t.Bytes)
}

// leastBytes is what a run with so many flows takes at least, in bytes: the flows, with what is kept of each at the end, and
// an empty network.
func (c *flowsConfig) leastBytes(flows float64, p *flowsParts) float64 {
	atEnd := unsafe.Sizeof(timedFlow{}) + 2*unsafe.Sizeof(sim.Time(0))
	return c.Transport.FlowBytes(flows) + flows*float64(atEnd) + p.timing.Bytes(p.topology.Graph())
}

// mostListed is the number of flows of a pattern up to which a check lists them.
const mostListed = 1 << 16

// checkWorkload refuses flows that a network does not have, or that do not fit into memory, before
// they are listed.
func (c *flowsConfig) checkWorkload(p *flowsParts, seed uint64) error {
	t := &c.Flows
	flows := []transport.Flow{{ID: 1, Dst: 1, Bytes: int64(t.Bytes)}} // of a list that is too long, which has only such
	if n := t.count(p.topology.Graph().Terminals(), c.Network.Rate); t.File == "" && n > mostListed {
		key, value := "flows.pattern", any(t.Pattern)
		switch {
		case t.Repeat > 1:
			key, value = "flows.repeat", t.Repeat
		case t.Pattern == "poisson":
			key, value = "flows.duration", t.Duration
		case t.Pattern == "incast" || t.Pattern == "victim":
			key, value = "flows.senders", t.Senders
		}
		if n > transport.MostFlows {
			return &param.ParamError{Key: key, Value: value, Want: fmt.Sprintf("at most %d flows; these are %.0f", transport.MostFlows, n)}
		}
		if err := input.CheckMemory(key, value, fmt.Sprintf("%.0f flows", n), c.leastBytes(n, p)); err != nil {
			return err
		}
	} else {
		var err error
		if flows, _, err = t.flows(p.topology.Graph().Terminals(), c.Network.Rate, seed); err != nil {
			return err
		}
	}
	key := "flows.bytes"
	if t.File != "" {
		key = "flows.file"
		if err := input.CheckMemory(key, t.File, fmt.Sprintf("%d flows", len(flows)), c.leastBytes(float64(len(flows)), p)); err != nil {
			return err
		}
	}
	if err := c.Transport.CheckFlows(p.topology.Graph().Terminals(), flows); err != nil {
		return document.At(key, err)
	}
	return nil
}

// packetTimes is how many times as long as a flit-hop of the credit fabric a packet takes that crosses a channel.
const packetTimes = 2

// flowCrossings is what a flow's beginning and end take, in packets that cross a channel.
const flowCrossings = 16

// predictWork estimates what a point costs: the channels that packets and what answers them cross,
// if none is sent again, and what is kept of flows, network and packets in flight.
func (c *flowsConfig) predictWork(p *experiments.Preflight) error {
	parts, err := c.build()
	if err != nil {
		return err
	}
	g := parts.topology.Graph()
	flows, bytes := c.Flows.count(g.Terminals(), c.Network.Rate), c.Flows.meanBytes()
	if c.Flows.File != "" {
		list, _, err := c.Flows.flows(g.Terminals(), c.Network.Rate, p.Seed)
		if err != nil {
			return err
		}
		flows, bytes = float64(len(list)), 0
		for i := range list {
			bytes += float64(list[i].Bytes) / flows
		}
	}
	packets, _ := c.Transport.PacketsOf(int64(bytes))
	answers := min(1, max(1/float64(packets), float64(c.Transport.Packet)/float64(c.Transport.AckBytes))) // of a data packet
	switch {
	case parts.timing.HostsUnmarked:
		answers *= 2 // pulls
	case c.receiver() >= 0:
		answers = 1 // to each packet that is marked
	}
	channels, _ := p.Shared().Get(fmt.Sprintf("channels of flows to %d\n%s", c.receiver(), c.Topology.Type.Fingerprint()), func() (any, error) {
		return channels(g, c.receiver()), nil
	})
	crossings := flows * float64(packets) * (1 + answers) * channels.(float64)
	p.Slower(packetTimes * (1 + flowCrossings*flows/crossings))
	p.Work(crossings, crossings, 2*c.leastBytes(flows, parts)) // twice, for packets in flight and the garbage collector
	return nil
}

// receiver is that of an incast, -1 where all terminals receive.
func (c *flowsConfig) receiver() int {
	if otherPattern("incast", "victim")(c) {
		return -1
	}
	return c.Flows.Receiver
}

// channels is how many a packet crosses in the mean, to all terminals from a receiver or, where it is
// -1, from at most 64 of all.
func channels(g *topology.Graph, receiver int) float64 {
	first, step := 0, max(1, g.Terminals()/64)
	if receiver >= 0 {
		first, step = receiver, g.Terminals()
	}
	sum, n := 0.0, 0.0
	neighbors := g.Neighbors()
	var distance []int16
	for t := first; t < g.Terminals(); t += step {
		distance = neighbors.DistancesFrom(g.TerminalSwitch(topology.TerminalID(t)), distance)
		for to := range g.Terminals() {
			if to != t {
				sum += float64(distance[g.TerminalSwitch(topology.TerminalID(to))]) + 2
				n++
			}
		}
	}
	return sum / max(1, n)
}
