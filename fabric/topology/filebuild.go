package topology

import (
	"cmp"
	"math"
	"reflect"
	"slices"
)

// fileEnd is one end of a cable at a switch.
type fileEnd struct {
	line, sw, port int
	number         int32
	rank           int // among the ports of the switch
}

// build makes the graph from the elements, or records why it cannot.
func (r *fileReader) build() *Graph {
	classes, number := r.classList()
	if len(r.switches) == 0 || len(r.terminals) == 0 {
		r.ProblemAt(1, "%d switches and %d terminals: want at least one of each", len(r.switches), len(r.terminals))
		return nil
	}
	known := func(line int, class string) {
		if _, ok := number[class]; !ok {
			r.ProblemAt(line, "unknown class %q", class)
		}
	}
	for _, e := range r.terminals {
		known(e.line, e.value.Class)
	}
	for _, e := range r.links {
		known(e.line, e.value.Class)
	}
	ends := r.cableEnds()
	sorted := r.rankPorts(ends)
	if r.Any() {
		return nil
	}
	b := NewBuilder(len(r.switches), classes...)
	for i, e := range r.terminals {
		b.AddTerminalAt(SwitchID(ends[i].sw), ends[i].rank, number[e.value.Class])
	}
	for i, e := range r.links {
		pair := ends[len(r.terminals)+2*i:]
		b.AddLinkAt(SwitchID(pair[0].sw), pair[0].rank, SwitchID(pair[1].sw), pair[1].rank, number[e.value.Class])
	}
	if r.Any() {
		return nil
	}
	g := b.Freeze()
	g.SetNames(r.names())
	for i, end := range sorted {
		put(&g.Names.Port, len(sorted), i, ends[end].number)
	}
	if reflect.ValueOf(*g.Names).IsZero() {
		g.Names = nil
	}
	if lost, err := g.CheckReach(); err != nil {
		r.ProblemAt(r.switches[lost].line, "%v", err)
	}
	return g
}

// classList checks the classes and numbers them.
func (r *fileReader) classList() ([]Class, map[string]ClassID) {
	var classes []Class
	number := map[string]ClassID{}
	for _, e := range r.classes {
		c, err := e.value.class()
		if err != nil {
			r.ProblemAt(e.line, "%v", err)
		} else if _, twice := number[c.Name]; twice {
			r.ProblemAt(e.line, "class %q twice", c.Name)
		} else if len(classes) == MaxClasses {
			r.ProblemAt(e.line, "more than %d classes", MaxClasses)
			break
		}
		number[c.Name] = ClassID(len(classes))
		classes = append(classes, c)
	}
	return classes, number
}

// MaxClasses is how many classes a ClassID can tell apart.
const MaxClasses = 256

// cableEnds lists the ends of terminals' cables, then both ends of each link.
func (r *fileReader) cableEnds() []fileEnd {
	ends := make([]fileEnd, 0, len(r.terminals)+2*len(r.links))
	next := make([]int, len(r.switches)) // port after the highest so far
	end := func(line int, f filePort) {
		r.identity(line, 0, 0, f.Number)
		e := fileEnd{line: line, sw: f.Switch, number: f.Number}
		if f.Switch == noSwitch {
			r.ProblemAt(line, "no \"switch\": want 0 to %d", len(next)-1)
		} else if f.Switch < 0 || f.Switch >= len(next) {
			r.ProblemAt(line, "switch %d: want 0 to %d", f.Switch, len(next)-1)
		} else {
			e.port = next[f.Switch]
			if f.Port != nil {
				e.port = *f.Port
			}
			if e.port < 0 || e.port > MaxPorts {
				r.ProblemAt(line, "port %d: want 0 to %d", e.port, MaxPorts)
			}
			next[f.Switch] = max(next[f.Switch], e.port+1)
		}
		ends = append(ends, e)
	}
	for _, e := range r.terminals {
		end(e.line, e.value.filePort)
	}
	for _, e := range r.links {
		if e.value.A.Switch == e.value.B.Switch && e.value.A.Switch != noSwitch {
			r.ProblemAt(e.line, "a link from switch %d to itself", e.value.A.Switch)
		}
		end(e.line, e.value.A)
		end(e.line, e.value.B)
	}
	return ends
}

// rankPorts ranks the ends among the ports of their switches, and returns their indices by switch
// and port.
func (r *fileReader) rankPorts(ends []fileEnd) []int {
	order := Numbers[int](len(ends))
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(ends[i].sw, ends[j].sw), cmp.Compare(ends[i].port, ends[j].port))
	})
	for k, i := range order {
		if k == 0 || ends[order[k-1]].sw != ends[i].sw {
			continue
		}
		before := ends[order[k-1]]
		if before.port == ends[i].port {
			r.ProblemAt(ends[i].line, "port %d of switch %d is taken by line %d", before.port, before.sw, before.line)
		}
		ends[i].rank = before.rank + 1
	}
	return order
}

// names gathers the identities of switches and terminals.
func (r *fileReader) names() *Names {
	n := &Names{}
	nodes := 0
	for i, e := range r.switches {
		put(&n.Switches, len(r.switches), i, e.value)
		r.identity(e.line, e.value.LID, e.value.LMC, e.value.Ports)
	}
	for i, e := range r.terminals {
		v := e.value
		put(&n.Terminals, len(r.terminals), i, AdapterPort{Name: v.Name, NodeGUID: v.NodeGUID, NodePort: v.NodePort, PortGUID: v.PortGUID, LID: v.LID, LMC: v.LMC})
		r.identity(e.line, v.LID, v.LMC, v.NodePort)
		if v.Node != nil {
			nodes++
			n.TerminalNode = append(n.TerminalNode, *v.Node)
		}
		if v.Host != nil {
			n.Host = append(n.Host, *v.Host)
		}
	}
	if hosts := len(n.Host); hosts != 0 && hosts != len(r.terminals) {
		r.ProblemAt(r.terminals[0].line, "%d of %d terminals have a \"host\": want all or none", hosts, len(r.terminals))
	}
	for _, e := range r.aggregation {
		if e.value.Switch < 0 || int(e.value.Switch) >= len(r.switches) {
			r.ProblemAt(e.line, "aggregation node without a \"switch\" of 0 to %d", len(r.switches)-1)
		}
		r.identity(e.line, e.value.LID, e.value.LMC, max(e.value.Port, e.value.NodePort))
		n.Aggregation = append(n.Aggregation, e.value)
	}
	if nodes != 0 && nodes != len(r.terminals) {
		r.ProblemAt(r.terminals[0].line, "%d of %d terminals have a \"node\": want all or none", nodes, len(r.terminals))
	}
	return n
}

// identity checks what InfiniBand numbers: LIDs have 16 bits, port is a port's or how many there are.
func (r *fileReader) identity(line int, lid int32, lmc uint8, port int32) {
	switch {
	case lid < 0 || lid > math.MaxUint16:
		r.ProblemAt(line, "lid %d: want 0 to %d", lid, math.MaxUint16)
	case lmc > 7:
		r.ProblemAt(line, "lmc %d: want 0 to 7", lmc)
	case port < 0 || port > math.MaxUint16:
		r.ProblemAt(line, "port %d of an adapter, or switch: want 0 to %d", port, math.MaxUint16)
	}
}

// put sets (*list)[i]; the first element that is not zero makes the list.
func put[E comparable](list *[]E, length, i int, value E) {
	var zero E
	if value == zero {
		return
	}
	if *list == nil {
		*list = make([]E, length)
	}
	(*list)[i] = value
}
