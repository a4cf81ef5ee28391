package hca

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
)

// Lanes keep to their own round robin: whatever the order in which lanes are chosen,
// the QPs of a lane take turns, in bursts of a quantum or of what the owner allows.
func TestNextOn(t *testing.T) {
	config := QDR
	config.Quantum = 4096
	h := &New(&config, 1)[0]
	var turns LaneTurns
	if h.Lanes() != 0 {
		t.Errorf("lanes %b of an idle adapter", h.Lanes())
	}
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
	if h.Lanes() != 0b111 {
		t.Errorf("lanes %b", h.Lanes())
	}
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
	if want := "1:4096 2:2048 3:4096 2:2048 5:4096 4:100 1:4096 2:4096 3:4096 5:2048 1:4096"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
	if h.Waiting() || h.Lanes() != 0 {
		t.Error("something is left")
	}
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
	if want := "0:1500 0:1500 0:1096 1:1500 1:1500 1:1096 0:1500 0:1500 0:1096 1:1500 1:1500 1:1096"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

// With one lane, bursts are those of Next, whatever the number of engines.
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
			if *c != want {
				t.Fatalf("%d engines, step %d: %+v, want %+v", engines, step, *c, want)
			}
		}
	}
}
