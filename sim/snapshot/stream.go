package snapshot

import (
	"errors"
	"io"
	"math"
	"slices"
)

// pieceBytes is what an archive that is written or read in pieces holds of them.
const pieceBytes = 256 << 10

// stream is where the bytes of an archive go to, or come from, piece by piece.
type stream struct {
	to   io.Writer
	from io.Reader
	page []byte // what is read into
	most int64  // bytes that may yet be read from there
}

// WriterTo is an empty archive that writes to w, of which it holds no more than a piece.
// [Archive.End] writes the last. An error of w is the archive's.
func WriterTo(w io.Writer) *Archive {
	return &Archive{b: make([]byte, 0, pieceBytes+64), stream: &stream{to: w}}
}

// ReaderFrom reads what an archive has written from r, of at most so many bytes. It holds no
// more of it than a piece. If r is an [io.Closer], it is closed by [Archive.End] or with the
// first error.
func ReaderFrom(r io.Reader, most int64) *Archive {
	return &Archive{reading: true, stream: &stream{from: r, page: make([]byte, pieceBytes), most: most}}
}

// turnOver begins another piece if need be, so that a number of n bytes has room, or is
// there if there is so much.
func (a *Archive) turnOver(n int) {
	switch {
	case !a.reading:
		if len(a.b) >= pieceBytes {
			a.flush()
		}
	case len(a.b) < n && a.from != nil:
		a.fill()
	}
}

// flush writes what there is.
func (a *Archive) flush() {
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
func (s *stream) close() {
	if closer, ok := s.from.(io.Closer); ok {
		closer.Close()
	}
	s.from = nil
}

// finish writes what is left, or finds out whether something is left to be read.
func (a *Archive) finish() {
	if !a.reading {
		a.flush()
		return
	}
	if len(a.b) == 0 && a.from != nil {
		a.fill() // the end has not been seen
	}
	a.close()
}

// left is how many bytes there are at most.
func (a *Archive) left() int64 {
	switch {
	case !a.reading:
		return math.MaxInt64
	case a.stream == nil || a.from == nil:
		return int64(len(a.b))
	default:
		return int64(len(a.b)) + a.most
	}
}

// blob writes bytes, or reads n of them: no faster than they come.
func (a *Archive) blob(n int, p *[]byte) {
	if !a.reading {
		for rest := *p; len(rest) > 0; {
			k := min(len(rest), pieceBytes)
			a.b = append(a.b, rest[:k]...)
			rest = rest[k:]
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
