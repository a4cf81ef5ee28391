package mcast

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/routing/multicast"
)

// Installed is what forwarding tables that a subnet has make of its groups.
type Installed struct {
	Entries int     // MLIDs of the groups that some switch has a row for
	MaxEFI  int     // most groups over one cable between switches, both directions together
	MeanEFI float64 // over all such cables
	// Problems name the groups whose packets do not reach all of their members once
	// and nobody else, or that have no rows.
	Problems []string
}

// Inspect follows the packets of groups through forwarding tables, such as those of
// [ReadMCFDBs]: from every member, or from 32 of them, evenly chosen. Cost: linear in
// the cables that the packets cross.
func Inspect(graph *topology.Graph, tables MFTs, groups []SAGroup) *Installed {
	x := &inspector{graph: graph, tables: tables, ports: make([][]topology.PortID, graph.Switches()), load: make([]int, graph.NumPorts())}
	names := ib.Names(graph)
	for p := range topology.PortID(graph.NumPorts()) {
		s := graph.PortSwitch[p]
		for len(x.ports[s]) <= int(names.Port[p]) {
			x.ports[s] = append(x.ports[s], topology.NoPort)
		}
		x.ports[s][names.Port[p]] = p
	}
	found := &Installed{}
	for i := range groups {
		if x.count(groups[i].MLID) {
			found.Entries++
		}
		if problem := x.group(&groups[i]); problem != "" {
			found.Problems = append(found.Problems, fmt.Sprintf("MLID %#x: %s", groups[i].MLID, problem))
		}
	}
	cables, total := 0, 0
	for p, load := range x.load {
		if peer := graph.Peer[p]; peer > int32(p) {
			if _, ok := graph.PeerPort(topology.PortID(p)); ok {
				cables++
				total += load
				found.MaxEFI = max(found.MaxEFI, load)
			}
		}
	}
	if cables > 0 {
		found.MeanEFI = float64(total) / float64(cables)
	}
	return found
}

type inspector struct {
	graph  *topology.Graph
	tables MFTs
	ports  [][]topology.PortID // by switch and physical number; NoPort: none
	load   []int               // groups over the cable at a port, kept at the lower of its two
}

// row finds the row of an MLID in the table of a switch.
func (x *inspector) row(s topology.SwitchID, mlid uint16) []uint8 {
	i, ok := slices.BinarySearchFunc(x.tables[s], mlid, func(r MFTRow, m uint16) int { return int(r.MLID) - int(m) })
	if !ok {
		return nil
	}
	return x.tables[s][i].Ports
}

// count adds a group to the cables that its rows name, and tells whether there are
// any rows.
func (x *inspector) count(mlid uint16) (any bool) {
	seen := map[topology.PortID]bool{}
	for s := range topology.SwitchID(x.graph.Switches()) {
		for _, number := range x.row(s, mlid) {
			any = true
			p := x.port(s, number)
			if p == topology.NoPort {
				continue
			}
			if peer, ok := x.graph.PeerPort(p); ok {
				if p = min(p, peer); !seen[p] {
					seen[p] = true
					x.load[p]++
				}
			}
		}
	}
	return any
}

// port is the port of a switch with a physical number.
func (x *inspector) port(s topology.SwitchID, number uint8) topology.PortID {
	if int(number) >= len(x.ports[s]) || number == 0 {
		return topology.NoPort
	}
	return x.ports[s][number]
}

// group sends packets from members; "" means that all others hear each of them.
func (x *inspector) group(g *SAGroup) string {
	for i := 0; i < len(g.Terminals); i += 1 + len(g.Terminals)/multicast.MostSenders {
		t := g.Terminals[i]
		if problem := x.send(g, x.graph.TerminalPort[t], x.graph.TerminalSwitch(t)); problem != "" {
			return fmt.Sprintf("from %s %s", x.graph.TerminalName(t), problem)
		}
	}
	for i := 0; i < len(g.Switches); i += 1 + len(g.Switches)/multicast.MostSenders {
		s := g.Switches[i]
		if problem := x.send(g, topology.NoPort, s); problem != "" {
			return fmt.Sprintf("from %s %s", x.graph.SwitchName(s), problem)
		}
	}
	return ""
}

// send follows a packet that enters switch s by port in (NoPort: from its own
// management port). The sender's terminal is in the row of its switch, as in OpenSM's
// tables, and switches send nothing back by the port that a packet came in by: it
// counts as served.
func (x *inspector) send(g *SAGroup, in topology.PortID, s topology.SwitchID) string {
	type arrival struct {
		in topology.PortID
		s  topology.SwitchID
	}
	got := multicast.Group{}
	queue := []arrival{{in, s}}
	for head := 0; head < len(queue); head++ {
		if head > x.graph.Switches() {
			return "packets run in a circle"
		}
		a := queue[head]
		row := x.row(a.s, g.MLID)
		if row == nil {
			return fmt.Sprintf("packets end at %s, which has no row", x.graph.SwitchName(a.s))
		}
		for _, number := range row {
			if number == 0 {
				got.Switches = append(got.Switches, a.s)
				continue
			}
			p := x.port(a.s, number)
			if p == topology.NoPort {
				return fmt.Sprintf("packets leave %s by port %d, which leads nowhere", x.graph.SwitchName(a.s), number)
			}
			if t, ok := x.graph.PeerTerminal(p); ok {
				got.Terminals = append(got.Terminals, t)
			} else if peer, ok := x.graph.PeerPort(p); ok && p != a.in {
				queue = append(queue, arrival{peer, x.graph.PortSwitch[peer]})
			}
		}
	}
	slices.Sort(got.Terminals)
	slices.Sort(got.Switches)
	if !slices.Equal(got.Terminals, g.Terminals) || !slices.Equal(got.Switches, g.Switches) {
		return fmt.Sprintf("packets reach %d terminals and switches, not just the %d members", len(got.Terminals)+len(got.Switches), g.Size())
	}
	return ""
}
