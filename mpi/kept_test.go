package mpi_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/applications"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/replay"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// keptRun is a run that is stopped and goes on.
type keptRun struct {
	name   string
	config mpi.Config
	begin  func() mpi.Workload
}

// run is the result with the ends of phases behind the times.
func (k *keptRun) run(t *testing.T, checkpoint mpi.Checkpoint) (mpi.Result, []int64) {
	t.Helper()
	c, w := k.config, k.begin()
	c.Checkpoint = checkpoint
	r := simtest.Must(c.Run(w))(t)
	if s, ok := w.(*mpi.ScheduleRun); ok {
		return r, s.PhaseEnds()
	}
	return r, nil
}

// states lists states at some random moments, in order, and the state at the end.
func (k *keptRun) states(t *testing.T, random *sim.Stream, events uint64, moments int) (states [][]byte) {
	t.Helper()
	least := int(events) / (12 * moments)
	defer mpi.PauseEvery(1 + least + random.IntN(least+1))()
	k.run(t, mpi.Checkpoint{Save: func(_ bool, state func(*snapshot.Archive) error) error {
		b, err := snapshottest.Encode(state)
		states = append(states, b)
		return err
	}})
	return states
}

// check stops a run at random moments: what goes on from there comes to the same, and
// writes the state that it has read. It returns what the run without a break has done.
func (k *keptRun) check(t *testing.T, random *sim.Stream, moments int) mpi.Stats {
	t.Helper()
	want, phases := k.run(t, mpi.Checkpoint{})
	states := k.states(t, random, want.Stats.Events, moments)
	simtest.ErrorIf(t, len(states) < 2, "%s: %d states are too few to test anything", k.name, len(states))
	for len(states) > moments {
		i := random.IntN(len(states) - 1) // the end stays
		states = slices.Delete(states, i, i+1)
	}
	for i, state := range states {
		if again, err := k.config.Rewrite(k.begin(), state); err != nil || !bytes.Equal(again, state) {
			t.Errorf("%s, state %d of %d: what is read is not written again: %v", k.name, i, len(states), err)
			continue
		}
		got, ends := k.run(t, mpi.Checkpoint{From: snapshot.Reader(state)})
		simtest.ErrorIf(t, digest(&got) != digest(&want) || got.Stats != want.Stats || !slices.Equal(ends, phases), "%s, from state %d of %d: %+v, want %+v", k.name, i, len(states), got.Stats, want.Stats)
	}
	return want.Stats
}

// TestKept: runs that reach every protocol, way of connecting and queue go on from states
// of random moments, with the results of one without a break.
func TestKept(t *testing.T) {
	random := sim.NewStream(1, "kept", 0)
	for _, c := range goldenRuns(t) {
		k := keptRun{c.name, c.config(), c.begin}
		k.check(t, &random, 2)
	}
}

// Noise, and memory that copies share.
func TestKeptNoiseAndMemory(t *testing.T) {
	random := sim.NewStream(2, "kept", 0)
	for _, name := range []string{"alltoall-bruck", "alltoall-ring", "alltoall-plp", "alltoall-linear", "allreduce-recursive-doubling"} {
		for _, bytes := range []sim.Bytes{2000, 20000} {
			schedule := simtest.Must(collectives.Registry.New(name, collectives.Env{Ranks: 24, PerNode: 6, Bytes: bytes}))(t)
			config := mpi.QDRConfig(6)
			config.Memory = mpi.Memory{Bandwidth: 40e9, Domains: 2}
			config.Noise = mpi.Noise{
				StartSkew: 2 * sim.Microsecond, Call: 100 * sim.Nanosecond, CallLaw: mpi.Exponential, Compute: 0.1, ComputeLaw: mpi.Normal, Spread: 0.3,
				DaemonEvery: 30 * sim.Microsecond, DaemonTime: 2 * sim.Microsecond,
			}
			if config.Protocols.EagerSegment = 700; bytes > 2000 {
				config.Connections.Group, config.Connections.Proxy = 8, true
			}
			k := keptRun{name, config, func() mpi.Workload {
				return mpi.RunSchedule(mpi.Iterate(schedule, 2), mpi.Costs{Copy: 200, Combine: 500}, sim.Picosecond)
			}}
			k.check(t, &random, 6)
		}
	}
}

// Every registered collective, with several ranks a node; without a break it moves as many messages as its schedule has.
func TestCollectivesAreKept(t *testing.T) {
	random := sim.NewStream(3, "kept", 0)
	for _, name := range collectives.Registry.Names() {
		for _, bytes := range []sim.Bytes{16, 70000} {
			perNode := 5
			s, err := collectives.Registry.New(name, collectives.Env{Ranks: 15, PerNode: perNode, Bytes: bytes})
			if collectivestest.Refused(err) {
				perNode = 4
				s, err = collectives.Registry.New(name, collectives.Env{Ranks: 16, PerNode: perNode, Bytes: bytes})
			}
			simtest.Check(t, err)
			k := keptRun{name, mpi.QDRConfig(perNode), func() mpi.Workload {
				return mpi.RunSchedule(s, mpi.Costs{Copy: 200, Combine: 200}, sim.Picosecond)
			}}
			got, want := k.check(t, &random, 2).Messages, scheduledMessages(s)
			simtest.ErrorIf(t, got != want, "%s: %d messages, want %d", name, got, want)
		}
	}
}

// scheduledMessages is the number of sends of a schedule that carry data.
func scheduledMessages(s collectives.Schedule) (n int64) {
	for r := range s.Ranks() {
		for round := range s.Rounds(r) {
			for _, op := range s.Round(r, round, nil) {
				if op.Kind == collectives.Send && !op.Control {
					n++
				}
			}
		}
	}
	return n
}

// Every registered skeleton, and all GOAL schedules of the tests.
func TestSkeletonsAreKept(t *testing.T) {
	random := sim.NewStream(4, "kept", 0)
	for name, s := range registeredSkeletons(t) {
		k := keptRun{name, mpi.QDRConfig(4), func() mpi.Workload { return s.Run(sim.Picosecond, mpi.Costs{}) }}
		k.check(t, &random, 2)
	}
	files := simtest.Must(filepath.Glob("testdata/goal/*.goal"))(t)
	simtest.FatalIf(t, len(files) == 0, "no schedules")
	for _, file := range files {
		g := parseFile(t, filepath.Base(file))
		k := keptRun{file, mpi.QDRConfig(3), func() mpi.Workload { return g.Replay(1000) }}
		k.check(t, &random, 5)
	}
}

// parted is a network in parts without contention inside: a node sends one transfer after
// another, a picosecond a byte, and a transfer takes its latency besides.
type parted struct {
	nodes, parts int
	window       sim.Time
	free         []sim.Time // by node: it has sent
	sent         []uint64   // by node: transfers
	each         []*partedTransport
}

// perNode is the number of ranks on a node.
const perNode = 4

const partedLatency = 700 * sim.Nanosecond

// partedTransport is the transport of a part.
type partedTransport struct {
	*parted
	kernel  *sim.Kernel
	handler sim.HandlerID
	sink    mpi.Sink
	mail    [][]partedMail // by part that it is for
}

type partedMail struct {
	at      sim.Time
	process int32
	arg     int64 // transfer << 1 | quiet
	key     uint64
}

// inParts divides such a network.
func inParts(parts int) mpi.Divide {
	return func(nodes int, alone sim.Time, _ string) (mpi.Division, error) {
		if alone == 0 {
			parts = 1
		}
		return &parted{nodes: nodes, parts: parts, window: min(alone, partedLatency), free: make([]sim.Time, nodes), sent: make([]uint64, nodes)}, nil
	}
}

func (p *parted) Parts() int            { return p.parts }
func (p *parted) PartOf(node int32) int { return int(node) * p.parts / p.nodes }

func (p *parted) Transport(part int, k *sim.Kernel, sink mpi.Sink) (mpi.Transport, error) {
	t := &partedTransport{parted: p, kernel: k, sink: sink, mail: make([][]partedMail, p.parts)}
	t.handler = k.Register(t)
	p.each = append(p.each, t)
	return t, nil
}

func (t *partedTransport) Send(x mpi.Transfer) {
	begin := max(t.kernel.Now(), t.free[x.From])
	t.free[x.From] = begin + sim.Time(x.Bytes)
	t.sent[x.From]++
	m := partedMail{t.free[x.From] + partedLatency, x.Process, int64(x.ID) << 1, uint64(x.From)<<32 | t.sent[x.From]}
	if x.Quiet {
		m.arg++
	}
	to := t.PartOf(x.To)
	t.mail[to] = append(t.mail[to], m)
	if t.each[to] == t {
		t.take(t)
	}
}

// take files what another part has sent.
func (t *partedTransport) take(from *partedTransport) {
	part := slices.Index(t.each, t)
	for _, m := range from.mail[part] {
		t.kernel.ScheduleKeyed(m.at, t.handler, 0, m.process, m.arg, m.key)
	}
	from.mail[part] = from.mail[part][:0]
}

func (t *partedTransport) Handle(k *sim.Kernel, e sim.Event) {
	if e.Arg&1 == 1 {
		t.sink.Written(int32(e.Arg>>1), k.Now())
	} else {
		t.sink.Delivered(int32(e.Arg >> 1))
	}
}

func (t *partedTransport) Stats() hca.Stats { return hca.Stats{} }

func (p *parted) Run(kernels []*sim.Kernel, m mpi.Meeting) {
	if p.parts == 1 {
		for kernels[0].Run(sim.MaxTime) && !m.Stop() {
		}
		return
	}
	inTurn := func(do func(part int)) {
		var all sync.WaitGroup
		for part := range kernels {
			all.Go(func() { do(part) })
		}
		all.Wait()
	}
	for {
		first := sim.MaxTime
		for i, k := range kernels {
			first = min(first, k.Next(), m.Next(i))
			for _, mail := range p.each[i].mail {
				for _, x := range mail {
					first = min(first, x.at)
				}
			}
		}
		if m.Stop() || first == sim.MaxTime {
			return
		}
		inTurn(func(part int) {
			for _, other := range p.each {
				p.each[part].take(other)
			}
			m.Take(part)
		})
		inTurn(func(part int) { kernels[part].Run(first + p.window - 1) })
	}
}

// Archive implements mpi.Stater.
func (p *parted) Archive(a *snapshot.Archive) {
	for _, to := range p.each {
		for _, from := range p.each {
			to.take(from)
		}
	}
	snapshot.Array(a, "nodes", p.free, snapshot.Int)
	snapshot.Array(a, "nodes", p.sent, snapshot.Int)
}

// Event implements mpi.Stater.
func (p *parted) Event(a *snapshot.Archive, e *sim.Event) (part int) {
	snapshot.Int(a, &e.Arg)
	return p.PartOf(e.Target / perNode)
}

// TestPartsAreKept: runs in parts go on from states of runs in other numbers of parts, with the same results.
func TestPartsAreKept(t *testing.T) {
	alltoall := func(bytes sim.Bytes) collectives.Schedule {
		return mpi.Iterate(collectives.AlltoallPairwise(collectives.Env{Ranks: 40, PerNode: 4, Bytes: bytes}), 2)
	}
	random := sim.NewStream(5, "kept", 0)
	for _, c := range []struct {
		name     string
		schedule collectives.Schedule
		set      func(*mpi.Config)
	}{
		{"eager", alltoall(500), func(c *mpi.Config) { c.Noise = mpi.Noise{Call: sim.Microsecond, CallLaw: mpi.Exponential} }},
		{"pieces", alltoall(1000), func(c *mpi.Config) { c.Protocols.EagerSegment = 300 }},
		{"rendezvous", alltoall(9000), func(*mpi.Config) {}},
		{"staged", alltoall(9000), func(c *mpi.Config) { c.Protocols.EagerLimit, c.Protocols.StagingPage = 9000, 9*sim.Microsecond }},
		{"relays", alltoall(9000), func(c *mpi.Config) { c.Connections.Group, c.Connections.Proxy = 8, true }},
		{"on demand, buffers of connections", alltoall(100), func(c *mpi.Config) {
			c.Connections.Mode, c.Connections.OnDemand, c.Connections.Preposted = mpi.RC, true, 1
		}},
		{"one connection a node", alltoall(100), func(c *mpi.Config) { c.Connections.Group, c.Connections.Mode = 8, mpi.XRCS }},
		{"shared memory", alltoall(1000), func(c *mpi.Config) { c.Memory = mpi.Memory{Bandwidth: 60e9, Domains: 1} }},
		{"direct writes", skeletonSchedule(t, "fft3d", 32, func(c *skeletons.FFT3D) { c.N = 32 }), func(*mpi.Config) {}},
		{"halo", skeletonSchedule(t, "halo", 32, func(c *skeletons.Halo) { c.Dims = []int{4, 8} }), func(*mpi.Config) {}},
	} {
		if testing.Short() && c.name != "rendezvous" && c.name != "direct writes" {
			continue // with the race detector
		}
		config := func(parts int) mpi.Config {
			config := mpi.QDRConfig(perNode)
			config.Adapter.RNRDelay = 5 * sim.Microsecond
			c.set(&config)
			config.Transport, config.Divide = nil, inParts(parts)
			return config
		}
		begin := func() mpi.Workload {
			return mpi.RunSchedule(c.schedule, mpi.Costs{Copy: 200, Combine: 500}, sim.Picosecond)
		}
		one := keptRun{c.name, config(1), begin}
		want, phases := one.run(t, mpi.Checkpoint{})
		for parts := 1; parts <= 3; parts++ {
			writer := keptRun{c.name, config(parts), begin}
			states := writer.states(t, &random, want.Stats.Events, 3)
			for range min(4, len(states)) {
				i := random.IntN(len(states))
				reader := keptRun{c.name, config(1 + random.IntN(5)), begin}
				got, ends := reader.run(t, mpi.Checkpoint{From: snapshot.Reader(states[i])})
				simtest.ErrorIf(t, digest(&got) != digest(&want) || got.Stats != want.Stats || !slices.Equal(ends, phases), "%s, state %d of %d of a run in %d parts: %+v, want %+v", c.name, i, len(states), parts, got.Stats, want.Stats)
			}
		}
	}
}

// keptLogGOPS is a run on the LogGOPS machine that is stopped and goes on.
type keptLogGOPS struct {
	name  string
	p     mpi.LogGOPS
	begin func() mpi.Workload
}

func (k *keptLogGOPS) run(checkpoint mpi.Checkpoint) (mpi.LogGOPSResult, []int64, error) {
	w := k.begin()
	r, err := k.p.RunKept(w, nil, checkpoint)
	if s, ok := w.(*mpi.ScheduleRun); ok && err == nil {
		return r, s.PhaseEnds(), nil
	}
	return r, nil, err
}

// check stops a run at random moments: what goes on from there comes to the same. It returns how many went on.
func (k *keptLogGOPS) check(t *testing.T, random *sim.Stream) (wentOn int) {
	t.Helper()
	want, phases, wantErr := k.run(mpi.Checkpoint{})
	defer mpi.PauseEvery(1 + random.IntN(1+int(want.Events)/3))()
	var states [][]byte
	_, _, _ = k.run(mpi.Checkpoint{Save: func(done bool, state func(*snapshot.Archive) error) error {
		if len(states) > 100 {
			return nil
		}
		b, err := snapshottest.Encode(state)
		states = append(states, b)
		return err
	}})
	for range min(5, len(states)) {
		state := states[random.IntN(len(states))]
		if again, err := k.p.Rewrite(k.begin(), state); err != nil || !bytes.Equal(again, state) {
			t.Fatalf("%s: what is read is not written again: %v", k.name, err)
		}
		got, ends, err := k.run(mpi.Checkpoint{From: snapshot.Reader(state)})
		simtest.FatalIf(t, (err == nil) != (wantErr == nil), "%s: error %v, without a break %v", k.name, err, wantErr)
		simtest.FatalIf(t, err == nil && (!slices.Equal(got.Finish, want.Finish) || !slices.Equal(ends, phases) || got.Messages != want.Messages || got.Events != want.Events), "%s: %v, without a break %v", k.name, got, want)
		wentOn++
	}
	return wentOn
}

// tiedGoal is a schedule in which nearly everything happens at the same times: messages of one size from and to anyone,
// computations of few lengths. Who comes first decides who waits, and what is matched with what.
func tiedGoal(s *sim.Stream) string {
	ranks := 2 + s.IntN(11)
	ops, anyone := make([][]string, ranks), s.IntN(2) == 0
	for range 10 + s.IntN(100) {
		from, to := s.IntN(ranks), s.IntN(ranks)
		source := from
		if anyone {
			source = -1
		}
		ops[from] = append(ops[from], fmt.Sprintf("send 8b to %d tag 0", to))
		ops[to] = append(ops[to], fmt.Sprintf("recv 8b from %d tag %d", source, -s.IntN(2)))
	}
	return goalText(s, ops, func() string { return fmt.Sprintf("calc %d", s.IntN(3)*2000) }, 8)
}

// TestLogGOPSIsKept: schedules in which ties decide, on CPUs and NICs, with errors of LogGOPSim and without.
func TestLogGOPSIsKept(t *testing.T) {
	random, wentOn := sim.NewStream(6, "kept", 0), 0
	schedules := 150
	if testing.Short() { // with the race detector
		schedules = 50
	}
	for i := range schedules {
		s := sim.NewStream(3, "goal", i)
		p := []mpi.LogGOPS{mpi.DefaultLogGOPS, {L: 2000, Overhead: 2000, Gap: 2000, Eager: 100}, {L: 500, Overhead: 1500, Gap: 4000, GapByte: 1, OverByte: 2, Eager: 5000}, {L: 4000, Gap: 4000, Eager: 8}}[s.IntN(4)]
		p.Compatible = s.IntN(3) == 0
		text := tiedGoal(&s)
		if i%2 == 0 {
			text = randomGoal(&s, 1+i/2%3)
		}
		g := simtest.Must(goal.Parse("random.goal", strings.NewReader(text)))(t)
		k := keptLogGOPS{text, p, func() mpi.Workload { return g.Replay(1) }}
		wentOn += k.check(t, &random)
	}
	simtest.ErrorIf(t, wentOn < 2*schedules, "%d runs went on: too few to mean anything", wentOn)
}

// Every registered collective and skeleton.
func TestLogGOPSKeepsSchedules(t *testing.T) {
	random := sim.NewStream(7, "kept", 0)
	for _, name := range collectives.Registry.Names() {
		schedule := simtest.Must(collectives.Registry.New(name, collectives.Env{Ranks: 16, PerNode: 4, Bytes: 5000}))(t)
		k := keptLogGOPS{name, mpi.DefaultLogGOPS, func() mpi.Workload {
			return mpi.RunSchedule(mpi.Iterate(schedule, 2), mpi.Costs{Copy: 200, Combine: 500}, sim.Nanosecond)
		}}
		k.check(t, &random)
	}
	for name, s := range registeredSkeletons(t) {
		k := keptLogGOPS{name, mpi.DefaultLogGOPS, func() mpi.Workload { return s.Run(sim.Nanosecond, mpi.Costs{}) }}
		k.check(t, &random)
	}
}

// registeredSkeletons are the skeletons of the registry, of about sixteen ranks.
func registeredSkeletons(t *testing.T) map[string]skeletons.Program {
	t.Helper()
	all := map[string]skeletons.Program{}
	for _, name := range skeletons.Registry.Names() {
		config := simtest.Must(skeletons.Registry.Config(name))(t)
		ranks := 16
		switch c := config.(type) {
		case *skeletons.Contention:
			ranks = 15
		case *replay.Goal:
			c.File = "testdata/goal/linear_alltoall_r8_64KiB.goal"
		case *replay.Trace:
			c.File = "testdata/goal/Fin1.bin"
		case *applications.ProgramFile:
			c.File = "applications/testdata/steps.toml"
		case *applications.Storage:
			c.Request = 1 << 15 // for more events
		case *skeletons.NAS:
			if name == "nas-lu" {
				c.Iterations.Iterations = 1 // of 250
			}
		}
		all[name] = simtest.Must(skeletons.Registry.Build(name, config, skeletons.Env{Ranks: ranks, PerNode: 4}))(t)
	}
	return all
}
