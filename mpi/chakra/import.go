// Package chakra reads and writes Chakra execution traces, as PyTorch, NCCL's tools and
// ASTRA-sim exchange them: one file a rank, of nodes with dependencies.
package chakra

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// naming is how files of a trace are named: PREFIX.RANK.et, or rank_RANK.et and the like, of any packing.
var naming = trace.Naming{Pattern: input.Pattern(`^(|.*[^0-9])(0|[1-9][0-9]{0,8})(\.et(?:\.gz|\.zst)?)$`), Digits: 1, Sure: "."}

// Files are the files of the trace to which one of them belongs, by rank.
func Files(name string) []string { return naming.Files(name) }

// Import makes a schedule of a trace, of which name is one file; groups is the file of
// process groups, if there is one. The report is there if the trace was read to its end.
func Import(name, groups string, settings trace.Settings) (*goal.Schedule, *trace.Report, error) {
	files := Files(name)
	b := &importer{Builder: trace.NewBuilder(name, len(files), settings)}
	if groups != "" {
		text, err := input.ReadInput(groups, input.MaxSettings)
		if err == nil {
			err = cmp.Or(input.CheckUTF8(text), json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &b.groups))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w: want an object of lists of ranks", groups, err)
		}
		for g, members := range b.groups {
			if len(members) == 0 {
				return nil, nil, fmt.Errorf("%s: group %q has no ranks", groups, g)
			}
			seen := make([]bool, len(files))
			for _, r := range members {
				if r < 0 || r >= len(files) || seen[r] {
					return nil, nil, fmt.Errorf("%s: group %q: rank %d: want 0 to %d, each once", groups, g, r, len(files)-1)
				}
				seen[r] = true
			}
		}
	}
	for _, file := range files {
		if err := b.rank(file); err != nil {
			return nil, nil, err
		}
	}
	return b.Schedule()
}

// importer makes the schedule of a trace.
type importer struct {
	*trace.Builder
	groups map[string][]int
	nodes  map[uint64]placed // of this rank
}

// placed are the first and the last operation of a node.
type placed struct{ first, last int32 }

// mostDepends bounds the dependencies of a rank.
const mostDepends = 1 << 27

// waits says that a node waits for another.
type waits struct {
	node   int32 // its first operation
	number uint64
	before uint64
}

func (b *importer) rank(file string) error {
	d, err := open(file)
	if err != nil {
		return err
	}
	defer d.Close()
	b.Rank()
	b.nodes = map[uint64]placed{}
	open := mem.List[waits]{Spill: &mem.Spill{}}
	defer open.Spill.Free()
	n := &node{}
	for n.clear(); d.next(n.field); n.clear() {
		if _, twice := b.nodes[n.id]; twice {
			d.Fail(d.begin, "a second node %d", n.id)
			return d.Err
		}
		b.Place = func() string { return fmt.Sprintf("%s: node %d", file, n.id) }
		p, err := b.node(n)
		if err != nil {
			d.Fail(d.begin, "node %d: %w", n.id, err)
			return d.Err
		}
		b.nodes[n.id] = p
		n.control = append(n.control, n.data...)
		slices.Sort(n.control)
		for _, before := range slices.Compact(n.control) { // each once: it may stand there a million times
			open.Add(waits{p.first, n.id, before})
		}
		if open.Len() > mostDepends {
			d.Fail(d.begin, "node %d: more than %d dependencies so far", n.id, mostDepends)
			return d.Err
		}
	}
	if d.Err != nil {
		return d.Err
	}
	for _, w := range open.All {
		before, ok := b.nodes[w.before]
		if !ok {
			b.Place = func() string { return fmt.Sprintf("%s: node %d", file, w.number) }
			b.Count(trace.Refused, "dependency", "on a node that is not there; is the trace truncated?")
			continue
		}
		b.After(before.last, w.node)
	}
	return nil
}

func (b *importer) node(n *node) (p placed, err error) {
	duration, exact, err := n.integer(nanoseconds)
	if err != nil {
		return p, err
	}
	ns := float64(n.duration) * 1000
	if exact {
		ns = float64(duration)
	}
	note := ""
	switch n.kind {
	case compute:
	case metadata:
		ns = 0
	case load, store:
		note = "takes its time as a computation does"
	case send, receive:
		return b.message(n)
	case collective:
		return b.collective(n)
	default:
		return b.refuse(n.kind.String(), "no type of the format")
	}
	b.Noted(n.kind.String(), note)
	return b.alone(ns)
}

// refuse appends nothing of a node but what others wait for.
func (b *importer) refuse(name, why string) (placed, error) {
	b.Count(trace.Refused, name, why)
	return b.alone(0)
}

// alone appends a node that is one computation.
func (b *importer) alone(ns float64) (placed, error) {
	id, err := b.Compute(ns)
	return placed{id, id}, err
}

func (b *importer) message(n *node) (placed, error) {
	kind, peerName := mpi.Send, "comm_dst"
	if n.kind == receive {
		kind, peerName = mpi.Recv, "comm_src"
	}
	peer, given, err := n.integer(peerName)
	bytes, sized, err2 := n.integer("comm_size")
	tag, _, err3 := n.integer("comm_tag")
	if err := errors.Join(err, err2, err3); err != nil {
		return placed{}, err
	}
	if !given || !sized {
		return placed{}, fmt.Errorf("a %s without %s or comm_size", n.kind, peerName)
	}
	b.Count(trace.Replayed, n.kind.String(), "")
	id, err := b.Message(kind, bytes, peer, tag)
	return placed{id, id}, err
}

// Numbers of collectives in attribute comm_type, with what they are replayed as; "": nothing.
var collectives = []struct {
	name      string
	operation trace.Operation
}{
	{"all-reduce", trace.Allreduce}, {"reduce", trace.Reduce}, {"all-gather", trace.Allgather}, {"gather", ""}, {"scatter", ""}, {"broadcast", trace.Broadcast},
	{"all-to-all", trace.Alltoall}, {"reduce-scatter", trace.ReduceScatter}, {"reduce-scatter-block", ""}, {"barrier", trace.Barrier},
}

func (b *importer) collective(n *node) (p placed, err error) {
	number, given, err := n.integer("comm_type")
	bytes, sized, err2 := n.integer("comm_size")
	root, rooted, err3 := n.integer("root")
	if err := errors.Join(err, err2, err3); err != nil {
		return p, err
	}
	if !given {
		return b.refuse("collective", "no attribute comm_type, as waits have")
	}
	if number < 0 || number >= int64(len(collectives)) {
		return b.refuse("collective", "an unknown comm_type")
	}
	name, operation := collectives[number].name, collectives[number].operation
	if !sized && name != "barrier" {
		return b.refuse(name, "no attribute comm_size")
	}
	if dims := n.attribute("involved_dim"); dims.name != "" && !dims.allTrue() {
		return b.refuse(name, "in some dimensions of the network only (involved_dim)")
	}
	of := &trace.Communicator{}
	if a := n.attribute("pg_name"); a.field == fieldString {
		of.Name = string(content(a.value))
	}
	if of.Name != "" {
		if of.Members = b.groups[of.Name]; of.Members == nil {
			return b.refuse(name, "of a process group whose ranks are not known")
		}
	}
	size := int64(b.Size(of))
	if bytes < 0 || bytes > math.MaxInt64/2 {
		return p, fmt.Errorf("%s of %d B", name, bytes)
	}
	note := operation.Note()
	switch operation {
	case "":
		return b.refuse(name, "weft has no algorithm")
	case trace.Alltoall:
		if bytes%size != 0 {
			note = "blocks of equal size, rounded up"
		}
		bytes = (bytes + size - 1) / size
	case trace.Broadcast, trace.Reduce:
		if !rooted {
			note = strings.TrimPrefix(note+"; from the group's first rank, as no root is given", "; ")
		}
	}
	b.Noted(name, note)
	p.first, p.last, err = b.Collective(operation, of, bytes, int(root))
	return p, err
}

// nanoseconds is the attribute that gives a computation of weft its exact length, as
// durations are in us.
const nanoseconds = "weft_duration_ns"

// Export writes a schedule as a trace, a file a rank, which create opens. Dependencies on
// starts, receives from any rank and CPUs or NICs beyond the first are refused: the format
// has no words for them.
func Export(g *goal.Schedule, create func(rank int) (io.WriteCloser, error)) error {
	for r := range g.Ranks() {
		f, err := create(r)
		if err != nil {
			return err
		}
		err = exportRank(g, r, f)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func exportRank(g *goal.Schedule, rank int, f io.Writer) error {
	w := newWriter(f)
	var n node
	err := g.Steps(rank, func(s goal.Step) error {
		n = node{id: uint64(s.ID) + 1, kind: compute, data: n.data[:0], attr: n.attr[:0]}
		for _, before := range s.After {
			n.data = append(n.data, uint64(before)+1)
		}
		switch {
		case s.Kind == mpi.Calc:
			n.duration = uint64(s.Size / 1000)
			if s.Size%1000 != 0 {
				n.attr = append(n.attr, integer(nanoseconds, s.Size))
			}
		case s.Peer == mpi.Any || s.Tag == mpi.Any:
			return fmt.Errorf("%s: any rank or any tag, which the format cannot say", s.Op)
		default:
			source, destination := int64(rank), int64(s.Peer)
			n.kind = send
			if s.Kind == mpi.Recv {
				n.kind, source, destination = receive, destination, source
			}
			n.attr = append(n.attr, integer("comm_size", s.Size), integer("comm_src", source), integer("comm_dst", destination), integer("comm_tag", int64(s.Tag)))
		}
		w.node(&n, s.Kind.String()+"_"+strconv.Itoa(int(s.ID)+1))
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

func integer(name string, value int64) attribute {
	return attribute{name, fieldInt64, protowire.AppendVarint(nil, uint64(value))}
}

// writer writes a trace message by message; the first error stays, and Flush returns it.
type writer struct {
	*bufio.Writer
	bytes []byte
}

// newWriter begins a trace, with its version.
func newWriter(w io.Writer) *writer {
	e := &writer{Writer: bufio.NewWriterSize(w, 1<<16)}
	e.message(appendBytes(nil, 1, []byte("0.0.4")))
	return e
}

func (e *writer) message(b []byte) {
	e.Write(protowire.AppendVarint(nil, uint64(len(b))))
	e.Write(b)
}

func (e *writer) node(n *node, name string) {
	b := appendBytes(appendNumber(e.bytes[:0], 1, n.id), 2, []byte(name))
	b = appendNumber(b, 3, uint64(n.kind))
	for i, list := range [][]uint64{n.control, n.data} {
		var packed []byte
		for _, v := range list {
			packed = protowire.AppendVarint(packed, v)
		}
		b = appendBytes(b, protowire.Number(4+i), packed)
	}
	b = appendNumber(b, 7, n.duration)
	for _, a := range n.attr {
		value := appendBytes(nil, 1, []byte(a.name))
		value = append(protowire.AppendTag(value, a.field, wireType(a.field)), a.value...)
		b = appendBytes(b, 10, value)
	}
	e.bytes = b
	e.message(b)
}

// appendNumber and appendBytes append a field, unless it is empty.
func appendNumber(b []byte, field protowire.Number, value uint64) []byte {
	if value == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}
