package topology

import "fmt"

// Builder collects switches, terminals and cables and freezes them into a
// [Graph]. The ports of a switch are numbered in the order in which its cables
// are added; terminals are numbered in the order in which they are added.
// Misuse by generators panics; importers check their input first.
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
}

// NewBuilder starts a graph of so many switches with the given channel
// classes.
func NewBuilder(switches int, classes ...Class) *Builder {
	return &Builder{classes: classes, ports: make([][]builderPort, switches)}
}

// AddTerminal hangs a new terminal from switch s.
func (b *Builder) AddTerminal(s SwitchID, class ClassID) TerminalID {
	t := TerminalID(len(b.terminals))
	b.terminals = append(b.terminals, builderEnd{s, int32(len(b.ports[s]))})
	b.ports[s] = append(b.ports[s], builderPort{terminal: int32(t), class: class})
	return t
}

// AddLink lays a cable between two different switches and returns the local
// port indices that it takes on each.
func (b *Builder) AddLink(s, t SwitchID, class ClassID) (portS, portT int) {
	if s == t {
		panic(fmt.Sprintf("topology: cable from switch %d to itself", s))
	}
	portS, portT = len(b.ports[s]), len(b.ports[t])
	b.ports[s] = append(b.ports[s], builderPort{end: builderEnd{t, int32(portT)}, terminal: -1, class: class})
	b.ports[t] = append(b.ports[t], builderPort{end: builderEnd{s, int32(portS)}, terminal: -1, class: class})
	return portS, portT
}

// Freeze makes the graph. The builder must not be used afterwards. Cost:
// linear in the number of ports.
func (b *Builder) Freeze() *Graph {
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
