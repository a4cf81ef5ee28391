package mpi

import (
	"math"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Noise puts ranks out of step: they start at different times, and their CPUs take longer than the
// model says. Every rank draws from its own streams. The zero value has no noise.
type Noise struct {
	StartSkew   sim.Time `toml:"start_skew" doc:"ranks start at times drawn uniformly between 0 and this" min:"0ns" max:"1000s"`
	Call        sim.Time `toml:"call" doc:"mean of the random CPU time that is added whenever a rank posts a message or takes one in" min:"0ns" max:"1000s"`
	CallLaw     string   `toml:"call_distribution" doc:"of call" choices:"exponential|normal"`
	Compute     float64  `toml:"compute" doc:"mean of the random time that is added to a computation, as a share of it" min:"0" max:"100"`
	ComputeLaw  string   `toml:"compute_distribution" doc:"of compute" choices:"exponential|normal"`
	Spread      float64  `toml:"spread" doc:"normal: standard deviation as a share of the mean; what is drawn below 0 is drawn again, which raises the mean (by 8 % at a spread of 0.7)" min:"0" max:"1"`
	DaemonEvery sim.Time `toml:"daemon_every" doc:"period of a task of the operating system that takes the CPU of every rank away, each at a phase of its own; 0: none" min:"0ns" max:"100000s"`
	DaemonTime  sim.Time `toml:"daemon_time" doc:"how long it takes each time; less than daemon_every" min:"0ns" max:"100000s"`
}

// DefaultNoise is none.
var DefaultNoise = Noise{CallLaw: Exponential, ComputeLaw: Exponential, Spread: 0.25}

// The distributions of noise.
const (
	Exponential = "exponential"
	Normal      = "normal" // truncated at 0
)

// Check finds what single bounds do not say.
func (n *Noise) Check() error {
	if n.DaemonEvery > 0 && n.DaemonTime >= n.DaemonEvery {
		return &param.ParamError{Key: "daemon_time", Value: n.DaemonTime, Want: "less than daemon_every, or the CPU has no time left"}
	}
	return nil
}

// noise is the noise of a run; nil without any.
type noise struct {
	Noise
	calls, computing []sim.Stream
	phase            []sim.Time // of the daemon
}

func newNoise(config *Noise, seed uint64, ranks int) *noise {
	n := &noise{Noise: *config}
	if n.Call > 0 {
		n.calls = streams(seed, "mpi.noise.call", ranks)
	}
	if n.Compute > 0 {
		n.computing = streams(seed, "mpi.noise.compute", ranks)
	}
	if n.DaemonEvery > 0 && n.DaemonTime > 0 {
		n.phase = make([]sim.Time, ranks)
		for r := range n.phase {
			s := sim.NewStream(seed, "mpi.noise.daemon", r)
			n.phase[r] = sim.Time(s.Float64() * float64(n.DaemonEvery))
		}
	}
	if n.calls == nil && n.computing == nil && n.phase == nil {
		return nil
	}
	return n
}

func streams(seed uint64, role string, ranks int) []sim.Stream {
	return lists.Make(ranks, func(r int) sim.Stream { return sim.NewStream(seed, role, r) })
}

func (n *Noise) skew(seed uint64, rank int) sim.Time {
	if n.StartSkew == 0 {
		return 0
	}
	s := sim.NewStream(seed, "mpi.noise.start", rank)
	return sim.Time(s.Float64() * float64(n.StartSkew))
}

func (n *noise) call(r int32) sim.Time {
	if n == nil || n.calls == nil {
		return 0
	}
	return sim.Time(float64(n.Call) * n.draw(&n.calls[r], n.CallLaw))
}

// compute is the random time that rank r adds to a computation of length t.
func (n *noise) compute(r int32, t sim.Time) sim.Time {
	if n == nil || n.computing == nil {
		return 0
	}
	return min(latest, sim.Time(min(float64(latest), float64(t)*n.Compute*n.draw(&n.computing[r], n.ComputeLaw))))
}

// draw is from a distribution of mean 1.
func (n *Noise) draw(s *sim.Stream, law string) float64 {
	if law == Exponential {
		return -math.Log(1 - s.Float64())
	}
	for {
		// Box and Muller, 1958; one of the two numbers is enough.
		radius := math.Sqrt(-2 * math.Log(1-s.Float64()))
		if x := 1 + n.Spread*radius*math.Cos(2*math.Pi*s.Float64()); x >= 0 {
			return x
		}
	}
}

// end is when work of length t that rank r begins at start is done: the daemon has the CPU at phase
// + k daemon_every, k = 0, 1, ..., for daemon_time. Whatever ends behind latest does so at once.
func (n *noise) end(r int32, start, t sim.Time) sim.Time {
	if t >= latest-start {
		return latest + 1
	}
	if n == nil || n.phase == nil || t == 0 {
		return start + t
	}
	every, taken := n.DaemonEvery, n.DaemonTime
	// Where start lies in the daemon's period, which begins with the daemon.
	into := start - n.phase[r]
	if into < 0 { // before its first time
		if t <= -into {
			return start + t
		}
		t += into
		start, into = n.phase[r], 0
	}
	into %= every
	if into < taken {
		start, into = start+taken-into, taken
	}
	if left := every - into; t > left {
		start, t = start+left, t-left
		whole := (t - 1) / (every - taken) // periods that are used up
		if whole > latest/every {
			return latest + 1
		}
		start += whole*every + taken
		t -= whole * (every - taken)
	}
	return start + t
}
