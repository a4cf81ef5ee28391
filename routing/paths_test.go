package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim/input"
)

// TestTurnsNeedFewChannels: what the reference data on topologies gives as the virtual
// channels of Dragonfly+ and the orthogonal fat tree (vcs.csv): one for minimal routing, two
// for Valiant and UGAL; one fewer has a cycle.
func TestTurnsNeedFewChannels(t *testing.T) {
	for _, family := range []string{"megafly", "oft"} {
		x, err := topology.Registry.New(family, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			vcs  int
		}{{"table", 1}, {"val", 2}, {"ugal-l", 2}} {
			r, err := Registry.New(c.name, Env{Topology: x})
			if err != nil {
				t.Fatal(err)
			}
			if r.VCs() != c.vcs {
				t.Errorf("%s on %s needs %d virtual channels, want %d", c.name, family, r.VCs(), c.vcs)
			}
			for _, vcs := range []int{c.vcs, c.vcs - 1} {
				if vcs == 0 {
					continue
				}
				r, err := Registry.New(c.name, Env{Topology: x, VCs: vcs, AllowDeadlock: true})
				if err != nil {
					t.Fatal(err)
				}
				g := certify.New(vcs)
				walked, all, err := Dependencies(x.Graph(), r, vcs, 0, g.Add)
				if err != nil {
					t.Fatal(err)
				}
				if proof := g.Certify(walked, all); proof.Acyclic() != (vcs == c.vcs) {
					t.Errorf("%s on %s with %d virtual channels: acyclic %v", c.name, family, vcs, proof.Acyclic())
				}
			}
		}
	}
}

// A path that climbs, crosses, descends, climbs again, crosses twice and descends changes
// its class as it climbs again and at the second crossing.
func TestTurnClasses(t *testing.T) {
	turns := &turns{direction: []uint8{uint8(climbs), uint8(crosses), uint8(descends)}}
	made, classes := uint32(0), []uint32{}
	for _, port := range []topology.PortID{0, 1, 2, 0, 1, 1, 2, 2} {
		var class uint32
		class, made = turns.step(made, port)
		classes = append(classes, class)
	}
	if want := []uint32{0, 0, 0, 1, 1, 2, 2, 2}; !slices.Equal(classes, want) {
		t.Errorf("classes %v, want %v", classes, want)
	}
}

// A file of three switches in a row: 0 - 1 - 2.
const row3 = "# row r, column d\n-1 1 1\n0 -1 2\n\n1 1 -1\n"

func TestReadNextHops(t *testing.T) {
	next, err := readNextHops("row.txt", []byte(row3), 3)
	if want := []int32{-1, 1, 1, 0, -1, 2, 1, 1, -1}; err != nil || fmt.Sprint(next) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", next, err, want)
	}
	for text, want := range map[string]string{
		"-1 1 1\n0 -1 2\n":             "row.txt:2: 2 rows, want 3, one for each switch",
		"-1 1 1\n0 -1\n1 1 -1\n":       "row.txt:2: 2 columns, want 3, one for each switch",
		"-1 1 1\n0 -1 3\n1 x -1\n":     "row.txt:2: column 3: \"3\", want a switch, 0 to 2, or -1\nrow.txt:3: column 2: \"x\", want a switch, 0 to 2, or -1",
		row3 + "0 0 0\n":               "row.txt:6: 4 rows, want 3, one for each switch",
		"":                             "row.txt:0: 0 rows, want 3, one for each switch",
		"-1 1 1\n0 -1 \x1b\n1 1 -1 \n": `row.txt:2: column 3: "\\u001b", want a switch, 0 to 2, or -1`,
	} {
		if _, err := readNextHops("row.txt", []byte(text), 3); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	many := strings.Repeat("x\n", 100) // after the last problem that is listed comes the remark that there may be more
	if _, err := readNextHops("row.txt", []byte(many), 100); strings.Count(fmt.Sprint(err), "\n") != input.MostProblems {
		t.Errorf("%d problems listed, want %d", strings.Count(fmt.Sprint(err), "\n"), input.MostProblems)
	}
}

// What is read without a problem is a table of switches.
func FuzzReadNextHops(f *testing.F) {
	f.Add([]byte(row3), uint8(3))
	f.Add([]byte("-1"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, switches uint8) {
		next, err := readNextHops("x", data, int(switches))
		if err != nil {
			return
		}
		if len(next) != int(switches)*int(switches) {
			t.Fatalf("%d entries for %d switches", len(next), switches)
		}
		for _, n := range next {
			if n < -1 || n >= int32(switches) {
				t.Fatalf("entry %d", n)
			}
		}
	})
}
