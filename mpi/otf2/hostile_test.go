package otf2

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/simtest"
)

// hostile makes traces whose chunks and records are well formed, and whose numbers, counts and
// references are what no writer writes.
type hostile struct{ simtest.Hostile }

// number is often one that readers do not expect.
func (h hostile) number() uint64 {
	return h.Number(6, 0, 1, 2, 8, 127, 255, 256, 1<<16, 1<<20, 1<<23, 1<<26, math.MaxInt32, 1<<31, math.MaxUint32, 1<<40, 1<<62, math.MaxInt64, 1<<63, undefined)
}

// list is some numbers behind their count, which may lie.
func (h hostile) list(most int) []any {
	n := h.Count(most)
	list := []any{n}
	if h.IntN(30) == 0 {
		list[0] = h.number()
	}
	for i := range n {
		if h.IntN(20) == 0 {
			list = append(list, h.number())
		} else {
			list = append(list, i)
		}
	}
	return list
}

// any is fields of any kind.
func (h hostile) any() (fields []any) {
	for range h.Count(300) {
		switch h.IntN(3) {
		case 0:
			fields = append(fields, byte(h.IntN(256)))
		case 1:
			fields = append(fields, h.number())
		default:
			fields = append(fields, strings.Repeat("a", h.Count(1<<14)))
		}
	}
	return fields
}

// room ends a chunk that has no room for a record of so many bytes.
func (h hostile) room(f *file, bytes int) {
	if at := f.Len() % leastChunk; at+bytes+100 > leastChunk {
		f.WriteByte(endOfChunk)
		f.Write(make([]byte, leastChunk-at))
		f.header()
	}
}

// definitions are those of a trace of ranks with so many events.
func (h hostile) definitions(ranks []uint64) *file {
	f := newFile()
	f.record(clockDefinition, 1+h.number()%1_000_000_000, 0, 0)
	for r, events := range ranks {
		f.record(locationRecord, r, 0, byte(1), events, 0)
	}
	members := []any{len(ranks)}
	for r := range ranks {
		members = append(members, r)
	}
	f.record(groupDefinition, append(append([]any{0, 0, byte(0)}, members...), byte(commLocations), byte(paradigmMPI), 0)...)
	for range h.Count(400) + 4 {
		h.room(f, 1<<17)
		switch h.IntN(6) {
		case 0:
			f.record(stringDefinition, h.number(), []string{"", "MPI_Send", "MPI_Sendrecv", strings.Repeat("b", h.Count(1<<14))}[h.IntN(4)])
		case 1:
			f.record(regionDefinition, h.number(), h.number(), 0, byte(0), h.number(), 0, 0, 1, byte(0), byte(paradigmMPI), 0)
		case 2, 3:
			f.record(groupDefinition, append(append([]any{1 + h.IntN(3), 0, byte(0)}, h.list(1<<13)...), byte(commLocations+h.IntN(3)), byte(paradigmMPI), 0)...)
		case 4:
			f.record(commDefinition, h.IntN(4), h.number(), 1+h.IntN(3), uint64(undefined), 0)
		default:
			f.record(byte(7+h.IntN(240)), h.any()...)
		}
	}
	return f
}

// local is the definitions of a location.
func (h hostile) local() []byte {
	f := newFile()
	for range h.Count(50) {
		h.room(f, 1<<17)
		f.record(mapping, append([]any{byte([]int{mappedRegions, mappedComms, h.IntN(256)}[h.IntN(3)])}, h.modes()...)...)
	}
	return f.end()
}

// modes are numbers that are mapped, by their place or sparsely.
func (h hostile) modes() []any {
	list := h.list(1 << 13)
	return append([]any{list[0], byte(h.IntN(2) + h.IntN(30)/29)}, list[1:]...)
}

// events are those of a rank, with their number.
func (h hostile) events() ([]byte, uint64) {
	f := newFile()
	f.events = 0
	for range h.Count(4000) + 3 {
		h.room(f, 1<<17)
		kind, fields := byte(enter+h.IntN(12)), []any{int(h.number() & math.MaxInt32)}
		switch {
		case bare[kind]:
		case kind == mpiCollectiveEnd:
			fields = []any{byte(h.IntN(24)), h.IntN(4), h.number(), h.number(), h.number()}
		case kind >= mpiSend && kind <= mpiIrecv:
			fields = []any{h.number(), h.IntN(4), h.number(), h.number(), h.IntN(4)}
		}
		if h.IntN(40) == 0 {
			kind = byte(9 + h.IntN(240))
			if fields = h.any(); bare[kind] {
				fields = []any{1}
			}
		}
		f.event(h.number()&0xffff, kind, fields...)
	}
	return f.end(), f.events
}

// trace makes the files of a trace.
func (h hostile) trace(ranks int) map[string][]byte {
	files, counts := map[string][]byte{}, make([]uint64, ranks)
	for r := range counts {
		files[fmt.Sprintf("t/%d.evt", r)], counts[r] = h.events()
		files[fmt.Sprintf("t/%d.def", r)] = h.local()
	}
	defs := h.definitions(counts)
	anchored(files, defs, uint64(ranks), leastChunk)
	return files
}

// anchored adds the definitions and the anchor of a trace.
func anchored(files map[string][]byte, defs *file, ranks, chunk uint64) {
	anchor := append([]byte{chunkHeader, littleEndian}, "OTF2\x00\x03\x02\x03\x00\x03"...)
	anchor = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(anchor, leastChunk), chunk)
	anchor = append(anchor, separateFiles, uncompressed)
	files["t.otf2"] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(anchor, ranks), defs.events)
	files["t.def"] = defs.end()
}

// TestHostile: 100,000 traces are schedules or errors that name a file, with bounded memory.
func TestHostile(t *testing.T) {
	dir, read := t.TempDir(), 0
	for _, seed := range simtest.Seeds(t, 100_000, 400) {
		h := hostile{simtest.NewHostile(seed)}
		ranks := 1 + h.IntN(3)
		name, s := written(t, dir, h.trace(ranks)), trace.Default()
		s.Drop = h.IntN(4) > 0
		simtest.Bounded(t, func() {
			g, _, err := Import(name, s)
			if err == nil {
				read++
			}
			wrong := err == nil && g.Ranks() == 0 || err != nil && !strings.Contains(err.Error(), "t.") && !strings.Contains(err.Error(), ".evt") && !strings.Contains(err.Error(), ".def")
			simtest.ErrorIf(t, wrong, "no ranks, or an error without a file: %v", err)
		})
		simtest.FatalIf(t, t.Failed(), "seed %d", seed)
	}
	simtest.ErrorIf(t, read == 0, "none is read")
}

// TestHostilePacked: packed definitions of some kilobytes, which repeat what they may: a location
// that maps eight million numbers again and again, names, groups and communicators without an end.
func TestHostilePacked(t *testing.T) {
	long := string(make([]byte, mostRecord-100))
	world := func(f *file) {
		f.record(locationRecord, 0, 0, byte(1), 0, 0)
		f.record(groupDefinition, 0, 0, byte(0), 1, 0, byte(commLocations), byte(paradigmMPI), 0)
	}
	for what, write := range map[string]func(defs, local *file){
		"maps": func(_, local *file) {
			for range 3 {
				local.record(mapping, byte(mappedComms), len(long), byte(0), long)
			}
		},
		"names": func(defs, _ *file) {
			for i := range 3 {
				defs.record(stringDefinition, i, long)
			}
		},
		"groups": func(defs, _ *file) {
			for i := range 400_000 {
				defs.record(groupDefinition, i+1, 0, byte(0), 1, 0, byte(commGroup), byte(paradigmMPI), 0)
			}
		},
		"communicators": func(defs, _ *file) {
			for i := range 400_000 {
				defs.record(commDefinition, i, 0, 0, uint64(undefined), 0)
			}
		},
	} {
		defs, local, events := newFile(), newFile(), newFile()
		defs.chunk = mostChunk
		defs.record(clockDefinition, 1, 0, 0)
		world(defs)
		write(defs, local)
		files := map[string][]byte{"t/0.evt": events.end()}
		anchored(files, defs, 1, mostChunk)
		files["t/0.def"] = local.end()
		for _, name := range []string{"t.def", "t/0.def"} {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			simtest.Must(w.Write(files[name]))(t)
			simtest.Check(t, w.Close())
			files[name] = b.Bytes()
		}
		dir := t.TempDir()
		name, info := written(t, dir, files), simtest.Must(os.Stat(filepath.Join(dir, "t.def")))(t)
		simtest.ErrorIf(t, info.Size() > 8<<20, "%s: %d bytes", what, info.Size())
		simtest.Bounded(t, func() {
			_, _, err := Import(name, trace.Default())
			refused := err != nil && strings.Contains(err.Error(), "more than 2097152 numbers are mapped")
			simtest.ErrorIf(t, refused != (what == "maps") || err != nil && !refused, "%s: %v", what, err)
		})
	}
}
