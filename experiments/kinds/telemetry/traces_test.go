package telemetry_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim/simtest"
)

const tracedRow = `
topology = { type = "mesh", dims = [3], terminals = 1 }
routing = { type = "dor" }
fabric = { clock = "2ns" }
switch = { vcs = 2, buffer_flits = 16, vc_alloc_cycles = 1, crossbar_cycles = 2, speedup = 1 }
channel.grid = { latency = "10ns" }
traffic = { load = 0.05, packet_flits = 3 }
measure = { warmup = 100, window = 2000 }
trace = { packets = 4, sources = [0], destinations = [2] }
`

// event is what every event of Chrome's format may have that a trace uses.
type event struct {
	Name, Cat, Ph, BP, S string
	TS, Dur              *float64
	Pid, Tid             *int
	ID                   int
	Args                 map[string]any
}

func events(t *testing.T, text string) []event {
	t.Helper()
	var file struct {
		DisplayTimeUnit string
		TraceEvents     []event
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	simtest.Check(t, d.Decode(&file))
	simtest.ErrorIf(t, file.DisplayTimeUnit != "ns", "times are displayed in %q", file.DisplayTimeUnit)
	return file.TraceEvents
}

// TestTraceOfPacket: a packet of 3 flits that meets no other, over a row of 3 switches, told by
// hand. From the cycle b of its birth, 1 cycle of injection and 1 of the terminal's channel to
// switch 0; there 1 cycle for the virtual channel, then 1 of allocation and 2 of the crossbar; 10
// ns are 5 cycles of channel. So the head reaches switch 0 in b+2 and its channel in b+6, switch 1
// in b+11, switch 2 in b+20, its channel in b+24, and terminal 2 in b+25, the tail in b+27.
func TestTraceOfPacket(t *testing.T) {
	o := enginetest.OutcomeOf(t, tracedRow)
	text := o.Files["traces/0.txt"]
	found := regexp.MustCompile(`(?m)^packet (\d+) of terminal 0: terminal 0 to terminal 2, 3 flits, minimal, 27 cycles\n +(\d+) +born\n`).FindStringSubmatch(text)
	simtest.FatalIf(t, found == nil, "no packet met no other:\n%s", text)
	var b int64
	fmt.Sscan(found[2], &b)
	section := text[strings.Index(text, found[0]):]
	if next := strings.Index(section, "\n\n"); next >= 0 {
		section = section[:next]
	}
	for _, line := range []struct {
		head, tail int64
		what       string
	}{
		{1, 3, "enters the channel to switch 0 port 0"},
		{2, 4, "arrives at switch 0 port 0"}, {2, -1, "routed to switch 0 port 1, virtual channels 0-1"},
		{3, -1, "holds virtual channel "}, {3, 5, "granted the switch"},
		{6, 8, "enters the channel to switch 1 port"},
		{11, 13, "arrives at switch 1 port"}, {12, -1, "holds"}, {15, 17, "enters the channel to switch 2 port"},
		{20, 22, "arrives at switch 2 port"}, {24, 26, "enters the channel to terminal 2"}, {25, 27, "arrives at terminal 2"},
	} {
		tail := ""
		if line.tail >= 0 {
			tail = fmt.Sprint(b + line.tail)
		}
		simtest.Says(t, section, fmt.Sprintf("%10d%10s  %s", b+line.head, tail, line.what))
	}
	// 1 at the terminal, 1+5+5+1 on the way, 3 times 1 and 3 cycles, 2 flits.
	simtest.Says(t, section, "source_queue 1 + wire 12 + buffer 0 + route 0 + vc_allocation 3 + credit_stall 0 + "+
		"switch_allocation 9 + output_queue 0 + tail 2: 27 cycles")
	if t.Failed() {
		t.Log(section)
	}

	// The same in microseconds of simulated time, 2 ns a cycle.
	name := "packet " + found[1] + " of terminal 0"
	spans := map[string][2]float64{}
	thread := map[[2]int]string{}
	process := map[int]string{}
	for _, e := range events(t, o.Files["traces/0.json"]) {
		switch {
		case e.Name == "process_name":
			process[*e.Pid] = e.Args["name"].(string)
		case e.Name == "thread_name":
			thread[[2]int{*e.Pid, *e.Tid}] = e.Args["name"].(string)
		case e.Name == name && e.Ph == "X":
			where, _, _ := strings.Cut(thread[[2]int{*e.Pid, *e.Tid}], " ")
			spans[process[*e.Pid]+" "+where] = [2]float64{*e.TS, *e.Dur}
		}
	}
	for where, cycles := range map[string][2]int64{
		"terminal 0 source": {0, 1}, "terminal 0 channel": {1, 4},
		"switch 0 in": {2, 8}, "switch 0 out": {6, 13}, "switch 1 in": {11, 17}, "switch 2 in": {20, 26}, "switch 2 out": {24, 27},
	} {
		from, length := float64(b+cycles[0])*0.002, float64(cycles[1]-cycles[0])*0.002
		got := spans[where]
		simtest.ErrorIf(t, math.Abs(got[0]-from) > 1e-9 || math.Abs(got[1]-length) > 1e-9, "%s: %v, want %v for %v", where, got, from, length)
	}
}

// TestTraceEvents holds a busy network's trace to what readers of the format rely on: complete
// events with times, those of a thread nested; named processes and threads; a flow for each packet
// that starts once, ends once, never goes back in time and always stands at the start of a complete
// event, which comes before it.
func TestTraceEvents(t *testing.T) {
	for _, clock := range []string{"1ns", "0.3ns", "7ns"} {
		t.Run(clock, func(t *testing.T) { testTraceEvents(t, clock) })
	}
}

func testTraceEvents(t *testing.T, clock string) {
	f := enginetest.Load(t, enginetest.Dragonfly+`
[fabric]
clock = "`+clock+`"
[routing]
type = "ugal-l"
[traffic]
load = 0.8
packet_flits = 4
[measure]
warmup = 300
window = 300
[trace]
packets = 150
choose = "slowest"
`)
	o := enginetest.Execute(t, f, engine.Execution{})
	type slice struct{ from, to float64 }
	open := map[int][]slice{}   // by thread
	owner := map[int]int{}      // process by thread
	flows := map[int][]event{}  // by packet
	names := map[string]int{}   // of processes and threads described
	packets := map[string]int{} // complete events by packet
	order := -1.0
	var before event
	for _, e := range events(t, o.Files["traces/0.json"]) {
		simtest.FatalIf(t, e.Pid == nil || *e.Pid < 1, "process of %+v", e)
		switch e.Ph {
		case "M":
			names[e.Name]++
			simtest.ErrorIf(t, *e.Tid <= 36+72, "thread %d may be taken for a process", *e.Tid) // switches and terminals
			continue
		case "i":
			simtest.ErrorIf(t, e.S != "t", "instant of scope %q", e.S)
		case "X":
			if e.Dur == nil || *e.Dur < 0 || *e.Dur == 0 && clock != "0.3ns" {
				t.Errorf("no duration: %+v", e)
				continue
			}
			s := slice{*e.TS, *e.TS + *e.Dur}
			stack := open[*e.Tid]
			for len(stack) > 0 && stack[len(stack)-1].to <= s.from+1e-9 {
				stack = stack[:len(stack)-1]
			}
			if len(stack) > 0 && (s.from < stack[len(stack)-1].from-1e-9 || s.to > stack[len(stack)-1].to+1e-9) {
				t.Errorf("%+v is not inside %v", e, stack[len(stack)-1])
			}
			simtest.ErrorIf(t, e.Cat == "packet" && len(stack) > 0, "%+v is inside %v", e, stack)
			open[*e.Tid] = append(stack, s)
			packets[e.Name]++
		case "s", "t", "f":
			flows[e.ID] = append(flows[e.ID], e)
			simtest.ErrorIf(t, (e.BP == "e") != (e.Ph == "f"), "binding %+v", e)
			simtest.Alike(t, "an arrow begins where it should not:", before.Ph, "X", *before.TS, *e.TS, *before.Tid, *e.Tid, *before.Pid, *e.Pid)
		default:
			t.Errorf("phase %q", e.Ph)
		}
		simtest.ErrorIf(t, *e.TS < order, "%+v after %v", e, order)
		p, known := owner[*e.Tid]
		simtest.ErrorIf(t, known && p != *e.Pid, "thread %d in two processes", *e.Tid)
		owner[*e.Tid] = *e.Pid
		before, order = e, max(order, *e.TS)
	}
	processes := map[int]bool{}
	for _, p := range owner {
		processes[p] = true
	}
	simtest.ErrorIf(t, len(flows) != 150 || names["thread_name"] != len(owner) || names["process_name"] != len(processes) || order <= 0.1,
		"%d flows, %v for %d threads in %d processes, last at %v us", len(flows), names, len(owner), len(processes), order)
	for id, steps := range flows {
		for i, e := range steps {
			want := "t"
			if i == 0 {
				want = "s"
			} else if i == len(steps)-1 {
				want = "f"
			}
			simtest.ErrorIf(t, e.Ph != want, "flow %d: step %d is %q", id, i, e.Ph)
		}
	}
}

// TestTraceFiles: traces are written beside the results, resumed as they were,
// and removed by a run without.
func TestTraceFiles(t *testing.T) {
	dir := t.TempDir()
	f := enginetest.Load(t, tracedRow+"[sweep]\n\"traffic.load\" = [0.05, 0.1]\n")
	enginetest.Execute(t, f, engine.Execution{Dir: dir})
	names := []string{"0.txt", "0.json", "1.txt", "1.json"}
	var want []string
	for _, name := range names {
		want = append(want, enginetest.Read(t, dir, "traces", name))
	}
	simtest.ErrorIf(t, want[0] == want[2] || !strings.HasPrefix(want[0], "4 packets, "), "traces/0.txt\n%s", want[0])
	simtest.Check(t, os.Remove(filepath.Join(dir, "traces", "1.txt")))
	simtest.Equal(t, enginetest.Execute(t, f, engine.Execution{Dir: dir, Resume: true}).Reused, 2, "points reused:")
	for i, name := range names {
		simtest.ErrorIf(t, enginetest.Read(t, dir, "traces", name) != want[i], "%s differs", name)
	}
	enginetest.Execute(t, enginetest.Load(t, strings.Replace(tracedRow, "packets = 4", "packets = 0", 1)), engine.Execution{Dir: dir, Force: true})
	entries, err := os.ReadDir(filepath.Join(dir, "traces"))
	simtest.ErrorIf(t, err == nil, "left behind: %v", entries)
}

// TestTraceProblems: terminals that do not exist are told by their place.
func TestTraceProblems(t *testing.T) {
	_, err := experiments.Load("row.toml", strings.Replace(tracedRow, "sources = [0]", "sources = [0, 3]", 1), experiments.Options{})
	simtest.Fail(t, err, "trace.sources[1]", "= 3: there are 3 terminals, numbered from 0")
}
