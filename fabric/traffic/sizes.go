package traffic

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Sizes is a distribution of packet sizes. The zero value is not valid; use
// [NewSizes].
type Sizes struct {
	flits []int
	below []float64 // packets of size flits[i] or before have this share
	mean  float64
}

// NewSizes makes a distribution: packets of flits[i] flits occur in proportion
// to weights[i], counted in packets. Nil weights are equal ones. All problems are
// returned together, as *param.ParamError with keys "packet_flits" and
// "packet_weights".
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
