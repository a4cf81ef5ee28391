package jobs

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestStandardWorkload: 16 hosts have 64 processors, 4 each: 9 processors are on 3 hosts. Of job 2
// processors are known as asked for only; job 3 is a part of one, job 4 was cancelled before it ran.
func TestStandardWorkload(t *testing.T) {
	const (
		header = "; Version: 2.2\n; MaxNodes: 16\n;MaxProcs: 64\n"
		text   = "1 5 0 100 9 -1 -1 9 600 -1 1 1 1 1 1 -1 -1 -1\n" +
			"2 7 3 50.5 -1 -1 -1 16 -1 -1 0 1 1 1 1 -1 -1 -1\n" +
			"3 8 0 10 4 -1 -1 4 -1 -1 2 1 1 1 1 -1 -1 -1\n" +
			"4 9 0 -1 4 -1 -1 4 -1 -1 5 1 1 1 1 -1 -1 -1\n"
	)
	list := simtest.Must(readBatch("x", strings.NewReader(header+text), []string{"x"}))(t)
	want := []batchJob{{"1", "", 4, 0, 3, 100, 600}, {"2", "", 5, 2, 4, 50.5, math.Inf(1)}}
	simtest.ErrorIf(t, len(list.jobs) != 2 || list.jobs[0] != want[0] || list.jobs[1] != want[1] || list.steps != 1 || list.never != 1,
		"%+v, want %+v", list, want)
	// Without a header a processor is a host.
	list = simtest.Must(readBatch("x", strings.NewReader(text), []string{"x"}))(t)
	simtest.ErrorIf(t, list.jobs[0].nodes != 9 || list.jobs[1].nodes != 16, "%+v", list.jobs)
	simtest.Refuse(readBatch("x", strings.NewReader(header+"1 5 0 100\n"), []string{"x"}))(t, "x:4: 4 columns: want 18")
	simtest.Refuse(readBatch("x", strings.NewReader(strings.Replace(text, "1 5 0 100 9", "1 5 0 100 0", 1)), []string{"x"}))(t, `x:1: processors = "0": want a whole number`)
}

// TestSacctColumns: at 10:00+0100 it is 9:00 in UTC, 30 minutes before 10:30+0100; raw columns hold seconds and,
// limits, minutes; 2K hosts are 2,048.
func TestSacctColumns(t *testing.T) {
	const text = "JobIDRaw|Submit|AllocNodes|ElapsedRaw|TimelimitRaw|\n" +
		"1|2024-02-21T10:30:00+0100|2K|90|5|\n2|2024-02-21T09:00:00Z|3|10|UNLIMITED|\n"
	list := simtest.Must(readBatch("x", strings.NewReader(text), []string{"x"}))(t)
	want := []batchJob{{"2", "", 3, 0, 3, 10, math.Inf(1)}, {"1", "", 2, 1800, 2048, 90, 300}}
	simtest.ErrorIf(t, len(list.jobs) != 2 || list.jobs[0] != want[0] || list.jobs[1] != want[1],
		"%+v, want %+v", list.jobs, want)
}

// TestBatchSeparators: the columns of a list are divided by what its first line has, and cells may be quoted, as
// R writes them. Two jobs, of 2 hosts for 90 s and, ten seconds later, of 3 for 5 s.
func TestBatchSeparators(t *testing.T) {
	for _, text := range []string{
		"arrival_s,nodes,duration_s,job\n0,2,90,a\n10,3,5,b\n",
		"\"job\";\"arrival_s\";\"nodes\";\"duration_s\"\n\"a\";0;2;90\n\"b\";10;3;5\n",
		"JobID\tSubmit\tNNodes\tElapsed\tTimelimit\na\t2024-02-21T10:00:00\t2\t00:01:30\t\nb\t2024-02-21T10:00:10\t3\t00:00:05\n",
		"JobID,Submit,NNodes,Elapsed\na,2024-02-21T10:00:00,2,00:01:30\nb,2024-02-21T10:00:10,3,00:00:05\n",
	} {
		list := simtest.Must(readBatch("x", strings.NewReader(text), []string{"x"}))(t)
		want := []batchJob{{"a", "", 2, 0, 2, 90, math.Inf(1)}, {"b", "", 3, 10, 3, 5, math.Inf(1)}}
		simtest.ErrorIf(t, len(list.jobs) != 2 || list.jobs[0] != want[0] || list.jobs[1] != want[1],
			"%s%+v, want %+v", text, list.jobs, want)
	}
	table := "JobID            Submit  Elapsed\n----- ----------------- --------\n"
	simtest.Refuse(readBatch("x", strings.NewReader(table), nil))(t, "x:1: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2")
	simtest.Refuse(readBatch("x", strings.NewReader("{\n \"jobs\": []\n}\n"), nil))(t, "x:1: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2")
}
