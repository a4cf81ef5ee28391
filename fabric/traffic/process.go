package traffic

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Process chooses the times of a terminal's packets.
type Process interface {
	// NextGap is the number of cycles, at least 1, from one packet of a
	// terminal to its next; the first gap counts from the cycle before the
	// first. state is the terminal's own memory, 0 at first.
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
}

// bernoulli starts a packet in each cycle with probability load / mean packet
// size, independently: its gaps are geometric, and drawn as such.
type bernoulli struct{ gap sim.Geometric }

func newBernoulli(_ struct{}, env ProcessEnv) (Process, error) {
	rate, err := env.packetRate(env.Load)
	if err != nil {
		return nil, err
	}
	return &bernoulli{sim.NewGeometric(rate)}, nil
}

func (b *bernoulli) NextGap(r *sim.Stream, _ *uint32) int64 { return b.gap.Draw(r) }
