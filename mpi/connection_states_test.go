package mpi

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
)

// TestLinks compares the packed tables with a map.
func TestLinks(t *testing.T) {
	const ranks, peers = 50, 100
	l := newLinks(ranks, peers)
	plain := map[[2]int32]linkState{}
	s := sim.NewStream(1, "links", 0)
	for range 20000 {
		a, p := int32(s.IntN(ranks)), int32(s.IntN(peers))
		if got, want := l.get(a, p), plain[[2]int32{a, p}]; got != want {
			t.Fatalf("link %d-%d is %d, want %d", a, p, got, want)
		}
		state := linkState(s.IntN(3))
		l.set(a, p, state)
		plain[[2]int32{a, p}] = state
	}
	for a := range int32(ranks) {
		var want []int32
		for p := range int32(peers) {
			if plain[[2]int32{a, p}] == linkReady {
				want = append(want, p)
			}
		}
		if got := slices.Collect(l.ready(a)); !slices.Equal(got, want) {
			t.Errorf("rank %d: ready %v, want %v", a, got, want)
		}
	}
}

// TestWaiting keeps messages for several connections of one rank: they come out in
// order, whichever was waited for first.
func TestWaiting(t *testing.T) {
	config := GroupedConfig()
	rt, err := config.whole(RunSchedule(collectives.Uniform(8, 0, nil), Costs{}, sim.Picosecond))
	if err != nil {
		t.Fatal(err)
	}
	c := &rt.connect
	s := sim.NewStream(1, "waiting", 0)
	want := map[int32][]int32{}
	for range 3000 {
		b := int32(4 + s.IntN(4))
		if s.IntN(4) > 0 {
			id := rt.allocate()
			c.wait(id, 1, b)
			want[b] = append(want[b], id)
			continue
		}
		var got []int32
		for next := c.released(1, b); next != 0; next = rt.messages.At(next - 1).next {
			got = append(got, next-1)
		}
		if !slices.Equal(got, want[b]) {
			t.Fatalf("for rank %d: %v, want %v", b, got, want[b])
		}
		delete(want, b)
	}
}
