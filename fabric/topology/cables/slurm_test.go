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
	if g.Switches() != 5 || g.Terminals() != 11 || g.SwitchLinks() != 5 {
		t.Fatalf("%d switches, %d terminals, %d links", g.Switches(), g.Terminals(), g.SwitchLinks())
	}
	var names []string
	for h := range topology.TerminalID(11) {
		names = append(names, g.Names.Terminals[h].Name)
	}
	want := strings.Fields("host01 host02 host03 host04 host7 login rack0n1 rack0n2 rack1n1 rack1n2 gpu1")
	simtest.ErrorIf(t, !slices.Equal(names, want), "%q, want %q", names, want)
	if g.Names.Switches[2].Name != "leaf3" || g.TerminalSwitch(10) != 2 {
		t.Errorf("%+v, gpu1 at %d", g.Names.Switches, g.TerminalSwitch(10))
	}
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
		if g.Switches() != 3 || g.Terminals() != 4 || g.SwitchLinks() != 2 || g.TerminalSwitch(3) != 1 {
			t.Errorf("%s: %d switches, %d terminals, %d links", text, g.Switches(), g.Terminals(), g.SwitchLinks())
		}
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
	simtest.Refuse(readSlurm("f", []byte("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n")))(t, `f:2: no path from switch "a" to switch "b"`)
}

// TestSlurmContinues: a list goes on in the next line, behind its comma, as Slurm joins lines.
func TestSlurmContinues(t *testing.T) {
	g := simtest.Must(readSlurm("f", []byte("SwitchName=a Nodes=n[1-2],\\\nn4,\\\n  n5\nSwitchName=b\\ \n Nodes=x\nSwitchName=t Switches=a,b\n")))(t).Graph()
	if g.Switches() != 3 || g.Terminals() != 5 || g.Names.Terminals[3].Name != "n5" {
		t.Errorf("%d switches, %d terminals", g.Switches(), g.Terminals())
	}
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
