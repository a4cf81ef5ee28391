package mpi

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
)

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
			if math.Abs(copies[i].rate-want) > 1e-12 {
				t.Errorf("%v of %v: copy %d has %v, want %v", c.bandwidth, c.most, i, copies[i].rate, want)
			}
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
		m := newMemory(k, &Memory{bandwidth, 1}, nodes, 1, func(rank int32) { ends[rank] = k.Now() })
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
			if d := ends[i] - want[i]; d < -3 || d > 3 {
				t.Errorf("%+v: copy %d ends at %d ps, want %d", jobs, i, ends[i], want[i])
			}
		}
	}
}

type handlerFunc func(e sim.Event)

func (f handlerFunc) Handle(_ *sim.Kernel, e sim.Event) { f(e) }
