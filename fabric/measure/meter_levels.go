package measure

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim/stats"
)

// LevelTally is what was measured of the packets of one service level.
type LevelTally struct {
	Packets int64           // born in the window and delivered
	Latency stats.Histogram // theirs, in cycles
	Sum     int64           // of theirs
	Flits   int64           // delivered in the window, whenever born
}

// levelMeter measures by service level.
type levelMeter struct {
	routing fabric.Routing
	levels  fabric.LevelReader // routing, if it is one
	tallies [16]LevelTally
}

func newLevelMeter(r fabric.Routing) *levelMeter {
	levels, _ := r.(fabric.LevelReader)
	return &levelMeter{routing: r, levels: levels}
}

// of is the service level of a packet.
func (l *levelMeter) of(d *fabric.Delivery) int {
	if l.levels == nil {
		return 0
	}
	return l.levels.Level(d.Src, d.Dst)
}

// deliver counts a packet for the windows of m.
func (l *levelMeter) deliver(m *Meter, d *fabric.Delivery) {
	if d.Cycle < m.from {
		return
	}
	t := &l.tallies[l.of(d)]
	if d.Cycle < m.to {
		t.Flits += int64(d.Flits)
	}
	if d.Birth >= m.from && d.Birth < m.to {
		t.Packets++
		t.Latency.Add(d.Cycle - d.Birth)
		t.Sum += d.Cycle - d.Birth
	}
}

// take moves what part has counted over.
func (l *levelMeter) take(part *levelMeter) {
	if l == nil {
		return
	}
	for i := range part.tallies {
		l.tallies[i].Add(&part.tallies[i])
		part.tallies[i] = LevelTally{}
	}
}

// Add sums tallies up.
func (t *LevelTally) Add(other *LevelTally) {
	t.Packets += other.Packets
	t.Flits += other.Flits
	t.Sum += other.Sum
	t.Latency.Merge(&other.Latency)
}

// NumLevels is the number of service levels that are told apart; 0: they are not.
func (m *Meter) NumLevels() int { return len(m.Levels()) }

// Level is the service level of a packet, where they are told apart.
func (m *Meter) Level(d *fabric.Delivery) int { return m.levels.of(d) }

// Levels is what was measured of each service level (len = 16); nil unless asked for.
func (m *Meter) Levels() []LevelTally {
	if m.levels == nil {
		return nil
	}
	return m.levels.tallies[:]
}
