package parquet

import "encoding/binary"

// thrift writes structures in Thrift's compact protocol, in which Parquet keeps its
// headers and its footer.
type thrift struct {
	b    []byte
	last []int16 // number of the last field, by depth of structures
}

// Types of the compact protocol.
const (
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// field begins the field of a number and a type; numbers rise within a structure.
func (t *thrift) field(number int16, typ byte) {
	last := &t.last[len(t.last)-1]
	if step := number - *last; step > 0 && step < 16 {
		t.b = append(t.b, byte(step)<<4|typ)
	} else {
		t.b = append(t.b, typ)
		t.b = binary.AppendVarint(t.b, int64(number))
	}
	*last = number
}

func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thrift) i32(number int16, x int) {
	t.field(number, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(x))
}

func (t *thrift) i64(number int16, x int) {
	t.field(number, thriftI64)
	t.b = binary.AppendVarint(t.b, int64(x))
}

func (t *thrift) text(number int16, s string) {
	t.field(number, thriftBinary)
	t.bytes(s)
}

func (t *thrift) bytes(s string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

// list begins a list of so many elements, which the caller writes without fields.
func (t *thrift) list(number int16, typ byte, length int) {
	t.field(number, thriftList)
	if length < 15 {
		t.b = append(t.b, byte(length)<<4|typ)
		return
	}
	t.b = append(t.b, 0xf0|typ)
	t.b = binary.AppendUvarint(t.b, uint64(length))
}

// inner writes a structure as a field.
func (t *thrift) inner(number int16, write func()) {
	t.field(number, thriftStruct)
	t.element(write)
}

// element writes a structure as an element of a list, or as a whole.
func (t *thrift) element(write func()) {
	t.begin()
	write()
	t.end()
}
