package experiments

import (
	"bytes"
	"fmt"
)

// TableFormats are the forms in which tables of results can be written.
var TableFormats = []string{"csv", "jsonl"}

// Encode is the table in one of [TableFormats].
func (t *Table) Encode(format string) ([]byte, error) {
	var b bytes.Buffer
	switch format {
	case "csv":
		err := t.Write(&b)
		return b.Bytes(), err
	case "jsonl":
		err := t.WriteJSONLines(&b)
		return b.Bytes(), err
	}
	return nil, fmt.Errorf("no format %q of tables", format)
}
