package core_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/simtest"
)

// BenchmarkDragonfly runs the 1056-terminal dragonfly under minimal routing
// and uniform traffic, with all statistics. An operation is a cycle.
func BenchmarkDragonfly(b *testing.B) {
	for _, channels := range []struct {
		name          string
		local, global sim.Time
		buffer        int
	}{{"long", 10, 100, 256}, {"short", 1, 10, 32}} {
		for _, load := range []float64{0.1, 0.4, 0.7, 0.95} { // the last one is past saturation
			b.Run(fmt.Sprintf("channels=%s/load=%v", channels.name, load), func(b *testing.B) {
				config := fabric.DefaultConfig()
				config.Switch.VCs = 3
				config.Switch.BufferFlits = channels.buffer
				config.Channels = map[string]fabric.ChannelConfig{
					"local":  {Latency: channels.local * sim.Nanosecond},
					"global": {Latency: channels.global * sim.Nanosecond},
				}
				n := dragonflyNetwork(b, "min", 4, 8, 4)
				n.benchmark(b, config, routingtest.Others(n.topo.Graph().Terminals()), load, 1, 2000)
			})
		}
	}
}

// BenchmarkTiles runs the 16,512-terminal dragonfly on one thread, whole and in tiles. An
// operation is a cycle: -benchtime 500x has windows of full length.
func BenchmarkTiles(b *testing.B) {
	for _, c := range []struct {
		name  string
		state int // of a tile
	}{{"whole", 1 << 40}, {"tiles", 3 << 18}} {
		b.Run(c.name, func(b *testing.B) {
			core.TileFrom(b.Cleanup, c.state, 16)
			config := fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.BufferFlits = 3, 256
			config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: 10 * sim.Nanosecond}, "global": {Latency: 100 * sim.Nanosecond}}
			n := dragonflyNetwork(b, "min", 8, 16, 8)
			n.benchmark(b, config, routingtest.Others(n.topo.Graph().Terminals()), 0.4, 1, 200)
		})
	}
}

// BenchmarkThreads tells by how much threads could be faster than one, were nothing lost at barriers: the bound by
// the flit-hops that domains count in a window. An operation is a window; -benchtime 5x will do.
func BenchmarkThreads(b *testing.B) {
	core.DivideAlways(b.Cleanup)
	for _, size := range []int{4, 8} {
		for _, latency := range []sim.Time{1, 10} {
			for _, threads := range []int{2, 4, 8, 16, 64} {
				config := fabric.DefaultConfig()
				config.Switch.VCs, config.Switch.BufferFlits = 3, 256
				config.Channels = map[string]fabric.ChannelConfig{"local": {Latency: latency * sim.Nanosecond}, "global": {Latency: latency * latency * sim.Nanosecond}}
				n := dragonflyNetwork(b, "min", size, 2*size, size)
				terminals := n.topo.Graph().Terminals()
				b.Run(fmt.Sprintf("terminals=%d/global=%d/threads=%d", terminals, latency*latency, threads), func(b *testing.B) {
					f := n.fabric(b, config)
					f.Split(threads)
					f.Attach(fabric.Ends{Source: measure.NewOpenLoop(terminals, routingtest.Others(terminals), routingtest.AtRate(0.4), routingtest.Fixed(1), 1), Sink: measure.NewMeter(100)})
					f.Advance(300)
					bound, hops := f.Bound(b.N)
					b.ReportMetric(bound, "times-at-most")
					b.ReportMetric(hops, "flit-hops/window")
					b.ReportMetric(float64(f.Lookahead()), "cycles/window")
					b.ReportMetric(float64(f.Domains()), "domains")
				})
			}
		}
	}
}

// BenchmarkAdaptive compares the cost of adaptive decisions with that of minimal
// routing, at the same load, on the dragonfly paper's switch.
func BenchmarkAdaptive(b *testing.B) {
	for _, algorithm := range []string{"min", "val", "ugal-g", "ugal-l", "ugal-l-vc", "ugal-l-vch", "ugal-l-cr", "ugal-pb", "par"} {
		b.Run(algorithm, func(b *testing.B) {
			config := fabric.DefaultConfig()
			config.Switch.VCs, config.Switch.BufferFlits = 4, 16
			n := dragonflyNetwork(b, algorithm, 4, 8, 4)
			n.benchmark(b, config, routingtest.Others(n.topo.Graph().Terminals()), 0.4, 1, 1000)
		})
	}
}

// BenchmarkTree runs three-level trees of 40-port switches at load 0.3: 16,000 terminals with full
// bisection under uniform traffic, and 40,960 with a quarter of the channels up at two levels,
// under traffic that stays close: at load 0.3 the tapered top carries 0.0625 a terminal.
func BenchmarkTree(b *testing.B) {
	for _, tree := range []struct {
		name    string
		build   func() network
		pattern func(terminals int) measure.Pattern
	}{
		{"terminals=16000/traffic=uniform", func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 40, 3 })
		}, func(terminals int) measure.Pattern { return routingtest.Others(terminals) }},
		{"terminals=40960/traffic=local", func() network {
			return newNetwork(b, "xgft", "nca", func(c *topology.XGFTConfig) { c.M, c.W = []int{32, 32, 40}, []int{1, 8, 8} })
		}, func(terminals int) measure.Pattern { return local{terminals, 32, 1024} }},
	} {
		b.Run(tree.name, func(b *testing.B) {
			start := time.Now()
			n := tree.build()
			config := fabric.DefaultConfig()
			config.Switch.VCs = 2
			terminals := n.topo.Graph().Terminals()
			b.Logf("%d terminals built in %v", terminals, time.Since(start).Round(time.Millisecond))
			n.benchmark(b, config, tree.pattern(terminals), 0.3, 1, 200)
		})
	}
}

// local sends a third of its packets within the leaf, half of them within the pod, the others anywhere.
type local struct{ terminals, leaf, pod int }

func (l local) Destination(src topology.TerminalID, r *sim.Stream) topology.TerminalID {
	size := l.terminals
	switch x := r.IntN(100); {
	case x < 33:
		size = l.leaf
	case x < 83:
		size = l.pod
	}
	first := int(src) / size * size
	d := first + r.IntN(size-1)
	if d >= int(src) {
		d++
	}
	return topology.TerminalID(d)
}

// hugePages lets benchmarks have the memory that the command has.
var hugePages = sync.OnceFunc(func() { mem.ReserveHugePages(128 << 20) })

// benchmark measures cycles of the network in steady state, which so many
// cycles of warm-up lead to, with packets of so many flits.
func (n network) benchmark(b *testing.B, config fabric.Config, pattern measure.Pattern, load float64, flits int, warmup int64) {
	hugePages()
	f := n.fabric(b, config)
	f.Tile()
	meter := measure.NewMeter(100)
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(n.topo.Graph().Terminals(), pattern, routingtest.AtRate(load/float64(flits)), routingtest.Fixed(flits), 1), Sink: meter})
	f.Advance(warmup)
	meter.Open(f.Cycle())
	before, start := f.Counters, cpuTime()
	b.ReportAllocs()
	b.ResetTimer()
	f.Advance(int64(b.N))
	hops := float64(f.FlitHops - before.FlitHops)
	cpu := cpuTime() - start
	b.ReportMetric(float64(cpu.Nanoseconds())/hops, "cpu-ns/flit-hop")
	b.ReportMetric(hops/cpu.Seconds(), "flit-hops/cpu-s")
	b.ReportMetric(hops/float64(b.N), "flit-hops/op")
	b.ReportMetric(hops/float64(f.DeliveredFlits-before.DeliveredFlits), "hops/flit")
	b.ReportMetric(heapMB(), "heap-MB")
	runtime.KeepAlive(f)
}

// heapMB is the heap in use, garbage left out.
func heapMB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}

// cpuTime is the processor time that the process has used: what benchmarks
// report, since wall time says little on a shared machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFlits is the cost of a flit-hop by the length of packets: uniform traffic at
// three loads each on a dragonfly, a fat tree and a mesh. An operation is a cycle.
func BenchmarkFlits(b *testing.B) {
	for _, net := range []struct {
		name   string
		loads  []float64
		warmup int64
		build  func() network
	}{
		{"dragonfly-1056", []float64{0.1, 0.4, 0.7}, 1500, func() network { return dragonflyNetwork(b, "min", 4, 8, 4) }},
		{"fat-tree-1024", []float64{0.1, 0.4, 0.7}, 1500, func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 })
		}},
		{"mesh-64", []float64{0.1, 0.3, 0.45}, 5000, func() network {
			return newNetwork(b, "mesh", "dor", func(c *topology.GridConfig) { c.Dims = []int{8, 8} })
		}},
	} {
		for _, flits := range []int{1, 4, 16, 64} {
			for _, load := range net.loads {
				b.Run(fmt.Sprintf("%s/flits=%d/load=%v", net.name, flits, load), func(b *testing.B) {
					n := net.build()
					n.benchmark(b, fabric.DefaultConfig(), routingtest.Others(n.topo.Graph().Terminals()), load, flits, net.warmup)
				})
			}
		}
	}
}

// BenchmarkUnits compares packets as the unit with flits, of wormhole switches and of switches that hold their ports,
// on packets of 2 and 4 KiB of flits of 64 B. All are simulated in turn, 1000 cycles each in an operation, so that what
// else the machine does meets them alike. A packet-hop is a packet that crosses a switch.
func BenchmarkUnits(b *testing.B) {
	tree := func(k int) func() network {
		return func() network {
			return newNetwork(b, "fat-tree", "nca", func(c *topology.FatTreeConfig) { c.K, c.N = k, 3 })
		}
	}
	for _, net := range []struct {
		name   string
		warmup int64
		load   float64
		build  func() network
	}{
		{"dragonfly-1056", 3000, 0.5, func() network { return dragonflyNetwork(b, "min", 4, 8, 4) }},
		{"fat-tree-16", 3000, 0.5, tree(4)},
		{"fat-tree-128", 3000, 0.5, tree(8)},
		{"fat-tree-1024", 3000, 0.5, tree(16)},
		{"fat-tree-16000", 800, 0.3, tree(40)},
	} {
		for _, flits := range []int{32, 64} {
			b.Run(fmt.Sprintf("%s/flits=%d", net.name, flits), func(b *testing.B) {
				config := fabric.DefaultConfig()
				config.Switch.BufferFlits = 2 * flits
				whole := config
				packets(&whole)
				sides := []*side{{name: "flits", config: config}, {name: "flits-hold", config: holding(config)}, {name: "packets", config: whole}}
				net.build().sideBySide(b, sides, net.load, flits, net.warmup)
			})
		}
	}
}

// side is one of several simulations of a network.
type side struct {
	name   string
	config fabric.Config
	fabric *core.Fabric
	hops   int64 // of flits
	cpu    time.Duration
}

// sideBySide simulates all sides in turn, and reports the time of each for a packet-hop.
func (n network) sideBySide(b *testing.B, sides []*side, load float64, flits int, warmup int64) {
	hugePages()
	for _, s := range sides {
		s.fabric = n.fabric(b, s.config)
		meter := measure.NewMeter(100)
		source := n.traffic(load, flits)
		simtest.Check(b, s.fabric.Attach(fabric.Ends{Source: source, Sink: meter}))
		s.fabric.Advance(warmup)
		meter.Open(s.fabric.Cycle())
		s.hops = -s.fabric.FlitHops
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for _, s := range sides {
			start := cpuTime()
			s.fabric.Advance(1000)
			s.cpu += cpuTime() - start
		}
	}
	for _, s := range sides {
		hops := float64(s.hops+s.fabric.FlitHops) / float64(flits)
		b.ReportMetric(float64(s.cpu.Nanoseconds())/hops, s.name+"-cpu-ns/packet-hop")
		b.ReportMetric(hops/s.cpu.Seconds()/1e6, s.name+"-Mhops/cpu-s")
	}
}

// switchForm is a switch, packets and a load whose cost is watched: the dragonfly of 1,056
// terminals under uniform traffic and minimal routing, with three virtual channels of 256 flits.
type switchForm struct {
	vcAlloc  int // cycles of the stage for virtual channels, as BookSim2's switch has one; 0: none
	pipeline string
	flits    int
	load     float64
	tiles    bool // of 128 KiB, between which channels take 16 cycles
}

func (s *switchForm) String() string {
	name := fmt.Sprintf("vc_alloc=%d/%s/flits=%d/load=%v", s.vcAlloc, s.pipeline, s.flits, s.load)
	if s.tiles {
		name += "/tiles"
	}
	return name
}

func (s *switchForm) config() fabric.Config {
	config := fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.BufferFlits = 3, 256
	config.Switch.VCAllocCycles, config.Switch.Pipeline = s.vcAlloc, s.pipeline
	if s.tiles {
		config.Channels = map[string]fabric.ChannelConfig{"global": {Latency: 16 * sim.Nanosecond}}
	}
	return config
}

// switchForms are those that are watched. Without a stage of their own, stages have no time to overlap.
func switchForms() (all []*switchForm) {
	for _, flits := range []int{1, 16} {
		for _, load := range []float64{0.1, 0.4, 0.9} {
			for _, pipeline := range []string{fabric.Serial, fabric.Overlapped} {
				all = append(all, &switchForm{vcAlloc: 1, pipeline: pipeline, flits: flits, load: load})
			}
			all = append(all, &switchForm{pipeline: fabric.Serial, flits: flits, load: load})
		}
	}
	return append(all, &switchForm{pipeline: fabric.Serial, flits: 1, load: 0.4, tiles: true})
}

// tile has networks divided into tiles where the form has some, while a test runs.
func (s *switchForm) tile(cleanup func(func())) {
	if s.tiles {
		core.TileFrom(cleanup, 1<<17, 16)
	}
}

// BenchmarkForms is the cost of a flit-hop by the form of the switch. An operation is a cycle.
func BenchmarkForms(b *testing.B) {
	for _, s := range switchForms() {
		b.Run(s.String(), func(b *testing.B) {
			s.tile(b.Cleanup)
			n := dragonflyNetwork(b, "min", 4, 8, 4)
			n.benchmark(b, s.config(), routingtest.Others(n.topo.Graph().Terminals()), s.load, s.flits, 1500)
		})
	}
}

const (
	instructionTable = "testdata/instructions.csv"
	instructionForm  = "WEFT_INSTRUCTIONS_OF" // number of a form, and cycles
	moved            = 0.02                   // the share by which a row may differ from the table
)

// TestInstructions counts the instructions of a flit-hop for each form of the switch, between
// two numbers of cycles of one run, and holds them against the table that is kept. It is run
// by make bench-check, which updates the table with UPDATE=1.
func TestInstructions(t *testing.T) {
	if job := os.Getenv(instructionForm); job != "" {
		instructionJob(t, job)
		return
	}
	mode := os.Getenv("WEFT_INSTRUCTIONS")
	if mode == "" {
		t.Skip("see make bench-check")
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Fatal("needs valgrind, which counts instructions: ", err)
	}
	kept := map[string]float64{}
	if b, err := os.ReadFile(instructionTable); err == nil {
		rows := simtest.Must(csv.NewReader(bytes.NewReader(b)).ReadAll())(t)
		for _, row := range rows[1:] {
			kept[row[0]] = simtest.Must(strconv.ParseFloat(row[1], 64))(t)
		}
	}
	table := "form,instructions_per_flit_hop\n"
	for i, s := range switchForms() {
		before, hops := instructionsOf(t, i, 600)
		after, more := instructionsOf(t, i, 900)
		now := float64(after-before) / float64(more-hops)
		table += fmt.Sprintf("%v,%.0f\n", s, now)
		was := kept[s.String()]
		t.Logf("%-46v %5.0f instructions a flit-hop (%.0f kept)", s, now, was)
		simtest.ErrorIf(t, mode != "update" && math.Abs(now-was) > moved*was,
			"%v takes %.0f instructions a flit-hop, the table has %.0f: find out why, or make bench-check UPDATE=1", s, now, was)
	}
	if mode == "update" {
		simtest.Check(t, errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(instructionTable, []byte(table), 0o666)))
	}
}

var instructionCount = regexp.MustCompile(`I\s+refs:\s+([\d,]+)`)

// instructionsOf counts the instructions of a form for so many cycles, and its flit-hops.
func instructionsOf(t *testing.T, form, cycles int) (instructions, hops int64) {
	var out []byte
	for range 40 { // valgrind does not know an instruction by which the runtime sometimes waits for a lock
		c := exec.Command("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", os.Args[0], "-test.run=^TestInstructions$", "-test.v")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", instructionForm, form, cycles), "GOGC=off", "GOMAXPROCS=1")
		var err error
		if out, err = c.CombinedOutput(); err == nil {
			break
		}
	}
	number := instructionCount.FindSubmatch(out)
	_, said, ok := strings.Cut(string(out), "flit-hops ")
	simtest.FatalIf(t, number == nil || !ok, "no count in\n%s", out)
	simtest.Must(fmt.Sscan(strings.ReplaceAll(string(number[1]), ",", ""), &instructions))(t)
	simtest.Must(fmt.Sscan(said, &hops))(t)
	return instructions, hops
}

func instructionJob(t *testing.T, job string) {
	var form, cycles int
	simtest.Must(fmt.Sscan(job, &form, &cycles))(t)
	s := switchForms()[form]
	n := dragonflyNetwork(t, "min", 4, 8, 4)
	s.tile(t.Cleanup)
	f := n.fabric(t, s.config())
	f.Tile()
	sizes := routingtest.AtRate(s.load / float64(s.flits))
	f.Attach(fabric.Ends{Source: measure.NewOpenLoop(n.topo.Graph().Terminals(), routingtest.Others(n.topo.Graph().Terminals()), sizes, routingtest.Fixed(s.flits), 1), Sink: measure.NewMeter(100)})
	f.Advance(int64(cycles))
	fmt.Println("flit-hops", f.FlitHops)
}
