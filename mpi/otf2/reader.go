package otf2

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/weft-sim/weft/mpi/trace"
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
	*trace.Bytes
	chunk int64 // bytes

	events  bool // with times, and some without a length
	time    uint64
	kind    byte
	begin   int64  // of the record
	payload []byte // of the record, good until the next; what is left of it
}

// open opens a file of records.
func open(name string, chunk int64, events bool) (*reader, error) {
	b, err := trace.OpenBytes(name, "the file ends here: is it truncated?")
	if err != nil {
		return nil, err
	}
	d := &reader{Bytes: b, chunk: chunk, events: events}
	d.header()
	if d.Err != nil {
		d.Close()
		return nil, d.Err
	}
	return d, nil
}

// header is that of a chunk.
func (d *reader) header() {
	at := d.At
	if b := d.Next(2); d.Err == nil && (b[0] != chunkHeader || b[1] != littleEndian) {
		d.Fail(at, "want a chunk of a little-endian OTF2 file, which begins with 0x03 0x42, not 0x%02x 0x%02x", b[0], b[1])
	}
	d.Next(16) // the numbers of its first and last event
}

// bare are the events that have no length: their one number follows.
var bare = [256]bool{12: true, 13: true, 16: true, 17: true, 20: true, 21: true, 24: true, 28: true, 29: true, 30: true}

// next reads a record; io.EOF after the last.
func (d *reader) next() error {
	for d.Err == nil {
		d.begin = d.At
		d.kind = d.Next(1)[0]
		switch {
		case d.Err != nil:
		case d.kind == endOfFile:
			return io.EOF
		case d.kind == endOfChunk:
			if b, err := d.In.Peek(1); err == nil && b[0] == endOfFile {
				continue
			}
			d.Skip(int((d.chunk - d.At%d.chunk) % d.chunk))
			d.header()
		case d.kind == timestamp && d.events:
			d.time = binary.LittleEndian.Uint64(d.Next(8))
		case d.events && bare[d.kind]:
			n := d.Next(1)[0]
			d.payload = append(d.payload[:0], n)
			if n <= 8 { // not undefined
				d.payload = append(d.payload, d.Next(int(n))...)
			}
			return d.Err
		default:
			n := uint64(d.Next(1)[0])
			if n == 0xff {
				n = binary.LittleEndian.Uint64(d.Next(8))
			}
			if n > mostRecord {
				d.Fail(d.begin, "a record of %d B, want at most %d", n, mostRecord)
				break
			}
			d.payload = d.Append(d.payload[:0], int(n))
			return d.Err
		}
	}
	return d.Err
}

// byte is the next of the record.
func (d *reader) byte() byte {
	if len(d.payload) == 0 {
		d.Fail(d.begin, "a record of type %d that is too short", d.kind)
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
		d.Fail(d.begin, "a number of %d bytes in a record of type %d", n, d.kind)
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
		d.Fail(d.begin, "%d numbers in a record of type %d", n, d.kind)
		return nil
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = d.number()
	}
	return list
}
