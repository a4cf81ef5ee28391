package shared

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Timing is what a network comes to in picoseconds and bytes.
type Timing struct {
	Rate          sim.Rate // of terminals
	Packet        int64    // bytes of a full packet on the wire
	RTT           int64    // ps: a full packet from end to end of the empty network and a header back
	BDP           int64    // bytes that Rate carries in RTT
	Queue         int64    // bytes of data that an output holds
	MarkFrom      int64
	MarkTo        int64 // MaxInt64: never
	HostsUnmarked bool  // outputs to terminals mark nothing
	// Oversubscription is what terminals can send in sum over what the tree carries; 1 of others.
	Oversubscription float64

	classes  []Channel // by class
	switches []int64   // by switch: delay
}

// Timed is implemented by topologies that know the times of their parts.
type Timed interface {
	// CableLatency is the time of flight of a class; 0: not known.
	CableLatency(c topology.ClassID) sim.Time
	// SwitchDelay is the time from arrival to the output queue; 0: none.
	SwitchDelay(s topology.SwitchID) sim.Time
}

// NewTiming works a network out: network is what classes have that neither channels nor the
// topology says anything of; packet and header are bytes on the wire. timed may be nil.
func NewTiming(g *topology.Graph, tree topology.Tree, timed Timed, config *Config, channels map[string]Channel, network Channel, packet, header sim.Bytes) Timing {
	t := Timing{Rate: network.Rate, Packet: int64(packet), classes: make([]Channel, len(g.Classes)), switches: make([]int64, g.Switches())}
	for i, class := range g.Classes {
		c := channels[class.Name]
		if c.Rate == 0 {
			c.Rate = class.Rate
		}
		if c.Rate == 0 {
			c.Rate = network.Rate
		}
		if c.Latency == 0 && timed != nil {
			c.Latency = timed.CableLatency(topology.ClassID(i))
		}
		if c.Latency == 0 {
			c.Latency = network.Latency
		}
		t.classes[i] = c
	}
	for s := range t.switches {
		if t.switches[s] = int64(config.Delay); timed != nil && config.Delay == 0 {
			t.switches[s] = int64(timed.SwitchDelay(topology.SwitchID(s)))
		}
	}
	links, oneWay := t.diameter(g)
	perByte := psPerByte(network.Rate)
	t.RTT = 2*oneWay + int64(links)*(int64(packet)+int64(header))*perByte
	t.BDP = int64(math.Ceil(float64(t.RTT) / float64(perByte)))
	t.Oversubscription = 1
	if tree != nil {
		t.Oversubscription = t.oversubscription(g, tree)
	}
	t.thresholds(config)
	return t
}

// thresholds sets what settings leave open: in whole packets, as htsim does.
func (t *Timing) thresholds(c *Config) {
	packets := (t.BDP + t.Packet - 1) / t.Packet
	switch {
	case c.Queue > 0:
		t.Queue = int64(c.Queue)
	case c.Full == "pause":
		t.Queue = math.MaxInt64
	case c.Full == "drop":
		t.Queue = 5 * packets * t.Packet
	default:
		t.Queue = packets * t.Packet
	}
	t.MarkFrom, t.MarkTo = int64(c.MarkFrom), int64(c.MarkTo)
	if c.MarkFrom == 0 && c.MarkTo == 0 {
		if c.Full == "pause" {
			t.MarkTo = math.MaxInt64
			return
		}
		t.MarkFrom = int64(math.Ceil(0.2*float64(packets))) * t.Packet
		t.MarkTo = int64(math.Ceil(0.8*float64(packets))) * t.Packet
	}
}

// diameter is the number of links of a longest of the shortest paths from terminal 0, and the
// latency along it, one way.
func (t *Timing) diameter(g *topology.Graph) (links int, latency int64) {
	from := g.TerminalSwitch(0)
	distance := g.DistancesFrom(from, nil)
	far := topology.TerminalID(0)
	for i := range g.Terminals() {
		if id := topology.TerminalID(i); distance[g.TerminalSwitch(id)] > distance[g.TerminalSwitch(far)] {
			far = id
		}
	}
	at := g.TerminalSwitch(far)
	latency = t.flight(g.PortClass[g.TerminalPort[0]]) + t.flight(g.PortClass[g.TerminalPort[far]]) + t.delay(at)
	for links = 2; at != from; links++ {
		first, end := g.Ports(at)
		for p := first; p < end; p++ {
			if peer, ok := g.PeerPort(p); ok && distance[g.PortSwitch[peer]] == distance[at]-1 {
				latency += t.flight(g.PortClass[p])
				at = g.PortSwitch[peer]
				latency += t.delay(at)
				break
			}
		}
	}
	return links, latency
}

// oversubscription multiplies the ratios of bandwidth below and above, level by level.
func (t *Timing) oversubscription(g *topology.Graph, tree topology.Tree) float64 {
	product := 1.0
	for level := range tree.Levels() - 1 {
		var below, above float64
		for s := range topology.SwitchID(g.Switches()) {
			if tree.LevelOf(s) != level {
				continue
			}
			first, end := g.Ports(s)
			up, last := tree.UpPorts(s)
			for p := first; p < end; p++ {
				if rate := float64(t.classes[g.PortClass[p]].Rate); p >= up && p < last {
					above += rate
				} else {
					below += rate
				}
			}
		}
		product *= max(1, below/above)
	}
	return product
}

// PsPerByte is that of a terminal.
func (t *Timing) PsPerByte() int64 { return psPerByte(t.Rate) }

func (t *Timing) flight(c topology.ClassID) int64 { return int64(t.classes[c].Latency) }

func (t *Timing) delay(s topology.SwitchID) int64 { return t.switches[s] }

func (t *Timing) psPerByte(c topology.ClassID) int64 { return psPerByte(t.classes[c].Rate) }

// psPerByte is in whole picoseconds, as htsim has it.
func psPerByte(r sim.Rate) int64 { return max(1, int64(8e12/float64(r))) }
