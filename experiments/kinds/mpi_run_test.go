package kinds

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
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
