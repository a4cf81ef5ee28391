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
	// any number of parts; nil: the run begins.
	From []byte
	// Save, which may be nil, is called now and then, and with done when the run is over.
	// state writes the run as it is then, and is valid until Save returns. A run whose
	// transport or workload has no state to be written does not call it.
	Save func(done bool, state func() ([]byte, error)) error
}

// Stater is a Division, or the only Transport of a run, whose state can be written.
type Stater interface {
	// Archive writes the state of all parts, between two events and, of several, between
	// two windows; or reads it into new ones. known is asked when a state is read.
	Archive(a *snapshot.Archive, known Known)
	// Event archives the argument of an event of a transport, checks all of it, and tells
	// the part that it belongs to. It comes after Archive.
	Event(a *snapshot.Archive, e *sim.Event) (part int)
}

// Known is what a transport may rely on when it reads a state.
type Known interface {
	// Transfer tells whether there can be a transfer to a node (-1: any) by this name,
	// once for each that is under way: sent, and neither Delivered nor Written.
	Transfer(id, to int32, quiet bool) bool
	// Process tells whether a rank is on a node (-1: any).
	Process(rank, node int32) bool
}

// KeptWorkload is a workload whose state can be written.
type KeptWorkload interface {
	Workload
	// Archive writes the state of a run and its parts between two calls, or reads it into
	// a new run that has not been started. underway are then the operations which were
	// handed out, in no particular order: what does not go with them fails.
	Archive(a *snapshot.Archive, underway []Underway)
}

// Underway is an operation of a rank of which Done has not been told yet, or, if it is Over
// for its rank, one whose message has not been received.
type Underway struct {
	Rank, ID int32
	Over     bool
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
	return m.checkpoint.Save(done, func() ([]byte, error) {
		for part := range m.parts {
			m.Take(part)
		}
		a := snapshot.Writer()
		m.archive(a, work, stater)
		return a.Bytes(), a.Err()
	})
}

// restore makes a new run go on from a state.
func (m *meeting) restore(state []byte) error {
	work, kept := m.work.(KeptWorkload)
	stater := m.stater()
	if !kept || stater == nil {
		return errors.New("the state of this program, or of its network, cannot be read")
	}
	a := snapshot.Reader(state)
	m.archive(a, work, stater)
	return a.End()
}

// archive archives the run.
func (m *meeting) archive(a *snapshot.Archive, work KeptWorkload, stater Stater) {
	x := &archiver{Archive: a, meeting: m, all: &m.parts[0].shared}
	x.messages()
	x.ranks()
	x.connections()
	x.noise()
	x.copies()
	x.statistics()
	stater.Archive(a, x)
	kernels := make([]*sim.Kernel, len(m.parts))
	for i, rt := range m.parts {
		kernels[i] = rt.kernel
	}
	sim.ArchiveKernels(a, kernels, func(_ *snapshot.Archive, e *sim.Event) int { return x.event(e, stater) })
	if a.Reading() && a.Err() == nil {
		x.fits()
	}
	work.Archive(a, x.underway)
}

// archiver writes or reads the state of a run.
type archiver struct {
	*snapshot.Archive
	*meeting
	all *shared
	ledger
}

// statistics archives what the parts have counted together.
func (x *archiver) statistics() {
	x.Mark("statistics")
	var sum Stats
	for _, rt := range x.parts {
		sum.add(&rt.stats)
	}
	sum.archive(x.Archive)
	if x.Reading() {
		x.parts[0].stats = sum
	}
}

func (s *Stats) archive(a *snapshot.Archive) {
	for _, n := range []*int64{
		&s.Messages, &s.Bytes, &s.Shared, &s.Rendezvous, &s.Control, &s.NotReady, &s.Handshakes, &s.Relayed, &s.Connecting,
		&s.QPs, &s.QPsClosed, &s.QPsPeak, (*int64)(&s.KernelTime), (*int64)(&s.ConnectWait),
	} {
		snapshot.Int(a, n)
	}
}

// noise archives the streams that ranks draw from.
func (x *archiver) noise() {
	if n := x.all.noise; n != nil {
		x.Mark("noise")
		snapshot.Array(x.Archive, "ranks with noise of calls", n.calls, sim.ArchiveStream)
		snapshot.Array(x.Archive, "ranks with noise of computations", n.computing, sim.ArchiveStream)
	}
}
