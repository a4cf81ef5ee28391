package mpi

import (
	"errors"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Checkpoint keeps the state of a run, and has it go on from one. The zero value does
// neither.
type Checkpoint struct {
	// From is a state that Save was given, by a run of the same program and settings with
	// any number of parts; nil: the run begins. It is read to its end.
	From *snapshot.Archive
	// Save, which may be nil, is called now and then, and with done when the run is over.
	// state writes the run as it is then, until Save returns. A run whose
	// transport or workload has no state to be written does not call it.
	Save func(done bool, state func(*snapshot.Archive) error) error
}

// Stater is a Division, or the only Transport of a run, whose state can be written.
type Stater interface {
	// Archive writes the state of all parts, between two events and, of several, between
	// two windows; or reads it into new ones.
	Archive(a *snapshot.Archive)
	// Event archives the argument of an event of a transport, and tells the part that it
	// belongs to. It comes after Archive.
	Event(a *snapshot.Archive, e *sim.Event) (part int)
}

// KeptWorkload is a workload whose state can be written.
type KeptWorkload interface {
	Workload
	// Archive writes the state of a run and its parts between two calls, or reads it into
	// a new run that has not been started.
	Archive(a *snapshot.Archive)
}

// stater is what writes the network of a run; nil if nothing does.
func (m *meeting) stater() Stater {
	if s, ok := m.network.(Stater); ok {
		return s
	}
	if len(m.parts) > 1 {
		return nil
	}
	s, _ := m.parts[0].transport.(Stater)
	return s
}

// save offers the state of the run.
func (m *meeting) save(done bool) error {
	work, kept := m.work.(KeptWorkload)
	stater := m.stater()
	if m.checkpoint.Save == nil || !kept || stater == nil || m.firstFailure() != nil {
		return nil
	}
	return m.checkpoint.Save(done, func(a *snapshot.Archive) error {
		for part := range m.parts {
			m.Take(part)
		}
		m.archive(a, work, stater)
		return a.Err()
	})
}

// restore makes a new run go on from a state.
func (m *meeting) restore(a *snapshot.Archive) error {
	work, kept := m.work.(KeptWorkload)
	stater := m.stater()
	if !kept || stater == nil {
		return errors.New("the state of this program, or of its network, cannot be read")
	}
	m.archive(a, work, stater)
	return a.End()
}
