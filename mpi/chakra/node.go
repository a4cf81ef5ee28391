package chakra

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-sim/weft/mpi/goal"
)

type nodeType uint64

// The types of nodes.
const (
	_ nodeType = iota
	metadata
	load
	store
	compute
	send
	receive
	collective
)

var typeNames = [...]string{"invalid", "metadata", "memory load", "memory store", "compute", "send", "receive", "collective"}

func (t nodeType) String() string {
	if t < nodeType(len(typeNames)) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint64(t))
}

// node is an operation of a rank. Its name, start, inputs and outputs are read over.
type node struct {
	id            uint64
	kind          nodeType
	control, data []uint64 // nodes that must end before
	duration      uint64   // us
	attr          []attribute
}

// clear makes the node one without fields, in the same memory.
func (n *node) clear() { *n = node{control: n.control[:0], data: n.data[:0], attr: n.attr[:0]} }

// known are the attributes that are read; others are read over.
var known = map[string]bool{nanoseconds: true, "comm_dst": true, "comm_src": true, "comm_size": true, "comm_tag": true, "comm_type": true, "root": true, "involved_dim": true, "pg_name": true}

// attribute is a named value of a node, as it was written, whose kind differs between writers.
type attribute struct {
	name  string
	field protowire.Number // which kind of value; 0: none
	value []byte           // with its own length, if it has one
}

// Fields of attributes; a list of a kind has the number after it.
const (
	fieldDouble, fieldFloat, fieldInt32, fieldInt64, fieldUint32, fieldUint64 = 3, 5, 7, 9, 11, 13
	fieldSint32, fieldSint64                                                  = 15, 17
	fieldFixed32, fieldFixed64, fieldSfixed32, fieldSfixed64                  = 19, 21, 23, 25
	fieldBool, fieldString                                                    = 27, 29
	lastField                                                                 = 32
)

// wireType is how a value of a kind is written: lists, strings and bytes with their length, whose
// numbers are even, or of the last two kinds.
func wireType(field protowire.Number) protowire.Type {
	switch {
	case field%2 == 0 || field >= fieldString:
		return protowire.BytesType
	case field == fieldDouble || field == fieldFixed64 || field == fieldSfixed64:
		return protowire.Fixed64Type
	case field == fieldFloat || field == fieldFixed32 || field == fieldSfixed32:
		return protowire.Fixed32Type
	}
	return protowire.VarintType
}

func (n *node) attribute(name string) attribute {
	for _, a := range n.attr {
		if a.name == name {
			return a
		}
	}
	return attribute{}
}

// integer is the value of an attribute of any integer kind, if it is there.
func (n *node) integer(name string) (value int64, ok bool, err error) {
	a := n.attribute(name)
	var v uint64
	switch wire := wireType(a.field); {
	case a.name == "":
		return 0, false, nil
	case wire == protowire.VarintType:
		v, _ = protowire.ConsumeVarint(a.value)
	case wire == protowire.Fixed32Type && a.field != fieldFloat:
		v32, _ := protowire.ConsumeFixed32(a.value)
		v = uint64(v32)
	case wire == protowire.Fixed64Type && a.field != fieldDouble:
		v, _ = protowire.ConsumeFixed64(a.value)
	default:
		v, a.field = math.MaxUint64, fieldUint64
	}
	switch a.field {
	case fieldSint32, fieldSint64:
		return protowire.DecodeZigZag(v), true, nil
	case fieldSfixed32:
		return int64(int32(v)), true, nil
	case fieldUint64, fieldFixed64:
		if v > math.MaxInt64 {
			return 0, false, fmt.Errorf("node %d: attribute %s is no integer below 2^63", n.id, name)
		}
	}
	return int64(v), true, nil
}

// mostMessage bounds a message, in bytes.
const mostMessage = 1 << 24

// reader reads a trace message by message.
type reader struct {
	*goal.Bytes
	begin   int64 // of the message
	message []byte
}

// open opens the trace of a rank, whose description of itself stands first.
func open(name string) (*reader, error) {
	b, err := goal.OpenBytes(name, "the file ends inside a message: is it truncated?")
	if err != nil {
		return nil, err
	}
	d := &reader{Bytes: b}
	if !d.next(description) {
		d.Fail(0, "an empty file")
	}
	if d.Err != nil {
		d.Close()
	}
	return d, d.Err
}

// Is tells whether a file begins like a trace: with a description, which may be empty before a node.
func Is(in *bufio.Reader) bool {
	begin, _ := in.Peek(in.Size())
	visit := visitor(description)
	if len(begin) > 0 && begin[0] == 0 {
		begin, visit = begin[1:], new(node).field
	}
	length, n := binary.Uvarint(begin)
	return n > 0 && length > 0 && length <= uint64(len(begin)-n) && fields(begin[n:][:length], visit) == nil
}

// next visits the fields of the next message; false if there is none, and after an error.
func (d *reader) next(visit visitor) bool {
	if _, err := d.In.Peek(1); err == io.EOF {
		return false
	}
	d.begin = d.At
	length := d.Uvarint()
	if length > mostMessage {
		d.Fail(d.begin, "a message of %d bytes: want at most %d; is it another format?", length, mostMessage)
	}
	d.message = d.Append(d.message[:0], int(min(length, mostMessage)))
	if d.Err == nil {
		if err := fields(d.message, visit); err != nil {
			d.Fail(d.begin, "%w", err)
		}
	}
	return d.Err == nil
}

// visitor is told of a field of a message, whose value is as it stands there.
type visitor func(field protowire.Number, kind protowire.Type, value []byte) error

func fields(message []byte, visit visitor) error {
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

// description reads a field of a trace's description of itself: its version and attributes,
// which are read over.
func description(field protowire.Number, kind protowire.Type, value []byte) error {
	switch {
	case field == 1 && kind == protowire.BytesType:
		return nil
	case field == 2 && kind == protowire.BytesType:
		return new(attribute).read(value)
	}
	return fmt.Errorf("field %d has no place in a trace's description: is it another format?", field)
}

func (n *node) field(field protowire.Number, kind protowire.Type, value []byte) (err error) {
	want := protowire.BytesType
	switch field {
	case 4:
		n.control, err = numbers(n.control, kind, value)
		return err
	case 5:
		n.data, err = numbers(n.data, kind, value)
		return err
	case 1, 3, 6, 7:
		want = protowire.VarintType
	}
	if kind != want {
		return fmt.Errorf("field %d of a node has wire type %d: want %d", field, kind, want)
	}
	number, _ := protowire.ConsumeVarint(value)
	switch field {
	case 1:
		n.id = number
	case 3:
		n.kind = nodeType(number)
	case 7:
		n.duration = number
	case 2, 6, 8, 9: // name, start, inputs, outputs
	case 10:
		var a attribute
		if err = a.read(value); known[a.name] && n.attribute(a.name).name == "" { // the first of a name counts
			a.value = slices.Clone(a.value)
			n.attr = append(n.attr, a)
		}
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

// read reads an attribute, but for its documentation; its value is part of the message.
func (a *attribute) read(message []byte) error {
	return fields(content(message), func(field protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case field > lastField:
			return fmt.Errorf("field %d has no place in an attribute", field)
		case field <= 2 && kind != protowire.BytesType || field > 2 && kind != wireType(field):
			return fmt.Errorf("field %d of an attribute has wire type %d", field, kind)
		case field == 1:
			a.name = string(content(value))
		case field > 2:
			a.field, a.value = field, value
		}
		return nil
	})
}

// allTrue tells whether the attribute is a list of bools with no false one.
func (a *attribute) allTrue() bool {
	if a.field != fieldBool+1 {
		return false
	}
	return fields(content(a.value), func(_ protowire.Number, kind protowire.Type, value []byte) error {
		values, err := numbers(nil, kind, value)
		for _, v := range values {
			if v == 0 {
				err = errors.New("false")
			}
		}
		return err
	}) == nil
}

// content is a value without its length.
func content(value []byte) []byte {
	v, _ := protowire.ConsumeBytes(value)
	return v
}
