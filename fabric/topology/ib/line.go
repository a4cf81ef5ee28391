package ib

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// cursor reads the parts of a line one after the other. After the first problem, which sticks,
// calls do nothing.
type cursor struct {
	text string
	err  error
}

func (c *cursor) problem(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// peek is the next byte that is not white space, 0 at the end.
func (c *cursor) peek() byte {
	c.text = strings.TrimLeft(c.text, " \t")
	if c.err != nil || c.text == "" {
		return 0
	}
	return c.text[0]
}

// number reads a decimal number of at most limit.
func (c *cursor) number(limit int) int {
	c.peek()
	if c.err != nil {
		return 0
	}
	end := len(c.text) - len(strings.TrimLeft(c.text, "0123456789"))
	v, err := strconv.Atoi(c.text[:end])
	if err != nil || v > limit {
		c.problem("%s: want a number up to %d", input.Quote(c.text), limit)
		return 0
	}
	c.text = c.text[end:]
	return v
}

// between reads what stands between the bytes open and end.
func (c *cursor) between(open, end byte) string {
	if c.peek() != open {
		c.problem("%q expected at %s", open, input.Quote(c.text))
		return ""
	}
	inside, rest, ok := strings.Cut(c.text[1:], string(end))
	if !ok {
		c.problem("%q without %q: the line is cut", open, end)
		return ""
	}
	c.text = rest
	return inside
}

// bracketed reads "[36]".
func (c *cursor) bracketed() int {
	s := c.between('[', ']')
	if c.err != nil {
		return 0
	}
	v, err := strconv.Atoi(s)
	if err != nil || v < 0 || v > maxPorts {
		c.problem("port number %s: want 1 to %d", input.Quote(s), maxPorts)
	}
	return v
}

// external skips "[ext 12]", the label of a chassis connector.
func (c *cursor) external() {
	if c.peek() == '[' && strings.HasPrefix(c.text, "[ext") {
		c.between('[', ']')
	}
}

// parenthesised reads "(8f10400411a09)", hexadecimal; 0 if there is none.
func (c *cursor) parenthesised() uint64 {
	if c.peek() != '(' {
		return 0
	}
	s := strings.TrimPrefix(c.between('(', ')'), "0x")
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil && c.err == nil {
		c.problem("%s is not a GUID of up to 16 hex digits", input.Quote(s))
	}
	return v
}

// quoted reads a "name".
func (c *cursor) quoted() string {
	s := c.between('"', '"')
	if c.err == nil && s == "" {
		c.problem("empty name")
	}
	return s
}

// comment reads the rest of the line: nothing, ibsim's port options ("w=4"), or # and a comment,
// its result.
func (c *cursor) comment() string {
	before, comment, _ := strings.Cut(c.text, "#")
	for _, word := range strings.Fields(before) {
		if len(word) < 3 || word[1] != '=' {
			c.problem("%s is not understood", input.Quote(word))
		}
	}
	c.text = ""
	return comment
}

// parseComment reads what follows the # of a port line: "desc" lid L RATE at a
// switch, lid L lmc M "desc" lid L RATE at an adapter.
func (e *cableEnd) parseComment(kind nodeKind, comment string) error {
	before, _, after, err := splitDescription(comment)
	if err != nil {
		return err
	}
	if kind == switchNode {
		after = before + " " + after
	} else {
		lid, lmc, err := lidAndLMC(before)
		if err != nil {
			return err
		}
		e.lid, e.lmc = int32(max(lid, 0)), uint8(max(lmc, 0))
	}
	lid, _, err := lidAndLMC(after)
	if err != nil {
		return err
	}
	e.peerLID = int32(lid)
	for _, word := range strings.Fields(after) {
		width, _, ok := strings.Cut(word, "x") // and speed
		if _, err := strconv.Atoi(width); ok && err == nil || strings.HasPrefix(word, "??") {
			e.rate, err = parseRate(word)
			return err
		}
	}
	return nil
}

// splitDescription cuts a comment at its quoted description, which may itself contain quotes and #.
func splitDescription(comment string) (before, description, after string, err error) {
	first, last := strings.IndexByte(comment, '"'), strings.LastIndexByte(comment, '"')
	if first < 0 {
		return comment, "", "", nil
	}
	if first == last {
		return "", "", "", fmt.Errorf("the description %s has no closing quote", input.Quote(comment[first+1:]))
	}
	return comment[:first], comment[first+1 : last], comment[last+1:], nil
}

// lidAndLMC finds "lid 90" and "lmc 0"; -1 where there is none.
func lidAndLMC(text string) (lid, lmc int64, err error) {
	lid, lmc = -1, -1
	words := strings.Fields(text)
	for i, word := range words {
		if word != "lid" && word != "lmc" {
			continue
		}
		if i+1 == len(words) {
			return 0, 0, fmt.Errorf("%q without a number", word)
		}
		v, err := parseNumber(words[i+1], 16)
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("%s: %w", word, err)
		case word == "lid" && lid < 0:
			lid = int64(v)
		case word == "lmc" && v > 7:
			return 0, 0, fmt.Errorf("lmc %d: want 0 to 7", v)
		case word == "lmc" && lmc < 0:
			lmc = int64(v)
		}
	}
	return lid, lmc, nil
}

// cableRate is a cable's width and speed as a dump states them; the zero value: none.
type cableRate struct {
	text string // canonical: "4xQDR"
	data sim.Rate
}

const unknownRate = "unknown"

// parseRate reads "4xFDR10", or ibdiagnet's "4x25". Rates that the tool could not name ("4x???")
// are known to be unknown: text is "unknown", no error.
func parseRate(s string) (cableRate, error) {
	if strings.Contains(s, "?") {
		return cableRate{text: unknownRate}, nil
	}
	name, data, err := topology.ParseLink(s)
	if err == nil {
		return cableRate{name, data}, nil
	}
	if width, speed, _ := strings.Cut(s, "x"); strings.HasPrefix(speed, "Un") { // "Undefined (n)", "Unknown"
		if _, _, err := topology.ParseLink(width + "xSDR"); err == nil {
			return cableRate{text: unknownRate}, nil
		}
	}
	return cableRate{}, fmt.Errorf("rate %w", err)
}

// readLines hands lines, trimmed, to parse, and calls end behind the last unless there are
// problems. The error is all problems.
func readLines(in *input.Lines, parse func(text string), end func()) error {
	for in.Next() {
		parse(in.Text)
	}
	if err := in.Finish(); err != nil {
		return err
	}
	end()
	return in.Err()
}
