package opensm

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// ReadGUIDs reads a file of GUIDs, one a line, as OpenSM's root_guid_file,
// cn_guid_file and guid_routing_order_file are: hexadecimal with 0x, decimal
// without. name is the file's name for messages; problems are returned together.
func ReadGUIDs(r io.Reader, name string) ([]uint64, error) {
	in := input.NewLines(r, name)
	guids := []uint64{}
	for words := in.NextWords(); words != nil; words = in.NextWords() {
		guid, err := parseGUID(words[0])
		if err != nil || len(words) > 1 {
			in.Problem("%s: want one GUID a line, such as 0x0002c90200001234", input.Quote(strings.Join(words, " ")))
			continue
		}
		guids = append(guids, guid)
	}
	return guids, in.Finish()
}

// parseGUID reads a number as C's strtoull does by its prefix.
func parseGUID(word string) (uint64, error) {
	if strings.ContainsAny(word, "_+-bBoO") && !strings.HasPrefix(word, "0x") && !strings.HasPrefix(word, "0X") {
		return 0, errors.New("not a number")
	}
	if strings.Contains(word, "_") {
		return 0, errors.New("not a number")
	}
	return strconv.ParseUint(word, 0, 64)
}
