package goal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

func TestParseAccepts(t *testing.T) {
	const text = "/* two\n ranks */\r\nnum_ranks 2 // so many\r\n\r\n  rank 0 {\n a:send 100 b to 1 tag 7 cpu 2 nic 1\nb : calc 5\n\tb requires a\nb requires a\na: calc 9\n}\nrank 1 {\nrecv 100b from -1 tag -1\n}\n"
	g := simtest.Must(Parse("x.goal", strings.NewReader(text)))(t)
	sends, _ := g.Count(mpi.Send)
	simtest.ErrorIf(t, g.Ranks() != 2 || g.ops.Len() != 4 || sends != 1 || g.cpus != 3 || g.nics != 2, "ranks %d, operations %d, messages %d, cpus %d, nics %d; want 2, 4, 1, 3, 2", g.Ranks(), g.ops.Len(), sends, g.cpus, g.nics)
	readSchedule(t, []byte("\ufeff"+text)) // with a byte order mark
	// Labels that differ by a zero are two: if l01 were l1, it would wait for itself.
	readSchedule(t, []byte("num_ranks 1\nrank 0 {\nl1: calc 1\nl01: calc 2\nl1 requires l01\n}\n"))
	const want = "num_ranks 2\n\nrank 0 {\nl1: send 100b to 1 tag 7 cpu 2 nic 1\nl2: calc 5\nl3: calc 9\nl2 requires l1\nl2 requires l1\n}\n\nrank 1 {\nl1: recv 100b from -1 tag -1\n}\n"
	got := string(asText(t, g))
	simtest.ErrorIf(t, got != want, "written:\n%s\nwant:\n%s", got, want)
}

// TestReady: an operation begins when the last one that it waits for has ended, here after 100, though the other,
// which is begun later, has ended after 5. A computation of 2^63 - 1 units, each 1000 of the machine's, is too long.
func TestReady(t *testing.T) {
	g := readSchedule(t, []byte("num_ranks 1\nrank 0 {\na: calc 100\nb: calc 5 cpu 1\nc: calc 1 cpu 2\nc requires a\nc requires b\n}\n"))
	simtest.EqualSlices(t, simtest.Must((mpi.LogGOPS{L: 1}).Run(g.Replay(1), nil))(t).Finish, []int64{101}, "the rank ends after")
	g = readSchedule(t, []byte("num_ranks 1\nrank 0 {\ncalc 9223372036854775807\n}\n"))
	simtest.Refuse((mpi.LogGOPS{L: 1}).Run(g.Replay(1000), nil))(t, "the simulated time reaches 2^60 units")
}

// TestLengths: messages that some order of matching gives room, or that a receive of any rank or tag may take, are left to
// the run. (What no order does is refused, as the second of the sends by length, of 9 B, and the second of the receives, of 8.)
func TestLengths(t *testing.T) {
	for _, c := range []struct{ sends, receives string }{
		{"send 9b to 1,send 8b to 1", "recv 8b from 0,recv 9b from 0"},
		{"send 9b to 1,send 8b to 1", "recv 8b from 0"},
		{"send 9b to 1", "recv 8b from -1"},
		{"send 9b to 1", "recv 8b from 0 tag -1"},
		{"send 9b to 1", "recv 10b from -1,recv 8b from 0"},
		{"send 9b to 1", "recv 10b from 0 tag -1,recv 8b from 0"},
		{"send 9b to 1", "recv 10b from 0"},
	} {
		readSchedule(t, []byte("num_ranks 2\nrank 0 {\n"+strings.ReplaceAll(c.sends, ",", "\n")+"\n}\nrank 1 {\n"+strings.ReplaceAll(c.receives, ",", "\n")+"\n}\n"))
	}
}

func TestParseRefuses(t *testing.T) {
	simtest.Refuse(Parse("x.goal", strings.NewReader("")))(t, "x.goal:1: no schedule")
	for _, c := range simtest.Cases(t, "testdata/refused.txt") {
		t.Run(c.Name, func(t *testing.T) { simtest.Refuse(Parse("x.goal", strings.NewReader(c.Given)))(t, c.Want) })
	}
}

// TestBounds: a line without end and more operations than there is memory for are problems, found on the way. An
// operation takes 40 bytes: in 4000 bytes there is room for fewer than 100, beside 9 for the rank.
func TestBounds(t *testing.T) {
	simtest.Refuse(Parse("f", strings.NewReader("num_ranks 1\nrank 0 {\n"+strings.Repeat(" ", 1<<20+1))))(t, "f:3: a line of more than 1048576 bytes")
	many, before := strings.NewReader("num_ranks 1\nrank 0 {\n"+strings.Repeat("calc 1\n", 100)+"}\n"), debug.SetMemoryLimit(4000)
	_, err := Parse("f", many)
	debug.SetMemoryLimit(before)
	simtest.ErrorIf(t, !strings.HasPrefix(fmt.Sprint(err), "f:102: 100 operations so far take 4009 bytes") || input.Memory() <= 4000, "many operations: %v", err)
}

// Whatever is accepted survives writing and reading, and runs or fails the same way both times.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../testdata/goal/*.goal")
	simtest.FatalIf(f, err != nil || len(files) == 0, "no seed files %v", err)
	for _, file := range files {
		text := simtest.Must(os.ReadFile(file))(f)
		f.Add(text)
	}
	f.Add([]byte("num_ranks 1\nrank 0 {\na: calc 1\nb: send 0b to 0 cpu 3\nb irequires a\nrecv 0 b from -1\n}\n"))
	f.Add([]byte("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 7 cpu 1 nic 2\nl01: calc 4\nl1: calc 3\nl9999999: calc 1\nl1 requires l01\nl9999999 irequires l1 \n}\nrank 1 {\nrecv 8b from 0 tag 7\n}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := Parse("x.goal", bytes.NewReader(text))
		if err != nil {
			return
		}
		if g.Ranks() > 1000 {
			t.Skip("large")
		}
		again := readSchedule(t, asText(t, g))
		first, err1 := mpi.DefaultLogGOPS.Run(g.Replay(1), nil)
		second, err2 := mpi.DefaultLogGOPS.Run(again.Replay(1), nil)
		simtest.FatalIf(t, (err1 == nil) != (err2 == nil), "first run: %v; second run: %v", err1, err2)
		simtest.FatalIf(t, !slices.Equal(first.Finish, second.Finish), "ranks finish at %d and %d", first.Finish, second.Finish)
	})
}

// BenchmarkParse reads a schedule as generators write it: 1,024 ranks, each with 32 messages and a dependency for every second one.
func BenchmarkParse(b *testing.B) {
	var text bytes.Buffer
	fmt.Fprintln(&text, "num_ranks 1024")
	for r := range 1024 {
		fmt.Fprintf(&text, "\nrank %d {\n", r)
		for i := range 16 {
			fmt.Fprintf(&text, "l%d: send 8b to %d tag %d\nl%d: recv 8b from %d tag %d\n", 2*i+1, (r+1<<i)%1024, i, 2*i+2, (r+1023<<i)%1024, i)
			if i > 0 {
				fmt.Fprintf(&text, "l%d requires l%d\n", 2*i+1, 2*i)
			}
		}
		fmt.Fprintln(&text, "}")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		simtest.Must(Parse("x.goal", bytes.NewReader(text.Bytes())))(b)
	}
}

// A schedule that is too large for the heap is what a small one would be: it is written and read again. After n
// computations of 1 ns rank 0 sends, with an overhead of 100, to rank 1, which has it L = 1000 and an overhead later.
func TestSpilled(t *testing.T) {
	const n = 300_000 // 19 MB of operations in all
	b := NewBuilder("large", 2)
	for r := range int32(2) {
		b.Rank()
		last := int32(-1)
		for i := range n + 1 {
			kind := mpi.Calc
			if i == n {
				kind = []mpi.Kind{mpi.Send, mpi.Recv}[r]
			}
			id := simtest.Must(b.Add(kind, 1, 1-r, 0))(t)
			if last >= 0 {
				b.After(last, id)
			}
			last = id
		}
	}
	g := simtest.Must(b.Schedule())(t)
	simtest.ErrorIf(t, runtime.GOOS == "linux" && !g.memory.OnFile(), "not in a file")
	binary := asBinary(t, g)
	h := readSchedule(t, binary)
	simtest.ErrorIf(t, !bytes.Equal(asBinary(t, h), binary), "written again it is another")
	result := simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 100}).Run(h.Replay(1), nil))(t)
	f := result.Finish
	simtest.ErrorIf(t, f[0] != n+100 || f[1] != n+1200, "%v", f)
	// A cycle at its end is found.
	b = NewBuilder("cyclic", 1)
	b.Rank()
	for range 2 * n {
		simtest.Must(b.Add(mpi.Calc, 1, 0, 0))(t)
	}
	b.After(2*n-2, 2*n-1)
	b.After(2*n-1, 2*n-2)
	simtest.Refuse(b.Schedule())(t, "dependency cycle in rank 0")
}

// TestLongCycle: of a cycle of 12 operations ten are told, from where it begins.
func TestLongCycle(t *testing.T) {
	var s strings.Builder
	s.WriteString("num_ranks 1\nrank 0 {\n")
	for i := range 12 {
		fmt.Fprintf(&s, "l%d: calc 1\n", i)
	}
	for i := range 12 {
		fmt.Fprintf(&s, "l%d requires l%d\n", i, (i+1)%12)
	}
	_, err := Parse("x.goal", strings.NewReader(s.String()+"}\n"))
	text := fmt.Sprint(err)
	simtest.ErrorIf(t, strings.Count(text, "calc 1") != 10 || !strings.HasSuffix(text, `"calc 1" (line 12) requires 2 more, the last of which requires line 3`), "%s", text)
}

// binaries are files that LogGOPSim's txt2bin has written.
func binaries(t testing.TB) []string {
	files, err := filepath.Glob("../testdata/goal/*.bin")
	simtest.FatalIf(t, err != nil || len(files) < 3, "no files %v", err)
	return files
}

func readSchedule(t *testing.T, content []byte) *Schedule {
	t.Helper()
	return simtest.Must(Parse("x", bytes.NewReader(content)))(t)
}

func asText(t testing.TB, g *Schedule) []byte {
	var b bytes.Buffer
	simtest.Check(t, g.WriteText(&b))
	return b.Bytes()
}

func asBinary(t testing.TB, g *Schedule) []byte {
	var b bytes.Buffer
	simtest.Check(t, g.WriteBinary(&b))
	return b.Bytes()
}

// TestBinaryAndText: a binary schedule becomes the same bytes again, and so does the text
// that is made of it, with the operations of the text that it was made of.
func TestBinaryAndText(t *testing.T) {
	files := binaries(t)
	if more, _ := filepath.Glob("../../../shared/reference/workloads/formats/goal/*.bin"); len(more) > 0 {
		files = append(files, more...)
	}
	for _, file := range files {
		content := simtest.Must(os.ReadFile(file))(t)
		g := readSchedule(t, content)
		simtest.ErrorIf(t, !bytes.Equal(asBinary(t, g), content), "%s: written, it is another file", file)
		text := asText(t, g)
		again := readSchedule(t, text)
		simtest.ErrorIf(t, !bytes.Equal(asBinary(t, again), content) || !bytes.Equal(asText(t, again), text), "%s: over text, it is another file", file)
		beside, err := os.ReadFile(strings.TrimSuffix(file, ".bin") + ".goal")
		simtest.ErrorIf(t, err == nil && !bytes.Equal(asText(t, readSchedule(t, beside)), text), "%s: the text beside it has other operations", file)
	}
}

// TestBinaryCounts: the samples of the reference have the operations that another reader has counted.
func TestBinaryCounts(t *testing.T) {
	dir := "../../../shared/reference/workloads/formats/goal/"
	simtest.NeedSample(t, dir)
	for _, row := range simtest.Rows(t, dir+"counts.csv") {
		content := simtest.Must(os.ReadFile(dir + row[0]))(t)
		g := readSchedule(t, content)
		var kinds, size [3]int64
		roots := 0
		for _, op := range g.ops.All {
			kinds[op.kind]++
			size[op.kind] += op.size
			if op.needs == 0 {
				roots++
			}
		}
		got := []int64{int64(len(content)), int64(g.Ranks()), int64(g.cpus - 1), int64(g.nics - 1), int64(g.ops.Len()), kinds[mpi.Send], kinds[mpi.Recv], kinds[mpi.Calc], int64(roots), int64(len(g.onDone.op)), int64(len(g.onStart.op)), size[mpi.Send], size[mpi.Calc]}
		for i, have := range got {
			simtest.ErrorIf(t, row[i+1] != strconv.FormatInt(have, 10), "%s: column %d is %d, want %s", row[0], i+1, have, row[i+1])
		}
	}
}

// TestBinaryRefuses: what is wrong is named with its byte. The schedule has one rank with two operations, the second of which depends on the
// first: the rank's part begins at byte 30 with 8 bytes of numbers, a root at 38, records at 42 and 81, and an appendix of one entry at 120.
func TestBinaryRefuses(t *testing.T) {
	right := asBinary(t, readSchedule(t, []byte("num_ranks 1\nrank 0 {\na: calc 1\nb: recv 8b from -1 tag -1\nb requires a\n}\n")))
	simtest.FatalIf(t, len(right) != 124, "%d bytes", len(right))
	simtest.ErrorIf(t, !reflect.DeepEqual(asBinary(t, readSchedule(t, right)), right), "any rank and any tag do not come back")
	for _, c := range []struct {
		name  string
		at    int
		value uint32
		want  string
	}{
		{"no ranks", 8, 0, "x: byte 14: 0 ranks: want 1 to"},
		{"part elsewhere", 14, 23, "x: byte 30: the part of rank 0 is said to be from 23 to 116: want from 22"},
		{"more operations", 30, 3, "x: byte 38: rank 0: 3 operations, 1 of which depend on nothing, do not fit its 94 bytes"},
		{"root out of range", 38, 2, "x: byte 42: rank 0: operation 2 of 2"},
		{"another root", 38, 1, "operation 0 depends on nothing, and does not stand in its place"},
		{"type", 46, 9, "x: byte 81: rank 0: operation 0: type 9: want 1 (send), 2 (recv) or 3 (calc)"},
		{"entries out of range", 42 + 27, 1, "operation 0: the entries from 1 to 1 of an appendix of 1 wait for it"},
		{"entries of nobody", 42 + 23, 0, "1 entries of the appendix belong to no operation"},
		{"another number", 81, 2, "operation 1 is said to depend on 2 others, and the appendix has 1"},
		{"peer", 81 + 5, 1, "operation 1: peer 1: ranks are 0 to 0"},
		{"tag", 81 + 17, 0x80000000, "operation 1: tag 2147483648"},
		{"size", 81 + 13, 0x80000000, "operation 1: size 9223372036854775816"},
		{"send to anyone", 81 + 4, 0xffffff01, "operation 1: peer 4294967295: ranks are 0 to 0"}, // type 1, and the peer stays
	} {
		wrong := bytes.Clone(right)
		binary.LittleEndian.PutUint32(wrong[c.at:], c.value)
		simtest.Refuse(Parse("x", bytes.NewReader(wrong)))(t, c.want)
	}
	twice := bytes.Clone(right) // operations 0 and 1 have the same entry
	copy(twice[81+23:], []byte{1, 0, 0, 0, 0, 0, 0, 0})
	simtest.Refuse(Parse("x", bytes.NewReader(twice)))(t, "operation 1: the appendix of 1 entries ends before those that wait for it")
	roots := slices.Insert(bytes.Clone(right), 42, 1, 0, 0, 0) // operation 1 is a root, too: two roots, and the part ends 4 bytes later
	roots[34], roots[22] = 2, roots[22]+4
	simtest.Refuse(Parse("x", bytes.NewReader(roots)))(t, "operation 1 is said to depend on nothing")
	for n := 8; n < len(right); n++ {
		simtest.Refuse(Parse("x", bytes.NewReader(right[:n])))(t, "is it truncated?")
	}
	simtest.Refuse(Parse("x", bytes.NewReader(append(right, 0))))(t, "x: byte 124: the file goes on")
	// The first operation waits for the second, too: no root, and its record's place.
	cycle := asBinary(t, readSchedule(t, []byte("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\nc: calc 3\nb requires a\nc requires b\n}\n")))
	const records, appendix = 42, 42 + 3*recordBytes
	cycle[records] = 0                                   // a
	binary.LittleEndian.PutUint32(cycle[appendix:], 2)   // a before c
	binary.LittleEndian.PutUint32(cycle[appendix+4:], 1) // b before itself
	_, err := Parse("x", bytes.NewReader(cycle))
	simtest.Equal(t, fmt.Sprint(err), "x: rank 0, operation 1: dependency cycle in rank 0: \"calc 2\" (operation 1) requires operation 1", "a cycle:")
}

// FuzzBinary: a binary schedule that is accepted is the same when it is written and read again, and over text.
func FuzzBinary(f *testing.F) {
	for _, file := range binaries(f) {
		content := simtest.Must(os.ReadFile(file))(f)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		g, err := Parse("x", bytes.NewReader(content))
		if err != nil {
			return
		}
		written := asBinary(t, g)
		again := readSchedule(t, written)
		simtest.ErrorIf(t, !bytes.Equal(asText(t, again), asText(t, g)) || !bytes.Equal(asBinary(t, again), written), "written and read again, it is another schedule")
		readSchedule(t, asText(t, g))
	})
}

// TestHeadsInLine: LogGOPSim's txt2bin wants line ends behind operations only. Sums end at 2^63 - 1.
func TestHeadsInLine(t *testing.T) {
	g := readSchedule(t, []byte("num_ranks 2 rank 0 { l1: calc 5\nl2: calc 6\nl2 requires l1\n} rank 1 { calc 9223372036854775807\n}\n"))
	_, ns := g.Count(mpi.Calc)
	simtest.Alike(t, "ranks, ns", g.Ranks(), 2, ns, int64(1<<63-1))
	simtest.Refuse(Parse("x", strings.NewReader("num_ranks 1 rank 0 { calc 5 }\n}\n")))(t, `x:1: "num_ranks 1 rank 0 { calc 5 }" does not read as "calc N [cpu N]"`)
}
