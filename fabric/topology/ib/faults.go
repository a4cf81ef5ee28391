package ib

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// faultList gathers what is wrong with a file, each fault with its line.
type faultList struct {
	name   string
	faults []error
}

// maxFaults is how many faults are reported together; a file of another kind
// has one in every line.
const maxFaults = 50

func (f *faultList) fault(line int, format string, args ...any) {
	f.faults = append(f.faults, fmt.Errorf("%s:%d: "+format, append([]any{f.name, line}, args...)...))
}

// full tells that no more faults are wanted.
func (f *faultList) full() bool { return len(f.faults) >= maxFaults }

// eachLine hands every line, without white space around it, to parse, until
// there are too many faults. It returns the number of lines. The error is one of
// reading.
func (f *faultList) eachLine(r io.Reader, parse func(line int, text string)) (lines int, err error) {
	in := bufio.NewScanner(input.Text(r))
	in.Buffer(nil, 1<<24) // a row of service levels has a digit for each destination
	for in.Scan() {
		lines++
		parse(lines, strings.TrimSpace(in.Text()))
		if f.full() {
			f.fault(lines, "too many faults, the rest of the file was not read")
			break
		}
	}
	if err := in.Err(); err != nil {
		return lines, fmt.Errorf("%s:%d: %w", f.name, lines+1, err)
	}
	return lines, nil
}

// read hands every line to parse, and the number of lines to end unless there are
// faults by then. The error is all faults, or one of reading.
func (f *faultList) read(r io.Reader, parse func(line int, text string), end func(lines int)) error {
	lines, err := f.eachLine(r, parse)
	if err != nil {
		return err
	}
	if len(f.faults) == 0 {
		end(lines)
	}
	return f.err()
}

func (f *faultList) err() error { return errors.Join(f.faults...) }

func quoteShort(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return strconv.Quote(s)
}
