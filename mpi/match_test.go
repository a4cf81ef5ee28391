package mpi

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
	"github.com/weft-sim/weft/sim/stats"
)

// FuzzMatcher holds the indexed lists against a plain slice: each byte of the input is an operation
// on a source and a tag drawn from a few values, Any among them.
func FuzzMatcher(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 250, 251, 252})
	long := make([]byte, 200)
	for i := range long {
		long[i] = byte(i * 37)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, script []byte) {
		type item struct{ source, tag, item int32 }
		var m matcher
		var lists [2]matchList
		var plain [2][]item
		for i, b := range script {
			which := int(b & 1)
			source, tag := int32(b>>1&7)-1, int32(b>>4&3)-1
			// The list is filled for a while, so that indexes are built, and
			// drained by the second half of the script.
			if fill := b>>6 != 0; fill == (i < len(script)/2) {
				m.add(&lists[which], source, tag, int32(i))
				plain[which] = append(plain[which], item{source, tag, int32(i)})
				continue
			}
			want, found := int32(0), false
			for j, p := range plain[which] {
				if fits(p.source, source) && fits(p.tag, tag) {
					want, found = p.item, true
					plain[which] = append(plain[which][:j:j], plain[which][j+1:]...)
					break
				}
			}
			got, ok := m.take(&lists[which], source, tag)
			simtest.FatalIf(t, ok != found || got != want, "step %d: take(%d, %d) = %d, %v; plain list has %d, %v", i, source, tag, got, ok, want, found)
		}
		for which := range lists {
			var left []int32
			m.items(&lists[which], func(node int32) { left = append(left, m.nodes[node].item) })
			simtest.FatalIf(t, len(left) != len(plain[which]), "list %d holds %d items, want %d", which, len(left), len(plain[which]))
			for i, p := range plain[which] {
				simtest.FatalIf(t, left[i] != p.item, "list %d item %d = %d, want %d", which, i, left[i], p.item)
			}
		}
	})
}

// Against a plain sorted slice: times never before the last pop, most numbers
// rising, and old events put back with their old numbers.
func TestRadixQueueAgainstSortedSlice(t *testing.T) {
	s := sim.NewStream(1, "radix", 0)
	var q radixQueue
	var plain []timedEvent
	order := func(a, b timedEvent) int {
		if a.time != b.time {
			return int(a.time - b.time)
		}
		return int(a.number - b.number)
	}
	now, number := int64(0), int64(0)
	push := func(e timedEvent) {
		q.push(e)
		i, _ := slices.BinarySearchFunc(plain, e, order)
		plain = slices.Insert(plain, i, e)
	}
	for range 20000 {
		if q.size == 0 || s.IntN(2) == 0 {
			e := timedEvent{time: now + int64(s.IntN(1<<s.IntN(12))), number: 3 * number}
			if number++; s.IntN(10) == 0 && e.number > 3000 {
				e.number -= 1 + 3*int64(s.IntN(1000)) // an old number, at the present time too
			}
			push(e)
			continue
		}
		e := q.pop()
		simtest.FatalIf(t, e != plain[0], "pop = %v, want %v", e, plain[0])
		plain = plain[1:]
		now = e.time
		if s.IntN(3) == 0 {
			e.time += 1 + int64(s.IntN(50))
			push(e)
		}
	}
	simtest.ErrorIf(t, q.size != len(plain), "size = %d, want %d", q.size, len(plain))
}

// TestOperationTimes: on LogGOPS with o = 100, L = 1,000 and nothing else, rank 0 sends to rank 1 and
// computes 500, the send first, and rank 1 has taken in the message 100 + 1,000 + 100 = 1,200 after rank 0
// began. Rank 0 is through with the operation after 100 + 500 = 600. Where it then computes 400 apart from
// the operation, it begins every 1,000, and rank 1, which waits in its operation, ends one every 1,000.
func TestOperationTimes(t *testing.T) {
	operation := collectives.Uniform(2, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if rank == 1 {
			return append(dst, collectives.RecvOp(0, 0, 1))
		}
		return append(dst, collectives.SendOp(1, 0, 1), collectives.Op{Kind: collectives.Compute, Time: 500 * sim.Nanosecond})
	})
	apart := collectives.Uniform(2, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		if rank == 1 {
			return dst
		}
		return append(dst, collectives.Op{Kind: collectives.Compute, Time: 400 * sim.Nanosecond})
	})
	machine := LogGOPS{L: 1000, Overhead: 100, Eager: 1000}
	for _, c := range []struct {
		name string
		s    *Iterated
		want []float64
	}{
		{"once", Iterate(operation, 1), []float64{600, 1200}},
		{"thrice", Iterate(operation, 3), []float64{600, 600}},
		{"apart, once", IterateApart(operation, apart, 1), []float64{600, 1200}},
		{"apart, thrice", IterateApart(operation, apart, 3), []float64{600, 1000}},
	} {
		w := RunSchedule(c.s, Costs{}, sim.Nanosecond)
		simtest.Must(machine.Run(w, nil))(t)
		simtest.EqualSlices(t, w.OperationTimes(), c.want, "%s:", c.name)
	}
	w := RunSchedule(operation, Costs{}, sim.Nanosecond)
	got := w.OperationTimes()
	simtest.ErrorIf(t, got != nil, "a schedule without iterations has times, %v", got)
}

// A rank with 1 B/ns of its own and two with 5 in a domain of 9: 1, 4 and 4.
func TestFairShares(t *testing.T) {
	for _, c := range []struct {
		bandwidth float64
		most      []float64
		want      []float64
	}{
		{9, []float64{5, 1, 5}, []float64{4, 1, 4}},
		{12, []float64{5, 1, 5}, []float64{5, 1, 5}},
		{3, []float64{5, 1, 5}, []float64{1, 1, 1}},
		{10, []float64{1, 2, 3, 9}, []float64{1, 2, 3, 4}},
	} {
		copies := make([]copying, len(c.most))
		for i := range copies {
			copies[i].most = c.most[i]
		}
		fairShares(copies, c.bandwidth)
		for i, want := range c.want {
			simtest.ErrorIf(t, math.Abs(copies[i].rate-want) > 1e-12, "%v of %v: copy %d has %v, want %v", c.bandwidth, c.most, i, copies[i].rate, want)
		}
	}
}

// Random copies in a domain against shares dealt out anew every picosecond.
func TestMemoryAgainstSmallSteps(t *testing.T) {
	s := sim.NewStream(3, "test", 0)
	for range 20 {
		type job struct {
			start       sim.Time
			bytes, most float64
		}
		jobs := make([]job, 6)
		nodes := make([]int32, len(jobs))
		for i := range jobs {
			jobs[i] = job{sim.Time(s.IntN(3000)), float64(1 + s.IntN(2000)), float64(1+s.IntN(4)) / 2}
		}
		const bandwidth = 16e12 // bits a second: 2 bytes a picosecond
		ends := make([]sim.Time, len(jobs))
		k := sim.NewKernel()
		m := newMemory(k, &Memory{Bandwidth: bandwidth, Domains: 1}, nodes, 1, func(rank int32) { ends[rank] = k.Now() })
		starter := k.Register(handlerFunc(func(e sim.Event) { m.copy(e.Target, jobs[e.Target].bytes, jobs[e.Target].most) }))
		for i, j := range jobs {
			k.Schedule(j.start, starter, 0, int32(i), 0)
		}
		k.Run(sim.MaxTime)
		var running []copying
		want := make([]sim.Time, len(jobs))
		for now, left := sim.Time(0), len(jobs); left > 0; now++ {
			for i, j := range jobs {
				if j.start == now {
					running = append(running, copying{rank: int32(i), left: j.bytes, most: j.most})
				}
			}
			fairShares(running, 2)
			for i := range running {
				running[i].left -= running[i].rate
			}
			running = slices.DeleteFunc(running, func(c copying) bool {
				if c.left > 1e-9 {
					return false
				}
				want[c.rank] = now + 1
				left--
				return true
			})
		}
		for i := range jobs {
			// Small steps keep a share for the rest of its picosecond.
			d := ends[i] - want[i]
			simtest.ErrorIf(t, d < -3 || d > 3, "%+v: copy %d ends at %d ps, want %d", jobs, i, ends[i], want[i])
		}
	}
}

type handlerFunc func(e sim.Event)

func (f handlerFunc) Handle(_ *sim.Kernel, e sim.Event) { f(e) }

// The daemons of ranks have phases of their own, drawn uniformly: of 1,000 ranks a quarter of the period each
// has some 250 (standard deviation 14).
func TestDaemonPhases(t *testing.T) {
	n := newNoise(&Noise{DaemonEvery: 1000, DaemonTime: 10}, 1, 1000)
	var quarters [4]int
	for _, phase := range n.phase {
		quarters[phase/250]++
	}
	for i, count := range quarters {
		simtest.ErrorIf(t, count < 180 || count > 320, "%d phases in quarter %d of the period, want some 250", count, i)
	}
}

// The daemon takes [3, 5), [13, 15), [23, 25) ...: of every 10 units the CPU has 8.
func TestDaemonTakesTheCPU(t *testing.T) {
	n := &noise{Noise: Noise{DaemonEvery: 10, DaemonTime: 2}, phase: []sim.Time{3}}
	for _, c := range []struct{ start, work, want sim.Time }{
		{0, 4, 6},     // 3 before it, 1 behind it
		{14, 80, 113}, // ten gaps from 15 on: 15 + 10*10 - 2
		{7, 0, 7},     // no work, no wait
	} {
		simtest.Equal(t, n.end(0, c.start, c.work), c.want, "%d units from %d end at", c.work, c.start)
	}
	// Against taking one unit after the other.
	for start := sim.Time(0); start < 40; start++ {
		at, left := start, sim.Time(0)
		for work := sim.Time(1); work < 60; work++ {
			for left = 1; left > 0; at++ {
				if d := at - 3; d < 0 || d%10 >= 2 {
					left--
				}
			}
			got := n.end(0, start, work)
			simtest.FatalIf(t, got != at, "%d units from %d end at %d, want %d", work, start, got, at)
		}
	}
}

// Means over 20,000 draws. Exponential: 1, with a standard error of 0.7 %. Normal
// with spread 0.25: 1, next to nothing being cut off, standard deviation 0.25.
// Spread 1: the mean of a normal variable of mean and deviation 1, given that it
// is positive, is 1 + f(1)/F(1) = 1 + 0.2420/0.8413 = 1.2876.
func TestNoiseDistributions(t *testing.T) {
	for _, c := range []struct {
		law             string
		spread          float64
		mean, deviation float64
	}{
		{Exponential, 0, 1, 1},
		{Normal, 0.25, 1, 0.25},
		{Normal, 1, 1.2876, 0.794},
	} {
		n := Noise{Spread: c.spread}
		s := sim.NewStream(7, "test", 0)
		var r stats.Running
		for range 20000 {
			r.Add(n.draw(&s, c.law))
		}
		simtest.Near(t, r.Mean(), c.mean, 0.02, "%s, spread %v: mean", c.law, c.spread)
		simtest.Near(t, math.Sqrt(r.Variance()), c.deviation, 0.02, "%s, spread %v: deviation", c.law, c.spread)
		simtest.ErrorIf(t, r.Min() < 0, "%s, spread %v: least %v", c.law, c.spread, r.Min())
	}
}

// TestStatesAreWhole: the author of a new field of what a run keeps decides here whether it
// is part of a snapshot.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[rank](t, "cpu", "busy", "copying", "stepping", "connected", "posting", "queue", "head", "posted", "early", "inbox")
	snapshottest.Names[copies](t, "memory", "ranks")
	snapshottest.Names[memory](t, "domains", "kernel", "handler", "ended", "bandwidth", "domainOf")
	snapshottest.Names[noise](t, "calls", "computing", "Noise", "phase")
	snapshottest.Names[connector](t, "links", "waiting", "perPeer", "turned",
		"again",                                                     // of an event
		"rt", "perNode", "datagrams", "dynamic", "group", "buffers") // of the settings
	snapshottest.Names[matcher](t, "nodes", "free", "order", // the items of lists in their order
		"links", "indexes") // made again when a list is long
	snapshottest.Names[runtime](t, "match", "recvBytes", "connect", "staged", "copies", "freeMsg", "newMsg", "endMsg", "stats",
		"shared", "number", "kernel", "handler", "work", "transport", "costs", // made before
		"ready", "pause", "failure", // of an event, of no result, not there in a run that is kept
		"sent", "side", "nextSent", // have become events
		"waking", "wakesUp", "newTransit", "endTransit") // of a timeline, of which no state is kept
	snapshottest.Names[shared](t, "ranks", "messages", "noise",
		"Config", "pauseEvery", "parts", "partOf", "nodeOf", "most", "places", "inOrder", "jobs", "queues")
	snapshottest.Names[loggpTransport](t, "nodes", "waking", "config", "kernel", "handler", "sink", "freed")
	snapshottest.Names[ScheduleRun](t, "ranks", "phaseEnd", "left", // the last follows from the ranks
		"s", "costs", "unit", "ops", "timed", "phased", "phaseOver", "parts")
}
