package jobruns

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/judge"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	"github.com/weft-sim/weft/sim/simtest"
)

// forged writes a folder with a run of Cosmoflow on four terminals of two groups, whose first
// iteration takes so many ns.
func forged(t *testing.T, first float64, changed map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	const key = "cosmoflow,alone,random,minimal,"
	files := map[string]string{
		"ranks.csv":      "app,situation,placement,routing,rank,terminal,io_write_time_ns\n" + key + "0,0,5e6\n" + key + "1,1,5e6\n" + key + "2,32,5e6\n" + key + "3,33,5e6\n" + "checkpoint,alone,random,minimal,0,5,1e9\n",
		"summary.csv":    "app,situation,placement,routing,metric,median\n" + key + "comm_time_ns,7\n" + key + "comm_minus_io_ns,5e7\n",
		"iterations.csv": "app,situation,placement,routing,iteration,median_ns\n" + key + "0," + strconv.FormatFloat(first, 'g', -1, 64) + "\n",
	}
	for name, text := range files {
		if other, ok := changed[name]; ok {
			text = other
		}
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return dir
}

func session(t *testing.T) (*judge.Session, *bytes.Buffer) {
	var out bytes.Buffer
	return &judge.Session{Context: context.Background(), Stdout: &out, Stderr: &out, Out: t.TempDir(), Quick: true,
		Execute: func(f *experiments.File, dir string, _ bool) (*engine.Outcome, error) {
			return engine.Execute(context.Background(), f, engine.Execution{Dir: dir, Threads: 1})
		}}, &out
}

// TestJudge: a rank writes for 1 ms (a fifth of 5) and computes for 129 ms; of 29,516,800 B it sends half at
// distance 1 and a quarter at distance 2, and as much on the way back, each with 0.55 ns a byte until
// the network interface has it, and each message over channels of 5.25 GiB/s, the slowest within a group,
// or 4.7 between: 12.2 ms and 7.9 to 8.8 ms. All take the same way there and back.
func TestJudge(t *testing.T) {
	const want = 130e6 + (0.55+0.19)*2*29516800*0.75
	for median, verdict := range map[float64]string{want: judge.Agrees, 1.2 * want: judge.Differs} {
		r := simtest.Must(Open(forged(t, median, nil)))(t)
		s, out := session(t)
		o, err := s.Judge(r)
		simtest.ErrorIf(t, err != nil || o.Failed != (verdict == judge.Differs) || o.Unreadable || !strings.Contains(out.String(), verdict),
			"%v ns: %+v, %v\n%s", median, o, err, out)
	}
}

// What is wrong with a folder is named with its place.
func TestFolderProblems(t *testing.T) {
	simtest.Refuse(Open(t.TempDir()))(t, "ranks.csv")
	for text, changed := range map[string]map[string]string{
		"summary.csv:2: median = \"x\"":        {"summary.csv": "app,situation,placement,routing,metric,median\ncosmoflow,alone,random,minimal,comm_minus_io_ns,x\n"},
		"summary.csv has no median":            {"summary.csv": "app,situation,placement,routing,metric,median\n"},
		"iterations.csv:2: iteration = \"-1\"": {"iterations.csv": "app,situation,placement,routing,iteration,median_ns\ncosmoflow,alone,random,minimal,-1,4\n"},
		"want minimal or prog-adaptive":        {"ranks.csv": "app,situation,placement,routing,rank,terminal,io_write_time_ns\ncosmoflow,alone,random,lost,0,0,1\n"},
		"not from 0 on, each once":             {"ranks.csv": "app,situation,placement,routing,rank,terminal,io_write_time_ns\ncosmoflow,alone,random,minimal,1,0,1\n"},
		"has no column terminal":               {"ranks.csv": "app,situation,placement,routing,rank,io_write_time_ns\n"},
	} {
		said := ""
		if r, err := Open(forged(t, 1e8, changed)); err != nil {
			said = err.Error()
		} else {
			s, out := session(t)
			if _, err := s.Judge(r); err != nil {
				said = err.Error()
			}
			said += out.String()
		}
		simtest.ErrorIf(t, !strings.Contains(said, text), "says %s, want %q", said, text)
	}
}

// TestIdleNetwork: what a message takes alone, by hand. It is 10 ns of CPU, 3,500 ns, 0.55 ns a byte and
// 10 ns until it enters the network, on each channel the time of its bytes and that of 4,096 more, and in
// each router 100 ns. So 8 B take 577.8 ns from a terminal to another of its router, as MFNetSim's folder
// has it. Here they are flits, of 64 B, and cycles of 3.7 ns make it up to 4 ns more or less at each channel.
func TestIdleNetwork(t *testing.T) {
	const terminal, local, global = 16, 5.25, 4.7 // GiB/s
	for _, c := range []struct {
		to       int
		bytes    float64
		channels []float64
	}{
		{1, 64, []float64{terminal, terminal}},
		{1000, 64, []float64{terminal, local, global, local, terminal}},
		{1000, 4096, []float64{terminal, local, global, local, terminal}},
	} {
		want := 10 + 3500 + 10 + 0.55*c.bytes + 100*float64(len(c.channels)-1)
		for _, rate := range c.channels {
			want += (c.bytes + 4096) / (rate * (1 << 30)) * 1e9
		}
		text := strings.Replace(network, "[hca]\n", routings["minimal"]+"[hca]\n", 1) +
			fmt.Sprintf("[job.a]\nprogram = \"ping-pong\"\nbytes = \"%vB\"\niterations = 5\nranks = 2\nplacement = \"listed\"\nnodes = [0, %d]\n", c.bytes, c.to)
		s, _ := session(t)
		o, err := s.Run("idle", simtest.Must(s.Load("idle", text, false))(t), t.TempDir())
		simtest.FatalIf(t, err != nil || len(o.Failures) > 0, "%v %v", err, o.Failures)
		ranks := o.Tables["job_ranks"]
		got := simtest.Must(strconv.ParseFloat(ranks.Rows[0][slices.Index(ranks.Columns, "finish_ns")], 64))(t) / 10
		simtest.ErrorIf(t, math.Abs(got-want) > 4*float64(len(c.channels)), "%v B to terminal %d: %.1f ns, want %.1f", c.bytes, c.to, got, want)
	}
}
