package goal

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/simtest"
)

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
		simtest.ErrorIf(t, !bytes.Equal(asBinary(t, again), content) || !bytes.Equal(asText(t, again), text),
			"%s: over text, it is another file", file)
		beside, err := os.ReadFile(strings.TrimSuffix(file, ".bin") + ".goal")
		simtest.ErrorIf(t, err == nil && !bytes.Equal(asText(t, readSchedule(t, beside)), text),
			"%s: the text beside it has other operations", file)
	}
}

// TestBinaryCounts: the samples of the reference have the operations that another reader
// has counted.
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
			if row[i+1] != strconv.FormatInt(have, 10) {
				t.Errorf("%s: column %d is %d, want %s", row[0], i+1, have, row[i+1])
			}
		}
	}
}

// TestBinaryRefuses: what is wrong is named with its byte. The schedule has one rank with two
// operations, the second of which depends on the first: the rank's part begins at byte 30 with 8
// bytes of numbers, a root at 38, records at 42 and 81, and an appendix of one entry at 120.
func TestBinaryRefuses(t *testing.T) {
	right := asBinary(t, readSchedule(t, []byte("num_ranks 1\nrank 0 {\na: calc 1\nb: recv 8b from -1 tag -1\nb requires a\n}\n")))
	simtest.FatalIf(t, len(right) != 124, "%d bytes", len(right))
	g := readSchedule(t, right)
	simtest.ErrorIf(t, !reflect.DeepEqual(asBinary(t, g), right), "any rank and any tag do not come back")
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
	} {
		wrong := bytes.Clone(right)
		binary.LittleEndian.PutUint32(wrong[c.at:], c.value)
		simtest.Refuse(Parse("x", bytes.NewReader(wrong)))(t, c.want)
	}
	twice := bytes.Clone(right) // operations 0 and 1 have the same entry
	copy(twice[81+23:], []byte{1, 0, 0, 0, 0, 0, 0, 0})
	simtest.Refuse(Parse("x", bytes.NewReader(twice)))(t, "operation 1: the appendix of 1 entries ends before those that wait for it")
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
	if _, err := Parse("x", bytes.NewReader(cycle)); err == nil || err.Error() != "x: rank 0, operation 1: dependency cycle in rank 0: \"calc 2\" (operation 1) requires operation 1" {
		t.Error(err)
	}
}

// FuzzBinary: a binary schedule that is accepted is the same when it is written and read
// again, and over text.
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
		simtest.ErrorIf(t, !bytes.Equal(asText(t, again), asText(t, g)) || !bytes.Equal(asBinary(t, again), written),
			"written and read again, it is another schedule")
		readSchedule(t, asText(t, g))
	})
}
