package kinds

import (
	"fmt"
	"math"
	"reflect"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// What a run takes at least, in bytes: records of a rank (its state, first
// operations, receives, place, progress and finish time); of a phase, which check
// and run keep until memory is collected; a clock of the LogGOPS machine; an entry of
// an adapter's context cache; a packet that waits in an adapter.
const (
	rankBytes    = 300
	phaseBytes   = 24
	clockBytes   = 8
	contextBytes = 8
	packetBytes  = 24
)

// checkMemory refuses, before anything is built, what no run could hold.
func (c *mpiConfig) checkMemory() error {
	name := c.Workload.Type.Name()
	own := name == "goal" || name == "trace" // ranks, of the file
	if !own {
		if err := c.checkRanks(c.Job.Ranks, 1, "job.ranks"); err != nil {
			return err
		}
	}
	program, err := c.program()
	if err != nil {
		return err
	}
	if g, ok := program.(interface{ Ranks() int }); ok && own {
		w := program.Run(sim.Nanosecond, mpi.Costs{})
		return c.checkRanks(g.Ranks(), w.CPUs()+2*w.NICs(), "workload.file")
	}
	if err := c.checkPackets(); err != nil {
		return err
	}
	p, ok := program.(mpi.Phased)
	if !ok {
		return nil
	}
	if n := p.Phases(); n > math.MaxInt32 || p.Rounds(0) > math.MaxInt32 || p.Rounds(0) < 0 {
		return &param.ParamError{Key: "workload.iterations", Value: n, Want: "at most 2147483647 rounds of messages in all iterations"}
	}
	return input.CheckMemory("workload.iterations", p.Phases(), "so many iterations", phaseBytes*float64(p.Phases()))
}

// checkPackets refuses messages that the fabric cannot cut into packets: those of a
// burst are held by every adapter that sends.
func (c *mpiConfig) checkPackets() error {
	adapter, err := c.adapter()
	if err != nil || c.Job.Machine != "fabric" {
		return err
	}
	longest := sim.Bytes(0)
	param.EachSetting(c.Workload.Type.Config(), func(_ reflect.StructField, v reflect.Value) {
		if bytes, ok := v.Interface().(sim.Bytes); ok {
			longest = max(longest, bytes)
		}
	})
	if longest/adapter.MTU > maxMessagePackets {
		return &param.ParamError{Key: "hca.mtu", Value: adapter.MTU, Want: fmt.Sprintf("messages of at most %d packets; with those of the workload, of %v, this makes more", maxMessagePackets, longest)}
	}
	burst := min(longest, adapter.Quantum) / adapter.MTU
	return input.CheckMemory("hca.mtu", adapter.MTU, "the packets of a burst of every rank", packetBytes*float64(burst)*float64(c.Job.Ranks))
}

// maxMessagePackets bounds what the packets of a message are numbered with.
const maxMessagePackets = 1<<30 - 1

// checkRanks refuses numbers of ranks, which the setting key leads to, that no run
// could hold. clocks are those of a rank on the LogGOPS machine.
func (c *mpiConfig) checkRanks(ranks, clocks int, key string) error {
	if ranks > math.MaxInt32 {
		return &param.ParamError{Key: key, Value: ranks, Want: "at most 2147483647 ranks"}
	}
	bytes := rankBytes * float64(ranks)
	if c.Job.Machine == "loggops" {
		bytes += clockBytes * float64(clocks) * float64(ranks)
		return input.CheckMemory(key, ranks, "so many ranks", bytes)
	}
	if err := input.CheckMemory(key, ranks, "so many ranks", bytes); err != nil {
		return err
	}
	adapter, err := c.adapter()
	if err != nil {
		return err
	}
	nodes := 1 + (ranks-1)/max(1, c.Placement.PerNode)
	return input.CheckMemory("hca.context_entries", adapter.ContextEntries, "the contexts of so many adapters and their ranks", bytes+contextBytes*float64(adapter.ContextEntries)*float64(nodes))
}
