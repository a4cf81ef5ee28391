package opensm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// maxFaults is how many faults of a file are reported together.
const maxFaults = 50

// lineReader reads OpenSM's configuration files: words by line, # begins a
// comment. Faults are collected.
type lineReader struct {
	in     *bufio.Scanner
	name   string
	line   int
	words  []string
	faults []error
}

func newLineReader(r io.Reader, name string) *lineReader {
	l := &lineReader{in: bufio.NewScanner(input.Text(r)), name: name}
	l.in.Buffer(nil, 1<<20)
	return l
}

// next moves to the next line that has words.
func (l *lineReader) next() bool {
	for len(l.faults) < maxFaults && l.in.Scan() {
		l.line++
		text, _, _ := strings.Cut(l.in.Text(), "#")
		if l.words = strings.Fields(text); len(l.words) > 0 {
			return true
		}
	}
	return false
}

func (l *lineReader) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf("%s:%d: "+format, append([]any{l.name, l.line}, args...)...))
}

func (l *lineReader) finish() error {
	if err := l.in.Err(); err != nil {
		l.faults = append(l.faults, fmt.Errorf("%s:%d: %w", l.name, l.line+1, err))
	} else if len(l.faults) >= maxFaults {
		l.fault("too many faults, the rest of the file was not read")
	}
	return errors.Join(l.faults...)
}

// ReadGUIDs reads a file of GUIDs, one a line, as OpenSM's root_guid_file,
// cn_guid_file and guid_routing_order_file are: hexadecimal with 0x, decimal
// without. name is the file's name for messages; faults are returned together.
func ReadGUIDs(r io.Reader, name string) ([]uint64, error) {
	in := newLineReader(r, name)
	guids := []uint64{}
	for in.next() {
		guid, err := parseGUID(in.words[0])
		if err != nil || len(in.words) > 1 {
			in.fault("%s: want one GUID a line, such as 0x0002c90200001234", shown(strings.Join(in.words, " ")))
			continue
		}
		guids = append(guids, guid)
	}
	return guids, in.finish()
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

// shown quotes users' text, cut to a line's length.
func shown(text string) string {
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return strconv.Quote(text)
}
