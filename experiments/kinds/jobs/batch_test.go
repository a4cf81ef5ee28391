package jobs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

const (
	batchCSV = "# a day\njob,arrival_s,nodes,duration_s,limit_s,program\na,10,6,100,,\nd,13,4,50,50,y\nb,11,8,50,50,x\nc,12,4,200,200,\n"
	sacct    = "JobID|JobName|Submit|NNodes|State|Elapsed|Timelimit\n" +
		"7|x|2024-02-28T23:59:50|6|COMPLETED|00:01:40|UNLIMITED\n7.batch|batch|2024-02-28T23:59:50|1|COMPLETED|00:01:40|\n" +
		"8|other|2024-02-29T00:00:00|3|TIMEOUT|1-00:00:01.5|1-00:00:00\n9|x|2024-02-29T00:00:00|0|CANCELLED|00:00:00|1:00\n"
)

// TestReadBatch reads both forms. From 23:59:50 to midnight it is 10 s; a day has 86,400.
func TestReadBatch(t *testing.T) {
	list, err := readBatch("x", strings.NewReader(batchCSV), []string{"x", "y"})
	simtest.Check(t, err)
	simtest.EqualSlices(t, list.jobs, []batchJob{
		{"a", "", 3, 0, 6, 100, math.Inf(1)}, {"b", "x", 5, 1, 8, 50, 50}, {"c", "", 6, 2, 4, 200, 200}, {"d", "y", 4, 3, 4, 50, 50},
	}, "jobs")
	for _, text := range []string{sacct, strings.ReplaceAll(sacct, "|", ",")} { // and with --delimiter=,
		list, err = readBatch("x", strings.NewReader(text), []string{"x"})
		simtest.FatalIf(t, err != nil || list.steps != 1 || list.never != 1, "%v, %+v", err, list)
		simtest.EqualSlices(t, list.jobs, []batchJob{{"7", "x", 2, 0, 6, 100, math.Inf(1)}, {"8", "", 4, 10, 3, 86401.5, 86400}}, "jobs of sacct")
	}
}

// TestReadBatchProblems: what is wrong is named with file, line, value and what is allowed.
func TestReadBatchProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "x:1: no job that ran: want a line of columns, arrival_s,nodes,duration_s,job,program,limit_s or, of sacct",
		"nodes,when\n1,2\n":                     `x:1: column "when": want some of arrival_s,`,
		"arrival_s,nodes,nodes,duration_s\n":    `x:1: column "nodes": want it once`,
		"arrival_s,nodes\n":                     "x:1: no column duration_s: want arrival_s,nodes,duration_s",
		"arrival_s,nodes,duration_s\n1,2\n":     "x:2: 2 columns: want 3",
		"arrival_s,nodes,duration_s\n-1,2,3\n":  `x:2: arrival_s = "-1": want seconds, 0 to 1e9`,
		"arrival_s,nodes,duration_s\n1,0,3\n":   `x:2: nodes = "0": want a whole number, 1 to 16777216`,
		"arrival_s,nodes,duration_s\n1,1,NaN\n": `x:2: duration_s = "NaN"`,
		"arrival_s,nodes,duration_s\n1,1,0\n":   "no job that ran",
		batchCSV + "a,1,1,1,1,x\n":              `x:7: job = "a": want every job once; it is in line 3, too`,
		batchCSV + "e,1,1,1,1,z\n":              `x:7: program = "z": want one of the tables [job.NAME]: x, y`,
		"#!/bin/sh\n#SBATCH -N 4\nsrun a\n":     "x:2: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2",
		"  JOBID PARTITION NODES\n":             "x:1: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2",
		"JobID  Submit  Elapsed\n":              "x:1: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2",
		"JobID            Submit  Elapsed\n----- ----------------- --------\n": "x:1: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2",
		"{\n \"jobs\": []\n}\n":                           "x:1: a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2",
		strings.Replace(sacct, "Elapsed", "E", 1):         "x:1: no column Elapsed: want Submit|NNodes|Elapsed",
		strings.Replace(sacct, "00:01:40", "1", 1):        `x:2: Elapsed = "1": want [DAYS-]HOURS:MINUTES:SECONDS`,
		strings.Replace(sacct, "00:01:40", "00:00:60", 1): `x:2: Elapsed = "00:00:60": want`,
		strings.Replace(sacct, "-28T", "-31T", 1):         `x:2: Submit = "2024-02-31T23:59:50": want YEAR-MONTH-DAYTHOURS`,
	} {
		simtest.Refuse(readBatch("x", strings.NewReader(text), []string{"x", "y"}))(t, want)
	}
}

// FuzzReadBatch: any text is read or refused, and what is read can be scheduled.
func FuzzReadBatch(f *testing.F) {
	f.Add([]byte(batchCSV))
	f.Add([]byte(sacct))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := readBatch("x", strings.NewReader(string(text)), []string{"x"})
		if err != nil || len(list.jobs) > 100 {
			return
		}
		for _, reserves := range []bool{false, true} {
			jobs, err := (&batchPolicy{reserves: reserves}).schedule(list.jobs, 16, firstFree)
			if err == nil {
				checkSchedule(t, jobs)
			}
		}
	})
}

func firstFree(free []bool, need int) []int32 { return contiguous(placeEnv{}, free, need) }

// checkSchedule: jobs begin after they are there, with the hosts that they want, which no other job has at the time.
func checkSchedule(t *testing.T, jobs []batchedJob) {
	t.Helper()
	for i := range jobs {
		a := &jobs[i]
		simtest.ErrorIf(t, a.start < a.submit || len(a.hosts) != a.nodes, "job %+v", a)
		for j := range jobs[:i] {
			b := &jobs[j]
			if a.start >= b.end() || b.start >= a.end() {
				continue
			}
			for _, h := range a.hosts {
				for _, other := range b.hosts {
					simtest.ErrorIf(t, h == other, "jobs %+v and %+v share host %d", a, b, h)
				}
			}
		}
	}
}

// TestBatchPolicies: on 10 hosts a has 6 from 0 to 100, b wants 8, c 4 and d 4. By first fit c begins
// as it comes (2), d when a ends (100), b when c ends (202). With backfilling b is promised 100, which
// leaves 2 hosts: c would run beyond it and needs 4, d is over by 53; c has its turn behind b, at 150.
func TestBatchPolicies(t *testing.T) {
	list := simtest.Must(readBatch("x", strings.NewReader(strings.Replace(batchCSV, "100,,", "100,100,", 1)), []string{"x", "y"}))(t)
	for reserves, want := range map[bool]string{false: "a 0, b 202, c 2, d 100", true: "a 0, b 100, c 150, d 3"} {
		jobs := simtest.Must((&batchPolicy{reserves: reserves}).schedule(list.jobs, 10, firstFree))(t)
		got := ""
		for _, j := range jobs {
			got += fmt.Sprintf("%s %v, ", j.name, j.start)
		}
		simtest.Equal(t, got, want+", ", "reserves %v:", reserves)
	}
	// Two hosts are found when the first of two jobs of two ends, and none is left over.
	shadow, spare := reserve([]batchedJob{{batchJob: batchJob{nodes: 2, limit: 10}}, {batchJob: batchJob{nodes: 2, limit: 20}}}, []int{0, 1}, 2, 0, 0)
	simtest.Alike(t, "from, spare", shadow, 10, spare, 0)
}

// TestBatchSchedules: random lists keep the rules.
func TestBatchSchedules(t *testing.T) {
	s := sim.NewStream(5, "batch lists", 0)
	for range 100 {
		var list []batchJob
		at := 0.0
		for i := range 40 {
			at += float64(s.IntN(20))
			d := float64(1 + s.IntN(100))
			list = append(list, batchJob{name: fmt.Sprint(i), submit: at, nodes: 1 + s.IntN(16), duration: d, limit: d * float64(1+s.IntN(3))})
		}
		for _, reserves := range []bool{false, true} {
			jobs := simtest.Must((&batchPolicy{reserves: reserves}).schedule(list, 16, firstFree))(t)
			checkSchedule(t, jobs)
		}
	}
	simtest.Refuse((&batchPolicy{}).schedule([]batchJob{{nodes: 17, duration: 1, line: 3}}, 16, firstFree))(t, ":3: nodes = 17")
}

// TestBatchOfOneNode: a job of one node holds a host for as long as the list says, though no program
// of messages has one rank, and nothing slows it: what waits for its host begins when it ends.
func TestBatchOfOneNode(t *testing.T) {
	list := filepath.Join(t.TempDir(), "sacct.txt")
	simtest.Check(t, os.WriteFile(list, []byte("JobID|JobName|Submit|Elapsed|NNodes|Timelimit|State\n1|a|2024-02-21T14:37:02|00:49:22|2|01:00:00|COMPLETED\n"+
		"2|b|2024-02-21T14:37:03|00:10:00|1|01:00:00|COMPLETED\n3|c|2024-02-21T14:37:04|00:10:00|2|01:00:00|COMPLETED\n"), 0o666))
	text := fmt.Sprintf("kind = \"jobs\"\n[topology]\ntype = \"torus\"\ndims = [4]\nterminals = 1\n[routing]\ntype = \"dor\"\n[batch]\npolicy = \"backfill\"\nfile = %q\nsecond = \"1ns\"\n[job.a]\nprogram = \"traffic\"\n", list)
	jobs, tables := jobTables(t, text, "batch")
	// Four hosts: a has two for 2,962 s, b one from 1 to 601, c two of those that b and a fourth leave then.
	simtest.EqualSlices(t, enginetest.Numbers(t, tables[0], "start_s"), []float64{0, 1, 601}, "jobs run from")
	simtest.EqualSlices(t, enginetest.Numbers(t, tables[0], "end_s"), []float64{2962, 601, 1201}, "jobs run to")
	simtest.Equal(t, enginetest.Numbers(t, jobs, "slowdown")[1], 1, "slowdown of the second")
}

// TestBatchRuns runs a list on an imported cluster: its jobs begin when they are scheduled, and what is
// put down to the others adds up to each one's slowdown.
func TestBatchRuns(t *testing.T) {
	dir := t.TempDir()
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "list.csv"), []byte("arrival_s,nodes,duration_s,program\n0,80,40,halo\n5,80,30,sum\n10,30,30,\n"), 0o666))
	cluster := simtest.Must(filepath.Abs("../../../fabric/topology/ib/testdata/loginoff-2014-qdr-fdr10.txt"))(t)
	text := fmt.Sprintf(`kind = "jobs"
topology = { type = "ibnetdiscover", path = %q }
routing = { type = "opensm-minhop" }
batch = { policy = "backfill", file = %q, placement = "random", program = "sum" }
job.halo = { program = "random-neighbours", iterations = 1 }
job.sum = { program = "allreduce-bound", bytes = "32KiB", iterations = 1 }
[measure]
blame = true
`, cluster, filepath.Join(dir, "list.csv"))
	jobs, tables := jobTables(t, text, "batch", "job_blame")
	batch := tables[0]
	// The third job fits beside the first. The second begins when that ends, after 40 s.
	simtest.EqualSlices(t, enginetest.Numbers(t, batch, "start_s"), []float64{0, 40, 10}, "jobs begin at")
	simtest.EqualSlices(t, enginetest.Numbers(t, batch, "wait_s"), []float64{0, 35, 0}, "jobs wait for")
	starts, slowdown := enginetest.Numbers(t, jobs, "start_s"), enginetest.Numbers(t, jobs, "slowdown")
	simtest.Equal(t, fmt.Sprint(starts), "[0 4e-05 1e-05]", "programs begin at")
	sums := map[string]float64{}
	parts := enginetest.Numbers(t, tables[1], "slowdown")
	for i, row := range tables[1].Rows {
		sums[row[2]] += parts[i]
	}
	for i, row := range jobs.Rows {
		simtest.Near(t, sums[row[2]], slowdown[i]-1, 1e-9, "slowdown of job %s that is put down:", row[2])
	}
	for _, c := range []struct{ old, now, want string }{
		{`program = "sum"`, `program = "none"`, "batch.program = none: want one of the tables [job.NAME]: halo, sum"},
		{`placement = "random"`, `placement = "listed", nodes = [1]`, "batch.placement = listed: want a placement that chooses"},
		{`program = "random-neighbours"`, `program = "group-alltoall", group = 7`, "x.toml:4:32: batch.file " + filepath.Join(dir, "list.csv") + ":2: nodes = 80, program halo"},
		{"list.csv", "none.csv", "none.csv"},
	} {
		enginetest.Refused(t, strings.Replace(text, c.old, c.now, 1), c.want)
	}
}

// TestStandardWorkload: 16 hosts have 64 processors, 4 each: 9 processors are on 3 hosts. Of job 2 processors are known
// as asked for only; job 3 is a part of one, job 4 was cancelled before it ran, of job 5 no processors are known.
func TestStandardWorkload(t *testing.T) {
	const (
		header = "; Version: 2.2\n; MaxNodes: 16\n;MaxProcs: 64\n"
		text   = "1 5 0 100 9 -1 -1 9 600 -1 1 1 1 1 1 -1 -1 -1\n" +
			"2 7 3 50.5 -1 -1 -1 16 -1 -1 0 1 1 1 1 -1 -1 -1\n" +
			"3 8 0 10 4 -1 -1 4 -1 -1 2 1 1 1 1 -1 -1 -1\n" +
			"4 9 0 -1 4 -1 -1 4 -1 -1 5 1 1 1 1 -1 -1 -1\n5 9 0 70 -1 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
	)
	list := simtest.Must(readBatch("x", strings.NewReader(header+text), []string{"x"}))(t)
	simtest.EqualSlices(t, list.jobs, []batchJob{{"1", "", 4, 0, 3, 100, 600}, {"2", "", 5, 2, 4, 50.5, math.Inf(1)}}, "jobs")
	simtest.Alike(t, "parts, and what never ran", list.steps, 1, list.never, 2)
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
	simtest.EqualSlices(t, list.jobs, []batchJob{{"2", "", 3, 0, 3, 10, math.Inf(1)}, {"1", "", 2, 1800, 2048, 90, 300}}, "jobs")
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
		simtest.EqualSlices(t, list.jobs, []batchJob{{"a", "", 2, 0, 2, 90, math.Inf(1)}, {"b", "", 3, 10, 3, 5, math.Inf(1)}}, "%s:", text)
	}
}

// TestQueuePairs: 60 of 7,200 processes are on a node: 7,199 QPs each, 431,940 together, which exceed the
// 262,144 of an adapter; of XRC it takes 2 * 60 * 120.
func TestQueuePairs(t *testing.T) {
	const job = "kind = \"connections\"\njob = { ranks = 7200, per_node = 60 }\n"
	f := enginetest.Load(t, job)
	simtest.Equal(t, len(f.Warnings), 1, "warnings:")
	simtest.Says(t, fmt.Sprint(f.Warnings), "262144 is less than the 431940 queue pairs")
	simtest.Equal(t, enginetest.Numbers(t, enginetest.OutcomeOf(t, job).Results, "qps_per_node")[0], 431_940, "QPs on a node:")
	f = enginetest.Load(t, job, "connections.mode=xrc-s")
	simtest.ErrorIf(t, len(f.Warnings) != 0, "warnings %v", f.Warnings)
	// Of kind mpi: 4 processes on each of 2 nodes, 7 QPs each. Of kind jobs: a job of 4, 2 on a node: 3 each.
	const (
		program = "kind = \"mpi\"\njob = { ranks = 8 }\n"
		jobs    = "kind = \"jobs\"\ntopology = { type = \"single-switch\", terminals = 4 }\nrouting = { type = \"table\" }\n[job.a]\nprogram = \"osu-alltoall\"\nranks = 4\nper_node = 2\n[job.b]\nprogram = \"osu-alltoall\"\nranks = 2\n"
	)
	for text, most := range map[string][2]string{program: {"27", "28"}, jobs: {"5", "6"}} {
		for i, want := range [2]bool{true, false} {
			f := enginetest.Load(t, text, "hca.max_qp="+most[i])
			warned := strings.Contains(fmt.Sprint(f.Warnings), most[i]+" is less than the "+most[1]+" queue pairs")
			simtest.Equal(t, warned, want, "max_qp %s: %v", most[i], f.Warnings)
		}
	}
	simtest.Equal(t, enginetest.Numbers(t, enginetest.OutcomeOf(t, program).Results, "qps_per_node")[0], 28, "QPs on a node:")
}
