package ib

import (
	"io"

	"github.com/weft-sim/weft/sim/input"
)

// readLines hands every line to parse, without white space around it, and the number of
// lines to end unless there are problems by then. The error is all problems.
func readLines(r io.Reader, p *input.Problems, parse func(line int, text string), end func(lines int)) error {
	in := input.LinesInto(p, r)
	for in.Next() {
		parse(in.Number, in.Text)
	}
	if err := in.Finish(); err != nil {
		return err
	}
	end(in.Number)
	return p.Err()
}
