package chakra

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Writer writes a trace message by message.
type Writer struct {
	out  *bufio.Writer
	node []byte
}

// NewWriter begins a trace.
func NewWriter(w io.Writer, g Global) *Writer {
	e := &Writer{out: bufio.NewWriterSize(w, 1<<16)}
	var b []byte
	if g.Version != "" {
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), g.Version)
	}
	for i := range g.Attr {
		b = g.Attr[i].append(b, 2)
	}
	e.message(b)
	return e
}

// message writes one; the first error stays, and Flush returns it.
func (e *Writer) message(b []byte) {
	e.out.Write(protowire.AppendVarint(nil, uint64(len(b))))
	e.out.Write(b)
}

// Write writes a node.
func (e *Writer) Write(n *Node) {
	b := e.node[:0]
	number := func(field protowire.Number, value uint64) {
		if value != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
		}
	}
	bytes := func(field protowire.Number, value []byte) {
		if len(value) > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
		}
	}
	list := func(field protowire.Number, values []uint64) {
		var packed []byte
		for _, v := range values {
			packed = protowire.AppendVarint(packed, v)
		}
		bytes(field, packed)
	}
	number(1, n.ID)
	bytes(2, []byte(n.Name))
	number(3, uint64(n.Type))
	list(4, n.Control)
	list(5, n.Data)
	number(6, n.Start)
	number(7, n.Duration)
	bytes(8, n.inputs)
	bytes(9, n.outputs)
	for i := range n.Attr {
		b = n.Attr[i].append(b, 10)
	}
	e.node = b
	e.message(b)
}

// append appends the attribute as a field.
func (a *Attribute) append(b []byte, field protowire.Number) []byte {
	var v []byte
	if a.Name != "" {
		v = protowire.AppendString(protowire.AppendTag(v, 1, protowire.BytesType), a.Name)
	}
	if a.doc != nil {
		v = append(protowire.AppendTag(v, 2, protowire.BytesType), a.doc...)
	}
	if a.field != 0 {
		v = append(protowire.AppendTag(v, a.field, wireType(a.field)), a.value...)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// wireType is how an attribute's value of a kind is written: lists, strings and bytes
// with their length, whose numbers are even, or of the last two kinds.
func wireType(field protowire.Number) protowire.Type {
	switch {
	case field%2 == 0 || field >= fieldString:
		return protowire.BytesType
	case field == 3 || field == fieldFixed64 || field == fieldSfixed64:
		return protowire.Fixed64Type
	case field == 5 || field == fieldFixed32 || field == fieldSfixed32:
		return protowire.Fixed32Type
	}
	return protowire.VarintType
}

// Flush ends the trace.
func (e *Writer) Flush() error { return e.out.Flush() }
