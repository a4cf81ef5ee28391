package kinds

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

const noisyExchange = `
kind = "mpi"
[job]
ranks = 8
[placement]
per_node = 2
[workload]
type = "osu-alltoall"
bytes = "1KiB"
iterations = 3
[noise]
start_skew = "3us"
call = "200ns"
daemon_every = "100us"
daemon_time = "5us"
[measure]
`

// TestMPIReplications: the row is the mean of runs with the derived seeds; the
// half-widths of three are Student's t of 2 degrees of freedom, 4.30265, times
// the standard error. A single run has none.
func TestMPIReplications(t *testing.T) {
	f := load(t, noisyExchange+"replications = 3\n", experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	c := f.Points[0].Config().(*mpiConfig)
	var elapsed, steady [3]float64
	for i := range elapsed {
		row, err := c.simulate(t.Context(), &experiments.Run{Seed: f.Points[0].Seed}, i, &mpiObserved{})
		if err != nil {
			t.Fatal(err)
		}
		elapsed[i], steady[i] = row.Elapsed, row.Steady
	}
	if elapsed[0] == elapsed[1] || elapsed[1] == elapsed[2] {
		t.Error("replications are not independent")
	}
	for name, x := range map[string][3]float64{"elapsed": elapsed, "steady_iteration": steady} {
		mean := (x[0] + x[1] + x[2]) / 3
		variance := 0.0
		for _, y := range x {
			variance += (y - mean) * (y - mean) / 2
		}
		if got := numbers(t, o.Results, name+"_s")[0]; math.Abs(got-mean) > 1e-9*mean {
			t.Errorf("%s_s = %v, want %v", name, got, mean)
		}
		want := 4.302653 * math.Sqrt(variance/3)
		if got := numbers(t, o.Results, name+"_ci95_s")[0]; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s_ci95_s = %v, want %v", name, got, want)
		}
	}
	// 56 messages of the exchange an iteration and 24 of the barrier (3 rounds).
	if got := numbers(t, o.Results, "messages")[0]; got != 3*(56+24) {
		t.Errorf("%v messages, want those of a run, %d", got, 3*(56+24))
	}
	if got := numbers(t, o.Results, "replications")[0]; got != 3 {
		t.Errorf("%v replications", got)
	}
	o = execute(t, load(t, noisyExchange, experiments.Options{}), experiments.Execution{})
	if got := numbers(t, o.Results, "elapsed_s")[0]; got != elapsed[0] {
		t.Errorf("a single run takes %v s, the first of several %v", got, elapsed[0])
	}
	if got := numbers(t, o.Results, "elapsed_ci95_s")[0]; got == got {
		t.Errorf("a single run has an interval, %v", got)
	}
}

// weft compare finds the intervals of replicated programs: twice the noise is
// significantly slower, and what is compared with itself is equal.
func TestCompareMPI(t *testing.T) {
	f := load(t, strings.Replace(noisyExchange, `"200ns"`, `"400ns"`, 1)+"replications = 5\n", experiments.Options{})
	more := execute(t, f, experiments.Execution{}).Results
	f = load(t, noisyExchange+"replications = 5\n", experiments.Options{})
	less := execute(t, f, experiments.Execution{}).Results
	c, err := experiments.Compare(less, more, "elapsed_s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Differences[0]; d.Significance != results.Higher || !(d.HalfWidth > 0) {
		t.Errorf("%+v", d)
	}
	if c, err = experiments.Compare(less, less, "elapsed_s", nil); err != nil || c.Differences[0].Significance != results.Unclear {
		t.Errorf("%+v, %v", c, err)
	}
}

// A daemon that leaves no time is refused before anything runs.
func TestNoiseProblems(t *testing.T) {
	_, err := experiments.Load("x.toml", "kind = \"mpi\"\n[noise]\ndaemon_every = \"1us\"\ndaemon_time = \"1us\"\n", experiments.Options{})
	if want := "noise.daemon_time = 1us: want less than daemon_every"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// The number of threads and of points side by side changes nothing in what noise
// does.
func TestNoiseAnyJobs(t *testing.T) {
	var first string
	for _, jobs := range []int{1, 3} {
		f := load(t, noisyExchange+"replications = 2\n[sweep]\n\"workload.bytes\" = [\"64B\", \"1KiB\", \"16KiB\"]\n", experiments.Options{})
		text := fmt.Sprint(execute(t, f, experiments.Execution{Jobs: jobs}).Results.Rows)
		if first == "" {
			first = text
		} else if text != first {
			t.Errorf("%d jobs:\n%s\none:\n%s", jobs, text, first)
		}
	}
}

// TestMPILinks: ten times a message of 1000 B goes to and fro between two nodes of a switch, and a
// barrier is not part of it. It takes 16 flits of 64 B: 160 flits on each of the four
// channels, and in the series, whatever its intervals are.
func TestMPILinks(t *testing.T) {
	f := load(t, `
kind = "mpi"
[job]
ranks = 2
machine = "fabric"
[placement]
per_node = 1
[workload]
type = "ping-pong"
bytes = "1000B"
iterations = 10
[topology]
terminals = 2
[channel.terminal]
cycles_per_flit = 1
[measure]
links = true
series = 3
blame = true
`, experiments.Options{})
	dir := t.TempDir()
	o := execute(t, f, experiments.Execution{Dir: dir})
	for _, flits := range numbers(t, o.Tables["links"], "flits") {
		if flits != 160 {
			t.Errorf("a channel carries %v flits, want 160", flits)
		}
	}
	rows := strings.Split(strings.TrimSpace(read(t, dir, "series", "0.csv")), "\n")
	if len(rows) != 5 {
		t.Fatalf("the series has %d rows, want a header and 4 channels", len(rows))
	}
	for _, row := range rows[1:] {
		sum, cells := 0, strings.Split(row, ",")
		for _, cell := range cells[3:] {
			n, err := strconv.Atoi(cell)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if n := len(cells) - 3; sum != 160 || n < 3 || n > 6 {
			t.Errorf("%s: %d flits in %d intervals", row, sum, n)
		}
	}
	// 20 packets of 16 flits, on channels of a flit a cycle. None waits for another: a cycle at its
	// terminal, one on each channel, one in the switch, and 15 behind the head on the way to the
	// terminal: 19 cycles of 16 ns.
	blame := o.Tables["blame"]
	for column, want := range map[string]float64{"packets": 20, "total_ns": 19 * 16, "wire_ns": 2 * 16, "source_queue_ns": 16, "credit_stall_ns": 0} {
		if got := numbers(t, blame, column)[0]; got != want {
			t.Errorf("%s = %v, want %v", column, got, want)
		}
	}
}

// TestMPICarries: in an all-to-all of 64 KiB on 8 nodes 8*7*64 KiB reach terminals, in flits of 64 B,
// beside control messages, in packets of 2 KiB; some wait.
func TestMPICarries(t *testing.T) {
	f := load(t, `
kind = "mpi"
[job]
ranks = 8
machine = "fabric"
[placement]
per_node = 1
[workload]
type = "osu-alltoall"
algorithm = "alltoall-linear"
bytes = "64KiB"
iterations = 1
[topology]
terminals = 8
[measure]
blame = true
links = true
`, experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	congestion := o.Tables["congestion"]
	if len(congestion.Rows) == 0 {
		t.Fatal("no congestion")
	}
	flits, packets := 0.0, numbers(t, o.Tables["blame"], "packets")[0]
	for _, n := range numbers(t, o.Tables["links"], "flits")[:8] {
		flits += n
	}
	if want := 8.0 * 7 * 65536 / 64; flits < want || flits > 1.05*want || packets < want/32 {
		t.Errorf("%v flits of %v packets reach terminals, want %v and little more", flits, packets, want)
	}
}

// TestMPIObservedThreads: what is seen of the network does not depend on the number of threads.
func TestMPIObservedThreads(t *testing.T) {
	divideAlways(t)
	for i, network := range simtest.Some(t, 0, threadedNetworks...) {
		text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\n[placement]\nper_node = 2\n[measure]\nlinks = true\nblame = true\ntimeline = true\nseries = 4\n[trace]\npackets = 20\nchoose = \"slowest\"\n" + threaded[0].text + network.text
		sameOnThreads(t, network.name, load(t, text, experiments.Options{}), simtest.Threads(t, i), true, "links", "blame", "congestion", "packets", "timeline", "critical_path")
	}
}

// What only a fabric has is refused of other machines, with its key.
func TestMPIObservedNeedsFabric(t *testing.T) {
	for _, machine := range []string{"loggp", "loggops"} {
		for key, text := range map[string]string{"measure.links": "[measure]\nlinks = true\n", "measure.series": "[measure]\nseries = 2\n", "measure.blame": "[measure]\nblame = true\n", "trace.packets": "[trace]\npackets = 1\n"} {
			_, err := experiments.Load("x.toml", fmt.Sprintf("kind = \"mpi\"\n[job]\nmachine = %q\n%s", machine, text), experiments.Options{})
			if err == nil || !strings.Contains(err.Error(), key+" ") || !strings.Contains(err.Error(), "has no channels") {
				t.Errorf("%s, %s: %v", machine, key, err)
			}
		}
	}
}
