package mpi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestAtlahs: o = 1500, L = 2500, g = 1000, G = 6. A message of 8 B that is sent at 0 is there at
// 1500 + 2500 + 7 * 6 = 4042.
func TestAtlahs(t *testing.T) {
	p := mpi.DefaultLogGOPS
	p.Atlahs = true
	rendezvous := p
	rendezvous.Eager = 7
	const send = "num_ranks 2\nrank 0 {\nsend 8b to 1\n"
	for _, c := range []struct {
		name, text string
		p          mpi.LogGOPS
		want       []int64
	}{
		// Received g + o later.
		{"one eager message", send + "}\nrank 1 {\nrecv 8b from 0\n}\n", p, []int64{1500, 6542}},
		{"by rendezvous", send + "}\nrank 1 {\nrecv 8b from 0\n}\n", rendezvous, []int64{6542, 6542}},
		// The receive is posted at 0; the CPU is busy until 5000.
		{"a busy receiver", send + "}\nrank 1 {\nrecv 8b from 0\ncalc 5000\n}\n", p, []int64{1500, 7500}},
		// The message waits for the receive at 10000.
		{"early", send + "}\nrank 1 {\nr: recv 8b from 0\nc: calc 10000\nr requires c\n}\n", p, []int64{1500, 12500}},
		// The NIC sends until 1000 + 1000 * 6 = 7000, the CPU computes from 1500 to 6500.
		{"early, sending", send + "recv 1001b from 1\n}\nrank 1 {\nsend 1001b to 0\nr: recv 8b from 0\nc: calc 5000\nr requires c\n}\n", p, []int64{12500, 9500}},
		// The second CPU takes in what its receive is for, while the first is busy.
		{"on another CPU", send + "}\nrank 1 {\ncalc 9000\nrecv 8b from 0 cpu 1\n}\n", p, []int64{1500, 9000}},
	} {
		got, err := runText(t, c.p, c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: finish times %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

// TestAtlahsFanIn: eight messages of 1 MB are all there at 100 + 1000 + 999,999 and take g + o = 110 each;
// LogGOPSim has them come one after the other, 100 + 1000 + 8 * (100 + 999,999).
func TestAtlahsFanIn(t *testing.T) {
	var text, receives strings.Builder
	for r := 1; r <= 8; r++ {
		fmt.Fprintf(&receives, "recv 1000000b from %d\n", r)
		fmt.Fprintf(&text, "rank %d {\nsend 1000000b to 0\n}\n", r)
	}
	schedule := "num_ranks 9\nrank 0 {\n" + receives.String() + "}\n" + text.String()
	for atlahs, want := range map[bool]int64{true: 1_001_979, false: 8_001_892} {
		p := mpi.LogGOPS{L: 1000, Overhead: 100, Gap: 10, GapByte: 1, Eager: 65535, Atlahs: atlahs}
		got, err := runText(t, p, schedule)
		simtest.ErrorIf(t, err != nil || slices.Max(got) != want, "atlahs = %v: %v, %v; want %d", atlahs, got, err, want)
	}
}

// TestDecimalsPerByte: at G = 0.04 the 24 bytes behind the first of 25 take 0.96 and count nothing, 25 take 1, and
// 1,000,000 take 40,000; at O = 2.5 the sender keeps its CPU 60, 62 and 2,500,000 longer than o.
func TestDecimalsPerByte(t *testing.T) {
	for size, want := range map[int][2]int64{25: {160, 1200}, 26: {162, 1201}, 1_000_001: {2_500_100, 41_200}} {
		text := fmt.Sprintf("num_ranks 2\nrank 0 {\nsend %db to 1\n}\nrank 1 {\nrecv %db from 0\n}\n", size, size)
		p := mpi.LogGOPS{L: 1000, Overhead: 100, Gap: 10, GapByte: 0.04, Eager: 1 << 30}
		if got, err := runText(t, p, text); err != nil || got[1] != want[1] {
			t.Errorf("%d B: %v, %v; want %d", size, got, err, want[1])
		}
		p.OverByte = 2.5
		if got, err := runText(t, p, text); err != nil || got[0] != want[0] {
			t.Errorf("%d B with O: %v, %v; want %d", size, got, err, want[0])
		}
	}
}
