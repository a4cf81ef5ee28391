package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	want := []uint32{0, 0, 0, 1, 1, 2, 2, 2}
	simtest.ErrorIf(t, !slices.Equal(classes, want), "classes %v, want %v", classes, want)
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
		"":                             "row.txt:1: 0 rows, want 3, one for each switch",
		"-1 1 1\n0 -1 \x1b\n1 1 -1 \n": `row.txt:2: column 3: "\\u001b", want a switch, 0 to 2, or -1`,
	} {
		_, err := readNextHops("row.txt", []byte(text), 3)
		simtest.ErrorIf(t, err == nil || err.Error() != want, "%q: %v, want %s", text, err, want)
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
		simtest.FatalIf(t, len(next) != int(switches)*int(switches), "%d entries for %d switches", len(next), switches)
		for _, n := range next {
			simtest.FatalIf(t, n < -1 || n >= int32(switches), "entry %d", n)
		}
	})
}

// TestOwnPARDiverts: a packet that has come to the gateway of its minimal path by a local hop may
// leave it by its global channels only, all of them, on the virtual channel of its source group.
func TestOwnPARDiverts(t *testing.T) {
	const a, h = 4, 2
	topo := simtest.Must(topology.Registry.New("dragonfly", struct{}{}, param.Set("p", 1), param.Set("a", a), param.Set("h", h)))(t)
	r := simtest.Must(Registry.New("par-own", Env{Topology: topo}, param.Set("global_vc", "same")))(t)
	g, grouped := topo.Graph(), topo.(topology.Grouped)
	explorer := r.(fabric.Explorer)
	for dst := range g.Terminals() {
		head := fabric.Head{Switch: 0, In: g.TerminalPort[0], Dst: topology.TerminalID(dst)}
		if grouped.GroupOf(g.TerminalSwitch(head.Dst)) == 0 {
			continue
		}
		explorer.Explore(3, head, func(hop fabric.Hop, state uint32, _ float64) {
			peer, _ := g.PeerPort(hop.Port)
			at := head
			if at.Switch, at.In, at.State = g.PortSwitch[peer], peer, state; !undecided(state) || grouped.GroupOf(at.Switch) != 0 {
				return
			}
			ports := map[topology.PortID]bool{}
			explorer.Explore(3, at, func(hop fabric.Hop, _ uint32, _ float64) {
				ports[hop.Port] = true
				peer, ok := g.PeerPort(hop.Port)
				simtest.ErrorIf(t, !ok || grouped.GroupOf(g.PortSwitch[peer]) == 0 || hop.VCs != 1,
					"terminal %d: port %d, virtual channels %b at its gateway", dst, hop.Port, hop.VCs)
			})
			simtest.ErrorIf(t, len(ports) != h, "terminal %d: %d ways out of its gateway, want %d", dst, len(ports), h)
		})
	}
}
