package chakra

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is what a node does.
type Type uint64

// The types of nodes.
const (
	Invalid Type = iota
	Metadata
	Load
	Store
	Compute
	Send
	Receive
	Collective
)

var typeNames = [...]string{"invalid", "metadata", "memory load", "memory store", "compute", "send", "receive", "collective"}

func (t Type) String() string {
	if t < Type(len(typeNames)) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint64(t))
}

// Attribute is a named value of a node or a trace. It is kept as it was written, whose
// kind differs between writers.
type Attribute struct {
	Name  string
	field protowire.Number // which kind of value; 0: none
	value []byte           // with its own length, if it has one
	doc   []byte
}

// Node is an operation of a rank.
type Node struct {
	ID       uint64
	Name     string
	Type     Type
	Control  []uint64 // nodes that must end before
	Data     []uint64
	Start    uint64 // us
	Duration uint64 // us
	inputs   []byte
	outputs  []byte
	Attr     []Attribute
}

// Global is what a trace says of itself.
type Global struct {
	Version string
	Attr    []Attribute
}

// Fields of attributes; a list of a kind has the number after it.
const (
	fieldInt32, fieldInt64, fieldUint32, fieldUint64         = 7, 9, 11, 13
	fieldSint32, fieldSint64                                 = 15, 17
	fieldFixed32, fieldFixed64, fieldSfixed32, fieldSfixed64 = 19, 21, 23, 25
	fieldBool, fieldString                                   = 27, 29
	lastField                                                = 32
)

// Integer is the value of an attribute of any integer kind.
func (a *Attribute) Integer() (int64, bool) {
	switch a.field {
	case fieldInt32, fieldInt64, fieldUint32, fieldUint64, fieldBool:
		v, n := protowire.ConsumeVarint(a.value)
		return int64(v), n > 0 && (a.field != fieldUint64 || v <= math.MaxInt64)
	case fieldSint32, fieldSint64:
		v, n := protowire.ConsumeVarint(a.value)
		return protowire.DecodeZigZag(v), n > 0
	case fieldFixed32, fieldSfixed32:
		v, n := protowire.ConsumeFixed32(a.value)
		if a.field == fieldFixed32 {
			return int64(v), n > 0
		}
		return int64(int32(v)), n > 0
	case fieldFixed64, fieldSfixed64:
		v, n := protowire.ConsumeFixed64(a.value)
		return int64(v), n > 0 && (a.field == fieldSfixed64 || v <= math.MaxInt64)
	}
	return 0, false
}

// Text is the value of an attribute that is a string.
func (a *Attribute) Text() (string, bool) {
	v, n := protowire.ConsumeBytes(a.value)
	return string(v), n > 0 && a.field == fieldString
}

// attribute finds an attribute of the node.
func (n *Node) attribute(name string) *Attribute {
	for i := range n.Attr {
		if n.Attr[i].Name == name {
			return &n.Attr[i]
		}
	}
	return nil
}

// integer is the value of an integer attribute.
func (n *Node) integer(name string) (value int64, ok bool, err error) {
	a := n.attribute(name)
	if a == nil {
		return 0, false, nil
	}
	if value, ok = a.Integer(); !ok {
		return 0, false, fmt.Errorf("node %d: attribute %s is no integer below 2^63", n.ID, name)
	}
	return value, true, nil
}

// integerAttribute makes an attribute of kind int64.
func integerAttribute(name string, value int64) Attribute {
	return Attribute{Name: name, field: fieldInt64, value: protowire.AppendVarint(nil, uint64(value))}
}

// mostMessage bounds a message, in bytes.
const mostMessage = 1 << 26

// Reader reads a trace message by message.
type Reader struct {
	in    *bufio.Reader
	at    int64 // bytes read
	bytes []byte
}

// NewReader reads a trace's description of itself, which stands first.
func NewReader(r io.Reader) (*Reader, Global, error) {
	d := &Reader{in: bufio.NewReaderSize(r, 1<<16)}
	var g Global
	message, err := d.message()
	if err == io.EOF {
		return nil, g, errors.New("byte 0: an empty file")
	}
	if err != nil {
		return nil, g, err
	}
	err = fields(message, func(field protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case field == 1 && kind == protowire.BytesType:
			g.Version = string(content(value))
		case field == 2 && kind == protowire.BytesType:
			a, err := attribute(content(value))
			g.Attr = append(g.Attr, a)
			return err
		default:
			return fmt.Errorf("field %d has no place in a trace's description: is it another format?", field)
		}
		return nil
	})
	if err != nil {
		return nil, g, fmt.Errorf("byte 0: %w", err)
	}
	return d, g, nil
}

// message is the next one, or io.EOF. It is good until the next call.
func (d *Reader) message() ([]byte, error) {
	if _, err := d.in.Peek(1); err != nil {
		return nil, d.place(d.at, err)
	}
	start := d.at
	length, err := binary.ReadUvarint(countedBytes{d})
	if err == nil && length > mostMessage {
		err = fmt.Errorf("a message of %d bytes: want at most %d; is it another format?", length, mostMessage)
	}
	if err != nil {
		return nil, d.place(start, truncated(err))
	}
	if uint64(cap(d.bytes)) < length {
		d.bytes = make([]byte, length)
	}
	d.bytes = d.bytes[:length]
	n, err := io.ReadFull(d.in, d.bytes)
	d.at += int64(n)
	if err != nil {
		return nil, d.place(start, truncated(err))
	}
	return d.bytes, nil
}

// place adds where an error is, unless it is the end of the file.
func (d *Reader) place(at int64, err error) error {
	if err == io.EOF {
		return err
	}
	return fmt.Errorf("byte %d: %w", at, err)
}

func truncated(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the file ends inside this message: is it truncated?")
	}
	return err
}

type countedBytes struct{ d *Reader }

func (c countedBytes) ReadByte() (byte, error) {
	b, err := c.d.in.ReadByte()
	if err == nil {
		c.d.at++
	}
	return b, err
}

// Next is the next node, or io.EOF.
func (d *Reader) Next() (*Node, error) {
	start := d.at
	message, err := d.message()
	if err != nil {
		return nil, err
	}
	n := &Node{}
	if err := fields(message, n.field); err != nil {
		return nil, d.place(start, err)
	}
	return n, nil
}

// field reads a field of a node.
func (n *Node) field(field protowire.Number, kind protowire.Type, value []byte) (err error) {
	switch field {
	case 4:
		n.Control, err = numbers(n.Control, kind, value)
		return err
	case 5:
		n.Data, err = numbers(n.Data, kind, value)
		return err
	}
	want := protowire.BytesType
	switch field {
	case 1, 3, 6, 7:
		want = protowire.VarintType
	}
	if kind != want {
		return fmt.Errorf("field %d of a node has wire type %d: want %d", field, kind, want)
	}
	number, _ := protowire.ConsumeVarint(value)
	switch field {
	case 1:
		n.ID = number
	case 2:
		n.Name = string(content(value))
	case 3:
		n.Type = Type(number)
	case 6:
		n.Start = number
	case 7:
		n.Duration = number
	case 8:
		n.inputs = append(n.inputs, content(value)...) // messages that are repeated are merged
	case 9:
		n.outputs = append(n.outputs, content(value)...)
	case 10:
		a, err := attribute(content(value))
		n.Attr = append(n.Attr, a)
		return err
	default:
		return fmt.Errorf("field %d has no place in a node: is it another format?", field)
	}
	return nil
}

// numbers reads a list of numbers, packed or not.
func numbers(to []uint64, kind protowire.Type, value []byte) ([]uint64, error) {
	if kind == protowire.BytesType {
		value = content(value)
	} else if kind != protowire.VarintType {
		return to, fmt.Errorf("dependencies of wire type %d: want 0 or 2", kind)
	}
	for len(value) > 0 {
		number, n := protowire.ConsumeVarint(value)
		if n < 0 {
			return to, fmt.Errorf("dependencies: %w", protowire.ParseError(n))
		}
		to, value = append(to, number), value[n:]
	}
	return to, nil
}

// attribute reads an attribute.
func attribute(message []byte) (a Attribute, err error) {
	err = fields(message, func(field protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case field > lastField:
			return fmt.Errorf("field %d has no place in an attribute", field)
		case field <= 2 && kind != protowire.BytesType || field > 2 && kind != wireType(field):
			return fmt.Errorf("field %d of an attribute has wire type %d", field, kind)
		case field == 1:
			a.Name = string(content(value))
		case field == 2:
			a.doc = append([]byte(nil), value...)
		default:
			a.field, a.value = field, append([]byte(nil), value...)
		}
		return nil
	})
	return a, err
}

// fields calls visit for every field of a message, whose value is as it stands there.
func fields(message []byte, visit func(field protowire.Number, kind protowire.Type, value []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
			return protowire.ParseError(n)
		}
		if err := visit(field, kind, message[:n]); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// content is a value without its length.
func content(value []byte) []byte {
	v, n := protowire.ConsumeBytes(value)
	if n < 0 {
		return nil
	}
	return v
}
