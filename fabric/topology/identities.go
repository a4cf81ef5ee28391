package topology

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Where generated networks, as the simulator ibsim, start to number GUIDs.
const (
	FirstAdapterGUID = 0x100000
	FirstSwitchGUID  = 0x200000
)

// NamesOf returns the InfiniBand identities of a network. What an imported network states stays as
// it is; what is missing is as it would be in an ibsim netlist of a generated network: one adapter
// of one port for each terminal, node GUID 0x100000+2i, port GUID one more; switch GUIDs
// 0x200000+j; ports numbered from 1; LIDs from 1, terminals first. The result must not be changed.
func NamesOf(g *Graph) *Names {
	n := &Names{}
	if g.Names != nil {
		*n = *g.Names
	}
	switches, terminals := g.Switches(), g.Terminals()
	n.Switches, n.Terminals = records(n.Switches, switches), records(n.Terminals, terminals)
	if n.Port == nil {
		n.Port = lists.Make(g.NumPorts(), func(p int) int32 { return int32(g.LocalPort(PortID(p)) + 1) })
	}
	if n.TerminalNode == nil {
		n.TerminalNode = Numbers[int32](terminals)
	}
	fill(n.Switches, func(s *SwitchName) *string { return &s.Name }, func(i int) string { return fmt.Sprintf("S%d", i) })
	fill(n.Switches, func(s *SwitchName) *GUID { return &s.GUID }, func(i int) GUID { return FirstSwitchGUID + GUID(i) })
	fill(n.Switches, func(s *SwitchName) *int32 { return &s.LID }, func(i int) int32 { return int32(terminals + i + 1) })
	fill(n.Switches, func(s *SwitchName) *int32 { return &s.Ports }, func(i int) int32 {
		first, end := g.Ports(SwitchID(i))
		return slices.Max(append(n.Port[first:end:end], 1))
	})
	fill(n.Terminals, func(t *AdapterPort) *string { return &t.Name }, func(i int) string { return fmt.Sprintf("H%d", i) })
	fill(n.Terminals, func(t *AdapterPort) *GUID { return &t.NodeGUID }, func(i int) GUID { return FirstAdapterGUID + 2*GUID(i) })
	fill(n.Terminals, func(t *AdapterPort) *int32 { return &t.NodePort }, func(int) int32 { return 1 })
	fill(n.Terminals, func(t *AdapterPort) *GUID { return &t.PortGUID }, func(i int) GUID {
		return n.Terminals[i].NodeGUID + GUID(n.Terminals[i].NodePort)
	})
	fill(n.Terminals, func(t *AdapterPort) *int32 { return &t.LID }, func(i int) int32 { return int32(i + 1) })
	for i := range n.Switches {
		n.Switches[i].Name = onOneLine(n.Switches[i].Name)
	}
	for i := range n.Terminals {
		n.Terminals[i].Name = onOneLine(n.Terminals[i].Name)
	}
	return n
}

// records copies a list of n records, or makes one.
func records[E any](list []E, n int) []E {
	if list == nil {
		return make([]E, n)
	}
	return slices.Clone(list)
}

// fill sets a field that no record of a list states.
func fill[R any, V comparable](list []R, field func(*R) *V, value func(i int) V) {
	var none V
	if slices.ContainsFunc(list, func(r R) bool { return *field(&r) != none }) {
		return
	}
	for i := range list {
		*field(&list[i]) = value(i)
	}
}

// onOneLine replaces line ends by blanks, as InfiniBand's tools do in nodes' descriptions.
func onOneLine(name string) string { return blanked(name, unicode.IsControl) }

// SetNames gives the network the names of a file, with blanks for what steers a terminal.
func (g *Graph) SetNames(n *Names) {
	for i := range n.Switches {
		n.Switches[i].Name = blanked(n.Switches[i].Name, input.Steers)
	}
	for _, ports := range [][]AdapterPort{n.Terminals, n.Aggregation} {
		for i := range ports {
			ports[i].Name = blanked(ports[i].Name, input.Steers)
		}
	}
	g.Names = n
}

// blanked replaces characters of a name by blanks.
func blanked(name string, which func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if which(r) {
			return ' '
		}
		return r
	}, name)
}

// CompareGUID compares GUIDs as OpenSM's maps do: in network byte order, read as a little-endian
// number, so that the last byte weighs most. Consecutive GUIDs come out of order from the 257th on.
func CompareGUID(a, b GUID) int {
	return cmp.Compare(bits.ReverseBytes64(uint64(a)), bits.ReverseBytes64(uint64(b)))
}

// GUIDOrder lists switches in the order of OpenSM's maps ([CompareGUID]), which breaks most of its
// ties.
func GUIDOrder(names *Names) []SwitchID {
	order := Numbers[SwitchID](len(names.Switches))
	slices.SortFunc(order, func(a, b SwitchID) int {
		return CompareGUID(names.Switches[a].GUID, names.Switches[b].GUID)
	})
	return order
}

// Ambiguous stands in [Graph.ByName] for a name that several have.
const Ambiguous = -1

// ByName numbers hosts by their names: the name of an adapter, as "HOST DEVICE" with one space, its
// first word, and what messages call the terminal. hosts lists the terminals of each; nil: every
// terminal is one.
func (g *Graph) ByName(hosts [][]TerminalID) map[string]int {
	byName := map[string]int{}
	add := func(host int, name string) {
		if other, known := byName[name]; known && other != host {
			host = Ambiguous
		}
		byName[name] = host
	}
	each := func(host int, t TerminalID, names *AdapterPort) {
		add(host, g.TerminalName(t))
		if words := strings.Fields(names.Name); len(words) > 0 {
			add(host, strings.Join(words, " "))
			add(host, words[0])
		}
	}
	names := NamesOf(g).Terminals
	for host, terminals := range hosts {
		for _, t := range terminals {
			each(host, t, &names[t])
		}
	}
	if hosts == nil {
		for t := range names {
			each(t, TerminalID(t), &names[t])
		}
	}
	return byName
}

// Finder finds terminals that users name.
type Finder struct {
	Graph  *Graph
	byName map[string]int // nil until a name is looked for
}

// Terminal finds one by its number or a name ([Graph.ByName]).
func (f *Finder) Terminal(text string) (TerminalID, error) {
	last := f.Graph.Terminals() - 1
	if number, err := strconv.ParseInt(text, 10, 32); err == nil {
		if number >= 0 && int(number) <= last {
			return TerminalID(number), nil
		}
	} else {
		if f.byName == nil {
			f.byName = f.Graph.ByName(nil)
		}
		if t, known := f.byName[text]; known && t != Ambiguous {
			return TerminalID(t), nil
		} else if known {
			return 0, fmt.Errorf("%s: several terminals are called so", input.Quote(text))
		}
	}
	return 0, fmt.Errorf("%s, want a terminal, 0 to %d, or a name such as %q", input.Quote(text), last, f.Graph.TerminalName(0))
}
