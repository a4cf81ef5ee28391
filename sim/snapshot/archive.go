// Package snapshot writes the state of simulations as bytes and reads it back.
//
// [Value] archives all fields of a type, in both directions. Code has one method for both, which
// Value calls, too:
//
//	func (p *probe) Archive(a *snapshot.Archive) {
//		snapshot.Int(a, &p.sent)
//		snapshot.Int(a, &p.ahead)
//	}
//
// so that what is written and what is read cannot drift apart. The form is variable-length integers
// (encoding/binary), the same on every machine. It says nothing of types: a store keeps the version
// of the program beside the bytes, as [Write] does. A state is trusted: one that is read as another
// type gives nonsense. Package snapshottest finds fields that a method has forgotten.
package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Archive is a state that is written or read. After the first error reads give zero, and nothing
// changes.
type Archive struct {
	b       []byte // written; or left to be read
	reading bool
	err     error

	// Of one that is written or read piece by piece:
	to   io.Writer // nil: all that is written is held
	from io.Reader // nil: nothing more comes
	page []byte    // what is read into
	most int64     // bytes that may yet be read from there
}

// Writer is an empty archive to be written.
func Writer() *Archive { return &Archive{} }

// Reader reads what an archive has written.
func Reader(b []byte) *Archive { return &Archive{b: b, reading: true} }

// Reading tells whether a state is read.
func (a *Archive) Reading() bool { return a.reading }

// Bytes is what has been written, unless it is written in pieces.
func (a *Archive) Bytes() []byte { return a.b }

// Err is the first error.
func (a *Archive) Err() error { return a.err }

// Fail ends the reading with an error, if it is the first.
func (a *Archive) Fail(format string, args ...any) {
	if a.err == nil {
		a.stop(fmt.Errorf(format, args...))
	}
}

// stop ends the reading.
func (a *Archive) stop(err error) {
	a.err, a.b = err, nil
	a.close()
}

// Check fails unless what has been read is possible.
func (a *Archive) Check(ok bool, format string, args ...any) {
	if a.reading && !ok {
		a.Fail(format, args...)
	}
}

// End ends reading or writing with the first error, or that something is left to be read.
func (a *Archive) End() error {
	switch {
	case !a.reading:
		a.flush()
	case len(a.b) == 0 && a.from != nil:
		a.fill() // the end has not been seen
	}
	a.close()
	if a.reading && len(a.b) > 0 {
		a.Fail("%d bytes more than the state takes", len(a.b))
	}
	return a.err
}

var errShort = errors.New("the state ends too soon")

// Integer is every type of integer.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Int archives an integer: in a byte from -64 to 63, or to 127 without a sign.
func Int[T Integer](a *Archive, p *T) {
	a.turnOver(binary.MaxVarintLen64)
	signed := ^T(0) < 0
	switch {
	case !a.reading && signed:
		a.b = binary.AppendVarint(a.b, int64(*p))
	case !a.reading:
		a.b = binary.AppendUvarint(a.b, uint64(*p))
	case signed:
		x, n := binary.Varint(a.b)
		*p = T(x)
		a.took(n, int64(*p) == x)
	default:
		x, n := binary.Uvarint(a.b)
		*p = T(x)
		a.took(n, uint64(*p) == x)
	}
	if a.err != nil {
		*p = 0
	}
}

// took moves on by n bytes of an integer that fits into its type or not.
func (a *Archive) took(n int, fits bool) {
	switch {
	case a.err != nil:
	case n <= 0:
		a.stop(errShort)
	case !fits:
		a.Fail("a number in the state is too large for what it is to be")
	default:
		a.b = a.b[n:]
	}
}

// Float archives a number by its bits.
func Float(a *Archive, p *float64) {
	bits := math.Float64bits(*p)
	Uint64(a, &bits)
	*p = math.Float64frombits(bits)
}

// Uint64 archives a number that is as often large as small, such as a random stream's state: 8
// bytes.
func Uint64(a *Archive, p *uint64) {
	a.turnOver(8)
	switch {
	case !a.reading:
		a.b = binary.LittleEndian.AppendUint64(a.b, *p)
	case len(a.b) < 8:
		if *p = 0; a.err == nil {
			a.stop(errShort)
		}
	default:
		*p, a.b = binary.LittleEndian.Uint64(a.b), a.b[8:]
	}
}

// Bool archives a truth value.
func Bool(a *Archive, p *bool) {
	x := uint8(0)
	if *p {
		x = 1
	}
	Int(a, &x)
	a.Check(x <= 1, "a truth value in the state is %d", x)
	*p = x == 1
}

// String archives a text.
func String(a *Archive, p *string) {
	b := []byte(*p)
	Blob(a, &b)
	*p = string(b)
}

// Blob archives bytes: they are read no faster than they come.
func Blob(a *Archive, p *[]byte) {
	n := length(a, len(*p))
	if !a.reading {
		for piece := range slices.Chunk(*p, pieceBytes) {
			a.b = append(a.b, piece...)
			a.turnOver(0)
		}
		return
	}
	read := make([]byte, 0, min(n, pieceBytes))
	for len(read) < n && a.err == nil {
		a.turnOver(1)
		k := min(n-len(read), len(a.b))
		if k == 0 && a.err == nil {
			a.stop(errShort)
		}
		read = append(slices.Grow(read, k), a.b[:k]...)
		a.b = a.b[k:]
	}
	if *p = read; a.err != nil {
		*p = nil
	}
}

// length archives the length of a list, each element of which takes a byte at least.
func length(a *Archive, n int) int {
	Int(a, &n)
	if left := int64(len(a.b)) + a.most; a.reading && (n < 0 || int64(n) > left) {
		a.Fail("a list in the state has %d elements in %d bytes", n, left)
	}
	if a.err != nil {
		return 0
	}
	return n
}

// Array archives the elements of a slice of known length; what names the slice if another length is
// read.
func Array[T any](a *Archive, what string, s []T, each func(*Archive, *T)) {
	n := length(a, len(s))
	if a.err == nil && n != len(s) {
		a.Fail("the state has %d %s, want %d", n, what, len(s))
	}
	for i := range s {
		if a.err != nil {
			return
		}
		each(a, &s[i])
	}
}

// List archives a slice of any length. What is read is nil or a new slice.
func List[T any](a *Archive, s *[]T, each func(*Archive, *T)) {
	n := length(a, len(*s))
	if a.reading {
		*s = nil
		if n > 0 {
			*s = make([]T, 0, min(n, 1<<16)) // grows no faster than what is read
		}
	}
	for i := 0; i < n && a.err == nil; i++ {
		if !a.reading {
			each(a, &(*s)[i])
			continue
		}
		var x T
		each(a, &x)
		*s = append(*s, x)
	}
}

// Mark archives the name of a part, so that a reader that is out of step says where.
func (a *Archive) Mark(name string) {
	read := name
	String(a, &read)
	if a.err == nil && read != name {
		a.Fail("the state has %q where %q begins", read, name)
	}
}

// pieceBytes is what an archive that is written or read in pieces holds of them.
const pieceBytes = 256 << 10

// writerTo is an empty archive that writes to w and holds no more than a piece. [Archive.End]
// writes the last; errors of w are its.
func writerTo(w io.Writer) *Archive { return &Archive{b: make([]byte, 0, pieceBytes+64), to: w} }

// readerFrom reads an archive from r, of at most so many bytes, holding no more than a piece. An
// [io.Closer] is closed by [Archive.End] or with the first error.
func readerFrom(r io.Reader, most int64) *Archive {
	return &Archive{reading: true, from: r, page: make([]byte, pieceBytes), most: most}
}

// turnOver begins another piece if need be, so that a number of n bytes has room, or is there.
func (a *Archive) turnOver(n int) {
	switch {
	case a.to != nil && len(a.b) >= pieceBytes:
		a.flush()
	case a.from != nil && len(a.b) < n:
		a.fill()
	}
}

// flush writes what there is, if there is where to.
func (a *Archive) flush() {
	if a.to == nil {
		return
	}
	if a.err == nil {
		if _, err := a.to.Write(a.b); err != nil {
			a.err = err
		}
	}
	a.b = a.b[:0]
}

// fill reads on until the piece is full, or nothing is left.
func (a *Archive) fill() {
	n := copy(a.page, a.b)
	room := a.page[n:]
	if int64(len(room)) > a.most {
		room = room[:a.most+1] // one more shows that there is more
	}
	read, err := io.ReadFull(a.from, room)
	a.b = a.page[:n+read]
	a.most -= int64(read)
	switch {
	case a.most < 0:
		a.Fail("the state is larger than it may be")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		a.close()
	case err != nil:
		a.Fail("%w", err)
	}
}

// close ends the reading.
func (a *Archive) close() {
	if closer, ok := a.from.(io.Closer); ok {
		closer.Close()
	}
	a.from, a.most = nil, 0
}
