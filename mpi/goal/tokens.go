package goal

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/mem"
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

// fast reads a line inside a rank that looks as generators write it: an operation or
// a dependency with single blanks and no comment, outside of comments. It returns false, having done
// nothing, for every other line, wrong ones included: those are for statement, whose
// reading of such a line is the same.
func (p *parser) fast(line []byte) bool {
	s := scan{line: line}
	s.blanks()
	start := s.at
	word := s.word()
	if len(word) == 0 {
		return false
	}
	label := word
	switch {
	case s.skip(": "):
		start = s.at
		word = s.word()
	case s.skip(" requires "):
		return p.fastDependency(&s, label, &p.onDone)
	case s.skip(" irequires "):
		return p.fastDependency(&s, label, &p.onStart)
	default:
		label = nil
	}
	op := operation{line: int32(min(p.line, math.MaxInt32))}
	between := ""
	switch string(word) {
	case "calc":
	case "send":
		op.kind, between = mpi.Send, "b to "
	case "recv":
		op.kind, between = mpi.Recv, "b from "
	default:
		return false
	}
	s.at = start + len("calc") // "send8b" is one word to word
	if !s.skip(" ") || !s.number(&op.size) {
		return false
	}
	var cpu, nic int64
	if op.kind != mpi.Calc {
		var peer, tag int64
		if !s.skip(between) || !s.number(&peer) || peer >= int64(p.ranks) {
			return false
		}
		if s.skip(" tag ") && (!s.number(&tag) || tag > math.MaxInt32) {
			return false
		}
		op.peer, op.tag = int32(peer), int32(tag)
	}
	if s.skip(" cpu ") && (!s.number(&cpu) || cpu > 255) {
		return false
	}
	if op.kind != mpi.Calc && s.skip(" nic ") && (!s.number(&nic) || nic > 255) {
		return false
	}
	op.cpu, op.nic = uint8(cpu), uint8(nic)
	return s.end() && p.add(label, op)
}

func (p *parser) fastDependency(s *scan, label []byte, edges *mem.List[edge]) bool {
	before := s.word()
	if len(before) == 0 || !s.end() {
		return false
	}
	from, ok := p.labels.find(before)
	to, both := p.labels.find(label)
	if !ok || !both {
		return false
	}
	p.depend(edges, from, to)
	return true
}

// scan reads a line from left to right.
type scan struct {
	line []byte
	at   int
}

func (s *scan) blanks() {
	for s.at < len(s.line) && (s.line[s.at] == ' ' || s.line[s.at] == '\t') {
		s.at++
	}
}

// word takes a word as tokenize does: a letter, then letters, digits and underscores.
func (s *scan) word() []byte {
	start := s.at
	if start == len(s.line) || !isLetter(s.line[start]) {
		return nil
	}
	i := start + 1
	for i < len(s.line) && (isLetter(s.line[i]) || isDigit(s.line[i]) || s.line[i] == '_') {
		i++
	}
	s.at = i
	return s.line[start:i]
}

// skip takes text if it is next.
func (s *scan) skip(text string) bool {
	end := s.at + len(text)
	if end > len(s.line) || string(s.line[s.at:end]) != text {
		return false
	}
	s.at = end
	return true
}

// number takes a number of 1 to 18 digits.
func (s *scan) number(value *int64) bool {
	i, v := s.at, int64(0)
	for ; i < len(s.line) && isDigit(s.line[i]); i++ {
		v = v*10 + int64(s.line[i]-'0')
	}
	if digits := i - s.at; digits == 0 || digits > 18 {
		return false
	}
	s.at, *value = i, v
	return true
}

// end tells whether nothing but blanks and the line's end is left.
func (s *scan) end() bool {
	for _, c := range s.line[s.at:] {
		if c != '\n' && c != ' ' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}
