package otf2

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-sim/weft/sim/input"
)

// Bytes that begin records of every file.
const (
	endOfFile    = 0x01
	endOfChunk   = 0x02
	chunkHeader  = 0x03
	timestamp    = 0x05 // in files of events
	attributes   = 0x06 // in files of events: of the next one
	littleEndian = 0x42
)

// undefined is a number that is not given.
const undefined = math.MaxUint64

// mostRecord bounds a record, in bytes.
const mostRecord = 16 << 20

// reader reads the records of a file, which stand in chunks of a fixed size.
type reader struct {
	file  io.Closer
	in    *bufio.Reader
	name  string
	at    int64
	chunk int64 // bytes
	err   error

	events  bool // with times, and some without a length
	time    uint64
	kind    byte
	begin   int64  // of the record
	payload []byte // of the record, good until the next; what is left of it
}

// open opens a file of records.
func open(name string, chunk int64, events bool) (*reader, error) {
	f, err := input.OpenInput(name, input.MaxStream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &reader{file: f, in: bufio.NewReaderSize(f, 1<<16), name: name, chunk: chunk, events: events}
	d.header()
	if d.err != nil {
		f.Close()
		return nil, d.err
	}
	return d, nil
}

// fail keeps the first error.
func (d *reader) fail(at int64, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: byte %d: "+format, append([]any{d.name, at}, args...)...)
	}
}

// bytes are the next n of the file, good until the next call; zeros after an error.
func (d *reader) bytes(n int) []byte {
	b, err := d.in.Peek(n)
	if err != nil || d.err != nil {
		if err == io.EOF {
			err = errors.New("the file ends here: is it truncated?")
		}
		d.fail(d.at+int64(len(b)), "%w", err)
		return make([]byte, n)
	}
	d.in.Discard(n)
	d.at += int64(n)
	return b
}

// header is that of a chunk.
func (d *reader) header() {
	at := d.at
	if b := d.bytes(2); d.err == nil && (b[0] != chunkHeader || b[1] != littleEndian) {
		d.fail(at, "want a chunk of a little-endian OTF2 file, which begins with 0x03 0x42, not 0x%02x 0x%02x", b[0], b[1])
	}
	d.bytes(16) // the numbers of its first and last event
}

// bare are the events that have no length: their one number follows.
var bare = [256]bool{12: true, 13: true, 16: true, 17: true, 20: true, 21: true, 24: true, 28: true, 29: true, 30: true}

// next reads a record; io.EOF after the last.
func (d *reader) next() error {
	for d.err == nil {
		d.begin = d.at
		d.kind = d.bytes(1)[0]
		switch {
		case d.err != nil:
		case d.kind == endOfFile:
			return io.EOF
		case d.kind == endOfChunk:
			if b, err := d.in.Peek(1); err == nil && b[0] == endOfFile {
				continue
			}
			rest := int((d.chunk - d.at%d.chunk) % d.chunk)
			skipped, _ := d.in.Discard(rest)
			if d.at += int64(skipped); skipped < rest {
				d.bytes(1)
			}
			d.header()
		case d.kind == timestamp && d.events:
			d.time = binary.LittleEndian.Uint64(d.bytes(8))
		case d.events && bare[d.kind]:
			n := d.bytes(1)[0]
			d.payload = append(d.payload[:0], n)
			if n <= 8 { // not undefined
				d.payload = append(d.payload, d.bytes(int(n))...)
			}
			return d.err
		default:
			n := uint64(d.bytes(1)[0])
			if n == 0xff {
				n = binary.LittleEndian.Uint64(d.bytes(8))
			}
			if n > mostRecord {
				d.fail(d.begin, "a record of %d B, want at most %d", n, mostRecord)
				break
			}
			d.payload = d.payload[:0]
			for left := int(n); left > 0 && d.err == nil; {
				part := min(left, 1<<15)
				d.payload = append(d.payload, d.bytes(part)...)
				left -= part
			}
			return d.err
		}
	}
	return d.err
}

// byte is the next of the record.
func (d *reader) byte() byte {
	if len(d.payload) == 0 {
		d.fail(d.begin, "a record of type %d that is too short", d.kind)
		return 0
	}
	b := d.payload[0]
	d.payload = d.payload[1:]
	return b
}

// number is the next number of the record: how many bytes it has, and these.
func (d *reader) number() uint64 {
	n := int(d.byte())
	if n == 0xff {
		return undefined
	}
	if n > 8 || n > len(d.payload) {
		d.fail(d.begin, "a number of %d bytes in a record of type %d", n, d.kind)
		return 0
	}
	var b [8]byte
	copy(b[:], d.payload[:n])
	d.payload = d.payload[n:]
	return binary.LittleEndian.Uint64(b[:])
}

// numbers are a list of numbers, after their count.
func (d *reader) numbers() []uint64 {
	n := d.number()
	if n > uint64(len(d.payload)) {
		d.fail(d.begin, "%d numbers in a record of type %d", n, d.kind)
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = d.number()
	}
	return list
}
