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
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	if _, err := fmt.Sscan(strings.ReplaceAll(string(number[1]), ",", ""), &instructions); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(said, &hops); err != nil {
		t.Fatal(err)
	}
	return instructions, hops
}

func instructionJob(t *testing.T, job string) {
	var form, cycles int
	_, err := fmt.Sscan(job, &form, &cycles)
	simtest.FatalIf(t, err != nil, "%v", err)
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
