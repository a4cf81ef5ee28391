package otf2

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/simtest"
)

const samples = "../../../shared/reference/workloads/formats/otf2/ember_bcast_4ranks"

var update = flag.Bool("update", false, "write testdata")

// file is a file of records that is written.
type file struct {
	bytes.Buffer
	chunk, events uint64
	time          uint64
}

func newFile() *file {
	f := &file{chunk: leastChunk}
	f.header()
	return f
}

func (f *file) header() { f.Write(append([]byte{chunkHeader, littleEndian}, make([]byte, 16)...)) }

// number is a compressed one.
func number(n uint64) []byte {
	if n == undefined {
		return []byte{0xff}
	}
	b := binary.LittleEndian.AppendUint64(nil, n)
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return append([]byte{byte(len(b))}, b...)
}

// record writes a record of numbers (int), bytes and strings.
func (f *file) record(kind byte, fields ...any) {
	var payload []byte
	for _, field := range fields {
		switch v := field.(type) {
		case int:
			payload = append(payload, number(uint64(v))...)
		case uint64:
			payload = append(payload, number(v)...)
		case byte:
			payload = append(payload, v)
		case string:
			payload = append(append(payload, v...), 0)
		}
	}
	f.WriteByte(kind)
	if len(payload) < 255 {
		f.WriteByte(byte(len(payload)))
	} else {
		f.Write(binary.LittleEndian.AppendUint64([]byte{255}, uint64(len(payload))))
	}
	f.Write(payload)
	f.events++
}

// event writes one so many us after the last; a chunk ends before it would be too long.
func (f *file) event(after uint64, kind byte, fields ...any) {
	if uint64(f.Len())%f.chunk > f.chunk-100 {
		f.WriteByte(endOfChunk)
		f.Write(make([]byte, f.chunk-uint64(f.Len())%f.chunk))
		f.header()
	}
	f.time += after * 1000
	f.WriteByte(timestamp)
	f.Write(binary.LittleEndian.AppendUint64(nil, f.time))
	if bare[kind] {
		f.WriteByte(kind)
		f.Write(number(uint64(fields[0].(int))))
		f.events++
		return
	}
	f.record(kind, fields...)
}

// call writes a region of MPI with events in it.
func (f *file) call(after uint64, region int, events ...[]any) {
	f.event(after, enter, region)
	for _, e := range events {
		f.event(1, byte(e[0].(int)), e[1:]...)
	}
	f.event(1, leave, region)
}

func (f *file) end() []byte {
	f.WriteByte(endOfChunk)
	f.WriteByte(endOfFile)
	return f.Bytes()
}

// Regions, and communicators as the ranks but the first number them.
const (
	mpiSome, mpiSendrecv, user = 0, 1, 2
	world, odd                 = 0, 1
)

// archiveOf makes the files of a trace of ranks: a rank does what do writes.
func archiveOf(ranks int, do func(rank int, f *file)) map[string][]byte {
	files, defs := map[string][]byte{}, newFile()
	defs.record(clockDefinition, 1_000_000_000, 0, 0)
	for i, s := range []string{"", "MPI_Some", "MPI_Sendrecv", "main", "MPI_COMM_WORLD", "odd"} {
		defs.record(stringDefinition, i, s)
	}
	for i, paradigm := range []byte{paradigmMPI, paradigmMPI, 1} {
		defs.record(regionDefinition, i, i+1, 0, byte(0), uint64(undefined), 0, 0, i+1, byte(0), paradigm, 0)
	}
	members := func(step int) (list []any) {
		for r := step - 1; r < ranks; r += step {
			list = append(list, r)
		}
		return append([]any{len(list)}, list...)
	}
	defs.record(groupDefinition, append(append([]any{0, 0, byte(0)}, members(1)...), byte(commLocations), byte(paradigmMPI), 0)...)
	defs.record(groupDefinition, append(append([]any{1, 0, byte(0)}, members(1)...), byte(commGroup), byte(paradigmMPI), 0)...)
	defs.record(groupDefinition, append(append([]any{2, 0, byte(0)}, members(2)...), byte(commGroup), byte(paradigmMPI), 0)...)
	defs.record(commDefinition, 0, 5, 2, uint64(undefined), 0)
	defs.record(commDefinition, 1, 4, 1, uint64(undefined), 0)
	for rank := range ranks {
		f := newFile()
		f.events = 0
		do(rank, f)
		defs.record(locationRecord, rank, 0, byte(1), f.events, 0)
		files[fmt.Sprintf("t/%d.evt", rank)] = f.end()
		local := newFile()
		local.record(mapping, byte(mappedComms), 2, byte(0), 1, 0) // 0 is the world
		if rank == 0 {
			local = newFile()
			local.record(mapping, byte(mappedComms), 1, byte(1), world, 1) // no other matters
		}
		files[fmt.Sprintf("t/%d.def", rank)] = local.end()
	}
	files["t.def"] = defs.end()
	anchor := append([]byte{chunkHeader, littleEndian}, "OTF2\x00\x03\x02\x03\x00\x03"...)
	for _, n := range []uint64{leastChunk, leastChunk} {
		anchor = binary.LittleEndian.AppendUint64(anchor, n)
	}
	anchor = append(anchor, separateFiles, uncompressed)
	for _, n := range []uint64{uint64(ranks), defs.events} {
		anchor = binary.LittleEndian.AppendUint64(anchor, n)
	}
	files["t.otf2"] = anchor
	return files
}

// ring is what the ranks of the trace under testdata do.
func ring(rank int, f *file) {
	const ranks = 4
	next, last := (rank+1)%ranks, (rank+ranks-1)%ranks
	f.event(0, programBegin, 0, 0)
	f.call(5, mpiSome, []any{22}, []any{mpiCollectiveEnd, byte(17), world, uint64(undefined), 0, 0}) // MPI_Init
	f.event(0, enter, user)
	f.call(9, mpiSome) // no event: computing, as the 2 us around it
	f.call(1, mpiSome, []any{mpiIrecvRequest, 7})
	f.call(10, mpiSome, []any{mpiIsend, next, world, 3, 1000, 8})
	f.call(20, mpiSome, []any{mpiIrecv, last, world, 3, 1000, 7}, []any{mpiIsendComplete, 8})
	f.call(0, mpiSendrecv, []any{mpiSend, last, world, 4, 200}, []any{mpiRecv, next, world, 4, 200})
	if rank%2 == 1 {
		f.call(0, mpiSome, []any{22}, []any{mpiCollectiveEnd, byte(11), odd, uint64(undefined), 2 * 64, 2 * 64}) // allreduce of 64 B
		f.call(0, mpiSome, []any{mpiIrecvRequest, 9}, []any{mpiCancelled, 9})
	}
	sent := 0
	if rank == 2 {
		sent = 4 * 16
	}
	f.call(0, mpiSome, []any{22}, []any{mpiCollectiveEnd, byte(1), world, 2, sent, 16}) // broadcast of 16 B
	if rank == 0 {                                                                      // gather of 32 B, in place
		f.call(0, mpiSome, []any{22}, []any{mpiCollectiveEnd, byte(2), world, 0, 0, 3 * 32})
	} else {
		f.call(0, mpiSome, []any{22}, []any{mpiCollectiveEnd, byte(2), world, 0, 32, 0})
	}
	f.event(30, leave, user)
	f.call(0, mpiSome, []any{22}, []any{mpiCollectiveEnd, byte(0), world, uint64(undefined), 0, 0}) // barrier
	f.event(0, programBegin+1, 0)
}

// written writes the files of a trace and returns the name of its anchor.
func written(t *testing.T, dir string, files map[string][]byte) string {
	simtest.Check(t, os.MkdirAll(filepath.Join(dir, "t"), 0o777))
	for name, content := range files {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, name), content, 0o666))
	}
	return filepath.Join(dir, "t.otf2")
}

// TestRing: the trace under testdata, which this test writes with -update, becomes what its ranks
// do. Messages: 4 of 1000 B, 4 of 200 B; a ring allreduce of 2 ranks, 2 rounds of 32 B: 4 messages,
// 128 B; a broadcast of 16 B: 3; a gather of 32 B: 3; a dissemination barrier of 1 B: 2 rounds, 8.
// Computing: 9 + 1 (the call without events) + 1 us, 10, 20, and 30 before the barrier.
func TestRing(t *testing.T) {
	files := archiveOf(4, ring)
	if *update {
		written(t, "testdata", files)
	}
	for name, content := range files {
		got, err := os.ReadFile(filepath.Join("testdata", name))
		simtest.FatalIf(t, err != nil || !bytes.Equal(got, content), "%v %v", name, err)
	}
	g, report := simtest.Must2(Import("testdata/t.otf2", trace.Default()))(t)
	n, sent := g.Count(mpi.Send)
	receives, _ := g.Count(mpi.Recv) // a cancelled one is none
	_, ns := g.Count(mpi.Calc)
	simtest.Alike(t, "messages, B, receives, ns", []int64{n, sent, receives, ns}, []int64{4 + 4 + 4 + 3 + 3 + 8, 4800 + 128 + 48 + 96 + 8, 26, 4 * 71000})
	notes := fmt.Sprint(report.Notes())
	simtest.ErrorIf(t, strings.Contains(notes, "refused") || !strings.Contains(notes, "2 x MPI_REQUEST_CANCELLED"), "%v", notes)
	simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 100}).Run(g.Replay(1), nil))(t)
	// Rank 0: the receive begins before the send, the Sendrecv does both at once.
	var text strings.Builder
	simtest.Check(t, g.WriteText(&text))
	const want = `rank 0 {
l1: calc 0
l2: calc 11000
l3: recv 1000b from 3 tag 3
l4: calc 10000
l5: send 1000b to 1 tag 3
l6: calc 20000
l7: calc 0
l8: calc 0
l9: send 200b to 3 tag 4
l10: recv 200b from 1 tag 4
l11: calc 0
`
	const dependencies = "l2 requires l1\nl3 requires l2\nl4 requires l2\nl5 requires l4\nl6 requires l4\nl7 requires l3\nl7 requires l6\nl8 requires l5\nl8 requires l7\nl9 requires l8\nl10 requires l8\nl11 requires l9\nl11 requires l10\n"
	got := text.String()
	right := strings.Contains(got, want) && sameLines(got[strings.Index(got, "l2 requires"):], dependencies)
	simtest.ErrorIf(t, !right, "%s\nwant\n%s\n%s", got[:1500], want, dependencies)
}

// sameLines tells whether a text has all lines of another.
func sameLines(text, lines string) bool {
	for line := range strings.Lines(lines) {
		if !strings.Contains(text, line) {
			return false
		}
	}
	return true
}

// TestChunks: a file of events in chunks, the first of which ends in its last byte, is read as in one. An attribute
// of n bytes has 11 beside them: its kind, 9 of its length, and an end.
func TestChunks(t *testing.T) {
	const messages = 20000
	files := archiveOf(1, func(_ int, f *file) {
		f.record(attributes, string(make([]byte, leastChunk-1-11-f.Len())))
		f.events-- // it is none
		f.WriteByte(endOfChunk)
		f.header()
		for range messages {
			f.call(1, mpiSome, []any{mpiIrecvRequest, 1}, []any{mpiIsend, 0, world, 0, 8, 2})
			f.call(0, mpiSome, []any{mpiIrecv, 0, world, 0, 8, 1}, []any{mpiIsendComplete, 2})
		}
	})
	simtest.FatalIf(t, len(files["t/0.evt"]) < 2*leastChunk, "%d B", len(files["t/0.evt"]))
	g, _ := simtest.Must2(Import(written(t, t.TempDir(), files), trace.Default()))(t)
	n, sent := g.Count(mpi.Send)
	simtest.ErrorIf(t, n != messages || sent != 8*messages, "%d messages, %d B", n, sent)
}

// TestOrder: of a communicator of ranks 1 and 0 a rank's own number is the other's rank. Each sends the other
// 200 B in a Sendrecv_replace, which by rendezvous needs both messages at once, and of a reduce-scatter of 2 * 30 B, of
// which it receives a part of 30 B from both, it sends half round the ring.
func TestOrder(t *testing.T) {
	files := archiveOf(2, func(rank int, f *file) {
		f.call(0, mpiSendrecv, []any{mpiSend, rank, world, 4, 200}, []any{mpiRecv, rank, world, 4, 200})
		f.call(0, mpiSome, []any{mpiCollectiveEnd, byte(16), world, uint64(undefined), 60, 60})
	})
	for was, is := range map[string]string{"\x01\x02\x00\x01\x01\x05": "\x01\x02\x01\x01\x00\x05", "\x0f\x01\x02MPI_Sendrecv": "\x17\x01\x02MPI_Sendrecv_replace"} {
		files["t.def"] = bytes.Replace(files["t.def"], []byte(was), []byte(is), 1)
	}
	g, _ := simtest.Must2(Import(written(t, t.TempDir(), files), trace.Default()))(t)
	n, sent := g.Count(mpi.Send)
	var text strings.Builder
	simtest.Check(t, g.WriteText(&text))
	simtest.ErrorIf(t, n != 4 || sent != 2*200+2*30 || !strings.Contains(text.String(), "rank 0 {\nl1: calc 0\nl2: send 200b to 1 tag 4\n"), "%d messages, %d B\n%s", n, sent, text.String())
	simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 100}).Run(g.Replay(1), nil))(t)
}

// TestSample: Score-P's trace has the events that otf2-print has, with their bytes, and at
// their times on the location without clock offset.
func TestSample(t *testing.T) {
	simtest.NeedSample(t, samples)
	want := map[string]string{}
	for _, row := range simtest.Rows(t, samples+".counts.csv") {
		want[row[0]+" "+row[1]] = strings.Join(row[2:], " ")
	}
	print, a := simtest.Must(os.ReadFile(samples+".print.txt"))(t), simtest.Must(readArchive(samples+"/traces.otf2"))(t)
	got, sums := map[string]string{}, map[string][3]uint64{}
	for _, location := range a.ranks {
		var printed []string
		for _, m := range regexp.MustCompile(fmt.Sprintf(`(?m)^([A-Z_]+) +%d +([0-9]+)`, location)).FindAllStringSubmatch(string(print), -1) {
			printed = append(printed, m[1]+" "+m[2])
		}
		d := simtest.Must(open(a.file(location, eventsExtension), a.eventChunk, true))(t)
		for d.next() {
			if d.kind == attributes {
				continue
			}
			name, sum := eventName(d.kind), [3]uint64{}
			event := fmt.Sprint(name, " ", d.time)
			switch d.kind {
			case enter:
				name += " " + a.strings[a.regions[d.number()].name]
			case mpiCollectiveEnd:
				name += " " + collectiveNames[d.byte()]
				d.number()
				d.number()
				sum = [3]uint64{1, d.number(), d.number()}
			}
			if location != 0 {
				event, printed[0] = strings.Fields(event)[0], strings.Fields(printed[0])[0]
			}
			simtest.ErrorIf(t, printed[0] != event, "location %d: %s, want %s", location, event, printed[0])
			printed = printed[1:]
			key := fmt.Sprint(location, " ", name)
			sum[0] = 1
			for i, n := range sums[key] {
				sum[i] += n
			}
			if sums[key] = sum; d.kind == mpiCollectiveEnd {
				got[key] = fmt.Sprint(sum[0], sum[1], sum[2])
			} else {
				got[key] = fmt.Sprint(sum[0], "  ")
			}
		}
		d.Close()
		simtest.ErrorIf(t, d.Err != nil || len(printed) > 0, "%v %v %v", location, d.Err, printed)
	}
	simtest.ErrorIf(t, fmt.Sprint(got) != fmt.Sprint(want), "%v\nwant %v", got, want)
	// A broadcast of 4096 B among 4 ranks is 3 messages. Rank 0 computes from Init's end, tick
	// ...28081171, to Bcast's start, ...28117035, and from its end to Finalize's start, 2454
	// ticks: at 2,000,000,653 a second, 17932 and 1227 ns.
	g, _ := simtest.Must2(Import(samples+"/traces.otf2", trace.Default()))(t)
	n, sent := g.Count(mpi.Send)
	simtest.ErrorIf(t, n != 3 || sent != 3*4096, "%d messages, %d B", n, sent)
	var text strings.Builder
	g.WriteText(&text)
	simtest.ErrorIf(t, !sameLines(text.String(), "l2: calc 17932\nl6: calc 1227\n"), "%v", text.String())
	simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
}

// TestRefused: what cannot be read or replayed is named with its place.
func TestRefused(t *testing.T) {
	one := func(events ...[]any) map[string][]byte {
		return archiveOf(2, func(rank int, f *file) {
			if rank == 1 {
				f.call(0, mpiSome, events...)
			}
		})
	}
	cut := func(name string, to int) map[string][]byte {
		files := archiveOf(4, ring)
		if to < 0 {
			to += len(files[name])
		}
		files[name] = files[name][:to]
		return files
	}
	with := func(name string, at int, b byte) map[string][]byte {
		files := archiveOf(4, ring)
		files[name][at] = b
		return files
	}
	for want, files := range map[string]map[string][]byte{
		"t.otf2: byte 20: the file ends here: is it truncated?":              cut("t.otf2", 20),
		"t.otf2: byte 0: no anchor file":                                     with("t.otf2", 2, 'X'),
		"t.otf2: byte 28: files of kind 2 with compression 1":                with("t.otf2", 28, 2),
		"t.otf2: byte 12: chunks of 0 B of events":                           with("t.otf2", 14, 0),
		"t.def: byte 0: want a chunk of a little-endian OTF2 file":           with("t.def", 1, '#'),
		"t.def: byte 60: the file ends here: is it truncated?":               cut("t.def", 60),
		"t/2.evt: byte 100: the file ends here: is it truncated?":            cut("t/2.evt", 100),
		"t/2.evt: byte 17: the file ends here: is it truncated?":             cut("t/2.evt", 17),
		"t/3.def: byte 18: a record of type 5 that is too short":             with("t/3.def", 19, 0),
		"records, but the anchor has 1":                                      with("t.otf2", 38, 1),
		"t/1.evt: byte 38: MPI_SEND: 8 B with rank 2 of a communicator of 2": one([]any{mpiSend, 2, world, 0, 8}),
		"8 B with rank 0 of a communicator of 2 ranks, tag 184467440737095":  one([]any{mpiSend, 0, world, uint64(undefined), 8}),
		"t.otf2: byte 28: files of kind 1 with compression 2":                with("t.otf2", 29, 2),
		"t/0.evt: byte 41: 2 events, but 1 are defined":                      archiveOf(1, func(_ int, f *file) { f.call(0, mpiSome); f.events-- }),
		"ALLREDUCE from rank 18446744073709551615 of a communicator of 1": archiveOf(3, func(_ int, f *file) { // rank 2 is none of those with odd numbers
			f.call(0, mpiSome, []any{mpiCollectiveEnd, byte(11), odd, uint64(undefined), 8, 8})
		}),
		"MPI_ISEND_COMPLETE: request 3 is not under way":                      one([]any{mpiIsendComplete, 3}),
		"1 x MPI_SEND cannot be replayed: on a communicator whose ranks are":  one([]any{mpiSend, 1, 7, 0, 8}),
		"1 x ALLTOALLV cannot be replayed: the trace does not tell the sizes": one([]any{mpiCollectiveEnd, byte(9), world, 0, 8, 8}),
		"1 x RMA cannot be replayed":                                          one([]any{46, 0, 0, 0, 0}),
		"1 x NON_BLOCKING_COLLECTIVE_REQUEST cannot be replayed":              one([]any{nonBlocking, 0}),
		"MPI_COLLECTIVE_END: collective 0 of group \"communicator 1 MPI_COMM_WORLD\" is": archiveOf(2, func(rank int, f *file) {
			f.call(0, mpiSome, []any{mpiCollectiveEnd, byte(rank), world, 0, 8, 8})
		}),
	} {
		simtest.Refuse2(Import(written(t, t.TempDir(), files), trace.Default()))(t, want)
	}
	// A rank that is two, a group that has a rank twice, and more than 2^25 members of groups, here nine times 2^22.
	defined := func(write func(f *file)) map[string][]byte {
		f := newFile()
		f.chunk = mostChunk
		f.record(clockDefinition, 1, 0, 0)
		write(f)
		files := archiveOf(1, func(int, *file) {})
		binary.LittleEndian.PutUint64(files["t.otf2"][20:], mostChunk)
		binary.LittleEndian.PutUint64(files["t.otf2"][38:], f.events)
		files["t.def"] = f.end()
		return files
	}
	for want, files := range map[string]map[string][]byte{
		"location 7, which is a rank, is not defined, or is two": defined(func(f *file) {
			f.record(locationRecord, 7, 0, byte(1), 0, 0)
			f.record(groupDefinition, 0, 0, byte(0), 2, 7, 7, byte(commLocations), byte(paradigmMPI), 0)
		}),
		"group 1 has rank 0 twice": defined(func(f *file) {
			f.record(locationRecord, 0, 0, byte(1), 0, 0)
			f.record(groupDefinition, 0, 0, byte(0), 1, 0, byte(commLocations), byte(paradigmMPI), 0)
			f.record(groupDefinition, 1, 0, byte(0), 2, 0, 0, byte(commGroup), byte(paradigmMPI), 0)
			f.record(commDefinition, 0, 0, 1, uint64(undefined), 0)
		}),
		"more than 134217728 B of names": defined(func(f *file) {
			for i := range mostNames/mostName + 1 {
				f.record(stringDefinition, i, strings.Repeat("a", mostName))
			}
		}),
		"more than 33554432 members of groups": defined(func(f *file) {
			group := append([]any{0, 0, byte(0), 1 << 22}, string(make([]byte, 1<<22)), byte(commGroup), byte(paradigmMPI), 0)
			for range 9 {
				f.record(groupDefinition, group...)
			}
		}),
	} {
		simtest.Refuse2(Import(written(t, t.TempDir(), files), trace.Default()))(t, want)
	}
	files := archiveOf(4, ring)
	delete(files, "t/1.evt")
	simtest.Refuse2(Import(written(t, t.TempDir(), files), trace.Default()))(t, "1.evt: no such file")
	got := Files("testdata/t.otf2")
	simtest.ErrorIf(t, len(got) != 2+2*4 || got[3] != filepath.Join("testdata", "t", "0.evt"), "%v", got)
}

// FuzzImport: whatever the files hold is a schedule or an error.
func FuzzImport(f *testing.F) {
	files := archiveOf(1, func(_ int, f *file) {
		f.call(0, mpiSome, []any{mpiIrecvRequest, 1}, []any{mpiIsend, 0, world, 0, 8, 2}, []any{mpiIrecv, 0, world, 0, 8, 1}, []any{mpiIsendComplete, 2})
		f.call(0, mpiSome, []any{mpiCollectiveEnd, byte(2), world, 0, 8, 8})
	})
	f.Add(files["t.def"], files["t/0.def"], files["t/0.evt"])
	f.Fuzz(func(t *testing.T, defs, local, events []byte) {
		files["t.def"], files["t/0.def"], files["t/0.evt"] = defs, local, events
		s := trace.Default()
		s.Drop = true
		g, _, err := Import(written(t, t.TempDir(), files), s)
		simtest.ErrorIf(t, err == nil && g.Ranks() == 0, "no ranks")
	})
}
