package mpi

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func skeleton[C any](t *testing.T, name string, ranks int, set func(*C)) collectives.Schedule {
	t.Helper()
	s, err := param.Make(Skeletons, name, SkeletonEnv{Ranks: ranks, PerNode: 4}, set)
	if err != nil {
		t.Fatal(err)
	}
	return s.(collectives.Schedule)
}

// Every skeleton with its defaults on 16 ranks (or 15) runs on the runtime and
// on the LogGOPS machine, and sends as many messages on both.
func TestSkeletonsRun(t *testing.T) {
	for _, name := range Skeletons.Names() {
		config, err := Skeletons.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		ranks := 16
		if _, ok := config.(*Contention); ok {
			ranks = 15
		}
		if goal, ok := config.(*GoalFile); ok {
			goal.File = "testdata/goal/linear_alltoall_r8_64KiB.goal"
		}
		if lu, ok := config.(*LU); ok {
			lu.Iterations.Iterations = 2 // of 250
		}
		s, err := Skeletons.Build(name, config, SkeletonEnv{Ranks: ranks, PerNode: 4})
		if err != nil {
			t.Fatal(err)
		}
		work := s.Run(sim.Picosecond, Costs{})
		r, err := QDRConfig(4).Run(work)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := DefaultLogGOPS.Run(s.Run(sim.Nanosecond, Costs{}), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Stats.Messages != l.Messages || l.Messages == 0 {
			t.Errorf("%s: %d messages on the runtime, %d on the LogGOPS machine", name, r.Stats.Messages, l.Messages)
		}
		run, ok := work.(*ScheduleRun)
		if !ok {
			continue
		}
		ends := run.PhaseEnds()
		for i := range ends {
			if i > 0 && ends[i] <= ends[i-1] {
				t.Errorf("%s: phase %d ends at %d, the one before at %d", name, i, ends[i], ends[i-1])
			}
		}
	}
}

func countSends(s collectives.Schedule) (messages, bytes int64) {
	var ops []collectives.Op
	for r := range s.Ranks() {
		for round := range s.Rounds(r) {
			ops = s.Round(r, round, ops[:0])
			for _, op := range ops {
				if op.Kind == collectives.Send {
					messages++
					bytes += op.Bytes
				}
			}
		}
	}
	return messages, bytes
}

func TestFTCommunication(t *testing.T) {
	// Class A: 256 x 256 x 128 points of 16 B. On 64 ranks (1-D): every rank
	// sends 63 of 64 parts of its 2 MiB, and the tree has 63 messages of 16 B.
	m, b := countSends(skeleton(t, "nas-ft", 64, func(c *FT) { c.Iterations.Iterations = 1 }))
	if m != 64*63+63 || b != 64*63*(2<<20)/64+63*16 {
		t.Errorf("1-D: %d messages, %d B", m, b)
	}
	// On 512 (2-D, 128 x 4): 3 messages within rows, 127 within columns.
	m, b = countSends(skeleton(t, "nas-ft", 512, func(c *FT) { c.Iterations.Iterations = 1 }))
	rank := int64(256 * 256 * 128 * 16 / 512)
	if m != 512*(3+127)+511 || b != 512*(3*rank/4+127*rank/128)+511*16 {
		t.Errorf("2-D: %d messages, %d B", m, b)
	}
	// Class E on 16,384: the 33.5 million messages an iteration,
	// 16,384 x (7 + 2047) and the tree's.
	np1, np2 := FTLayout("E", 16384)
	if np1 != 2048 || np2 != 8 {
		t.Errorf("class E on 16,384 ranks: %d x %d, want 2048 x 8", np1, np2)
	}
}

func TestLUCommunication(t *testing.T) {
	// Class A on 4 x 4: 24 pairs of neighbours exchange a message in each of 2
	// x 62 planes, one way, and a face both ways. 16 points of 5 words a
	// message; a face is two layers of 64 planes.
	m, b := countSends(skeleton(t, "nas-lu", 16, func(c *LU) { c.Iterations.Iterations = 1 }))
	if m != 2*62*24+48 || b != 2*62*24*640+48*2*64*640 {
		t.Errorf("%d messages, %d B", m, b)
	}
}

// The wavefront of one sweep without communication costs: the last rank starts
// after x + y planes, so that 62 planes end after 62 + 6 of them; both sweeps
// twice that, the second waiting for the first at the far corner only.
func TestLUWavefront(t *testing.T) {
	s := skeleton(t, "nas-lu", 16, func(c *LU) { c.Iterations = Iterations{1, 124 * sim.Millisecond} })
	r, err := DefaultLogGOPS.Run(RunSchedule(s, Costs{}, sim.Nanosecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	finish := int64(0)
	for _, f := range r.Finish {
		finish = max(finish, f)
	}
	want := 2 * (62 + 6) * 1e6 // planes of 1 ms, in ns
	if got := float64(finish); got < want || got > 1.04*want {
		t.Errorf("finishes at %v ns, want %v and up to 4 %% of communication", got, want)
	}
}

// Half a ping-pong of 64 B is the paper's 1.26 us; eight streams of 64 KiB in
// the way make it about 29 us.
func TestPingPong(t *testing.T) {
	config := QDRConfig(1)
	config.Protocols.EagerCopies = false
	s := skeleton(t, "ping-pong", 2, func(c *Micro) { c.Iterations = 4 })
	work := RunSchedule(s, Costs{}, sim.Picosecond)
	if _, err := config.Run(work); err != nil {
		t.Fatal(err)
	}
	ends := work.PhaseEnds()
	if got := float64(ends[3]-ends[2]) / 2 / us; math.Abs(got-1.26) > 0.001 {
		t.Errorf("latency %v us, want 1.26", got)
	}
}

// A window of 64 messages of 64 KiB by rendezvous fills the adapter: 3.04 GB/s.
func TestBandwidth(t *testing.T) {
	s := skeleton(t, "osu-bandwidth", 2, func(c *Micro) { c.Bytes, c.Iterations = 65536, 2 })
	work := RunSchedule(s, Costs{}, sim.Picosecond)
	if _, err := QDRConfig(1).Run(work); err != nil {
		t.Fatal(err)
	}
	ends := work.PhaseEnds()
	rate := 64 * 65536 / (float64(ends[1]-ends[0]) / 1e12) / 1e9
	if rate < 2.9 || rate > 3.0425 {
		t.Errorf("%.3f GB/s, want a little less than 3.0425", rate)
	}
}

func TestSkeletonsRefuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks int
		want  string
	}{
		{"nas-ft", 12, "power of two"},
		{"nas-lu", 12, "power of two"},
		{"nas-lu", 4096, "at least 4 points"},
		{"halo", 15, "product of 15"},
		{"ping-pong", 1, "at least 2"},
	} {
		config, err := Skeletons.Config(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Skeletons.Build(c.name, config, SkeletonEnv{Ranks: c.ranks}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %d ranks: error %v, want one with %q", c.name, c.ranks, err, c.want)
		}
	}
}
