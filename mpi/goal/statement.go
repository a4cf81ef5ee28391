package goal

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

// The kinds of tokens; punctuation stands for itself.
const (
	tokenEnd    = 0
	tokenWord   = 'w'
	tokenNumber = 'n'
	tokenWrong  = '?' // a character that has no place in the format
)

// statement is one line of a GOAL file, read from left to right: words, integers and punctuation.
// Blanks separate but are not needed: "100b" is a number and a word.
type statement struct {
	line      []byte
	start, at int // where the present token begins and ends
	kind      byte
}

// begin reads the first token of a line.
func begin(line []byte) statement {
	t := statement{line: line}
	t.advance()
	return t
}

// class is what a character may be; those that are none of it are the other kinds of tokens.
var class = [256]uint8{' ': blank, '\t': blank, '\r': blank, '\n': blank, '_': inWord}

const (
	blank = 1 << iota
	letter
	digit
	inWord
)

func init() {
	for c := byte('0'); c <= '9'; c++ {
		class[c] = digit | inWord
	}
	for c := byte('a'); c <= 'z'; c++ {
		class[c], class[c-'a'+'A'] = letter|inWord, letter|inWord
	}
}

func isDigit(c byte) bool { return class[c]&digit != 0 }

func (t *statement) advance() {
	line, i := t.line, t.at
	for i < len(line) && class[line[i]]&blank != 0 {
		i++
	}
	t.start = i
	switch {
	case i == len(line):
		t.kind = tokenEnd
	case class[line[i]]&letter != 0:
		t.kind = tokenWord
		for i++; i < len(line) && class[line[i]]&inWord != 0; i++ {
		}
	case isDigit(line[i]) || line[i] == '-' && i+1 < len(line) && isDigit(line[i+1]):
		t.kind = tokenNumber
		for i++; i < len(line) && isDigit(line[i]); i++ {
		}
	case line[i] == ':' || line[i] == '{' || line[i] == '}':
		t.kind = line[i]
		i++
	default:
		t.kind = tokenWrong
		_, size := utf8.DecodeRune(line[i:])
		i += size
	}
	t.at = i
}

func (t *statement) token() []byte { return t.line[t.start:t.at] }

// text is the line for messages, cut to a readable length.
func (t *statement) text() string {
	line := bytes.TrimSpace(t.line)
	if len(line) > 60 {
		return string(line[:60]) + "..."
	}
	return string(line)
}

// wrong says what is wrong with the line: a character that has no place in any, or else what
// the arguments say.
func (t *statement) wrong(format string, args ...any) string {
	for s := begin(t.line); s.kind != tokenEnd; s.advance() {
		if s.kind == tokenWrong {
			r, _ := utf8.DecodeRune(s.token())
			return fmt.Sprintf("%q has no place in %q", r, t.text())
		}
	}
	return fmt.Sprintf(format, args...)
}

// word consumes the given word.
func (t *statement) word(w string) bool {
	if t.kind != tokenWord || string(t.token()) != w {
		return false
	}
	t.advance()
	return true
}

// punctuation consumes the given character.
func (t *statement) punctuation(c byte) bool {
	if t.kind != c {
		return false
	}
	t.advance()
	return true
}

// integer consumes a number in [lo, hi].
func (t *statement) integer(lo, hi int64) (int64, bool) {
	if t.kind != tokenNumber {
		return 0, false
	}
	digits := t.token()
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	v := int64(0)
	for _, c := range digits {
		d := int64(c - '0')
		if v > math.MaxInt64/10-1 && v > (math.MaxInt64-d)/10 { // the first spares a division
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
	t.advance()
	return v, true
}

func (t *statement) end() bool { return t.kind == tokenEnd }

// labels are the labels of one rank's operations. Those that generators write, l1, l2,
// ..., are found by their number.
type labels struct {
	rank     uint32 // counts the ranks: entries of others are void
	numbered []numbered
	named    map[string]int32
}

type numbered struct {
	rank uint32
	op   int32
}

// mostNumbered bounds the table: larger numbers are names.
const mostNumbered = 1 << 20

// number is the N of a label lN without leading zeros.
func (l *labels) number(label []byte) (n int, ok bool) {
	if len(label) < 2 || len(label) > 8 || label[0] != 'l' || label[1] == '0' {
		return 0, false
	}
	for _, c := range label[1:] {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n < mostNumbered
}

func (l *labels) find(label []byte) (op int32, ok bool) {
	if n, plain := l.number(label); plain {
		if n >= len(l.numbered) || l.numbered[n].rank != l.rank {
			return 0, false
		}
		return l.numbered[n].op, true
	}
	op, ok = l.named[string(label)]
	return op, ok
}

// define gives a label its operation; the first meaning stays.
func (l *labels) define(label []byte, op int32) {
	if n, plain := l.number(label); plain {
		for n >= len(l.numbered) {
			l.numbered = append(l.numbered, make([]numbered, n+1)...)
		}
		if l.numbered[n].rank != l.rank {
			l.numbered[n] = numbered{l.rank, op}
		}
		return
	}
	if l.named == nil {
		l.named = map[string]int32{}
	}
	if _, defined := l.named[string(label)]; !defined {
		l.named[string(label)] = op
	}
}
