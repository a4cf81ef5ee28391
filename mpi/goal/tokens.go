package goal

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

// The kinds of tokens; punctuation stands for itself.
const (
	tokenWord   = 'w'
	tokenNumber = 'n'
)

// tokens is one line of a GOAL file. The longest statement has 13 tokens.
type tokens struct {
	line []byte
	kind [16]byte
	tok  [16][]byte
	n    int
	next int
	err  string
}

// tokenize splits a line into words, integers and punctuation. Blanks separate
// but are not needed: "100b" is a number and a word.
func tokenize(line []byte) tokens {
	t := tokens{line: bytes.TrimSpace(line)}
	for i := 0; i < len(line); {
		c := line[i]
		start := i
		var kind byte
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
			continue
		case c == ':' || c == '{' || c == '}':
			kind = c
			i++
		case isLetter(c):
			kind = tokenWord
			for i < len(line) && (isLetter(line[i]) || isDigit(line[i]) || line[i] == '_') {
				i++
			}
		case isDigit(c) || c == '-' && i+1 < len(line) && isDigit(line[i+1]):
			kind = tokenNumber
			for i++; i < len(line) && isDigit(line[i]); i++ {
			}
		default:
			r, _ := utf8.DecodeRune(line[i:])
			t.err = fmt.Sprintf("%q has no place in %q", r, t.text())
			return t
		}
		if t.n == len(t.tok) {
			t.err = fmt.Sprintf("%q is too long for a statement: one statement per line", t.text())
			return t
		}
		t.kind[t.n], t.tok[t.n] = kind, line[start:i]
		t.n++
	}
	return t
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// text is the line for messages, cut to a readable length.
func (t *tokens) text() string {
	if len(t.line) > 60 {
		return string(t.line[:60]) + "..."
	}
	return string(t.line)
}

// word consumes the given word.
func (t *tokens) word(w string) bool {
	if t.next < t.n && t.kind[t.next] == tokenWord && string(t.tok[t.next]) == w {
		t.next++
		return true
	}
	return false
}

// punctuation consumes the given character.
func (t *tokens) punctuation(c byte) bool {
	if t.next < t.n && t.kind[t.next] == c {
		t.next++
		return true
	}
	return false
}

// integer consumes a number in [lo, hi].
func (t *tokens) integer(lo, hi int64) (int64, bool) {
	if t.next == t.n || t.kind[t.next] != tokenNumber {
		return 0, false
	}
	digits := t.tok[t.next]
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	v := int64(0)
	for _, c := range digits {
		d := int64(c - '0')
		if v > (math.MaxInt64-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	if negative {
		v = -v
	}
	if v < lo || v > hi {
		return 0, false
	}
	t.next++
	return v, true
}

// end tells whether all tokens are consumed.
func (t *tokens) end() bool { return t.next == t.n }
