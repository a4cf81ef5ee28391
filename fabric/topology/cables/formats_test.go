package cables

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestSlurm: five switches; hosts 5 (01 to 04, and 7) + 1, 2 x 2 and 1; the first spine joins three leaves (one
// stands twice), the second two: five cables.
func TestSlurm(t *testing.T) {
	n := simtest.Must(topology.ReadFile(filepath.Join("testdata", "slurm.conf")))(t)
	g := n.Graph()
	simtest.FatalIf(t, g.Switches() != 5 || g.Terminals() != 11 || g.SwitchLinks() != 5,
		"%d switches, %d terminals, %d links", g.Switches(), g.Terminals(), g.SwitchLinks())
	var names []string
	for h := range topology.TerminalID(11) {
		names = append(names, g.Names.Terminals[h].Name)
	}
	want := strings.Fields("host01 host02 host03 host04 host7 login rack0n1 rack0n2 rack1n1 rack1n2 gpu1")
	simtest.ErrorIf(t, !slices.Equal(names, want), "%q, want %q", names, want)
	simtest.ErrorIf(t, g.Names.Switches[2].Name != "leaf3" || g.TerminalSwitch(10) != 2,
		"%+v, gpu1 at %d", g.Names.Switches, g.TerminalSwitch(10))
	doubts := n.(topology.Doubtful).Doubts()
	simtest.ErrorIf(t, len(doubts) != 1 || !strings.Contains(doubts[0], "does not tell how many cables"), "%q", doubts)
}

// TestSlurmOfScontrol: what scontrol prints lists below a switch of others all nodes that they have; in the file
// spaces may stand around =, as Slurm's parser has them. Two leaves with two hosts each, below a spine.
func TestSlurmOfScontrol(t *testing.T) {
	for _, text := range []string{
		"SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[2-3]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]\n",
		"SwitchName = s0 Nodes= \"n[0-1]\"\nSwitchName =s1\tNodes = n[2-3]\nSwitchName=top Switches = s[0-1]\n",
	} {
		g := simtest.Must(readSlurm("f", []byte(text)))(t).Graph()
		simtest.ErrorIf(t, g.Switches() != 3 || g.Terminals() != 4 || g.SwitchLinks() != 2 || g.TerminalSwitch(3) != 1,
			"%s: %d switches, %d terminals, %d links", text, g.Switches(), g.Terminals(), g.SwitchLinks())
	}
	simtest.Refuse(readSlurm("f", []byte("SwitchName=s0 Nodes=a\nSwitchName=t Nodes=a Switches=s0\n")))(t, `f:2: node "a" is below the switch of line 1`)
}

// TestSlurmRefuses: the faults of a file are told together.
func TestSlurmRefuses(t *testing.T) {
	_, err := readSlurm("f", []byte("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-2] Colour=red\nSwitchName=a Nodes=x\nSwitchName=c Nodes=h[1-\n\nSwitchName=d \\\n Switches=a,d,e[0-1]\nNodes=n9\nSwitchName=e\n"))
	simtest.FatalIf(t, err == nil, "read")
	want := `f:2: "Colour=red": want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value
f:2: node "n1" is below the switch of line 1: want one switch
f:3: switch "a" is a duplicate: first described in line 1
f:4: "[1-": a bracket is not closed
f:8: SwitchName="": want the name of a switch, or a list of them, with Nodes or Switches
f:9: SwitchName="e": want the name of a switch, or a list of them, with Nodes or Switches
f:6: switch "d" is below itself
f:6: no switch "e0": want names that a line describes
f:6: no switch "e1": want names that a line describes`
	simtest.ErrorIf(t, err.Error() != want, "%v\nwant\n%s", err, want)
	simtest.Refuse(readSlurm("f", []byte("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n")))(t, "f:2: no path from switch 0 to switch 1")
}

// TestSlurmContinues: a list goes on in the next line, behind its comma, as Slurm joins lines.
func TestSlurmContinues(t *testing.T) {
	g := simtest.Must(readSlurm("f", []byte("SwitchName=a Nodes=n[1-2],\\\nn4,\\\n  n5\nSwitchName=b\\ \n Nodes=x\nSwitchName=t Switches=a,b\n")))(t).Graph()
	simtest.ErrorIf(t, g.Switches() != 3 || g.Terminals() != 5 || g.Names.Terminals[3].Name != "n5",
		"%d switches, %d terminals", g.Switches(), g.Terminals())
}

// FuzzReadSlurm: a text is read as a sound network, or refused by lines.
func FuzzReadSlurm(f *testing.F) {
	f.Add(string(simtest.Must(os.ReadFile(filepath.Join("testdata", "slurm.conf")))(f)))
	f.Add("SwitchName=a Nodes=n[1-2]\\\nSwitchName=b Switches=a")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := readSlurm("f", []byte(text))
		simtest.ErrorIf(t, err != nil && !strings.HasPrefix(err.Error(), "f:"), "an error without a line: %v", err)
		if err == nil && (n.Graph().Switches() == 0 || n.Graph().Terminals() == 0) {
			t.Errorf("%d switches", n.Graph().Switches())
		}
	})
}

// A list of switches has the same children below each: 2 spines over 3 leaves are 6 cables. What is wrong
// with a line is told once, and not again of the switches that name it.
func TestSlurmLists(t *testing.T) {
	const leaves = "SwitchName=l0 Nodes=n0\nSwitchName=l1 Nodes=n1\nSwitchName=l2 Nodes=n2\n"
	built, err := readSlurm("t", []byte("SwitchName=s[0-1] Switches=l[0-2]\n"+leaves))
	simtest.Check(t, err)
	if g := built.Graph(); g.Switches() != 5 || g.Terminals() != 3 || g.NumPorts() != 3+2*6 {
		t.Errorf("%d switches, %d terminals, %d ports; want 5, 3 and 15", g.Switches(), g.Terminals(), g.NumPorts())
	}
	for text, want := range map[string]string{
		"SwitchName=l0 Nodes=\nSwitchName=s Switches=l0\n":     `t:1: "Nodes=": want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value`,
		"Colour=red Nodes=n0\n":                                `t:1: "Colour=red": want SwitchName=, Nodes=, Switches= or LinkSpeed= and a value`,
		"SwitchName=l[0-1] Nodes=n[0-3]\n":                     `t:1: SwitchName="l[0-1]": the same Nodes below several switches: want a line for each switch that has nodes`,
		"SwitchName=l[0- Switches=l0\nSwitchName=l0 Nodes=n\n": `t:1: "[0-": a bracket is not closed`,
		"SwitchName=s[0-1] Switches=l[0-3]\n" + leaves:         "t:1: no switch \"l3\": want names that a line describes",
	} {
		_, err := readSlurm("t", []byte(text))
		simtest.ErrorIf(t, err == nil || err.Error() != want, "%q: %v; want %s", text, err, want)
	}
}

// TestAnynet: three routers in a line, a cable of 15 cycles one way and 20 the other, which is taken as 20; a
// node is named by its own line, by its router's, or by both.
func TestAnynet(t *testing.T) {
	const text = "router 0 node 0 node 1 5 router 1 15\nrouter 1 node 2 router 2\nrouter 1 router 0 20\nnode 3 router 2\n\nnode 2 router 1\n"
	n := simtest.Must(ReadAnynet("f", []byte(text)))(t)
	g := n.Graph()
	simtest.FatalIf(t, g.Switches() != 3 || g.Terminals() != 4 || g.SwitchLinks() != 2,
		"%d switches, %d terminals, %d links", g.Switches(), g.Terminals(), g.SwitchLinks())
	var at []int
	for terminal := range topology.TerminalID(4) {
		at = append(at, int(g.TerminalSwitch(terminal)))
	}
	want := []int{0, 0, 1, 2}
	simtest.ErrorIf(t, !slices.Equal(at, want), "terminals are at %v, want %v", at, want)
	latency := func(p topology.PortID) int { return g.Classes[g.PortClass[p]].Latency }
	first, _ := g.Ports(0)
	middle, _ := g.Ports(1)
	got := []int{latency(first), latency(first + 1), latency(first + 2), latency(middle), latency(middle + 2)}
	want = []int{1, 5, 20, 1, 1}
	simtest.ErrorIf(t, !slices.Equal(got, want), "cycles %v, want %v", got, want)
	doubts := n.(topology.Doubtful).Doubts()
	simtest.ErrorIf(t, len(doubts) != 1 || !strings.Contains(doubts[0], "1 cables have other cycles"), "%q", doubts)
	if marked := simtest.Must(ReadAnynet("f", []byte("\ufeff"+text)))(t).Graph(); marked.Switches() != 3 { // as editors write it
		t.Errorf("%d switches behind a byte order mark", marked.Switches())
	}
	n = simtest.Must(ReadAnynet("f", []byte("# by hand\n// a pair\n"+text)))(t)
	simtest.ErrorIf(t, n.Graph().Switches() != 3, "%d switches behind comments", n.Graph().Switches())
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
