package routingtest

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
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
	f := tr.with(t, config)
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
	return f, tr.ledger(load, min(tr.flits, config.Switch.BufferFlits), x)
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

// Trees are multicast trees on a graph, as the forwarding tables of its switches.
type Trees struct {
	g      *topology.Graph
	Tables []fabric.MulticastTable // by switch
}

// NewTrees is no tree yet.
func NewTrees(g *topology.Graph) *Trees {
	return &Trees{g, make([]fabric.MulticastTable, g.Switches())}
}

// Plant adds a row of the next MLID to every switch between the members and
// the root: of the tree of first shortest paths from it.
func (m *Trees) Plant(root topology.SwitchID, members []topology.TerminalID) (mlid int32) {
	for _, t := range m.Tables {
		for _, used := range t.MLIDs {
			mlid = max(mlid, used+1)
		}
	}
	up := make([]topology.PortID, m.g.Switches()) // port towards the root
	seen := make([]bool, len(up))
	seen[root] = true
	for queue := []topology.SwitchID{root}; len(queue) > 0; queue = queue[1:] {
		for p, end := m.g.Ports(queue[0]); p < end; p++ {
			if peer, ok := m.g.PeerPort(p); ok && !seen[m.g.PortSwitch[peer]] {
				s := m.g.PortSwitch[peer]
				seen[s], up[s] = true, peer
				queue = append(queue, s)
			}
		}
	}
	rows := map[topology.SwitchID][]topology.PortID{}
	add := func(p topology.PortID) {
		if s := m.g.PortSwitch[p]; !slices.Contains(rows[s], p) {
			rows[s] = append(rows[s], p)
		}
	}
	for _, t := range members {
		add(m.g.TerminalPort[t])
		for s := m.g.PortSwitch[m.g.TerminalPort[t]]; s != root; {
			peer, _ := m.g.PeerPort(up[s])
			add(up[s])
			add(peer)
			s = m.g.PortSwitch[peer]
		}
	}
	for s, ports := range rows {
		slices.Sort(ports)
		m.Tables[s].MLIDs = append(m.Tables[s].MLIDs, mlid)
		m.Tables[s].Ports = append(m.Tables[s].Ports, ports)
	}
	return mlid
}
