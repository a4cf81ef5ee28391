package simgrid

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/simtest"
)

const samples = "../../../shared/reference/workloads/formats/ti/"

// counted are the operations of a report by name.
func counted(report *trace.Report) map[string]int {
	var b strings.Builder
	report.Write(&b)
	counts := map[string]int{}
	for line := range strings.Lines(b.String()) {
		words := strings.Fields(line)
		n, _ := strconv.Atoi(words[1])
		counts[strings.TrimSuffix(words[2], ":")] += n
	}
	return counts
}

// TestSamples: SimGrid's own traces have the actions that were counted, and run to their end.
// actions0.txt and actions1.txt are of one trace.
func TestSamples(t *testing.T) {
	simtest.NeedSample(t, samples)
	dir := simtest.Must(filepath.Abs(samples))(t)
	list := written(t, dir+"/actions0.txt\n"+dir+"/actions1.txt\n")
	want := map[string]map[string]int{}
	for _, row := range simtest.Rows(t, samples+"counts.csv") {
		file := filepath.Join(dir, row[0])
		if row[0] == "actions0.txt" || row[0] == "actions1.txt" {
			file = list
		}
		if want[file] == nil {
			want[file] = map[string]int{}
		}
		n := simtest.Must(strconv.Atoi(row[3]))(t)
		want[file][row[2]] += n
	}
	for file, want := range want {
		g, report := simtest.Must2(Import(file, 1e9, trace.Default()))(t)
		got := counted(report)
		delete(got, "request") // sends that no rank waits for are no action of their own
		simtest.ErrorIf(t, fmt.Sprint(got) != fmt.Sprint(want), "%s: %v, want %v", file, got, want)
		simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
	}
}

// written writes a trace and returns its name.
func written(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "t.txt")
	simtest.Check(t, os.WriteFile(file, []byte(text), 0o666))
	return file
}

// TestWaitAllCounts: SMPI writes behind waitall how many requests there are (CpuTIData("waitall", count)): all are
// waited for, as without a number.
func TestWaitAllCounts(t *testing.T) {
	const trace1 = "0 init\n1 init\n0 isend 1 0 8\n0 irecv 1 0 8\n0 WAIT\n1 irecv 0 0 8\n1 isend 0 0 8\n1 WAIT\n0 finalize\n1 finalize\n"
	var texts []string
	for _, wait := range []string{"waitall", "waitall 2", "waitAll"} {
		g, _ := simtest.Must2(Import(written(t, strings.ReplaceAll(trace1, "WAIT", wait)), 1e9, trace.Default()))(t)
		var text strings.Builder
		simtest.Check(t, g.WriteText(&text))
		texts = append(texts, text.String())
	}
	simtest.ErrorIf(t, texts[0] != texts[1] || texts[0] != texts[2], "%s", texts)
}

// TestWrittenBySMPI: its MPI_ANY_SOURCE and MPI_ANY_TAG, and places in the source where it is asked for them; 3.32's messages to
// MPI_PROC_NULL, synchronous sends, and sends that receive, the tag of which it leaves out: 3 MPI_UNSIGNED and 2 MPI_LONG_DOUBLE.
func TestWrittenBySMPI(t *testing.T) {
	g, _ := simtest.Must2(Import(written(t, "0 init\n1 init\n0 location a.c 43\n0 Ssend 1 7 9 6\n1 irecv -555 -444 9 6\n1 wait -555 1 -444\n0 isend -333 1 1 0\n"+
		"0 wait 0 -333 1\n0 sendRecv 3 1 2 1 11 14\n1 sendRecv 2 0 3 0 14 11\n0 finalize\n1 finalize\n"), 1e9, trace.Default()))(t)
	var text strings.Builder
	simtest.Check(t, g.WriteText(&text))
	simtest.Says(t, text.String(), "recv 9b from -1 tag -1", "send 9b to 1 tag 7", "send 12b to 1 tag 0", "recv 32b from 1 tag 0")
	n, _ := g.Count(mpi.Send)
	simtest.Equal(t, n, 3, "messages")
	// No sign of traces before 3.20, in which the message behind would be 2 floats.
	g, _ = simtest.Must2(Import(written(t, "0 init\n1 init\n0 sendRecv 1 1 1 1\n1 sendRecv 1 0 1 0\n0 send 1 2 5\n1 recv 0 2 5\n0 finalize\n1 finalize\n"), 1e9, trace.Default()))(t)
	_, bytes := g.Count(mpi.Send)
	simtest.Equal(t, bytes, 7, "bytes")
}

// TestImport: a rank does one action after another; what begins with i lets it go on until it waits. At 2e9 operations a second 4000 are
// 2000 ns; scaled by 0.5, 1000. Counts are in doubles after "init 1": 3 are 24 B, and 2 of type 1 (int) 8 B.
func TestImport(t *testing.T) {
	s := trace.Default()
	s.Compute = 0.5
	g, _ := simtest.Must2(Import(written(t, "# two ranks\n0 init 1\n1 init 1\n0 isend 1 5 3\n0 compute 4e3\n1 recv 0 5 3\n0 wait 0 1 5\n1 send 0 0 2 1\n0 recv 1 0 2 1\n\n0 finalize\n1 finalize\n"), 2e9, s))(t)
	want := simtest.Text(t, "testdata/two-ranks.goal")
	var got strings.Builder
	simtest.Check(t, g.WriteText(&got))
	simtest.ErrorIf(t, got.String() != want, "%s\nwant:\n%s", got.String(), want)
	// Ring allreduce of 3 ranks: 4 rounds, a message a rank in each, and 1 s of computing.
	g, _ = simtest.Must2(Import(written(t, "0 init\n1 init\n2 init\n0 allreduce 300 1e9\n1 allreduce 300 1e9\n2 allreduce 300 1e9\n0 finalize\n1 finalize\n2 finalize\n"), 1e9, trace.Default()))(t)
	n, bytes := g.Count(mpi.Send)
	simtest.ErrorIf(t, n != 12 || bytes != 1200, "%d messages, %d B", n, bytes)
	_, ns := g.Count(mpi.Calc)
	simtest.ErrorIf(t, ns != 3e9, "computing %d ns", ns)
}

// TestOldDialect: SimGrid before 3.20 wrote messages without tags and some names with capitals, and a wait
// for what was begun last. testdata/before-3.20.txt is in the form of a trace of 3.18: an allreduce of
// 50 kB on two ranks (2 rounds of 25 kB), a message of 1 MB, and one of 3 doubles begun beside 2 s of work.
func TestOldDialect(t *testing.T) {
	g, report := simtest.Must2(Import("testdata/before-3.20.txt", 1e9, trace.Default()))(t)
	n, bytes := g.Count(mpi.Send)
	simtest.ErrorIf(t, n != 6 || bytes != 4*25_000+1_000_000+24, "%d messages of %d B", n, bytes)
	got := fmt.Sprint(counted(report))
	simtest.ErrorIf(t, got != "map[allreduce:2 compute:1 finalize:2 init:2 irecv:1 isend:1 recv:1 send:1 wait:2]", "%v", got)
	simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
	simtest.ErrorIf(t, !Is(bufio.NewReader(strings.NewReader("0 Irecv 1 8\n"))), "an old trace is not told")
	// With capitals, and tags by the sizes behind them.
	g, _ = simtest.Must2(Import(written(t, "0 init\n1 init\n0 Isend 1 7 100\n0 wait\n1 recv 0 7 100\n0 finalize\n1 finalize\n"), 1e9, trace.Default()))(t)
	_, bytes = g.Count(mpi.Send)
	simtest.ErrorIf(t, bytes != 100, "%d B", bytes)
	// The oldest have p before a rank.
	oldest := "p0 init\np1 init\np0 send p1 1e6\np1 recv p0 1e6\np0 finalize\np1 finalize\n"
	g, _ = simtest.Must2(Import(written(t, oldest), 1e9, trace.Default()))(t)
	_, bytes = g.Count(mpi.Send)
	simtest.ErrorIf(t, bytes != 1e6 || !Is(bufio.NewReader(strings.NewReader(oldest))), "%d B", bytes)
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "t.txt:1: no actions",
		"0 init\n":                         "t.txt:1: rank 0 ends without finalize: is it truncated?",
		"1 init\n1 finalize\n":             "rank 0 has no actions, but rank 1 has",
		"0 init\nx y z\n":                  "t.txt:2: rank \"x\": want 0 to",
		"0 init\n0 fly\n":                  "t.txt:2: unknown action \"fly\"",
		"0 send 1 0 1\n":                   "t.txt:1: send: want init first",
		"0 init\n0 init\n":                 "t.txt:2: init: want init first, once",
		"0 init\n0 send 1 0 1\n":           "t.txt:2: send with rank 1, tag 0: ranks are 0 to 0",
		"0 init\n0 send 0\n":               "t.txt:2: send with 1 arguments: want 3 to 4",
		"0 init\n0 send 0 0 NaN\n":         "t.txt:2: send: argument \"NaN\"",
		"0 init\n0 send 0 0 8 51\n":        "t.txt:2: 8 elements of datatype 51",
		"0 init\n0 wait 0 0 0\n":           "t.txt:2: wait for a message from 0 to 0 with tag 0, which is not under way",
		"0 init\n0 scan 1 1\n0 finalize\n": "t.txt:2: 1 x scan cannot be replayed",
		"0 init\n0 bcast 8 3\n":            "t.txt:2: root = 3",
		"nowhere.txt\n":                    "nowhere.txt: no such file",
		"0 init\n0 irecv -333 0 8\n0 wait -333 0 0\n0 finalize\n":        "t.txt:2: 1 x irecv cannot be replayed: from -333",
		"0 init\n1 init\n0 barrier\n1 bcast 8\n0 finalize\n1 finalize\n": "t.txt:4: collective 0 of group \"\" is broadcast",
	} {
		simtest.Refuse2(Import(written(t, text), 1e9, trace.Default()))(t, want)
	}
	for text, want := range map[string]bool{"# a\n\n0 init\n": true, "\ufeff0 init\n": true, "num_ranks 1\n": false, "0 fly\n": false, "": false} {
		simtest.Equal(t, Is(bufio.NewReader(strings.NewReader(text))), want, "%q:", text)
	}
}

// FuzzImport: whatever a file holds is a schedule or an error.
func FuzzImport(f *testing.F) {
	f.Add("0 init 1\n1 init 1\n0 isend 1 5 3\n0 compute 4e3\n1 recv 0 5 3\n0 wait 0 1 5\n0 bcast 8 0 1\n1 bcast 8 0 1\n0 finalize\n1 finalize\n")
	f.Fuzz(func(t *testing.T, content string) {
		g, _, err := Import(written(t, content), 1e9, trace.Default())
		simtest.ErrorIf(t, err == nil && g.Ranks() == 0, "no ranks")
	})
}
