// Package shared simulates networks of output-queued switches that drop, trim or pause, as
// Ethernet's do: packets are the unit, and times are picoseconds. A switch stores a
// packet, chooses one of the ports that lead nearer to its destination, and appends it to that
// port's queue of bytes. What happens when a queue is full is the difference between networks:
// the packet is dropped, it or the last one of the queue is trimmed to its header, or the
// switch has asked its neighbours to pause before.
//
// The model follows the htsim family of simulators (Raiciu et al., SIGCOMM 2011; Handley et
// al., SIGCOMM 2017) as far as its facts are public: store and forward, a crossbar without
// limits, no memory that outputs share, two classes, control before data.
//
// What terminals send, and what they make of what arrives, is their own ([EndPoints]).
package shared

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Config holds the settings of all switches.
type Config struct {
	Queue         sim.Bytes `toml:"queue" doc:"what the data queue of a port holds, the packet in service among it; 0B: one bandwidth-delay product of the network, five without trimming, and any amount with pause" max:"1000GB"`
	MarkFrom      sim.Bytes `toml:"mark_from" doc:"bytes left in the data queue up to which packets leave unmarked; 0B with mark_to 0B: a fifth of a bandwidth-delay product, or no marks with pause and another control than dcqcn" max:"1000GB"`
	MarkTo        sim.Bytes `toml:"mark_to" doc:"bytes from which every packet is marked; between the two the probability grows in proportion to mark_max; 0B: four fifths of a bandwidth-delay product, at least mark_from" max:"1000GB"`
	MarkMax       float64   `toml:"mark_max" doc:"probability of a mark just below mark_to" min:"0" max:"1"`
	Full          string    `toml:"full" doc:"what becomes of packets that do not fit: one is trimmed to its header, or dropped: the one that comes or the last of the queue, at random; or senders are paused before" choices:"trim|drop|pause"`
	Header        sim.Bytes `toml:"header" doc:"what is left of a trimmed packet" max:"1000GB"`
	XOff          sim.Bytes `toml:"pause_above" doc:"bytes of an input in the switch above which it pauses the sender" max:"1000GB"`
	XOn           sim.Bytes `toml:"pause_below" doc:"bytes below which it lets the sender go on" max:"1000GB"`
	Paths         string    `toml:"paths" doc:"which of several shortest ways a packet takes: by a hash of flow, entropy and switch; data adaptively to one of the shortest queues, in steps of 5, 10 and 20 % of queue; or round robin, in an order drawn anew each turn" choices:"hash|adaptive|round-robin"`
	Control       string    `toml:"control" doc:"class of control packets: before data, or in one queue with them" choices:"first|with-data"`
	Delay         sim.Time  `toml:"delay" doc:"from the arrival of a packet until it is in the queue of its output" min:"0ns" max:"1000s"`
	AllowDeadlock bool      `toml:"allow_deadlock" doc:"run networks with pause although pauses can wait for each other in a circle"`
	Degraded      int       `toml:"degraded" doc:"switches of the highest level whose cables have a quarter of their rate, and of their queues and thresholds: on two levels all cables of the first so many, on three those down to the first pod" min:"0"`
}

// DefaultConfig trims, as Ultra Ethernet's switches do.
func DefaultConfig() Config {
	return Config{MarkMax: 1, Full: "trim", Header: 64, XOff: 60_000, XOn: 48_000, Paths: "hash", Control: "first"}
}

// Validate checks what the tags cannot; see [param.Validate].
func (c *Config) Validate() error {
	switch {
	case c.MarkTo != 0 && c.MarkTo < c.MarkFrom:
		return &param.ParamError{Key: "mark_to", Value: c.MarkTo, Want: fmt.Sprintf("at least mark_from, %v", c.MarkFrom)}
	case c.Full == "pause" && c.XOn > c.XOff:
		return &param.ParamError{Key: "pause_below", Value: c.XOn, Want: fmt.Sprintf("at most pause_above, %v", c.XOff)}
	case c.Full == "pause" && c.XOn < 1:
		return &param.ParamError{Key: "pause_below", Value: c.XOn, Want: "at least 1B: no input holds less than 0B, so that no sender would go on"}
	case c.Header < 1:
		return &param.ParamError{Key: "header", Value: c.Header, Want: "at least 1B"}
	}
	for _, b := range []struct {
		key   string
		bytes sim.Bytes
	}{{"queue", c.Queue}, {"mark_from", c.MarkFrom}, {"mark_to", c.MarkTo}, {"pause_above", c.XOff}, {"pause_below", c.XOn}} {
		if b.bytes < 0 {
			return &param.ParamError{Key: b.key, Value: b.bytes, Want: "at least 0B"}
		}
	}
	return nil
}

// Channel is a class of cables.
type Channel struct {
	Rate    sim.Rate `toml:"rate" doc:"data rate, each way; 0: the topology's, or that of the network"`
	Latency sim.Time `toml:"latency" doc:"time of flight; 0s: the topology's, or that of the network" min:"0ns" max:"1000s"`
}

// Timing is what a network comes to in picoseconds and bytes.
type Timing struct {
	Rate          sim.Rate // of terminals
	Packet        int64    // bytes of a full packet on the wire
	RTT           int64    // ps: a full packet from end to end of the empty network and a header back, all cables at Rate
	OwnRTT        int64    // likewise, each cable at its own rate
	BDP           int64    // bytes that Rate carries in RTT
	Queue         int64    // bytes of data that an output holds
	MarkFrom      int64
	MarkTo        int64 // MaxInt64: never
	HostsUnmarked bool  // outputs to terminals mark nothing
	// Oversubscription is what terminals can send in sum over what the tree carries; 1 of others.
	Oversubscription float64

	tree     topology.Tree // nil: the topology has no levels
	classes  []Channel     // by class
	switches []int64       // by switch: delay
}

// Timed is implemented by topologies that know the times of their parts.
type Timed interface {
	// CableLatency is the time of flight of a class; 0: not known.
	CableLatency(c topology.ClassID) sim.Time
	// SwitchDelay is the time from arrival to the output queue; 0: none.
	SwitchDelay(s topology.SwitchID) sim.Time
}

// NewTiming works a network out: network is what classes have that neither channels nor the
// topology says anything of; packet and header are bytes on the wire. tree and timed may be nil.
func NewTiming(g *topology.Graph, tree topology.Tree, timed Timed, config *Config, channels map[string]Channel, network Channel, packet, header sim.Bytes) Timing {
	t := Timing{Rate: network.Rate, Packet: int64(packet), tree: tree, classes: make([]Channel, len(g.Classes)), switches: make([]int64, g.Switches())}
	for i, class := range g.Classes {
		c := channels[class.Name]
		if c.Latency == 0 && timed != nil {
			c.Latency = timed.CableLatency(topology.ClassID(i))
		}
		t.classes[i] = Channel{cmp.Or(c.Rate, class.Rate, network.Rate), cmp.Or(c.Latency, network.Latency)}
	}
	for s := range t.switches {
		if t.switches[s] = int64(config.Delay); timed != nil && config.Delay == 0 {
			t.switches[s] = int64(timed.SwitchDelay(topology.SwitchID(s)))
		}
	}
	links, oneWay, perByte := t.diameter(g)
	t.OwnRTT = 2*oneWay + int64(math.Round(perByte*float64(packet+header)))
	t.RTT = 2*oneWay + int64(math.Round(t.Picoseconds(int64(links)*int64(packet+header))))
	t.BDP = int64(math.Ceil(float64(t.RTT) * float64(t.Rate) / 8e12))
	t.Oversubscription = 1
	if tree != nil {
		t.Oversubscription = t.oversubscription(g)
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
	if c.Full == "pause" && c.MarkFrom == 0 && c.MarkTo == 0 {
		t.MarkTo = math.MaxInt64
		return
	}
	t.MarkByDefault(c)
}

// MarkByDefault sets the thresholds of marks, those that settings leave open too. [NewTiming] has no
// packet marked where there are pauses and settings leave both open.
func (t *Timing) MarkByDefault(c *Config) {
	packets := float64((t.BDP + t.Packet - 1) / t.Packet)
	t.MarkFrom, t.MarkTo = int64(c.MarkFrom), int64(c.MarkTo)
	if c.MarkTo > 0 {
		return
	}
	if c.MarkFrom == 0 {
		t.MarkFrom = int64(math.Ceil(0.2*packets)) * t.Packet
	}
	t.MarkTo = max(t.MarkFrom, int64(math.Ceil(0.8*packets))*t.Packet)
}

// Headroom is what the queue of an output holds at most if all inputs of its switch but its own send
// to it and are paused: of each pause_above, what comes in a round trip of its cable, and two
// packets, which neither end breaks off. most, in bytes, is for the switch that needs the most;
// inputs is how many paused inputs that switch has.
func (t *Timing) Headroom(g *topology.Graph, c *Config) (most sim.Bytes, inputs int) {
	for s := range topology.SwitchID(g.Switches()) {
		sum, least := 0.0, math.Inf(1)
		first, end := g.Ports(s)
		for p := first; p < end; p++ {
			class := g.PortClass[p]
			one := float64(c.XOff) + math.Ceil(float64(2*t.flight(class)+t.delay(s))*float64(t.rate(class))/8e12) + 2*float64(t.Packet)
			sum += one
			least = min(least, one)
		}
		if n := int(end-first) - 1; n > 0 && sim.Bytes(sum-least) > most {
			most, inputs = sim.Bytes(sum-least), n
		}
	}
	return most, inputs
}

// Bytes is about what a network of g takes in memory, without packets.
func (t *Timing) Bytes(g *topology.Graph) float64 {
	outputs := float64(g.NumPorts() + g.Terminals())
	leaves := len(slices.DeleteFunc(g.TerminalCounts(), func(terminals int) bool { return terminals == 0 }))
	return outputs*float64(unsafe.Sizeof(output{})+16) + 4*float64(g.Switches())*float64(leaves)
}

// diameter is the number of links of a longest of the shortest paths from terminal 0, and the
// latency along it, one way, and the time in ps that its cables take for a byte in sum.
func (t *Timing) diameter(g *topology.Graph) (links int, latency int64, perByte float64) {
	from := g.TerminalSwitch(0)
	distance := g.DistancesFrom(from, nil)
	far := topology.TerminalID(0)
	for i := range g.Terminals() {
		if id := topology.TerminalID(i); distance[g.TerminalSwitch(id)] > distance[g.TerminalSwitch(far)] {
			far = id
		}
	}
	at := g.TerminalSwitch(far)
	first, last := g.PortClass[g.TerminalPort[0]], g.PortClass[g.TerminalPort[far]]
	latency = t.flight(first) + t.flight(last) + t.delay(at)
	perByte = t.rate(first).PicosecondsFor(1) + t.rate(last).PicosecondsFor(1)
	for links = 2; at != from; links++ {
		for p, next := range g.Links(at) {
			if distance[next] == distance[at]-1 {
				latency += t.flight(g.PortClass[p]) + t.delay(next)
				perByte += t.rate(g.PortClass[p]).PicosecondsFor(1)
				at = next
				break
			}
		}
	}
	return links, latency, perByte
}

// oversubscription multiplies the ratios of bandwidth below and above, level by level.
func (t *Timing) oversubscription(g *topology.Graph) float64 {
	product, tree := 1.0, t.tree
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

// Picoseconds is the time that a terminal takes to send so many bytes, with its fraction.
func (t *Timing) Picoseconds(bytes int64) float64 { return t.Rate.PicosecondsFor(sim.Bytes(bytes)) }

func (t *Timing) flight(c topology.ClassID) int64 { return int64(t.classes[c].Latency) }

func (t *Timing) delay(s topology.SwitchID) int64 { return t.switches[s] }

func (t *Timing) rate(c topology.ClassID) sim.Rate { return t.classes[c].Rate }

// Alone is the time that a message takes in the empty network, in ps: from its start until the
// answer to its last packet is back. It is of packets full packets but the last, of last bytes on
// the wire; the answer is of header bytes. The path is the fastest; packets that are sprayed
// have as many as there are beside it where outputs differ or are slower than terminals. Rounded
// down at each channel, so that no message is faster.
func (n *Network) Alone(src, dst topology.TerminalID, packets int64, last, header int64, sprayed bool) int64 {
	path, paths := []*output{&n.out[n.graph.NumPorts()+int(src)]}, []int64{1}
	for at := path[0].to; at >= 0; {
		port, beside := n.graph.TerminalPort[dst], int64(1)
		if ways := n.routes.from(n.graph.PortSwitch[at], n.routes.leaf[dst]); len(ways) > 0 {
			port = ways[0]
			if n.uneven {
				port, _ = n.fastest(n.graph.PortSwitch[at], n.routes.leaf[dst])
			}
			if n.uneven && sprayed {
				beside = min(paths[len(paths)-1]*int64(len(ways)), packets)
			}
		}
		o := &n.out[port]
		path, paths = append(path, o), append(paths, beside)
		at = o.to
	}
	// Of n equal packets the last leaves output i when the first does, and n-1, less those beside it, of the
	// slowest outputs up to it take later.
	first, slowest, end, back := int64(0), 0.0, int64(0), int64(0)
	for i, o := range path {
		takes := func(bytes int64) int64 { return int64(o.divider.Rate().PicosecondsFor(sim.Bytes(bytes))) }
		k := paths[i]
		if k > 1 {
			end += takes(last)
		}
		first += takes(n.timing.Packet)
		slowest = max(slowest, float64(packets-1-k)*o.divider.Rate().PicosecondsFor(sim.Bytes(n.timing.Packet))/float64(k))
		if packets > 1 {
			end = max(end, first+int64(slowest))
		}
		if k == 1 {
			end += takes(last)
		}
		first, end = first+o.latency, end+o.latency
		back += takes(header) + o.latency
	}
	return end + back
}

// fastest is the port by which a full packet comes soonest from a switch to a leaf, and how long it takes.
func (n *Network) fastest(s topology.SwitchID, leaf int32) (topology.PortID, int64) {
	row := int(s)*n.routes.width + int(leaf)
	if f, known := n.soonest[row]; known {
		return f.port, f.time
	}
	var f soonest
	for i, port := range n.routes.from(s, leaf) {
		o := &n.out[port]
		_, rest := n.fastest(n.graph.PortSwitch[o.to], leaf)
		if rest += int64(o.divider.Rate().PicosecondsFor(sim.Bytes(n.timing.Packet))) + o.latency; i == 0 || rest < f.time {
			f = soonest{port, rest}
		}
	}
	n.soonest[row] = f
	return f.port, f.time
}

type soonest struct {
	port topology.PortID
	time int64
}

// findUneven finds out whether outputs between switches differ, or some are slower than a terminal.
func (n *Network) findUneven() {
	var one *output
	fastest := n.out[n.graph.NumPorts()].divider.Rate()
	for i := range n.out[n.graph.NumPorts():] {
		fastest = max(fastest, n.out[n.graph.NumPorts()+i].divider.Rate())
	}
	for p := range n.out[:n.graph.NumPorts()] {
		o := &n.out[p]
		if o.to < 0 {
			continue
		}
		one = cmp.Or(one, o)
		n.uneven = n.uneven || o.divider.Rate() != one.divider.Rate() || o.latency != one.latency || o.divider.Rate() < fastest
	}
}
