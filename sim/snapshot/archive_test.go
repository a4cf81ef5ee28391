package snapshot

import (
	"bytes"
	"math"
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
		if again := written(&y); !bytes.Equal(again, b) || !slices.Equal(x.list, y.list) || x.i64 != y.i64 || x.f != y.f || x.s != y.s {
			t.Errorf("%+v came back as %+v", x, y)
		}
	}
}

// TestArchiveErrors: what is no state of the type gives an error.
func TestArchiveErrors(t *testing.T) {
	b := written(example())
	for n := range b {
		var y all
		r := Reader(b[:n])
		y.Archive(r)
		if r.End() == nil {
			t.Errorf("%d of %d bytes are read without an error", n, len(b))
		}
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
		if err := r.End(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzArchive: whatever is read ends without a panic, and what is read without an error
// is a state.
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
		if z.Archive(r); r.End() != nil {
			t.Errorf("%+v is not read again: %v", y, r.End())
		}
	})
}

func exampleFile() *File {
	return &File{Build: "v1", States: []State{
		{"a", bytes.Repeat([]byte("state"), 100)},
		{"b", nil},
	}}
}

// TestFile: a file comes back, and one that cannot be used says why.
func TestFile(t *testing.T) {
	whole := exampleFile().Encode()
	if !bytes.Equal(whole, exampleFile().Encode()) {
		t.Error("equal files give other bytes")
	}
	f := simtest.Must(Decode(whole, "v1", 1<<20))(t)
	if data, err := f.Find("a"); err != nil || string(data[:5]) != "state" || len(data) != 500 {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := f.Find("c"); err != errNoState {
		t.Errorf("of another key: %v", err)
	}
	change := func(i int) []byte { b := slices.Clone(whole); b[i]++; return b }
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "is empty"},
		{"other", []byte("point,offered_load\n"), "is no snapshot of weft"},
		{"beginning", whole[:5], "ends in its first"},
		{"form", change(len(magic)), "is a snapshot of form 4; this weft reads form 3"},
		{"cut off", whole[:len(whole)-1], "is cut off or grown"},
		{"grown", append(slices.Clone(whole), 0), "is cut off or grown"},
		{"damaged", change(len(whole) - 1), "is damaged: its checksum does not fit"},
		{"build", (&File{Build: "v2"}).Encode(), "was written by weft v2; this is weft v1"},
	} {
		if _, err := Decode(c.b, "v1", 1<<20); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for i := range whole {
		if _, err := Decode(change(i), "v1", 1<<20); err == nil {
			t.Errorf("a change of byte %d is not noticed", i)
		}
	}
}

// FuzzFile: bytes that are no file are refused, and none ends in a panic.
func FuzzFile(f *testing.F) {
	f.Add(exampleFile().Encode())
	f.Add([]byte(magic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := Decode(b, "v1", 1<<20); err == nil && !bytes.Equal(file.Encode()[:len(magic)], []byte(magic)) {
			t.Error("a file that is read cannot be written")
		}
	})
}
