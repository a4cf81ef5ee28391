package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
)

// Subnet is a network as OpenSM sees it. Switches are nodes, numbered in the order of OpenSM's maps
// ([topology.GUIDOrder]); ports have their physical numbers. The aggregation nodes of switches are
// adapters to OpenSM, as hosts are: their ports are numbered behind the terminals.
type Subnet struct {
	Graph *topology.Graph
	// Names are the graph's names, with the aggregation nodes' behind the terminals'.
	Names    *topology.Names
	Switches []topology.SwitchID // switch of each node
	Node     []int32             // len = switches: node of a switch
	// Links are the cables to other switches: of node n, in port order, Links[Start[n]:Start[n+1]].
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

// Host is a cable to an adapter's port: a terminal's, or an aggregation node's, numbered behind the
// terminals'.
type Host struct {
	Port     uint8
	Terminal topology.TerminalID
}

// adapter is where an adapter's port hangs: from a port of a node.
type adapter struct {
	node int32
	port uint8
}

// End is the owner of a LID: a terminal, or if Terminal is negative the switch of Node; a negative
// Node: nobody.
type End struct {
	Node     int32 // for a terminal, the node that it hangs from
	Terminal topology.TerminalID
}

var nobody = End{-1, -1}

// NewSubnet looks at a network. Names that the graph lacks come from
// [topology.NamesOf]. LIDs that the network states are kept, the others are given out as
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

// Wire looks at a network without its LIDs and port numbers, which need not be InfiniBand's, to
// search paths alone.
func Wire(g *topology.Graph) *Subnet {
	names := topology.NamesOf(g)
	names.Terminals = append(names.Terminals, names.Aggregation...)
	s := &Subnet{Graph: g, Names: names, Switches: topology.GUIDOrder(names), Node: make([]int32, g.Switches())}
	for n, id := range s.Switches {
		s.Node[id] = int32(n)
	}
	s.wire()
	return s
}

type cable struct {
	number  int32
	port    topology.PortID     // NoPort: to an adapter
	adapter topology.TerminalID // at its other end
}

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

// leaves lists the nodes with adapters.
func (s *Subnet) leaves() []int32 {
	return slices.DeleteFunc(topology.Numbers[int32](len(s.Switches)), func(n int32) bool { return len(s.hosts(n)) == 0 })
}

func (s *Subnet) nodes() int32 { return int32(len(s.Switches)) }

func (s *Subnet) guid(n int32) topology.GUID { return s.Names.Switches[s.Switches[n]].GUID }

func (s *Subnet) numPorts(n int32) int { return int(s.Names.Switches[s.Switches[n]].Ports) }

// adapterPorts is the number of adapters' ports: terminals', then aggregation nodes'.
func (s *Subnet) adapterPorts() int { return len(s.Names.Terminals) }

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

// hostOrder lists nodes, most adapter ports first: minhop's family and sssp take destinations so.
func (s *Subnet) hostOrder() []int32 {
	return s.mostFirst(func(n int32) int { return len(s.hosts(n)) })
}

// mostFirst lists the nodes with the most of something first, equals in order.
func (s *Subnet) mostFirst(count func(n int32) int) []int32 {
	order := topology.Numbers[int32](len(s.Switches))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(count(b), count(a)) })
	return order
}

// DefaultManager is where the subnet manager runs by default: on the first host H0, else on the
// first adapter.
func DefaultManager(g *topology.Graph) topology.TerminalID {
	return topology.TerminalID(max(0, slices.IndexFunc(topology.NamesOf(g).Terminals, func(t topology.AdapterPort) bool { return t.Name == "H0" })))
}

// describe names an end port as OpenSM's dumps do: its kind, its GUID, and its node's name.
func (s *Subnet) describe(e End) (kind string, guid topology.GUID, name string) {
	if e.Terminal >= 0 {
		return "Channel Adapter", s.Names.Terminals[e.Terminal].PortGUID, s.Names.Terminals[e.Terminal].Name
	}
	return "Switch", s.guid(e.Node), s.Names.Switches[s.Switches[e.Node]].Name
}

// ends lists the ports with LIDs (adapters' ports, switches' port 0) by GUID, switches first among
// equals.
func (s *Subnet) ends() []End {
	var ends []End
	for n := range s.nodes() {
		ends = append(ends, End{n, -1})
	}
	for t := range topology.TerminalID(s.adapterPorts()) {
		ends = append(ends, End{s.home(t), t})
	}
	slices.SortFunc(ends, func(a, b End) int {
		_, guidA, _ := s.describe(a)
		_, guidB, _ := s.describe(b)
		return cmp.Or(topology.CompareGUID(guidA, guidB), cmp.Compare(a.Terminal, b.Terminal))
	})
	return ends
}

// stated is the LID that the network states for an end port, 0 if it states none, and how many LIDs
// the port has by its mask.
func (s *Subnet) stated(e End) (lid, count int) {
	known := s.Graph.Names
	switch {
	case known == nil:
	case e.Terminal < 0 && known.Switches != nil:
		return int(known.Switches[s.Switches[e.Node]].LID), 1
	case e.Terminal >= 0 && !s.isTerminal(e.Terminal):
		a := &known.Aggregation[int(e.Terminal)-s.Graph.Terminals()]
		return int(a.LID), 1 << a.LMC
	case e.Terminal >= 0 && known.Terminals != nil:
		return int(known.Terminals[e.Terminal].LID), 1 << known.Terminals[e.Terminal].LMC
	}
	return 0, 1
}

// assignLIDs gives every end port its LIDs as OpenSM does (osm_lid_mgr.c), the manager's port first,
// the others by GUID: a port keeps the LID that it has if that is a multiple of its number of LIDs
// and they are not given yet; else it gets the next ones of a free range. An adapter's port gets
// 2^LMC LIDs from a multiple of that on, a switch one. LIDs skipped within a range stay unused.
func (s *Subnet) assignLIDs() error {
	ends := s.ends()
	ranges := s.freeRanges(ends)
	manager := slices.IndexFunc(ends, func(e End) bool { return e.Terminal == s.Manager })
	ends = slices.Insert(slices.Delete(ends, manager, manager+1), 0, End{s.home(s.Manager), s.Manager})
	s.SwitchLID = make([]int32, len(s.Switches))
	s.TerminalLID = make([]int32, s.adapterPorts())
	s.Ends = []End{nobody}
	for _, e := range ends {
		count := s.lidCount(e)
		lid, _ := s.stated(e)
		if lid < 1 || lid+count-1 > ib.MaxUnicastLID || lid%count != 0 || !s.free(lid, count) {
			if lid = s.nextLIDs(ranges, count); lid < 0 {
				return fmt.Errorf("%d end ports with 2^%d LIDs an adapter port need more than the %d LIDs of a subnet", len(ends), s.LMC, ib.MaxUnicastLID)
			}
		}
		s.take(lid, count, e)
	}
	// Tables reach to the highest LID that a port had, too.
	for _, e := range ends {
		if lid, count := s.stated(e); lid+count-1 <= ib.MaxUnicastLID {
			s.reach(lid + count - 1)
		}
	}
	s.MaxLID = len(s.Ends) - 1
	return nil
}

// lidRange is LIDs of which none is given, ends included.
type lidRange struct{ first, last int }

// freeRanges lists the LIDs that no port has: a port has as many as it would get, even if it cannot
// keep them, unless they begin at no multiple of that. Of ports with one LID the last by GUID counts.
func (s *Subnet) freeRanges(ends []End) []lidRange {
	has := slices.Repeat([]End{nobody}, ib.MaxUnicastLID+1)
	for _, e := range ends {
		lid, count := s.stated(e)
		for i := lid; lid > 0 && i < lid+count && i < len(has); i++ {
			if has[i] = e; i >= lid+1<<s.LMC {
				has[i] = nobody
			}
		}
	}
	var ranges []lidRange
	first := 1
	for lid := 1; lid < len(has); lid++ {
		if e := has[lid]; e != nobody {
			start, _ := s.stated(e)
			if count := s.lidCount(e); start%count == 0 {
				if first < lid {
					ranges = append(ranges, lidRange{first, lid - 1})
				}
				lid = max(lid, start+count-1)
				first = lid + 1
			}
		}
	}
	return append(ranges, lidRange{first, ib.MaxUnicastLID})
}

// nextLIDs takes LIDs from the first range that has enough; -1 if there is none.
func (s *Subnet) nextLIDs(ranges []lidRange, count int) int {
	for i := range ranges {
		r := &ranges[i]
		lid := (r.first + count - 1) / count * count
		for lid+count-1 <= r.last && !s.free(lid, count) {
			lid += count
		}
		if lid+count-1 <= r.last {
			r.first = lid + count
			return lid
		}
	}
	return -1
}

func (s *Subnet) lidCount(e End) int {
	if e.Terminal < 0 {
		return 1
	}
	return 1 << s.LMC
}

// BaseLID is the first LID of an end port.
func (s *Subnet) BaseLID(e End) int32 {
	if e.Terminal < 0 {
		return s.SwitchLID[e.Node]
	}
	return s.TerminalLID[e.Terminal]
}

func (s *Subnet) free(lid, count int) bool {
	known := s.Ends[min(lid, len(s.Ends)):min(lid+count, len(s.Ends))]
	return !slices.ContainsFunc(known, func(e End) bool { return e != nobody })
}

// reach makes sure that Ends has a LID.
func (s *Subnet) reach(lid int) {
	for len(s.Ends) <= lid {
		s.Ends = append(s.Ends, nobody)
	}
}

func (s *Subnet) take(lid, count int, e End) {
	s.reach(lid + count - 1)
	for i := lid; i < lid+count; i++ {
		s.Ends[i] = e
	}
	if e.Terminal < 0 {
		s.SwitchLID[e.Node] = int32(lid)
	} else {
		s.TerminalLID[e.Terminal] = int32(lid)
	}
}

// ReadGUIDs reads a file of GUIDs, one a line, as OpenSM's root_guid_file, cn_guid_file and
// guid_routing_order_file are: hexadecimal with 0x, decimal without.
func ReadGUIDs(r io.Reader, name string) ([]uint64, error) {
	in := input.NewLines(r, name)
	guids := []uint64{}
	for words := in.NextWords(); words != nil; words = in.NextWords() {
		guid, err := parseGUID(words[0])
		if err != nil || len(words) > 1 {
			in.Problem("%s: want one GUID a line, such as 0x0002c90200001234", input.Quote(strings.Join(words, " ")))
			continue
		}
		guids = append(guids, guid)
	}
	return guids, in.Finish()
}

// parseGUID reads a number as C's strtoull does by its prefix.
func parseGUID(word string) (uint64, error) {
	hexadecimal := strings.HasPrefix(word, "0x") || strings.HasPrefix(word, "0X")
	if strings.Contains(word, "_") || strings.ContainsAny(word, "+-bBoO") && !hexadecimal {
		return 0, errors.New("not a number")
	}
	return strconv.ParseUint(word, 0, 64)
}
