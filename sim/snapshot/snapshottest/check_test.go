package snapshottest

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

type state struct {
	a       int
	b       []float64
	c       [2]struct{ x, y uint8 }
	scratch []int32 //lint:ignore U1000 not archived
	parent  *state  //lint:ignore U1000 not archived
}

func (s *state) archive(a *snapshot.Archive) {
	snapshot.Int(a, &s.a)
	snapshot.List(a, &s.b, snapshot.Float)
	for i := range s.c {
		snapshot.Int(a, &s.c[i].x)
		snapshot.Int(a, &s.c[i].y)
	}
}

// TestProblems: what is forgotten, what is named in vain, and what is whole.
func TestProblems(t *testing.T) {
	fresh := func() *state { return &state{} }
	whole := func(a *snapshot.Archive, s *state) { s.archive(a) }
	half := func(a *snapshot.Archive, s *state) { snapshot.Int(a, &s.a); snapshot.Int(a, &s.c[1].y) }
	for _, c := range []struct {
		name    string
		archive func(*snapshot.Archive, *state)
		except  []string
		want    []string
	}{
		{"whole", whole, []string{"scratch", "parent"}, nil},
		{"forgotten", half, []string{"scratch", "parent", "b"}, []string{"field c is not in the state: archive it, or name it as an exception"}},
		{"not named", whole, []string{"parent"}, []string{"field scratch is not in the state: archive it, or name it as an exception"}},
		{"pointer", whole, []string{"scratch"}, []string{"field parent is of a type that cannot be written: name it as an exception"}},
		{"in vain", whole, []string{"scratch", "parent", "a", "d"}, []string{"field a is in the state, and named as an exception", "there is no field d"}},
	} {
		simtest.EqualSlices(t, Problems(fresh, c.archive, c.except...), c.want, "%s:", c.name)
	}
}
