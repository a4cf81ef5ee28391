// Package parquet writes tables as Apache Parquet files: flat columns of four types,
// any of whose cells may be missing, plainly encoded and compressed with Zstandard.
// It writes what the format's description asks for and nothing beyond: no dictionaries,
// no statistics, no page index (parquet-format 2.10, parquet.thrift). The same table
// gives the same bytes.
package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// Type is the type of a column.
type Type int

// The types, as the format numbers them, but for Text, which is a byte array in UTF-8.
const (
	Boolean Type = 0
	Integer Type = 2 // of 64 bits
	Number  Type = 5 // of 64 bits, floating point
	Text    Type = 6
)

// Column describes a column.
type Column struct {
	Name string
	Type Type
}

// rowsInGroup bounds what readers must take in at once.
const rowsInGroup = 1 << 18

// magic begins and ends a file.
const magic = "PAR1"

// Marshal is a table as a Parquet file. Rows are as long as columns; an empty cell is
// a missing one. The error names the cell that its column cannot hold.
func Marshal(columns []Column, rows [][]string) ([]byte, error) {
	squeeze, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	w := &writer{columns: columns, squeeze: squeeze, b: []byte(magic)}
	for first := 0; first < len(rows) || first == 0; first += rowsInGroup {
		if err := w.group(rows[first:min(first+rowsInGroup, len(rows))], first); err != nil {
			return nil, err
		}
	}
	footer := w.footer(len(rows))
	w.b = append(w.b, footer...)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(footer)))
	return append(w.b, magic...), nil
}

type writer struct {
	columns []Column
	squeeze *zstd.Encoder
	b       []byte
	groups  []group
}

// group is a group of rows that is written.
type group struct {
	rows   int
	chunks []chunk // by column
}

// chunk is where the cells of a column in a group are.
type chunk struct{ offset, plain, packed int }

// Numbers of the format.
const (
	dataPage       = 0
	plainEncoding  = 0
	runLengths     = 3 // RLE
	zstandard      = 6
	optional       = 1
	convertedUTF8  = 0
	formatVersion  = 1
	createdByField = 6
)

// group writes some rows; first is the number of the first of them.
func (w *writer) group(rows [][]string, first int) error {
	g := group{rows: len(rows)}
	for i, c := range w.columns {
		page, err := encode(c, i, rows, first)
		if err != nil {
			return err
		}
		packed := w.squeeze.EncodeAll(page, nil)
		header := &thrift{}
		header.element(func() {
			header.i32(1, dataPage)
			header.i32(2, len(page))
			header.i32(3, len(packed))
			header.inner(5, func() {
				header.i32(1, len(rows))
				header.i32(2, plainEncoding)
				header.i32(3, runLengths)
				header.i32(4, runLengths)
			})
		})
		g.chunks = append(g.chunks, chunk{len(w.b), len(header.b) + len(page), len(header.b) + len(packed)})
		w.b = append(append(w.b, header.b...), packed...)
	}
	w.groups = append(w.groups, g)
	return nil
}

// encode is the page of a column: which cells are there, then those cells.
func encode(c Column, i int, rows [][]string, first int) ([]byte, error) {
	page := append([]byte{0, 0, 0, 0}, presence(rows, i)...) // behind their length
	binary.LittleEndian.PutUint32(page, uint32(len(page)-4))
	bits := 0 // of booleans, eight a byte
	for r, row := range rows {
		cell := row[i]
		if cell == "" {
			continue
		}
		var err error
		switch c.Type {
		case Boolean:
			var x bool
			if x, err = strconv.ParseBool(cell); bits%8 == 0 {
				page = append(page, 0)
			}
			if x {
				page[len(page)-1] |= 1 << (bits % 8)
			}
			bits++
		case Integer:
			var x int64
			x, err = strconv.ParseInt(cell, 10, 64)
			page = binary.LittleEndian.AppendUint64(page, uint64(x))
		case Number:
			var x float64
			x, err = strconv.ParseFloat(cell, 64)
			page = binary.LittleEndian.AppendUint64(page, math.Float64bits(x))
		case Text:
			page = binary.LittleEndian.AppendUint32(page, uint32(len(cell)))
			page = append(page, cell...)
		default:
			panic(fmt.Sprintf("parquet: column %s has type %d", c.Name, c.Type))
		}
		if err != nil {
			return nil, fmt.Errorf("parquet: row %d, column %s: %w", first+r, c.Name, err)
		}
	}
	return page, nil
}

// presence says of each row whether column i has a cell: runs of equal answers.
func presence(rows [][]string, i int) []byte {
	var b []byte
	for r := 0; r < len(rows); {
		run := r
		for run < len(rows) && (rows[run][i] == "") == (rows[r][i] == "") {
			run++
		}
		b = binary.AppendUvarint(b, uint64(run-r)<<1)
		there := byte(1)
		if rows[r][i] == "" {
			there = 0
		}
		b = append(b, there)
		r = run
	}
	return b
}

// footer describes the columns and says where their cells are.
func (w *writer) footer(rows int) []byte {
	t := &thrift{}
	t.element(func() {
		t.i32(1, formatVersion)
		t.list(2, thriftStruct, 1+len(w.columns))
		t.element(func() {
			t.text(4, "table")
			t.i32(5, len(w.columns))
		})
		for _, c := range w.columns {
			t.element(func() {
				t.i32(1, int(c.Type))
				t.i32(3, optional)
				t.text(4, c.Name)
				if c.Type == Text {
					t.i32(6, convertedUTF8)
					t.inner(10, func() { t.inner(1, func() {}) })
				}
			})
		}
		t.i64(3, rows)
		t.list(4, thriftStruct, len(w.groups))
		for _, g := range w.groups {
			t.element(func() { w.describe(t, g) })
		}
		t.text(createdByField, "weft")
	})
	return t.b
}

// describe writes the part of the footer about a group.
func (w *writer) describe(t *thrift, g group) {
	total := 0
	t.list(1, thriftStruct, len(g.chunks))
	for i, c := range g.chunks {
		total += c.plain
		t.element(func() {
			t.i64(2, c.offset)
			t.inner(3, func() {
				t.i32(1, int(w.columns[i].Type))
				t.list(2, thriftI32, 2)
				t.b = binary.AppendVarint(t.b, plainEncoding)
				t.b = binary.AppendVarint(t.b, runLengths)
				t.list(3, thriftBinary, 1)
				t.bytes(w.columns[i].Name)
				t.i32(4, zstandard)
				t.i64(5, g.rows)
				t.i64(6, c.plain)
				t.i64(7, c.packed)
				t.i64(9, c.offset)
			})
		})
	}
	t.i64(2, total)
	t.i64(3, g.rows)
}
