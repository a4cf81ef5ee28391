package hca

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// TestStateIsWhole: no field of an adapter is forgotten in snapshots. What is named here is
// no part of the state, for the reason given.
func TestStateIsWhole(t *testing.T) {
	snapshottest.Names[queued](t, "bytes", "mark", "next")
	snapshottest.Names[HCA](t, "busyUntil", "recvUntil", "sending", "receiving", "arbiter",
		"shared", "contexts", "number") // follow from how adapters were made
	snapshottest.Names[shared](t, "cache", "stats", "busy",
		"config", "quantum", "divider", "active", // follow from the settings
		"burst") // counts within an event
	snapshottest.Names[serializer](t, "remainder")
	snapshottest.Names[contextCache](t, "sets", "perAdapter")
	snapshottest.Names[arbiter](t, "last", "served", "over", "current", "active", "queue",
		"crowd", "free", "idle") // follow from the rest, and from the settings
	snapshottest.Names[crowd](t, "waiting", "head", "index", "engines", "serving") // likewise, the last three
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
			c.Engines, c.ContextEntries, c.PacketTime, c.SwitchTime = engines, entries, 7*sim.Nanosecond, 11*sim.Nanosecond
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
			if err := restored(b, other, otherTurns); err != nil {
				t.Fatal(err)
			}
			other.SetStats(whole.Stats())
			if !bytes.Equal(stateOf(other, otherTurns), b) {
				t.Fatalf("engines %d, seed %d: the state that is restored is another", config.Engines, seed)
			}
			again := s
			want, _ := play(whole, turns, &s, lanes, 300, now)
			got, _ := play(other, otherTurns, &again, lanes, 300, now)
			if !slices.Equal(got, want) || other.Stats() != whole.Stats() {
				t.Fatalf("engines %d, seed %d: an adapter that goes on from its state does\n%v\nwant\n%v", config.Engines, seed, got, want)
			}
			if !bytes.Equal(stateOf(other, otherTurns), stateOf(whole, turns)) {
				t.Fatalf("engines %d, seed %d: the end is another", config.Engines, seed)
			}
			bursts += len(want)
		}
	}
	if bursts < 10_000 {
		t.Errorf("%d bursts and arrivals are not a test", bursts)
	}
}
