package mpi

import (
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// What the tests from outside, which may use the packages below this one, need of the inside.
var (
	ErrTimeOverflow = errTimeOverflow
	Fits            = fits
)

// QDRConfig is the QDR runtime with one rank a node and all contexts at hand.
func QDRConfig(perNode int) Config {
	transport := DefaultLogGP
	transport.HCA.ContextEntries = 0
	return Config{
		Placement:   Placement{Type: Block, PerNode: perNode},
		Protocols:   DefaultProtocols,
		Connections: DefaultConnections,
		Adapter:     hca.QDR,
		Transport:   transport.New,
	}
}

// whole is the runtime of a run in one part.
func (c Config) whole(w Workload) (*runtime, error) {
	m, err := c.begin(w)
	if err != nil {
		return nil, err
	}
	return m.parts[0], nil
}

// GroupedConfig puts eight ranks on eight nodes, in groups of four.
func GroupedConfig() Config {
	c := QDRConfig(1)
	c.Connections.Group = 4
	c.Protocols.EagerCopies = false
	return c
}

// Skew is the time at which a rank starts.
func (n *Noise) Skew(seed uint64, rank int) sim.Time { return n.skew(seed, rank) }

// PauseEvery has runs pause after so many events of their own (of all parts, where there are several),
// until the function that it returns is called.
func PauseEvery(events int) (end func()) {
	every, windows := pauseEvery, pauseWindows
	pauseEvery, pauseWindows = events, 1<<30
	return func() { pauseEvery, pauseWindows = every, windows }
}

// Rewrite reads a state into a new run and writes it again.
func (c Config) Rewrite(w Workload, state []byte) (again []byte, err error) {
	m, err := c.begin(w)
	if err == nil {
		err = m.restore(snapshot.Reader(state))
	}
	if err != nil {
		return nil, err
	}
	m.checkpoint = CheckpointInto(&again)
	err = m.save(false)
	return again, err
}

// Rewrite reads a state into a new machine and writes it again.
func (p LogGOPS) Rewrite(w Workload, state []byte) (again []byte, err error) {
	m := p.machine(w)
	if err := m.restore(snapshot.Reader(state)); err != nil {
		return nil, err
	}
	err = m.save(false, CheckpointInto(&again))
	return again, err
}

// CheckpointInto keeps the last state of a run.
func CheckpointInto(kept *[]byte) Checkpoint {
	return Checkpoint{Save: func(_ bool, state func(*snapshot.Archive) error) (err error) {
		*kept, err = snapshottest.Encode(state)
		return err
	}}
}
