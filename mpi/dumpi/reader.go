// Package dumpi reads the binary traces of DUMPI, the MPI profiling library of SST: the
// calls of every rank with their arguments and times.
package dumpi

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-sim/weft/mpi/goal"
)

const (
	magic       = "\xff\xaa\xddDUMPI"
	footerMagic = 0xf007fee7
	bodyOffset  = 8
	mostTail    = 64 << 20 // bytes after the calls
	// wrap is the period of times in ns: seconds have 16 bits.
	wrap = (1 << 16) * 1e9
)

// Bits of a call's mask.
const (
	hasStatuses = 3
	hasCPUTime  = 1 << 2
	hasWallTime = 1 << 3
	hasThread   = 1 << 6
	hasCounters = 1 << 7
)

// call is a call of a rank. Its lists are good until the next.
type call struct {
	function
	thread      uint16
	timed       bool
	start, stop int64     // ns since some time
	values      []int64   // the numbers among the arguments, in order
	lists       [][]int32 // the lists among them
}

// reader reads the file of a rank.
type reader struct {
	*goal.Bytes
	begin int64 // of the call
	late  int64 // latest time so far
	past  int64 // periods before it, in ns
	call
	pool [8][]int32
}

// Is tells whether a file begins like a trace, or like the description of one.
func Is(in *bufio.Reader) bool {
	begin, _ := in.Peek(256)
	return strings.HasPrefix(string(begin), magic) || strings.HasPrefix(string(begin), "hostname=") && strings.Contains(string(begin), "\nnumprocs=")
}

// open opens a file and reads up to its first call.
func open(name string) (*reader, error) {
	b, err := goal.OpenBytes(name, "the file ends in the middle of a record: is it truncated?")
	if err != nil {
		return nil, err
	}
	d := &reader{Bytes: b}
	if string(d.Next(len(magic))) != magic {
		d.Fail(d.At, "this is no DUMPI trace, which begins with %q", magic)
	}
	d.number(4) // the seconds where CPU and wall times begin
	d.number(4)
	if d.Err != nil {
		d.Close()
		return nil, d.Err
	}
	return d, nil
}

// number is a big-endian number of so many bytes, with a sign.
func (d *reader) number(bytes int) int64 {
	b := d.Next(bytes)
	switch bytes {
	case 1:
		return int64(b[0])
	case 2:
		return int64(binary.BigEndian.Uint16(b))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (d *reader) length() int {
	n := d.number(4)
	if n < 0 {
		d.Fail(d.At, "a list of %d elements", n)
	}
	if d.Err != nil {
		return 0
	}
	return int(n)
}

func (d *reader) list(bytes int) {
	into := &d.pool[len(d.lists)]
	*into = (*into)[:0]
	for range d.length() {
		if d.Err != nil {
			break
		}
		*into = append(*into, int32(d.number(bytes)))
	}
	d.lists = append(d.lists, *into)
}

func (d *reader) times() (start, stop int64) {
	start = d.number(2)*1e9 + d.number(4)
	return start, d.number(2)*1e9 + d.number(4)
}

// unwrap places a time after the ones before.
func (d *reader) unwrap(t int64) int64 {
	if t += d.past; t < d.late-wrap/2 {
		d.past += wrap
		t += wrap
	}
	d.late = max(d.late, t)
	return t
}

// next reads a call; false after the last, and after an error.
func (d *reader) next() bool {
	d.begin = d.At
	number := d.number(2)
	if d.Err == nil && number == endOfStream {
		return false
	}
	switch {
	case number < int64(len(functions())):
		d.function = functions()[number]
	case number == functionEnter || number == functionExit:
		d.function = function{name: "function", layout: "q"}
	default:
		d.function = function{name: fmt.Sprint("function ", number), layout: "?"}
	}
	if d.layout == "?" {
		d.Fail(d.begin, "a call of %s, whose arguments are not known to weft", d.name)
	}
	d.values, d.lists = d.values[:0], d.lists[:0]
	mask := d.number(1)
	d.thread = 0
	if mask&hasThread != 0 {
		d.thread = uint16(d.number(2))
	}
	d.timed = mask&(hasCPUTime|hasWallTime) != 0
	if mask&hasCPUTime != 0 {
		d.start, d.stop = d.times()
	}
	if mask&hasWallTime != 0 {
		d.start, d.stop = d.times()
	}
	if d.timed {
		d.start, d.stop = d.unwrap(d.start), d.unwrap(d.stop)
	}
	if mask&hasCounters != 0 {
		d.Skip(int(d.number(1)) * 16)
	}
	d.arguments(mask)
	if d.Err != nil {
		d.Err = fmt.Errorf("%w (in a call of %s at byte %d)", d.Err, d.name, d.begin)
	}
	return d.Err == nil
}

func (d *reader) arguments(mask int64) {
	atRoot := false
	for _, kind := range d.layout {
		switch kind {
		case 'k', 'l', 'K':
			if !atRoot {
				continue
			}
			kind = map[rune]rune{'k': 'i', 'l': 'h', 'K': 'I'}[kind]
		}
		switch kind {
		case 'i', 'r':
			d.values = append(d.values, d.number(4))
			if kind == 'r' {
				atRoot = d.values[len(d.values)-1] == d.values[0]
			}
		case 'h':
			d.values = append(d.values, d.number(2))
		case 'b':
			d.values = append(d.values, d.number(1))
		case 'q':
			d.values = append(d.values, d.number(8))
		case 'I':
			d.list(4)
		case 'H':
			d.list(2)
		case '2':
			for range d.length() {
				if d.Err != nil {
					return
				}
				for range d.length() {
					d.number(4)
					if d.Err != nil {
						return
					}
				}
			}
		case 'T':
			d.Skip(d.length())
		case 'A':
			for range d.length() {
				if d.Skip(d.length()); d.Err != nil {
					return
				}
			}
		case 'S':
			if mask&hasStatuses != 0 {
				d.Skip(d.length() * 14) // bytes, source, cancelled, error, tag
			}
		}
	}
}

// summary is what stands after the calls.
type summary struct {
	sizes  []int64 // of datatypes, by number
	counts []int64 // calls, by function
}

// end reads what stands after the calls.
func (d *reader) end() (*summary, error) {
	begin := d.At
	tail, err := io.ReadAll(io.LimitReader(d.In, mostTail+1))
	if err != nil {
		return nil, fmt.Errorf("byte %d: %w", begin+int64(len(tail)), err)
	}
	at := bytes.LastIndex(tail, []byte(magic))
	words := 0
	if at >= 0 {
		words = (len(tail) - at - len(magic)) / 8
	}
	if words < 4 || words > 7 || len(tail)-at != len(magic)+8*words || len(tail) > mostTail {
		return nil, fmt.Errorf("byte %d: no index of the file at its end: is it truncated?", begin+int64(len(tail)))
	}
	// The oldest words stand last: header, body, footer, key-values.
	word := func(fromEnd int) int64 { return int64(binary.BigEndian.Uint64(tail[len(tail)-8*fromEnd:])) }
	if word(4) != begin || word(3) != bodyOffset {
		return nil, fmt.Errorf("byte %d: the index places the header at byte %d and the calls at byte %d, which are at %d and %d", begin+int64(at), word(4), word(3), begin, bodyOffset)
	}
	record := func(name string, offset, length int64) ([]byte, error) {
		if offset < begin || offset-begin > int64(at)-length {
			return nil, fmt.Errorf("byte %d: the index places %s at byte %d, want %d to %d", begin+int64(at), name, offset, begin, begin+int64(at)-length)
		}
		return tail[offset-begin : at], nil
	}
	header, err := record("the header", begin, 3)
	if err != nil {
		return nil, err
	}
	if version := header[:3]; slices.Compare(version, []byte{0, 6, 9}) < 0 {
		return nil, fmt.Errorf("byte %d: written by DUMPI %d.%d.%d, want 0.6.9 or later", begin, version[0], version[1], version[2])
	}
	s := &summary{}
	footer, err := record("the footer", word(2), 8+8*(allFunctions+1))
	if err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint64(footer) != footerMagic {
		return nil, fmt.Errorf("byte %d: no footer, which begins with %#x", word(2), footerMagic)
	}
	for f := range allFunctions {
		s.counts = append(s.counts, int64(binary.BigEndian.Uint32(footer[8+4*f:])))
	}
	if words < 7 || word(7) == 0 {
		return s, nil
	}
	sizes, err := record("the sizes of datatypes", word(7), 4)
	if err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(sizes))
	if sizes, err = record(fmt.Sprintf("%d sizes of datatypes", n), word(7), 4+4*n); err != nil {
		return nil, err
	}
	for i := range n {
		s.sizes = append(s.sizes, int64(int32(binary.BigEndian.Uint32(sizes[4+4*i:]))))
	}
	return s, nil
}
