package mpi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// recorded runs a schedule and writes its timeline and its critical path, times in ps.
func recorded(t *testing.T, c mpi.Config, text string) (timeline, path string) {
	t.Helper()
	c.Timeline = mpi.NewTimeline(1000)
	r := simtest.Must(runGoal(t, c, text))(t)
	var b strings.Builder
	last := 0
	for rank := range c.Timeline.Ranks() {
		free := sim.Time(0)
		c.Timeline.Of(rank, func(a mpi.Activity) {
			simtest.ErrorIf(t, a.Start != free, "rank %d: %+v begins at %d, want %d", rank, a, a.Start, free)
			free = a.End
			fmt.Fprintf(&b, "%d: %d %v", rank, a.End-a.Start, a.What)
			if a.Number >= 0 {
				fmt.Fprintf(&b, " %d:%d with %d", a.Sender, a.Number, a.Peer)
			}
			b.WriteByte('\n')
		})
		simtest.ErrorIf(t, free < r.Finish[rank], "rank %d: ends at %d, want %d", rank, free, r.Finish[rank])
		if r.Finish[rank] > r.Finish[last] {
			last = rank
		}
	}
	timeline = b.String()
	b.Reset()
	free := sim.Time(0)
	for _, s := range c.Timeline.CriticalPath(last, r.Elapsed) {
		simtest.ErrorIf(t, s.Start != free, "%+v begins at %d, want %d", s, s.Start, free)
		free = s.End
		fmt.Fprintf(&b, "%d: %d %v\n", s.Rank, s.End-s.Start, s.What)
	}
	simtest.ErrorIf(t, free != r.Elapsed, "the path ends at %d, want %d", free, r.Elapsed)
	return timeline, b.String()
}

// TestTimelineOfOneMessage: 64 B of which the sender's CPU takes 200 ns. The adapter takes
// 50 ns for the request, 250 ns to send; 200 ns the way, 289 ns the receiving adapter, together
// 739 ns; 64 B at 24.34 Gb/s 21,035 ps (64 * 8 / 24.34 = 21.0353); the receiver's CPU 250 ns.
func TestTimelineOfOneMessage(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	timeline, path := recorded(t, c, oneMessageText("64"))
	if want := "0: 200000 send 0:0 with 1\n1: 1010035 wait 0:0 with 0\n1: 250000 receive 0:0 with 0\n"; timeline != want {
		t.Errorf("timeline\n%swant\n%s", timeline, want)
	}
	if want := "0: 200000 send\n1: 50000 adapter\n1: 21035 serialisation\n1: 739000 propagation\n1: 250000 receive\n"; path != want {
		t.Errorf("path\n%swant\n%s", path, want)
	}
}

// TestTimelineOfAChain: rank 1 waits for the message of rank 0, computes, and sends to rank 2,
// which has computed for as long as a part of that.
func TestTimelineOfAChain(t *testing.T) {
	c := mpi.QDRConfig(1)
	c.Protocols.EagerCopies = false
	const text = `num_ranks 3
rank 0 {
a: calc 1000
b: send 64b to 1
b requires a
}
rank 1 {
a: recv 64b from 0
b: calc 2000
c: send 64b to 2
b requires a
c requires b
}
rank 2 {
a: calc 3500
b: recv 64b from 1
b requires a
}
`
	timeline, path := recorded(t, c, text)
	const message = "50000 adapter\nR: 21035 serialisation\nR: 739000 propagation\n"
	want := "0: 1000000 compute\n0: 200000 send\nR: " + message + "1: 250000 receive\n1: 2000000 compute\n1: 200000 send\nR: " + message + "2: 250000 receive\n"
	for _, r := range []string{"1", "2"} {
		want = strings.Replace(want, "R:", r+":", 3)
	}
	simtest.ErrorIf(t, path != want, "path\n%swant\n%s", path, want)
	// Rank 2 has computed until 3500 ns, and the message comes at 1200 + 810.035 + 250 + 2000 +
	// 200 + 810.035 = 5270.07 ns.
	if want := "2: 3500000 compute\n2: 1770070 wait 1:0 with 1\n2: 250000 receive 1:0 with 1\n"; !strings.HasSuffix(timeline, want) {
		t.Errorf("timeline\n%swant at the end\n%s", timeline, want)
	}
}

// TestTimelineOfARendezvous: the sender waits for the clear to send and for the completion, and
// the receiver, which comes late, for nothing until it has cleared.
func TestTimelineOfARendezvous(t *testing.T) {
	timeline, path := recorded(t, mpi.QDRConfig(1), "num_ranks 2\nrank 0 {\nsend 65536b to 1\n}\nrank 1 {\na: calc 3000\nb: recv 65536b from 0\nb requires a\n}\n")
	// The request comes at 200 + 50 + 739 + 21.035 ns, while rank 1 computes, and its 250 ns
	// begin at 3000 ns, the 200 ns of clearing behind them. The answer takes 810.035 ns, after
	// which rank 0 takes it in and posts the data (450 ns).
	if want := "1: 3000000 compute\n1: 250000 receive\n1: 200000 receive\n0: 50000 adapter\n0: 21035 serialisation\n0: 739000 propagation\n0: 450000 send\n1: "; !strings.HasPrefix(path, want) {
		t.Errorf("path\n%swant first\n%s", path, want)
	}
	for _, want := range []string{"0: 200000 send 0:0 with 1\n0: 4060035 wait 0:0 with 1\n0: 450000 send 0:0 with 1\n0: ", "1: 200000 receive 0:0 with 0\n1: "} {
		simtest.ErrorIf(t, !strings.Contains(timeline, want), "timeline\n%swant\n%s", timeline, want)
	}
}

// TestTimelineOfLogGOPS: o = 1500, L = 2500, g = 1000, G = 6. Rank 0 computes on its CPU 0 and then
// sends 101 B from its CPU 1, which takes 1500 ns; the latency is 2500 ns, and CPU 1 of rank 1 (3 of all) takes
// 1500 + 100 * 6 = 2100 ns. The second message leaves when the NIC is free, 1000 + 100 * 6 ns after
// the first, 100 ns later than the CPU, and is taken in after the first.
func TestTimelineOfLogGOPS(t *testing.T) {
	const text = `num_ranks 2
rank 0 {
a: calc 5000
b: send 101b to 1 tag 1 cpu 1
c: send 101b to 1 tag 2 cpu 1
b requires a
c requires b
}
rank 1 {
recv 101b from 0 tag 1
recv 101b from 0 tag 2
}
`
	p := mpi.DefaultLogGOPS
	p.Timeline = mpi.NewTimeline(1000)
	finish, err := runText(t, p, text)
	simtest.FatalIf(t, err != nil || finish[1] != 5000+1500+2500+2*2100, "%v %v", finish, err)
	var b strings.Builder
	for _, s := range p.Timeline.CriticalPath(p.Timeline.Last(), 13200*sim.Nanosecond) {
		fmt.Fprintf(&b, "%d: %d %v\n", s.Rank, (s.End-s.Start)/sim.Nanosecond, s.What)
	}
	if want := "0: 5000 compute\n1: 1500 send\n3: 2500 propagation\n3: 2100 receive\n3: 2100 receive\n"; b.String() != want {
		t.Errorf("path\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	p.Timeline.Of(1, func(a mpi.Activity) { fmt.Fprintf(&b, "%d %v\n", (a.End-a.Start)/sim.Nanosecond, a.What) })
	if want := "5000 wait\n1500 send\n100 adapter\n1500 send\n"; b.String() != want {
		t.Errorf("CPU 1 of rank 0\n%swant\n%s", b.String(), want)
	}
}
