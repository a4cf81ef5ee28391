package kinds

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
)

// TestBlameTables: the parts of blame.csv add up to the mean latency of the
// row, for all packets, over switches and terminals, and over channels; and a
// hot terminal is named as the root of the congestion.
func TestBlameTables(t *testing.T) {
	f := load(t, `
kind = "traffic"
[topology]
type = "mesh"
dims = [3, 3]
[routing]
type = "dor"
[traffic]
pattern = "hot-spot"
fraction = 0.9
load = 0.25
[measure]
warmup = 500
window = 1000
replications = 2
blame = true
`, experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	blame := o.Tables["blame"]
	scope, err := blame.Column("scope")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for i, x := range numbers(t, blame, "total_ns") {
		parts := 0.0
		for _, name := range core.PartNames {
			parts += numbers(t, blame, name+"_ns")[i]
		}
		if math.Abs(parts-x) > 1e-6 {
			t.Errorf("row %v: parts add up to %v", blame.Rows[i], parts)
		}
		sums[blame.Rows[i][scope]] += x
	}
	// Replications weigh as many packets as they have here, alike in the row.
	mean := numbers(t, o.Results, "latency_mean_ns")[0]
	if math.Abs(sums["all"]/mean-1) > 0.05 || math.Abs(sums["channel"]-sums["all"]) > 1e-6*mean {
		t.Errorf("mean latency %v, sums %v", mean, sums)
	}
	tree := o.Tables["congestion"]
	if len(tree.Rows) < 3 {
		t.Fatalf("congestion: %v", tree.Rows)
	}
	to, err := tree.Column("to")
	if err != nil {
		t.Fatal(err)
	}
	if depth := numbers(t, tree, "depth"); depth[0] != 0 || depth[1] != 1 || !strings.HasPrefix(tree.Rows[0][to], "terminal") {
		t.Errorf("congestion: %v", tree.Rows)
	}
	again := execute(t, f, experiments.Execution{})
	for name, table := range o.Tables {
		for i, row := range table.Rows {
			if strings.Join(row, ",") != strings.Join(again.Tables[name].Rows[i], ",") {
				t.Fatalf("%s differs from run to run: %v, %v", name, row, again.Tables[name].Rows[i])
			}
		}
	}
}

// queued samples the ports of some switches and of a class.
const queued = `
[topology]
type = "fat-tree"
k = 4
n = 3
[routing]
type = "nca"
[program]
type = "heeding"
[switch]
flow_control = "cut-through"
hold = true
marking = "threshold"
mark_flits = 4
[traffic]
packet_flits = [2, 5]
[measure]
warmup = 500
window = 3000
queues = "100ns"
queue_ports = ["switch 1*", "level2"]
queue_samples = ["waiting", "outstanding", "sent", "marked"]
[sweep]
"fabric.unit" = ["flit", "packet"]
`

func init() {
	longRuns["queues"] = longRun{"traffic", strings.Replace(queued, "100ns", "1us", 1), "measure.window=200000", []string{"queues.csv"}}
}

// TestQueues: queues.csv has 30 samples of the ports that are named, the same on any number of
// threads and with either unit. Of the 20 switches of 4 ports 11 have names that begin with
// "switch 1"; of the upper channels, those of the upper ports of switches 8 and 9 come to that:
// 11*4 + 2*2 ports.
func TestQueues(t *testing.T) {
	divideAlways(t)
	var want string
	for threads := 1; threads <= 3; threads++ {
		f := load(t, queued, experiments.Options{})
		o := execute(t, f, experiments.Execution{Threads: threads})
		table := o.Tables["queues"]
		var text strings.Builder
		if err := table.Write(&text); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = text.String()
		}
		if text.String() != want {
			t.Errorf("%d threads write another series", threads)
		}
		points := map[string]string{}
		ports := map[string]bool{}
		for _, row := range table.Rows {
			points[row[0]] += strings.Join(row[3:], ",") + "\n" // behind the point, its keys and its seed
			ports[row[4]] = true
		}
		if len(points) != 2 || points["0"] != points["1"] {
			t.Errorf("%d points; those of packets have other series than those of flits", len(points))
		}
		if n := strings.Count(points["0"], "\n"); n != 30*len(ports) || len(ports) != 48 || !ports["switch 1 port 3"] || ports["switch 2 port 0"] {
			t.Errorf("%d rows of %d ports", n, len(ports))
		}
		for _, column := range []string{"waiting_flits", "outstanding_flits", "sent_flits", "marked_packets"} {
			sum := 0.0
			for _, x := range numbers(t, table, column) {
				sum += x
			}
			if sum == 0 {
				t.Errorf("all is 0 in column %s", column)
			}
		}
	}
}

// TestQueuesRefusals: what names no port, and what cannot be sampled, is a problem of the file.
func TestQueuesRefusals(t *testing.T) {
	for _, c := range []struct{ change, to, want string }{
		{`"switch 1*"`, `"swich 1"`, `measure.queue_ports[0] = "swich 1" names no port: want all, a class of channels such as level2`},
		{"marking = \"threshold\"\nmark_flits = 4", "", `measure.queue_samples[3] = "marked": want others, or a switch.marking`},
		{`"sent", "marked"]`, `"lost"]`, "measure.queue_samples"},
		{`"nca"`, `"adaptive-escape"`, `measure.queue_samples[0] = "waiting": want others with this routing, whose packets wait for several ports`},
	} {
		text := strings.Replace(queued, c.change, c.to, 1)
		if _, err := experiments.Load("x.toml", text, experiments.Options{}); text == queued || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
}

// FuzzMatches holds patterns to regular expressions.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{{"switch 1", "switch 1"}, {"switch *", "switch 12"}, {"*port 1", "switch 1 port 1"}, {"a*a", "a"}, {"*b*", "abc"}, {"**", ""}, {"", "x"}, {"ab*b*b", "abb"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		expression, err := regexp.Compile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
		if err != nil {
			t.Skip(err) // it is no text
		}
		if got, want := matches(pattern, name), expression.MatchString(name); got != want {
			t.Errorf("pattern %q and %q: %v, want %v", pattern, name, got, want)
		}
	})
}
