package topology

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// SwitchID numbers the switches of a graph from 0.
type SwitchID int32

// TerminalID numbers the terminals (end points: one network port of a host) of a graph from 0.
type TerminalID int32

// PortID numbers the connected switch ports of a graph from 0, by switch and port. Free ports have
// none.
type PortID int32

// ClassID indexes the channel classes of a graph.
type ClassID uint8

// NoPort marks the absence of a port.
const NoPort PortID = -1

// Class is a kind of channel, such as "terminal", "local" or "global", with its latency and rate.
type Class struct {
	Name string
	// Latency is the default flight time in cycles of the flit clock; experiment files override it.
	Latency int
	// Rate is the cable's data rate if an imported fabric states it, otherwise 0: one flit a cycle.
	Rate sim.Rate
}

// Graph is a network. Every cable joins a switch port to another switch port or to a terminal and
// carries one channel each way. Parallel cables between two switches are allowed, cables from a
// switch to itself are not. A terminal has exactly one cable. A Graph is read-only once built.
type Graph struct {
	// Classes lists the channel classes, indexed by ClassID.
	Classes []Class
	// PortStart gives the first port of each switch (len = switches+1).
	PortStart []PortID
	// Peer is the other end of each port's cable (len = ports): a port, or the complement ^t of
	// terminal t. See [Graph.PeerPort] and [Graph.PeerTerminal].
	Peer []int32
	// PortClass is the channel class of each port's cable (len = ports); both ends agree.
	PortClass []ClassID
	// PortSwitch is the switch of each port (len = ports).
	PortSwitch []SwitchID
	// TerminalPort is the switch port of each terminal (len = terminals).
	TerminalPort []PortID
	// Names holds what imported fabrics add; nil for generated ones.
	Names *Names
}

// Names are an imported fabric's identities. A slice is nil or as long as its comment says; zero is
// unknown.
type Names struct {
	Switches     []SwitchName
	Port         []int32       // len = ports: physical port number, from 1
	Terminals    []AdapterPort // of these the graph knows switch, port and rate
	TerminalNode []int32       // len = terminals: equal for ports of one adapter
	Host         []int32       // len = terminals: equal for ports of one host, whose rails they are; nil: one a host

	// Aggregation lists the adapters inside switches that reduce data in the network (SHARP), by
	// port. They are no terminals and have no ports here; subnet managers give them LIDs and routes
	// like hosts.
	Aggregation []AdapterPort
}

// SwitchName is the identity of a switch; its JSON form is described at [FileConfig].
type SwitchName struct {
	Name  string `json:"name,omitempty"` // description
	GUID  GUID   `json:"guid,omitempty"`
	LID   int32  `json:"lid,omitempty"`
	LMC   uint8  `json:"lmc,omitempty"`   // LID mask control: 2^LMC LIDs
	Ports int32  `json:"ports,omitempty"` // physical ports, connected or not
}

// AdapterPort is the identity of a port of an adapter: of a host, or inside a switch.
type AdapterPort struct {
	Name     string   `json:"name,omitempty"` // description of the adapter
	Switch   SwitchID `json:"switch"`
	Port     int32    `json:"number,omitempty"` // physical number of the switch's port
	NodeGUID GUID     `json:"node_guid,omitempty"`
	NodePort int32    `json:"node_port,omitempty"` // physical number on the adapter, from 1
	PortGUID GUID     `json:"port_guid,omitempty"`
	LID      int32    `json:"lid,omitempty"`
	LMC      uint8    `json:"lmc,omitempty"`
	Rate     string   `json:"rate,omitempty"` // as the file names it, "4xHDR"
	Router   bool     `json:"router,omitempty"`
}

// Numbers lists the numbers from 0 to n-1: all switches, terminals or ports of a network.
func Numbers[N ~int | ~int32](n int) []N { return lists.Make(n, func(i int) N { return N(i) }) }

// GUID is a 64-bit identity, written as "0x" and 16 hexadecimal digits.
type GUID uint64

// MarshalText implements [encoding.TextMarshaler].
func (x GUID) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%016x", uint64(x)), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (x *GUID) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return fmt.Errorf("GUID %q: want a number such as \"0x0002c90300a1b2c3\"", text)
	}
	*x = GUID(v)
	return nil
}

// Switches is the number of switches.
func (g *Graph) Switches() int { return len(g.PortStart) - 1 }

// Terminals is the number of terminals.
func (g *Graph) Terminals() int { return len(g.TerminalPort) }

// NumPorts is the number of connected switch ports.
func (g *Graph) NumPorts() int { return len(g.Peer) }

// Ports returns the first port of switch s and the first after its last.
func (g *Graph) Ports(s SwitchID) (first, end PortID) { return g.PortStart[s], g.PortStart[s+1] }

// Degree is the number of connected ports of switch s, terminals included.
func (g *Graph) Degree(s SwitchID) int { return int(g.PortStart[s+1] - g.PortStart[s]) }

// PeerPort is the switch port at the other end of p's cable; ok is false if a terminal is there.
func (g *Graph) PeerPort(p PortID) (peer PortID, ok bool) { return PortID(g.Peer[p]), g.Peer[p] >= 0 }

// PeerTerminal is the terminal at the other end of p's cable; ok is false if a switch is there.
func (g *Graph) PeerTerminal(p PortID) (t TerminalID, ok bool) {
	return TerminalID(^g.Peer[p]), g.Peer[p] < 0
}

// TerminalSwitch is the switch that terminal t hangs from.
func (g *Graph) TerminalSwitch(t TerminalID) SwitchID { return g.PortSwitch[g.TerminalPort[t]] }

// TerminalCounts is the number of terminals of each switch.
func (g *Graph) TerminalCounts() []int {
	counts := make([]int, g.Switches())
	for _, p := range g.TerminalPort {
		counts[g.PortSwitch[p]]++
	}
	return counts
}

// Links yields the ports of switch s that lead to other switches, in order, with those.
func (g *Graph) Links(s SwitchID) iter.Seq2[PortID, SwitchID] {
	return func(yield func(PortID, SwitchID) bool) {
		for p, end := g.Ports(s); p < end; p++ {
			if peer, ok := g.PeerPort(p); ok && !yield(p, g.PortSwitch[peer]) {
				return
			}
		}
	}
}

// LocalPort is p's index among the connected ports of its switch, from 0.
func (g *Graph) LocalPort(p PortID) int { return int(p - g.PortStart[g.PortSwitch[p]]) }

// Hosts lists each host's terminals (its rails), in order, and hosts by their first. Where nothing
// is known, a terminal is a host.
func (g *Graph) Hosts() [][]TerminalID {
	hosts := make([][]TerminalID, 0, g.Terminals())
	index := map[int32]int{}
	host := g.identities().Host
	if host == nil {
		all := make([]TerminalID, g.Terminals())
		for t := range all {
			all[t] = TerminalID(t)
			hosts = append(hosts, all[t:t+1:t+1])
		}
		return hosts
	}
	for t := range TerminalID(g.Terminals()) {
		i, known := index[host[t]]
		if !known {
			i = len(hosts)
			index[host[t]] = i
			hosts = append(hosts, nil)
		}
		hosts[i] = append(hosts[i], t)
	}
	return hosts
}

// HostCount is the number of hosts.
func (g *Graph) HostCount() int {
	if g.identities().Host == nil {
		return g.Terminals()
	}
	return len(g.Hosts())
}

// identities are the graph's names; empty ones where it has none.
func (g *Graph) identities() *Names {
	if g.Names == nil {
		return &noNames
	}
	return g.Names
}

var noNames Names

// SwitchName is a switch's name for messages and exports.
func (g *Graph) SwitchName(s SwitchID) string {
	if name := at(g.identities().Switches, s).Name; name != "" {
		return name
	}
	return fmt.Sprintf("switch %d", s)
}

// TerminalName is a terminal's name for messages and exports: the adapter's, with the port if the
// adapter has several.
func (g *Graph) TerminalName(t TerminalID) string {
	names := at(g.identities().Terminals, t)
	switch {
	case names.Name == "":
		return fmt.Sprintf("terminal %d", t)
	case names.NodePort > 1:
		return fmt.Sprintf("%s port %d", names.Name, names.NodePort)
	}
	return names.Name
}

// PortName names a port for messages: switch, then the port's number on it.
func (g *Graph) PortName(p PortID) string {
	return fmt.Sprintf("%s port %d", g.SwitchName(g.PortSwitch[p]), g.portNumber(p))
}

// SwitchLinks is the number of cables between switches.
func (g *Graph) SwitchLinks() int { return (g.NumPorts() - g.Terminals()) / 2 }

// Channel is one direction of a cable out of a switch on one virtual channel: a node of a channel
// dependency graph (Dally and Seitz 1987).
type Channel struct {
	Port PortID
	VC   uint8
}

// Dependency says that a packet may hold Held while it waits for Wanted.
type Dependency struct{ Held, Wanted Channel }

// Builder collects switches, terminals and cables and freezes them into a [Graph]. The ports of a
// switch are numbered in the order in which its cables are added, or as [Builder.AddTerminalAt] and
// [Builder.AddLinkAt] say; terminals are numbered in the order in which they are added. Misuse by
// generators panics; importers check their input first.
type Builder struct {
	classes   []Class
	ports     [][]builderPort // per switch
	terminals []builderEnd    // switch and local port of each terminal
}

type builderEnd struct {
	sw   SwitchID
	port int32 // local
}

type builderPort struct {
	end      builderEnd // other end, if a switch
	terminal int32      // other end, if >= 0
	class    ClassID
	cabled   bool // false: a gap that Freeze closes
}

// NewBuilder starts a graph of so many switches with the given channel classes.
func NewBuilder(switches int, classes ...Class) *Builder {
	return &Builder{classes: classes, ports: make([][]builderPort, switches)}
}

// AddTerminal hangs a new terminal from switch s, at its next port.
func (b *Builder) AddTerminal(s SwitchID, class ClassID) TerminalID {
	return b.AddTerminalAt(s, len(b.ports[s]), class)
}

// AddTerminalAt hangs a new terminal from local port `port` of switch s, which must be free.
func (b *Builder) AddTerminalAt(s SwitchID, port int, class ClassID) TerminalID {
	t := TerminalID(len(b.terminals))
	b.terminals = append(b.terminals, builderEnd{s, int32(port)})
	b.plug(s, port, builderPort{terminal: int32(t), class: class, cabled: true})
	return t
}

// AddLink lays a cable between the next ports of two switches, and returns its local port on each.
func (b *Builder) AddLink(s, t SwitchID, class ClassID) (portS, portT int) {
	portS, portT = len(b.ports[s]), len(b.ports[t])
	b.AddLinkAt(s, portS, t, portT, class)
	return portS, portT
}

// AddLinkAt lays a cable between local port portS of switch s and local port portT of another
// switch t; both must be free. Freezing numbers no free ports: those behind them move up.
func (b *Builder) AddLinkAt(s SwitchID, portS int, t SwitchID, portT int, class ClassID) {
	if s == t {
		panic(fmt.Sprintf("topology: cable from switch %d to itself", s))
	}
	b.plug(s, portS, builderPort{end: builderEnd{t, int32(portT)}, terminal: -1, class: class, cabled: true})
	b.plug(t, portT, builderPort{end: builderEnd{s, int32(portS)}, terminal: -1, class: class, cabled: true})
}

func (b *Builder) plug(s SwitchID, port int, p builderPort) {
	for len(b.ports[s]) <= port {
		b.ports[s] = append(b.ports[s], builderPort{})
	}
	if b.ports[s][port].cabled {
		panic(fmt.Sprintf("topology: two cables in port %d of switch %d", port, s))
	}
	b.ports[s][port] = p
}

// closeGaps renumbers the ports of every switch so that none is free.
func (b *Builder) closeGaps() {
	for s, ports := range b.ports {
		n := 0
		for _, p := range ports {
			if !p.cabled {
				continue
			}
			ports[n] = p
			if p.terminal >= 0 {
				b.terminals[p.terminal].port = int32(n)
			} else {
				b.ports[p.end.sw][p.end.port].end.port = int32(n)
			}
			n++
		}
		b.ports[s] = ports[:n]
	}
}

// Freeze makes the graph; the builder must not be used again. Cost: linear in the number of ports.
func (b *Builder) Freeze() *Graph {
	b.closeGaps()
	g := &Graph{Classes: b.classes, PortStart: make([]PortID, len(b.ports)+1)}
	total := 0
	for s, ports := range b.ports {
		g.PortStart[s] = PortID(total)
		total += len(ports)
	}
	g.PortStart[len(b.ports)] = PortID(total)
	g.Peer = make([]int32, 0, total)
	g.PortClass = make([]ClassID, 0, total)
	g.PortSwitch = make([]SwitchID, 0, total)
	for s, ports := range b.ports {
		for _, p := range ports {
			peer := ^p.terminal
			if p.terminal < 0 {
				peer = int32(g.PortStart[p.end.sw]) + p.end.port
			}
			g.Peer = append(g.Peer, peer)
			g.PortClass = append(g.PortClass, p.class)
			g.PortSwitch = append(g.PortSwitch, SwitchID(s))
		}
	}
	g.TerminalPort = make([]PortID, len(b.terminals))
	for t, e := range b.terminals {
		g.TerminalPort[t] = g.PortStart[e.sw] + PortID(e.port)
	}
	b.ports = nil
	return g
}

// laneSpeed is one lane speed of InfiniBand: what ibnetdiscover calls it, what ibdiagnet's numeric
// form calls it, and the data rate of a lane in bit/s after line coding (InfiniBand Architecture
// Specification, volume 2, 5.2): 8b/10b up to QDR, 64b/66b from FDR10 to EDR; from HDR on the name
// gives the data rate, the raised signalling rate pays for coding and error correction. FDR's
// 14.0625 Gbaud x 64/66 does not divide; the fraction of a bit is cut.
type laneSpeed struct {
	name   string
	number string
	lane   sim.Rate
}

var speeds = []laneSpeed{
	{"SDR", "2.5", 2e9},
	{"DDR", "5", 4e9},
	{"QDR", "10", 8e9},
	{"FDR10", "10E", 10e9},
	{"FDR", "14", 0}, // see ParseLink
	{"EDR", "25", 25e9},
	{"HDR", "50", 50e9},
	{"NDR", "100", 100e9},
	{"XDR", "200", 200e9},
}

// fdrSymbols is FDR's lane rate before coding, in symbols a second.
const fdrSymbols = 14_062_500_000

// ParseLink reads the width and speed of an InfiniBand link, "4xHDR" or ibdiagnet's "4x50". It
// returns the name in the first form and the data rate without line coding.
func ParseLink(s string) (name string, rate sim.Rate, err error) {
	width, speed, ok := strings.Cut(s, "x")
	lanes, err := strconv.Atoi(width)
	if ok && err == nil && (lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12) {
		for _, k := range speeds {
			if speed == k.name || speed == k.number {
				rate = sim.Rate(lanes) * k.lane
				if k.name == "FDR" {
					rate = sim.Rate(int64(lanes) * fdrSymbols * 64 / 66)
				}
				return fmt.Sprintf("%dx%s", lanes, k.name), rate, nil
			}
		}
	}
	return "", 0, fmt.Errorf("%q: want a width of 1x, 2x, 4x, 8x or 12x and a speed of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR", s)
}

// WithTerminals is a builder of switches that have as many terminals each, on their first ports.
func WithTerminals(switches, terminals int, classes ...Class) *Builder {
	b := NewBuilder(switches, classes...)
	for s := range SwitchID(switches) {
		for range terminals {
			b.AddTerminal(s, 0)
		}
	}
	return b
}

// LayRows builds the network of switches that have terminals each, joined as rows say (rows[s]: the
// neighbours of s, in any order; s stands in the row of each of them; as often as there are
// parallel cables). Ports: terminals, class 0, then cables in the order of the switches that they
// lead to, of the class that is given for s < t. The rows are sorted.
func LayRows(rows [][]SwitchID, terminals int, classes []Class, class func(s, t SwitchID) ClassID) *Graph {
	b := WithTerminals(len(rows), terminals, classes...)
	for s, row := range rows { // cables in the order (lower end, upper end) give every switch its neighbours in order
		slices.Sort(row)
		for _, t := range row {
			if SwitchID(s) < t {
				b.AddLink(SwitchID(s), t, class(SwitchID(s), t))
			}
		}
	}
	return b.Freeze()
}

// Classes makes channel classes of latency 1: "terminal", then those named.
func Classes(names ...string) []Class {
	return lists.Map(append([]string{"terminal"}, names...), func(name string) Class { return Class{Name: name, Latency: 1} })
}

// NumberedClasses names the channel classes of levels of switches: "terminal", then name1 for
// cables between levels 0 and 1, and so on.
func NumberedClasses(name string, levels int) []Class {
	return Classes(lists.Make(max(0, levels-1), func(i int) string { return fmt.Sprintf("%s%d", name, i+1) })...)
}

// OneClass is the class of all cables between switches where there is one only.
func OneClass(_, _ SwitchID) ClassID { return 1 }

// ConnectedRows tells whether every switch can be reached from the first.
func ConnectedRows(rows [][]SwitchID) bool {
	seen := make([]bool, len(rows))
	stack := []SwitchID{0}
	seen[0] = true
	n := 0
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n++
		for _, t := range rows[s] {
			if !seen[t] {
				seen[t] = true
				stack = append(stack, t)
			}
		}
	}
	return n == len(rows)
}
