package goal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// The binary form of LogGOPSim and ATLAHS, little endian without padding: a header,
// where each rank's part begins and ends, and the parts. A part is the number of its
// operations and of those that depend on nothing, the numbers of the latter, a record
// for each operation, and the numbers of the operations that wait for others.
const (
	binaryMagic   = 4223
	headerBytes   = 14
	timesBytes    = 16
	recordBytes   = 39
	timesRelative = 8 // the places of parts count from here
)

// The types of records.
const (
	recordSend = 1 + iota
	recordRecv
	recordCalc
)

// wildcard stands for any rank, and for any tag.
const wildcard = math.MaxUint32

// isBinary tells whether a file begins like a binary schedule.
func isBinary(in *bufio.Reader) bool {
	magic, err := in.Peek(8)
	return err == nil && binary.LittleEndian.Uint64(magic) == binaryMagic
}

// Is tells whether a file begins like a schedule, text or binary: with num_ranks, behind comments.
func Is(in *bufio.Reader) bool {
	if isBinary(in) {
		return true
	}
	start, err := in.Peek(in.Size())
	whole := err != nil // the file ends here
	if input.CheckUTF8(start) != nil {
		return true // a text in another encoding, which Parse names
	}
	p := &parser{}
	for line := range bytes.Lines(bytes.TrimPrefix(start, []byte("\ufeff"))) {
		p.line++
		if s := begin(p.stripComments(bytes.Clone(line))); !s.end() {
			return s.word("num_ranks")
		}
	}
	return !whole
}

const endsHere = "the file ends here: is it truncated?"

// binaryReader reads a binary schedule from front to end.
type binaryReader struct {
	*parser
	Bytes
}

// parseBinary reads a binary schedule. The first problem ends it: what follows a wrong
// number has no meaning.
func (p *parser) parseBinary() {
	b := &binaryReader{p, Bytes{Name: p.goal.name, In: p.in, ends: endsHere}}
	p.goal.numbered = true
	if err := b.read(); err != nil {
		b.Fail(b.At, "%w", err)
	}
	if b.Err != nil {
		p.problems = append(p.problems, b.Err)
	}
	p.goal.first = append(p.goal.first, int32(p.goal.ops.Len()))
}

// read reads the file. What it says of bytes that are not there does not count.
func (b *binaryReader) read() error {
	header := b.Next(headerBytes)
	ranks := binary.LittleEndian.Uint32(header[8:])
	if ranks < 1 || ranks >= math.MaxInt32 {
		return fmt.Errorf("%d ranks: want 1 to %d", ranks, math.MaxInt32-1)
	}
	b.ranks = int(ranks)
	b.goal.cpus, b.goal.nics = int(header[12])+1, int(header[13])+1
	var ends []int64
	at := headerBytes + timesBytes*int64(ranks)
	for r := range b.ranks {
		times := b.Next(timesBytes)
		start, end := binary.LittleEndian.Uint64(times), binary.LittleEndian.Uint64(times[8:])
		if start != uint64(at-timesRelative) || end < start+8 || end > math.MaxInt64/2 {
			return fmt.Errorf("the part of rank %d is said to be from %d to %d: want from %d, where the one before ends, and 8 bytes at least", r, start, end, at-timesRelative)
		}
		at = int64(end) + timesRelative
		ends = append(ends, at)
	}
	for r, end := range ends {
		b.ends = fmt.Sprintf("rank %d: %s", r, endsHere)
		if err := b.rank(end); err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	if _, err := b.In.ReadByte(); err != io.EOF {
		return errors.New("the file goes on after the part of the last rank")
	}
	return nil
}

// edgesOf is where the appendix has the operations that wait for one.
type edgesOf struct{ first, n uint32 }

func (b *binaryReader) rank(end int64) error {
	g := b.goal
	counts := b.Next(8)
	operations, roots := binary.LittleEndian.Uint32(counts), binary.LittleEndian.Uint32(counts[4:])
	rest := end - b.At - int64(roots)*4 - int64(operations)*recordBytes
	if roots > operations || rest < 0 || rest%4 != 0 {
		return fmt.Errorf("%d operations, %d of which depend on nothing, do not fit its %d bytes", operations, roots, end-b.At+8)
	}
	entries := rest / 4
	if all := int64(g.ops.Len()) + int64(operations); all > mostOperations || b.held()+int64(operations)*opBytes+entries*edgeBytes > b.most {
		return fmt.Errorf("%d operations so far are more than the memory of this machine takes, or more than %d", all, mostOperations)
	}
	first := int32(g.ops.Len())
	g.first = append(g.first, first)
	rooted, err := b.numbers(int64(roots), operations)
	if err != nil {
		return err
	}
	var needs []uint32
	var waiting [2][]edgesOf // for the end, for the start
	for i := range operations {
		record := b.Next(recordBytes)
		op, err := b.record(record)
		if err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		b.add(nil, op)
		needs = append(needs, binary.LittleEndian.Uint32(record))
		for j := range waiting {
			w := edgesOf{n: binary.LittleEndian.Uint32(record[23+8*j:]), first: binary.LittleEndian.Uint32(record[27+8*j:])}
			if w.n > 0 && int64(w.first)+int64(w.n) > entries {
				return fmt.Errorf("operation %d: the entries from %d to %d of an appendix of %d wait for it", i, w.first, int64(w.first)+int64(w.n)-1, entries)
			}
			waiting[j] = append(waiting[j], w)
		}
	}
	appendix, err := b.numbers(entries, operations)
	if err != nil {
		return err
	}
	return b.edges(first, appendix, needs, rooted, waiting)
}

// edges files the dependencies of a rank, and compares what the file says twice.
func (b *binaryReader) edges(first int32, appendix, needs, rooted []uint32, waiting [2][]edgesOf) error {
	edges := 0
	for i := range needs {
		for j, to := range []*mem.List[edge]{&b.onDone, &b.onStart} {
			w := waiting[j][i]
			if edges += int(w.n); edges > len(appendix) {
				return fmt.Errorf("operation %d: the appendix of %d entries ends before those that wait for it", i, len(appendix))
			}
			for k := range w.n {
				b.depend(to, first+int32(i), first+int32(appendix[w.first+k]))
			}
		}
	}
	if edges < len(appendix) {
		return fmt.Errorf("%d entries of the appendix belong to no operation", len(appendix)-edges)
	}
	free := 0
	for i, n := range needs {
		if has := b.goal.ops.At(first + int32(i)).needs; uint32(has) != n {
			return fmt.Errorf("operation %d is said to depend on %d others, and the appendix has %d", i, n, has)
		}
		if n == 0 {
			if free >= len(rooted) || rooted[free] != uint32(i) {
				return fmt.Errorf("operation %d depends on nothing, and does not stand in its place among those", i)
			}
			free++
		}
	}
	if free < len(rooted) {
		return fmt.Errorf("operation %d is said to depend on nothing", rooted[free])
	}
	return nil
}

// numbers are the next numbers of operations, below a bound.
func (b *binaryReader) numbers(n int64, below uint32) (read []uint32, err error) {
	for ; n > 0; n-- {
		number := binary.LittleEndian.Uint32(b.Next(4))
		if number >= below || b.Err != nil {
			return nil, fmt.Errorf("operation %d of %d", number, below)
		}
		read = append(read, number)
	}
	return read, nil
}

// record reads an operation but for its dependencies. What a computation has in the
// places of peer, tag and NIC says nothing.
func (b *binaryReader) record(record []byte) (op operation, err error) {
	peer, size, tag := binary.LittleEndian.Uint32(record[5:]), binary.LittleEndian.Uint64(record[9:]), binary.LittleEndian.Uint32(record[17:])
	if size > math.MaxInt64 {
		return op, fmt.Errorf("size %d: want at most %d", size, int64(math.MaxInt64))
	}
	op.size, op.cpu = int64(size), record[21]
	switch record[4] {
	case recordSend:
		op.kind = mpi.Send
	case recordRecv:
		op.kind = mpi.Recv
	case recordCalc:
		op.kind = mpi.Calc
		return op, nil
	default:
		return op, fmt.Errorf("type %d: want 1 (send), 2 (recv) or 3 (calc)", record[4])
	}
	if peer >= uint32(b.ranks) && (peer != wildcard || op.kind != mpi.Recv) {
		return op, fmt.Errorf("peer %d: ranks are 0 to %d", peer, b.ranks-1)
	}
	if tag > math.MaxInt32 && tag != wildcard {
		return op, fmt.Errorf("tag %d: want at most %d", tag, math.MaxInt32)
	}
	op.peer, op.tag, op.nic = int32(peer), int32(tag), record[22]
	return op, nil
}

// WriteBinary writes the schedule in the binary form. It is LogGOPSim's to the byte.
func (g *Schedule) WriteBinary(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	order := binary.LittleEndian
	bytes := order.AppendUint64(nil, binaryMagic)
	bytes = order.AppendUint32(bytes, uint32(g.Ranks()))
	bytes = append(bytes, uint8(g.cpus-1), uint8(g.nics-1))
	at := uint64(headerBytes + timesBytes*g.Ranks() - timesRelative)
	for r := range g.Ranks() {
		bytes = order.AppendUint64(bytes, at)
		at += 8
		for i := g.first[r]; i < g.first[r+1]; i++ {
			at += recordBytes + 4*uint64(len(g.onStart.of(i))+len(g.onDone.of(i)))
			if g.ops.At(i).needs == 0 {
				at += 4
			}
		}
		bytes = order.AppendUint64(bytes, at)
	}
	out.Write(bytes) // the first error stays, and Flush returns it
	for r := range g.Ranks() {
		g.writePart(out, g.first[r], g.first[r+1])
	}
	return out.Flush()
}

func (g *Schedule) writePart(out *bufio.Writer, first, end int32) {
	order := binary.LittleEndian
	bytes := order.AppendUint32(nil, uint32(end-first))
	var roots, appendix []byte
	for i := first; i < end; i++ {
		if g.ops.At(i).needs == 0 {
			roots = order.AppendUint32(roots, uint32(i-first))
		}
	}
	out.Write(order.AppendUint32(bytes, uint32(len(roots)/4)))
	out.Write(roots)
	types := [...]byte{mpi.Send: recordSend, mpi.Recv: recordRecv, mpi.Calc: recordCalc}
	for i := first; i < end; i++ {
		o := g.ops.At(i)
		bytes = append(order.AppendUint32(bytes[:0], uint32(o.needs)), types[o.kind])
		bytes = order.AppendUint32(bytes, uint32(o.peer))
		bytes = order.AppendUint64(bytes, uint64(o.size))
		bytes = append(order.AppendUint32(bytes, uint32(o.tag)), o.cpu, o.nic)
		for _, waiting := range [][]int32{g.onDone.of(i), g.onStart.of(i)} {
			bytes = order.AppendUint32(bytes, uint32(len(waiting)))
			bytes = order.AppendUint32(bytes, uint32(len(appendix)/4))
			for _, after := range waiting {
				appendix = order.AppendUint32(appendix, uint32(after-first))
			}
		}
		out.Write(bytes)
	}
	out.Write(appendix)
}

// Bytes reads the bytes of a binary file, for readers of records in this format and others. After an
// error it reads zeros.
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
