package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestReadBack: a reader that knows the format's description and nothing of the writer
// finds every cell, missing ones among them, in several groups of rows.
func TestReadBack(t *testing.T) {
	columns := []Column{{"point", Integer}, {"traffic.load", Number}, {"saturated", Boolean}, {"state", Text}, {"empty", Text}}
	for i := range 14 { // more than 15 columns: the long form of lists
		columns = append(columns, Column{fmt.Sprintf("c%d", i), Number})
	}
	for _, n := range []int{0, 1, 9, rowsInGroup + 3} {
		rows := make([][]string, n)
		for r := range rows {
			rows[r] = make([]string, len(columns))
			copy(rows[r], []string{strconv.Itoa(r - 4), strconv.FormatFloat(float64(r)/7, 'g', -1, 64), strconv.FormatBool(r%3 == 0), fmt.Sprintf("zu%dß", r), ""})
			if r%5 == 1 || r > 20 && r < 30 {
				rows[r][1], rows[r][2], rows[r][3] = "", "", ""
			}
		}
		file, err := Marshal(columns, rows)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Marshal(columns, rows)
		if err != nil || !bytes.Equal(file, again) {
			t.Fatalf("%d rows: two files differ (%v)", n, err)
		}
		names, got := readBack(t, file)
		for i, c := range columns {
			if names[i] != c.Name {
				t.Errorf("column %d is %q, want %q", i, names[i], c.Name)
			}
		}
		if len(got) != n {
			t.Fatalf("%d rows, want %d", len(got), n)
		}
		for r := range rows {
			for i := range columns {
				if got[r][i] != rows[r][i] {
					t.Fatalf("row %d, %s: %q, want %q", r, columns[i].Name, got[r][i], rows[r][i])
				}
			}
		}
	}
}

// TestWrongCells: a cell that its column cannot hold is named.
func TestWrongCells(t *testing.T) {
	for _, typ := range []Type{Boolean, Integer, Number} {
		_, err := Marshal([]Column{{"a", Text}, {"b", typ}}, [][]string{{"x", ""}, {"x", "high"}})
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte("row 1, column b: ")) {
			t.Errorf("type %d: %v", typ, err)
		}
	}
}

// readBack reads a file of flat optional columns, plainly encoded, one page a group.
func readBack(t *testing.T, file []byte) (names []string, rows [][]string) {
	t.Helper()
	end := len(file) - 8
	if string(file[:4]) != magic || string(file[end+4:]) != magic {
		t.Fatal("no Parquet file")
	}
	footer := end - int(binary.LittleEndian.Uint32(file[end:]))
	meta, rest := decodeStruct(file[footer:end])
	if len(rest) != 0 {
		t.Fatalf("%d bytes behind the footer", len(rest))
	}
	schema := meta[2].([]any)
	var types []int64
	for _, element := range schema[1:] {
		e := element.(map[int16]any)
		if e[3] != int64(1) {
			t.Fatalf("column %s is not optional", e[4])
		}
		names, types = append(names, e[4].(string)), append(types, e[1].(int64))
	}
	if n := schema[0].(map[int16]any)[5].(int64); int(n) != len(names) {
		t.Fatalf("%d children, %d columns", n, len(names))
	}
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	for _, g := range meta[4].([]any) {
		group := g.(map[int16]any)
		n := int(group[3].(int64))
		first := len(rows)
		for range n {
			rows = append(rows, make([]string, len(names)))
		}
		total := int64(0)
		for i, c := range group[1].([]any) {
			chunk := c.(map[int16]any)[3].(map[int16]any)
			if path := chunk[3].([]any); len(path) != 1 || path[0] != names[i] || chunk[1] != types[i] || chunk[4] != int64(6) {
				t.Fatalf("column %d: %v", i, chunk)
			}
			at := file[chunk[9].(int64):]
			header, page := decodeStruct(at)
			size := int(header[3].(int64))
			if int64(len(at)-len(page)+size) != chunk[7].(int64) || int64(len(at)-len(page))+header[2].(int64) != chunk[6].(int64) {
				t.Fatalf("sizes of column %d: %v, %v", i, chunk, header)
			}
			plain, err := unpack.DecodeAll(page[:size], nil)
			if err != nil || len(plain) != int(header[2].(int64)) {
				t.Fatalf("column %d: %v", i, err)
			}
			total += chunk[6].(int64)
			for r, cell := range decodePage(t, plain, n, types[i]) {
				rows[first+r][i] = cell
			}
		}
		if group[2] != total {
			t.Fatalf("group of %v bytes, columns of %d", group[2], total)
		}
	}
	if meta[3] != int64(len(rows)) {
		t.Fatalf("%v rows, groups of %d", meta[3], len(rows))
	}
	return names, rows
}

// decodePage decodes definition levels and the values of those that are 1.
func decodePage(t *testing.T, page []byte, n int, typ int64) []string {
	t.Helper()
	levels, values := page[4:4+binary.LittleEndian.Uint32(page)], page[4+binary.LittleEndian.Uint32(page):]
	cells := make([]string, 0, n)
	for bit := 0; len(levels) > 0; {
		run, used := binary.Uvarint(levels)
		if run&1 != 0 {
			t.Fatal("bit-packed levels, which the writer does not make")
		}
		level := levels[used]
		levels = levels[used+1:]
		for range run >> 1 {
			cell := ""
			if level == 1 {
				switch typ {
				case 0:
					cell = strconv.FormatBool(values[bit/8]>>(bit%8)&1 == 1)
					bit++
				case 2:
					cell = strconv.FormatInt(int64(binary.LittleEndian.Uint64(values)), 10)
					values = values[8:]
				case 5:
					cell = strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(values)), 'g', -1, 64)
					values = values[8:]
				case 6:
					length := binary.LittleEndian.Uint32(values)
					cell = string(values[4 : 4+length])
					values = values[4+length:]
				}
			}
			cells = append(cells, cell)
		}
	}
	if len(cells) != n {
		t.Fatalf("%d levels of %d rows", len(cells), n)
	}
	return cells
}

// decodeStruct decodes a structure of Thrift's compact protocol: fields by number.
func decodeStruct(b []byte) (fields map[int16]any, rest []byte) {
	fields = map[int16]any{}
	last := int16(0)
	for b[0] != 0 {
		typ, step := b[0]&15, int16(b[0]>>4)
		b = b[1:]
		if step == 0 {
			number, used := binary.Varint(b)
			last, b = int16(number), b[used:]
		} else {
			last += step
		}
		fields[last], b = decodeValue(typ, b)
	}
	return fields, b[1:]
}

func decodeValue(typ byte, b []byte) (any, []byte) {
	switch typ {
	case 5, 6:
		x, used := binary.Varint(b)
		return x, b[used:]
	case 8:
		length, used := binary.Uvarint(b)
		return string(b[used : used+int(length)]), b[used+int(length):]
	case 9:
		length, element := uint64(b[0]>>4), b[0]&15
		b = b[1:]
		if length == 15 {
			var used int
			length, used = binary.Uvarint(b)
			b = b[used:]
		}
		list := make([]any, length)
		for i := range list {
			list[i], b = decodeValue(element, b)
		}
		return list, b
	case 12:
		return decodeStruct(b)
	}
	panic(fmt.Sprintf("type %d", typ))
}
