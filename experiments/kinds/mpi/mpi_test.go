package mpi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// onFabric begins files of a program on a fabric with a rank a node, within its table [job].
const onFabric = "kind = \"mpi\"\n[placement]\nper_node = 1\n[job]\nmachine = \"fabric\"\n"

// mpiOf is the configuration of the first point of a file of kind mpi, by what follows the kind.
func mpiOf(t *testing.T, text string) *Config {
	t.Helper()
	return enginetest.Load(t, "kind = \"mpi\"\n"+text).Points[0].Config().(*Config)
}

// A GOAL schedule on both machines. LogGOPS with its defaults: the sender ends
// at o = 1500, the receiver at o + L + o + 7 G = 5542. The runtime: 8 B take
// 1.26 us less 56 B on the adapters, and two copies of 8 B. A calc of 7,654,321 units ends at
// so many ns on both, with all digits, and not at 7.65e+06.
func TestGoalOnBothMachines(t *testing.T) {
	o := enginetest.OutcomeOf(t, fmt.Sprintf(`
kind = "mpi"
job = { finish_times = true }
workload = { type = "goal", file = %q }
placement = { per_node = 1 }
connections = { mode = "ud" }
hca = { preset = "qdr", context_entries = 0 }
[sweep]
"job.machine" = ["loggops", "loggp"]
`, enginetest.GoalFile(t, "num_ranks 3\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\nrank 2 {\ncalc 7654321\n}\n")))
	ranks := o.Tables["ranks"]
	got := enginetest.Numbers(t, ranks, "finish_ns")
	runtime := 1260 - 56*8/24.34 + 2*8*8/40.0
	want := []float64{1500, 5542, 7654321, 200 + 1.6, runtime, 7654321}
	for i := range want {
		if d := got[i] - want[i]; d < -1 || d > 1 || i%3 == 2 && ranks.Rows[i][len(ranks.Columns)-1] != "7654321" || i < 2 && d != 0 {
			t.Errorf("finish times %v ns, want %v", ranks.Rows, want)
			break
		}
	}
}

// What is wrong with a schedule or a job is told before anything runs.
func TestMPIProblems(t *testing.T) {
	cyclic := enginetest.GoalFile(t, "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a\n}\n")
	enginetest.Refusals(t, "kind = \"mpi\"\n", map[string]string{
		fmt.Sprintf("[workload]\ntype = \"goal\"\nfile = %q\n", cyclic):                                                             "dependency cycle in rank 0",
		fmt.Sprintf("[workload]\ntype = \"goal\"\nfile = %q\n", enginetest.GoalFile(t, "num_ranks 1\nrank 0 {\ncalc 1 cpu 1\n}\n")): "job.machine = loggp: want loggops",
		"[workload]\ntype = \"goal\"\nfile = \"no-such.goal\"\n":                                                                    "workload.file",
		"[job]\nranks = 12\n[workload]\ntype = \"nas-lu\"\n":                                                                        ":3:1: job.ranks = 12: want a power of two",
		"[placement]\ntype = \"explicit\"\nnodes = [" + strings.Repeat("0, ", 15) + "16777216]\n[hca]\ncontext_entries = 1000000\n": "hca.context_entries = 1000000: want what fits into the memory",
		"[placement]\ntype = \"explicit\"\nnodes = [0]\n":                                                                           "one for each of 16 ranks",
		"[noise]\ndaemon_every = \"1us\"\ndaemon_time = \"1us\"\n":                                                                  "noise.daemon_time = 1us: want less than daemon_every",
		"[job]\nmachine = \"fabric\"\n[topology]\nterminals = 3\n":                                                                  "the ranks need 4 nodes",
		"[job]\nmachine = \"fabric\"\n[fabric]\nclock = \"100ns\"\n":                                                                "fabric.clock",
		"[job]\nmachine = \"fabric\"\n[topology]\ntype = \"torus\"\n[routing]\ntype = \"dor\"\n[switch]\nvcs = 1\n":                 "vcs",
		"[job]\nmachine = \"fabric\"\n[switch]\nflow_control = \"cut-through\"\nbuffer_flits = 8\n":                                 "buffer_flits",
		"[job]\nmachine = \"loggops\"\n[loggops]\ngap_per_byte = 4e-7\n":                                                            ":5:1: loggops.gap_per_byte = 4e-07: want 0 or half a millionth",
	})
	for _, machine := range []string{"loggp", "loggops"} { // have no channels
		enginetest.Refusals(t, fmt.Sprintf("kind = \"mpi\"\n[job]\nmachine = %q\n", machine), map[string]string{
			"[measure]\nlinks = true\n": "measure.links needs job.machine = \"fabric\": " + machine + " has no channels",
			"[measure]\nseries = 2\n":   "measure.series needs job.machine = \"fabric\": " + machine + " has no channels",
			"[measure]\nblame = true\n": "measure.blame needs job.machine = \"fabric\": " + machine + " has no channels",
			"[trace]\npackets = 1\n":    "trace.packets needs job.machine = \"fabric\": " + machine + " has no channels",
		})
	}
}

// Three of ten iterations are simulated: the total is the first and nine times the mean of the other two.
func TestExtrapolation(t *testing.T) {
	o := enginetest.OutcomeOf(t, "", "kind=mpi", "job.ranks=16", "job.extrapolate=10", "workload.type=halo",
		"workload.iterations=3", "workload.compute=1ms")
	total, first, steady := enginetest.Numbers(t, o.Results, "total_s")[0], enginetest.Numbers(t, o.Results, "first_iteration_s")[0], enginetest.Numbers(t, o.Results, "steady_iteration_s")[0]
	simtest.Near(t, total, first+9*steady, 1e-12, "total, of iterations of %v s,", steady)
	simtest.ErrorIf(t, steady < 1e-3 || enginetest.Column(t, o.Results, "extrapolated")[0] != "true", "%v", o.Results.Rows)
}

// TestSettingsOfCollectives: the settings of the collective that a skeleton runs stand beside
// its name. Where an alltoall turns from Bruck's algorithm to the ring decides which of the two
// it is; a broadcast takes as long from any root, but ranks end at other times.
func TestSettingsOfCollectives(t *testing.T) {
	mpi := func(more string) string {
		return "kind = \"mpi\"\n[job]\nranks = 8\nfinish_times = true\n[placement]\nper_node = 1\n[workload]\ntype = \"osu-alltoall\"\nbytes = \"4KiB\"\n" + more
	}
	times := func(more string) []float64 {
		return enginetest.Numbers(t, enginetest.OutcomeOf(t, mpi(more)).Tables["ranks"], "finish_ns")
	}
	bruck, ring := times(`algorithm = "alltoall-bruck"`), times(`algorithm = "alltoall-ring"`)
	simtest.FatalIf(t, slices.Equal(bruck, ring), "Bruck's algorithm and the ring take the same time")
	both := times("algorithm = \"alltoall-library\"\n[sweep]\n\"workload.critical\" = [\"4KiB\", \"4095B\"]")
	simtest.EqualSlices(t, both, append(bruck, ring...), "up to 4 KiB by Bruck's algorithm, and up to 4,095 B:")
	for more, want := range map[string]string{
		"algorithm = \"alltoal-ring\"\n":               `workload.algorithm = "alltoal-ring": unknown collective (did you mean "alltoall-ring"?)`,
		"algorithm = \"alltoall-ring\"\nroot = 3\n":    "workload.root is not a key of [workload]",
		"algorithm = \"reduce-binomial\"\nroot = 8\n":  "workload.root = 8: want a rank: 0 to 7",
		"algorithm = \"reduce-binomial\"\nroot = -1\n": "workload.root = -1: want at least 0",
	} {
		enginetest.Refused(t, mpi(more), want)
	}
}

// TestPresetsBringCopies: copies are of the adapter's generation, unless the file gives their rate, and
// qdr's are the defaults.
func TestPresetsBringCopies(t *testing.T) {
	for _, name := range hca.Registry.Names() {
		simtest.ErrorIf(t, mpi.CopyRates[name] == 0, "preset %s has no rate of copies", name)
	}
	simtest.ErrorIf(t, mpi.CopyRates["qdr"] != mpi.DefaultProtocols.CopyRate, "qdr is not the default")
	for text, want := range map[string][2]sim.Rate{
		"":                          {40e9, 40e9},
		"[hca]\npreset = \"hdr\"\n": {120e9, 120e9},
		"[hca]\npreset = \"hdr\"\n[protocol]\ncopy_rate = \"50Gb/s\"\n": {50e9, 120e9},
		"[hca]\npreset = \"ndr\"\n[workload]\ncopy_rate = \"70Gb/s\"\n": {160e9, 70e9},
	} {
		c := mpiOf(t, text)
		simtest.Equal(t, [2]sim.Rate{c.Protocol.CopyRate, c.Workload.CopyRate}, want, "%q: copies at", text)
	}
}

// TestPresetSetsClock: a flit of 64 B takes 16 ns on 32 Gb/s, 2.56 ns on 200 Gb/s.
func TestPresetSetsClock(t *testing.T) {
	for text, want := range map[string]sim.Time{
		"":                          16 * sim.Nanosecond,
		"[hca]\npreset = \"hdr\"\n": 2560,
		"[hca]\npreset = \"hdr\"\n[fabric]\nclock = \"1ns\"\n": sim.Nanosecond,
	} {
		simtest.Equal(t, mpiOf(t, text).Fabric.Clock, want, "%q:", text)
	}
}

// TestCopyWarning: a rank a node copies 60 Gb/s in each direction beside an adapter of 200; four copy 240. Without
// copies, and with the adapter of their generation, nothing is said: 20 of 24.34 are within a quarter.
func TestCopyWarning(t *testing.T) {
	for _, c := range []struct {
		preset       string
		perNode      int
		copies, want bool
	}{{"hdr", 1, true, true}, {"hdr", 4, true, false}, {"hdr", 1, false, false}, {"qdr", 1, true, false}} {
		f := enginetest.Load(t, fmt.Sprintf("kind = \"mpi\"\n[hca]\npreset = %q\n[placement]\nper_node = %d\n[protocol]\neager_copies = %v\n", c.preset, c.perNode, c.copies))
		got := strings.Contains(fmt.Sprint(f.Warnings), "limits eager messages")
		simtest.ErrorIf(t, got != c.want, "%+v: warnings %v", c, f.Warnings)
	}
}

// threaded are programs whose parts hear of each other in all the ways that there are: eagerly, by rendezvous, by writes
// and their acknowledgements, over relays, through shared memory; with noise, and with memory that copies share.
var threaded = []struct{ name, text string }{
	{"rendezvous", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"9KiB\"\n"},
	{"eager", "[workload]\ntype = \"osu-alltoall\"\niterations = 2\nbytes = \"512B\"\n[noise]\nstart_skew = \"2us\"\ncall = \"100ns\"\n"},
	{"direct writes", "[workload]\ntype = \"fft3d\"\nn = 40\niterations = 1\n"},
	{"relays", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"9KiB\"\n[connections]\ngroup = 4\nproxy = true\n"},
	{"on demand", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"100B\"\n[connections]\ngroup = 4\nmode = \"xrc-s\"\n"},
	{"datagrams", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"1KiB\"\n[connections]\nmode = \"ud\"\n"},
	{"memory", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"1KiB\"\n[memory]\nbandwidth = \"60Gb/s\"\n"},
	{"halo", "[workload]\ntype = \"halo\"\niterations = 2\ncompute = \"10us\"\ndims = [4, 8]\n"},
}

var threadedNetworks = []struct{ name, text string }{
	{"dragonfly", enginetest.HalfFly + "[fabric]\nflit_bytes = \"256B\"\nclock = \"64ns\"\n"},
	{"tree", "[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[fabric]\nflit_bytes = \"256B\"\nclock = \"64ns\"\n[channel.level1]\nlatency = \"320ns\"\n"},
	{"torus of lanes", "[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 1\n[routing]\ntype = \"dor\"\n[switch]\nflow_control = \"cut-through\"\nbuffer_flits = 64\noutput_buffer_flits = 4\nvlarb_low = \"0:192,1:64\"\n[terminal]\nvlarb_high = \"1:9\"\nvlarb_low = \"0:9\"\nvl_high_limit = 1\n[fabric]\nflit_bytes = \"128B\"\nclock = \"32ns\"\n"},
	{"torus of packets", "[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 1\n[routing]\ntype = \"val\"\n[switch]\nflow_control = \"cut-through\"\nhold = true\nbuffer_flits = 64\n[fabric]\nunit = \"packet\"\nflit_bytes = \"128B\"\nclock = \"32ns\"\n"},
}

// TestMPIThreads: the number of threads does not change a digit of a program's times and counts.
func TestMPIThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	for j, program := range threaded {
		if testing.Short() && !simtest.Some(t, j, true, false, false)[0] {
			continue // with the race detector
		}
		for _, network := range simtest.Some(t, j, threadedNetworks...) {
			text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\nfinish_times = true\n[placement]\nper_node = 2\n" + program.text + network.text
			enginetest.SameOnThreads(t, program.name+" on "+network.name, enginetest.Load(t, text), simtest.Threads(t, j), true, "ranks")
		}
	}
}

// What cannot be divided runs on one thread and says why.
func TestMPIOnOneThread(t *testing.T) {
	enginetest.DivideAlways(t)
	for text, want := range map[string]string{
		"[job]\nmachine = \"loggp\"\n": "loggp",
		"[job]\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[topology]\nterminals = 16\n":                                                                                                                                                       "one switch",
		"[job]\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[protocol]\nacknowledge = \"0ns\"\n":                                                                      "protocol.acknowledge",
		"[job]\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[workload]\ntype = \"halo\"\ndims = [4, 4]\niterations = 2\n[connections]\ngroup = 4\ntear_down = true\n": "tear_down",
	} {
		o := enginetest.Execute(t, enginetest.Load(t, "kind = \"mpi\"\n"+text), engine.Execution{Threads: 2})
		simtest.ErrorIf(t, len(o.OnOneThread) != 1 || !strings.Contains(fmt.Sprint(o.OnOneThread), want), "%s\nsays %v, want %q", text, o.OnOneThread, want)
		o = enginetest.Execute(t, enginetest.Load(t, "kind = \"mpi\"\n"+text), engine.Execution{Threads: 1})
		simtest.ErrorIf(t, len(o.OnOneThread) > 0, "one thread was asked for: %v", o.OnOneThread)
	}
}

// Messages are cut at the MTU of the fabric, as where the adapters have that one; a larger
// one leaves them what they have.
func TestMTUCutsMessages(t *testing.T) {
	times := func(fabric, adapter string) []float64 {
		o := enginetest.OutcomeOf(t, onFabric+"ranks = 2\n[topology]\nterminals = 2\n"+`
[fabric]
flit_bytes = "64B"
clock = "16ns"
`+fabric+`
[hca]
packet_time = "20ns"
`+adapter+`
[sweep]
"workload.bytes" = ["64B", "10000B", "64KiB"]
`)
		return enginetest.Numbers(t, o.Results, "steady_iteration_s")
	}
	own, fabric := times("", `mtu = "256B"`), times(`mtu = "256B"`, "")
	simtest.ErrorIf(t, !slices.Equal(own, fabric), "%v with hca.mtu, %v with fabric.mtu", own, fabric)
	usual, larger := times("", ""), times(`mtu = "4KiB"`, "")
	simtest.ErrorIf(t, !slices.Equal(usual, larger) || slices.Equal(usual, own), "%v without fabric.mtu, %v with 4 KiB, %v with 256 B", usual, larger, own)
}

// TestIdleMPISettings: likewise of kind mpi: tables of another machine, modes of connections, noise without an amount.
func TestIdleMPISettings(t *testing.T) {
	for set, want := range map[string]string{
		"switch.vcs=2": `[switch.vcs changes nothing: it is of job.machine = "fabric"]`,
		"switch.vcs=2 job.machine=fabric topology.type=single-switch topology.terminals=8 routing.type=table": "[]",
		"protocol.eager_limit=1KiB job.machine=loggops":                                                       `[protocol.eager_limit changes nothing: it is of job.machine = "loggp" or "fabric"]`,
		"connections.preposted=9":                                        `[connections.preposted changes nothing: it is of connections.mode = "rc"]`,
		"workload.type=ping-pong workload.window=9":                      `[workload.window changes nothing: it is of workload.type = "osu-bandwidth"]`,
		"workload.type=ping-pong workload.window=9 job.machine=loggops":  `[workload.window changes nothing: it is of workload.type = "osu-bandwidth"]`,
		"workload.type=osu-bandwidth workload.window=9":                  "[]",
		"connections.preposted=9 connections.mode=rc":                    "[]",
		"connections.tear_down=true":                                     "[connections.tear_down changes nothing: no connections are made on demand]",
		"connections.tear_down=true connections.on_demand=true":          "[]",
		"noise.spread=0.5 noise.call=1us":                                "[noise.spread changes nothing: nothing is drawn from a normal distribution]",
		"noise.spread=0.5 noise.call=1us noise.call_distribution=normal": "[]",
		"protocol.segment_overhead=1us":                                  "[protocol.segment_overhead changes nothing: protocol.eager_segment is 0B]",
		"protocol.segment_overhead=1us protocol.eager_segment=1KiB":      "[]",
		"system.far_switches=2 system.preset=edr":                        "[system.far_switches changes nothing: loggp.nodes_per_leaf is 0]",
		"system.spine_latency=1us":                                       "[system.spine_latency changes nothing: system.cable_latency and switch_latency are 0ns]",
		"memory.domain_latency=1us":                                      "[memory.domain_latency changes nothing: memory.domains is 1]",
		"memory.domain_latency=1us memory.domains=2":                     "[]",
		"hca.inline_limit=64B":                                           "[hca.inline_limit changes nothing: protocol.buffer_time and hca.fetch_time are 0ns, hca.inline_rate and fetch_rate 0Gb/s]",
		"hca.inline_limit=64B hca.fetch_time=1ns":                        "[]",
		"hca.inline_limit=64B protocol.buffer_time=1ns":                  "[]",
		"protocol.read_overhead=1us":                                     `[protocol.read_overhead changes nothing: it is of protocol.rendezvous = "read" and "get"]`,
		"protocol.read_overhead=1us protocol.rendezvous=get":             "[]",
		"trace.every=3 job.machine=fabric topology.type=single-switch topology.terminals=8 routing.type=table": "[trace.every changes nothing: trace.packets is 0]",
		"hca.page_time=1ns": "[hca.page_time changes nothing: protocol.register_page_time is 0ns]",
		"hca.page_time=1ns protocol.register_page_time=1ns":                                       "[]",
		"connections.srq_least=9":                                                                 "[]",
		"connections.srq_least=9 connections.srq_buffers=9":                                       "[connections.srq_least changes nothing: connections.srq_buffers is given]",
		"connections.srq_least=9 protocol.limit_buffers=false":                                    "[connections.srq_least changes nothing: protocol.limit_buffers is false]",
		"placement.nodes=[3]":                                                                     `[placement.nodes changes nothing: it is of placement.type = "explicit"]`,
		"system.library=mpich workload.type=osu-alltoall":                                         "[system.library changes nothing: it adds no costs over this transport, and no program asks for its algorithms]",
		"system.library=mpich workload.type=osu-alltoall workload.algorithm=alltoall-library":     "[]",
		"system.transport=ucx":                                                                    "[system.transport changes nothing: no cost of the machine or the library depends on it]",
		"system.transport=ucx system.preset=edr system.library=intel-mpi":                         "[system.library changes nothing: it adds no costs over this transport, and no program asks for its algorithms]",
		"system.far_switches=2":                                                                   "[system.far_switches changes nothing: system.cable_latency and switch_latency are 0ns]",
		"system.spine_latency=1us system.preset=edr":                                              "[system.spine_latency changes nothing: loggp.nodes_per_leaf is 0]",
		"system.far_switches=2 system.spine_latency=1us system.preset=edr loggp.nodes_per_leaf=2": "[]",
		"memory.domains=2":                                                                        "[memory.domains changes nothing: memory.bandwidth is without limit, and memory.domain_latency and domain_rate are not given]",
	} {
		said := []string{}
		for _, w := range enginetest.Load(t, "kind = \"mpi\"\njob = { ranks = 8 }\n", strings.Fields(set)...).Warnings {
			if w.Idle {
				said = append(said, w.Key+" "+w.Message)
			}
		}
		simtest.Equal(t, fmt.Sprint(said), want, "%s:", set)
	}
}

// On machine loggp, too, weft check goes through a short program: what it says of settings of messages holds, and
// is not said where a message of the program heeds them.
func TestIdleMessagesOnLogGP(t *testing.T) {
	const text = "kind = \"mpi\"\n[job]\nranks = 4\n[workload]\ntype = \"osu-alltoall\"\nbytes = \"64B\"\n"
	for _, c := range []struct{ beside, set, want string }{
		{"placement.per_node=1", "protocol.rendezvous=read", "[protocol.rendezvous changes nothing: " + allEager + "]"},
		{"placement.per_node=1 workload.bytes=64KiB", "protocol.rendezvous=read", ""},
		{"placement.per_node=1", "protocol.shared_latency=9us", "[protocol.shared_latency changes nothing: no message stays in a node]"},
		{"placement.per_node=2", "protocol.shared_latency=9us", ""},
	} {
		f := enginetest.Load(t, text, strings.Fields(c.beside+" "+c.set)...)
		said := ""
		for _, w := range append(f.Warnings, simtest.Must(f.Preflight(true))(t).Warnings...) {
			if w.Idle {
				said += fmt.Sprintf("[%s %s]", w.Key, w.Message)
			}
		}
		simtest.ErrorIf(t, said != c.want, "%s beside %q: %q, want %q", c.set, c.beside, said, c.want)
		row := func(f *experiments.File) []string {
			return enginetest.Execute(t, f, engine.Execution{}).Results.Rows[0]
		}
		same := slices.Equal(row(f), row(enginetest.Load(t, text, strings.Fields(c.beside)...)))
		simtest.ErrorIf(t, same != (c.want != ""), "%s beside %q: the same results %v", c.set, c.beside, same)
	}
}
