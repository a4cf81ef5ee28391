package goal

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

// reset forgets all labels.
func (l *labels) reset() {
	l.rank++
	clear(l.named)
}

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

// find looks a label up.
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
