package mpi_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
)

func parseFile(t *testing.T, name string) *goal.Schedule {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/goal", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := goal.Parse(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The finish times in results.csv are LogGOPSim's (snapshot 76451de with a
// stable sort); one row a schedule, parameter set and rank.
func TestLogGOPSMatchesReference(t *testing.T) {
	f, err := os.Open("testdata/goal/results.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[int]int64{} // by file and parameters, then by rank
	for _, row := range rows[1:] {
		key := strings.Join(row[:7], " ")
		if want[key] == nil {
			want[key] = map[int]int64{}
		}
		rank, err1 := strconv.Atoi(row[7])
		finish, err2 := strconv.ParseInt(row[8], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		want[key][rank] = finish
	}
	for key, finish := range want {
		for _, compatible := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/compatible=%v", key, compatible), func(t *testing.T) {
				var file string
				p := mpi.LogGOPS{Compatible: compatible}
				if _, err := fmt.Sscan(key, &file, &p.L, &p.Overhead, &p.Gap, &p.GapByte, &p.OverByte, &p.Eager); err != nil {
					t.Fatal(err)
				}
				got, err := p.Run(parseFile(t, file).Replay(1), nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Finish) != len(finish) {
					t.Fatalf("%d ranks, want %d", len(got.Finish), len(finish))
				}
				for rank, want := range finish {
					if got.Finish[rank] != want {
						t.Errorf("rank %d finishes at %d, want %d", rank, got.Finish[rank], want)
					}
				}
			})
		}
	}
}

func runText(t *testing.T, p mpi.LogGOPS, text string) ([]int64, error) {
	t.Helper()
	g, err := goal.Parse("test.goal", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(g.Replay(1), nil)
	return r.Finish, err
}

func TestLogGOPSByHand(t *testing.T) {
	compatible := mpi.DefaultLogGOPS
	compatible.Compatible = true
	perByte := mpi.DefaultLogGOPS
	perByte.OverByte = 2
	perByteCompatible := perByte
	perByteCompatible.Compatible = true
	rendezvous := mpi.DefaultLogGOPS
	rendezvous.Eager = 7
	for _, c := range []struct {
		name, text string
		p          mpi.LogGOPS
		want       []int64
	}{
		// Sender o = 1500. Receiver: o + L = 4000, then o + 7 G = 1542.
		{"one eager message", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5542}},
		// The sender is held until the message gets through at 4000.
		{"one rendezvous message", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n", rendezvous, []int64{4000, 5542}},
		// The second CPU starts when the first is done: 1000 + 500.
		{"time crosses CPUs", "num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 500 cpu 1\nb requires a\n}\n", mpi.DefaultLogGOPS, []int64{1500}},
		// LogGOPSim reads the clock of the second CPU, which is 0.
		{"time does not cross CPUs", "num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 500 cpu 1\nb requires a\n}\n", compatible, []int64{1000}},
		// A message sent on cpu 1 keeps cpu 1 of the receiver until 5542;
		// what requires it runs on cpu 0 from then on.
		{"a receive on another CPU", "num_ranks 2\nrank 0 {\nsend 8b to 1 cpu 1\n}\nrank 1 {\nr: recv 8b from 0\nc: calc 10\nc requires r\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5552}},
		// The same where the message is in (at 4042 + 1500 on cpu 1) before
		// the receive is posted (at 5000 on cpu 0): done at 5542 all the same.
		{"an early message still being received", "num_ranks 2\nrank 0 {\nsend 8b to 1 cpu 1\n}\nrank 1 {\nw: calc 5000\nr: recv 8b from 0\nr requires w\nc: calc 10\nc requires r\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5552}},
		// 0 bytes cost what 1 byte costs; LogGOPSim refunds O = 2.
		{"no bytes", "num_ranks 1\nrank 0 {\nsend 0b to 0 tag 1\nrecv 0b from 0 tag 1\n}\n", perByte, []int64{5500}},
		{"no bytes, compatible", "num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n", perByteCompatible, []int64{1498, 5498}},
		// Two receives from anyone with any tag take the messages in order.
		{"wildcards", "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}\nrank 1 {\nr: recv 8b from -1 tag -1\nc: calc 58\nc requires r\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := runText(t, c.p, c.text)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("finish times %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestStuckPrograms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cycle      bool
		want       []string
	}{
		{"three ranks in a ring", `num_ranks 3
rank 0 {
r: recv 8b from 1 tag 4
s: send 8b to 2
s requires r
}
rank 1 {
r: recv 8b from 2
s: send 8b to 0 tag 4
s requires r
}
rank 2 {
r: recv 8b from 0
s: send 8b to 1
s requires r
}
`, true, []string{"deadlock", "rank 0: recv 8 B from 1 tag 4 (test.goal:3) waits for rank 1", "rank 2: recv 8 B from 0 tag 0 (test.goal:13) waits for rank 0"}},
		{"tags that differ", "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\nrank 1 {\nrecv 8b from 0 tag 2\n}\n", false,
			[]string{"rank 1: recv 8 B from 0 tag 2 (test.goal:6) does not fit the waiting send 8 B to 1 tag 1 (test.goal:3) of rank 0"}},
		{"a message that is never sent", "num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 8b from 0\n}\n", false, []string{"waits for a message that rank 0 never sends"}},
		{"a message that is never received", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n", false, []string{"send 8 B to 1 tag 0 (test.goal:3) is never received"}},
		{"a rendezvous without a receive", "num_ranks 2\nrank 0 {\nsend 800000b to 1\n}\nrank 1 {\n}\n", false, []string{"waits for a receive that rank 1 never posts"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := runText(t, mpi.DefaultLogGOPS, c.text)
			var stuck *mpi.StuckError
			if !errors.As(err, &stuck) {
				t.Fatalf("error %v, want a StuckError", err)
			}
			if stuck.Cycle != c.cycle {
				t.Errorf("cycle = %v, want %v", stuck.Cycle, c.cycle)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("message %q lacks %q", err, w)
				}
			}
		})
	}
}
