package ib

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
)

// WriteNetDiscover writes a network in the form of ibnetdiscover's output:
// switches, then adapters, in the order of their numbers; no header with the
// time of day, so that equal networks give equal files. Channel classes that
// an import named after their rate give the rate; others state none.
func WriteNetDiscover(w io.Writer, g *topology.Graph) error {
	out := bufio.NewWriter(w)
	n := Names(g)
	fmt.Fprintf(out, "#\n# Topology file\n#\n")
	for s := range g.Switches() {
		guid := n.SwitchGUID[s]
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\n", guid, guid, guid)
		fmt.Fprintf(out, "Switch\t%d \"S-%016x\"\t\t# \"%s\" base port 0 lid %d lmc %d\n", n.SwitchPorts[s], guid, n.Switch[s], n.SwitchLID[s], lmcOf(n.SwitchLMC, s))
		first, end := g.Ports(topology.SwitchID(s))
		for p := first; p < end; p++ {
			if q, ok := g.PeerPort(p); ok {
				r := g.PortSwitch[q]
				fmt.Fprintf(out, "[%d]\t\"S-%016x\"[%d]\t\t# \"%s\" lid %d%s\n", n.Port[p], n.SwitchGUID[r], n.Port[q], n.Switch[r], n.SwitchLID[r], rateText(g, p))
				continue
			}
			t, _ := g.PeerTerminal(p)
			fmt.Fprintf(out, "[%d]\t\"H-%016x\"[%d](%x) \t\t# \"%s\" lid %d%s\n", n.Port[p], n.NodeGUID[t], n.NodePort[t], n.PortGUID[t], n.Terminal[t], n.TerminalLID[t], rateText(g, p))
		}
		for _, a := range n.Aggregation {
			if a.Switch == topology.SwitchID(s) {
				fmt.Fprintf(out, "[%d]\t\"H-%016x\"[%d](%x) \t\t# \"%s\" lid %d%s\n", a.Port, a.NodeGUID, a.NodePort, a.PortGUID, a.Name, a.LID, withSpace(a.Rate))
			}
		}
	}
	for _, ports := range adaptersOf(n) {
		guid := n.NodeGUID[ports[0]]
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\ncaguid=0x%x\n", guid, guid)
		fmt.Fprintf(out, "Ca\t%d \"H-%016x\"\t\t# \"%s\"\n", portCount(n, ports), guid, n.Terminal[ports[0]])
		for _, t := range ports {
			p := g.TerminalPort[t]
			s := g.PortSwitch[p]
			fmt.Fprintf(out, "[%d](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc %d \"%s\" lid %d%s\n", n.NodePort[t], n.PortGUID[t], n.SwitchGUID[s], n.Port[p],
				n.TerminalLID[t], lmcOf(n.TerminalLMC, int(t)), n.Switch[s], n.SwitchLID[s], rateText(g, p))
		}
	}
	eachAggregation(n, func(guid uint64, ports []topology.AggregationNode) {
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\ncaguid=0x%x\n", guid, guid)
		fmt.Fprintf(out, "Ca\t%d \"H-%016x\"\t\t# \"%s\"\n", ports[len(ports)-1].NodePort, guid, ports[0].Name)
		for _, a := range ports {
			fmt.Fprintf(out, "[%d](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc %d \"%s\" lid %d%s\n", a.NodePort, a.PortGUID, n.SwitchGUID[a.Switch], a.Port,
				a.LID, a.LMC, n.Switch[a.Switch], n.SwitchLID[a.Switch], withSpace(a.Rate))
		}
	})
	return out.Flush()
}

// eachAggregation visits the aggregation nodes of a network, each with its ports
// in ascending order.
func eachAggregation(n *topology.Names, visit func(guid uint64, ports []topology.AggregationNode)) {
	var order []uint64
	ports := map[uint64][]topology.AggregationNode{}
	for _, a := range n.Aggregation {
		if ports[a.NodeGUID] == nil {
			order = append(order, a.NodeGUID)
		}
		ports[a.NodeGUID] = append(ports[a.NodeGUID], a)
	}
	for _, guid := range order {
		slices.SortFunc(ports[guid], func(a, b topology.AggregationNode) int { return cmp.Compare(a.NodePort, b.NodePort) })
		visit(guid, ports[guid])
	}
}

func withSpace(rate string) string {
	if rate == "" {
		return ""
	}
	return " " + rate
}

// rateText is the rate of p's cable with a space before it, if its class is
// named after one.
func rateText(g *topology.Graph, p topology.PortID) string {
	name := g.Classes[g.PortClass[p]].Name
	if _, err := parseRate(name); err != nil {
		return ""
	}
	return " " + name
}

// portCount is how many ports an adapter is given: as many as the highest
// connected one needs, since a [topology.Graph] knows no others.
func portCount(n *topology.Names, ports []topology.TerminalID) int32 {
	most := int32(1)
	for _, t := range ports {
		most = max(most, n.NodePort[t])
	}
	return most
}

// WriteSim writes a network as a netlist of the simulator ibsim. If ibsim
// would number the nodes as they are numbered already, and their names can
// stand as ids, the netlist is plain; otherwise ids are made of the GUIDs, and
// lines that set ibsim's GUID counters go before each node. ibsim cannot give
// the port of an adapter any other GUID than the adapter's plus the port
// number.
func WriteSim(w io.Writer, g *topology.Graph) error {
	out := bufio.NewWriter(w)
	n := Names(g)
	adapters := adaptersOf(n)
	plain := len(n.Aggregation) == 0 && numberedByIBSim(n, adapters) && namesAreIDs(n, adapters)
	switchID := func(s topology.SwitchID) string {
		if plain {
			return n.Switch[s]
		}
		return fmt.Sprintf("S-%016x", n.SwitchGUID[s])
	}
	adapterID := func(t topology.TerminalID) string {
		if plain {
			return n.Terminal[t]
		}
		return fmt.Sprintf("H-%016x", n.NodeGUID[t])
	}
	head := func(word string, ports int32, id, key string, guid uint64, description string) {
		if plain {
			fmt.Fprintf(out, "%s %d %q\n", word, ports, id)
		} else {
			fmt.Fprintf(out, "%s=0x%x\n%s %d \"%s\"\t# \"%s\"\n", key, guid, word, ports, id, description)
		}
	}
	for s := range g.Switches() {
		head("Switch", n.SwitchPorts[s], switchID(topology.SwitchID(s)), "switchguid", n.SwitchGUID[s], n.Switch[s])
		first, end := g.Ports(topology.SwitchID(s))
		for p := first; p < end; p++ {
			if q, ok := g.PeerPort(p); ok {
				fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", n.Port[p], switchID(g.PortSwitch[q]), n.Port[q])
			} else {
				t, _ := g.PeerTerminal(p)
				fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", n.Port[p], adapterID(t), n.NodePort[t])
			}
		}
		for _, a := range n.Aggregation {
			if a.Switch == topology.SwitchID(s) {
				fmt.Fprintf(out, "[%d]\t\"H-%016x\"[%d]\n", a.Port, a.NodeGUID, a.NodePort)
			}
		}
		fmt.Fprintln(out)
	}
	for _, ports := range adapters {
		t := ports[0]
		head("Hca", portCount(n, ports), adapterID(t), "caguid", n.NodeGUID[t], n.Terminal[t])
		for _, t := range ports {
			p := g.TerminalPort[t]
			fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", n.NodePort[t], switchID(g.PortSwitch[p]), n.Port[p])
		}
		fmt.Fprintln(out)
	}
	eachAggregation(n, func(guid uint64, ports []topology.AggregationNode) {
		head("Hca", ports[len(ports)-1].NodePort, fmt.Sprintf("H-%016x", guid), "caguid", guid, ports[0].Name)
		for _, a := range ports {
			fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", a.NodePort, switchID(a.Switch), a.Port)
		}
		fmt.Fprintln(out)
	})
	return out.Flush()
}

// numberedByIBSim tells whether ibsim would give the nodes, listed in order,
// the GUIDs that they have.
func numberedByIBSim(n *topology.Names, adapters [][]topology.TerminalID) bool {
	for s, guid := range n.SwitchGUID {
		if guid != ibsimSwitchGUID+uint64(s) {
			return false
		}
	}
	next := uint64(ibsimAdapterGUID)
	for _, ports := range adapters {
		for _, t := range ports {
			if n.NodeGUID[t] != next || n.PortGUID[t] != next+uint64(n.NodePort[t]) {
				return false
			}
		}
		next += uint64(portCount(n, ports)) + 1
	}
	return true
}

// namesAreIDs tells whether every node's description can be its id: not empty,
// none of ibsim's reserved characters, no two alike.
func namesAreIDs(n *topology.Names, adapters [][]topology.TerminalID) bool {
	seen := map[string]bool{}
	usable := func(name string) bool {
		ok := name != "" && !strings.ContainsAny(name, "#@\"\\") && !seen[name]
		seen[name] = true
		return ok
	}
	for _, name := range n.Switch {
		if !usable(name) {
			return false
		}
	}
	for _, ports := range adapters {
		if !usable(n.Terminal[ports[0]]) {
			return false
		}
	}
	return true
}

// Write writes the tables in the form of OpenSM's opensm-lfts.dump, which its
// routing engine "file" loads (option lfts_file). OpenSM goes by the GUIDs in it
// and keeps its own LIDs where they differ. Each port has a row for its lowest
// LID: for an LMC above 0 OpenSM routes the others as it does without a row.
func (l *LFTs) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	n := Names(l.graph)
	highest := l.lids.Highest()
	own := make([]int, l.graph.Switches())
	rows := make([]int, 0, highest) // LIDs that have a row
	seen := make([]bool, l.lids.aggregation()+1)
	seen[l.lids.aggregation()] = true
	for lid := 1; lid <= highest; lid++ {
		d, known := l.lids.of(lid)
		if !known || seen[d] {
			continue
		}
		seen[d] = true
		rows = append(rows, lid)
		if s := d - l.graph.Terminals(); s >= 0 {
			own[s] = lid
		}
	}
	for s := range l.graph.Switches() {
		fmt.Fprintf(out, "Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n", highest, own[s], n.SwitchGUID[s], n.Switch[s])
		for _, lid := range rows {
			d, _ := l.lids.of(lid)
			port := l.next[l.cell(topology.SwitchID(s))+d]
			number := int32(0)
			if port != topology.NoPort {
				number = n.Port[port]
			} else if d != l.graph.Terminals()+s {
				continue
			}
			kind, guid, name := "Channel Adapter", uint64(0), ""
			if end := d - l.graph.Terminals(); end >= 0 {
				kind, guid, name = "Switch", n.SwitchGUID[end], n.Switch[end]
			} else {
				guid, name = n.PortGUID[d], n.Terminal[d]
			}
			fmt.Fprintf(out, "0x%04x %03d # %s portguid 0x%016x: '%s'\n", lid, number, kind, guid, name)
		}
		fmt.Fprintf(out, "%d lids dumped\n", highest)
	}
	return out.Flush()
}
