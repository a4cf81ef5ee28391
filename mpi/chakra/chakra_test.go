package chakra

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/simtest"
)

const samples = "../../../shared/reference/workloads/formats/chakra/"

// read reads the trace of a rank whole.
func read(file string) (nodes []*node, err error) {
	d, err := open(file)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for n := new(node); d.next(n.field); n = new(node) {
		nodes = append(nodes, n)
	}
	return nodes, d.Err
}

func write(t testing.TB, nodes []*node) []byte {
	var b bytes.Buffer
	w := newWriter(&b)
	for _, n := range nodes {
		w.node(n, "")
	}
	simtest.Check(t, w.Flush())
	return b.Bytes()
}

// TestSamples: traces of other writers have the nodes, collectives, bytes, dependencies and
// times that another reader has counted.
func TestSamples(t *testing.T) {
	simtest.NeedSample(t, samples)
	text := simtest.Must(os.ReadFile(samples + "counts.json"))(t)
	type counts struct {
		Nodes     int              `json:"nodes"`
		Control   int              `json:"ctrl"`
		Data      int              `json:"data"`
		Duration  uint64           `json:"dur"`
		SendBytes int64            `json:"send_bytes"`
		RecvBytes int64            `json:"recv_bytes"`
		Types     map[string]int   `json:"types"`
		Coll      map[string]int   `json:"coll"`
		CollBytes map[string]int64 `json:"coll_bytes"`
	}
	var want map[string]counts
	err := json.Unmarshal(text, &want)
	simtest.FatalIf(t, err != nil || len(want) == 0, "%v", err)
	types := map[nodeType]string{compute: "COMP", send: "COMM_SEND", receive: "COMM_RECV", collective: "COMM_COLL"}
	for file, want := range want {
		nodes := simtest.Must(read(samples + file))(t)
		got := counts{Nodes: len(nodes), Types: map[string]int{}, Coll: map[string]int{}, CollBytes: map[string]int64{}}
		for _, n := range nodes {
			got.Control += len(n.control)
			got.Data += len(n.data)
			got.Duration += n.duration
			got.Types[types[n.kind]]++
			size, _, _ := n.integer("comm_size")
			switch n.kind {
			case send:
				got.SendBytes += size
			case receive:
				got.RecvBytes += size
			case collective:
				name := "None"
				if number, given, _ := n.integer("comm_type"); given {
					name = strings.ReplaceAll(strings.ToUpper(collectives[number].name), "-", "_")
				}
				got.Coll[name]++
				got.CollBytes[name] += size
			}
		}
		simtest.ErrorIf(t, !reflect.DeepEqual(got, want), "%s:\n%+v\nwant:\n%+v", file, got, want)
	}
}

// TestImportSamples: the collectives of 4 ranks are carried out by the ring: an allreduce of 1 MiB in 6 rounds of 256
// KiB, a reduce-scatter in 3, an allgather of 1 MiB of each rank in 3 of 1 MiB, an all-to-all in 3 messages of 256 KiB.
// A ring that is spelt out in 8 files has 14 messages of 128 KiB a rank, and computes 49 us on rank 0.
func TestImportSamples(t *testing.T) {
	simtest.NeedSample(t, samples)
	for _, c := range []struct {
		file            string
		messages, bytes int64
	}{
		{"all_reduce_4npus_1MB.2.et", 4 * 6, 4 * 6 << 18},
		{"reduce_scatter_4npus_1MB.0.et", 4 * 3, 4 * 3 << 18},
		{"all_gather_4npus_1MB.0.et", 4 * 3, 4 * 3 << 20},
		{"all_to_all_4npus_1MB.0.et", 4 * 3, 4 * 3 << 18},
		{"custom_ring_allreduce_8npus_1MB.0.et", 8 * 14, 8 * 14 << 17},
	} {
		g, _ := simtest.Must2(Import(samples+c.file, "", trace.Default()))(t)
		n, size := g.Count(mpi.Send)
		simtest.ErrorIf(t, n != c.messages || size != c.bytes, "%s: %d messages of %d B in all, want %d of %d", c.file, n, size, c.messages, c.bytes)
		simtest.Must((mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
	}
	_, report, err := Import(samples+"pytorch_rank0_first400.et.gz", "", trace.Default())
	simtest.Fail(t, err, "4 x collective cannot be replayed: no attribute comm_type")
	var b strings.Builder
	report.Write(&b)
	simtest.ErrorIf(t, !strings.Contains(b.String(), "replayed            394  compute\n"), "report:\n%s", b.String())
}

// traceOf writes a trace of ranks under PREFIX.RANK.et and returns the first name.
func traceOf(t *testing.T, ranks ...[]*node) string {
	dir := t.TempDir()
	for r, nodes := range ranks {
		simtest.Check(t, os.WriteFile(filepath.Join(dir, "t."+string(rune('0'+r))+".et"), write(t, nodes), 0o666))
	}
	return filepath.Join(dir, "t.0.et")
}

// TestExport: a schedule that is written as a trace is the same when it is imported.
func TestExport(t *testing.T) {
	const text = "num_ranks 2\n\nrank 0 {\nl1: calc 1234567\nl2: calc 5000\nl3: send 4096b to 1 tag 7\nl2 requires l1\nl3 requires l1\nl3 requires l2\n}\n\nrank 1 {\nl1: recv 4096b from 0 tag 7\nl2: calc 999\nl2 requires l1\n}\n"
	for name, text := range map[string]string{"own": text, "packed": text} {
		g, dir := simtest.Must(goal.Parse("x", strings.NewReader(text)))(t), t.TempDir()
		file := func(rank int) string { return filepath.Join(dir, "t."+string(rune('0'+rank))+".et") }
		simtest.Check(t, Export(g, func(rank int) (io.WriteCloser, error) { return os.Create(file(rank)) }))
		if name == "packed" {
			file = func(rank int) string { return filepath.Join(dir, "t."+string(rune('0'+rank))+".et.gz") }
			for r := range 2 {
				content := simtest.Must(os.ReadFile(strings.TrimSuffix(file(r), ".gz")))(t)
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				w.Write(content)
				w.Close()
				simtest.Check(t, os.WriteFile(file(r), b.Bytes(), 0o666))
			}
		}
		back, _ := simtest.Must2(Import(file(1), "", trace.Default()))(t)
		var b bytes.Buffer
		back.WriteText(&b)
		simtest.ErrorIf(t, b.String() != text, "%s: comes back as:\n%s", name, b.String())
	}
	for what, text := range map[string]string{
		"any rank":   "num_ranks 1\nrank 0 {\nrecv 8b from -1\n}\n",
		"any tag":    "num_ranks 1\nrank 0 {\nrecv 8b from 0 tag -1\n}\n",
		"irequires":  "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nb irequires a\n}\n",
		"beyond the": "num_ranks 1\nrank 0 {\ncalc 1 cpu 1\n}\n",
	} {
		g := simtest.Must(goal.Parse("x", strings.NewReader(text)))(t)
		err := Export(g, func(int) (io.WriteCloser, error) { return os.Create(filepath.Join(t.TempDir(), "x")) })
		simtest.ErrorIf(t, err == nil || !strings.HasPrefix(err.Error(), "x:") || !strings.Contains(err.Error(), what), "%s: %v", what, err)
	}
}

// TestGroupsAndScale: a collective of a group goes between its members only; computing times
// are scaled: 4 us by 0.5 are 2000 ns.
func TestGroupsAndScale(t *testing.T) {
	group := attribute{"pg_name", fieldString, append([]byte{1}, "g"...)}
	of := func(kind, bytes int64) []attribute {
		return []attribute{integer("comm_type", kind), integer("comm_size", bytes), group}
	}
	member := []*node{{id: 7, kind: compute, duration: 4}, {id: 3, kind: collective, data: []uint64{7}, attr: of(0, 600)}, {id: 4, kind: collective, data: []uint64{3}, attr: of(6, 5)}}
	file := traceOf(t, member, []*node{{id: 1, kind: metadata, duration: 9}}, member)
	simtest.Refuse2(Import(file, "", trace.Default()))(t, "2 x all-reduce cannot be replayed: of a process group whose ranks are not known")
	groups := filepath.Join(filepath.Dir(file), "groups.json")
	for text, want := range map[string]string{`{"g": [0, 3]}`: `group "g": rank 3: want 0 to 2`, `{"g": []}`: `group "g" has no ranks`, `{"g": [0, 0]}`: "rank 0: want 0 to 2, each once", "\xff\xfe{": "the file is UTF-16"} {
		simtest.Check(t, os.WriteFile(groups, []byte(text), 0o666))
		simtest.Refuse2(Import(file, groups, trace.Default()))(t, want)
	}
	simtest.Check(t, os.WriteFile(groups, []byte("\ufeff{\"g\": [2, 0]}"), 0o666))
	s := trace.Default()
	s.Allreduce = "alltoall-ring"
	simtest.Refuse2(Import(file, groups, s))(t, "allreduce = alltoall-ring: want an algorithm of allreduce")
	s.Allreduce = trace.Default().Allreduce
	s.Compute = 0.5
	g, report := simtest.Must2(Import(file, groups, s))(t)
	// The ring of two: 2 rounds of half the vector for each of the two; then an all-to-all of 5 B, blocks
	// of 3 B. Messages take 1000 ns, so that both ranks end after 2000 + 3 * 1000.
	n, size := g.Count(mpi.Send)
	simtest.ErrorIf(t, n != 4+2 || size != 4*300+2*3, "%d messages, %d B", n, size)
	_, ns := g.Count(mpi.Calc)
	simtest.ErrorIf(t, ns != 4000, "computing %d ns", ns)
	// A description may be empty; zeros are no trace.
	_, nodes, _ := bytes.Cut(write(t, member), []byte("0.0.4"))
	for text, want := range map[string]bool{"\x00" + string(nodes): true, "\x00\x00\x00": false, "\x00": false, "": false} {
		simtest.Equal(t, Is(bufio.NewReader(strings.NewReader(text))), want, "%q:", text)
	}
	result := simtest.Must((mpi.LogGOPS{L: 1000, Eager: 1 << 30}).Run(g.Replay(1), nil))(t)
	simtest.EqualSlices(t, result.Finish, []int64{5000, 0, 5000}, "ranks end at")
	var b strings.Builder
	report.Write(&b)
	want := "replayed              2  compute\nreplayed              1  metadata\napproximated          2  all-reduce: combining takes no time\napproximated          2  all-to-all: blocks of equal size, rounded up\n"
	simtest.ErrorIf(t, b.String() != want, "report:\n%s\nwant:\n%s", b.String(), want)
}

// TestRefused: what is wrong is named with its file and place.
func TestRefused(t *testing.T) {
	sends := func(peer int64) []*node {
		return []*node{{id: 1, kind: send, attr: []attribute{integer("comm_dst", peer), integer("comm_size", 8)}}}
	}
	reduce := func(bytes int64) []*node {
		return []*node{{id: 1, kind: collective, attr: []attribute{integer("comm_type", 0), integer("comm_size", bytes)}}}
	}
	for _, c := range []struct {
		name, want string
		ranks      [][]*node
	}{
		{"cycle", "dependency cycle in rank 0", [][]*node{{{id: 1, kind: compute, data: []uint64{2}}, {id: 2, kind: compute, control: []uint64{1}}}}},
		{"missing", "t.0.et: node 1: 1 x dependency cannot be replayed: on a node that is not there; is the trace truncated?", [][]*node{{{id: 1, kind: compute, data: []uint64{9}}}}},
		{"twice", "t.0.et: byte 13: a second node 1", [][]*node{{{id: 1, kind: compute}, {id: 1, kind: compute}}}},
		{"peer", "t.0.et: byte 8: node 1: send with rank 1, tag 0: ranks are 0 to 0", [][]*node{sends(1)}},
		{"no peer", "node 1: a send without comm_dst or comm_size", [][]*node{{{id: 1, kind: send, attr: []attribute{integer("comm_dst", 0)}}}}},
		{"type", "t.0.et: node 1: 1 x type 12 cannot be replayed", [][]*node{{{id: 1, kind: 12}}}},
		{"other size", "t.1.et: byte 8: node 1: collective 0 of group \"\" is allreduce of 9 B", [][]*node{reduce(8), reduce(9)}},
		{"negative", "t.0.et: byte 8: node 1: all-reduce of -1 B", [][]*node{reduce(-1)}},
		{"dimensions", "1 x all-reduce cannot be replayed: in some dimensions", [][]*node{{{id: 1, kind: collective, attr: append(reduce(8)[0].attr, attribute{"involved_dim", fieldBool + 1, []byte{2, 1, 0}})}}}},
		{"gather", "1 x gather cannot be replayed: weft has no algorithm", [][]*node{{{id: 1, kind: collective, attr: []attribute{integer("comm_type", 3), integer("comm_size", 1)}}}}},
	} {
		simtest.Refuse2(Import(traceOf(t, c.ranks...), "", trace.Default()))(t, c.want)
	}
	s := trace.Default()
	s.Drop = true
	simtest.Must2(Import(traceOf(t, []*node{{id: 1, kind: compute, data: []uint64{9}}, {id: 2, kind: 12}}), "", s))(t)
	file, whole := filepath.Join(t.TempDir(), "x"), write(t, sends(0))
	foreign := []string{"num_ranks 2\n", "\x1f\x8b\x08", "{\"a\": 1}", "\x05hello world"}
	for n := range len(whole) {
		foreign = append(foreign, string(whole[:n]))
	}
	for _, content := range foreign {
		simtest.Check(t, os.WriteFile(file, []byte(content), 0o666))
		nodes, err := read(file)
		description := string(whole[:8])
		simtest.ErrorIf(t, (err == nil) != (content == description) || content == description && len(nodes) > 0, "%q: %v", content, err)
	}
	file = traceOf(t, sends(0), sends(0), sends(0))
	simtest.Check(t, os.Remove(strings.Replace(file, "t.0", "t.1", 1)))
	simtest.Refuse2(Import(file, "", trace.Default()))(t, "t.1.et: no such file")
}

// TestBounds: what a node repeats is kept once, so that a small file, packed, takes little memory:
// attributes without a name and those that nothing reads are read over, of one name the first counts,
// and a dependency that is named a million times is one. Messages are bounded.
func TestBounds(t *testing.T) {
	many := &node{id: 2, kind: compute, duration: 1, data: slices.Repeat([]uint64{1}, 1<<20)}
	for range 1000 {
		many.attr = append(many.attr, integer("", 1), integer("other", 1), integer(nanoseconds, 7))
	}
	file := traceOf(t, []*node{{id: 1, kind: compute}, many})
	nodes := simtest.Must(read(file))(t)
	attr := nodes[1].attr
	simtest.ErrorIf(t, len(attr) != 1 || attr[0].name != nanoseconds, "%d attributes are kept", len(attr))
	g, _ := simtest.Must2(Import(file, "", trace.Default()))(t)
	edges := 0
	simtest.Check(t, g.Steps(0, func(s goal.Step) error {
		edges += len(s.After)
		return nil
	}))
	simtest.ErrorIf(t, edges != 1, "%d dependencies, want 1", edges)
	simtest.Check(t, os.WriteFile(file, protowire.AppendVarint(write(t, nil), mostMessage+1), 0o666))
	simtest.Refuse2(Import(file, "", trace.Default()))(t, "a message of 16777217 bytes: want at most 16777216")
}

// FuzzImport: whatever a file holds is a schedule or an error.
func FuzzImport(f *testing.F) {
	f.Add(write(f, []*node{{id: 1, kind: send, control: []uint64{2}, duration: 3, attr: []attribute{integer("comm_dst", 0), integer("comm_size", 8)}}, {id: 2}}))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "t.0.et")
		simtest.Check(t, os.WriteFile(file, content, 0o666))
		s := trace.Default()
		s.Drop = true
		g, _, err := Import(file, "", s)
		simtest.ErrorIf(t, err == nil && g.Ranks() == 0, "no ranks")
	})
}

// hostile makes traces whose messages are well formed, and whose numbers, counts and nesting are what no writer writes.
type hostile struct{ simtest.Hostile }

// number is often one that readers do not expect.
func (h hostile) number() uint64 {
	return h.Number(8, 0, 1, 2, 7, 127, 128, 1<<15, 1<<20, 1<<30-1, 1<<30, math.MaxInt32, 1<<31, math.MaxUint32, 1<<40, 1<<62, math.MaxInt64, 1<<63, math.MaxUint64)
}

// value is that of a field of some wire type.
func (h hostile) value(kind protowire.Type, depth int) []byte {
	switch kind {
	case protowire.VarintType:
		return protowire.AppendVarint(nil, h.number())
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(nil, uint32(h.number()))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(nil, h.number())
	case protowire.BytesType:
		if depth > 0 && h.IntN(2) == 0 {
			return protowire.AppendBytes(nil, h.message(depth-1))
		}
		return protowire.AppendBytes(nil, bytes.Repeat([]byte{byte(h.IntN(256))}, h.Count(1<<12)))
	}
	return nil
}

// message is any fields.
func (h hostile) message(depth int) (m []byte) {
	for range h.Count(200) {
		kind := []protowire.Type{protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type, protowire.BytesType}[h.IntN(4)]
		m = append(protowire.AppendTag(m, protowire.Number(1+h.IntN(34)), kind), h.value(kind, depth)...)
	}
	if h.IntN(30) == 0 { // groups, one in another
		n := 1 + h.IntN(20_000)
		for range n {
			m = protowire.AppendTag(m, 12, protowire.StartGroupType)
		}
		for range n {
			m = protowire.AppendTag(m, 12, protowire.EndGroupType)
		}
	}
	return m
}

// attribute is one that is read, mostly of the kind that it should be.
func (h hostile) attribute() (m []byte) {
	names := []string{nanoseconds, "comm_dst", "comm_src", "comm_size", "comm_tag", "comm_type", "root", "involved_dim", "pg_name", "other", ""}
	m = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte(names[h.IntN(len(names))]))
	for range 1 + h.IntN(40)/39 {
		field := protowire.Number(fieldInt64)
		if h.IntN(4) == 0 {
			field = protowire.Number(3 + h.IntN(lastField-2))
		}
		m = append(protowire.AppendTag(m, field, wireType(field)), h.value(wireType(field), 2)...)
	}
	return m
}

// node is an operation.
func (h hostile) node(id int) (m []byte) {
	field := func(number protowire.Number, kind protowire.Type, value []byte) {
		m = append(protowire.AppendTag(m, number, kind), value...)
	}
	number := uint64(id)
	if h.IntN(100) == 0 {
		number = h.number()
	}
	field(1, protowire.VarintType, protowire.AppendVarint(nil, number))
	kind := uint64(1 + h.IntN(7))
	if h.IntN(50) == 0 {
		kind = h.number()
	}
	field(3, protowire.VarintType, protowire.AppendVarint(nil, kind))
	for of := protowire.Number(4); of <= 5; of++ {
		var list []byte
		for range h.Count(1 << 14) {
			before := uint64(h.IntN(id + 1))
			if h.IntN(60) == 0 {
				before = h.number()
			}
			list = protowire.AppendVarint(list, before)
		}
		field(of, protowire.BytesType, protowire.AppendBytes(nil, list))
	}
	field(7, protowire.VarintType, protowire.AppendVarint(nil, h.number()))
	for range h.Count(1000) + 2 {
		field(10, protowire.BytesType, protowire.AppendBytes(nil, h.attribute()))
	}
	if h.IntN(60) == 0 {
		m = append(m, h.message(3)...)
	}
	return m
}

// trace is the file of a rank, of less than a megabyte.
func (h hostile) trace() []byte {
	file := protowire.AppendBytes(nil, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "v"))
	for id := range h.Count(2000) {
		node := h.node(id)
		if len(file)+len(node) > 1<<20 {
			break
		}
		if h.IntN(400) == 0 { // a length that lies
			file = protowire.AppendVarint(file, h.number())
		}
		file = protowire.AppendBytes(file, node)
	}
	return file
}

// TestHostile: 100,000 traces are schedules or errors that name a file, with bounded memory.
func TestHostile(t *testing.T) {
	dir, read := t.TempDir(), 0
	for _, seed := range simtest.Seeds(t, 100_000, 400) {
		h := hostile{simtest.NewHostile(seed)}
		ranks := 1 + h.IntN(4)
		for r := range 4 {
			file := filepath.Join(dir, fmt.Sprintf("t.%d.et", r))
			if r < ranks {
				simtest.Check(t, os.WriteFile(file, h.trace(), 0o666))
			} else {
				_ = os.Remove(file)
			}
		}
		s := trace.Default()
		s.Drop = h.IntN(4) > 0
		simtest.Bounded(t, func() {
			g, _, err := Import(filepath.Join(dir, "t.0.et"), "", s)
			if err == nil {
				read++
			}
			simtest.ErrorIf(t, err == nil && g.Ranks() != ranks || err != nil && !strings.Contains(err.Error(), "t."), "ranks %d, error %v", ranks, err)
		})
		simtest.FatalIf(t, t.Failed(), "seed %d", seed)
	}
	simtest.ErrorIf(t, read == 0, "none is read")
}

// TestHostilePacked: packed files of some kilobytes, of a node that repeats what it may: one
// dependency eight million times, and attributes without an end; and of nodes without a number.
func TestHostilePacked(t *testing.T) {
	dependencies := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), bytes.Repeat([]byte{1}, 1<<23))
	attributes := bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, 10, protowire.BytesType), attributeOf("comm_size", 8)), 1<<19)
	for what, node := range map[string][]byte{"dependencies": dependencies, "attributes": attributes, "nodes": nil} {
		var b bytes.Buffer
		w, description := gzip.NewWriter(&b), protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "v")
		simtest.Must(w.Write(protowire.AppendBytes(nil, description)))(t)
		for id := range uint64(12) {
			message := append(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id+1), node...)
			message = append(message, protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(compute))...)
			simtest.Must(w.Write(protowire.AppendBytes(nil, message)))(t)
		}
		simtest.Check(t, w.Close())
		file := filepath.Join(t.TempDir(), "t.0.et.gz")
		simtest.Check(t, os.WriteFile(file, b.Bytes(), 0o666))
		simtest.Bounded(t, func() {
			_, _, err := Import(file, "", trace.Default())
			simtest.ErrorIf(t, err != nil && !strings.Contains(err.Error(), "t.0.et.gz"), "%s: %v", what, err)
		})
	}
}

// attributeOf is the message of an attribute.
func attributeOf(name string, value uint64) []byte {
	m := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
	return protowire.AppendVarint(protowire.AppendTag(m, fieldInt64, protowire.VarintType), value)
}
