package experiments

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments/parquet"
)

// TableFormats are the forms in which tables of results can be written.
var TableFormats = []string{"csv", "jsonl", "parquet"}

// Encode is the table in one of [TableFormats]. kind, of the file that the table comes
// from, gives the types of the columns of results.csv in Parquet; it may be empty.
func (t *Table) Encode(format, kind string) ([]byte, error) {
	var b bytes.Buffer
	switch format {
	case "csv":
		err := t.Write(&b)
		return b.Bytes(), err
	case "jsonl":
		err := t.WriteJSONLines(&b)
		return b.Bytes(), err
	case "parquet":
		return parquet.Marshal(t.parquetColumns(kinds[kind]), t.Rows)
	}
	return nil, fmt.Errorf("no format %q of tables", format)
}

// parquetColumns gives the columns their types: those that the kind declares; integers
// for the numbers of points, seeds and replications; for all others what their cells
// are: booleans, numbers, or text.
func (t *Table) parquetColumns(k *kind) []parquet.Column {
	columns := make([]parquet.Column, len(t.Columns))
	for i, name := range t.Columns {
		columns[i] = parquet.Column{Name: name, Type: t.typeOf(i)}
		if name == "point" || name == seedKey || name == "replications" {
			columns[i].Type = parquet.Integer
		} else if k != nil && len(t.Columns) > len(k.columns) && i >= len(t.Columns)-len(k.columns) {
			if c := k.columns[i-len(t.Columns)+len(k.columns)]; c.Name == name {
				columns[i].Type = parquetTypes[c.kind]
			}
		}
	}
	return columns
}

var parquetTypes = map[reflect.Kind]parquet.Type{
	reflect.Bool: parquet.Boolean, reflect.Int: parquet.Integer, reflect.Int64: parquet.Integer, reflect.Float64: parquet.Number, reflect.String: parquet.Text,
}

// typeOf is the type that all cells of a column have.
func (t *Table) typeOf(column int) parquet.Type {
	boolean, number := true, true
	for _, row := range t.Rows {
		cell := row[column]
		if cell == "" {
			continue
		}
		boolean = boolean && (cell == "true" || cell == "false")
		_, err := strconv.ParseFloat(cell, 64)
		if number = number && err == nil; !boolean && !number {
			return parquet.Text
		}
	}
	if boolean && slices.ContainsFunc(t.Rows, func(row []string) bool { return row[column] != "" }) {
		return parquet.Boolean
	}
	return parquet.Number
}
