package mpi

import (
	"errors"

	"github.com/weft-sim/weft/sim/snapshot"
)

// archive archives the machine, between two events, with its workload.
func (m *loggopsMachine) archive(a *snapshot.Archive, work KeptWorkload) {
	a.Mark("machine")
	snapshot.Value(a, m)
	work.Archive(a)
}

// save offers the state.
func (m *loggopsMachine) save(done bool, checkpoint Checkpoint) error {
	work, kept := m.work.(KeptWorkload)
	if checkpoint.Save == nil || !kept {
		return nil
	}
	return checkpoint.Save(done, func(a *snapshot.Archive) error {
		m.archive(a, work)
		return a.Err()
	})
}

// restore makes a new machine go on from a state.
func (m *loggopsMachine) restore(a *snapshot.Archive) error {
	work, kept := m.work.(KeptWorkload)
	if !kept {
		return errors.New("the state of this program cannot be read")
	}
	m.archive(a, work)
	return a.End()
}
