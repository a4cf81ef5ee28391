package ib

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// cursor reads the parts of a node's or port's line one after the other. The
// first problem sticks and makes the rest of the calls do nothing.
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
	end := 0
	for end < len(c.text) && c.text[end] >= '0' && c.text[end] <= '9' {
		end++
	}
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
		c.problem("port number %q: want 1 to %d", s, maxPorts)
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

// comment reads the rest of the line: nothing, port options of ibsim ("w=4"),
// or # and a comment, which it returns.
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
