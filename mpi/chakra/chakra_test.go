package chakra

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
)

const samples = "../../../shared/reference/workloads/formats/chakra/"

// read reads a trace whole.
func read(r io.Reader) (g Global, nodes []*Node, err error) {
	d, g, err := NewReader(r)
	for err == nil {
		var n *Node
		if n, err = d.Next(); err == nil {
			nodes = append(nodes, n)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return g, nodes, err
}

func write(t testing.TB, g Global, nodes []*Node) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, g)
	for _, n := range nodes {
		w.Write(n)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSamples: traces of other writers have the nodes, collectives, bytes, dependencies and
// times that another reader has counted, and are the same messages when they are written again.
func TestSamples(t *testing.T) {
	text, err := os.ReadFile(samples + "counts.json")
	if err != nil {
		t.Skip("the samples are not here")
	}
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
	if err := json.Unmarshal(text, &want); err != nil || len(want) == 0 {
		t.Fatal(err)
	}
	types := map[Type]string{Compute: "COMP", Send: "COMM_SEND", Receive: "COMM_RECV", Collective: "COMM_COLL"}
	for file, want := range want {
		content, err := input.ReadInput(samples+file, input.MaxStream)
		if err != nil {
			t.Fatal(err)
		}
		g, nodes, err := read(bytes.NewReader(content))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got := counts{Nodes: len(nodes), Types: map[string]int{}, Coll: map[string]int{}, CollBytes: map[string]int64{}}
		for _, n := range nodes {
			got.Control += len(n.Control)
			got.Data += len(n.Data)
			got.Duration += n.Duration
			got.Types[types[n.Type]]++
			size, _, _ := n.integer("comm_size")
			switch n.Type {
			case Send:
				got.SendBytes += size
			case Receive:
				got.RecvBytes += size
			case Collective:
				name := "None"
				if number, given, _ := n.integer("comm_type"); given {
					name = strings.ReplaceAll(strings.ToUpper(collectiveNames[number]), "-", "_")
				}
				got.Coll[name]++
				got.CollBytes[name] += size
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\nwant:\n%+v", file, got, want)
		}
		again := write(t, g, nodes)
		g2, nodes2, err := read(bytes.NewReader(again))
		if err != nil || !reflect.DeepEqual(g2, g) || !reflect.DeepEqual(nodes2, nodes) {
			t.Errorf("%s: written and read again, it is another trace: %v", file, err)
		}
		if !bytes.Equal(again, content) {
			t.Errorf("%s: written again, it has %d bytes, for %d", file, len(again), len(content))
		}
	}
}

// TestImportSamples: the collectives of 4 ranks are carried out by the ring: an allreduce of
// 1 MiB in 6 rounds of 256 KiB, a reduce-scatter in 3, an allgather of 1 MiB of each rank in 3
// of 1 MiB, an all-to-all in 3 messages of 256 KiB. A ring that is spelt out in 8 files has
// 14 messages of 128 KiB a rank, and computes 49 us on rank 0.
func TestImportSamples(t *testing.T) {
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the samples are not here")
	}
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
		g, _, err := Import(samples+c.file, "", trace.Default())
		if err != nil {
			t.Fatal(err)
		}
		if n, size := g.Count(mpi.Send); n != c.messages || size != c.bytes {
			t.Errorf("%s: %d messages of %d B in all, want %d of %d", c.file, n, size, c.messages, c.bytes)
		}
		if _, err := (mpi.LogGOPS{L: 1000, Overhead: 100, Eager: 1 << 30}).Run(g.Replay(1), nil); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
	}
	_, report, err := Import(samples+"pytorch_rank0_first400.et.gz", "", trace.Default())
	if err == nil || !strings.Contains(err.Error(), "4 x collective cannot be replayed: no attribute comm_type") {
		t.Errorf("a trace with unknown collectives: %v", err)
	}
	var b strings.Builder
	report.Write(&b)
	if !strings.Contains(b.String(), "replayed            394  compute\n") {
		t.Errorf("report:\n%s", b.String())
	}
}

// traceOf writes a trace of ranks under PREFIX.RANK.et and returns the first name.
func traceOf(t *testing.T, ranks ...[]*Node) string {
	dir := t.TempDir()
	for r, nodes := range ranks {
		if err := os.WriteFile(filepath.Join(dir, "t."+string(rune('0'+r))+".et"), write(t, Global{Version: "0.0.4"}, nodes), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "t.0.et")
}

// TestExport: a schedule that is written as a trace is the same when it is imported.
func TestExport(t *testing.T) {
	const text = "num_ranks 2\n\nrank 0 {\nl1: calc 1234567\nl2: calc 5000\nl3: send 4096b to 1 tag 7\nl2 requires l1\nl3 requires l1\nl3 requires l2\n}\n\nrank 1 {\nl1: recv 4096b from 0 tag 7\nl2: calc 999\nl2 requires l1\n}\n"
	for name, text := range map[string]string{"own": text, "packed": text} {
		g, err := goal.Parse("x", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file := func(rank int) string { return filepath.Join(dir, "t."+string(rune('0'+rank))+".et") }
		if err := Export(g, func(rank int) (io.WriteCloser, error) { return os.Create(file(rank)) }); err != nil {
			t.Fatal(err)
		}
		if name == "packed" {
			file = func(rank int) string { return filepath.Join(dir, "t."+string(rune('0'+rank))+".et.gz") }
			for r := range 2 {
				content, err := os.ReadFile(strings.TrimSuffix(file(r), ".gz"))
				if err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				w.Write(content)
				w.Close()
				if err := os.WriteFile(file(r), b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		back, _, err := Import(file(1), "", trace.Default())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		back.WriteTo(&b)
		if b.String() != text {
			t.Errorf("%s: comes back as:\n%s", name, b.String())
		}
	}
	for what, text := range map[string]string{
		"any rank":   "num_ranks 1\nrank 0 {\nrecv 8b from -1\n}\n",
		"irequires":  "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nb irequires a\n}\n",
		"beyond the": "num_ranks 1\nrank 0 {\ncalc 1 cpu 1\n}\n",
	} {
		g, err := goal.Parse("x", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		err = Export(g, func(int) (io.WriteCloser, error) { return os.Create(filepath.Join(t.TempDir(), "x")) })
		if err == nil || !strings.HasPrefix(err.Error(), "x:") || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func number(name string, value int64) Attribute { return integerAttribute(name, value) }

// TestGroupsAndScale: a collective of a group goes between its members only; computing times
// are scaled: 4 us by 0.5 are 2000 ns.
func TestGroupsAndScale(t *testing.T) {
	group := Attribute{Name: "pg_name", field: fieldString, value: append([]byte{1}, "g"...)}
	member := []*Node{{ID: 7, Type: Compute, Duration: 4}, {ID: 3, Type: Collective, Data: []uint64{7}, Attr: []Attribute{number("comm_type", 0), number("comm_size", 600), group}}}
	file := traceOf(t, member, []*Node{{ID: 1, Type: Metadata}}, member)
	if _, _, err := Import(file, "", trace.Default()); err == nil || !strings.Contains(err.Error(), "2 x all-reduce cannot be replayed: of a process group whose ranks are not known") {
		t.Error(err)
	}
	groups := filepath.Join(filepath.Dir(file), "groups.json")
	if err := os.WriteFile(groups, []byte(`{"g": [2, 0]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	s := trace.Default()
	s.Allreduce = "alltoall-ring"
	if _, _, err := Import(file, groups, s); err == nil || !strings.Contains(err.Error(), "allreduce = alltoall-ring: want an algorithm of allreduce") {
		t.Error(err)
	}
	s.Allreduce = trace.Default().Allreduce
	s.Compute = 0.5
	g, report, err := Import(file, groups, s)
	if err != nil {
		t.Fatal(err)
	}
	// The ring of two: 2 rounds of half the vector for each of the two.
	if n, size := g.Count(mpi.Send); n != 4 || size != 4*300 {
		t.Errorf("%d messages, %d B", n, size)
	}
	if _, ns := g.Count(mpi.Calc); ns != 4000 {
		t.Errorf("computing %d ns", ns)
	}
	var b strings.Builder
	report.Write(&b)
	if want := "replayed              2  compute\nreplayed              1  metadata\napproximated          2  all-reduce: combining takes no time\n"; b.String() != want {
		t.Errorf("report:\n%s\nwant:\n%s", b.String(), want)
	}
}

// TestRefused: what is wrong is named with its file and place.
func TestRefused(t *testing.T) {
	send := func(peer int64) []*Node {
		return []*Node{{ID: 1, Type: Send, Attr: []Attribute{number("comm_dst", peer), number("comm_size", 8)}}}
	}
	reduce := func(bytes int64) []*Node {
		return []*Node{{ID: 1, Type: Collective, Attr: []Attribute{number("comm_type", 0), number("comm_size", bytes)}}}
	}
	for _, c := range []struct {
		name, want string
		ranks      [][]*Node
	}{
		{"cycle", "dependency cycle in rank 0", [][]*Node{{{ID: 1, Type: Compute, Data: []uint64{2}}, {ID: 2, Type: Compute, Control: []uint64{1}}}}},
		{"missing", "t.0.et: node 1: 1 x dependency cannot be replayed: on a node that is not there; is the trace truncated?", [][]*Node{{{ID: 1, Type: Compute, Data: []uint64{9}}}}},
		{"twice", "t.0.et: byte 13: a second node 1", [][]*Node{{{ID: 1, Type: Compute}, {ID: 1, Type: Compute}}}},
		{"peer", "t.0.et: byte 8: node 1: send with rank 1, tag 0: ranks are 0 to 0", [][]*Node{send(1)}},
		{"no peer", "node 1: a send without comm_dst or comm_size", [][]*Node{{{ID: 1, Type: Send}}}},
		{"type", "t.0.et: node 1: 1 x type 12 cannot be replayed", [][]*Node{{{ID: 1, Type: 12}}}},
		{"other size", "t.1.et: byte 8: node 1: collective 0 of group \"\" is allreduce of 9 B", [][]*Node{reduce(8), reduce(9)}},
		{"gather", "1 x gather cannot be replayed: weft has no algorithm", [][]*Node{{{ID: 1, Type: Collective, Attr: []Attribute{number("comm_type", 3), number("comm_size", 1)}}}}},
	} {
		if _, _, err := Import(traceOf(t, c.ranks...), "", trace.Default()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
	s := trace.Default()
	s.Drop = true
	if _, _, err := Import(traceOf(t, []*Node{{ID: 1, Type: Compute, Data: []uint64{9}}, {ID: 2, Type: 12}}), "", s); err != nil {
		t.Errorf("with drop: %v", err)
	}
	whole := write(t, Global{Version: "0.0.4"}, send(0))
	for n := range len(whole) {
		if _, nodes, err := read(bytes.NewReader(whole[:n])); (err == nil) != (n == 8) || n == 8 && len(nodes) > 0 {
			t.Errorf("the first %d bytes: %v", n, err) // 8 are the description alone
		}
	}
	for _, foreign := range []string{"num_ranks 2\n", "\x1f\x8b\x08", "{\"a\": 1}", "\x05hello world"} {
		if _, _, err := read(strings.NewReader(foreign)); err == nil || !strings.HasPrefix(err.Error(), "byte ") {
			t.Errorf("%q: %v", foreign, err)
		}
	}
	file := traceOf(t, send(0), send(0), send(0))
	if err := os.Remove(strings.Replace(file, "t.0", "t.1", 1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Import(file, "", trace.Default()); err == nil || !strings.Contains(err.Error(), "t.1.et: no such file") {
		t.Errorf("a rank is missing: %v", err)
	}
}

// FuzzReader: a trace that is accepted is the same when it is written and read again.
func FuzzReader(f *testing.F) {
	f.Add(write(f, Global{Version: "0.0.4"}, []*Node{{ID: 1, Name: "a", Type: Send, Control: []uint64{2}, Duration: 3, inputs: []byte{10, 0}, Attr: []Attribute{number("comm_dst", 1)}}, {ID: 2}}))
	f.Fuzz(func(t *testing.T, content []byte) {
		g, nodes, err := read(bytes.NewReader(content))
		if err != nil {
			return
		}
		g2, nodes2, err := read(bytes.NewReader(write(t, g, nodes)))
		if err != nil || len(nodes2) != len(nodes) || len(g2.Attr) != len(g.Attr) {
			t.Fatalf("%v", err)
		}
		for i, n := range nodes {
			if !bytes.Equal(write(t, g, nodes[i:i+1]), write(t, g2, nodes2[i:i+1])) {
				t.Errorf("node %d is another", n.ID)
			}
		}
	})
}
