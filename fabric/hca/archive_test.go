package hca

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStateIsWhole: no field of an adapter is forgotten in snapshots. What is named here is
// no part of the state, for the reason given.
func TestStateIsWhole(t *testing.T) {
	snapshottest.Names[queued](t, "bytes", "mark", "next")
	snapshottest.Names[HCA](t, "busyUntil", "recvUntil", "departed", "sending", "receiving", "arbiter",
		"shared", "contexts", "number") // follow from how adapters were made
	snapshottest.Names[shared](t, "cache", "stats", "busy",
		"config", "quantum", "divider", // follow from the settings
		"burst") // counts within an event
	snapshottest.Names[sim.Serializer](t, "remainder")
	snapshottest.Names[contextCache](t, "sets", "perAdapter")
	snapshottest.Names[arbiter](t, "over", "current", "active", "queue",
		"crowd", "free", "idle") // follow from the rest, and from the settings
	snapshottest.Names[crowd](t, "waiting", "index", "engines", "serving") // likewise, the last three
	snapshottest.Names[activeQP](t, "qp", "left", "mark", "begun", "last", "next", "prev")
}

// archiveMark archives a mark that may be anything.
func archiveMark(a *snapshot.Archive, m *Request) {
	snapshot.Int(a, &m.ID)
	snapshot.Int(a, &m.Lane)
}

func stateOf(h *HCA, turns *LaneTurns) []byte {
	w := snapshot.Writer()
	h.Archive(w, archiveMark)
	snapshot.Value(w, turns)
	return w.Bytes()
}

func restored(b []byte, h *HCA, turns *LaneTurns) error {
	r := snapshot.Reader(b)
	h.Archive(r, archiveMark)
	snapshot.Value(r, turns)
	return r.End()
}

// archived is what the settings of adapters may be.
func archived() (all []Config) {
	for _, engines := range []int{0, 1, 3} {
		for _, entries := range []int{0, 64} {
			c := QDR
			c.Engines, c.ContextEntries, c.PacketTime = engines, entries, 7*sim.Nanosecond
			all = append(all, c)
		}
	}
	return all
}

// play does n things at random to an adapter, by lanes or not, from time now on, and notes
// what comes of them.
func play(h *HCA, turns *LaneTurns, s *sim.Stream, lanes bool, n int, now sim.Time) (log []string, end sim.Time) {
	qps := []int{4, 40}[s.IntN(2)]
	for range n {
		qp := QP(s.IntN(qps))
		switch s.IntN(4) {
		case 0:
			h.Post(Request{QP: qp, Bytes: int64(s.IntN(40000)), Mark: Mark{ID: int32(s.IntN(1000)), Lane: uint8(qp & 3)}})
		case 1:
			now += sim.Time(s.IntN(5000)) * sim.Nanosecond
			log = append(log, fmt.Sprint("in ", h.Receive(qp, int64(s.IntN(3000)), now, now)))
		default:
			now = max(now, h.BusyUntil())
			if !h.Waiting() {
				continue
			}
			var b *Burst
			var first, end sim.Time
			if lanes {
				ready := h.Lanes()
				lane := uint8(0)
				for ready>>lane&1 == 0 {
					lane++
				}
				b, first, end = h.NextOn(now, lane, 5000, turns)
			} else {
				b, first, end, _ = h.Next(now)
			}
			log = append(log, fmt.Sprint(*b, first, end))
		}
	}
	return log, now
}

// TestArchive: an adapter that goes on from its state, alone or among others, does what it
// does without a break, with any number of engines, with and without a limit to the
// contexts, with and without lanes.
func TestArchive(t *testing.T) {
	bursts := 0
	for i, config := range archived() {
		for seed := range 20 {
			s, lanes := sim.NewStream(uint64(seed), "adapters", i), seed%2 == 1
			whole, turns := &New(&config, 3)[1], &LaneTurns{}
			_, now := play(whole, turns, &s, lanes, s.IntN(300), 0)
			b := stateOf(whole, turns)
			other, otherTurns := &New(&config, 1)[0], &LaneTurns{}
			simtest.Check(t, restored(b, other, otherTurns))
			other.SetStats(whole.Stats())
			simtest.FatalIf(t, !bytes.Equal(stateOf(other, otherTurns), b),
				"engines %d, seed %d: the state that is restored is another", config.Engines, seed)
			again := s
			want, _ := play(whole, turns, &s, lanes, 300, now)
			got, _ := play(other, otherTurns, &again, lanes, 300, now)
			simtest.FatalIf(t, !slices.Equal(got, want) || other.Stats() != whole.Stats(),
				"engines %d, seed %d: an adapter that goes on from its state does\n%v\nwant\n%v", config.Engines, seed, got, want)
			simtest.FatalIf(t, !bytes.Equal(stateOf(other, otherTurns), stateOf(whole, turns)),
				"engines %d, seed %d: the end is another", config.Engines, seed)
			bursts += len(want)
		}
	}
	simtest.ErrorIf(t, bursts < 10_000, "%d bursts and arrivals are not a test", bursts)
}

// Lanes keep to their own round robin: whatever the order in which lanes are chosen,
// the QPs of a lane take turns, in bursts of a quantum or of what the owner allows.
func TestNextOn(t *testing.T) {
	config := QDR
	config.Quantum = 4096
	h := &New(&config, 1)[0]
	var turns LaneTurns
	simtest.ErrorIf(t, h.Lanes() != 0, "lanes %b of an idle adapter", h.Lanes())
	for _, r := range []struct {
		qp    QP
		lane  uint8
		bytes int64
	}{{1, 0, 12288}, {2, 1, 8192}, {3, 0, 8192}, {4, 2, 100}, {5, 0, 4096}, {5, 0, 2048}} {
		h.Post(Request{QP: r.qp, Bytes: r.bytes, Mark: Mark{Lane: r.lane}})
	}
	var got []string
	now := sim.Time(0)
	next := func(lane uint8, most int64) {
		t.Helper()
		b, _, end := h.NextOn(now, lane, most, &turns)
		now = end
		got = append(got, fmt.Sprintf("%d:%d", b.QP, b.Size))
	}
	simtest.ErrorIf(t, h.Lanes() != 0b111, "lanes %b", h.Lanes())
	// Lane 0 in turn, with lanes 1 and 2 between, each of which leaves 3 and 5 their turn.
	next(0, 1<<30)
	next(1, 2048)
	next(0, 1<<30)
	next(1, 2048)
	next(0, 1<<30)
	next(2, 1<<30)
	next(0, 1<<30)
	next(1, 1<<30)
	next(0, 1<<30)
	next(0, 1<<30)
	next(0, 1<<30)
	want := "1:4096 2:2048 3:4096 2:2048 5:4096 4:100 1:4096 2:4096 3:4096 5:2048 1:4096"
	simtest.ErrorIf(t, strings.Join(got, " ") != want, "%s, want %s", strings.Join(got, " "), want)
	simtest.ErrorIf(t, h.Waiting() || h.Lanes() != 0, "something is left")
}

// A QP keeps its turn of a quantum, however small the bursts that the owner allows.
func TestNextOnKeepsTurns(t *testing.T) {
	config := QDR
	config.Quantum = 4096
	h := &New(&config, 1)[0]
	var turns LaneTurns
	for qp := range QP(2) {
		h.Post(Request{QP: qp, Bytes: 8192, Mark: Mark{Lane: 1}})
		h.Post(Request{QP: 2 + qp, Bytes: 8192})
	}
	var got []string
	now := sim.Time(0)
	for range 4 {
		for range 3 {
			b, _, end := h.NextOn(now, 1, 1500, &turns)
			now = end
			got = append(got, fmt.Sprintf("%d:%d", b.QP, b.Size))
		}
		_, _, now = h.NextOn(now, 0, 1500, &turns)
	}
	want := "0:1500 0:1500 0:1096 1:1500 1:1500 1:1096 0:1500 0:1500 0:1096 1:1500 1:1500 1:1096"
	simtest.ErrorIf(t, strings.Join(got, " ") != want, "%s, want %s", strings.Join(got, " "), want)
}

// With one lane, bursts are what Next gives, whatever the number of engines.
func TestNextOnOneLane(t *testing.T) {
	for engines := range 3 {
		config := QDR
		config.Quantum, config.Engines = 1000, engines
		all := New(&config, 2)
		plain, byLane := &all[0], &all[1]
		r := sim.NewStream(1, "requests", engines)
		var now [2]sim.Time
		var turns LaneTurns
		for step := range 3000 {
			if r.IntN(3) == 0 || !plain.Waiting() {
				request := Request{QP: QP(r.IntN(9)), Bytes: int64(r.IntN(3000)), Mark: Mark{ID: int32(step)}}
				plain.Post(request)
				byLane.Post(request)
				continue
			}
			b, _, end, _ := plain.Next(now[0])
			want := *b
			now[0] = end
			c, _, end := byLane.NextOn(now[1], 0, 1<<40, &turns)
			now[1] = end
			simtest.FatalIf(t, *c != want, "%d engines, step %d: %+v, want %+v", engines, step, *c, want)
		}
	}
}
