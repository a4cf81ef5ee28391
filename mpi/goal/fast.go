package goal

import (
	"math"

	"github.com/weft-sim/weft/mpi"
)

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

func (p *parser) fastDependency(s *scan, label []byte, edges *list[edge]) bool {
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
