package traffic

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/experiments/kinds/exchange"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
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
	simtest.ErrorIf(t, math.Abs(share-0.125) > 0.013, "%v packets delivered, %v unreachable: a share of %v, want 0.125", delivered, unreachable, share)
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
	at, err := patient.Results.Column("state")
	simtest.ErrorIf(t, err != nil || patient.Results.Rows[0][at] != "steady" || enginetest.Single(t, patient, "latency_max_ns") < 12_000, "%v", patient.Results.Rows)
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
		enginetest.Dragonfly + "[fault.a]\nsince = \"warmup\"\n[fault.b]\nat = 7\n":                        "fault.b comes or goes at a cycle of the run",
		enginetest.Dragonfly + "[fault.a]\nsince = \"later\"\n":                                            "fault.a.since",
		enginetest.Dragonfly + "[fault.a]\nfraction = 0.1\nsince = \"warmup\"\nat = 9223372036854775807\n": "fault.a.at = 9223372036854775807: want", // came at once
		// 16 terminals that send a packet in ten cycles make 10^13 in 9,000 s of 1 ns, of 80 B each: more than any machine has.
		torus16 + "[fault.a]\nfraction = 0.1\nat = 7\n[recovery]\nretries = 1\ntimeout = \"9000s\"\n": "recovery.timeout",
		"kind = \"exchange\"\n[fault.a]\nsince = \"warmup\"\n":                                        "fault.a.since = warmup: want \"\": this kind has no warm-up",
	})
}

// A fabric of two switches with cables of the given speeds between switches and to hosts.
func speedFabric(t *testing.T, trunk, edge string) string {
	t.Helper()
	text := strings.NewReplacer("TRUNK", trunk, "EDGE", edge).Replace(`Switch 4 "S-a" # "a" base port 0 lid 1 lmc 0
[1] "H-c"[1](c1) # "c" lid 3 EDGE
[2] "S-b"[2] # "b" lid 2 TRUNK
Switch 4 "S-b" # "b" base port 0 lid 2 lmc 0
[1] "H-d"[1](d1) # "d" lid 4 EDGE
[2] "S-a"[2] # "a" lid 1 TRUNK
Ca 1 "H-c" # "c"
[1](c1) "S-a"[1] # lid 3 lmc 0 "a" lid 1 EDGE
Ca 1 "H-d" # "d"
[1](d1) "S-b"[1] # lid 4 lmc 0 "b" lid 2 EDGE
`)
	path := filepath.Join(t.TempDir(), "fabric.txt")
	simtest.Check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The clock of an imported fabric is the time of a flit of 64 bytes on its fastest cable: 512 bits.
func TestClockFollowsTheFabric(t *testing.T) {
	for _, c := range []struct {
		name, trunk, edge, more string
		want                    sim.Time
	}{
		{"EDR", "4xEDR", "4xEDR", "", 5120},
		{"mixed", "4xFDR", "4xHDR", "", 2560},
		{"the trunk is faster", "4xNDR", "1xEDR", "", 1280},
		{"XDR, faster than the default", "4xXDR", "4xXDR", "", 640},
		{"FDR does not divide", "4xFDR", "4xFDR", "", 9386}, // 512/54.545454545 = 9386.67
		{"no rates", "4x???", "4x???", "", 1000},
		{"stated", "4xEDR", "4xEDR", "[fabric]\nclock = \"2ns\"\n", 2000},
		{"larger flits", "4xEDR", "4xEDR", "[fabric]\nflit_bytes = \"128B\"\n", 10240},
		{"a channel of another rate", "4xEDR", "4xSDR", "[channel.4xSDR]\nrate = \"200Gb/s\"\n", 2560},
		{"a channel of another link", "4xEDR", "4xSDR", "[channel.4xSDR]\nlink = \"4xNDR\"\n", 1280},
		// The longest divisor of 100 ns that is not above 5,120 ps.
		{"latencies", "4xEDR", "4xSDR", "[channel.4xSDR]\nlatency = \"100ns\"\n", 5000},
		{"link", "4xEDR", "4xEDR", "[fabric]\nlink = \"4xHDR\"\n", 2560},
	} {
		f := enginetest.Load(t, "[topology]\ntype = \"ibnetdiscover\"\npath = \""+speedFabric(t, c.trunk, c.edge)+"\"\n[routing]\ntype = \"table\"\n"+c.more)
		simtest.Equal(t, f.Points[0].Config().(*trafficConfig).Fabric.Clock, c.want, "%s:", c.name)
	}
}

// Generated networks have the clock that they are given; a link gives it, too.
func TestClockOfLinks(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n"
	for _, c := range []struct {
		text string
		want sim.Time
	}{
		{"", 1000},
		{"[fabric]\nlink = \"4xQDR\"\n", 16000},
		{"[fabric]\nlink = \"4xNDR\"\nflit_bytes = \"32B\"\n", 640},
		{"[fabric]\nlink = \"4xNDR\"\nclock = \"1280ps\"\n", 1280}, // as the resolved file says it
	} {
		simtest.Equal(t, enginetest.Load(t, torus+c.text).Points[0].Config().(*trafficConfig).Fabric.Clock, c.want, "%q:", c.text)
	}
	enginetest.Refusals(t, torus, map[string]string{
		"[fabric]\nlink = \"4xNDR\"\nclock = \"1ns\"\n":        "fabric.clock = 1ns: want 1.28ns, the time of a flit on fabric.link = \"4xNDR\", or either of them left out",
		"[fabric]\nlink = \"3xNDR\"\n":                         "fabric.link = 3xNDR: want a width of 1x,",
		"[channel.grid]\nlink = \"4xndr\"\n":                   "channel.grid.link = 4xndr: want a width of 1x,",
		"[channel.grid]\nlink = \"4xHDR\"\nrate = \"1Gb/s\"\n": "channel.grid.link = 4xHDR: want it alone",
		"[channel.grid]\nlink = \"4xXDR\"\n":                   "want at least 1 cycle a flit: fabric.clock = \"640ps\" works with flits of 64B, and so do larger flits",
	})
	f := enginetest.Load(t, torus+"[fabric]\nclock = \"1ns\"\n[channel.grid]\nlink = \"4xEDR\"\n")
	parts := simtest.Must(f.Points[0].Config().(*trafficConfig).build(1))(t)
	timings, err := parts.fabric.ChannelTimings(parts.topology.Graph())
	simtest.ErrorIf(t, err != nil || timings[1].CyclesPerFlit < 5.11999 || timings[1].CyclesPerFlit > 5.12001, "%+v, %v", timings, err)
}

// TestCyclesAsTimes: settings in cycles take times, in any table, swept or given with --set.
// With a clock of 3 ns, 1.5 us are 500 cycles and 100 ns are 34, since 33 are 99 ns.
func TestCyclesAsTimes(t *testing.T) {
	const text = `kind = "traffic"
topology = { type = "torus", dims = [4, 4] }
routing = { type = "table" }
fabric = { clock = "3ns" }
fault.a = { fraction = 0.1, at = AT }
recovery = { reroute = REROUTE }
measure = { warmup = 100, window = 300 }
[sweep]
"measure.warmup" = WARMUP
`
	row := func(replace []string, set ...string) []string {
		rows := enginetest.OutcomeOf(t, strings.NewReplacer(replace...).Replace(text), set...).Results.Rows
		return rows[len(rows)-1][2:] // behind the point and what is swept
	}
	times := row([]string{"AT", `"600ns"`, "REROUTE", `"100ns"`, "WARMUP", `["1us", "1.5us"]`}, "switch.credit_cycles=4ns", "terminal.injection_cycles=6ns")
	cycles := row([]string{"AT", "200", "REROUTE", "34", "WARMUP", "[334, 500]"}, "switch.credit_cycles=2", "terminal.injection_cycles=2")
	simtest.ErrorIf(t, !slices.Equal(times, cycles), "as times\n%v\nas cycles\n%v", times, cycles)
	_, err := experiments.Load("x.toml", strings.NewReplacer("AT", `"-1us"`, "REROUTE", `"2"`, "WARMUP", "[334]").Replace(text), experiments.Options{})
	for _, want := range []string{"x.toml:5:29: fault.a.at = -333: want 0 to 1000000000000000", `x.toml:6:14: recovery.reroute = "2": want an integer, in cycles, or a time with its unit in quotes, for example "2us"`} {
		simtest.Fail(t, err, want)
	}
}
