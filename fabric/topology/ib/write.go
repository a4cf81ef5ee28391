package ib

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// adapters lists each adapter's ports: first those with terminals, by first terminal, ports in the
// terminals' order; then aggregation nodes', ascending. terminals are the former's ports by
// terminal.
func adapters(g *topology.Graph, n *topology.Names) (list [][]topology.AdapterPort, terminals []topology.AdapterPort) {
	index := map[uint64]int{}
	add := func(key uint64, p topology.AdapterPort) {
		i, known := index[key]
		if !known {
			i = len(list)
			index[key] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], p)
	}
	for t, at := range g.TerminalPort {
		p := n.Terminals[t]
		p.Switch, p.Port, p.Rate = g.PortSwitch[at], n.Port[at], rateOf(g, at)
		terminals = append(terminals, p)
		add(uint64(n.TerminalNode[t]), p)
	}
	clear(index)
	hosts := len(list)
	for _, a := range n.Aggregation {
		add(uint64(a.NodeGUID), a)
	}
	for _, ports := range list[hosts:] {
		slices.SortFunc(ports, func(a, b topology.AdapterPort) int { return cmp.Compare(a.NodePort, b.NodePort) })
	}
	return list, terminals
}

// WriteNetDiscover writes a network in the form of ibnetdiscover's output: switches, then adapters,
// in the order of their numbers; no header with the time of day, so that equal networks give equal
// files. Channel classes that an import named after their rate give the rate; others state none.
func WriteNetDiscover(w io.Writer, g *topology.Graph) error {
	out := bufio.NewWriter(w)
	n := topology.NamesOf(g)
	list, terminals := adapters(g, n)
	fmt.Fprintf(out, "#\n# Topology file\n#\n")
	for s := range topology.SwitchID(g.Switches()) {
		x := n.Switches[s]
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\n", x.GUID, x.GUID, x.GUID)
		fmt.Fprintf(out, "Switch\t%d \"S-%016x\"\t\t# \"%s\" base port 0 lid %d lmc %d\n", x.Ports, x.GUID, x.Name, x.LID, x.LMC)
		eachCable(g, n, s, terminals, func(p topology.PortID, q topology.PortID) {
			r := n.Switches[g.PortSwitch[q]]
			fmt.Fprintf(out, "[%d]\t\"S-%016x\"[%d]\t\t# \"%s\" lid %d%s\n", n.Port[p], r.GUID, n.Port[q], r.Name, r.LID, withSpace(rateOf(g, p)))
		}, func(a *topology.AdapterPort) {
			fmt.Fprintf(out, "[%d]\t\"%c-%016x\"[%d](%x) \t\t# \"%s\" lid %d%s\n", a.Port, letter(a), a.NodeGUID, a.NodePort, a.PortGUID, a.Name, a.LID, withSpace(a.Rate))
		})
	}
	for _, ports := range list {
		first := ports[0]
		word := "Ca"
		if first.Router {
			word = "Rt"
		}
		fmt.Fprintf(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x%x\n%sguid=0x%x\n", first.NodeGUID, strings.ToLower(word), first.NodeGUID)
		fmt.Fprintf(out, "%s\t%d \"%c-%016x\"\t\t# \"%s\"\n", word, portCount(ports), letter(&first), first.NodeGUID, first.Name)
		for _, a := range ports {
			s := n.Switches[a.Switch]
			fmt.Fprintf(out, "[%d](%x) \t\"S-%016x\"[%d]\t\t# lid %d lmc %d \"%s\" lid %d%s\n", a.NodePort, a.PortGUID, s.GUID, a.Port,
				a.LID, a.LMC, s.Name, s.LID, withSpace(a.Rate))
		}
	}
	return out.Flush()
}

// letter begins the id of an adapter or router.
func letter(a *topology.AdapterPort) nodeKind {
	if a.Router {
		return routerNode
	}
	return adapterNode
}

// eachCable visits a switch's cables: to switches and terminals by port, then to aggregation nodes.
func eachCable(g *topology.Graph, n *topology.Names, s topology.SwitchID, terminals []topology.AdapterPort, toSwitch func(p, q topology.PortID), toAdapter func(a *topology.AdapterPort)) {
	first, end := g.Ports(s)
	for p := first; p < end; p++ {
		if q, ok := g.PeerPort(p); ok {
			toSwitch(p, q)
		} else {
			t, _ := g.PeerTerminal(p)
			toAdapter(&terminals[t])
		}
	}
	for i := range n.Aggregation {
		if n.Aggregation[i].Switch == s {
			toAdapter(&n.Aggregation[i])
		}
	}
}

func withSpace(rate string) string {
	if rate == "" {
		return ""
	}
	return " " + rate
}

// rateOf is the rate of p's cable, if its class is named after one.
func rateOf(g *topology.Graph, p topology.PortID) string {
	name := g.Classes[g.PortClass[p]].Name
	if _, err := parseRate(name); err != nil {
		return ""
	}
	return name
}

// portCount is the ports of an adapter: the highest connected one, as a [topology.Graph] knows no
// others.
func portCount(ports []topology.AdapterPort) int32 {
	return max(1, slices.MaxFunc(ports, func(a, b topology.AdapterPort) int { return cmp.Compare(a.NodePort, b.NodePort) }).NodePort)
}

// WriteSim writes a network as a netlist of the simulator ibsim. If ibsim would number the nodes as
// they are numbered already, and their names can stand as ids, the netlist is plain; otherwise ids
// are made of the GUIDs, and lines that set ibsim's GUID counters go before each node. ibsim cannot
// give the port of an adapter any other GUID than the adapter's plus the port number.
func WriteSim(w io.Writer, g *topology.Graph) error {
	out := bufio.NewWriter(w)
	n := topology.NamesOf(g)
	list, terminals := adapters(g, n)
	plain := len(n.Aggregation) == 0 && numberedByIBSim(n, list) && namesAreIDs(n, list)
	id := func(kind byte, guid topology.GUID, name string) string {
		if plain {
			return name
		}
		return fmt.Sprintf("%c-%016x", kind, guid)
	}
	switchID := func(s topology.SwitchID) string { return id('S', n.Switches[s].GUID, n.Switches[s].Name) }
	head := func(word string, ports int32, id, key string, guid topology.GUID, description string) {
		if plain {
			fmt.Fprintf(out, "%s %d %q\n", word, ports, id)
		} else {
			fmt.Fprintf(out, "%s=0x%x\n%s %d \"%s\"\t# \"%s\"\n", key, guid, word, ports, id, description)
		}
	}
	for s := range topology.SwitchID(g.Switches()) {
		head("Switch", n.Switches[s].Ports, switchID(s), "switchguid", n.Switches[s].GUID, n.Switches[s].Name)
		eachCable(g, n, s, terminals, func(p, q topology.PortID) {
			fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", n.Port[p], switchID(g.PortSwitch[q]), n.Port[q])
		}, func(a *topology.AdapterPort) {
			fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", a.Port, id(byte(letter(a)), a.NodeGUID, a.Name), a.NodePort)
		})
		fmt.Fprintln(out)
	}
	for _, ports := range list {
		first := ports[0]
		word, key := "Hca", "caguid"
		if first.Router {
			word, key = "Rt", "rtguid"
		}
		head(word, portCount(ports), id(byte(letter(&first)), first.NodeGUID, first.Name), key, first.NodeGUID, first.Name)
		for _, a := range ports {
			fmt.Fprintf(out, "[%d]\t\"%s\"[%d]\n", a.NodePort, switchID(a.Switch), a.Port)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// numberedByIBSim tells whether ibsim would give the nodes, in order, their GUIDs.
func numberedByIBSim(n *topology.Names, list [][]topology.AdapterPort) bool {
	for s, x := range n.Switches {
		if x.GUID != topology.FirstSwitchGUID+topology.GUID(s) {
			return false
		}
	}
	next := topology.GUID(topology.FirstAdapterGUID)
	for _, ports := range list {
		for _, a := range ports {
			if a.NodeGUID != next || a.PortGUID != next+topology.GUID(a.NodePort) {
				return false
			}
		}
		next += topology.GUID(portCount(ports)) + 1
	}
	return true
}

// namesAreIDs tells whether descriptions can be ids: not empty, different, without reserved
// characters.
func namesAreIDs(n *topology.Names, list [][]topology.AdapterPort) bool {
	names := lists.Make(len(n.Switches), func(s int) string { return n.Switches[s].Name })
	for _, ports := range list {
		names = append(names, ports[0].Name)
	}
	seen := map[string]bool{}
	return !slices.ContainsFunc(names, func(name string) bool {
		twice := seen[name]
		seen[name] = true
		return twice || name == "" || strings.ContainsAny(name, "#@\"\\")
	})
}

// Write writes the tables in the form of OpenSM's opensm-lfts.dump, which its
// routing engine "file" loads (option lfts_file). OpenSM goes by the GUIDs in it
// and keeps its own LIDs where they differ. Each port has a row for its lowest
// LID: for an LMC above 0 OpenSM routes the others as it does without a row.
func (l *LFTs) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	n := topology.NamesOf(l.graph)
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
		fmt.Fprintf(out, "Unicast lids [0-%d] of switch Lid %d guid 0x%016x ('%s'):\n", highest, own[s], n.Switches[s].GUID, n.Switches[s].Name)
		for _, lid := range rows {
			d, _ := l.lids.of(lid)
			port := l.next[l.cell(topology.SwitchID(s))+d]
			number := int32(0)
			if port != topology.NoPort {
				number = n.Port[port]
			} else if d != l.graph.Terminals()+s {
				continue
			}
			kind, guid, name := "Switch", topology.GUID(0), ""
			if end := d - l.graph.Terminals(); end >= 0 {
				guid, name = n.Switches[end].GUID, n.Switches[end].Name
			} else {
				kind, guid, name = "Channel Adapter", n.Terminals[d].PortGUID, n.Terminals[d].Name
			}
			fmt.Fprintf(out, "0x%04x %03d # %s portguid 0x%016x: '%s'\n", lid, number, kind, guid, name)
		}
		fmt.Fprintf(out, "%d lids dumped\n", highest)
	}
	return out.Flush()
}
