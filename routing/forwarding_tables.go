package routing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// TableForm is a form of linear forwarding tables: the port by which a switch sends to a
// destination.
type TableForm struct {
	// Of makes the tables of a routing, as by [FillTables].
	Of func(g *topology.Graph, r fabric.Routing, vcs int) (Tables, error)
	// Read reads a file of tables to look at their paths, which need not lead anywhere: Explore
	// lists no hop where a packet has no way on. A network must not be run with it.
	Read func(in io.Reader, path string, g *topology.Graph) (fabric.Routing, error)
}

// Tables are forwarding tables of some form.
type Tables interface {
	Write(w io.Writer) error
	// Alone routes by the tables, all packets on one virtual channel.
	Alone(env Env) (fabric.Routing, error)
}

var tableForm *TableForm

// RegisterTables makes the only form known; the form's package calls it when it is initialized.
func RegisterTables(f TableForm) { tableForm = &f }

// RegisteredTables is the form that is known, or an error.
func RegisteredTables() (*TableForm, error) {
	if tableForm == nil {
		return nil, errors.New("forwarding tables: this program has no form of them")
	}
	return tableForm, nil
}

// Table is what [FillTables] fills.
type Table interface {
	// ToTerminal is the port by which s sends to terminal t, or NoPort.
	ToTerminal(s topology.SwitchID, t topology.TerminalID) topology.PortID
	SetTerminal(s topology.SwitchID, t topology.TerminalID, p topology.PortID)
	SetSwitch(s, d topology.SwitchID, p topology.PortID)
}

// FillTables enters a routing into empty tables of switches, which know a packet's destination
// only. Error: r takes different ports to one destination, by source, history, chance or network
// state.
//
// A switch that no packet for a terminal passes gets its lowest port towards the nearest switch
// that is passed. Entries for switches, which subnet managers talk to, are the lowest ports of
// shortest paths. Virtual channels are not part of tables: [Tables].Alone and a certificate tell
// what is left without them. Cost: the walk of [Dependencies].
func FillTables(g *topology.Graph, r fabric.Routing, vcs int, l Table) error {
	w, err := newWalker(g, r, vcs)
	if err != nil {
		return err
	}
	w.blind = false // tables are for each terminal
	ends, neighbors := w.ends(), g.Neighbors()
	for _, dst := range ends {
		if err := w.tableTo(dst, ends, neighbors, l); err != nil {
			return err
		}
	}
	var row []int16
	for d := range topology.SwitchID(g.Switches()) {
		row = neighbors.DistancesFrom(d, row)
		for s := range topology.SwitchID(g.Switches()) {
			if s != d {
				l.SetSwitch(s, d, lowestNearer(g, s, row))
			}
		}
	}
	return nil
}

// tableTo enters the ports to one terminal, and then those of switches that no packet for it
// passes. Error: the routing sends packets for it by several ports of a switch.
func (w *walker) tableTo(dst topology.TerminalID, ends []topology.TerminalID, neighbors *topology.Neighbors, l Table) error {
	home := w.graph.TerminalSwitch(dst)
	l.SetTerminal(home, dst, w.graph.TerminalPort[dst])
	sources := slices.DeleteFunc(slices.Clone(ends), func(src topology.TerminalID) bool { return src == dst })
	visited := []topology.SwitchID{home}
	_, err := w.walk(w.headsTo(dst, sources), func(m *move) error {
		switch port := l.ToTerminal(m.head.Switch, dst); {
		case port == topology.NoPort:
			l.SetTerminal(m.head.Switch, dst, m.hop.Port)
			visited = append(visited, m.head.Switch)
		case port != m.hop.Port:
			return fmt.Errorf("tables by destination cannot say this: %s sends packets for %s by %s and by %s", w.graph.SwitchName(m.head.Switch), w.graph.TerminalName(dst), w.graph.PortName(port), w.graph.PortName(m.hop.Port))
		}
		return nil
	})
	if err != nil {
		return err
	}
	distance := neighbors.DistancesFromAny(visited)
	for s, d := range distance {
		if d > 0 {
			l.SetTerminal(topology.SwitchID(s), dst, lowestNearer(w.graph, topology.SwitchID(s), distance))
		}
	}
	return nil
}

// lowestNearer is the lowest port of s to a switch that is nearer by distance, else NoPort.
func lowestNearer(g *topology.Graph, s topology.SwitchID, distance []int16) topology.PortID {
	for p, to := range g.Links(s) {
		if distance[s] != topology.Unreachable && distance[to] == distance[s]-1 {
			return p
		}
	}
	return topology.NoPort
}

// readNextHops reads a routing table: a line for each switch r, with the next switch towards each
// switch d (-1 for r itself), as next[r*n+d]. What follows # is a comment.
func readNextHops(name string, data []byte, switches int) ([]int32, error) {
	next := make([]int32, 0, switches*switches)
	in := input.NewLines(bytes.NewReader(data), name)
	rows := 0
	for fields := in.NextWords(); fields != nil; fields = in.NextWords() {
		if rows++; rows > switches {
			continue
		}
		if len(fields) != switches {
			in.Problem("%d columns, want %d, one for each switch", len(fields), switches)
			continue
		}
		for d, field := range fields {
			n, err := strconv.ParseInt(field, 10, 32)
			if err != nil || n < -1 || int(n) >= switches {
				in.Problem("column %d: %q, want a switch, 0 to %d, or -1", d+1, input.Printable(field), switches-1)
			}
			next = append(next, int32(n))
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	if rows != switches {
		in.Problem("%d rows, want %d, one for each switch", rows, switches)
	}
	return next, in.Err()
}

// follow makes the tables from the file of next hops. sample is a terminal of each leaf.
func (p *hopPaths) follow(sample []topology.TerminalID, lengths bool) error {
	name, n := p.NextHops, p.graph.Switches()
	if err := input.CheckMemory("next_hops", name, "a table of so many switches", 8*float64(n)*float64(n)); err != nil {
		return err
	}
	data, err := input.ReadInput(name, input.MaxInput)
	if err != nil {
		return &param.ParamError{Key: "next_hops", Value: name, Want: "a readable file: " + err.Error()}
	}
	next, err := readNextHops(name, data, n)
	if err != nil {
		return err
	}
	if lengths {
		p.length = make([]uint8, n*p.leaves)
	}
	if err := p.measure(name, next, sample); err != nil {
		return err
	}
	p.fill(func(s topology.SwitchID, masks []byte, width int) {
		for leaf, t := range sample {
			to := next[int(s)*n+int(p.home[t])]
			if to < 0 {
				continue
			}
			for port, peer := range p.graph.Links(s) {
				if peer == topology.SwitchID(to) {
					local := p.graph.LocalPort(port)
					masks[leaf*width+local/8] |= 1 << (local % 8)
				}
			}
		}
	})
	return nil
}

// measure follows the paths of a table to every leaf: each must be made of cables and end there. It
// notes the longest path between leaves, and all lengths where these are kept.
func (p *hopPaths) measure(name string, next []int32, sample []topology.TerminalID) error {
	const unknown, underWay = -1, -2
	problems := input.Problems{Name: name}
	problem := func(from, to topology.SwitchID, what string) {
		problems.Add(fmt.Errorf("%s: from switch %d to switch %d %s", name, from, to, what))
	}
	n := p.graph.Switches()
	neighbors := p.graph.Neighbors()
	hops := make([]int32, n)
	var path []topology.SwitchID
	for leaf, t := range sample {
		if problems.Full() {
			break
		}
		end := p.home[t]
		for s := range hops {
			hops[s] = unknown
		}
		hops[end] = 0
		for s := range topology.SwitchID(n) {
			path = path[:0]
			at := s
			for hops[at] == unknown {
				hops[at] = underWay
				path = append(path, at)
				to := topology.SwitchID(next[int(at)*n+int(end)])
				if _, joined := slices.BinarySearch(neighbors.Of(at), to); !joined {
					problem(at, end, fmt.Sprintf("comes %d, which no cable leads to", to))
					return problems.Err()
				}
				at = to
			}
			if hops[at] == underWay {
				problem(s, end, "the path goes round in circles")
				hops[at] = 0
			}
			for i := len(path) - 1; i >= 0; i-- {
				hops[path[i]] = hops[at] + int32(len(path)-i)
			}
		}
		for s, h := range hops {
			if p.leaf[s] >= 0 {
				p.hops = max(p.hops, int(h))
			}
			if h > maxLength {
				problem(topology.SwitchID(s), end, fmt.Sprintf("the path has %d hops, want at most %d", h, maxLength))
			} else if p.length != nil {
				p.length[s*p.leaves+leaf] = uint8(h)
			}
		}
	}
	return problems.Err()
}
