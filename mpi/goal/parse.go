package goal

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// maxLine bounds a line: the longest statement has some hundred bytes, and comments are not longer.
const maxLine = 1 << 20

// What a schedule takes while it is read: an operation with its places in the two lists of
// dependents, a dependency with its place there, and a rank, whose slice grows by copying.
const (
	opBytes   = 32 + 2*4
	edgeBytes = 8 + 4
	rankBytes = 4 * 9 / 4
)

// maxProblems is the number of problems after which the parser gives up.
const maxProblems = 10

// mostOperations is the number of operations that 31 bits can count.
const mostOperations = math.MaxInt32 - 1

// Parse reads a schedule in the GOAL format, text or binary, told by its first bytes; name stands for
// it in messages. All problems of a text are reported (up to ten), each as name:line: syntax, labels
// that are not defined above, ranks that are missing, out of order or out of range, dependency cycles,
// a file that ends too early. Sizes of 0 bytes, comments behind an operation and a byte order mark are
// accepted, though LogGOPSim mishandles them.
func Parse(name string, r io.Reader) (*Schedule, error) {
	raw := bufio.NewReaderSize(r, 1<<16)
	p := &parser{ranks: -1, most: input.Memory()}
	p.begin(name)
	if isBinary(raw) {
		p.in = raw
		p.parseBinary()
	} else {
		p.in = bufio.NewReaderSize(input.Text(raw), 1<<16)
		p.parse()
	}
	if len(p.problems) > 0 {
		return nil, errors.Join(p.problems...)
	}
	return p.finish()
}

// begin makes an empty schedule.
func (p *parser) begin(name string) {
	memory, edges := &mem.Spill{}, &mem.Spill{}
	p.goal = &Schedule{name: name, cpus: 1, nics: 1, memory: memory}
	p.goal.ops.Spill, p.onStart.Spill, p.onDone.Spill = memory, edges, edges
}

// finish sorts the dependencies, and refuses cycles and messages longer than their receives.
func (p *parser) finish() (*Schedule, error) {
	g := p.goal
	g.onStart = newDependents(g.ops.Len(), &p.onStart, g.memory)
	g.onDone = newDependents(g.ops.Len(), &p.onDone, g.memory)
	p.onDone.Spill.Free()
	p.onStart, p.onDone = mem.List[edge]{}, mem.List[edge]{}
	if err := cmp.Or(g.checkCycles(), g.checkLengths()); err != nil {
		return nil, err
	}
	return g, nil
}

type parser struct {
	goal            *Schedule
	in              *bufio.Reader
	line            int
	buffer          []byte
	comment         int // line on which the open /* comment began, 0 if none is open
	labels          labels
	onStart, onDone mem.List[edge]
	ranks           int // of the file's header; -1 before it
	openedAt        int // line of the open rank block, 0 outside
	problems        []error
	most            int64 // bytes that it may take
}

// held is what the schedule takes so far, in bytes of memory that cannot be spilled.
func (p *parser) held() int64 {
	if p.goal.memory.OnFile() {
		return rankBytes * int64(len(p.goal.first))
	}
	return opBytes*int64(p.goal.ops.Len()) + edgeBytes*int64(p.onStart.Len()+p.onDone.Len()) + rankBytes*int64(len(p.goal.first))
}

func (p *parser) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("%s:%d: %s", p.goal.name, p.line, fmt.Sprintf(format, args...)))
}

func (p *parser) parse() {
	g := p.goal
	for len(p.problems) < maxProblems {
		line, err := p.readLine()
		if err != nil && err != io.EOF {
			p.problem("%v", err)
			return
		}
		for t := begin(p.stripComments(line)); !t.end(); {
			if problem := p.statement(&t); problem != "" {
				p.problem("%s", problem)
				break
			}
		}
		if err == io.EOF {
			break
		}
		if p.held() > p.most {
			p.problem("%d operations so far take %d bytes, more than the memory of this machine", p.goal.ops.Len(), p.held())
			return
		}
	}
	if len(p.problems) >= maxProblems {
		return
	}
	switch {
	case p.comment != 0:
		p.problem("the file ends inside the comment that begins on line %d", p.comment)
	case p.openedAt != 0:
		p.problem("the file ends inside rank %d, whose block begins on line %d: is it truncated?", len(g.first)-1, p.openedAt)
	case p.ranks < 0:
		p.problem("no schedule: the file must begin with \"num_ranks N\"")
	case len(g.first) != p.ranks && len(p.problems) == 0:
		p.problem("the file ends after %d of %d ranks: is it truncated?", len(g.first), p.ranks)
	}
	g.first = append(g.first, int32(g.ops.Len()))
}

// readLine returns the next line; the slice is valid until the next call.
func (p *parser) readLine() ([]byte, error) {
	p.buffer = p.buffer[:0]
	p.line++
	for {
		part, err := p.in.ReadSlice('\n')
		if err == nil && len(p.buffer) == 0 {
			return part, nil
		}
		if len(p.buffer)+len(part) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes: one statement per line", maxLine)
		}
		p.buffer = append(p.buffer, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		return p.buffer, err
	}
}

func (p *parser) stripComments(line []byte) []byte {
	if p.comment == 0 && bytes.IndexByte(line, '/') < 0 {
		return line
	}
	kept := line[:0]
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case p.comment != 0:
			if bytes.HasPrefix(rest, []byte("*/")) {
				p.comment = 0
				i++
			}
		case bytes.HasPrefix(rest, []byte("//")):
			return kept
		case bytes.HasPrefix(rest, []byte("/*")):
			p.comment = p.line
			kept = append(kept, ' ')
			i++
		default:
			kept = append(kept, line[i])
		}
	}
	return kept
}

// statement reads what a line begins with: an operation or a dependency, which end with it, or num_ranks, the head
// of a rank or its end, behind which there may be more. It returns what is wrong with it, or "".
func (p *parser) statement(t *statement) string {
	g := p.goal
	switch {
	case p.ranks < 0:
		p.ranks = math.MaxInt32 // a problem is reported once
		if !t.word("num_ranks") {
			return t.wrong("the file must begin with \"num_ranks N\", not %q", t.text())
		}
		n, ok := t.integer(1, math.MaxInt32-1)
		if !ok {
			return t.wrong("num_ranks wants one number, 1 to %d, not %q", math.MaxInt32-1, t.text())
		}
		p.ranks = int(n)
	case p.openedAt == 0:
		n, ok := int64(0), t.word("rank")
		if ok {
			n, ok = t.integer(0, math.MaxInt32-1)
		}
		if !ok || !t.punctuation('{') {
			return t.wrong("want \"rank %d {\", not %q", len(g.first), t.text())
		}
		p.openedAt = p.line
		if int(n) != len(g.first) {
			p.problem("rank %d stands where rank %d belongs: ranks stand in order, none missing", n, len(g.first))
		} else if int(n) >= p.ranks {
			p.problem("rank %d, but num_ranks is %d", n, p.ranks)
		}
		g.first = append(g.first, int32(g.ops.Len()))
		p.labels.rank++
		clear(p.labels.named)
	case t.punctuation('}'):
		p.openedAt = 0
	default:
		return p.inRank(t)
	}
	return ""
}

func (p *parser) inRank(t *statement) string {
	var label []byte
	word, kind := t.token(), t.kind
	t.advance()
	if kind == tokenWord {
		switch {
		case t.punctuation(':'):
			label, word = word, t.token()
			t.advance()
		case t.word("requires"):
			return p.dependency(t, word, "requires", &p.onDone)
		case t.word("irequires"):
			return p.dependency(t, word, "irequires", &p.onStart)
		}
	}
	op := operation{line: int32(min(p.line, math.MaxInt32))}
	if problem := p.operation(t, word, &op); problem != "" {
		return problem
	}
	if !p.add(label, op) {
		return fmt.Sprintf("more than %d operations", p.goal.ops.Len())
	}
	return ""
}

// add files an operation; label is empty if it has none. It does nothing and returns
// false if there are too many.
func (p *parser) add(label []byte, op operation) bool {
	g := p.goal
	if g.ops.Len() == mostOperations {
		return false
	}
	if len(label) > 0 {
		p.labels.define(label, int32(g.ops.Len()))
	}
	g.ops.Add(op)
	g.cpus = max(g.cpus, int(op.cpu)+1)
	g.nics = max(g.nics, int(op.nic)+1)
	return true
}

func (p *parser) depend(edges *mem.List[edge], before, after int32) {
	edges.Add(edge{before, after})
	p.goal.ops.At(after).needs++
}

// dependency reads what follows "LABEL requires".
func (p *parser) dependency(t *statement, label []byte, requires string, edges *mem.List[edge]) string {
	other, kind := t.token(), t.kind
	if t.advance(); kind != tokenWord || !t.end() {
		return t.wrong("a dependency reads \"LABEL %s LABEL\", not %q", requires, t.text())
	}
	after, okAfter := p.labels.find(label)
	before, okBefore := p.labels.find(other)
	if !okAfter {
		p.problem("label %q is not defined above in this rank", label)
	}
	if !okBefore {
		p.problem("label %q is not defined above in this rank", other)
	}
	if okAfter && okBefore {
		p.depend(edges, before, after)
	}
	return ""
}

// operation reads what follows "calc", "send" or "recv", and returns what is wrong with it, or "".
func (p *parser) operation(t *statement, word []byte, op *operation) string {
	var form, preposition string
	lowest := int64(0)
	switch string(word) {
	case "calc":
		op.kind, form = mpi.Calc, "calc N [cpu N]"
	case "send":
		op.kind, form, preposition = mpi.Send, "send N b to N [tag N] [cpu N] [nic N]", "to"
	case "recv":
		op.kind, form, preposition = mpi.Recv, "recv N b from N [tag N] [cpu N] [nic N]", "from"
		lowest = -1
	default:
		return t.wrong("unknown statement %q: want calc, send, recv, a dependency or \"}\"", t.text())
	}
	wrong := func(why string, args ...any) string {
		return t.wrong("%q does not read as %q"+why, append([]any{t.text(), form}, args...)...)
	}
	var ok bool
	if op.size, ok = t.integer(0, math.MaxInt64); !ok {
		return wrong(" (the first N is 0 to %d)", math.MaxInt64)
	}
	if op.kind != mpi.Calc {
		if !t.word("b") || !t.word(preposition) {
			return wrong("")
		}
		peer, ok := t.integer(math.MinInt64, math.MaxInt64)
		if !ok {
			return wrong("")
		}
		if peer < lowest || peer >= int64(p.ranks) {
			return t.wrong("rank %d is out of range: ranks are 0 to %d", peer, p.ranks-1)
		}
		op.peer = int32(peer)
		if t.word("tag") {
			tag, ok := t.integer(-1, math.MaxInt32)
			if !ok {
				return wrong(" (tags are -1 to %d)", math.MaxInt32)
			}
			op.tag = int32(tag)
		}
	}
	if t.word("cpu") {
		cpu, ok := t.integer(0, 255)
		if !ok {
			return wrong(" (cpus are 0 to 255)")
		}
		op.cpu = uint8(cpu)
	}
	if op.kind != mpi.Calc && t.word("nic") {
		nic, ok := t.integer(0, 255)
		if !ok {
			return wrong(" (nics are 0 to 255)")
		}
		op.nic = uint8(nic)
	}
	if !t.end() {
		return wrong("")
	}
	return ""
}
