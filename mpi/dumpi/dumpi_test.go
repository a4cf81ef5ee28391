package dumpi

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/simtest"
)

const samples = "../../../shared/reference/workloads/formats/dumpi/"

var update = flag.Bool("update", false, "write testdata")

// writer writes the file of a rank.
type writer struct {
	bytes.Buffer
	counts [allFunctions + 1]uint32
	at     int64 // us since the first call
}

func newWriter() *writer {
	w := &writer{}
	w.WriteString(magic)
	w.put(uint32(0), uint32(0))
	return w
}

func (w *writer) put(values ...any) {
	for _, v := range values {
		binary.Write(w, binary.BigEndian, v)
	}
}

// call writes a call that begins so many us after the last has ended, and takes 1 us; the
// arguments follow the layout of the function.
func (w *writer) call(after int64, name string, arguments ...any) {
	number := slices.IndexFunc(functions(), func(f function) bool { return f.name == name })
	w.counts[number]++
	w.counts[allFunctions]++
	w.put(uint16(number), uint8(hasWallTime|hasThread|hasStatuses), uint16(0))
	w.at += after
	for range 2 {
		w.put(uint16(w.at/1e6), uint32(w.at%1e6*1000))
		w.at++
	}
	w.at--
	atRoot := false
	for _, kind := range functions()[number].layout {
		if strings.ContainsRune("klK", kind) && !atRoot {
			continue
		}
		if kind == 'S' {
			w.put(uint32(0))
			continue
		}
		a := arguments[0]
		arguments = arguments[1:]
		switch kind {
		case 'i', 'k':
			w.put(int32(a.(int)))
		case 'r': // with whether this rank is it
			w.put(int32(a.(int)))
			atRoot, arguments = arguments[0].(bool), arguments[1:]
		case 'h', 'l':
			w.put(uint16(a.(int)))
		case 'b':
			w.put(uint8(a.(int)))
		case 'I', 'K':
			w.put(uint32(len(a.([]int32))), a)
		case 'A':
			w.put(uint32(1), uint32(len(a.(string))), []byte(a.(string)))
		default:
			panic(kind)
		}
	}
}

// end writes what follows the calls, with the sizes of datatypes; 9 is int, 14 double.
func (w *writer) end(version ...uint8) []byte {
	if version == nil {
		version = []uint8{1, 1, 0}
	}
	w.put(uint16(endOfStream))
	header := w.Len()
	w.put(version, int64(0), uint16(1), []byte("h"), uint16(1), []byte("u"), uint32(0), uint32(0))
	footer := w.Len()
	w.put(uint64(footerMagic), w.counts[:], make([]uint32, allFunctions+1))
	sizes := w.Len()
	w.put(uint32(15), make([]uint32, 9), uint32(4), make([]uint32, 4), uint32(8))
	w.WriteString(magic)
	w.put(int64(sizes), int64(0), int64(0), int64(header), int64(bodyOffset), int64(footer), int64(0))
	return w.Bytes()
}

const (
	intType, doubleType, sum = 9, 14, 3
	row                      = 4 // communicator of the ranks of the same parity
)

// program is what the ranks of the trace under testdata do.
func program(rank int) []byte {
	const ranks = 4
	w := newWriter()
	next, last := (rank+1)%ranks, (rank+ranks-1)%ranks
	w.call(0, "Init", "./ring")
	w.call(5, "Comm_size", world, ranks)
	w.call(0, "Comm_split", world, rank%2, -rank, row)             // the higher rank first
	w.call(10, "Irecv", 2, doubleType, last, 7, world, 2)          // 16 B
	w.call(0, "Isend", 2, doubleType, next, 7, world, 3)           //
	w.call(20, "Waitall", 2, []int32{2, 3})                        //
	w.call(0, "Send_init", 3, intType, next, 8, world, 4)          // 12 B
	w.call(0, "Recv_init", 3, intType, last, 8, world, 5)          //
	w.call(0, "Startall", 2, []int32{4, 5})                        //
	w.call(0, "Waitsome", 2, []int32{4, 5}, 2, []int32{0, 1})      //
	w.call(0, "Request_free", 4)                                   //
	w.call(0, "Request_free", 5)                                   //
	w.call(0, "Type_contiguous", 5, intType, 28)                   // 20 B
	w.call(0, "Sendrecv", 1, 28, rank/2, 9, 1, 28, rank/2, 9, row) // with the other of its row
	w.call(0, "Allreduce", 100, doubleType, sum, row)              // 800 B
	w.call(0, "Bcast", 4, intType, 3, world)                       // 16 B
	w.call(0, "Gather", rank, 1, intType, 1, rank == 1, world, 1, intType)
	counts := make([]int32, ranks) // j ints to rank j but none to the next
	for j := range counts {
		counts[j] = int32(j)
	}
	counts[next] = 0
	from := slices.Repeat([]int32{int32(rank)}, ranks)
	from[last] = 0
	w.call(0, "Alltoallv", ranks, counts, counts, intType, from, from, intType, world)
	w.call(0, "Wtime")
	w.call(30, "Barrier", world)
	w.call(1, "Finalize")
	return w.end()
}

// TestProgram: the trace under testdata, which this test writes with -update, becomes what its ranks do. Messages: 4
// ranks send 16 B and 12 B to the next, and 20 B to the other of their row, 192 B. Ring allreduce of 2 ranks: 2 rounds
// of 400 B, 4 ranks: 8 messages, 3200 B. Broadcast of 16 B: 3 messages, 48 B. Gather: 3 of 4 B. Alltoallv: 0+1+2+3 ints
// from each rank but for what would go to the next, which is 1, 2, 3, 0 ints of rank 0, 1, 2, 3: 24-6 = 18 ints, less
// those to itself, 0+1+2+3: 12 ints; messages of a rank go to the two that are neither it nor the next, rank 0 gets
// none: from 0 to 2, 3; 1 to 3; 2 to 1; 3 to 1, 2: 6 messages, 48 B. Dissemination barrier: 2 rounds, 8 messages of 1
// B. Computing: 5+1 (a call of the rank alone) us before Comm_split, 10, 20, then calls of the rank alone before
// Sendrecv (Type_contiguous: 1), Wtime (1) and 30, and 1: 69 us a rank.
func TestProgram(t *testing.T) {
	for r := range 4 {
		name := fmt.Sprintf("testdata/ring-%04d.bin", r)
		if *update {
			simtest.Check(t, os.WriteFile(name, program(r), 0o666))
		}
		content, err := os.ReadFile(name)
		simtest.FatalIf(t, err != nil || !bytes.Equal(content, program(r)), "%v %v", name, err)
	}
	g, report := simtest.Must2(Import("testdata/ring-0002.bin", trace.Default()))(t)
	n, sent := g.Count(mpi.Send)
	simtest.ErrorIf(t, n != 4*3+8+3+3+6+8 || sent != 192+3200+48+12+48+8, "%d messages, %d B", n, sent)
	_, ns := g.Count(mpi.Calc)
	simtest.ErrorIf(t, ns != 4*69000, "computing %d ns", ns)
	checkCounts(t, report, " 4  Waitsome: waits for what it completed\n")
	simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
	// The first rank: the other of its row, by the key, is rank 2, which is first there.
	var text strings.Builder
	simtest.Check(t, g.WriteText(&text))
	want := simtest.Text(t, "testdata/ring-rank0.goal")
	simtest.ErrorIf(t, !strings.Contains(text.String(), want), "%s\nwant\n%s", text.String()[:600], want)
}

// checkCounts: a report has the lines that end like these.
func checkCounts(t *testing.T, report *trace.Report, ends ...string) {
	t.Helper()
	var b strings.Builder
	report.Write(&b)
	for _, end := range ends {
		simtest.ErrorIf(t, !strings.Contains(b.String(), end), "%s\nlacks %q", b.String(), end)
	}
}

// TestSamples: the samples have the calls and bytes that were counted; the complete one is replayed.
func TestSamples(t *testing.T) {
	simtest.NeedSample(t, samples)
	want, got := map[string]string{}, map[string]string{}
	for _, row := range simtest.Rows(t, samples+"body.csv") {
		want[row[0]+" "+row[1]] = row[2]
	}
	footers := map[string]int64{}
	for _, row := range simtest.Rows(t, samples+"counts.csv") {
		n, _ := strconv.ParseInt(row[3], 10, 64)
		footers[row[0]+" "+row[2]] = n
		simtest.ErrorIf(t, row[2] != "(all)" && want[row[0]+" "+row[2]] != row[3], "%v: the body has %s", row, want[row[0]+" "+row[2]])
	}
	for _, file := range []string{"testtrace-0000.bin", "testtrace-0001.bin", "testtrace-0002.bin", "testtrace-0003.bin", "BigFFT.bin", "MultiGrid.bin"} {
		counts, bytes, elements := map[string]int64{}, map[string]int64{}, map[string]map[int64]int64{"send": {}, "Irecv": {}}
		d := simtest.Must(open(samples + file))(t)
		for d.next() {
			counts[d.name]++
			switch d.name {
			case "Send", "Isend":
				elements["send"][d.values[1]] += d.values[0]
			case "Irecv":
				elements["Irecv"][d.values[1]] += d.values[0]
			}
		}
		end := simtest.Must(d.end())(t)
		d.Close()
		for what, byType := range elements {
			for datatype, n := range byType {
				bytes[what] += n * end.sizes[datatype]
			}
		}
		for f, n := range end.counts {
			if n > 0 {
				name := functions()[f].name
				simtest.ErrorIf(t, n != counts[name] || n != footers[file+" "+name], "%s: %s: the footer has %d, want %d", file, name, n, counts[name])
			}
		}
		for name, n := range counts {
			got[file+" "+name] = fmt.Sprint(n)
		}
		got[file+" bytes sent by point-to-point calls"] = fmt.Sprint(bytes["send"])
		got[file+" bytes of posted Irecv"] = fmt.Sprint(bytes["Irecv"])
	}
	simtest.ErrorIf(t, fmt.Sprint(got) != fmt.Sprint(want), "%v\nwant %v", got, want)
	for _, name := range []string{"testtrace-0003.bin", "testtrace.meta"} {
		g, report := simtest.Must2(Import(samples+name, trace.Default()))(t)
		checkCounts(t, report, " 4  Isend\n", " 4  Allreduce: combining takes no time\n")
		simtest.ErrorIf(t, g.Ranks() != 4, "%s: %d ranks", name, g.Ranks())
		// From Init's end, at .737670 s, to Finalize's start, at .739939 s, rank 0 is outside of
		// Barrier (1947 us), Isend (15), Recv (181), Wait (6) and Allreduce (23) for 97 us.
		var ns int64
		g.Steps(0, func(s goal.Step) error {
			if s.Kind == mpi.Calc {
				ns += s.Size
			}
			return nil
		})
		simtest.ErrorIf(t, ns != 97000, "%s: rank 0 computes %d ns", name, ns)
		simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
	}
}

// written writes a trace of ranks, by file, and returns the name of the first.
func written(t *testing.T, files ...[]byte) string {
	dir := t.TempDir()
	for r, content := range files {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("t-%04d.bin", r)), content, 0o666))
	}
	return filepath.Join(dir, "t-0000.bin")
}

// calls writes a trace of one rank.
func trace1(calls func(w *writer)) []byte {
	w := newWriter()
	w.call(0, "Init", "x")
	calls(w)
	w.call(0, "Finalize")
	return w.end()
}

// TestRefused: what cannot be read or replayed is named with its place.
func TestRefused(t *testing.T) {
	whole := trace1(func(*writer) {})
	scan := trace1(func(w *writer) { w.call(0, "Scan", 1, intType, sum, world) })
	changed := func(content []byte, fromEnd int, b byte) []byte {
		return slices.Concat(content[:len(content)-fromEnd], []byte{b}, content[len(content)-fromEnd+1:])
	}
	calls := func(all ...[]any) []byte {
		return trace1(func(w *writer) {
			for _, c := range all {
				w.call(0, c[0].(string), c[1:]...)
			}
		})
	}
	send := trace1(func(w *writer) { w.call(0, "Send", 1, intType, 0, 0, world) })
	for want, files := range map[string][][]byte{
		"t-0000.bin: byte 7: the file ends in the middle of a record: is it truncated?":         {whole[:7]},
		"t-0000.bin: byte 40: the file ends in the middle of a record":                          {whole[:40]},
		"no index of the file at its end: is it truncated?":                                     {whole[:len(whole)-1]},
		"t-0000.bin: byte 8: this is no DUMPI trace":                                            {[]byte("\x1f\x8c345678901234567890")},
		"t-0000.bin: byte 16: a call of function 60000, whose":                                  {append(slices.Clone(whole[:16]), 0xea, 0x60, 0, 0, 0, 0)},
		"written by DUMPI 0.6.2, want 0.6.9 or later":                                           {newWriter().end(0, 6, 2)},
		"t-0000.bin: byte 42: 1 x Scan cannot be replayed: weft does not replay this call":      {scan},
		"t-0000.bin: byte 47: Comm_size of all ranks is 4, but this is the file of rank 0 of 1": {program(0)},
		"t-0001.bin: no such file":                                                              {whole, nil, whole},
		"t-0000.bin: byte 42: Send: send with rank 5, tag 0: ranks are 0 to 0":                  {trace1(func(w *writer) { w.call(0, "Send", 1, intType, 5, 0, world) })},
		"1 x Send cannot be replayed: of a datatype whose size is not known":                    {trace1(func(w *writer) { w.call(0, "Send", 1, 77, 0, 0, world) })},
		"1 x Barrier cannot be replayed: on a communicator whose ranks are not known":           {trace1(func(w *writer) { w.call(0, "Barrier", 9) })},
		"Start: request 4 is not one that could be started":                                     {calls([]any{"Send_init", 1, intType, 0, 0, world, 4}, []any{"Start", 4}, []any{"Start", 4})},
		"1 x Ssend cannot be replayed: of a datatype whose size is not known": {calls( // 28 was of 4 B, and is of 2^52
			[]any{"Type_contiguous", 1, intType, 28}, []any{"Type_contiguous", 1 << 30, intType, 29}, []any{"Type_contiguous", 1 << 20, 29, 28}, []any{"Ssend", 1, 28, 0, 0, world})},
		"Send: 1073741824 elements of 1099511627776 B":               {calls([]any{"Type_contiguous", 1 << 28, intType, 29}, []any{"Type_contiguous", 1 << 10, 29, 28}, []any{"Send", 1 << 30, 28, 0, 0, world})},
		"byte 42: Start: request 5 is not one that could be started": {trace1(func(w *writer) { w.call(0, "Start", 5) })},
		"byte 42: Waitsome: request 1 of 1 completed":                {trace1(func(w *writer) { w.call(0, "Waitsome", 1, []int32{2}, 1, []int32{1}) })},
		"byte 42: Send: send with rank 1 of a communicator of 1":     {trace1(func(w *writer) { w.call(0, "Send", 1, intType, 1, 0, self) })},
		"byte 42: Gather: root -1 of a communicator of 1 ranks":      {trace1(func(w *writer) { w.call(0, "Gather", 0, 1, intType, -1, false, world) })},
		"Alltoallv: 2 counts in a communicator of 1 ranks":           {calls([]any{"Alltoallv", 1, []int32{1, 1}, []int32{0, 0}, intType, []int32{1, 1}, []int32{0, 0}, intType, world})},
		// The last bytes: the word where the calls begin ends 17 from the end, the sizes' count and 15 sizes, the magic and 7
		// words are 128, the footer of 8 + 8*291 is before them, and the size of an int (the tenth) begins 88 from the end.
		"and the calls at byte 9, which are at":                                                          {changed(whole, 17, 9)},
		"no footer, which begins with 0xf007fee7":                                                        {changed(whole, 128+8+8*291, 1)},
		"byte 42: Send: 1 elements of -16777212 B":                                                       {changed(send, 88, 0xff)},
		"no index of the file at its end":                                                                {slices.Insert(slices.Clone(whole), len(whole)-56, make([]byte, 8)...)},
		"t-0001.bin: byte 42: Bcast: collective 0 of group \"\" is broadcast of 4 B (root 0), and on an": {trace1(func(w *writer) { w.call(0, "Barrier", world) }), trace1(func(w *writer) { w.call(0, "Bcast", 1, intType, 0, world) })},
	} {
		name := written(t, files...)
		if slices.IndexFunc(files, func(b []byte) bool { return b == nil }) > 0 {
			os.Remove(strings.Replace(name, "-0000", "-0001", 1))
		}
		simtest.Refuse2(Import(name, trace.Default()))(t, want)
	}
	// A description that names another number of ranks.
	name := written(t, trace1(func(*writer) {}))
	simtest.Check(t, os.WriteFile(strings.Replace(name, "-0000.bin", ".meta", 1), []byte("hostname=h\nnumprocs=2\n"), 0o666))
	simtest.Refuse2(Import(name, trace.Default()))(t, "t.meta: numprocs=2, but there are files of 1 ranks")
	// What is dropped leaves the rest.
	s := trace.Default()
	s.Drop = true
	_, report, err := Import(written(t, scan), s)
	simtest.ErrorIf(t, err != nil || len(report.Notes()) != 1, "%v %v", err, report)
}

// TestCalls: what is said of a call decides. A vector of 3 blocks of 2 ints is 24 B. A request that Test
// did not find complete is not waited for, so that the message to the rank itself can follow; a message to or
// from no process is none, also of a Sendrecv_replace, which receives from its third rank. A call with two counters has 32 B
// of them. The rank computes from 51 us, when Init ends, to 52, and from 54, when Test ends, to 59: the Send
// beside it, of another thread, was from 48 to 49.
func TestCalls(t *testing.T) {
	w := newWriter()
	w.call(50, "Init", "x")
	w.call(0, "Type_vector", 3, 2, 5, intType, 28)
	w.call(0, "Irecv", 1, 28, 0, 7, world, 2)
	w.call(0, "Test", 2, 0)
	w.call(-6, "Send", 1, 28, 0, 7, world)
	w.call(10, "Send", 1, intType, -1, 0, world)
	w.call(0, "Wait", 2)
	w.put(uint16(0), uint8(hasCounters), uint8(2), make([]byte, 32), int32(1), uint16(intType), int32(-1), int32(0), uint16(world)) // a Send
	w.call(0, "Isend", 1, intType, 0, 9, world, 3)
	w.call(0, "Sendrecv_replace", 1, intType, -2, 9, 0, 9, world)
	w.call(0, "Wait", 3)
	w.call(0, "Finalize")
	g, _ := simtest.Must2(Import(written(t, w.end(0, 6, 9)), trace.Default()))(t)
	sends, bytes := g.Count(mpi.Send)
	receives, _ := g.Count(mpi.Recv)
	_, ns := g.Count(mpi.Calc)
	simtest.Alike(t, "sends, their bytes, receives, ns", []int64{sends, bytes, receives, ns}, []int64{2, 24 + 4, 2, 6000})
	simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
}

// FuzzImport: whatever a file holds is a schedule or an error.
func FuzzImport(f *testing.F) {
	f.Add(program(0))
	f.Add(trace1(func(w *writer) {
		w.call(0, "Isend", 1, intType, 0, 0, world, 2)
		w.call(0, "Waitany", 1, []int32{2}, 0)
	}))
	f.Add(trace1(func(w *writer) {
		w.call(0, "Comm_group", world, 3)
		w.call(0, "Group_incl", 3, 1, []int32{0}, 4)
		w.call(0, "Comm_create", world, 4, 5)
		w.call(0, "Cart_create", 5, 1, []int32{1}, []int32{0}, 0, 6)
		w.call(0, "Cart_sub", 1, 6, []int32{1}, 7)
		w.call(0, "Barrier", 7)
	}))
	f.Fuzz(func(t *testing.T, content []byte) {
		s := trace.Default()
		s.Drop = true
		g, _, err := Import(written(t, content), s)
		simtest.ErrorIf(t, err == nil && g.Ranks() == 0, "no ranks")
	})
}
