package traffic

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Process chooses the times of a terminal's packets.
type Process interface {
	// NextGap is the cycles, at least 1, from a terminal's packet to its next; the first gap is
	// from the cycle before the first. state is the terminal's memory, 0 at first.
	NextGap(r *sim.Stream, state *uint32) int64
}

// ProcessEnv is what a process is built for.
type ProcessEnv struct {
	Load      float64 // flits per terminal and cycle
	MeanFlits float64 // mean packet size
}

// Processes holds every injection process that experiment files can name.
var Processes = param.NewRegistry[ProcessEnv, Process]("process")

// packetRate is the number of packets per cycle that give a load in flits.
func (e ProcessEnv) packetRate(flits float64) (float64, error) {
	if !(e.MeanFlits >= 1) {
		return 0, &param.ParamError{Key: "packet_flits", Value: e.MeanFlits, Want: "a mean of at least 1"}
	}
	rate := flits / e.MeanFlits
	if !(rate >= 0 && rate <= 1) {
		return 0, &param.ParamError{Key: "load", Value: e.Load, Want: fmt.Sprintf("0 to %g: at most one packet a cycle", e.MeanFlits)}
	}
	return rate, nil
}

func init() {
	param.Register(Processes, "bernoulli", "a packet in every cycle with the same probability", struct{}{}, newBernoulli)
	param.Register(Processes, "on-off", "bursts and pauses: a Markov chain of two states", OnOffConfig{8, 1}, newOnOff)
}

// bernoulli starts a packet in each cycle with probability load / mean packet size: gaps are
// geometric, and drawn as such.
type bernoulli struct{ gap sim.Geometric }

func newBernoulli(_ struct{}, env ProcessEnv) (Process, error) {
	rate, err := env.packetRate(env.Load)
	if err != nil {
		return nil, err
	}
	return &bernoulli{sim.NewGeometric(rate)}, nil
}

func (b *bernoulli) NextGap(r *sim.Stream, _ *uint32) int64 { return b.gap.Draw(r) }

// OnOffConfig holds the settings of process "on-off".
type OnOffConfig struct {
	Burst float64 `toml:"burst" doc:"mean burst length" unit:"packets" min:"1" max:"1000000000"`
	Peak  float64 `toml:"peak" doc:"load during a burst" unit:"flits per cycle" min:"0" max:"1"`
}

// onOff is the Markov-modulated process of two states (Dally and Towles 2004, section 24.2.2): a
// terminal that is on starts a packet in each cycle with probability peak / mean packet size; after
// each cycle it turns off with probability beta, and on again with probability alpha. beta is
// chosen for the mean burst (the packets of one on period, which can be none where peak / mean
// packet size is below 1), alpha for the load:
//
//	beta = peak / (packet size * burst),  alpha = beta * load / (peak - load)
//
// Terminals start in a random state, by long-run probabilities. Gaps are drawn by periods, not
// cycles.
type onOff struct {
	emit, leave, enter sim.Geometric
	on                 float64 // long-run probability of being on
}

func newOnOff(config OnOffConfig, env ProcessEnv) (Process, error) {
	rate, err := env.packetRate(config.Peak)
	if err != nil {
		return nil, err
	}
	if !(env.Load >= 0 && env.Load < config.Peak) {
		return nil, &param.ParamError{Key: "load", Value: env.Load, Want: fmt.Sprintf("at least 0 and below the load during a burst, peak = %g", config.Peak)}
	}
	beta := rate / config.Burst
	alpha := beta * env.Load / (config.Peak - env.Load)
	if alpha > 1 {
		return nil, &param.ParamError{Key: "burst", Value: config.Burst,
			Want: fmt.Sprintf("at least %.4g packets: shorter pauses than a cycle would be needed for load = %g", config.Burst*alpha, env.Load)}
	}
	return &onOff{sim.NewGeometric(rate), sim.NewGeometric(beta), sim.NewGeometric(alpha), env.Load / config.Peak}, nil
}

// farGap is a gap beyond every run.
const farGap = 1 << 60

func (o *onOff) NextGap(r *sim.Stream, state *uint32) int64 {
	gap := int64(1) // the first cycle of an on period, from the last packet
	var on int64    // its length
	switch {
	case *state != 0: // the rest of the period of the last packet
		on = o.leave.Draw(r) - 1
	case r.Float64() < o.on:
		on = o.leave.Draw(r)
	default:
		gap += o.enter.Draw(r)
		on = o.leave.Draw(r)
	}
	*state = 1
	for gap < farGap {
		if wait := o.emit.Draw(r); wait <= on {
			return gap + wait - 1
		}
		gap += on + o.enter.Draw(r)
		on = o.leave.Draw(r)
	}
	return farGap
}

// Sizes is a distribution of packet sizes. The zero value is not valid; use [NewSizes].
type Sizes struct {
	flits []int
	below []float64 // packets of size flits[i] or before have this share
	mean  float64
}

// NewSizes makes a distribution: packets of flits[i] flits occur in proportion to weights[i],
// counted in packets. Nil weights are equal ones. All problems are returned together, as
// *param.ParamError with keys "packet_flits" and "packet_weights".
func NewSizes(flits []int, weights []float64) (*Sizes, error) {
	var problems []error
	if len(flits) == 0 {
		problems = append(problems, &param.ParamError{Key: "packet_flits", Value: "[]", Want: "at least one size"})
	}
	for i, n := range flits {
		if n < 1 || n > math.MaxInt32 {
			problems = append(problems, &param.ParamError{Key: fmt.Sprintf("packet_flits[%d]", i), Value: n, Want: "1 to 2147483647 flits"})
		}
	}
	if weights != nil && len(weights) != len(flits) {
		problems = append(problems, &param.ParamError{Key: "packet_weights", Value: weights, Want: fmt.Sprintf("one weight for each of the %d sizes", len(flits))})
	}
	total := 0.0
	for i, w := range weights {
		if !(w > 0 && w < math.Inf(1)) {
			problems = append(problems, &param.ParamError{Key: fmt.Sprintf("packet_weights[%d]", i), Value: w, Want: "a positive number"})
		}
		total += w
	}
	if len(problems) == 0 && math.IsInf(total, 1) {
		problems = append(problems, &param.ParamError{Key: "packet_weights", Value: weights, Want: "weights with a finite sum"})
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	s := &Sizes{flits: slices.Clone(flits)}
	sum := 0.0
	for i, n := range flits {
		share := 1 / float64(len(flits))
		if weights != nil {
			share = weights[i] / total
		}
		sum += share
		s.below = append(s.below, sum)
		s.mean += share * float64(n)
	}
	return s, nil
}

// Mean is the mean packet size in flits.
func (s *Sizes) Mean() float64 { return s.mean }

// MeanOf is the mean of a quantity that the flits of a packet determine.
func (s *Sizes) MeanOf(quantity func(flits int) float64) (mean float64) {
	before := 0.0
	for i, n := range s.flits {
		mean += (s.below[i] - before) * quantity(n)
		before = s.below[i]
	}
	return mean
}

// Max is the largest packet size in flits.
func (s *Sizes) Max() int { return slices.Max(s.flits) }

// Draw returns the size of a packet. A fixed size draws no random number.
func (s *Sizes) Draw(r *sim.Stream) int {
	last := len(s.flits) - 1
	if last == 0 {
		return s.flits[0]
	}
	u := r.Float64()
	for i, below := range s.below[:last] {
		if u < below {
			return s.flits[i]
		}
	}
	return s.flits[last]
}
