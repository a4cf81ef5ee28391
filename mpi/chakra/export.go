package chakra

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
)

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

// exportRank writes the trace of a rank.
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

// integer makes an attribute of kind int64.
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

// node writes a node.
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
