package snapshot

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
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
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
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
