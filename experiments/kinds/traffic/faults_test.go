package traffic

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/experiments/kinds/exchange"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/simtest"
)

// torus16 is a 4x4 torus routed by tables.
const torus16 = `kind = "traffic"
[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "table"
[measure]
warmup = 500
window = 20000
`

// TestFailuresRefused: what is wrong with the tables, and with what is around
// them, is said with the place in the file. Of a switch that is down, its terminal and the 15 others have
// no paths to each other.
func TestFailuresRefused(t *testing.T) {
	for _, c := range simtest.Cases(t, "testdata/faults.txt") {
		t.Run(c.Name, func(t *testing.T) {
			_, err := experiments.Load("x.toml", torus16+c.Given, experiments.Options{})
			simtest.Equal(t, fmt.Sprint(err), strings.Replace(c.Want, "ROUTINGS", strings.Join(routing.AroundFaults(), ", "), 1), "got\n")
		})
	}
}

// TestFailuresOfGroups: what routings on groups say of faults that they cannot go
// around. In a dragonfly of one channel between any two groups MIN has no other.
func TestFailuresOfGroups(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"type = \"min\"\n[fault.a]\nlinks = [\"switch 0 port 5\"]\n",
			`x.toml:4:1: routing.type routing "min" has no path from group 0 to group 1 around faults (the link from switch 0 port 5 to switch 4 port 5); routing "table" finds every path`},
		{"type = \"val\"\n[fault.a]\nlinks = [\"switch 0 - switch 1\"]\n",
			`x.toml:4:1: routing.type routing "val" needs a channel between any two switches of a group; switch 0 and switch 1 have none (the link from switch 0 port 2 to switch 1 port 2); routing "table" finds every path`},
		{"type = \"ugal-l-cr\"\n[fault.a]\nlinks = [\"switch 0 port 5\"]\nat = 100\n",
			`x.toml: switch.credit_sensing = "auto" does not go with faults that come or go during the run: packets that are dropped leave round trips open; "off" does`},
		{"type = \"ugal-l\"\nintermediate = \"any-router\"\n[fault.a]\nlinks = [\"switch 0 port 5\"]\n",
			`x.toml:5:1: routing.intermediate = any-router: want "group" or "router" in a network with faults`},
		{"type = \"ugal-l\"\n[fault.a]\nlinks = [\"switch 0 port 5\"]\nat = 100\n", ``},
	} {
		_, err := experiments.Load("x.toml", "kind = \"traffic\"\n"+"topology = { type = \"dragonfly\", p = 2, a = 4, h = 2 }\n[routing]\n"+c.text, experiments.Options{})
		got := fmt.Sprint(err)
		simtest.ErrorIf(t, got != c.want && (c.want != "" || err != nil), "got\n%s\nwant\n%s", got, c.want)
	}
}

// TestSwitchDown: with one of 16 switches down from the start, 30 of 240 pairs of terminals have no
// path, and uniform traffic has 30/240 of its packets given up, the rest delivered in the predicted
// time. At a load of 0.02 some 6,500 packets are born: the share of those given up has a standard
// deviation of 0.4 points, the accepted load one of 1.3 %, the mean latency one of 0.3 %, and
// queues add 1 % to it.
func TestSwitchDown(t *testing.T) {
	f := enginetest.Load(t, torus16+"[fault.a]\nswitches = [\"switch 3\"]\n[recovery]\nunreachable = \"count\"\n[traffic]\nload = 0.02\n")
	want := forecastOf(t, f)
	o := enginetest.Execute(t, f, engine.Execution{})
	delivered, unreachable := enginetest.Single(t, o, "packets_measured"), enginetest.Single(t, o, "packets_unreachable")
	share := unreachable * 20 / 20.5 / (delivered + unreachable*20/20.5)
	simtest.ErrorIf(t, math.Abs(share-0.125) > 0.013,
		"%v packets delivered, %v unreachable: a share of %v, want 0.125", delivered, unreachable, share)
	simtest.Near(t, enginetest.Single(t, o, "accepted_load"), 0.0175, 0.04*0.0175, "accepted")
	simtest.Near(t, enginetest.Single(t, o, "latency_mean_ns"), want.latency, 0.02*want.latency, "latency")
	simtest.Alike(t, "packets without a path are not sent", enginetest.Single(t, o, "packets_dropped"), 0, enginetest.Single(t, o, "packets_lost"), 0)
	at, err := o.Results.Column("state")
	simtest.ErrorIf(t, err != nil || o.Results.Rows[0][at] != "steady", "a network that delivers what can be delivered is not steady")
}

// TestLinkFails: a cable that fails while the network is busy takes packets with
// it; with retries all of them arrive in the end.
func TestLinkFails(t *testing.T) {
	const fault = "[fault.a]\nlinks = [\"switch 0 - switch 1\"]\nat = 1000\nuntil = 3000\n[recovery]\nreroute = 200\ntimeout = \"2us\"\n[traffic]\nload = 0.4\n"
	plain := enginetest.OutcomeOf(t, torus16+fault)
	dropped, lost := enginetest.Single(t, plain, "packets_dropped"), enginetest.Single(t, plain, "packets_lost")
	simtest.ErrorIf(t, dropped == 0 || lost != dropped, "%v dropped, %v lost without retries", dropped, lost)
	// Waiting for timers, longer than the network may drain, is not saturation.
	patient := enginetest.OutcomeOf(t, torus16+fault, "recovery.retries=7", "recovery.timeout=12us", "measure.window=3000")
	if at, err := patient.Results.Column("state"); err != nil || patient.Results.Rows[0][at] != "steady" || enginetest.Single(t, patient, "latency_max_ns") < 12_000 {
		t.Errorf("%v", patient.Results.Rows)
	}
	again := enginetest.OutcomeOf(t, torus16+fault, "recovery.retries=7")
	d, r, l := enginetest.Single(t, again, "packets_dropped"), enginetest.Single(t, again, "packets_retransmitted"), enginetest.Single(t, again, "packets_lost")
	simtest.ErrorIf(t, d == 0 || r != d || l != 0, "%v dropped, %v sent again, %v lost", d, r, l)
}

// TestFailuresInNetwork: the description of the network says what fails.
func TestFailuresInNetwork(t *testing.T) {
	f := enginetest.Load(t, torus16+"[fault.a]\nlinks = [\"switch 0 - switch 1\"]\nat = 7\n")
	n := simtest.Must(network.Of(f, f.Points[0]))(t)
	var b strings.Builder
	n.Describe(&b)
	want := "faults     from cycle 0 on nothing is down\nfaults     from cycle 7 on the link from switch 0 port 1 to switch 1 port 2; 1 links in all\n"
	simtest.ErrorIf(t, !strings.HasSuffix(b.String(), want), "%s, want at the end %s", b.String(), want)
}

// TestFailuresInPreflight: what is down when is said for each point, and points
// with other faults have certificates and bounds of their own.
func TestFailuresInPreflight(t *testing.T) {
	f := enginetest.Load(t, torus16+"[fault.a]\nseed = 1\n[sweep]\n\"fault.a.fraction\" = [0, 0.1]\n")
	report := simtest.Must(f.Preflight(true))(t)
	text := notesOf(report)
	for _, want := range []string{
		"faults fault.a.fraction = 0: from cycle 0 on nothing is down\n",
		"; 3 links in all\n", // 0.1 of 32
		"deadlock fault.a.fraction = 0: free from deadlock: ",
		"deadlock fault.a.fraction = 0.1: free from deadlock: ",
	} {
		simtest.ErrorIf(t, !strings.Contains(text, want), "no %q in\n%s", want, text)
	}
}

// TestFaultsAfterWarmup: faults that count from the end of a warm-up of 600 cycles are those
// that begin 600 cycles later from the start.
func TestFaultsAfterWarmup(t *testing.T) {
	fromStart := strings.NewReplacer("since = \"warmup\"\nfraction = 0.1", "at = 600\nfraction = 0.1",
		"since = \"warmup\"\nswitches", "switches", "at = 100", "at = 700", "until = 500", "until = 1100").Replace(enginetest.OwnFaults)
	for _, more := range []string{"", "[sweep]\nseed = [1, 2]\n\"traffic.load\" = [0.1, 0.4]\n"} {
		got := enginetest.Execute(t, enginetest.Load(t, enginetest.OwnFaults+more), engine.Execution{Threads: 2}).Results
		want := enginetest.OutcomeOf(t, fromStart+more).Results
		simtest.ErrorIf(t, !reflect.DeepEqual(got, want), "%v\nwant\n%v", got.Rows, want.Rows)
		for _, column := range []string{"packets_dropped", "packets_retransmitted"} {
			for i, n := range enginetest.Numbers(t, got, column) {
				simtest.ErrorIf(t, n == 0, "point %d: no %s", i, column)
			}
		}
	}
}

// TestSinceProblems: what cannot count from the end of the warm-up is refused.
func TestSinceProblems(t *testing.T) {
	enginetest.Refusals(t, "", map[string]string{
		enginetest.Dragonfly + "[fault.a]\nsince = \"warmup\"\n[fault.b]\nat = 7\n": "fault.b comes or goes at a cycle of the run",
		enginetest.Dragonfly + "[fault.a]\nsince = \"later\"\n":                     "fault.a.since",
		"kind = \"exchange\"\n[fault.a]\nsince = \"warmup\"\n":                      "fault.a.since = warmup: want \"\": this kind has no warm-up",
	})
}
