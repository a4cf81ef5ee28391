package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/weft-sim/weft/sim/input"
)

// Bytes are those of a binary file of a trace, for readers of records. After an error they are zeros.
type Bytes struct {
	Name string
	At   int64 // of the next one
	Err  error // the first
	In   *bufio.Reader
	file io.Closer
	ends string
}

// OpenBytes opens a file; ends is what is said of one that ends in the middle of a record.
func OpenBytes(name, ends string) (*Bytes, error) {
	f, err := input.OpenInput(name, input.MaxStream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Bytes{Name: name, In: bufio.NewReaderSize(f, 1<<16), file: f, ends: ends}, nil
}

// Close closes the file.
func (b *Bytes) Close() { b.file.Close() }

// Fail keeps the first error, with its place.
func (b *Bytes) Fail(at int64, format string, args ...any) {
	if b.Err == nil {
		b.Err = fmt.Errorf("%s: byte %d: "+format, append([]any{b.Name, at}, args...)...)
	}
}

// Next are the next n, good until the next call.
func (b *Bytes) Next(n int) []byte {
	next, err := b.In.Peek(n)
	if err != nil || b.Err != nil {
		if err == io.EOF {
			err = errors.New(b.ends)
		}
		b.Fail(b.At+int64(len(next)), "%w", err)
		return make([]byte, n)
	}
	b.In.Discard(n)
	b.At += int64(n)
	return next
}

// Skip passes over the next n.
func (b *Bytes) Skip(n int) {
	done, err := b.In.Discard(n)
	b.At += int64(done)
	if err != nil {
		b.Next(1)
	}
}

// Append appends the next n to a list.
func (b *Bytes) Append(list []byte, n int) []byte {
	for ; n > 0 && b.Err == nil; n -= min(n, b.In.Size()) {
		list = append(list, b.Next(min(n, b.In.Size()))...)
	}
	return list
}

// Uvarint is the next number, of a variable length.
func (b *Bytes) Uvarint() uint64 {
	begin := b.At
	for shift, n := 0, uint64(0); shift < 64 && b.Err == nil; shift += 7 {
		next := b.Next(1)[0]
		if n |= uint64(next&0x7f) << shift; next < 0x80 {
			return n
		}
	}
	b.Fail(begin, "a number of more than 64 bits")
	return 0
}
