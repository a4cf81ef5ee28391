package jobs

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/experiments/kinds/traffic"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/cables"
	_ "github.com/weft-sim/weft/mpi/replay"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// A dragonfly of 9 groups of 4 switches with 2 hosts each: 72 hosts, 8 a group.
const jobsNetwork = "kind = \"jobs\"\n[topology]\ntype = \"dragonfly\"\np = 2\na = 4\nh = 2\n[fabric]\nflit_bytes = \"256B\"\nclock = \"64ns\"\n"

func ranHalo(name, more string) string {
	return fmt.Sprintf("[job.%s]\nprogram = \"halo\"\nranks = 8\ndims = [2, 4]\niterations = 2\nbytes = \"16KiB\"\n%s", name, more)
}

// jobTables runs a file and returns its tables jobs and others, without the columns of the point.
func jobTables(t *testing.T, text string, more ...string) (jobs *results.Table, others []*results.Table) {
	t.Helper()
	o := enginetest.Execute(t, enginetest.Load(t, text), engine.Execution{Threads: 1})
	for _, name := range more {
		others = append(others, o.Tables[name])
	}
	return o.Tables["jobs"], others
}

// rowsOf are the rows of a job, one a line.
func rowsOf(t *testing.T, table *results.Table, job string) string {
	var b strings.Builder
	for _, row := range simtest.Must(table.Where(map[string]string{"job": job}))(t).Rows {
		b.WriteString(strings.Join(row[2:], ",") + "\n")
	}
	return b.String()
}

// TestJobsWithIdleCompanions: jobs that send nothing, before it and behind it, schedules or not,
// change no byte of what is said of a job.
func TestJobsWithIdleCompanions(t *testing.T) {
	const idle = "program = \"goal\"\nfile = \"FILE\"\nplacement = \"listed\"\nnodes = [70, 71]\n"
	file := enginetest.GoalFile(t, "num_ranks 2\nrank 0 {\nl1: calc 100\n}\nrank 1 {\nl1: calc 5\n}\n")
	for _, routing := range []string{"min", "ugal-l"} {
		network := jobsNetwork + "[measure]\nranks = true\n[routing]\ntype = \"" + routing + "\"\n"
		victim := ranHalo("m", "placement = \"listed\"\nnodes = [0, 9, 18, 27, 36, 45, 54, 63]\n")
		alone, ranks := jobTables(t, network+victim, "job_ranks")
		for what, companions := range map[string]string{
			"a schedule behind": "[job.z]\nprogram = \"halo\"\nranks = 1\ndims = [1]\n",
			"a schedule before": "[job.a]\nprogram = \"halo\"\nranks = 1\ndims = [1]\n",
			"no schedule":       "[job.z]\n" + strings.Replace(idle, "FILE", file, 1),
			"both":              "[job.a]\n" + strings.Replace(idle, "FILE", file, 1) + "[job.z]\nprogram = \"halo\"\nranks = 1\ndims = [1]\n",
		} {
			got, gotRanks := jobTables(t, network+victim+companions, "job_ranks")
			simtest.Equal(t, rowsOf(t, got, "m"), rowsOf(t, alone, "m"), "%s, %s: the job is\n", routing, what)
			simtest.Equal(t, rowsOf(t, gotRanks[0], "m"), rowsOf(t, ranks[0], "m"), "%s, %s: its ranks are\n", routing, what)
		}
	}
}

// TestJobsAreProgramsOfKindMPI: a job takes what its program takes in kind mpi, also on a machine whose
// library chooses the algorithm, and with nodes whose memory is slow.
func TestJobsAreProgramsOfKindMPI(t *testing.T) {
	network := strings.TrimPrefix(strings.Replace(jobsNetwork, "64ns", "16ns", 1), "kind = \"jobs\"\n")
	times := map[float64]bool{}
	for _, c := range []struct{ program, settings, more string }{
		{"halo", "dims = [2, 4]\niterations = 2\nbytes = \"16KiB\"\n", ""},
		{"osu-alltoall", "algorithm = \"allreduce-library\"\niterations = 2\nbytes = \"16KiB\"\n", "[system]\npreset = \"edr\"\nlibrary = \"open-mpi-4.0\"\n"},
		{"osu-alltoall", "algorithm = \"allreduce-library\"\niterations = 2\nbytes = \"16KiB\"\n", "[system]\npreset = \"edr\"\nlibrary = \"mpich\"\n"},
		{"osu-alltoall", "algorithm = \"allreduce-library\"\niterations = 2\nbytes = \"16KiB\"\n", "[memory]\nbandwidth = \"5Gb/s\"\n"},
		{"osu-alltoall", "algorithm = \"allreduce-library\"\niterations = 2\nbytes = \"4KiB\"\n", "[system]\npreset = \"edr\"\n"},
		{"osu-alltoall", "algorithm = \"allreduce-library\"\niterations = 2\nbytes = \"4KiB\"\n", "[system]\npreset = \"edr\"\n[memory]\nbandwidth = \"5Gb/s\"\ncached = \"0B\"\n"},
	} {
		jobs, _ := jobTables(t, "kind = \"jobs\"\n"+network+c.more+"[job.m]\nprogram = \""+c.program+"\"\nranks = 8\n"+c.settings)
		o := enginetest.Execute(t, enginetest.Load(t, "kind = \"mpi\"\n[job]\nranks = 8\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[routing]\ntype = \"min\"\n[workload]\ntype = \""+c.program+"\"\n"+c.settings+c.more+network), engine.Execution{Threads: 1})
		got, want := enginetest.Numbers(t, jobs, "elapsed_s")[0], enginetest.Numbers(t, o.Results, "elapsed_s")[0]
		simtest.Equal(t, got, want, "%s%s, in s, and in kind mpi:", c.more, c.program)
		times[got] = true
	}
	simtest.ErrorIf(t, len(times) != 6, "times %v: want another one for each", times)
}

// TestJobsOnDisjointCables: jobs in groups of their own, with minimal routing, slow each other not at all.
// On the same switches they do.
func TestJobsOnDisjointCables(t *testing.T) {
	all, _ := jobTables(t, jobsNetwork+ranHalo("a", "")+ranHalo("b", "")+ranHalo("c", "placement = \"random-group\"\n"))
	simtest.EqualSlices(t, enginetest.Numbers(t, all, "slowdown"), []float64{1, 1, 1}, "slowdowns")
	mixed, _ := jobTables(t, jobsNetwork+ranHalo("a", "placement = \"fragmented\"\nevery = 2\n")+ranHalo("b", "placement = \"listed\"\nnodes = [1, 3, 5, 7, 9, 11, 13, 15]\n"))
	for i, slowdown := range enginetest.Numbers(t, mixed, "slowdown") {
		simtest.ErrorIf(t, slowdown <= 1, "job %d on the same switches as the other is slowed by %v", i, slowdown)
	}
}

// jobsMix is a random mix of three jobs on 32 to 72 hosts.
func jobsMix(s *sim.Stream) string {
	var b strings.Builder
	networks := []struct {
		text     string
		routings []string
	}{
		{jobsNetwork, []string{"min", "ugal-l", "val"}},
		{"kind = \"jobs\"\n[topology]\ntype = \"fat-tree\"\nk = 8\nn = 2\n", []string{"nca"}},
		{"kind = \"jobs\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 4\n", []string{"dor", "up-down"}},
	}
	n := networks[max(0, s.IntN(6)-3)]
	fmt.Fprintf(&b, "%s[measure]\nblame = true\nranks = true\nlinks = true\n[routing]\ntype = %q\n", n.text, n.routings[s.IntN(len(n.routings))])
	programs := []string{
		"program = \"halo\"\nranks = 8\ndims = [2, 4]\niterations = 1\nbytes = \"12KiB\"\n",
		"program = \"osu-alltoall\"\nranks = 8\niterations = 1\nbytes = \"6KiB\"\n",
		"program = \"traffic\"\nranks = 10\nmessages = 8\nload = 0.4\nbytes = \"5kB\"\n",
		"program = \"osu-bandwidth\"\nranks = 8\niterations = 1\nwindow = 4\nbytes = \"8KiB\"\n",
	}
	placements := []string{`"contiguous"`, `"random"`, `"random-switch"`, `"fragmented"`, `"random-group"`}
	if n.routings[0] == "dor" {
		placements[4] = "\"listed\"\nnodes = [0, 7, 14, 21, 28, 35, 42, 49, 56, 63]" // which jobs may share
	}
	for i, name := range []string{"a", "b", "c"} {
		fmt.Fprintf(&b, "[job.%s]\n%splacement = %s\nstart = \"%dus\"\n", name, programs[s.IntN(4)], placements[s.IntN(5)], s.IntN(3)*4)
		if i == 2 && s.IntN(2) == 0 {
			b.WriteString("repeat = 0\n")
		}
		if s.IntN(4) == 0 {
			b.WriteString("level = 1\n")
		}
	}
	return b.String()
}

// TestJobsIterations: more iterations than can be counted, or held by a check, are refused.
func TestJobsIterations(t *testing.T) {
	for iterations, want := range map[string]string{"9223372036854775807": "at most 2147483647 rounds", "16777217": "at most 16777216 iterations"} {
		enginetest.Refused(t, "kind = \"jobs\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 1\n[routing]\ntype = \"dor\"\n[job.a]\nprogram = \"halo\"\nranks = 4\ndims = [2, 2]\niterations = "+iterations+"\n",
			"job.a.iterations = "+iterations+": want "+want)
	}
}

// TestDoubts: what of a network's file may have been meant in another way is a warning of all kinds
// that route packets in it.
func TestDoubts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring.edges")
	simtest.Check(t, os.WriteFile(path, []byte("0 1\n1 0\n1 2\n2 1\n2 0\n0 2\n"), 0o666))
	network := fmt.Sprintf("[topology]\ntype = \"edges\"\npath = %q\n[routing]\ntype = \"table\"\n[switch]\nvcs = 4\n", path)
	for _, kind := range []string{"kind = \"traffic\"\n", "kind = \"jobs\"\n[job.a]\nranks = 2\ndims = [2]\n"} {
		f := enginetest.Load(t, kind+network)
		report := simtest.Must(f.Preflight(false))(t)
		simtest.Says(t, fmt.Sprint(report.Warnings), "topology.path", "all 3 cables stand in the list in both directions: taken once each")
	}
}

// TestJobsBlame: what is put down to other jobs and cables adds up to what each job takes longer, some of it at cables.
// The bound is that of rounding.
func TestJobsBlame(t *testing.T) {
	mixes, slowed, atCables := simtest.Seeds(t, 200, 4), 0, 0.0
	for _, mix := range mixes {
		s := sim.NewStream(7, "mixes of jobs", int(mix))
		text := jobsMix(&s)
		jobs, others := jobTables(t, text, "job_blame")
		blamed := map[string]float64{}
		slower, share, class := enginetest.Numbers(t, others[0], "slower_s"), enginetest.Numbers(t, others[0], "share"), enginetest.Column(t, others[0], "channel_class")
		for i, row := range others[0].Rows {
			if blamed[row[2]] += slower[i]; class[i] != "others" {
				atCables += share[i]
			}
		}
		beside, alone := enginetest.Numbers(t, jobs, "elapsed_s"), enginetest.Numbers(t, jobs, "alone_s")
		for i, row := range jobs.Rows {
			if math.IsNaN(alone[i]) {
				continue
			}
			if beside[i] != alone[i] {
				slowed++
			}
			simtest.Near(t, blamed[row[2]], beside[i]-alone[i], 1e-9*beside[i], "mix %d\n%s: seconds put down of what job %s takes longer:", mix, text, row[2])
		}
	}
	simtest.ErrorIf(t, slowed < len(mixes)/2 || !(atCables > 0), "only %d jobs of %d mixes are slowed, at cables %v", slowed, len(mixes), atCables)
}

// TestJobsLevels: a job on a service level of its own that goes first waits for a packet of another
// at most. Two halos share all of their switches. A packet of 2 KiB takes 8 flits of 64 ns,
// and a message crosses 3 channels between switches at most: 3*8*64 ns = 1.54 us.
func TestJobsLevels(t *testing.T) {
	const lanes = "[switch]\nflow_control = \"cut-through\"\noutput_buffer_flits = 4\nvlarb_high = \"HIGH\"\nvlarb_low = \"LOW\"\nvl_high_limit = 255\n[routing]\ntype = \"min\"\n"
	text := jobsNetwork + strings.Replace(ranHalo("a", "placement = \"fragmented\"\nevery = 2\nlevel = LEVEL\n"), "16KiB", "4KiB", 1) + ranHalo("b", "placement = \"listed\"\nnodes = [1, 3, 5, 7, 9, 11, 13, 15]\n")
	latency := func(text string) (beside, alone, messages float64) {
		jobs, _ := jobTables(t, text)
		return enginetest.Numbers(t, jobs, "message_p99_s")[0], enginetest.Numbers(t, jobs, "message_p99_alone_s")[0], enginetest.Numbers(t, jobs, "messages")[0]
	}
	// The routing needs two channels: level 1 has 2 and 3.
	together, alone, messages := latency(strings.NewReplacer("LEVEL", "0").Replace(text))
	simtest.ErrorIf(t, together <= 1.05*alone, "without levels 99 %% of the messages take up to %v s, alone %v", together, alone)
	apart, alone, again := latency(strings.NewReplacer("LEVEL", "1", "HIGH", "2:255,3:255", "LOW", "0:64,1:64").Replace(text + lanes))
	simtest.ErrorIf(t, apart > alone+1.54e-6, "on a level of their own 99 %% of the messages take up to %v s, alone %v", apart, alone)
	simtest.Alike(t, "messages", messages, 64, again, 64) // 4 of each of 8 ranks, twice, eager
}

// TestJobsThreads: the number of threads does not change a byte.
func TestJobsThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	s := sim.NewStream(8, "mixes of jobs", 0)
	for i := range 6 {
		text := strings.ReplaceAll(jobsMix(&s), "repeat = 0\n", "")
		enginetest.SameOnThreads(t, fmt.Sprint("mix ", i), enginetest.Load(t, text), []int{3}, true, "jobs", "job_ranks", "job_blame", "links")
	}
}

// TestJobsIntervals: three replications, each with placements of its own, have the mean of what each has
// by itself, with Student's 95 % interval.
func TestJobsIntervals(t *testing.T) {
	text := jobsNetwork + ranHalo("a", "placement = \"random\"\n") + ranHalo("b", "placement = \"random\"\n")
	var each [3]float64
	for i := range each {
		jobs, _ := jobTables(t, fmt.Sprintf("seed = %d\n", (&experiments.Run{Seed: 1}).SeedOf(i))+text)
		each[i] = enginetest.Numbers(t, jobs, "slowdown")[0]
	}
	mean, want := enginetest.Spread(each)
	o := enginetest.OutcomeOf(t, "seed = 1\n"+text+"[measure]\nreplications = 3\n")
	jobs := o.Tables["jobs"]
	both := enginetest.Numbers(t, jobs, "slowdown_ci95")
	simtest.Near(t, enginetest.Numbers(t, jobs, "slowdown")[0], mean, 1e-9, "slowdown")
	simtest.ErrorIf(t, want == 0 || math.Abs(both[0]-want) > 1e-6*want, "half-width %v, want %v", both[0], want)
	got := enginetest.Numbers(t, o.Results, "slowdown_max_ci95")[0]
	simtest.ErrorIf(t, got != both[0] && got != both[1], "the slowest job's interval is %v, those of the jobs %v", got, both)
}

// TestJobsRepeated: a program that runs three times takes three times as long, up to what its
// ranks are out of step; a background ends with the others, and none begins again after its time.
func TestJobsRepeated(t *testing.T) {
	once, _ := jobTables(t, jobsNetwork+ranHalo("a", ""))
	more, _ := jobTables(t, jobsNetwork+ranHalo("a", "repeat = 3\n")+ranHalo("b", "repeat = 0\n")+ranHalo("c", "repeat = 100\nuntil = \"1ns\"\n")+ranHalo("d", "start = \"1ms\"\n"))
	one, three := enginetest.Numbers(t, once, "elapsed_s")[0], enginetest.Numbers(t, more, "elapsed_s")[0]
	simtest.ErrorIf(t, three < 2.5*one || three > 3.01*one, "three runs take %v s, one %v", three, one)
	// d ends the latest, at 1 ms and one: so long b goes on, of whose runs each takes one.
	runs := enginetest.Numbers(t, more, "runs")
	want := 1e-3/one + 1
	simtest.ErrorIf(t, runs[0] != 3 || math.Abs(runs[1]-want) > 0.1*want || runs[2] != 1 || runs[3] != 1, "runs are %v, want 3, about %v, 1, 1", runs, want)
}

// TestRanksWithoutWork: the rank between those of a ping-pong decides neither how often it runs nor when it ends, and what
// an operation takes does not depend on when its run begins.
func TestRanksWithoutWork(t *testing.T) {
	times := map[string][]float64{}
	for _, ranks := range []string{"2", "3"} {
		pong := "program = \"ping-pong\"\niterations = 1\nranks = "
		table, _ := jobTables(t, "kind = \"jobs\"\n"+operationsOf+"routing = { type = \"table\" }\n[job.a]\n"+pong+"2\nstart = \"1ms\"\n[job.b]\n"+pong+ranks+"\nrepeat = 0\n[job.c]\n"+pong+ranks+"\nrepeat = 50\nuntil = \"20us\"\n")
		runs, each := enginetest.Numbers(t, table, "runs"), enginetest.Numbers(t, table, "operation_max_s")
		simtest.ErrorIf(t, runs[1] < 100 || runs[2] < 2 || runs[2] > 20, "%s ranks: %v runs", ranks, runs)
		simtest.ErrorIf(t, slices.Max(each) > 10e-6, "operations take %v s, want less than 10 us", each)
		times[ranks] = runs
	}
	simtest.EqualSlices(t, times["3"], times["2"], "runs with a rank that does nothing:")
}

// TestJobWithoutTime: a job that does nothing is slowed by nobody, and leaves the others' slowdowns as they are.
func TestJobWithoutTime(t *testing.T) {
	o := enginetest.OutcomeOf(t, jobsNetwork+ranHalo("a", "")+"[job.z]\nranks = 1\ndims = [1]\n")
	simtest.Alike(t, "the slowest", enginetest.Column(t, o.Results, "slowest"), []string{"a"}, enginetest.Column(t, o.Results, "slowdown_mean"), []string{"1"})
}

// TestJobsProblems: what is wrong is named with its key.
func TestJobsProblems(t *testing.T) {
	enginetest.Refusals(t, jobsNetwork, map[string]string{
		"[job.a]\nranks = 80\ndims = [80]\n": "job.a.placement = contiguous: want 80 hosts; it finds 72 free ones of the 72",
		"[job.a]\nranks = 6\ndims = [4]\n":   "job.a.dims", ranHalo("a", "placement = \"listed\"\nnodes = [72]\n"): "job.a.nodes = 72",
		ranHalo("a", "placement = \"listed\"\nnode_file = \"none.txt\"\n"): "job.a.node_file has gone",
		ranHalo("a", "placement = \"lost\"\n"):                             "unknown placement", ranHalo("a", "repeat = 0\n"): "job.a.repeat = 0",
		ranHalo("a", "") + "[measure]\nblame = true\nalone = false\n": "measure.blame",
		ranHalo("a", "level = 1\n") + "[switch]\nvcs = 3\n":           "switch.vcs = 3: want a multiple of 2", ranHalo("a", "level = 8\n"): "job.a.level = 8: want at most 7: a channel can have 16 virtual channels, and each level needs 2 here",
		"[job.a]\nprogram = \"traffic\"\npattern = \"matrix\"\n":                       "job.a.matrix",
		ranHalo("a", "") + "[hca]\ncontext_entries = 1000000000000\n":                  "hca.context_entries = 1000000000000: want what fits into the memory",
		"[job.a]\nstart = \"1000000s\"\n":                                              "job.a.start = 1000000s: want at most ",
		"[job.a]\ncompute = \"1000000s\"\n[hca]\nmtu = \"4GiB\"\n":                     "hca.mtu = \"4GiB\": want 1B to 1GiB",
		"[job.a]\nranks = 8\nprogram = \"lammps\"\ndims = [2, 2, 2]\niterations = 6\n": "job.a.iterations = 6: want a multiple of rebuild = 5",
		"[job.a]\nprogram = \"fft3d\"\nn = 1000000\n":                                  "job.a.n = 1000000: want 1 to 100000", "[job.a]\nranks = 8\nprogram = \"nekbone\"\ndims = [2, 2, 2]\nelements = 1000000000\n": "job.a.elements = 1000000000: want 1 to 10000",
		"[job.a]\nranks = 9\nprogram = \"contention\"\nwindow = 1000000000000\n": "job.a.window = 1000000000000: want what fits into the memory",
		"[job.a]\n[hca]\npayload_share = 1e-300\n":                               "hca.payload_share = 1e-300: want 0, or what leaves 1 kb/s",
		"[job.a]\nbytes = \"20GB\"\n[hca]\nmtu = \"1B\"\n":                       "hca.mtu = 1B: want messages of at most 1073741823 packets",
	})
}

// TestIdleMessagesOfJobs: weft check walks the programs, and names the settings of messages that
// they do not send. Faces of 8 KiB go eagerly, those of 9 KiB by rendezvous; two ranks on a host send each
// other some inside it. What is named changes nothing, and the others do.
func TestIdleMessagesOfJobs(t *testing.T) {
	const text = "kind = \"jobs\"\n[job.a]\n"
	const eager = "%s changes nothing: all messages between nodes go eagerly, and no sender waits for one to come"
	const apart = "%s changes nothing: no message stays in a node"
	for _, c := range []struct{ beside, set, want string }{
		{"job.a.bytes=9KiB", "protocol.poll_overhead=1us", "%s changes nothing: no receiver polls: that is of protocol.rendezvous = \"read\" and \"get\", and of direct writes"},
		{"job.a.bytes=9KiB protocol.rendezvous=read", "protocol.poll_overhead=1us", ""},
		{"", "protocol.rendezvous=read", eager},
		{"job.a.bytes=9KiB", "protocol.rendezvous=read", ""},
		{"job.b.bytes=9KiB", "protocol.rendezvous=read", ""},
		{"", "protocol.register_time=1us", eager},
		{"", "protocol.acknowledge=9us", eager},
		{"protocol.eager_acknowledged=true", "protocol.acknowledge=9us", ""},
		{"job.a.bytes=9KiB protocol.rendezvous=get", "protocol.read_overhead=9us", ""},
		{"job.a.bytes=9KiB", "protocol.eager_copies=false", "%s changes nothing: no message between nodes goes eagerly"},
		{"", "protocol.eager_copies=false", ""},
		{"", "protocol.shared_latency=9us", apart},
		{"job.a.per_node=2", "protocol.shared_latency=9us", ""}, {"job.a.repeat=3", "job.a.until=1ns", ""}, {"", "job.a.until=1ns", "%s changes nothing: the program runs once"},
		{"", "memory.domains=2", "%s changes nothing: memory.bandwidth is without limit, and memory.domain_latency and domain_rate are not given"},
	} {
		f := enginetest.Load(t, text, strings.Fields(c.beside+" "+c.set)...)
		key, _, _ := strings.Cut(c.set, "=")
		said := enginetest.Idle(slices.Concat(f.Warnings, simtest.Must(f.Preflight(true))(t).Warnings))
		simtest.Equal(t, said, strings.ReplaceAll(c.want, "%s", key), "%s beside %q:", c.set, c.beside)
		row := func(f *experiments.File) []string {
			return enginetest.Execute(t, f, engine.Execution{}).Results.Rows[0]
		}
		same := slices.Equal(row(f), row(enginetest.Load(t, text, strings.Fields(c.beside)...)))
		simtest.ErrorIf(t, same != (c.want != ""), "%s beside %q: the same results %v", c.set, c.beside, same)
	}
}

// TestPlacements: every placement gives hosts that are free, each once, by whole units.
func TestPlacements(t *testing.T) {
	text := jobsNetwork + "[measure]\nranks = true\n" + ranHalo("a", "") + ranHalo("b", "placement = \"random-group\"\n") + ranHalo("c", "placement = \"random-switch\"\n") +
		ranHalo("d", "placement = \"random\"\n") + ranHalo("e", "placement = \"fragmented\"\nevery = 3\n") + ranHalo("f", "per_node = 4\n")
	_, tables := jobTables(t, text, "job_ranks")
	hosts, jobOf := enginetest.Numbers(t, tables[0], "host"), map[float64]string{}
	var of [6][]int
	for i, row := range tables[0].Rows {
		h := hosts[i]
		simtest.Equal(t, cmp.Or(jobOf[h], row[2]), row[2], "host %v is given to two jobs:", h)
		jobOf[h] = row[2]
		of[row[2][0]-'a'] = append(of[row[2][0]-'a'], int(h))
	}
	for r := range 8 {
		simtest.Alike(t, "rank", of[0][r], r, of[1][r]/8, of[1][0]/8, of[2][r]/2, of[2][r&^1]/2, of[5][r], of[5][r&^3])
	}
}

// TestPlacedByHand: of seven free hosts every third, then the next ones, four in all; a tree's pods of four hosts are groups.
func TestPlacedByHand(t *testing.T) {
	every := simtest.Must(placements.New("fragmented", placeEnv{}, param.Set("every", 3)))(t)
	simtest.EqualSlices(t, every(placeEnv{}, slices.Repeat([]bool{true}, 7), 4), []int32{0, 3, 6, 1}, "hosts")
	tree := simtest.Must(topology.Registry.New("xgft", struct{}{}, param.Set("m", []int{2, 2, 2}), param.Set("w", []int{1, 2, 2})))(t)
	groups := simtest.Must(groupsOf(tree))(t)
	for h := range topology.TerminalID(8) {
		simtest.Equal(t, groups[tree.Graph().TerminalSwitch(h)] == groups[tree.Graph().TerminalSwitch(0)], h < 4, "host %d in the first's group:", h)
	}
}

// TestWorkOfJobs: what weft check says jobs take is within a factor of 1.2 of the flits that cross
// switches in all simulations, together, alone and for blame.
func TestWorkOfJobs(t *testing.T) {
	text := strings.Replace(jobsNetwork, "clock", "UNIT\nclock", 1) + "[measure]\nreplications = 2\nblame = BLAME\n[routing]\ntype = \"min\"\n" +
		ranHalo("a", "placement = \"random\"\nrepeat = 2\n") + ranHalo("b", "placement = \"random\"\n") + ranHalo("c", "repeat = 0\n")
	for what, with := range map[string]*strings.Replacer{
		"plain": strings.NewReplacer("UNIT", "", "BLAME", "false"), "blame": strings.NewReplacer("UNIT", "", "BLAME", "true"),
		"packets": strings.NewReplacer("UNIT", "unit = \"packet\"", "BLAME", "true", "[measure]", "[switch]\nhold = true\nflow_control = \"cut-through\"\n[measure]"),
	} {
		f := enginetest.Load(t, with.Replace(text))
		flits, counted := enginetest.WorkOf(t, f)
		ratio := flits / counted
		simtest.ErrorIf(t, !(ratio > 1/1.2 && ratio < 1.2), "%s: %v flit-hops are expected, %v counted", what, flits, counted)
	}
}

// TestDemandsShared: points share what their jobs ask of the fabric, and only where it is the same: a check finds of
// two points what it finds of each by itself, whichever setting they differ in. Those of the switch change the least
// time by what it takes to be crossed.
func TestDemandsShared(t *testing.T) {
	text := jobsNetwork + "[job.a]\nprogram = \"osu-alltoall\"\nranks = 4\nper_node = 2\niterations = 1\nbytes = \"8B\"\n"
	found := func(set ...string) (notes []string) {
		f := simtest.Must(experiments.Load("x.toml", text, experiments.Options{Set: set}))(t)
		for _, n := range simtest.Must(f.Preflight(true))(t).Notes {
			if n.Topic == "latency" {
				notes = append(notes, n.Text)
			}
		}
		return notes
	}
	for key, c := range map[string]struct {
		values [2]string
		same   bool
	}{
		"job.a.bytes": {[2]string{`"1KiB"`, `"4KiB"`}, false}, "job.a.ranks": {[2]string{"8", "16"}, false},
		"protocol.send_overhead": {[2]string{`"0ns"`, `"1us"`}, false}, "hca.request_time": {[2]string{`"0ns"`, `"5us"`}, false},
		"switch.route_cycles": {[2]string{"0", "50"}, false}, "channel.terminal.latency": {[2]string{`"64ns"`, `"6400ns"`}, false},
		"switch.buffer_flits": {[2]string{"64", "65"}, true}, "routing.type": {[2]string{`"min"`, `"val"`}, true},
	} {
		want := found(key + "=" + c.values[0])
		if other := found(key + "=" + c.values[1]); !slices.Equal(want, other) {
			want = append(want, other...)
		}
		got := found(fmt.Sprintf("sweep.%q=[%s, %s]", key, c.values[0], c.values[1]))
		simtest.Alike(t, fmt.Sprint(key), got, want, len(got) == 1, c.same)
	}
}

// TestPointsAsAlone: what a point of a sweep has come to does not depend on the points beside it, of which it
// takes tables that say the same: each has the hash of the point alone. The machine and the library change
// tables that the file does not name, and the clock what is given as times.
func TestPointsAsAlone(t *testing.T) {
	const traffic = "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\n[channel.grid]\nlatency = \"30ns\"\n[measure]\nwarmup = \"2us\"\nwindow = \"9us\"\n"
	for _, c := range []struct {
		text  string
		swept [2]string
		lists [2][]string
	}{
		{traffic, [2]string{"fabric.clock", "switch.buffer_flits"}, [2][]string{{`"1ns"`, `"2ns"`}, {"8", "9", "10"}}},
		{traffic, [2]string{"traffic.pattern", "channel.grid.latency"}, [2][]string{{`"uniform"`, `"hot-spot"`}, {`"30ns"`, `"40ns"`}}},
		{jobsNetwork + ranHalo("a", ""), [2]string{"system.library", "job.a.bytes"}, [2][]string{{`""`, `"open-mpi"`, `"mpich"`}, {`"1KiB"`, `"2KiB"`}}},
		{jobsNetwork + ranHalo("a", ""), [2]string{"protocol.rendezvous", "protocol.eager_limit"}, [2][]string{{`"write"`, `"read"`}, {`"1KiB"`, `"2KiB"`}}},
	} {
		sweep := fmt.Sprintf("[sweep]\n%q = [%s]\n%q = [%s]\n", c.swept[0], strings.Join(c.lists[0], ", "), c.swept[1], strings.Join(c.lists[1], ", "))
		points := enginetest.Load(t, c.text+sweep).Points
		known := map[string]bool{}
		for i, p := range points {
			first, second := c.lists[0][i/len(c.lists[1])], c.lists[1][i%len(c.lists[1])]
			alone := enginetest.Load(t, c.text, c.swept[0]+"="+first, c.swept[1]+"="+second).Points[0]
			simtest.ErrorIf(t, p.Hash != alone.Hash || known[p.Hash], "%s = %s, %s = %s: %s in the sweep, %s alone; want the same, of no other point", c.swept[0], first, c.swept[1], second, p.Hash, alone.Hash)
			known[p.Hash] = true
		}
	}
	enginetest.Refused(t, traffic+"[[traffic.phase]]\nat = 5\n", "traffic.phase is not a key of [traffic]: allowed are load, packet_flits, packet_weights, pattern, process, self; there is a table [phase.NAME]")
}

const operationsOf = "topology = { type = \"single-switch\", terminals = 8 }\nhca = { preset = \"ndr\" }\n"

// TestOperationsOfJobs: a job by itself has the times that kind mpi has of its program, and runs that repeat
// are averaged: the second finds connections made, and so is no slower.
func TestOperationsOfJobs(t *testing.T) {
	const program = "algorithm = \"allreduce-ring\"\nbytes = \"64KiB\"\niterations = 3\n"
	one := enginetest.OutcomeOf(t, "kind = \"mpi\"\n"+operationsOf+"job = { ranks = 8, machine = \"fabric\" }\nplacement = { per_node = 1 }\n"+
		"[workload]\ntype = \"osu-alltoall\"\n"+program).Results
	jobs := func(repeat string) map[string]float64 {
		o := enginetest.OutcomeOf(t, "kind = \"jobs\"\n"+operationsOf+"routing = { type = \"table\" }\n"+
			"[job.it]\nranks = 8\nprogram = \"osu-alltoall\"\n"+program+"repeat = "+repeat+"\n")
		m := map[string]float64{}
		columns := tables.Named("jobs").Columns
		for _, c := range columns[len(columns)-len(operationSums{}):] {
			m[c.Name] = enginetest.Numbers(t, o.Tables["jobs"], c.Name)[0]
		}
		return m
	}
	once, twice := jobs("1"), jobs("2")
	for name, got := range once {
		want := enginetest.Numbers(t, one, name)[0]
		simtest.Equal(t, math.IsNaN(want), name == "bandwidth_bytes_per_s" || name == "messages_per_s", "%s = %v, no number:", name, want)
		if math.IsNaN(want) {
			continue
		}
		simtest.Near(t, got, want, 1e-9*want, "%s of a job, and of kind mpi:", name)
		simtest.Near(t, twice[name], want, 0.1*want, "%s of two runs, and of one:", name)
	}
}
