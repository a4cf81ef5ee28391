package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSONLines writes one JSON object a row, its members in the order of the
// columns. Cells that are numbers or booleans in JSON's own spelling become
// such, empty ones null, all others strings.
func (t *Table) WriteJSONLines(w io.Writer) error {
	var b bytes.Buffer
	for _, row := range t.Rows {
		for i, cell := range row {
			name, err := json.Marshal(t.Columns[i])
			if err != nil {
				return fmt.Errorf("column %q: %w", t.Columns[i], err)
			}
			value, err := jsonCell(cell)
			if err != nil {
				return fmt.Errorf("cell %q: %w", cell, err)
			}
			b.WriteByte("{,"[min(i, 1)])
			b.Write(name)
			b.WriteByte(':')
			b.Write(value)
		}
		b.WriteString("}\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// jsonCell is a cell as a JSON value.
func jsonCell(cell string) ([]byte, error) {
	switch {
	case cell == "":
		return []byte("null"), nil
	case cell == "true" || cell == "false":
		return []byte(cell), nil
	case (cell[0] == '-' || cell[0] >= '0' && cell[0] <= '9') && json.Valid([]byte(cell)):
		return []byte(cell), nil
	}
	return json.Marshal(cell)
}
