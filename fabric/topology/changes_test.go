package topology

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// twoSwitches is two switches with a double cable and a host each.
func twoSwitches(names *Names) *Graph {
	b := NewBuilder(2, Class{Name: "x"}, Class{Name: "y"})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 1)
	b.AddLink(0, 1, 1)
	g := b.Freeze()
	g.Names = names
	return g
}

// Parts go by their GUIDs first, then by names of their own, then by numbers.
func TestCompareMatches(t *testing.T) {
	for _, c := range []struct {
		name      string
		a, b      *Names
		switches  []SwitchID
		terminals []TerminalID
	}{
		{"numbers", nil, nil, []SwitchID{0, 1}, []TerminalID{0, 1}},
		{"GUIDs", &Names{Switches: []SwitchName{{Name: "a", GUID: 1}, {Name: "b", GUID: 2}}, Terminals: []AdapterPort{{PortGUID: 3}, {PortGUID: 4}}},
			&Names{Switches: []SwitchName{{Name: "a", GUID: 2}, {Name: "b", GUID: 1}}, Terminals: []AdapterPort{{PortGUID: 4}, {PortGUID: 5}}}, []SwitchID{1, 0}, []TerminalID{-1, 0}},
		{"names", &Names{Switches: []SwitchName{{Name: "a"}, {Name: "b"}}, Terminals: []AdapterPort{{Name: "h"}, {Name: "h"}}},
			&Names{Switches: []SwitchName{{Name: "b"}, {Name: "c"}}, Terminals: []AdapterPort{{Name: "h"}, {Name: "i"}}}, []SwitchID{-1, 0}, []TerminalID{-1, -1}},
		{"a replaced switch", &Names{Switches: []SwitchName{{Name: "a", GUID: 1}, {Name: "b", GUID: 2}}},
			&Names{Switches: []SwitchName{{Name: "a", GUID: 1}, {Name: "b", GUID: 3}}}, []SwitchID{0, 1}, []TerminalID{0, 1}},
	} {
		x := Compare(twoSwitches(c.a), twoSwitches(c.b))
		simtest.ErrorIf(t, !slices.Equal(x.SwitchTo, c.switches) || !slices.Equal(x.TerminalTo, c.terminals),
			"%s: switches %v, terminals %v", c.name, x.SwitchTo, x.TerminalTo)
	}
}

// A cable taken out and another put in between other ports, of another class.
func TestCompareCables(t *testing.T) {
	a := twoSwitches(nil)
	b := twoSwitches(nil)
	b.PortClass = slices.Clone(a.PortClass)
	b.PortClass[1], b.PortClass[4] = 0, 0 // the first cable: port 1 of each switch
	three := NewBuilder(3, Class{Name: "x"}, Class{Name: "y"})
	three.AddTerminal(0, 0)
	three.AddTerminal(2, 0)
	three.AddLink(0, 1, 1)
	three.AddLink(1, 2, 1)
	for _, c := range []struct {
		name string
		b    *Graph
		want Changes
	}{
		{"class", b, Changes{Cables: []Change{{Altered, "switch 0 port 1 - switch 1 port 1, y is now x"}}}},
		{"more switches", three.Freeze(), Changes{
			Switches: []Change{{New, "switch 2"}},
			Cables: []Change{{Gone, "switch 0 port 1 - switch 1 port 1, y"}, {Gone, "switch 0 port 2 - switch 1 port 2, y"},
				{New, "switch 0 port 1 - switch 1 port 0, y"}, {New, "switch 1 port 1 - switch 2 port 1, y"}},
			Hosts: []Change{{Altered, "terminal 1 has moved from switch 1 port 0 to switch 2 port 0"}},
		}},
	} {
		x := Compare(a, c.b)
		x.SwitchTo, x.TerminalTo = nil, nil
		simtest.ErrorIf(t, !reflect.DeepEqual(*x, c.want), "%s: %+v", c.name, *x)
	}
}
