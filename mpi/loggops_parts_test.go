package mpi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
)

// tiedGoal is a schedule in which nearly everything happens at the same times: messages
// of one size from and to anyone, computations of few lengths. Who comes first decides
// who waits, and what is matched with what.
func tiedGoal(s *sim.Stream) string {
	ranks := 2 + s.IntN(11)
	ops, anyone := make([][]string, ranks), s.IntN(2) == 0
	for range 10 + s.IntN(100) {
		from, to := s.IntN(ranks), s.IntN(ranks)
		source := from
		if anyone {
			source = -1
		}
		ops[from] = append(ops[from], fmt.Sprintf("send 8b to %d tag 0", to))
		ops[to] = append(ops[to], fmt.Sprintf("recv 8b from %d tag %d", source, -s.IntN(2)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "num_ranks %d\n", ranks)
	for r := range ops {
		for range s.IntN(8) {
			ops[r] = append(ops[r], fmt.Sprintf("calc %d", s.IntN(3)*2000))
		}
		sim.Shuffle(s, ops[r])
		fmt.Fprintf(&b, "rank %d {\n", r)
		for i, op := range ops[r] {
			fmt.Fprintf(&b, "l%d: %s\n", i, op)
			if i > 0 && s.IntN(8) == 0 {
				fmt.Fprintf(&b, "l%d %s l%d\n", i, []string{"requires", "irequires"}[s.IntN(2)], s.IntN(i))
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// Several threads give the finish times of one, tie by tie, and the same errors.
func TestLogGOPSOnThreads(t *testing.T) {
	defer mpi.DivideAlways()()
	divided, tied, failed := 0, 0, 0
	for i := range 1200 {
		s := sim.NewStream(2, "goal", i)
		p := []mpi.LogGOPS{mpi.DefaultLogGOPS, {L: 2000, Overhead: 2000, Gap: 2000, Eager: 100}, {L: 500, Overhead: 1500, Gap: 4000, GapByte: 1, OverByte: 2, Eager: 5000}, {L: 4000, Gap: 4000, Eager: 8}}[s.IntN(4)]
		text := ""
		if i%2 == 0 {
			text = randomGoal(&s, 1+i/2%3)
		} else {
			text = tiedGoal(&s)
		}
		g, err := goal.Parse("random.goal", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := p.Run(g.Replay(1), nil)
		for threads := 2; threads <= 4; threads++ {
			got, _, why, err := p.RunOn(threads, func() (mpi.Workload, error) { return g.Replay(1), nil }, nil, mpi.Checkpoint{})
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("schedule %d, %d threads: error %v, one says %v\n%s", i, threads, err, wantErr, text)
			}
			if !slices.Equal(got.Finish, want.Finish) || got.Messages != want.Messages || got.Events != want.Events {
				t.Fatalf("schedule %d, %d threads, %+v:\n%v, one says\n%v\n%s", i, threads, p, got, want, text)
			}
			switch {
			case err != nil:
				failed++
			case why == "" && i%2 == 1:
				tied++
			case why == "":
				divided++
			}
		}
	}
	if divided < 300 || tied < 300 || failed < 300 {
		t.Errorf("%d random and %d tied schedules on threads, %d that fail: too few of one to mean anything", divided, tied, failed)
	}
}

// Collectives in lockstep, in which all ranks do everything at the same times.
func TestLockstepOnThreads(t *testing.T) {
	defer mpi.DivideAlways()()
	for _, name := range []string{"barrier-dissemination", "alltoall-pairwise", "alltoall-linear", "allreduce-recursive-doubling"} {
		schedule, err := collectives.Registry.New(name, collectives.Env{Ranks: 64, PerNode: 4, Bytes: 100})
		if err != nil {
			t.Fatal(err)
		}
		begin := func() (mpi.Workload, error) {
			return mpi.RunSchedule(mpi.Iterate(schedule, 2), mpi.Costs{}, sim.Nanosecond), nil
		}
		w, _ := begin()
		want, err := mpi.DefaultLogGOPS.Run(w, nil)
		if err != nil {
			t.Fatal(err)
		}
		for threads := 2; threads <= 5; threads++ {
			got, on, why, err := mpi.DefaultLogGOPS.RunOn(threads, begin, nil, mpi.Checkpoint{})
			if err != nil || why != "" {
				t.Fatalf("%s: %v %s", name, err, why)
			}
			if !slices.Equal(got.Finish, want.Finish) || !slices.Equal(on.(*mpi.ScheduleRun).PhaseEnds(), w.(*mpi.ScheduleRun).PhaseEnds()) {
				t.Errorf("%s on %d threads: %v, want %v", name, threads, got, want)
			}
		}
	}
}

// What stands against several threads is told.
func TestLogGOPSOnOneThread(t *testing.T) {
	defer mpi.DivideAlways()()
	large := "num_ranks 2\nrank 0 {\nsend 100b to 1\n}\nrank 1 {\nrecv 100b from 0\n}\n"
	for want, p := range map[string]mpi.LogGOPS{
		"eager_limit": {L: 1, Eager: 99}, "loggopsim": {L: 1, Eager: 100, Compatible: true}, "overhead = 0": {Eager: 100}, "": {L: 1, Eager: 100},
	} {
		g, err := goal.Parse("x.goal", strings.NewReader(large))
		if err != nil {
			t.Fatal(err)
		}
		r, _, why, err := p.RunOn(2, func() (mpi.Workload, error) { return g.Replay(1), nil }, nil, mpi.Checkpoint{})
		if err != nil || r.Messages != 1 || !strings.Contains(why, want) || (want == "") != (why == "") {
			t.Errorf("%+v: %v, %q, want %q", p, err, why, want)
		}
	}
}
