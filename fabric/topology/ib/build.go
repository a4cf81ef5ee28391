package ib

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
)

// finish checks the cables of a parsed file and makes the network. Problems are joined, with lines.
func (f *listing) finish() (*Imported, error) {
	if f.chassis > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("%s: %d switchguid= lines name another GUID than the switch's own (a chassis); cables go by the switch's", f.Name, f.chassis))
	}
	f.dropSelfCables()
	f.checkCables()
	f.checkGUIDs()
	if f.Any() {
		return nil, f.Err()
	}
	g := f.graph()
	if f.Any() {
		return nil, f.Err()
	}
	if g.NumPorts() == 0 {
		return nil, fmt.Errorf("%s: no switches with cables", f.Name)
	}
	return &Imported{topology.NewFileNetwork(g), f.warnings, f.unknownRates()}, nil
}

// find is the port line of the given port; nil if it is not listed.
func (n *nodeRecord) find(port int) *cableEnd {
	for i := range n.ends {
		if n.ends[i].port == port {
			return &n.ends[i]
		}
	}
	return nil
}

// dropSelfCables removes cables from a node to itself (loop-back plugs).
func (f *listing) dropSelfCables() {
	for _, n := range f.nodes {
		n.ends = slices.DeleteFunc(n.ends, func(e cableEnd) bool {
			if e.peer != n.id {
				return false
			}
			f.warn(e.line, "cable from %q port %d to port %d of itself left out", n.id, e.port, e.peerPort)
			return true
		})
	}
}

// checkCables reports cables listed at one end only, and settles rates where ends disagree.
func (f *listing) checkCables() {
	for _, n := range f.nodes {
		for i := range n.ends {
			e := &n.ends[i]
			peer, known := f.byID[e.peer]
			if !known {
				f.ProblemAt(e.line, "one-sided link: %q port %d leads to %q, which the file does not describe", n.id, e.port, e.peer)
				continue
			}
			back := peer.find(e.peerPort)
			switch {
			case back == nil:
				f.ProblemAt(e.line, "one-sided link: %q port %d leads to %q port %d, which %q (line %d) does not list", n.id, e.port, e.peer, e.peerPort, e.peer, peer.line)
			case back.peer != n.id || back.peerPort != e.port:
				f.ProblemAt(e.line, "one-sided link: %q port %d leads to %q port %d, which leads to %q port %d (line %d)", n.id, e.port, e.peer, e.peerPort, back.peer, back.peerPort, back.line)
			case e.line < back.line:
				f.settle(n, e, peer, back)
			}
		}
	}
}

// settle makes the two ends of a cable agree on rate and GUIDs.
func (f *listing) settle(n *nodeRecord, e *cableEnd, peer *nodeRecord, back *cableEnd) {
	if n.kind != switchNode && peer.kind != switchNode {
		return // reported by graph
	}
	if e.rate != back.rate {
		if back.line == f.cutLine {
			f.ProblemAt(back.line, "the file ends in the middle of a line: rate %s, the other end says %s", back.rate.text, e.rate.text)
		}
		lower := e.rate
		if lower.data == 0 || back.rate.data != 0 && back.rate.data < lower.data {
			lower = back.rate
		}
		if e.rate.text != "" && back.rate.text != "" {
			f.warn(back.line, "the ends of the cable between %q port %d and %q port %d say %s and %s: taken as %s", n.id, e.port, peer.id, back.port, e.rate.text, back.rate.text, lower.text)
		}
		e.rate, back.rate = lower, lower
	}
	agree := func(own, stated *uint64, n *nodeRecord, line int) {
		if *own == 0 {
			*own = *stated
		} else if *stated != 0 && *stated != *own && n.kind != switchNode {
			f.warn(line, "port GUID %x of %q: its own record says %x", *stated, n.id, *own)
		}
	}
	agree(&e.guid, &back.peerGUID, n, back.line)
	agree(&back.guid, &e.peerGUID, peer, e.line)
	f.settleLID(n, e, back)
	f.settleLID(peer, back, e)
}

// settleLID compares a node's LID in its own record with the other end's of its cable e.
func (f *listing) settleLID(n *nodeRecord, e, back *cableEnd) {
	own := &e.lid
	if n.kind == switchNode {
		own = &n.lid
	}
	if *own == 0 && back.peerLID > 0 {
		*own = back.peerLID
	} else if back.peerLID > 0 && back.peerLID != *own {
		f.warn(back.line, "LID %d of %q: its own record says %d", back.peerLID, n.id, *own)
	}
}

func (f *listing) checkGUIDs() {
	type owner struct {
		node *nodeRecord
		line int
	}
	nodes := map[uint64]*nodeRecord{}
	ports := map[uint64]owner{}
	for _, n := range f.nodes {
		if first, twice := nodes[n.guid]; twice {
			f.ProblemAt(n.line, "duplicate GUID %016x: %q has it too (line %d)", n.guid, first.id, first.line)
			continue
		}
		nodes[n.guid] = n
		if n.kind == switchNode {
			continue
		}
		for i := range n.ends {
			e := &n.ends[i]
			e.guid = cmp.Or(e.guid, n.guid+uint64(e.port)) // what most adapters and ibsim do
			if first, twice := ports[e.guid]; twice {
				f.ProblemAt(e.line, "duplicate port GUID %016x: a port of %q has it too (line %d)", e.guid, first.node.id, first.line)
				continue
			}
			ports[e.guid] = owner{n, e.line}
		}
	}
}

// takeAggregation moves aggregation nodes and routers, which are no terminals, with their cables
// from the records to names.
func (f *listing) takeAggregation(names *topology.Names) {
	number := map[*nodeRecord]topology.SwitchID{}
	for _, n := range f.nodes {
		if n.kind == switchNode {
			number[n] = topology.SwitchID(len(number))
		}
	}
	for _, n := range f.nodes {
		router := n.kind == routerNode
		// Adapters inside a switch that reduce data in the network (SHARP) are called so.
		if !router && (n.kind != adapterNode || !strings.Contains(n.description, "Aggregation Node")) {
			continue
		}
		n.kind = aggregationNode
		for _, e := range n.ends {
			peer := f.byID[e.peer]
			s, ok := number[peer]
			if !ok {
				f.warn(e.line, "cable between %q and %q, neither of them a switch, left out", n.id, e.peer)
				continue
			}
			a := n.identity(&e)
			a.Switch, a.Port, a.Rate, a.Router = s, int32(e.peerPort), e.rate.text, router
			if a.Rate == unknownRate {
				a.Rate = ""
			}
			names.Aggregation = append(names.Aggregation, a)
			peer.ends = slices.DeleteFunc(peer.ends, func(back cableEnd) bool { return back.port == e.peerPort })
		}
	}
}

// identity says which port of which adapter a cable ends at.
func (n *nodeRecord) identity(e *cableEnd) topology.AdapterPort {
	return topology.AdapterPort{Name: n.description, NodeGUID: topology.GUID(n.guid), NodePort: int32(e.port), PortGUID: topology.GUID(e.guid), LID: e.lid, LMC: e.lmc}
}

// graph numbers the checked records: switches and terminals in file order, ports physically.
func (f *listing) graph() *topology.Graph {
	names := &topology.Names{}
	f.takeAggregation(names)
	classes, classOf := f.classes()
	var switches, hosts []*nodeRecord
	for _, n := range f.nodes {
		switch n.kind {
		case switchNode:
			switches = append(switches, n)
		case adapterNode:
			hosts = append(hosts, n)
		}
	}
	g := &topology.Graph{Classes: classes, PortStart: []topology.PortID{0}}
	for i, n := range switches {
		slices.SortFunc(n.ends, func(a, b cableEnd) int { return cmp.Compare(a.port, b.port) })
		for j := range n.ends {
			e := &n.ends[j]
			e.number = topology.PortID(len(g.Peer))
			g.Peer = append(g.Peer, 0)
			g.PortClass = append(g.PortClass, classOf[e.rate.text])
			g.PortSwitch = append(g.PortSwitch, topology.SwitchID(i))
			names.Port = append(names.Port, int32(e.port))
		}
		g.PortStart = append(g.PortStart, topology.PortID(len(g.Peer)))
		names.Switches = append(names.Switches, topology.SwitchName{Name: n.description, GUID: topology.GUID(n.guid), LID: n.lid, LMC: n.lmc, Ports: int32(n.ports)})
	}
	for _, n := range switches {
		for _, e := range n.ends {
			if peer := f.byID[e.peer]; peer.kind == switchNode {
				g.Peer[e.number] = int32(peer.find(e.peerPort).number)
			}
		}
	}
	for i, n := range hosts {
		slices.SortFunc(n.ends, func(a, b cableEnd) int { return cmp.Compare(a.port, b.port) })
		if len(n.ends) == 0 {
			f.warn(n.line, "%s %q has no cable", n.kind, n.id)
		}
		for j := range n.ends {
			e := &n.ends[j]
			peer := f.byID[e.peer]
			if peer.kind != switchNode {
				f.warn(e.line, "cable between %q and %q, neither of them a switch, left out", n.id, e.peer)
				continue
			}
			p := peer.find(e.peerPort).number
			g.Peer[p] = ^int32(len(g.TerminalPort))
			g.TerminalPort = append(g.TerminalPort, p)
			names.Terminals = append(names.Terminals, n.identity(e))
			names.TerminalNode = append(names.TerminalNode, int32(i))
		}
	}
	names.Host = hostsOf(names)
	g.SetNames(names)
	if f.dialect == dialectDiscover {
		f.warnShared(names)
	}
	if g.Switches() > 0 {
		_, err := g.CheckReach()
		if far := topology.FarError(0); errors.As(err, &far) {
			f.ProblemAt(1, "%v", err)
		} else if err != nil {
			f.warnings = append(f.warnings, fmt.Sprintf("%s: the fabric is not connected", f.Name))
		}
	}
	return g
}

// namelessClass is the class of cables of which nothing is said.
const namelessClass = "cable"

// unknownRates is the doubt about cables of a fabric that have no known rate, where others do.
func (f *listing) unknownRates() []string {
	unknown, cables, first := 0, 0, 0
	var settings []string
	for _, n := range f.nodes {
		for i := range n.ends {
			e := &n.ends[i]
			if peer := f.byID[e.peer]; n.kind != switchNode || peer.kind == switchNode && peer.find(e.peerPort).line < e.line {
				continue // known by the other end
			}
			cables++
			if e.rate.data != 0 {
				continue
			}
			if unknown++; first == 0 {
				first = e.line
			}
			if s := "channel." + cmp.Or(e.rate.text, namelessClass) + ".rate"; !slices.Contains(settings, s) {
				settings = append(settings, s)
			}
		}
	}
	if unknown == 0 || unknown == cables {
		return nil
	}
	return []string{fmt.Sprintf("%s:%d: this cable has no known rate, as %d of %d: they take a flit a cycle of fabric.clock, which the fastest cable sets, unless %s says otherwise", f.Name, first, unknown, cables, strings.Join(settings, " and "))}
}

// classes makes one channel class for each rate in use, slowest first.
func (f *listing) classes() ([]topology.Class, map[string]topology.ClassID) {
	var rates []cableRate
	for _, n := range f.nodes {
		if n.kind != switchNode {
			continue
		}
		for _, e := range n.ends {
			if !slices.Contains(rates, e.rate) {
				rates = append(rates, e.rate)
			}
		}
	}
	slices.SortFunc(rates, func(a, b cableRate) int {
		return cmp.Or(cmp.Compare(a.data, b.data), cmp.Compare(a.text, b.text))
	})
	classes := make([]topology.Class, len(rates))
	ids := map[string]topology.ClassID{}
	for i, r := range rates {
		classes[i] = topology.Class{Name: cmp.Or(r.text, namelessClass), Latency: 1, Rate: r.data}
		ids[r.text] = topology.ClassID(i)
	}
	return classes, ids
}

// warnShared tells of ports that have no LID, or the same LID as another port.
func (f *listing) warnShared(names *topology.Names) {
	seen := map[int32]bool{}
	shared, none := 0, 0
	count := func(lid int32) {
		if lid == 0 {
			none++
		} else if seen[lid] {
			shared++
		}
		seen[lid] = true
	}
	for _, s := range names.Switches {
		count(s.LID)
	}
	for _, t := range names.Terminals {
		count(t.LID)
	}
	if shared > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("%s: %d ports have the LID of another", f.Name, shared))
	}
	if none > 0 {
		f.warnings = append(f.warnings, fmt.Sprintf("%s: %d ports have no LID", f.Name, none))
	}
}
