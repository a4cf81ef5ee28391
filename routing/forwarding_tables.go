package routing

import (
	"fmt"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
)

// Tables are the linear forwarding tables of a routing, for switches that know a
// packet's destination only: an error if somewhere r takes different ports to one
// destination, by source, history, chance or the state of the network.
//
// Switches that no packet for a terminal passes get the port, lowest first, towards
// the nearest one that does, and those for switches are of shortest paths by the
// lowest port: subnet managers talk to switches, too. Virtual channels are not
// part of tables: [NewTables] and a certificate tell what is left without them.
// Cost: the walk of [Dependencies].
func Tables(g *topology.Graph, r fabric.Routing, vcs int) (*ib.LFTs, error) {
	if l, ok := r.(*lft); ok {
		return l.tables, nil
	}
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return nil, err
	}
	w.blind = false // tables are for each terminal
	l, sources := ib.NewLFTs(g), w.ends()
	seen := newHeadNumbers(g.NumPorts(), vcs)
	for _, dst := range sources {
		if err := w.tableTo(dst, sources, seen, l); err != nil {
			return nil, err
		}
		seen.reset()
	}
	neighbors := g.Neighbors()
	var row []int16
	for d := range topology.SwitchID(g.Switches()) {
		row = neighbors.DistancesFrom(d, row)
		for s := range topology.SwitchID(g.Switches()) {
			if s != d {
				l.SetSwitch(s, d, lowestNearer(g, s, row))
			}
		}
	}
	return l, nil
}

// tableTo enters the ports to one terminal.
func (w *walker) tableTo(dst topology.TerminalID, sources []topology.TerminalID, seen *headNumbers, l *ib.LFTs) error {
	home := w.graph.TerminalSwitch(dst)
	l.SetTerminal(home, dst, w.graph.TerminalPort[dst])
	var pending []fabric.Head
	for _, src := range sources {
		if src != dst {
			pending = append(pending, w.heads(src, dst)...)
		}
	}
	var visited []topology.SwitchID
	for i := 0; i < len(pending); i++ {
		h := pending[i]
		err := w.eachHop(h, func(hop fabric.Hop, next fabric.Head, arrived bool) error {
			switch port := l.ToTerminal(h.Switch, dst); {
			case port == topology.NoPort:
				l.SetTerminal(h.Switch, dst, hop.Port)
				visited = append(visited, h.Switch)
			case port != hop.Port:
				return fmt.Errorf("tables by destination cannot say this: %s sends packets for %s by %s and by %s", w.graph.SwitchName(h.Switch), w.graph.TerminalName(dst), w.graph.PortName(port), w.graph.PortName(hop.Port))
			}
			if arrived {
				return nil
			}
			if _, known := seen.of(next); !known {
				pending = append(pending, next)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	w.fillTable(dst, append(visited, home), l)
	return nil
}

// fillTable enters the ports of switches that no packet for dst passes, outwards
// from those that some do.
func (w *walker) fillTable(dst topology.TerminalID, from []topology.SwitchID, l *ib.LFTs) {
	distance := make([]int16, w.graph.Switches())
	for s := range distance {
		distance[s] = topology.Unreachable
	}
	for _, s := range from {
		distance[s] = 0
	}
	for i := 0; i < len(from); i++ {
		s := from[i]
		first, end := w.graph.Ports(s)
		for p := first; p < end; p++ {
			if peer, ok := w.graph.PeerPort(p); ok && distance[w.graph.PortSwitch[peer]] == topology.Unreachable {
				distance[w.graph.PortSwitch[peer]] = distance[s] + 1
				from = append(from, w.graph.PortSwitch[peer])
			}
		}
	}
	for _, s := range from {
		if distance[s] > 0 {
			l.SetTerminal(s, dst, lowestNearer(w.graph, s, distance))
		}
	}
}

// lowestNearer is the lowest port of s to a switch that is nearer by distance;
// NoPort if there is none.
func lowestNearer(g *topology.Graph, s topology.SwitchID, distance []int16) topology.PortID {
	first, end := g.Ports(s)
	for p := first; p < end; p++ {
		if peer, ok := g.PeerPort(p); ok && distance[s] != topology.Unreachable && distance[g.PortSwitch[peer]] == distance[s]-1 {
			return p
		}
	}
	return topology.NoPort
}
