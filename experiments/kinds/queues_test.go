package kinds

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

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
