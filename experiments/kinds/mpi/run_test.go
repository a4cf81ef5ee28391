package mpi

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/mpi/applications"
	_ "github.com/weft-sim/weft/mpi/replay"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

const noisyExchange = `
kind = "mpi"
job = { ranks = 8 }
placement = { per_node = 2 }
workload = { type = "osu-alltoall", bytes = "1KiB", iterations = 3 }
noise = { start_skew = "3us", call = "200ns", daemon_every = "100us", daemon_time = "5us" }
[measure]
`

// TestMPIReplications: the row is the mean of runs with the derived seeds, with intervals, of which
// a single run has none.
func TestMPIReplications(t *testing.T) {
	f := enginetest.Load(t, noisyExchange+"replications = 3\n")
	o := enginetest.Execute(t, f, engine.Execution{})
	c := f.Points[0].Config().(*Config)
	var elapsed, steady [3]float64
	for i := range elapsed {
		row := simtest.Must(c.simulate(t.Context(), &experiments.Run{Seed: f.Points[0].Seed}, i, &mpiObserved{}))(t)
		elapsed[i], steady[i] = row.Elapsed, row.Steady
	}
	simtest.ErrorIf(t, elapsed[0] == elapsed[1] || elapsed[1] == elapsed[2], "replications are not independent")
	for name, x := range map[string][3]float64{"elapsed": elapsed, "steady_iteration": steady} {
		mean, want := enginetest.Spread(x)
		simtest.Near(t, enginetest.Single(t, o, name+"_s"), mean, 1e-9*mean, "%s_s", name)
		simtest.Near(t, enginetest.Single(t, o, name+"_ci95_s"), want, 1e-6*want, "%s_ci95_s", name)
	}
	// 56 messages of the exchange an iteration and 24 of the barrier (3 rounds).
	simtest.Equal(t, enginetest.Numbers(t, o.Results, "messages")[0], 3*(56+24), "messages of a run:")
	simtest.Equal(t, enginetest.Numbers(t, o.Results, "replications")[0], 3, "replications:")
	o = enginetest.OutcomeOf(t, noisyExchange)
	simtest.Equal(t, enginetest.Numbers(t, o.Results, "elapsed_s")[0], elapsed[0], "a single run takes as long as the first of several:")
	simtest.ErrorIf(t, !math.IsNaN(enginetest.Single(t, o, "elapsed_ci95_s")), "a single run has an interval")
}

// TestProgramTooLong: two computations of 60,000 s, one after the other, are more cycles than a fabric counts.
func TestProgramTooLong(t *testing.T) {
	path := enginetest.GoalFile(t, "num_ranks 2\nrank 0 {\na: calc 60000000000000\ns: send 8b to 1\ns requires a\n}\nrank 1 {\nr: recv 8b from 0\nb: calc 60000000000000\nb requires r\n}\n")
	f := enginetest.Load(t, "kind = \"mpi\"\njob = { machine = \"fabric\" }\nplacement = { per_node = 1 }\nworkload = { type = \"goal\", file = '"+path+"' }\n")
	o := simtest.Must(engine.Execute(t.Context(), f, engine.Execution{}))(t)
	simtest.Says(t, fmt.Sprintf("%+v", o.Failures), "on a fabric 6.6e12 cycles of fabric.clock")
}

// TestMeansOfNodes: nodes without ranks count in no mean.
func TestMeansOfNodes(t *testing.T) {
	var want []float64
	for _, nodes := range []string{"[0, 1]", "[5, 2]"} {
		o := enginetest.OutcomeOf(t, "kind = \"mpi\"\njob = { ranks = 2 }\nworkload = { type = \"ping-pong\" }\n[placement]\ntype = \"explicit\"\nnodes = "+nodes+"\n")
		got := append(enginetest.Numbers(t, o.Results, "adapter_mean_s"), enginetest.Numbers(t, o.Results, "context_miss_per_node_s")...)
		simtest.EqualSlices(t, got, append(want, got[len(want):]...), "nodes %s:", nodes)
		want = got
	}
}

// weft compare finds the intervals of replicated programs: twice the noise is
// significantly slower, and what is compared with itself is equal.
func TestCompareMPI(t *testing.T) {
	more := enginetest.OutcomeOf(t, strings.Replace(noisyExchange, `"200ns"`, `"400ns"`, 1)+"replications = 5\n").Results
	less := enginetest.OutcomeOf(t, noisyExchange+"replications = 5\n").Results
	d := simtest.Must(results.Compare(less, more, "elapsed_s", nil))(t).Differences[0]
	simtest.ErrorIf(t, d.Significance != results.Higher || !(d.HalfWidth > 0), "%+v", d)
	d = simtest.Must(results.Compare(less, less, "elapsed_s", nil))(t).Differences[0]
	simtest.Equal(t, d.Significance, results.Unclear, "a table and itself")
}

// The number of threads and of points side by side changes nothing in what noise does.
func TestNoiseAnyJobs(t *testing.T) {
	f := enginetest.Load(t, noisyExchange+"replications = 2\n[sweep]\n\"workload.bytes\" = [\"64B\", \"1KiB\", \"16KiB\"]\n")
	one, three := enginetest.Execute(t, f, engine.Execution{Jobs: 1}), enginetest.Execute(t, f, engine.Execution{Jobs: 3})
	simtest.Alike(t, "three jobs and one", three.Results.Rows, one.Results.Rows)
}

// TestMPILinks: ten times a message of 1000 B goes to and fro between two nodes of a switch, and a
// barrier is not part of it. It takes 16 flits of 64 B: 160 flits on each of the four
// channels, and in the series, whatever its intervals are.
func TestMPILinks(t *testing.T) {
	f := enginetest.Load(t, onFabric+"ranks = 2\n", "workload.type=ping-pong", "workload.bytes=1000B",
		"workload.iterations=10", "topology.terminals=2", "channel.terminal.cycles_per_flit=1",
		"measure.links=true", "measure.series=3", "measure.blame=true")
	dir := t.TempDir()
	o := enginetest.Execute(t, f, engine.Execution{Dir: dir})
	for _, flits := range enginetest.Numbers(t, o.Tables["links"], "flits") {
		simtest.ErrorIf(t, flits != 160, "a channel carries %v flits, want 160", flits)
	}
	slow := enginetest.Execute(t, enginetest.Load(t, onFabric+"ranks = 2\n", "topology.terminals=2", "channel.terminal.cycles_per_flit=4", "measure.links=true"), engine.Execution{}).Tables["links"]
	rates := enginetest.Numbers(t, slow, "flits_per_cycle")
	for i, percent := range enginetest.Numbers(t, slow, "percent") { // a channel carries a quarter of a flit a cycle
		simtest.ErrorIf(t, math.Abs(percent-400*rates[i]) > 1e-9 || !(percent > 0) || percent > 100, "%v flits a cycle are %v %%", rates[i], percent)
	}
	rows := strings.Split(strings.TrimSpace(enginetest.Read(t, dir, "series", "0.csv")), "\n")
	simtest.FatalIf(t, len(rows) != 5, "the series has %d rows, want a header and 4 channels", len(rows))
	for _, row := range rows[1:] {
		sum, cells := 0.0, strings.Split(row, ",")
		for _, cell := range cells[3:] {
			sum += results.Number(cell)
		}
		n := len(cells) - 3
		simtest.ErrorIf(t, sum != 160 || n < 3 || n > 6, "%s: %v flits in %d intervals", row, sum, n)
	}
	// 20 packets of 16 flits, on channels of a flit a cycle. None waits for another: a cycle at its terminal, one on
	// each channel, one in the switch, and 15 behind the head on the way to the terminal: 19 cycles of 16 ns.
	blame := o.Tables["blame"]
	for column, want := range map[string]float64{"packets": 20, "total_ns": 19 * 16, "wire_ns": 2 * 16, "source_queue_ns": 16, "credit_stall_ns": 0} {
		simtest.Equal(t, enginetest.Numbers(t, blame, column)[0], want, "%s =", column)
	}
}

// TestMPIObservedThreads: what is seen of the network does not depend on the number of threads.
func TestMPIObservedThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	for i, network := range simtest.Some(t, 0, threadedNetworks...) {
		text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\n[placement]\nper_node = 2\n[measure]\nlinks = true\nblame = true\ntimeline = true\nseries = 4\n[trace]\npackets = 20\nchoose = \"slowest\"\n" + threaded[0].text + network.text
		enginetest.SameOnThreads(t, network.name, enginetest.Load(t, text), simtest.Threads(t, i), true, "links", "blame", "congestion", "packets", "timeline", "critical_path")
	}
}

// TestPartsOfPingPong: ten times to and fro between two nodes with QDR adapters, 24.34 Gb/s, each of
// which loads one context, 500 ns, rank 0's as it sends and the other's as it receives.
//
// Eager, 4096 B: in an iteration a rank copies one message in and one out, 819.2 ns each at 40 Gb/s, and
// its calls take 200 + 250 ns. An engine takes 50 ns for a request, and 4096 B. Of 64 flits.
//
// Rendezvous, 65,536 B: 200 ns for the RTS and 250 + 200 for the CTS at the sender; 250 + 200 for the
// RTS and 250 for the FIN at the receiver; no copies. A rank's adapter sends RTS, CTS, FIN (64 B each)
// and the data in an iteration, four requests. Five turns of 11,243 B are five packets of 32
// flits and one of 1,003 B, 16 flits; the last, of 9,321 B, is four and one of 1,129 B, 18 flits:
// 5 * 176 + 146 flits, and 3.
func TestPartsOfPingPong(t *testing.T) {
	const perByte = 8 / 24.34 // ns
	for _, c := range []struct {
		bytes                        string
		copies, cpu, requests, sends float64 // an iteration: ns, ns, requests, bytes
		flits                        float64
	}{
		{"4KiB", 2 * 819.2, 2*819.2 + 450, 1, 4096, 64},
		{"64KiB", 0, 650 + 700, 4, 65536 + 3*64, 5*176 + 146 + 3},
	} {
		for _, threads := range []int{1, 2} {
			o := enginetest.Execute(t, enginetest.Load(t, fmt.Sprintf("kind = \"mpi\"\n[job]\nranks = 2\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[workload]\nbytes = %q\niterations = 10\n", c.bytes)), engine.Execution{Threads: threads})
			engine := 10 * c.sends * perByte // of one way
			for column, want := range map[string]float64{
				"cpu_mean_s": 10 * c.cpu, "cpu_max_s": 10 * c.cpu, "copies_mean_s": 10 * c.copies, "copies_max_s": 10 * c.copies,
				"adapter_mean_s":       engine + (2*10*50*c.requests+2*500)/4,
				"adapter_max_s":        engine + 10*50*c.requests + 500,
				"terminal_links_max_s": 10 * c.flits * 64 * perByte,
				"network_max_s":        0, // there is one switch
			} {
				simtest.Near(t, 1e9*enginetest.Numbers(t, o.Results, column)[0], want, 1e-6*want, "%s: %s in ns:", c.bytes, column)
			}
		}
	}
}

// fabrics are for eight nodes: an ample and a tapered tree, a ring with rates of its own, and a dragonfly
// whose packets need not take the shortest way.
var fabrics = []string{
	"[topology]\ntype = \"xgft\"\nm = [4, 2]\nw = [1, 4]\n[routing]\ntype = \"nca\"\n",
	"[topology]\ntype = \"xgft\"\nm = [4, 2]\nw = [1, 1]\n[routing]\ntype = \"nca\"\n",
	"[topology]\ntype = \"torus\"\ndims = [4, 2]\n[routing]\ntype = \"dor\"\n[channel.terminal]\nrate = \"8Gb/s\"\n",
	"[topology]\ntype = \"dragonfly\"\np = 2\na = 2\nh = 1\n[routing]\ntype = \"ugal-l\"\n",
}

// bounded checks that a program does not end before its bound.
func bounded(t *testing.T, name, text string) {
	t.Helper()
	o := enginetest.OutcomeOf(t, "kind = \"mpi\"\n"+text)
	for i, bound := range enginetest.Numbers(t, o.Results, "bound_s") {
		elapsed := enginetest.Numbers(t, o.Results, "elapsed_s")[i]
		simtest.ErrorIf(t, !(bound > 0 && bound <= elapsed), "%s, point %d: %v s, less than the bound of %v s", name, i, elapsed, bound)
	}
}

// TestBoundHolds: no collective and no skeleton takes less than its bound, below, at and above the eager limit of 8 KiB.
func TestBoundHolds(t *testing.T) {
	sweep := "[sweep]\n\"workload.bytes\" = [\"64B\", \"8192B\", \"8193B\", \"40000B\"]\n"
	on := func(trial int, check func(i int, network string)) {
		for i, network := range simtest.Some(t, trial, fabrics...) {
			check(i, network)
		}
	}
	for trial, name := range collectives.Registry.Names() {
		on(trial, func(i int, network string) {
			bounded(t, fmt.Sprint(name, i), fmt.Sprintf("[job]\nmachine = \"fabric\"\n[placement]\nper_node = 2\n[workload]\ntype = \"osu-alltoall\"\nalgorithm = %q\niterations = 1\n[fabric]\nflit_bytes = \"256B\"\n%s%s", name, network, sweep))
		})
	}
	for trial, more := range []string{
		"[connections]\nmode = \"ud\"\n", "[connections]\ngroup = 2\nproxy = true\n", "[memory]\nbandwidth = \"50Gb/s\"\n",
		"[noise]\nstart_skew = \"2us\"\ncall = \"100ns\"\n", "[protocol]\neager_copies = false\nregister_time = \"1us\"\n",
	} {
		on(trial, func(i int, network string) {
			bounded(t, fmt.Sprint(more, i), "[job]\nmachine = \"fabric\"\n[placement]\nper_node = 2\n[workload]\ntype = \"osu-alltoall\"\niterations = 1\n"+more+network+sweep)
		})
	}
	// A message of 64 KiB in pieces, alone: each is copied while another is on its way.
	bounded(t, "pieces", "[job]\nmachine = \"fabric\"\nranks = 2\n[placement]\nper_node = 1\n[workload]\ntype = \"osu-bandwidth\"\nbytes = \"64KiB\"\nwindow = 1\niterations = 1\n[protocol]\neager_limit = \"1MiB\"\neager_segment = \"4KiB\"\n")
	for trial, name := range skeletons.Registry.Names() {
		on(trial, func(i int, network string) {
			more := map[string]string{
				"goal": "file = \"../../../mpi/testdata/goal/linear_alltoall_r8_64KiB.goal\"\n", "nas-lu": "iterations = 2\n", "trace": "file = \"../../../mpi/testdata/goal/linear_alltoall_r8_64KiB.goal\"\n",
				"program": "file = \"../../../mpi/applications/testdata/steps.toml\"\n", "nas-cg": "iterations = 1\n", "nas-mg": "iterations = 1\n", "milc": "iterations = 2\n",
				"nekbone": "steps = 2\n", "cosmoflow": "iterations = 1\nbytes = \"1MB\"\n", "allreduce-bound": "iterations = 2\n", "many-to-one": "iterations = 2\n", "checkpoint": "iterations = 2\n",
			}[name]
			ranks, perNode := 16, 2
			if name == "contention" { // on three nodes
				ranks, perNode = 15, 5
			}
			bounded(t, fmt.Sprint(name, i), fmt.Sprintf("[job]\nmachine = \"fabric\"\nranks = %d\n[placement]\nper_node = %d\n[workload]\ntype = %q\n%s[fabric]\nflit_bytes = \"1KiB\"\nclock = \"256ns\"\n%s", ranks, perNode, name, more, network))
		})
	}
}

// TestBoundIsTight: 16 nodes with HDR adapters of 200 Gb/s in fours, an uplink each four; every rank posts all
// it sends at once. 4 * 12 messages of 256 KiB leave a switch, 48 * 1024 flits of 256 B at 10.24 ns
// each: 503.3 us. What one message takes by itself (21 us of bytes, and its handshake) and the
// barrier add less than 5 % to that. With four uplinks the 15 messages of an adapter take 157.3 us.
func TestBoundIsTight(t *testing.T) {
	o := enginetest.OutcomeOf(t, onFabric, "workload.type=osu-alltoall", "workload.algorithm=alltoall-linear",
		"workload.bytes=256KiB", "workload.iterations=1", "hca.preset=hdr", "fabric.flit_bytes=256B",
		"topology.type=xgft", "topology.m=[4, 4]", "topology.w=[1, 1]", "routing.type=nca",
		"sweep.topology.w=[[1, 1], [1, 4]]")
	elapsed, bound, network, adapter := enginetest.Numbers(t, o.Results, "elapsed_s"), enginetest.Numbers(t, o.Results, "bound_s"), enginetest.Numbers(t, o.Results, "network_max_s"), enginetest.Numbers(t, o.Results, "adapter_max_s")
	want := 48 * 1024 * 10.24e-9
	simtest.ErrorIf(t, bound[0] < want || bound[0] > 1.01*want || elapsed[0] > 1.05*bound[0], "one uplink: bound %v s, want %v, or a barrier more; simulated %v", bound[0], want, elapsed[0])
	simtest.ErrorIf(t, network[0] < 0.95*elapsed[0] || adapter[0] > 0.5*elapsed[0], "one uplink: the network is busy for %v of %v s, adapters for %v", network[0], elapsed[0], adapter[0])
	want = 15 * 262144 * 8 / 200e9
	simtest.ErrorIf(t, bound[1] < want || bound[1] > 1.02*want, "four uplinks: bound %v s, want %v, a barrier and requests more", bound[1], want)
}

// TestBusiestByHand: four and again four messages of 1,500 B come to terminal 1 of a switch from two others, at 80 ps a
// byte in packets of 1,000 B: 2 * (480 + 8*50) ns for packets of 50 ns each. A request of 200 ns each counts at the
// senders alone: 480 + 4*200. The 120 flits of 100 B take 119 times 15 cycles of 1 ns where the cable is slow.
func TestBusiestByHand(t *testing.T) {
	crossbar := simtest.Must(topology.Registry.New("single-switch", struct{}{}))(t)
	for _, c := range []struct {
		packet, request sim.Time
		cycles, want    float64
	}{{50_000, 200_000, 1, 1_760_000}, {50_000, 400_000, 1, 2_080_000}, {0, 0, 1, 960_000}, {50_000, 200_000, 15, 1_785_000}} {
		adapter := hca.Config{LinkRate: 100e9, DMARate: 100e9, MTU: 1000, PacketTime: c.packet, RequestTime: c.request}
		d := fabricDemand{g: crossbar.Graph(), adapter: &adapter, flit: 100, clock: 1000, timings: slices.Repeat([]fabric.ChannelTiming{{CyclesPerFlit: c.cycles}}, 4),
			nodes: []nodeDemand{{terminal: 0}, {terminal: 1}, {terminal: 2}}, switches: make([]cutDemand, 1)}
		d.add(0, 1, 1500, 4)
		d.add(2, 1, 1500, 4)
		simtest.Equal(t, d.busiest(), c.want, "packets of %v, requests of %v, %v cycles a flit:", c.packet, c.request, c.cycles)
	}
}

// TestWorkOfPrograms: what weft check says a program takes is within a factor of 1.2 of the flits that cross
// switches where ways are shortest, and of 2 where some are not.
func TestWorkOfPrograms(t *testing.T) {
	for i, network := range fabrics {
		for _, bytes := range []string{"64B", "4KiB", "64KiB"} {
			f := enginetest.Load(t, fmt.Sprintf("kind = \"mpi\"\n[job]\nmachine = \"fabric\"\n[placement]\nper_node = 2\n[workload]\ntype = \"osu-alltoall\"\nbytes = %q\niterations = 2\n[measure]\nreplications = 2\n%s", bytes, network))
			expected, counted := enginetest.WorkOf(t, f)
			allowed := 1.2
			if strings.Contains(network, "dragonfly") {
				allowed = 2
			}
			ratio := expected / counted
			simtest.ErrorIf(t, !(ratio > 1/allowed && ratio < allowed), "fabric %d, %s: %v flit-hops are expected, %v counted", i, bytes, expected, counted)
		}
	}
}

// In lockstep the first iteration of a ring of 64 KiB blocks is not like the others, which
// begin as a barrier lets the ranks go. Where ranks begin out of step, or the barrier lets
// all go at once, as with 8 nodes of 8 ranks, all iterations take the same time.
func TestRingOutOfStep(t *testing.T) {
	ring := func(ranks, perNode, skew string) float64 {
		o := enginetest.OutcomeOf(t, "kind = \"mpi\"\nhca = { quantum = \"4KiB\" }\n"+
			"workload = { type = \"osu-alltoall\", bytes = \"64KiB\", algorithm = \"alltoall-ring\", iterations = 3 }\n",
			"job.ranks="+ranks, "placement.per_node="+perNode, "noise.start_skew="+skew)
		return enginetest.Single(t, o, "steady_iteration_s") / enginetest.Single(t, o, "first_iteration_s")
	}
	simtest.Near(t, ring("96", "12", "0us"), 1.15, 0.05, "in lockstep, times that later iterations take of the first:")
	simtest.Near(t, ring("96", "12", "1us"), 1, 0.03, "out of step, times that later iterations take of the first:")
	simtest.Near(t, ring("64", "8", "0us"), 1, 0.03, "8 nodes of 8, times that later iterations take of the first:")
}
