package goal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// maxLine bounds a line: the longest statement has some hundred bytes, and
// comments are not longer.
const maxLine = 1 << 20

// What a schedule takes while it is read: an operation with its places in the two
// lists of dependents, a dependency with its place there, and a rank, whose slice grows
// by copying.
const (
	opBytes   = 32 + 2*4
	edgeBytes = 8 + 4
	rankBytes = 4 * 9 / 4
)

// maxProblems is the number of problems after which the parser gives up.
const maxProblems = 10

// mostOperations is the number of operations that 31 bits can count.
const mostOperations = math.MaxInt32 - 1

// Parse reads a schedule in the GOAL format, text or binary, told by its first bytes;
// name stands for it in messages. All problems of a text are reported (up to ten), each as name:line: what is
// wrong: syntax, labels that are not defined above, ranks that are missing,
// out of order or out of range, dependency cycles, a file that ends too early.
// Sizes of 0 bytes and comments behind an operation are accepted, though
// LogGOPSim mishandles them, as is a byte order mark.
func Parse(name string, r io.Reader) (*Schedule, error) { return parse(name, r, false) }

// parse is Parse; plain reads every line by its tokens.
func parse(name string, r io.Reader, plain bool) (*Schedule, error) {
	raw := bufio.NewReaderSize(r, 1<<16)
	p := &parser{
		ranks: -1,
		most:  input.Memory(),
		plain: plain,
	}
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

// finish sorts the dependencies, and refuses cycles.
func (p *parser) finish() (*Schedule, error) {
	g := p.goal
	g.onStart = newDependents(g.ops.Len(), &p.onStart, g.memory)
	g.onDone = newDependents(g.ops.Len(), &p.onDone, g.memory)
	p.onDone.Spill.Free()
	p.onStart, p.onDone = mem.List[edge]{}, mem.List[edge]{}
	if err := g.checkCycles(); err != nil {
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
	plain           bool  // no line is read by fast
}

// held is what the schedule takes so far, in bytes of memory that cannot be spilled.
func (p *parser) held() int64 {
	if p.goal.memory.OnFile() {
		return rankBytes * int64(len(p.goal.first))
	}
	return opBytes*int64(p.goal.ops.Len()) + edgeBytes*int64(p.onStart.Len()+p.onDone.Len()) + rankBytes*int64(len(p.goal.first))
}

func (p *parser) problem(format string, args ...any) {
	p.problemAt(p.line, format, args...)
}

func (p *parser) problemAt(line int, format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("%s:%d: %s", p.goal.name, line, fmt.Sprintf(format, args...)))
}

func (p *parser) parse() {
	g := p.goal
	for len(p.problems) < maxProblems {
		line, err := p.readLine()
		if err != nil && err != io.EOF {
			p.problem("%v", err)
			return
		}
		if p.plain || p.openedAt == 0 || p.comment != 0 || !p.fast(line) {
			p.slow(line)
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

// slow reads any line.
func (p *parser) slow(line []byte) {
	if t := tokenize(p.stripComments(line)); t.err != "" {
		p.problem("%s", t.err)
	} else if t.n > 0 {
		p.statement(&t)
	}
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

// statement reads one line that is not empty.
func (p *parser) statement(t *tokens) {
	g := p.goal
	switch {
	case p.ranks < 0:
		if !t.word("num_ranks") {
			p.problem("the file must begin with \"num_ranks N\", not %q", t.text())
			p.ranks = math.MaxInt32 // report it once
			return
		}
		n, ok := t.integer(1, math.MaxInt32-1)
		if !ok || !t.end() {
			p.problem("num_ranks wants one number, 1 to %d, not %q", math.MaxInt32-1, t.text())
			p.ranks = math.MaxInt32
			return
		}
		p.ranks = int(n)
	case p.openedAt == 0:
		n, ok := int64(0), t.word("rank")
		if ok {
			n, ok = t.integer(0, math.MaxInt32-1)
		}
		if !ok || !t.punctuation('{') || !t.end() {
			p.problem("want \"rank %d {\", not %q", len(g.first), t.text())
			return
		}
		p.openedAt = p.line
		if int(n) != len(g.first) {
			p.problem("rank %d stands where rank %d belongs: ranks stand in order, none missing", n, len(g.first))
		} else if int(n) >= p.ranks {
			p.problem("rank %d, but num_ranks is %d", n, p.ranks)
		}
		g.first = append(g.first, int32(g.ops.Len()))
		p.labels.reset()
	case t.punctuation('}'):
		if !t.end() {
			p.problem("\"}\" stands on a line of its own")
		}
		p.openedAt = 0
	default:
		p.inRank(t)
	}
}

// inRank reads an operation or a dependency.
func (p *parser) inRank(t *tokens) {
	var label []byte
	if t.n >= 2 && t.kind[0] == tokenWord {
		switch {
		case t.kind[1] == ':':
			label = t.tok[0]
			t.next = 2
		case t.kind[1] == tokenWord && (string(t.tok[1]) == "requires" || string(t.tok[1]) == "irequires"):
			p.dependency(t)
			return
		}
	}
	if p.goal.ops.Len() == mostOperations {
		p.problem("more than %d operations", p.goal.ops.Len())
		return
	}
	op := operation{line: int32(min(p.line, math.MaxInt32))}
	if err := p.operation(t, &op); err != "" {
		p.problem("%s", err)
		return
	}
	p.add(label, op)
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

// depend files a dependency.
func (p *parser) depend(edges *mem.List[edge], before, after int32) {
	edges.Add(edge{before, after})
	p.goal.ops.At(after).needs++
}

func (p *parser) dependency(t *tokens) {
	if t.n != 3 || t.kind[2] != tokenWord {
		p.problem("a dependency reads \"LABEL %s LABEL\", not %q", t.tok[1], t.text())
		return
	}
	after, okAfter := p.labels.find(t.tok[0])
	before, okBefore := p.labels.find(t.tok[2])
	if !okAfter {
		p.problem("label %q is not defined above in this rank", t.tok[0])
	}
	if !okBefore {
		p.problem("label %q is not defined above in this rank", t.tok[2])
	}
	if !okAfter || !okBefore {
		return
	}
	if len(t.tok[1]) == len("irequires") {
		p.depend(&p.onStart, before, after)
	} else {
		p.depend(&p.onDone, before, after)
	}
}

// operation reads "calc ...", "send ..." or "recv ..." and returns what is
// wrong with it, or "".
func (p *parser) operation(t *tokens, op *operation) string {
	var form, preposition string
	lowest := int64(0)
	switch {
	case t.word("calc"):
		op.kind, form = mpi.Calc, "calc N [cpu N]"
	case t.word("send"):
		op.kind, form, preposition = mpi.Send, "send N b to N [tag N] [cpu N] [nic N]", "to"
	case t.word("recv"):
		op.kind, form, preposition = mpi.Recv, "recv N b from N [tag N] [cpu N] [nic N]", "from"
		lowest = -1
	default:
		return fmt.Sprintf("unknown statement %q: want calc, send, recv, a dependency or \"}\"", t.text())
	}
	wrong := func() string { return fmt.Sprintf("%q does not read as %q", t.text(), form) }
	var ok bool
	if op.size, ok = t.integer(0, math.MaxInt64); !ok {
		return wrong() + fmt.Sprintf(" (the first N is 0 to %d)", math.MaxInt64)
	}
	if op.kind != mpi.Calc {
		if !t.word("b") || !t.word(preposition) {
			return wrong()
		}
		peer, ok := t.integer(math.MinInt64, math.MaxInt64)
		if !ok {
			return wrong()
		}
		if peer < lowest || peer >= int64(p.ranks) {
			return fmt.Sprintf("rank %d is out of range: ranks are 0 to %d", peer, p.ranks-1)
		}
		op.peer = int32(peer)
		if t.word("tag") {
			tag, ok := t.integer(-1, math.MaxInt32)
			if !ok {
				return wrong() + fmt.Sprintf(" (tags are -1 to %d)", math.MaxInt32)
			}
			op.tag = int32(tag)
		}
	}
	if t.word("cpu") {
		cpu, ok := t.integer(0, 255)
		if !ok {
			return wrong() + " (cpus are 0 to 255)"
		}
		op.cpu = uint8(cpu)
	}
	if op.kind != mpi.Calc && t.word("nic") {
		nic, ok := t.integer(0, 255)
		if !ok {
			return wrong() + " (nics are 0 to 255)"
		}
		op.nic = uint8(nic)
	}
	if !t.end() {
		return wrong()
	}
	return ""
}
