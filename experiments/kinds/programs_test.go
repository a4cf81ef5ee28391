package kinds

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	kind "github.com/weft-sim/weft/experiments/kinds/mpi"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/terminal"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// queued samples the ports of some switches and of a class.
const queued = enginetest.FatTree + `
program = { type = "heeding" }
switch = { flow_control = "cut-through", hold = true, marking = "threshold", mark_flits = 4 }
traffic = { packet_flits = [2, 5] }
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
	enginetest.DivideAlways(t)
	table := enginetest.SameOnThreads(t, "queues", enginetest.Load(t, queued), simtest.Threads(t, 0), true, "queues").Tables["queues"]
	points := map[string]string{}
	ports := map[string]bool{}
	for _, row := range table.Rows {
		points[row[0]] += strings.Join(row[3:], ",") + "\n" // behind the point, its keys and its seed
		ports[row[4]] = true
	}
	simtest.ErrorIf(t, len(points) != 2 || points["0"] != points["1"], "%d points; those of packets have other series than those of flits", len(points))
	n := strings.Count(points["0"], "\n")
	simtest.ErrorIf(t, n != 30*len(ports) || len(ports) != 48 || !ports["switch 1 port 3"] || ports["switch 2 port 0"], "%d rows of %d ports", n, len(ports))
	for _, name := range []string{"waiting_flits", "outstanding_flits", "sent_flits", "marked_packets"} {
		simtest.ErrorIf(t, slices.Max(enginetest.Numbers(t, table, name)) == 0, "all is 0 in column %s", name)
	}
}

// TestQueuesRefusals: what names no port, and what cannot be sampled, is a problem of the file.
func TestQueuesRefusals(t *testing.T) {
	for _, c := range []struct{ change, to, want string }{
		{`"switch 1*"`, `"swich 1"`, `measure.queue_ports[0] = "swich 1" names no port: want all, a class of channels such as level2`},
		{`, marking = "threshold", mark_flits = 4`, "", `measure.queue_samples[3] = "marked": want others, or a switch.marking`},
		{`"sent", "marked"]`, `"lost"]`, "measure.queue_samples"},
		{`"nca"`, `"adaptive-escape"`, `measure.queue_samples[0] = "waiting": want others with this routing, whose packets wait for several ports`},
	} {
		enginetest.Refused(t, strings.Replace(queued, c.change, c.to, 1), c.want)
	}
}

// heeding sends a packet at a time, and the next one a while after its acknowledgement: a long
// while, if the packet has been marked.
type heeding struct {
	env      *terminal.Env `snap:"-"`
	contents sim.Stream
}

func init() {
	param.Register(terminal.Registry, "heeding", "for tests of marks", struct{}{}, func(_ struct{}, env terminal.Env) (fabric.Workload, error) {
		return terminal.NewHost(env, true, []string{"unmarked", "marked"}, func(t topology.TerminalID) terminal.Program {
			return &heeding{&env, sim.NewStream(env.Seed, "heeding", int(t))}
		}), nil
	})
	param.Register(terminal.Registry, "bearing", "for tests of losses", struct{}{}, func(_ struct{}, env terminal.Env) (fabric.Workload, error) {
		return terminal.NewHost(env, true, []string{"unmarked", "marked"}, func(t topology.TerminalID) terminal.Program {
			return &bearing{heeding{&env, sim.NewStream(env.Seed, "heeding", int(t))}}
		}), nil
	})
	longRuns["losses"] = longRun{"traffic", losses, "measure.window=200000", []string{"program.csv"}}
	longRuns["marks"] = longRun{"traffic", marked, "measure.window=200000", []string{"program.csv"}}
}

func (h *heeding) Start(p *terminal.Port) { h.Timer(p) }

func (h *heeding) Timer(p *terminal.Port) {
	p.Send(terminal.Packet{Dst: h.env.Pattern.Destination(p.Terminal(), &h.contents), Flits: h.env.Sizes.Draw(&h.contents)})
}

func (h *heeding) Arrived(p *terminal.Port, a *terminal.Arrival) {
	mark := uint64(0)
	if a.Marked {
		mark = 1
	}
	if a.Class == terminal.Low {
		p.Record(int(mark), a.Born)
		p.Send(terminal.Packet{Dst: a.Src, Flits: 1, Class: terminal.High, Tag: mark})
		return
	}
	p.SetTimer(p.Now() + 3*sim.Nanosecond + sim.Time(a.Tag)*40*sim.Nanosecond)
}

func (h *heeding) Pending() sim.Time { return sim.MaxTime }

func (h *heeding) Archive(a *snapshot.Archive) { snapshot.Fields(a, h) }

// bearing sends what is lost again, from whichever end.
type bearing struct{ heeding }

func (b *bearing) Lost(p *terminal.Port, lost *terminal.Packet) { p.Send(*lost) }

// losses are cables and a switch that fail, without retries of the network's.
var losses = strings.NewReplacer("retries = 3\ntimeout = \"300ns\"", "retries = 0", "vcs = 9", "vcs = 9\nflow_control = \"cut-through\"\nhold = true\nmarking = \"threshold\"\nmark_flits = 6",
	"window = 700", "window = 3000").Replace(enginetest.OwnFaults) + `
[program]
type = "bearing"
[traffic]
packet_flits = [2, 5]
`

// TestProgramsBearLosses: a program that does not bear losses is refused where there may be
// some; one that sends again what was lost goes on, the same on any number of threads.
func TestProgramsBearLosses(t *testing.T) {
	enginetest.DivideAlways(t)
	o := enginetest.SameOnThreads(t, "losses", enginetest.Load(t, losses), simtest.Threads(t, 0), true, "program")
	for _, lost := range enginetest.Numbers(t, o.Results, "packets_lost") {
		simtest.ErrorIf(t, lost == 0, "no packet was lost")
	}
	counts := enginetest.Numbers(t, o.Tables["program"], "count")
	simtest.ErrorIf(t, len(counts) != 2 || counts[0] < 1_000 || counts[1] == 0, "%v packets without a mark, with one", counts)
	enginetest.Refused(t, strings.Replace(losses, "bearing", "heeding", 1), `program.type "heeding" does not go with faults that come or go during the run: it would wait for answers to packets that are lost`)
}

const marked = enginetest.FatTree + `
program = { type = "heeding" }
traffic = { packet_flits = [2, 5] }
measure = { warmup = 500, window = 3000 }
[switch]
flow_control = "cut-through"
hold = true
mark_flits = 4
mark_from_flits = 2
mark_to_flits = 12
cc_sw_cong_setting_packet_size = 1
[sweep]
"fabric.unit" = ["flit", "packet"]
"switch.marking" = ["threshold", "red", "infiniband", "none"]
`

// TestMarksReachPrograms: programs are told of marks by all policies, and of none without one;
// results do not depend on threads, nor, where all times are whole cycles, on the unit.
func TestMarksReachPrograms(t *testing.T) {
	enginetest.DivideAlways(t)
	o := enginetest.SameOnThreads(t, "marks", enginetest.Load(t, marked), simtest.Threads(t, 0), true, "program")
	counts := enginetest.Numbers(t, o.Tables["program"], "count")
	simtest.FatalIf(t, len(counts) != 16, "%d rows", len(counts)) // two measures of eight points
	for point := range 8 {
		unmarked, marks := counts[2*point], counts[2*point+1]
		none := point%4 == 3
		simtest.ErrorIf(t, unmarked == 0 || (marks == 0) != none, "point %d: %g packets without a mark, %g with one", point, unmarked, marks)
		simtest.Equal(t, unmarked, counts[2*(point%4)], "point %d: packets without a mark, with packets and flits as the unit:", point)
	}
}

// TestFilesOnThreads: the files that come with weft, with their [quick] tables, write the
// same bytes on any number of threads: tables, figures and all else but what says how long it
// took. These are the examples of message passing through the fabric; where SOAK_TIME is set,
// all examples and papers, of all kinds.
func TestFilesOnThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	soak := os.Getenv("SOAK_TIME") != ""
	names := experiments.Embedded("examples")
	if soak {
		names = append(names, experiments.Embedded("papers")...)
	}
	files, ran, divided := 0, map[string]int{}, map[string]int{} // points by kind
	for _, name := range names {
		f := simtest.Must(experiments.Open(name, experiments.Options{Quick: true}))(t)
		if !soak && !throughFabric(f) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			points, divides := sameFilesOnThreads(t, f)
			files++
			ran[f.Kind()] += points
			divided[f.Kind()] += divides
		})
	}
	t.Logf("%d files; points: %v; of these simulated by several threads: %v", files, ran, divided)
	simtest.ErrorIf(t, files > 0 && !soak && divided["mpi"] == 0, "none")
	if files < len(names) { // or -run names some
		return
	}
	for _, k := range experiments.DescribeKinds() {
		simtest.ErrorIf(t, ran[k.Name] == 0, "no file of kind %s", k.Name)
	}
	for _, kind := range []string{"traffic", "mpi", "multicast-latency", "exchange"} {
		simtest.ErrorIf(t, divided[kind] == 0, "no point of kind %s was simulated by several threads", kind)
	}
}

// TestTilesOnThreads: a network large enough for one thread to simulate it in tiles, 1,056
// terminals with 16 virtual channels and channels of 20 cycles between groups (TestTiles of
// fabric/core), has the same rows and tables on any number of threads, which divide it otherwise.
func TestTilesOnThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	f := enginetest.Load(t, `kind = "traffic"
topology = { type = "dragonfly", p = 4, a = 8, h = 4 }
routing = { type = "par" }
switch = { vcs = 16 }
channel.global = { latency = "20ns" }
traffic = { pattern = "uniform", load = 0.3 }
measure = { warmup = 50, window = 100, blame = true }
`)
	enginetest.SameOnThreads(t, "tiles", f, simtest.Threads(t, 0), true, "blame", "congestion")
}

// throughFabric tells whether all that a file simulates is message passing through the fabric.
func throughFabric(f *experiments.File) bool {
	return f.Kind() == "mpi" && !slices.ContainsFunc(f.Points, func(p *experiments.Point) bool { return p.Config().(*kind.Config).Job.Machine != "fabric" })
}

// sameFilesOnThreads runs a file on several numbers of threads, and compares what is in the
// result folders. It returns the number of points, and of those that have been divided.
func sameFilesOnThreads(t *testing.T, f *experiments.File) (points, divided int) {
	t.Helper()
	var first map[string]string
	for _, n := range simtest.Threads(t, 0) {
		dir := filepath.Join(t.TempDir(), "results")
		o := enginetest.Execute(t, f, engine.Execution{Dir: dir, Jobs: 1, Threads: n})
		points, divided = o.Finished, o.Finished
		for why, on := range o.OnOneThread {
			t.Logf("%d threads: %d points on one: %s", n, on, why)
			divided -= on
		}
		got := folder(t, dir)
		for _, p := range f.Plots {
			if p.Table == "performance" || p.Table == "timing" { // says how long it took
				maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, p.File+".") })
			}
		}
		if n == 1 {
			first = got
			continue
		}
		simtest.EqualSlices(t, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(first)), "%d threads write", n)
		for name, text := range got {
			simtest.ErrorIf(t, text != first[name], "%s, %d threads:\n%.1000s\none:\n%.1000s", name, n, text, first[name])
		}
	}
	return points, divided
}

// folder is what is in a result folder, without what says how long it took and on what.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	simtest.Check(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch entry.Name() {
		case "manifest.json", "performance.csv", "timing.csv", "journal":
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name] = enginetest.Read(t, path)
		}
		return err
	}))
	simtest.ErrorIf(t, len(files) < 2, "%s holds %d files", dir, len(files)) // results.csv and resolved.toml
	return files
}
