package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
)

// SwitchID numbers the switches of a graph from 0.
type SwitchID int32

// TerminalID numbers the terminals (end points: one network port of a host)
// of a graph from 0.
type TerminalID int32

// PortID numbers the connected switch ports of a graph from 0, switch by
// switch in port order. Ports without a cable have none.
type PortID int32

// ClassID indexes the channel classes of a graph.
type ClassID uint8

// NoPort marks the absence of a port.
const NoPort PortID = -1

// Class is a kind of channel: what a topology calls "terminal", "local",
// "global", ... Latency and rate are set per class.
type Class struct {
	Name string
	// Latency is the default flight time of the class in cycles of the flit
	// clock; experiment files override it.
	Latency int
	// Rate is the data rate of the cable where an imported fabric states
	// one, otherwise 0: one flit a cycle.
	Rate sim.Rate
}

// Graph is a network. Every cable joins a switch port to another switch port
// or to a terminal and carries one channel each way. Parallel cables between
// two switches are allowed, cables from a switch to itself are not. A terminal
// has exactly one cable. A Graph is read-only once built.
type Graph struct {
	// Classes lists the channel classes, indexed by ClassID.
	Classes []Class
	// PortStart gives the first port of each switch (len = switches+1).
	PortStart []PortID
	// Peer is the other end of each port's cable (len = ports): a port
	// number, or the complement ^t of terminal t. Use [Graph.PeerPort] and
	// [Graph.PeerTerminal].
	Peer []int32
	// PortClass is the channel class of each port's cable (len = ports);
	// both ends agree.
	PortClass []ClassID
	// PortSwitch is the switch of each port (len = ports).
	PortSwitch []SwitchID
	// TerminalPort is the switch port of each terminal (len = terminals).
	TerminalPort []PortID
	// Names holds what imported fabrics add; nil for generated ones.
	Names *Names
}

// Names carries the identities of an imported fabric. Every slice is either
// nil or as long as its comment says.
type Names struct {
	Switch       []string // len = switches: description
	SwitchGUID   []uint64 // len = switches
	SwitchLID    []int32  // len = switches
	SwitchPorts  []int32  // len = switches: physical ports, connected or not
	Port         []int32  // len = ports: physical port number, from 1
	Terminal     []string // len = terminals: description of the host
	NodeGUID     []uint64 // len = terminals: GUID of the host adapter
	PortGUID     []uint64 // len = terminals: GUID of the adapter's port
	TerminalLID  []int32  // len = terminals
	TerminalNode []int32  // len = terminals: equal for ports of one adapter
	Host         []int32  // len = terminals: equal for ports of one host, whose rails they are; nil: one a host
	NodePort     []int32  // len = terminals: physical port number on the adapter, from 1
	SwitchLMC    []uint8  // len = switches: LID mask control, 2^LMC LIDs each; nil = 0
	TerminalLMC  []uint8  // len = terminals: LID mask control; nil = 0

	// Aggregation lists the adapters inside switches that reduce data in the network
	// (SHARP), port by port. They are no terminals and have no ports in the graph; a
	// subnet manager gives them LIDs and routes to them like hosts.
	Aggregation []AggregationNode
}

// AggregationNode is a port of an adapter inside a switch.
type AggregationNode struct {
	Name     string
	Switch   SwitchID
	Port     int32 // physical number of the switch's port
	NodeGUID uint64
	NodePort int32 // physical number of its own port, from 1
	PortGUID uint64
	LID      int32
	LMC      uint8
	Rate     string // as the file names it, "4xHDR"; "" if it does not
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

// PeerPort is the switch port at the other end of p's cable; ok is false if a
// terminal is there.
func (g *Graph) PeerPort(p PortID) (peer PortID, ok bool) {
	return PortID(g.Peer[p]), g.Peer[p] >= 0
}

// PeerTerminal is the terminal at the other end of p's cable; ok is false if a
// switch is there.
func (g *Graph) PeerTerminal(p PortID) (t TerminalID, ok bool) {
	return TerminalID(^g.Peer[p]), g.Peer[p] < 0
}

// TerminalSwitch is the switch that terminal t hangs from.
func (g *Graph) TerminalSwitch(t TerminalID) SwitchID { return g.PortSwitch[g.TerminalPort[t]] }

// LocalPort is p's index among the connected ports of its switch, from 0.
func (g *Graph) LocalPort(p PortID) int { return int(p - g.PortStart[g.PortSwitch[p]]) }

// Hosts lists the terminals of each host, its rails, in the order of their numbers;
// hosts in the order of their first. Where nothing is known, a terminal is a host.
func (g *Graph) Hosts() [][]TerminalID {
	var hosts [][]TerminalID
	index := map[int32]int{}
	for t := range TerminalID(g.Terminals()) {
		if g.Names == nil || g.Names.Host == nil {
			hosts = append(hosts, []TerminalID{t})
			continue
		}
		i, known := index[g.Names.Host[t]]
		if !known {
			i = len(hosts)
			index[g.Names.Host[t]] = i
			hosts = append(hosts, nil)
		}
		hosts[i] = append(hosts[i], t)
	}
	return hosts
}

// SwitchName is a switch's name for messages and exports.
func (g *Graph) SwitchName(s SwitchID) string {
	if g.Names != nil && g.Names.Switch != nil && g.Names.Switch[s] != "" {
		return g.Names.Switch[s]
	}
	return fmt.Sprintf("switch %d", s)
}

// TerminalName is a terminal's name for messages and exports: that of the adapter
// and, of one with several ports, the port.
func (g *Graph) TerminalName(t TerminalID) string {
	if g.Names != nil && g.Names.Terminal != nil && g.Names.Terminal[t] != "" {
		if at(g.Names.NodePort, t) > 1 {
			return fmt.Sprintf("%s port %d", g.Names.Terminal[t], g.Names.NodePort[t])
		}
		return g.Names.Terminal[t]
	}
	return fmt.Sprintf("terminal %d", t)
}

// PortName names a port for messages: switch, then the port's number on it.
func (g *Graph) PortName(p PortID) string {
	n := g.LocalPort(p)
	if g.Names != nil && g.Names.Port != nil {
		n = int(g.Names.Port[p])
	}
	return fmt.Sprintf("%s port %d", g.SwitchName(g.PortSwitch[p]), n)
}

// SwitchLinks is the number of cables between switches.
func (g *Graph) SwitchLinks() int { return (g.NumPorts() - g.Terminals()) / 2 }

// Channel is one direction of a cable out of a switch, on one virtual channel:
// the node of a channel dependency graph (Dally and Seitz 1987).
type Channel struct {
	Port PortID
	VC   uint8
}

// Dependency says that a packet may hold Held while it waits for Wanted.
type Dependency struct{ Held, Wanted Channel }
