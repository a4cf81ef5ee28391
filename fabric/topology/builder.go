package topology

import "fmt"

// Builder collects switches, terminals and cables and freezes them into a
// [Graph]. The ports of a switch are numbered in the order in which its cables
// are added, or as [Builder.AddTerminalAt] and [Builder.AddLinkAt] say;
// terminals are numbered in the order in which they are added. Misuse by
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

// NewBuilder starts a graph of so many switches with the given channel
// classes.
func NewBuilder(switches int, classes ...Class) *Builder {
	return &Builder{classes: classes, ports: make([][]builderPort, switches)}
}

// AddTerminal hangs a new terminal from switch s, at its next port.
func (b *Builder) AddTerminal(s SwitchID, class ClassID) TerminalID {
	return b.AddTerminalAt(s, len(b.ports[s]), class)
}

// AddTerminalAt hangs a new terminal from local port `port` of switch s, which
// must be free.
func (b *Builder) AddTerminalAt(s SwitchID, port int, class ClassID) TerminalID {
	t := TerminalID(len(b.terminals))
	b.terminals = append(b.terminals, builderEnd{s, int32(port)})
	b.plug(s, port, builderPort{terminal: int32(t), class: class, cabled: true})
	return t
}

// AddLink lays a cable between the next ports of two different switches and
// returns the local port indices that it takes on each.
func (b *Builder) AddLink(s, t SwitchID, class ClassID) (portS, portT int) {
	portS, portT = len(b.ports[s]), len(b.ports[t])
	b.AddLinkAt(s, portS, t, portT, class)
	return portS, portT
}

// AddLinkAt lays a cable between local port portS of switch s and local port
// portT of another switch t; both must be free. Ports that stay free when the
// graph is frozen get no number: those behind them move up.
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

// Freeze makes the graph. The builder must not be used afterwards. Cost:
// linear in the number of ports.
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
