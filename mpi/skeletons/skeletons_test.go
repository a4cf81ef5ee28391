package skeletons_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/applications"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func skeleton[C any](t *testing.T, name string, ranks int, set func(*C)) collectives.Schedule {
	t.Helper()
	s := simtest.Must(param.Make(skeletons.Registry, name, skeletons.Env{Ranks: ranks, PerNode: 4}, set))(t)
	return s.(collectives.Schedule)
}

// machine is the runtime with QDR adapters and four ranks a node.
var machine = mpi.Config{
	Placement: mpi.Placement{Type: mpi.Block, PerNode: 4}, Protocols: mpi.DefaultProtocols, Connections: mpi.DefaultConnections,
	Memory: mpi.DefaultMemory, Adapter: hca.QDR, Transport: mpi.DefaultLogGP.New, Seed: 1,
}

// Every skeleton with its defaults on 16 ranks (or 15) runs on the runtime and
// on the LogGOPS machine, and sends as many messages on both.
func TestSkeletonsRun(t *testing.T) {
	for _, name := range skeletons.Registry.Names() {
		t.Run(name, func(t *testing.T) {
			s := sample(t, name)
			work := s.Run(sim.Picosecond, mpi.Costs{})
			r := simtest.Must(machine.Run(work))(t)
			for _, connections := range []mpi.Connections{mpi.DefaultConnections, onDemand} {
				recorded := machine
				recorded.Connections, recorded.Timeline = connections, mpi.NewTimeline(1<<20)
				r := simtest.Must(recorded.Run(s.Run(sim.Picosecond, mpi.Costs{})))(t)
				checkTimeline(t, recorded.Timeline, &r)
			}
			l := simtest.Must(mpi.DefaultLogGOPS.Run(s.Run(sim.Nanosecond, mpi.Costs{}), nil))(t)
			timed := mpi.DefaultLogGOPS
			timed.Timeline = mpi.NewTimeline(1 << 20)
			again := simtest.Must(timed.Run(s.Run(sim.Nanosecond, mpi.Costs{}), nil))(t)
			simtest.ErrorIf(t, !slices.Equal(again.Finish, l.Finish), "a timeline changes the times of the LogGOPS machine")
			checkTimeline(t, timed.Timeline, inPicoseconds(again.Finish))
			simtest.ErrorIf(t, r.Stats.Messages != l.Messages || l.Messages == 0, "%d messages on the runtime, %d on the LogGOPS machine", r.Stats.Messages, l.Messages)
			run, ok := work.(*mpi.ScheduleRun)
			if !ok {
				return
			}
			ends := run.PhaseEnds()
			for i := 1; i < len(ends); i++ {
				simtest.ErrorIf(t, ends[i] <= ends[i-1], "phase %d ends at %d, the one before at %d", i, ends[i], ends[i-1])
			}
		})
	}
}

// inPicoseconds is a result with times of the LogGOPS machine.
func inPicoseconds(finish []int64) *mpi.Result {
	r := &mpi.Result{}
	for _, ns := range finish {
		r.Finish = append(r.Finish, sim.Time(ns)*sim.Nanosecond)
	}
	r.Elapsed = slices.Max(r.Finish)
	return r
}

// sample is a skeleton with its defaults, on 16 ranks or 15, or a schedule, "goal".
func sample(t *testing.T, name string) skeletons.Program {
	t.Helper()
	if name == "goal" {
		const file = "../testdata/goal/linear_alltoall_r8_64KiB.goal"
		return simtest.Must(goal.Parse(file, simtest.Must(os.Open(file))(t)))(t)
	}
	config := simtest.Must(skeletons.Registry.Config(name))(t)
	ranks := 16
	switch c := config.(type) {
	case *skeletons.Contention:
		ranks = 15
	case *skeletons.NAS:
		if name == "nas-lu" {
			c.Iterations.Iterations = 2 // of 250
		}
	case *applications.Nekbone:
		c.Steps = 5 // of 100
	case *applications.ProgramFile:
		c.File = "../applications/testdata/steps.toml"
	}
	return simtest.Must(skeletons.Registry.Build(name, config, skeletons.Env{Ranks: ranks, PerNode: 4}))(t)
}

// onDemand makes connections when they are first used.
var onDemand = func() mpi.Connections {
	c := mpi.DefaultConnections
	c.OnDemand = true
	return c
}()

// checkTimeline: what a rank does and waits for adds up to its finish, or to a completion
// behind it, and the critical path to the elapsed time. No step of it is a wait without a cause.
func checkTimeline(t *testing.T, l *mpi.Timeline, r *mpi.Result) {
	t.Helper()
	last := 0
	for rank, finish := range r.Finish {
		free := sim.Time(0)
		l.Of(rank, func(a mpi.Activity) {
			simtest.FatalIf(t, a.Start != free || a.End <= a.Start, "rank %d: %+v behind %d", rank, a, free)
			free = a.End
		})
		simtest.FatalIf(t, free < finish, "rank %d ends at %d, want %d", rank, free, finish)
		if finish > r.Finish[last] {
			last = rank
		}
	}
	at := sim.Time(0)
	for _, s := range l.CriticalPath(last, r.Elapsed) {
		simtest.FatalIf(t, s.Start != at || s.End <= s.Start || s.What == mpi.Waiting, "step %+v behind %d", s, at)
		at = s.End
	}
	simtest.FatalIf(t, at != r.Elapsed, "the path is %d long, want %d", at, r.Elapsed)
}

// countSends is the number and the bytes of a schedule's messages.
func countSends(s collectives.Schedule) (messages, bytes int64) {
	for r := range s.Ranks() {
		m, b := rankSends(s, r)
		messages, bytes = messages+m, bytes+b
	}
	return messages, bytes
}

// rankSends is the number and the bytes of a rank's messages.
func rankSends(s collectives.Schedule, rank int) (messages, bytes int64) {
	var ops []collectives.Op
	for round := range s.Rounds(rank) {
		ops = s.Round(rank, round, ops[:0])
		for _, op := range ops {
			if op.Kind == collectives.Send {
				messages, bytes = messages+1, bytes+op.Bytes
			}
		}
	}
	return messages, bytes
}

func TestFTCommunication(t *testing.T) {
	// Class A: 256 x 256 x 128 points of 16 B. On 64 ranks (1-D): every rank
	// sends 63 of 64 parts of its 2 MiB, and the tree has 63 messages of 16 B.
	m, b := countSends(skeleton(t, "nas-ft", 64, func(c *skeletons.FT) { c.Iterations.Iterations = 1 }))
	simtest.ErrorIf(t, m != 64*63+63 || b != 64*63*(2<<20)/64+63*16, "1-D: %d messages, %d B", m, b)
	// On 512 (2-D, 128 x 4): 3 messages within rows, 127 within columns.
	m, b = countSends(skeleton(t, "nas-ft", 512, func(c *skeletons.FT) { c.Iterations.Iterations = 1 }))
	rank := int64(256 * 256 * 128 * 16 / 512)
	simtest.ErrorIf(t, m != 512*(3+127)+511 || b != 512*(3*rank/4+127*rank/128)+511*16, "2-D: %d messages, %d B", m, b)
	// Class E on 16,384: 33.5 million messages an iteration, 16,384 x (7 + 2047) and the tree's.
	np1, np2 := skeletons.FTLayout("E", 16384)
	simtest.ErrorIf(t, np1 != 2048 || np2 != 8, "class E on 16,384 ranks: %d x %d, want 2048 x 8", np1, np2)
}

// TestFTLayoutOfRanks: class A on 512 ranks is 128 x 4: a row is four consecutive ranks, a column every fourth rank.
// Rank 6 sends to 4, 5 and 7 first, then to 2, 10, 14 and so on, each once.
func TestFTLayoutOfRanks(t *testing.T) {
	s := skeleton(t, "nas-ft", 512, func(c *skeletons.FT) { c.Iterations.Iterations = 1 })
	var row, column []int32
	for round := range s.Rounds(6) {
		for _, op := range s.Round(6, round, nil) {
			switch {
			case op.Kind != collectives.Send || op.Bytes == 16: // the checksum
			case op.Peer/4 == 1 && len(column) == 0:
				row = append(row, op.Peer)
			default:
				column = append(column, op.Peer)
			}
		}
	}
	slices.Sort(row)
	simtest.ErrorIf(t, !slices.Equal(row, []int32{4, 5, 7}), "rank 6 sends within its row to %v", row)
	slices.Sort(column)
	same := slices.ContainsFunc(column, func(peer int32) bool { return peer%4 != 2 })
	simtest.ErrorIf(t, same || len(slices.Compact(column)) != 127, "rank 6 sends within its column to %v", column)
}

// TestContentionBall: from 8 KiB on the ball is an RDMA write, below it goes eagerly.
func TestContentionBall(t *testing.T) {
	for bytes, want := range map[sim.Bytes]collectives.Protocol{8191: collectives.Eager, 8192: collectives.Direct} {
		s := skeleton(t, "contention", 3, func(c *skeletons.Contention) { c.Bytes = bytes })
		ops := s.Round(0, 0, nil)
		simtest.ErrorIf(t, len(ops) != 1 || ops[0].Protocol != want, "%v: %+v, want protocol %v", bytes, ops, want)
	}
}

func TestLUCommunication(t *testing.T) {
	// Class A on 4 x 4: 24 pairs of neighbours exchange a message in each of 2 x 62 planes, one
	// way, and a face both ways. 16 points of 5 words a message; a face is two layers of 64 planes.
	m, b := countSends(skeleton(t, "nas-lu", 16, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }))
	simtest.ErrorIf(t, m != 2*62*24+48 || b != 2*62*24*640+48*2*64*640, "%d messages, %d B", m, b)
}

// The wavefront of one sweep without communication costs: the last rank starts after x + y planes, so that 62 planes end
// after 62 + 6 of them; both sweeps twice that, the second waiting for the first at the far corner only.
func TestLUWavefront(t *testing.T) {
	s := skeleton(t, "nas-lu", 16, func(c *skeletons.NAS) { c.Iterations = skeletons.Iterations{1, 124 * sim.Millisecond} })
	r := simtest.Must(mpi.DefaultLogGOPS.Run(mpi.RunSchedule(s, mpi.Costs{}, sim.Nanosecond), nil))(t)
	want := 2 * (62 + 6) * 1e6 // planes of 1 ms, in ns
	got := float64(slices.Max(r.Finish))
	simtest.ErrorIf(t, got < want || got > 1.04*want, "finishes at %v ns, want %v and up to 4 %% of communication", got, want)
}

func TestSkeletonsRefuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks int
		want  string
	}{
		{"nas-ft", 12, "power of two"},
		{"nas-lu", 12, "power of two"},
		{"nas-lu", 4096, "at least 4 points"},
		{"halo", 15, "product of 15"},
		{"ping-pong", 1, "at least 2"},
	} {
		config := simtest.Must(skeletons.Registry.Config(c.name))(t)
		simtest.Refuse(skeletons.Registry.Build(c.name, config, skeletons.Env{Ranks: c.ranks}))(t, c.want)
	}
}

// Messages and bytes of a whole program, from what its source says of its communication.
func TestApplicationsCommunication(t *testing.T) {
	for _, c := range []struct {
		what            string
		s               collectives.Schedule
		messages, bytes int64
	}{
		// 4 x 4 without wrapping: 24 pairs at faces, 18 at corners, both ways.
		{"9-point stencil", skeleton(t, "stencil", 16, func(c *applications.Stencil) { c.Iterations.Iterations = 1 }), 2 * (24 + 18), 2 * (24*8192 + 18*64)},
		// A torus of 3 x 3 x 3: all 26 others are neighbours, 6 at faces, 12 at edges, 8 at corners.
		{"27-point stencil", skeleton(t, "stencil", 27, func(c *applications.Stencil) { c.Iterations.Iterations, c.Dims, c.Wraps = 1, []int{3, 3, 3}, true }), 27 * 26, 27 * (6*8192 + 12*64 + 8*8)},
		// A torus of 2 x 2: 8 messages a rank, to 3 others.
		{"a torus of two", skeleton(t, "stencil", 4, func(c *applications.Stencil) { c.Iterations.Iterations, c.Dims, c.Wraps = 1, []int{2, 2}, true }), 4 * 8, 4 * (4*8192 + 4*64)},
		// 4 x 4: from each corner, 2 octants of 4 blocks cross 24 pairs; the sum has 4 rounds.
		{"sweep3d", skeleton(t, "sweep3d", 16, func(*applications.Sweep3D) {}), 8*4*24 + 16*4, 8*4*24*2400 + 16*4*8},
		// Two each of 3 dimensions, of 4 x 2 x 2, forth and back in 5 iterations and once with
		// atoms, and a sum of 4 rounds.
		{"lammps", skeleton(t, "lammps", 16, func(c *applications.LAMMPS) { c.Iterations.Iterations = 5 }), 16 * (11*6 + 4), 16 * (10*6*65536 + 6*16384 + 4*8)},
		{"random neighbours", skeleton(t, "random-neighbours", 11, func(c *applications.RandomNeighbours) { c.Iterations.Iterations = 1 }), 11 * 4, 11 * 4 * 8192},
		// 16 ranks, 4 x 4: 26 steps of 2 exchanges of 14000/4+1 doubles in the row, the transpose (not
		// of the 4 ranks on the diagonal), 2 x 2 numbers.
		{"CG", skeleton(t, "nas-cg", 16, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }), 26 * (16*6 + 12), 26 * ((16*2+12)*3501*8 + 16*4*8)},
		// 32 ranks in rows of 8: 3 exchanges; the transpose of half a piece leaves 8 ranks where they are.
		{"CG of 32", skeleton(t, "nas-cg", 32, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }), 26 * (32*9 + 24), 26 * (32*3*3501*8 + 24*3501*4 + 32*6*8)},
		// 8 ranks, 4 x 2, of 64 x 64 points of 40 B: 6 pairs along x with 32 points at their border, 4 along y
		// with 16; one way in each of 2 x 62 planes, then two layers of 64 planes both ways.
		{"LU of 8", skeleton(t, "nas-lu", 8, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }), 124*10 + 2*10, (124 + 2*128) * 40 * (6*32 + 4*16)},
		// 12^3 points of 16 B on 4 ranks: blocks of 12^3/4^2 points.
		{"FFT", skeleton(t, "fft3d", 4, func(c *skeletons.FFT3D) { c.N, c.Iterations.Iterations = 12, 1 }), 4 * 3, 4 * 3 * 108 * 16},
		{"groups", skeleton(t, "group-alltoall", 16, func(c *applications.GroupAlltoall) { c.Iterations.Iterations, c.Stride = 1, 2 }), 16 * 3, 16 * 3 * 16384},
		// 15 clients with 4 requests each, answered in 4 bytes.
		{"many to one", skeleton(t, "many-to-one", 16, func(c *applications.Storage) { c.Iterations.Iterations = 1 }), 15 * 8, 15 * (4<<20 + 4*4)},
		{"three servers", skeleton(t, "many-to-one", 16, func(c *applications.Storage) { c.Iterations.Iterations, c.Servers = 1, 3 }), 13 * 8, 13 * (4<<20 + 4*4)},
		// The steps of the file, twice: 3 stencils of 84 messages, 4 rows of 8 in each of 2 rounds twice, 4
		// columns of 12 and a barrier of 8, 6 writers.
		{"a program file", programOf(t, "../applications/testdata/steps.toml", 16), 2 * (3*84 + 2*32 + 4*20 + 6*2), 2 * (3*(48*1024+36*64) + 2*32*2048 + 4*(12*1024+8) + 6*(65536+4))},
	} {
		m, b := countSends(c.s)
		simtest.ErrorIf(t, m != c.messages || b != c.bytes, "%s: %d messages, %d B, want %d, %d", c.what, m, b, c.messages, c.bytes)
	}
}

// Sends and bytes of ranks of MFNetSim's runs (PADS 2025; SPEAR-UIC/MFNetSim@9da8142, logs of the
// applications alone): of ranks that take part in sums in each of the three ways, or stand at
// borders of the grid. Nekbone's three barriers have 9 messages each, here of a byte.
func TestApplicationsAsMFNetSim(t *testing.T) {
	milc := skeleton(t, "milc", 300, func(c *applications.MILC) { c.Dims = []int{3, 4, 5, 5} })
	nekbone := skeleton(t, "nekbone", 300, func(c *applications.Nekbone) { c.Dims = []int{5, 6, 10} })
	sum := collectives.AllreduceRecursiveHalving(300, 29516800)
	for _, c := range []struct {
		what         string
		s            collectives.Schedule
		rank         int
		sends, bytes int64
	}{
		{"milc", milc, 0, 1800, 796264000},
		{"milc", milc, 1, 3400, 796276800},
		{"milc", milc, 88, 3200, 796275200},
		{"milc", milc, 150, 3200, 796275200},
		{"milc", milc, 299, 3200, 796275200},
		{"nekbone", nekbone, 0, 6075, 318445632 + 27},
		{"nekbone", nekbone, 1, 22947, 425406288 + 27},
		{"nekbone", nekbone, 88, 24777, 532939872 + 27},
		{"nekbone", nekbone, 150, 21141, 425391840 + 27},
		{"nekbone", nekbone, 299, 18717, 318546768 + 27},
		{"a sum of Cosmoflow", sum, 0, 1, 147584000 / 5},
		{"a sum of Cosmoflow", sum, 1, 85 / 5, 441599000 / 5},
		{"a sum of Cosmoflow", sum, 88, 80 / 5, 294015000 / 5},
		{"a sum of Cosmoflow", sum, 150, 80 / 5, 294015000 / 5},
		{"a sum of Cosmoflow", sum, 299, 80 / 5, 294015000 / 5},
	} {
		sends, bytes := rankSends(c.s, c.rank)
		simtest.ErrorIf(t, sends != c.sends || bytes != c.bytes, "%s, rank %d: %d sends of %d B, want %d of %d", c.what, c.rank, sends, bytes, c.sends, c.bytes)
	}
}

func programOf(t *testing.T, file string, ranks int) collectives.Schedule {
	t.Helper()
	p := simtest.Must(skeletons.Registry.Build("program", &applications.ProgramFile{File: file}, skeletons.Env{Ranks: ranks, PerNode: 1}))(t)
	return p.(collectives.Schedule)
}

// A wave needs as many steps as there are ranks on its way and blocks behind it: without
// communication costs, of 4 x 4 ranks with 4 blocks the last ends after 6 + 2 x 4 steps from a
// corner; the next corner's wave starts where ranks are through with this one.
func TestSweepWavefront(t *testing.T) {
	s := skeleton(t, "sweep3d", 16, func(c *applications.Sweep3D) { c.Compute = 32 * sim.Millisecond })
	free := mpi.DefaultLogGOPS
	r := simtest.Must(free.Run(mpi.RunSchedule(s, mpi.Costs{}, sim.Nanosecond), nil))(t)
	// At least all 32 blocks and one way across; at most four ways across.
	ms := float64(slices.Max(r.Finish)) / 1e6
	simtest.ErrorIf(t, ms < 32+6 || ms > 1.02*(32+4*6), "takes %v ms", ms)
}

// TestTimelineOfSettings: whatever the library, connections, noise and memory are, what ranks do and wait
// for adds up, and so does the critical path; and the run is the run without a timeline.
func TestTimelineOfSettings(t *testing.T) {
	// Ranks that begin late, whose connections others close, or who connect when a message is staged.
	pauses := map[string]bool{"noise": true, "torn down": true, "staging": true}
	for name, set := range map[string]func(c *mpi.Config){
		"datagrams":      func(c *mpi.Config) { c.Connections.Mode = mpi.UD },
		"xrc, on demand": func(c *mpi.Config) { c.Connections.Mode, c.Connections.OnDemand = mpi.XRCS, true },
		"groups":         func(c *mpi.Config) { c.Connections.Group = 4 },
		"proxies":        func(c *mpi.Config) { c.Connections.Group, c.Connections.Proxy = 4, true },
		"torn down":      func(c *mpi.Config) { c.Connections.OnDemand, c.Connections.TearDown = true, true },
		"few buffers":    func(c *mpi.Config) { c.Connections.Mode, c.Connections.Preposted = mpi.RC, 1 },
		"staging":        func(c *mpi.Config) { c.Protocols.StagingPage, c.Connections.OnDemand = 300*sim.Nanosecond, true },
		"no overheads": func(c *mpi.Config) {
			c.Protocols.SendOverhead, c.Protocols.RecvOverhead, c.Protocols.PollOverhead = 0, 0, 0
		},
		"rendezvous": func(c *mpi.Config) { c.Protocols.EagerLimit, c.Protocols.RegisterTime = 0, sim.Microsecond },
		"noise": func(c *mpi.Config) {
			c.Noise = mpi.Noise{StartSkew: 5 * sim.Microsecond, Call: 100 * sim.Nanosecond, CallLaw: mpi.Exponential, DaemonEvery: 20 * sim.Microsecond, DaemonTime: 2 * sim.Microsecond}
		},
		"pieces":        func(c *mpi.Config) { c.Protocols.EagerSegment, c.Protocols.SegmentOverhead = 100, 50 },
		"shared memory": func(c *mpi.Config) { c.Memory = mpi.Memory{Bandwidth: 60e9, Domains: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, skeleton := range []string{"halo", "osu-alltoall", "nas-lu", "stencil", "many-to-one", "traffic", "goal"} {
				config := machine
				set(&config)
				program := sample(t, skeleton)
				without := simtest.Must(config.Run(program.Run(sim.Picosecond, mpi.Costs{})))(t)
				config.Timeline = mpi.NewTimeline(1 << 20)
				r := simtest.Must(config.Run(program.Run(sim.Picosecond, mpi.Costs{})))(t)
				simtest.ErrorIf(t, fmt.Sprint(r) != fmt.Sprint(without), "%s: %+v, without a timeline %+v", skeleton, r, without)
				checkTimeline(t, config.Timeline, &r)
				for rank := range config.Timeline.Ranks() {
					config.Timeline.Of(rank, func(a mpi.Activity) {
						simtest.FatalIf(t, a.What == mpi.Pausing && skeleton != "traffic" && !pauses[name], "%s: rank %d waits for nothing: %+v", skeleton, rank, a)
					})
				}
			}
		})
	}
}

// counted counts what a program hands out, by kind of operation.
func counted(w mpi.Workload) (n, size [3]int64) {
	for r := range int32(w.Ranks()) {
		for ops := w.Start(r, nil); len(ops) > 0; {
			op := ops[0]
			n[op.Kind]++
			size[op.Kind] += op.Size
			ops = w.Done(r, op.ID, 0, w.Started(r, op.ID, 0, ops[1:]))
		}
	}
	return n, size
}

// checkExport: the schedule of a program has its messages, is the same from text and from
// binary, and goes to its end on the LogGOPS machine; it returns when its ranks do.
func checkExport(t *testing.T, programs []mpi.Job) []int64 {
	t.Helper()
	g, _ := simtest.Must2(trace.Export("x", programs))(t)
	written := func(write func(io.Writer) error) string {
		var b strings.Builder
		simtest.Check(t, write(&b))
		return b.String()
	}
	text, binary := written(g.WriteText), written(g.WriteBinary)
	fromText := simtest.Must(goal.Parse("text", strings.NewReader(text)))(t)
	fromBinary := simtest.Must(goal.Parse("binary", strings.NewReader(binary)))(t)
	simtest.ErrorIf(t, written(fromBinary.WriteText) != text || written(fromText.WriteBinary) != binary, "the text or the binary form is another schedule")
	var n, size [3]int64
	for _, p := range programs {
		for range p.Repeat {
			a, b := counted(p.Program())
			for k := range n {
				n[k] += a[k]
				size[k] += b[k]
			}
		}
	}
	for _, kind := range []mpi.Kind{mpi.Send, mpi.Recv} {
		a, b := fromText.Count(kind)
		simtest.ErrorIf(t, a != n[kind] || b != size[kind], "%d %vs of %d B, want %d of %d", a, kind, b, n[kind], size[kind])
	}
	r := simtest.Must(mpi.DefaultLogGOPS.Run(fromText.Replay(1), nil))(t)
	simtest.ErrorIf(t, r.Messages != n[mpi.Send], "%d messages in the replay, want %d", r.Messages, n[mpi.Send])
	return r.Finish
}

// TestExport: every skeleton becomes a schedule that ends when the skeleton does, to the nanosecond, but for traffic: it
// sends at times of its own, which the time of earlier messages moves in a schedule.
func TestExport(t *testing.T) {
	for _, name := range append(skeletons.Registry.Names(), "goal") {
		t.Run(name, func(t *testing.T) {
			program := sample(t, name)
			run := func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{Combine: 500}) }
			finish := checkExport(t, []mpi.Job{{Program: run, Repeat: 1}})
			want := simtest.Must(mpi.DefaultLogGOPS.Run(run(), nil))(t)
			simtest.ErrorIf(t, name != "traffic" && !slices.Equal(finish, want.Finish), "ends at %v, want %v", finish, want.Finish)
		})
	}
}

// TestExportOfJobs: jobs follow each other in ranks, begin at their times, and each rank
// repeats its program when it is through with it.
func TestExportOfJobs(t *testing.T) {
	var programs []mpi.Job
	for i, name := range []string{"halo", "goal", "traffic"} {
		program := sample(t, name)
		programs = append(programs, mpi.Job{Program: func() mpi.Workload { return program.Run(sim.Nanosecond, mpi.Costs{}) }, Start: sim.Time(i) * sim.Microsecond, Repeat: 1 + i})
	}
	checkExport(t, programs)
}
