package cables

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestAnynet: three routers in a line, a cable of 15 cycles one way and 20 the other, which is taken as 20; a
// node is named by its own line, by its router's, or by both.
func TestAnynet(t *testing.T) {
	const text = "router 0 node 0 node 1 5 router 1 15\nrouter 1 node 2 router 2\nrouter 1 router 0 20\nnode 3 router 2\n\nnode 2 router 1\n"
	n := simtest.Must(ReadAnynet("f", []byte(text)))(t)
	g := n.Graph()
	if g.Switches() != 3 || g.Terminals() != 4 || g.SwitchLinks() != 2 {
		t.Fatalf("%d switches, %d terminals, %d links", g.Switches(), g.Terminals(), g.SwitchLinks())
	}
	var at []int
	for terminal := range topology.TerminalID(4) {
		at = append(at, int(g.TerminalSwitch(terminal)))
	}
	if want := []int{0, 0, 1, 2}; !slices.Equal(at, want) {
		t.Errorf("terminals are at %v, want %v", at, want)
	}
	latency := func(p topology.PortID) int { return g.Classes[g.PortClass[p]].Latency }
	first, _ := g.Ports(0)
	middle, _ := g.Ports(1)
	got := []int{latency(first), latency(first + 1), latency(first + 2), latency(middle), latency(middle + 2)}
	if want := []int{1, 5, 20, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("cycles %v, want %v", got, want)
	}
	doubts := n.(topology.Doubtful).Doubts()
	simtest.ErrorIf(t, len(doubts) != 1 || !strings.Contains(doubts[0], "1 cables have other cycles"), "%q", doubts)
	if marked := simtest.Must(ReadAnynet("f", []byte("\ufeff"+text)))(t).Graph(); marked.Switches() != 3 { // as editors write it
		t.Errorf("%d switches behind a byte order mark", marked.Switches())
	}
	if n := simtest.Must(ReadAnynet("f", []byte("# by hand\n// a pair\n"+text)))(t); n.Graph().Switches() != 3 {
		t.Errorf("%d switches behind comments", n.Graph().Switches())
	}
	for text, want := range map[string]string{
		"router 0 node 0\nrouter 2 router 0\n": "f:1: none of 2 routers has number 1",
		"router 0 node 1\n":                    "f:1: none of 1 nodes has number 0",
		"router 0 node 0\nrouter 1 node 0\n":   "f:2: node 0 is joined to router 1; by line 1 it is to router 0",
		"router 0 node 0 router 0\n":           "f:1: router 0 is joined to itself",
		"node 0 node 1\n":                      "f:1: node 0 is joined to node 1",
		"router 0 node 0 router\n":             `f:1: "router": want router or node and its number`,
		"router x node 0\n":                    `f:1: router "x": want a number`,
		"router 0 node 0 router 1 0\n":         `f:1: "0" cycles of a channel: want 1 to 1048576`,
		"router 0 node 0\nrouter 1 node 1\n":   "f:2: no path from switch 0 to switch 1",
	} {
		simtest.Refuse(ReadAnynet("f", []byte(text)))(t, want)
	}
}

// FuzzAnynet: any text is read or refused.
func FuzzAnynet(f *testing.F) {
	f.Add([]byte("router 0 node 0 node 1 5 router 1 15\nrouter 1 node 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := ReadAnynet("f", text)
		simtest.ErrorIf(t, err == nil && n.Graph().Terminals() == 0, "no terminals")
	})
}
