package otf2

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Bounds of a trace: its ranks, its definitions, the members of all its groups, its communicators, the numbers that a
// location maps, and the bytes of a name, and of all names, that are kept.
const (
	mostRanks       = 1 << 20
	mostDefinitions = 1 << 22
	mostMembers     = 1 << 25
	mostComms       = 1 << 20
	mostMapped      = 1 << 21
	mostName        = 256
	mostNames       = 1 << 27
)

// Records of definitions.
const (
	clockDefinition  = 5
	stringDefinition = 10
	regionDefinition = 15
	groupDefinition  = 18
	commDefinition   = 22
	locationRecord   = 14
	mapping          = 5 // in the file of a location
)

// Kinds of groups, and of what is mapped.
const (
	commLocations    = 4
	commGroup        = 5
	commSelf         = 6
	mappedRegions    = 3
	mappedComms      = 6
	paradigmMPI      = 4
	uncompressed     = 1
	separateFiles    = 1
	anchorBytes      = 46
	leastChunk       = 256 << 10
	mostChunk        = 128 << 20
	anchorExtension  = ".otf2"
	globalExtension  = ".def"
	eventsExtension  = ".evt"
	anchorIdentifier = "OTF2"
)

// archive is what the definitions of a trace say.
type archive struct {
	name                    string // without its extension
	eventChunk, chunk       int64
	ticks                   float64 // a second
	ranks                   []uint64
	recorded                map[uint64]uint64 // events of each location
	strings                 map[uint64]string
	regions                 map[uint64]region
	groups                  map[uint64]*group
	comms                   map[uint64]communicator
	foreign                 []uint64 // locations that are no rank, in order
	globalRecords, declared uint64
}

// region is a part of the program.
type region struct {
	mpi  bool
	name uint64
}

type group struct {
	kind, paradigm byte
	members        []uint64
	checked        bool
	ranks          []int // the members of one that a communicator has; nil: all ranks
}

// communicator is of some ranks, or stands for one of each rank by itself.
type communicator struct {
	trace.Communicator
	self bool
}

// Is tells whether a file begins like the anchor of a trace.
func Is(in *bufio.Reader) bool {
	begin, _ := in.Peek(6)
	return len(begin) == 6 && begin[0] == chunkHeader && string(begin[2:]) == anchorIdentifier
}

// Files are the files of a trace, of which name is the anchor, NAME.otf2.
func Files(name string) []string {
	files := []string{name}
	a, err := readArchive(name)
	if err != nil {
		return files
	}
	files = append(files, a.name+globalExtension)
	for _, l := range append(a.ranks, a.foreign...) {
		files = append(files, a.file(l, globalExtension), a.file(l, eventsExtension))
	}
	return files
}

func (a *archive) file(location uint64, extension string) string {
	return filepath.Join(a.name, strconv.FormatUint(location, 10)+extension)
}

// readArchive reads the anchor of a trace and its definitions.
func readArchive(name string) (*archive, error) {
	f, err := input.OpenInput(name, input.MaxSettings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	begin := make([]byte, anchorBytes)
	n, err := io.ReadFull(f, begin)
	f.Close()
	if !bytes.HasPrefix(begin, []byte{chunkHeader, littleEndian}) || string(begin[2:6]) != anchorIdentifier {
		return nil, fmt.Errorf("%s: byte 0: no anchor file of a little-endian OTF2 trace, which begins with 0x03 0x42 %q", name, anchorIdentifier)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: byte %d: the file ends here: is it truncated?", name, n)
	}
	a := &archive{
		name: strings.TrimSuffix(name, anchorExtension), eventChunk: int64(binary.LittleEndian.Uint64(begin[12:])), chunk: int64(binary.LittleEndian.Uint64(begin[20:])),
		declared: binary.LittleEndian.Uint64(begin[38:]), recorded: map[uint64]uint64{},
		strings: map[uint64]string{}, regions: map[uint64]region{}, groups: map[uint64]*group{}, comms: map[uint64]communicator{},
	}
	switch {
	case a.name == name:
		return nil, fmt.Errorf("%s: want a name that ends in %s", name, anchorExtension)
	case a.eventChunk < leastChunk || a.eventChunk > mostChunk || a.chunk < leastChunk || a.chunk > mostChunk:
		return nil, fmt.Errorf("%s: byte 12: chunks of %d B of events and %d B of definitions, want %d to %d", name, a.eventChunk, a.chunk, leastChunk, mostChunk)
	case begin[28] != separateFiles || begin[29] != uncompressed:
		return nil, fmt.Errorf("%s: byte 28: files of kind %d with compression %d: weft reads one file a location (%d), not compressed (%d)", name, begin[28], begin[29], separateFiles, uncompressed)
	}
	return a, a.definitions()
}

func (a *archive) definitions() error {
	d, err := open(a.name+globalExtension, a.chunk, false)
	if err != nil {
		return err
	}
	defer d.Close()
	comms := a.records(d)
	switch {
	case d.Err != nil:
		return d.Err
	case a.globalRecords != a.declared:
		return fmt.Errorf("%s: byte %d: %d records, but the anchor has %d", d.Name, d.begin, a.globalRecords, a.declared)
	case a.ticks == 0:
		return fmt.Errorf("%s: byte %d: no clock is defined", d.Name, d.begin)
	case len(a.ranks) == 0 || len(a.ranks) > mostRanks:
		return fmt.Errorf("%s: byte %d: %d ranks of MPI, want 1 to %d", d.Name, d.begin, len(a.ranks), mostRanks)
	}
	rank := map[uint64]bool{}
	for _, l := range a.ranks {
		if _, ok := a.recorded[l]; !ok || rank[l] {
			return fmt.Errorf("%s: location %d, which is a rank, is not defined, or is two", d.Name, l)
		}
		rank[l] = true
	}
	for _, l := range slices.Sorted(maps.Keys(a.recorded)) {
		if !rank[l] {
			a.foreign = append(a.foreign, l)
		}
	}
	return a.communicators(d.Name, comms)
}

// commDefined is a communicator as it is defined: its number, its name's and its group's.
type commDefined struct{ self, name, group uint64 }

// records reads the definitions, as far as they are right (d.Err).
func (a *archive) records(d *reader) (comms []commDefined) {
	members, names := 0, 0
	for d.next() {
		if a.globalRecords++; a.globalRecords > mostDefinitions {
			d.Fail(d.begin, "more than %d definitions", mostDefinitions)
			break
		}
		switch d.kind {
		case clockDefinition:
			if a.ticks = float64(d.number()); !(a.ticks >= 1) {
				d.Fail(d.begin, "a clock of %v ticks a second", a.ticks)
			}
		case stringDefinition:
			self := d.number()
			a.strings[self] = strings.TrimRight(string(d.payload[:min(len(d.payload), mostName)]), "\x00")
			if names += len(a.strings[self]); names > mostNames {
				d.Fail(d.begin, "more than %d B of names", mostNames)
			}
		case locationRecord:
			self := d.number()
			d.number() // name
			d.byte()   // kind
			a.recorded[self] = d.number()
		case regionDefinition:
			self, name := d.number(), d.number()
			d.number() // a description
			d.byte()   // what older readers take for its role
			for range 4 {
				d.number() // where it stands, and its true name
			}
			d.byte() // role
			a.regions[self] = region{d.byte() == paradigmMPI, name}
		case groupDefinition:
			self := d.number()
			d.number() // name
			d.byte()   // what older readers take for its kind
			g := &group{members: d.numbers()}
			if members += len(g.members); members > mostMembers {
				d.Fail(d.begin, "more than %d members of groups", mostMembers)
				break
			}
			g.kind, g.paradigm = d.byte(), d.byte()
			a.groups[self] = g
			if g.kind == commLocations && g.paradigm == paradigmMPI {
				a.ranks = g.members
			}
		case commDefinition:
			if comms = append(comms, commDefined{d.number(), d.number(), d.number()}); len(comms) > mostComms {
				d.Fail(d.begin, "more than %d communicators", mostComms)
			}
		}
	}
	return comms
}

// communicators makes those of MPI.
func (a *archive) communicators(file string, comms []commDefined) error {
	last := make([]int, len(a.ranks))
	for i, c := range comms {
		g, ok := a.groups[c.group]
		if !ok || g.paradigm != paradigmMPI && g.kind != commSelf {
			continue // of threads, or between groups
		}
		if !g.checked {
			if err := g.check(len(a.ranks), i+1, last); err != nil {
				return fmt.Errorf("%s: group %d %w", file, c.group, err)
			}
		}
		if self := g.kind == commSelf; g.kind == commGroup || self {
			a.comms[c.self] = communicator{trace.Communicator{Name: fmt.Sprintf("communicator %d %s", i, a.strings[c.name]), Members: g.ranks}, self}
		}
	}
	return nil
}

// check finds the ranks of a group; last is the number of the group, above 0, that had each rank last.
func (g *group) check(ranks, number int, last []int) error {
	whole := len(g.members) == ranks
	for i, m := range g.members {
		if m >= uint64(ranks) {
			return fmt.Errorf("has rank %d of %d", m, ranks)
		}
		if last[m] == number {
			return fmt.Errorf("has rank %d twice", m)
		}
		last[m] = number
		whole = whole && m == uint64(i)
		g.ranks = append(g.ranks, int(m))
	}
	if whole {
		g.ranks = nil
	}
	g.checked = true
	return nil
}

// local is how a location numbers what is defined for all.
type local map[byte]map[uint64]uint64

// global is the number of something for all.
func (l local) global(kind byte, number uint64) uint64 {
	if g, ok := l[kind][number]; ok {
		return g
	}
	return number
}

// local reads the definitions of a location.
func (a *archive) local(location uint64) (local, error) {
	d, err := open(a.file(location, globalExtension), a.chunk, false)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	l := local{}
	mapped := uint64(0)
	for d.next() {
		if d.kind != mapping {
			continue
		}
		kind := d.byte()
		if kind != mappedRegions && kind != mappedComms {
			continue
		}
		// A count, a mode, numbers: by their place, or after the number that each stands for.
		count := d.number()
		sparse := d.byte()
		if sparse > 1 || count > uint64(len(d.payload)) {
			d.Fail(d.begin, "%d numbers are mapped in mode %d", count, sparse)
			break
		}
		if mapped += count; mapped > mostMapped {
			d.Fail(d.begin, "more than %d numbers are mapped", mostMapped)
			break
		}
		m := map[uint64]uint64{}
		for i := range count {
			from := i
			if sparse == 1 {
				from = d.number()
			}
			m[from] = d.number()
		}
		l[kind] = m
	}
	return l, d.Err
}

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
const mostRecord = 8 << 20

// reader reads the records of a file, which stand in chunks of a fixed size.
type reader struct {
	*goal.Bytes
	chunk int64 // bytes

	events  bool // with times, and some without a length
	time    uint64
	kind    byte
	begin   int64  // of the record
	payload []byte // of the record, good until the next; what is left of it
}

// open opens a file of records.
func open(name string, chunk int64, events bool) (*reader, error) {
	b, err := goal.OpenBytes(name, "the file ends here: is it truncated?")
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

func (d *reader) header() {
	at := d.At
	if b := d.Next(2); d.Err == nil && (b[0] != chunkHeader || b[1] != littleEndian) {
		d.Fail(at, "want a chunk of a little-endian OTF2 file, which begins with 0x03 0x42, not 0x%02x 0x%02x", b[0], b[1])
	}
	d.Next(16) // the numbers of its first and last event
}

// bare are the events that have no length: their one number follows.
var bare = [256]bool{12: true, 13: true, 16: true, 17: true, 20: true, 21: true, 24: true, 28: true, 29: true, 30: true}

// next reads a record; false after the last, and after an error.
func (d *reader) next() bool {
	for d.Err == nil {
		d.begin = d.At
		d.kind = d.Next(1)[0]
		switch {
		case d.Err != nil:
		case d.kind == endOfFile:
			return false
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
			return d.Err == nil
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
			return d.Err == nil
		}
	}
	return false
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
	return lists.Make(int(n), func(int) uint64 { return d.number() })
}
