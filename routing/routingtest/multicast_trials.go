package routingtest

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// multicast builds the network of a trial with trees, and settings that multicast packets
// go with.
func (tr *Trial) multicast(t testing.TB, config fabric.Config) (*core.Fabric, *groups) {
	t.Helper()
	x := tr.drawGroups()
	s := &config.Switch
	s.VCs = x.vcs
	s.VLArbHigh, s.VLArbLow, s.VLHighLimit = "", "", 0 // of unicast packets
	if s.Hold && s.OutputBufferFlits > 0 {
		s.OutputBufferFlits += s.BufferFlits // room for copies as a whole
	}
	f, err := core.New(tr.network.Topology.Graph(), config, tr.routing, 5)
	if err != nil {
		t.Fatalf("%v: %v", tr, err)
	}
	if err := f.SetMulticast(x.trees.Tables, x.unicast); err != nil {
		t.Fatalf("%v: %v", tr, err)
	}
	return f, x
}

// Multicast is the network of a trial, under cut-through, and a source of packets, of which
// those to groups are some.
func (tr *Trial) Multicast(t testing.TB, load float64) (*core.Fabric, Numbered) {
	t.Helper()
	config := tr.config
	config.Switch.FlowControl = fabric.CutThrough
	f, x := tr.multicast(t, config)
	n, most := tr.network.Topology.Graph().Terminals(), min(tr.flits, config.Switch.BufferFlits)
	source := measure.NewOpenLoop(n, Uniform(n), AtRate(2*load/float64(1+most)), upTo(most), 5)
	return f, &ledger{OpenLoop: source, sent: make([]uint64, n), groups: x}
}

// Numbered is a source, for Terminals terminals, that numbers the packets of each.
type Numbered interface {
	fabric.Source
	fabric.Kept
	Terminals() int
}

// AppendState implements fabric.Kept.
func (l *ledger) AppendState(b []byte) []byte {
	a, births := snapshot.Writer(), l.OpenLoop.AppendState(nil)
	snapshot.Blob(a, &births)
	l.archive(a)
	return append(b, a.Bytes()...)
}

// RestoreState implements fabric.Kept.
func (l *ledger) RestoreState(b []byte) error {
	a, births := snapshot.Reader(b), []byte(nil)
	snapshot.Blob(a, &births)
	l.archive(a)
	if a.End() != nil {
		return a.Err()
	}
	return l.OpenLoop.RestoreState(births)
}

func (l *ledger) archive(a *snapshot.Archive) {
	snapshot.Array(a, "terminals", l.sent, snapshot.Int)
	snapshot.Array(a, "terminals", l.groups.random, sim.ArchiveStream)
}
