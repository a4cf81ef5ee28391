package snapshot

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

type position struct{ X, y int16 }

// random archives itself: twice what it is, so that the test sees whose form it is.
type random struct{ state uint64 }

func (r *random) Archive(a *Archive) { Uint64(a, &r.state) }

type planned struct {
	flag     bool
	small    int8
	large    uint64
	share    float64
	estimate float32
	name     string
	place    position
	corners  [2]position
	path     []position
	lanes    []uint32 `snap:"fixed"`
	byPlace  map[position]string
	groups   map[int64]*position `snap:"own"`
	last     *position           `snap:"own"`
	none     *position           `snap:"own"`
	stream   random
	shared   *planned `snap:"-"`
	callback func()   `snap:"-"`
	_        [8]byte
}

func plannedExample() *planned {
	return &planned{true, -128, 1 << 63, 0.1, 0.3, "fünf", position{-1, 2}, [2]position{{3, 4}, {5, -6}}, []position{{7, 8}}, []uint32{9, 10},
		map[position]string{{2, 1}: "b", {1, 9}: "a"}, map[int64]*position{-5: {1, 1}, 3: {2, 2}}, &position{11, 12}, nil, random{13}, nil, nil, [8]byte{}}
}

// TestValue: all fields come back, but for those that are no part of the state; what is read is
// written again byte for byte, whatever the order of maps.
func TestValue(t *testing.T) {
	x := plannedExample()
	x.shared, x.callback = x, func() {}
	written := func(x *planned) []byte { a := Writer(); Value(a, x); return a.Bytes() }
	b := written(x)
	lanes := make([]uint32, 2)
	y := planned{lanes: lanes, path: make([]position, 5), none: &position{1, 1}}
	r := Reader(b)
	Value(r, &y)
	simtest.Check(t, r.End())
	want := plannedExample()
	simtest.ErrorIf(t, !reflect.DeepEqual(&y, want), "read %+v, want %+v", y, want)
	simtest.ErrorIf(t, &lanes[0] != &y.lanes[0], "a slice of fixed length has moved")
	for range 10 {
		simtest.FatalIf(t, !bytes.Equal(written(&y), b), "what is read is not written again byte for byte")
	}
	for n := range b {
		y := planned{lanes: lanes}
		r := Reader(b[:n])
		if Value(r, &y); r.End() == nil {
			t.Errorf("%d of %d bytes are read without an error", n, len(b))
		}
	}
	r = Reader(b)
	if Value(r, &planned{lanes: make([]uint32, 3)}); r.Err() == nil || !strings.Contains(r.Err().Error(), "2 elements of []uint32, want 3") {
		t.Errorf("another length: %v", r.Err())
	}
}

// TestValueWithoutPlan: a field that nobody has thought of is named.
func TestValueWithoutPlan(t *testing.T) {
	type inner struct{ Wakes chan int }
	type pointing struct {
		Count int
		To    *position
	}
	type outer struct{ Many []inner }
	for want, call := range map[string]func(a *Archive){
		"no plan for *snapshot.position":            func(a *Archive) { Value(a, &pointing{}) },
		"field To of snapshot.pointing":             func(a *Archive) { Value(a, &pointing{}) },
		"no plan for chan int":                      func(a *Archive) { Value(a, &outer{}) },
		"field Wakes of snapshot.inner":             func(a *Archive) { Value(a, &outer{}) },
		"no plan for func()":                        func(a *Archive) { Value(a, new([]func())) },
		"keys of type snapshot.fraction have no or": func(a *Archive) { Value(a, &map[fraction]int{1: 1, 2: 2}) },
	} {
		func() {
			defer func() {
				why, _ := recover().(string)
				simtest.ErrorIf(t, !strings.Contains(why, want), "panics with %q, want %q", why, want)
			}()
			call(Writer())
		}()
	}
}

type fraction float64

// BenchmarkValue archives records as networks have them.
func BenchmarkValue(b *testing.B) {
	type record struct {
		Src, Dst, Flits int32
		Birth           int64
		Tag             uint64
		State           uint32
	}
	all := make([]record, 10000)
	b.ReportAllocs()
	for b.Loop() {
		a := Writer()
		Value(a, &all)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(6*len(all)), "ns/field")
}
