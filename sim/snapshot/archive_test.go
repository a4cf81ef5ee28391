package snapshot

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

type all struct {
	i    int
	i8   int8
	i64  int64
	u16  uint16
	u64  uint64
	f    float64
	b    bool
	s    string
	blob []byte
	list []int32
	four [4]uint8
}

func (x *all) Archive(a *Archive) {
	a.Mark("all")
	Int(a, &x.i)
	Int(a, &x.i8)
	Int(a, &x.i64)
	Int(a, &x.u16)
	Uint64(a, &x.u64)
	Float(a, &x.f)
	Bool(a, &x.b)
	String(a, &x.s)
	Blob(a, &x.blob)
	List(a, &x.list, Int)
	Array(a, "fours", x.four[:], Int)
}

func example() *all {
	return &all{-5, -128, math.MinInt64, 65535, math.MaxUint64, math.Inf(-1), true, "fünf", []byte{0, 255}, []int32{1, -1, math.MinInt32}, [4]uint8{1, 2, 3, 255}}
}

func written(x *all) []byte {
	w := Writer()
	x.Archive(w)
	return w.Bytes()
}

// TestArchive: what is written comes back, byte for byte.
func TestArchive(t *testing.T) {
	for _, x := range []*all{example(), {}} {
		b := written(x)
		var y all
		r := Reader(b)
		y.Archive(r)
		simtest.Check(t, r.End())
		simtest.ErrorIf(t, !bytes.Equal(written(&y), b) || !slices.Equal(x.list, y.list) || x.i64 != y.i64 || x.f != y.f || x.s != y.s,
			"%+v came back as %+v", x, y)
	}
}

// TestArchiveErrors: what is no state of the type gives an error.
func TestArchiveErrors(t *testing.T) {
	b := written(example())
	for n := range b {
		var y all
		r := Reader(b[:n])
		y.Archive(r)
		simtest.ErrorIf(t, r.End() == nil, "%d of %d bytes are read without an error", n, len(b))
	}
	for _, c := range []struct {
		name, want string
		b          []byte
		read       func(*Archive)
	}{
		{"more", "1 bytes more", append(slices.Clone(b), 0), new(all).Archive},
		{"too large", "too large", []byte{0x80, 0x02}, func(a *Archive) { Int(a, new(uint8)) }},
		{"not a truth value", "is 2", []byte{2}, func(a *Archive) { Bool(a, new(bool)) }},
		{"long list", "elements", []byte{0xfe, 0xff, 0xff, 0xff, 0x0f}, func(a *Archive) { List(a, new([]int64), Int) }},
		{"other length", "2 wheels, want 3", []byte{4, 0, 0}, func(a *Archive) { Array(a, "wheels", make([]int8, 3), Int) }},
		{"other part", `"b" where "a"`, []byte{2, 'b'}, func(a *Archive) { a.Mark("a") }},
	} {
		r := Reader(c.b)
		c.read(r)
		simtest.Fail(t, r.End(), c.want)
	}
}

// FuzzArchive: whatever is read ends without a panic, and what is read without an error is a state.
func FuzzArchive(f *testing.F) {
	f.Add(written(example()))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var y, z all
		r := Reader(b)
		if y.Archive(r); r.End() != nil {
			return
		}
		r = Reader(written(&y))
		z.Archive(r)
		simtest.ErrorIf(t, r.End() != nil, "%+v is not read again: %v", y, r.End())
	})
}

// fileOf is a file that Write writes.
func fileOf(t testing.TB, build, key string, state func(*Archive)) []byte {
	path := filepath.Join(t.TempDir(), "state")
	f := simtest.Must(os.Create(path))(t)
	simtest.Check(t, errors.Join(Write(f, build, key, func(a *Archive) error { state(a); return nil }), f.Close()))
	return simtest.Must(os.ReadFile(path))(t)
}

// inMemory is a file that counts how often it is closed.
type inMemory struct {
	*bytes.Reader
	closed int
}

func (f *inMemory) Close() error { f.closed++; return nil }

// read opens a file and reads a state to its end.
func read(b []byte, build, key string, state func(*Archive)) error {
	a, err := Open(&inMemory{Reader: bytes.NewReader(b)}, build, key, 1<<30)
	if err != nil {
		return err
	}
	state(a)
	return a.End()
}

// text is a state that is a text.
func text(s *string) func(*Archive) { return func(a *Archive) { String(a, s) } }

// TestFile: equal states give equal bytes, and one that is changed anywhere is not read.
func TestFile(t *testing.T) {
	state := strings.Repeat("state", 100)
	whole := fileOf(t, "v1", "a", text(&state))
	simtest.ErrorIf(t, !bytes.Equal(whole, fileOf(t, "v1", "a", text(&state))), "equal states give other bytes")
	var back string
	err := read(whole, "v1", "a", text(&back))
	simtest.ErrorIf(t, err != nil || back != state, "%q, %v", back, err)
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i]++
		simtest.ErrorIf(t, read(bad, "v1", "a", text(&back)) == nil, "a change of byte %d is not noticed", i)
	}
}

// FuzzFile: bytes that are no file are refused, and none ends in a panic.
func FuzzFile(f *testing.F) {
	state := "state"
	f.Add(fileOf(f, "v1", "a", text(&state)))
	f.Add([]byte(magic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var back string
		simtest.ErrorIf(t, read(b, "v1", "a", text(&back)) == nil && !bytes.HasPrefix(b, []byte(magic)), "what is no file is read")
	})
}

// long is a state of many pieces.
type long struct {
	numbers []int64
	bits    []uint64
	text    []byte
	names   []string
}

func (x *long) archive(a *Archive) {
	a.Mark("long")
	List(a, &x.numbers, Int)
	List(a, &x.bits, Uint64)
	Blob(a, &x.text)
	List(a, &x.names, String)
}

func longState() *long {
	r := rand.New(rand.NewPCG(1, 2))
	x := &long{text: make([]byte, 3*pieceBytes+7)}
	for i := range 80000 {
		x.numbers = append(x.numbers, int64(r.Uint64())>>(i%64))
		x.bits = append(x.bits, r.Uint64())
	}
	for i := range x.text {
		x.text[i] = byte(r.Uint64())
	}
	for i := range 1000 {
		x.names = append(x.names, strings.Repeat("n", i))
	}
	return x
}

// trickle gives and takes few bytes at a time, and counts what has come through.
type trickle struct {
	b      []byte
	reads  int
	closed int
}

func (s *trickle) Read(b []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	s.reads++
	n := copy(b[:min(len(b), 1+s.reads%5000)], s.b)
	s.b = s.b[n:]
	return n, nil
}

func (s *trickle) Write(b []byte) (int, error) {
	if len(b) > 3*pieceBytes {
		return 0, errors.New("more than a piece at a time")
	}
	s.b = append(s.b, b...)
	return len(b), nil
}

func (s *trickle) Close() error { s.closed++; return nil }

// TestStream: what is written in pieces is what is written at once, and comes back however
// it comes.
func TestStream(t *testing.T) {
	x := longState()
	w := Writer()
	x.archive(w)
	var written trickle
	a := writerTo(&written)
	x.archive(a)
	if err := a.End(); err != nil || !bytes.Equal(written.b, w.Bytes()) {
		t.Fatalf("%v; %d bytes in pieces, %d at once", err, len(written.b), len(w.Bytes()))
	}
	source := &trickle{b: written.b}
	var y long
	r := readerFrom(source, int64(len(written.b)))
	y.archive(r)
	simtest.Check(t, r.End())
	if !slices.Equal(x.numbers, y.numbers) || !slices.Equal(x.bits, y.bits) || !bytes.Equal(x.text, y.text) || !slices.Equal(x.names, y.names) {
		t.Error("another state has come back")
	}
	simtest.ErrorIf(t, source.closed != 1, "closed %d times", source.closed)
}

// TestStreamErrors: what ends too soon, goes on too long, is larger than it may be or cannot
// be read or written is an error.
func TestStreamErrors(t *testing.T) {
	w := Writer()
	longState().archive(w)
	whole := w.Bytes()
	read := func(b []byte, most int64) error {
		source := &trickle{b: b}
		a := readerFrom(source, most)
		new(long).archive(a)
		err := a.End()
		simtest.ErrorIf(t, source.closed != 1, "%d of %d bytes: closed %d times", len(b), len(whole), source.closed)
		return err
	}
	for _, n := range []int{0, 1, 5, 1000, pieceBytes - 1, pieceBytes, pieceBytes + 1, len(whole) / 2, len(whole) - 1} {
		simtest.ErrorIf(t, read(whole[:n], 1<<30) == nil, "%d of %d bytes are read without an error", n, len(whole))
		simtest.ErrorIf(t, read(whole, int64(n)) == nil, "a state of %d bytes is read where %d are allowed", len(whole), n)
	}
	simtest.Fail(t, read(append(slices.Clone(whole), 0), 1<<30), "1 bytes more")
	a := writerTo(new(broken))
	longState().archive(a)
	err := a.End()
	simtest.ErrorIf(t, err == nil || err.Error() != "no room", "written to what is full: %v", err)
	a = readerFrom(io.MultiReader(bytes.NewReader(whole[:2*pieceBytes]), new(broken)), 1<<30)
	new(long).archive(a)
	simtest.Fail(t, a.End(), "no room")
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }
func (broken) Read([]byte) (int, error)  { return 0, errors.New("no room") }

// TestWrite: a state comes back from a file in pieces, which is closed; one that cannot be used
// says why, and is closed, too.
func TestWrite(t *testing.T) {
	x := longState()
	whole := fileOf(t, "v1", "a", x.archive)
	f := &inMemory{Reader: bytes.NewReader(whole)}
	a := simtest.Must(Open(f, "v1", "a", 1<<30))(t)
	var y long
	y.archive(a)
	if err := a.End(); err != nil || !slices.Equal(x.numbers, y.numbers) || !bytes.Equal(x.text, y.text) {
		t.Errorf("%v, or another state has come back", err)
	}
	simtest.ErrorIf(t, f.closed != 1, "closed %d times", f.closed)
	change := func(i int) []byte { b := slices.Clone(whole); b[i]++; return b }
	for _, c := range []struct {
		b                []byte
		build, key, want string
	}{
		{nil, "v1", "a", "is empty"},
		{[]byte("point,offered_load\n"), "v1", "a", "is no snapshot of weft"},
		{whole[:5], "v1", "a", "ends in its first"},
		{change(len(magic)), "v1", "a", "is a snapshot of form 5; this weft reads form 4"},
		{whole[:len(whole)-1], "v1", "a", "is cut off or grown"},
		{append(slices.Clone(whole), 0), "v1", "a", "is cut off or grown"},
		{change(len(whole) / 2), "v1", "a", "is damaged: its checksum does not fit"},
		{whole, "v2", "a", "was written by weft v1; this is weft v2"},
		{whole, "v1", "b", "holds no such state"},
	} {
		f := &inMemory{Reader: bytes.NewReader(c.b)}
		if _, err := Open(f, c.build, c.key, 1<<30); err == nil || !strings.Contains(err.Error(), c.want) || f.closed != 1 {
			t.Errorf("%v, want %q; closed %d times", err, c.want, f.closed)
		}
	}
	out := simtest.Must(os.Create(filepath.Join(t.TempDir(), "state")))(t)
	err := Write(out, "v1", "a", func(*Archive) error { return errors.New("no state") })
	simtest.ErrorIf(t, err == nil || err.Error() != "no state", "%v, want that of the state", err)
	simtest.Check(t, out.Close())
	simtest.ErrorIf(t, Write(out, "v1", "a", func(*Archive) error { return nil }) == nil, "written to a file that is closed")
}

// FuzzStream: a state that is read in pieces is the one that is read at once, whatever the bytes.
func FuzzStream(f *testing.F) {
	f.Add(written(example()))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var x, y all
		r, s := Reader(b), readerFrom(&trickle{b: b}, 1<<20)
		x.Archive(r)
		y.Archive(s)
		simtest.ErrorIf(t, (r.End() == nil) != (s.End() == nil), "at once: %v; in pieces: %v", r.End(), s.End())
		simtest.ErrorIf(t, r.End() == nil && !bytes.Equal(written(&x), written(&y)), "%+v in pieces, %+v at once", y, x)
	})
}

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
		Value(r, &y)
		simtest.ErrorIf(t, r.End() == nil, "%d of %d bytes are read without an error", n, len(b))
	}
	r = Reader(b)
	Value(r, &planned{lanes: make([]uint32, 3)})
	simtest.ErrorIf(t, r.Err() == nil || !strings.Contains(r.Err().Error(), "2 elements of []uint32, want 3"), "another length: %v", r.Err())
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
		simtest.Panics(t, func() { call(Writer()) }, want)
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
