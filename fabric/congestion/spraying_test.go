package congestion

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

func sprayer(t *testing.T, name string, entropies int) Sprayer {
	t.Helper()
	s, err := Sprayers.New(name, SprayEnv{Seed: 7, Flow: 3}, param.Set("entropies", entropies))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func next(s Sprayer, now sim.Time, n int) (all []uint16) {
	for range n {
		all = append(all, s.Next(now))
	}
	return all
}

// TestSprayingRounds: without feedback, oblivious, bitmap and mixed send each entropy once in
// each round, in orders that differ, with the same upper bits; one entropy stays the same.
func TestSprayingRounds(t *testing.T) {
	for _, name := range []string{"oblivious", "bitmap", "mixed"} {
		s := sprayer(t, name, 64)
		first, second := next(s, 0, 64), next(s, 0, 64)
		if slices.Equal(first, second) {
			t.Errorf("%s: two rounds in the same order", name)
		}
		for _, round := range [][]uint16{first, second} {
			slices.Sort(round)
			for i, e := range round {
				if e != round[0]&^63+uint16(i) {
					t.Fatalf("%s: a round of %v", name, round)
				}
			}
		}
		if first[0] != second[0] {
			t.Errorf("%s: upper bits changed", name)
		}
	}
	for _, name := range Sprayers.Names() {
		if one := next(sprayer(t, name, 1), 0, 100); slices.Max(one) != slices.Min(one) {
			t.Errorf("%s: one entropy is %v", name, one)
		}
	}
}

// TestSprayingPenalties: an entropy with a penalty of 4 is passed over in 4 rounds of 8; with
// penalties on all, a packet goes out all the same, and a last-hop cut is no penalty.
func TestSprayingPenalties(t *testing.T) {
	s := sprayer(t, "bitmap", 8)
	bad := s.Next(0)
	next(s, 0, 7)
	s.Heard(0, bad, TrimmedAtEnd)
	s.Heard(0, bad, Trimmed)
	sent := 0 // 4 rounds have 7 packets each, the fifth has it again
	for _, e := range next(s, 0, 4*7+8) {
		if e == bad {
			sent++
		}
	}
	if sent != 1 || slices.Contains(s.(*bitmap).penalty, 1) {
		t.Errorf("sent %d times in four rounds of penalty and one without, want 1; penalties %v", sent, s.(*bitmap).penalty)
	}
	for e := range uint16(8) {
		for range 20 {
			s.Heard(0, e, Marked)
		}
	}
	if b := s.(*bitmap); slices.Min(b.penalty) != 15 || slices.Max(b.penalty) != 15 {
		t.Errorf("penalties %v after 20 marks each, want 15", b.penalty)
	}
	next(s, 0, 8*15+8)
	s = sprayer(t, "bitmap", 8)
	s.Heard(0, 5, TimedOut)
	if want := []uint8{15, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(s.(*bitmap).penalty, want) {
		t.Errorf("penalties after a timeout %v, want %v", s.(*bitmap).penalty, want)
	}
}

// TestSprayingRecycles: mixed sends all entropies of unmarked acknowledgements again in their
// order; reps the last 8, each once; neither those of marked ones.
func TestSprayingRecycles(t *testing.T) {
	for name, want := range map[string][]uint16{"mixed": {100, 101, 102, 103, 104, 105, 106, 107, 108, 109}, "reps": {102, 103, 104, 105, 106, 107, 108, 109}} {
		s := sprayer(t, name, 64)
		for e := uint16(100); e < 110; e++ {
			s.Heard(0, e, Clear)
			s.Heard(0, e+100, Marked)
		}
		if got := next(s, 0, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s sends %v, want %v", name, got, want)
		}
	}
}

// TestSprayingFrozen: for 10 ms after a timeout reps sends the entropies that it has kept in
// turn, then 16 random ones, then those of new acknowledgements.
func TestSprayingFrozen(t *testing.T) {
	s := sprayer(t, "reps", 4)
	for e := uint16(60000); e < 60008; e++ {
		s.Heard(0, e, Clear)
	}
	next(s, 0, 8)
	s.Heard(sim.Millisecond, 0, TimedOut)
	s.Heard(2*sim.Millisecond, 0, TimedOut) // no longer a freeze for it
	turn := next(s, 10*sim.Millisecond, 16)
	if !slices.Equal(turn[:8], turn[8:]) || slices.Min(turn) != 60000 || slices.Max(turn) != 60007 {
		t.Errorf("frozen: %v", turn)
	}
	s.Heard(11*sim.Millisecond, 50000, Clear)
	if random := next(s, 11*sim.Millisecond, 16); slices.Contains(random, 50000) {
		t.Errorf("thawed: %v has an entropy of the ring", random)
	}
	if e := s.Next(11 * sim.Millisecond); e != 50000 {
		t.Errorf("explored: %d, want 50000", e)
	}
}

// TestSprayingArchive: any sprayer goes on from what it has written, and a state that cannot be
// is refused.
func TestSprayingArchive(t *testing.T) {
	draw := sim.NewStream(1, "feedback", 0)
	for _, name := range Sprayers.Names() {
		s, other := sprayer(t, name, 16), sprayer(t, name, 16)
		feed := func(s Sprayer, n int, draw sim.Stream) (sent []uint16) {
			for i := range n {
				now := sim.Time(i) * sim.Microsecond
				e := s.Next(now)
				sent = append(sent, e)
				if draw.IntN(3) > 0 {
					s.Heard(now, e, Feedback(draw.IntN(5)))
				}
			}
			return sent
		}
		feed(s, 500, draw)
		a := snapshot.Writer()
		s.Archive(a)
		r := snapshot.Reader(a.Bytes())
		other.Archive(r)
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		if want, got := feed(s, 500, draw), feed(other, 500, draw); !slices.Equal(want, got) {
			t.Errorf("%s goes on differently after an archive", name)
		}
		cut := snapshot.Reader(a.Bytes()[:len(a.Bytes())-1])
		other.Archive(cut)
		if cut.End() == nil {
			t.Errorf("%s: a state that is cut is not refused", name)
		}
	}
}

// TestSprayingRefused: numbers of entropies that are no powers of two.
func TestSprayingRefused(t *testing.T) {
	for _, name := range Sprayers.Names() {
		for _, n := range []int{0, 48, 1 << 17} {
			if _, err := Sprayers.New(name, SprayEnv{}, param.Set("entropies", n)); err == nil || !strings.Contains(err.Error(), "entropies") {
				t.Errorf("%s with %d entropies: %v", name, n, err)
			}
		}
	}
}
