package opensm

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
)

// Subnet is a network as OpenSM sees it. Switches are nodes, numbered in the
// order of OpenSM's maps ([ib.GUIDOrder]); ports have their physical numbers. The
// aggregation nodes of switches are adapters to OpenSM, as hosts are: their ports are
// numbered behind the terminals.
type Subnet struct {
	Graph *topology.Graph
	// Names are those of the graph, with the aggregation nodes' behind the terminals'.
	Names    *topology.Names
	Switches []topology.SwitchID // switch of each node
	Node     []int32             // len = switches: node of a switch
	// Links are the cables to other switches: of node n, in port order,
	// Links[Start[n]:Start[n+1]].
	Links []Link
	Start []int32
	at    []int32 // index of the link at port p of node n: at[n*256+p], -1 none
	// Hosts are the cables to adapters' ports: of node n, in port order,
	// Hosts[HostStart[n]:HostStart[n+1]].
	Hosts     []Host
	HostStart []int32
	// adapters are the other ends of these cables, by adapter port.
	adapters []adapter
	// Manager is the adapter port of the subnet manager; it has the first LID.
	Manager topology.TerminalID
	// LMC is the LID mask control: an adapter's port has 2^LMC LIDs.
	LMC int
	// SwitchLID and TerminalLID are the base LIDs, by node and by adapter port.
	SwitchLID   []int32
	TerminalLID []int32
	MaxLID      int
	// Ends tells whose each LID is (len = MaxLID+1).
	Ends []End
}

// Link is one end of a cable between switches.
type Link struct {
	Port uint8 // physical number here
	From int32 // node here
	Peer int32 // node at the other end
	Back int32 // index of the other end in Subnet.Links
	// Graph is the port's number in the graph.
	Graph topology.PortID
}

// Host is a cable to an adapter's port: a terminal's, or with a number behind theirs
// that of an aggregation node.
type Host struct {
	Port     uint8
	Terminal topology.TerminalID
}

// adapter is where an adapter's port hangs: from a port of a node.
type adapter struct {
	node int32
	port uint8
}

// End is the owner of a LID: a terminal, or with Terminal negative the switch of
// Node; Node is negative where nobody has the LID.
type End struct {
	Node     int32 // for a terminal, the node that it hangs from
	Terminal topology.TerminalID
}

// nobody owns a LID.
var nobody = End{-1, -1}

// maxUnicastLID is the last LID of an end port.
const maxUnicastLID = 0xbfff

// NewSubnet looks at a network. Names that the graph lacks are those of
// [ib.Names]. LIDs that the network states are kept, the others are given out as
// OpenSM does in a fresh fabric, the manager's first.
//
// Errors: two cables at one port, more LIDs than there are.
func NewSubnet(g *topology.Graph, manager topology.TerminalID, lmc int) (*Subnet, error) {
	if manager < 0 || int(manager) >= g.Terminals() {
		return nil, fmt.Errorf("a subnet manager needs an adapter; the network has %d", g.Terminals())
	}
	s := Wire(g)
	s.Manager, s.LMC = manager, lmc
	if err := s.number(); err != nil {
		return nil, err
	}
	return s, s.assignLIDs()
}

// Wire looks at a network without its LIDs and the numbers of its ports, for searches of
// paths alone: they may be other than InfiniBand's.
func Wire(g *topology.Graph) *Subnet {
	names := ib.Names(g)
	names.Terminals = append(names.Terminals, names.Aggregation...)
	s := &Subnet{Graph: g, Names: names, Switches: ib.GUIDOrder(names), Node: make([]int32, g.Switches())}
	for n, id := range s.Switches {
		s.Node[id] = int32(n)
	}
	s.wire()
	return s
}

// cable is one at a switch.
type cable struct {
	number  int32
	port    topology.PortID     // NoPort: to an adapter
	adapter topology.TerminalID // at its other end
}

// wire lists the cables of every node in port order.
func (s *Subnet) wire() {
	at := make([]int32, s.Graph.NumPorts()) // index in Links
	s.adapters = make([]adapter, s.adapterPorts())
	within := make([][]cable, len(s.Switches))
	for i, a := range s.Names.Aggregation {
		within[a.Switch] = append(within[a.Switch], cable{a.Port, topology.NoPort, topology.TerminalID(s.Graph.Terminals() + i)})
	}
	var cables []cable
	for n, id := range s.Switches {
		s.Start = append(s.Start, int32(len(s.Links)))
		s.HostStart = append(s.HostStart, int32(len(s.Hosts)))
		cables = append(cables[:0], within[id]...)
		first, end := s.Graph.Ports(id)
		for p := first; p < end; p++ {
			c := cable{number: s.Names.Port[p], port: p}
			if t, ok := s.Graph.PeerTerminal(p); ok {
				c.port, c.adapter = topology.NoPort, t
			}
			cables = append(cables, c)
		}
		slices.SortStableFunc(cables, func(a, b cable) int { return cmp.Compare(a.number, b.number) })
		for _, c := range cables {
			if c.port == topology.NoPort {
				s.Hosts = append(s.Hosts, Host{uint8(c.number), c.adapter})
				s.adapters[c.adapter] = adapter{int32(n), uint8(c.number)}
				continue
			}
			at[c.port] = int32(len(s.Links))
			peer, _ := s.Graph.PeerPort(c.port)
			s.Links = append(s.Links, Link{uint8(c.number), int32(n), s.Node[s.Graph.PortSwitch[peer]], int32(peer), c.port})
		}
	}
	s.Start = append(s.Start, int32(len(s.Links)))
	s.HostStart = append(s.HostStart, int32(len(s.Hosts)))
	for l := range s.Links {
		s.Links[l].Back = at[s.Links[l].Back]
	}
}

// number checks the numbers of the ports and indexes the links by them.
func (s *Subnet) number() error {
	for _, id := range s.Switches {
		var taken [256]bool
		for _, port := range s.portNumbers(id) {
			if port < 1 || port > 254 {
				return fmt.Errorf("%s has a port %d: InfiniBand's are 1 to 254", s.Graph.SwitchName(id), port)
			}
			if taken[port] {
				return fmt.Errorf("two cables at port %d of %s", port, s.Graph.SwitchName(id))
			}
			taken[port] = true
		}
	}
	s.at = slices.Repeat([]int32{-1}, 256*len(s.Switches))
	for l, link := range s.Links {
		s.at[int(link.From)<<8|int(link.Port)] = int32(l)
	}
	return nil
}

// portNumbers lists the physical numbers of a switch's ports, ascending.
func (s *Subnet) portNumbers(id topology.SwitchID) []int32 {
	first, end := s.Graph.Ports(id)
	numbers := slices.Clone(s.Names.Port[first:end])
	for _, a := range s.Names.Aggregation {
		if a.Switch == id {
			numbers = append(numbers, a.Port)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// links lists the cables of node n to other switches, in port order.
func (s *Subnet) links(n int32) []Link { return s.Links[s.Start[n]:s.Start[n+1]] }

// hosts lists the cables of node n to adapters, in port order.
func (s *Subnet) hosts(n int32) []Host { return s.Hosts[s.HostStart[n]:s.HostStart[n+1]] }

// nodes is the number of switches.
func (s *Subnet) nodes() int32 { return int32(len(s.Switches)) }

// guid is the GUID of a node.
func (s *Subnet) guid(n int32) topology.GUID { return s.Names.Switches[s.Switches[n]].GUID }

// numPorts is the number of physical ports of a node.
func (s *Subnet) numPorts(n int32) int { return int(s.Names.Switches[s.Switches[n]].Ports) }

// adapterPorts is the number of the ports of adapters: terminals and, behind them, ports of
// aggregation nodes.
func (s *Subnet) adapterPorts() int { return len(s.Names.Terminals) }

// isTerminal tells an adapter's port that is a terminal from that of an aggregation node.
func (s *Subnet) isTerminal(t topology.TerminalID) bool { return int(t) < s.Graph.Terminals() }

// Terminals lists the cables of node n to terminals, in port order.
func (s *Subnet) Terminals(n int32) []Host {
	hosts := s.hosts(n)
	if len(s.Names.Aggregation) == 0 {
		return hosts
	}
	return slices.DeleteFunc(slices.Clone(hosts), func(h Host) bool { return !s.isTerminal(h.Terminal) })
}

// home is the node that an adapter's port hangs from.
func (s *Subnet) home(t topology.TerminalID) int32 { return s.adapters[t].node }

// hostPort is the port of its node that an adapter's port hangs from.
func (s *Subnet) hostPort(t topology.TerminalID) uint8 { return s.adapters[t].port }

// hostOrder lists the nodes with the most adapter ports first: the order in which the
// minhop family and sssp take destinations.
func (s *Subnet) hostOrder() []int32 {
	return s.mostFirst(func(n int32) int { return len(s.hosts(n)) })
}

// mostFirst lists the nodes with the most of something first, equals in order.
func (s *Subnet) mostFirst(count func(n int32) int) []int32 {
	order := upTo[int32](len(s.Switches))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(count(b), count(a)) })
	return order
}

// portOrder lists the ports of all adapters by GUID, as OpenSM's maps do.
func (s *Subnet) portOrder() []topology.TerminalID {
	order := upTo[topology.TerminalID](s.adapterPorts())
	slices.SortFunc(order, func(a, b topology.TerminalID) int {
		return ib.CompareGUID(s.Names.Terminals[a].PortGUID, s.Names.Terminals[b].PortGUID)
	})
	return order
}

// upTo lists the numbers from 0 to n-1.
func upTo[N ~int32](n int) []N {
	list := make([]N, n)
	for i := range list {
		list[i] = N(i)
	}
	return list
}

// DefaultManager is where the subnet manager runs unless someone says so: on host
// H0, the first of that name, else on the first adapter.
func DefaultManager(g *topology.Graph) topology.TerminalID {
	return max(0, terminalOf(ib.Names(g), func(t *topology.AdapterPort) bool { return t.Name == "H0" }))
}

// terminalOf is the first terminal that is so; -1: none.
func terminalOf(names *topology.Names, is func(t *topology.AdapterPort) bool) topology.TerminalID {
	for t := range names.Terminals {
		if is(&names.Terminals[t]) {
			return topology.TerminalID(t)
		}
	}
	return -1
}
