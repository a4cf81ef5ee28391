// Package goal reads, writes and replays schedules in the GOAL format of LogGOPSim and ATLAHS.
package goal

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Schedule is a schedule in the GOAL format (Hoefler, Siebert, Lumsdaine, Group Operation Assembly
// Language, ICPP 2009), as LogGOPSim and ATLAHS replay it: for every rank a set of operations with
// dependencies. It is read-only once parsed; 40 bytes an operation and 4 a dependency, 8 more while it
// is read.
type Schedule struct {
	name       string
	numbered   bool // no lines: the places of operations are ranks and numbers
	cpus, nics int
	first      []int32 // first operation of each rank (len = ranks+1)
	memory     *mem.Spill
	ops        mem.List[operation]
	onStart    dependents // irequires: released by the start
	onDone     dependents // requires: released by the completion
}

type operation struct {
	size      int64
	peer, tag int32
	line      int32
	needs     int32 // dependency lines that must hold first
	kind      mpi.Kind
	cpu, nic  uint8
}

// dependents lists for each operation the operations that wait for it, in the
// order of their dependency lines.
type dependents struct {
	start []int32 // len = operations+1
	op    []int32
}

func (d *dependents) of(op int32) []int32 { return d.op[d.start[op]:d.start[op+1]] }

// edge is a dependency line: the operation after waits for the operation before.
type edge struct{ before, after int32 }

// newDependents sorts edges by their first end, keeping their order.
func newDependents(ops int, edges *mem.List[edge], memory *mem.Spill) dependents {
	// Counted two places up and filled one place up, the starts end in their places.
	start := mem.Slice[int32](memory, ops+2)
	touched := func(i int32, bytes int) {
		if i%mem.PieceItems == 0 {
			memory.Touched(bytes * mem.PieceItems)
		}
	}
	for i, e := range edges.All {
		touched(i, 4)
		start[e.before+2]++
	}
	for i := range int32(ops) {
		touched(i, 4)
		start[i+2] += start[i+1]
	}
	d := dependents{start: start[:ops+1], op: mem.Slice[int32](memory, edges.Len())}
	for i, e := range edges.All {
		touched(i, 8)
		d.op[start[e.before+1]] = e.after
		start[e.before+1]++
	}
	return d
}

// Ranks is the number of ranks.
func (g *Schedule) Ranks() int { return len(g.first) - 1 }

// place is where the schedule has an operation, for messages.
func (g *Schedule) place(i int32) string {
	if !g.numbered {
		return fmt.Sprintf("%s:%d", g.name, g.ops.At(i).line)
	}
	r := g.rankOf(i)
	return fmt.Sprintf("%s: rank %d, operation %d", g.name, r, i-g.first[r])
}

func (g *Schedule) rankOf(i int32) int {
	return sort.Search(g.Ranks(), func(r int) bool { return g.first[r+1] > i })
}

// WriteText writes the schedule in the GOAL format; operations are labelled l1,
// l2, ... within each rank.
func (g *Schedule) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w) // the first error stays, and Flush returns it
	fmt.Fprintf(out, "num_ranks %d\n", g.Ranks())
	for r := range g.Ranks() {
		fmt.Fprintf(out, "\nrank %d {\n", r)
		first, end := g.first[r], g.first[r+1]
		for i := first; i < end; i++ {
			fmt.Fprintf(out, "l%d: %s\n", i-first+1, g.ops.At(i).text())
		}
		for i := first; i < end; i++ {
			for _, after := range g.onStart.of(i) {
				fmt.Fprintf(out, "l%d irequires l%d\n", after-first+1, i-first+1)
			}
			for _, after := range g.onDone.of(i) {
				fmt.Fprintf(out, "l%d requires l%d\n", after-first+1, i-first+1)
			}
		}
		fmt.Fprintln(out, "}")
	}
	return out.Flush()
}

// text is the operation in the GOAL format.
func (o *operation) text() string {
	s := ""
	switch o.kind {
	case mpi.Send:
		s = fmt.Sprintf("send %db to %d tag %d", o.size, o.peer, o.tag)
	case mpi.Recv:
		s = fmt.Sprintf("recv %db from %d tag %d", o.size, o.peer, o.tag)
	case mpi.Calc:
		s = fmt.Sprintf("calc %d", o.size)
	}
	if o.cpu != 0 {
		s += fmt.Sprintf(" cpu %d", o.cpu)
	}
	if o.nic != 0 {
		s += fmt.Sprintf(" nic %d", o.nic)
	}
	return s
}

// Replay returns a workload that runs the schedule once. calcUnit is the
// length of one calc unit in the time unit of the machine: 1 for the LogGOPS
// machine, 1000 (picoseconds in a nanosecond) for the runtime.
func (g *Schedule) Replay(calcUnit int64) mpi.Workload {
	state := &mem.Spill{}
	n := g.ops.Len()
	w := &replay{Schedule: g, state: state, unit: calcUnit, needs: mem.Slice[int32](state, n), ready: mem.Slice[int64](state, n), left: int64(n)}
	for i, op := range g.ops.All {
		w.needs[i] = op.needs
		if i%mem.PieceItems == 0 {
			state.Touched(4 * mem.PieceItems)
		}
	}
	return w
}

// Run replays the schedule on a machine with the given time unit; a calc unit is 1
// ns. Local work costs what the schedule says.
func (g *Schedule) Run(unit sim.Time, _ mpi.Costs) mpi.Workload {
	return g.Replay(int64(sim.Nanosecond / unit))
}

// forgetAfter is how many releases of a thread touch the pages of about 32 MiB.
const forgetAfter = 1 << 18

// replay is the state of one run: 12 bytes an operation.
type replay struct {
	*Schedule
	unit  int64
	state *mem.Spill
	needs []int32 // dependencies not yet met, per operation
	ready []int64 // when the last one met so far was, per operation
	left  int64
	count int // releases since pages were forgotten
	parts []*replay
}

func (w *replay) Part() mpi.Workload {
	p := *w
	p.left = 0
	w.parts = append(w.parts, &p)
	return &p
}

func (w *replay) CPUs() int { return w.cpus }
func (w *replay) NICs() int { return w.nics }
func (w *replay) Unreleased() int64 {
	left := w.left
	for _, p := range w.parts { // which count down from 0
		left += p.left
	}
	return left
}

func (w *replay) Where(rank, id int32) string { return w.place(w.first[rank] + id) }

func (w *replay) Start(rank int32, dst []mpi.Op) []mpi.Op {
	for i := w.first[rank]; i < w.first[rank+1]; i++ {
		if w.needs[i] == 0 {
			dst = w.release(rank, i, dst)
		}
	}
	return dst
}

func (w *replay) Started(rank, id int32, now int64, dst []mpi.Op) []mpi.Op {
	return w.met(rank, now, w.onStart.of(w.first[rank]+id), dst)
}

func (w *replay) Done(rank, id int32, now int64, dst []mpi.Op) []mpi.Op {
	return w.met(rank, now, w.onDone.of(w.first[rank]+id), dst)
}

func (w *replay) met(rank int32, now int64, waiting []int32, dst []mpi.Op) []mpi.Op {
	for _, i := range waiting {
		w.needs[i]--
		w.ready[i] = max(w.ready[i], now)
		if w.needs[i] == 0 {
			dst = w.release(rank, i, dst)
		}
	}
	return dst
}

func (w *replay) release(rank, i int32, dst []mpi.Op) []mpi.Op {
	o := w.ops.At(i)
	w.left--
	if w.count++; w.count == forgetAfter { // what went before is seldom read again
		w.count = 0
		w.memory.Forget()
		w.state.Forget()
	}
	op := mpi.Op{ID: i - w.first[rank], Kind: o.kind, CPU: o.cpu, NIC: o.nic, Peer: o.peer, Tag: o.tag, Size: o.size, Ready: w.ready[i]}
	if o.kind == mpi.Calc {
		op.Size = min(op.Size, math.MaxInt64/w.unit) * w.unit // what is more is too late anyway
	}
	return append(dst, op)
}

// Archive implements [mpi.KeptWorkload]: what every operation still needs, and since when it
// has had the rest. Operations that wait for as much as at the start are many.
func (w *replay) Archive(a *snapshot.Archive) {
	i := int32(-1)
	snapshot.Array(a, "operations", w.needs, func(a *snapshot.Archive, needs *int32) {
		i++
		met := w.ops.At(i).needs - *needs
		snapshot.Int(a, &met)
		if *needs = w.ops.At(i).needs - met; met > 0 {
			snapshot.Int(a, &w.ready[i])
		}
	})
	if !a.Reading() {
		return
	}
	w.left = 0
	for _, needs := range w.needs {
		if needs > 0 {
			w.left++
		}
	}
}

// checkCycles looks for operations that wait for themselves.
func (g *Schedule) checkCycles() error {
	memory := &mem.Spill{}
	needs := mem.Slice[int32](memory, g.ops.Len())
	for i, op := range g.ops.All {
		needs[i] = op.needs
	}
	const met = -1
	var stack []int32
	left := g.ops.Len()
	for i := range g.ops.All {
		if i%mem.PieceItems == 0 {
			memory.Touched(4 * mem.PieceItems)
		}
		if needs[i] == 0 {
			stack = append(stack, i)
		}
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			needs[i] = met
			if left--; left%forgetAfter == 0 {
				g.memory.Forget()
				memory.Forget()
			}
			for _, d := range []*dependents{&g.onStart, &g.onDone} {
				for _, after := range d.of(i) {
					if needs[after]--; needs[after] == 0 {
						stack = append(stack, after)
					}
				}
			}
		}
	}
	var err error
	if left > 0 {
		err = g.cycleError(needs)
	}
	memory.Free()
	return err
}

// cycleError describes one cycle among the operations whose needs are not met.
func (g *Schedule) cycleError(needs []int32) error {
	// Every operation left waits for another one left: walking from any of
	// them to one that it waits for must come round.
	waitsFor := make(map[int32]int32)
	at := int32(-1)
	for i := range int32(g.ops.Len()) {
		if needs[i] <= 0 {
			continue
		}
		if at < 0 {
			at = i
		}
		for _, d := range []*dependents{&g.onStart, &g.onDone} {
			for _, after := range d.of(i) {
				if needs[after] > 0 {
					waitsFor[after] = i
				}
			}
		}
	}
	seen := map[int32]bool{}
	for !seen[at] {
		seen[at] = true
		at = waitsFor[at]
	}
	short := func(i int32) string { // place in the file or the rank
		if g.numbered {
			return fmt.Sprintf("operation %d", i-g.first[g.rankOf(i)])
		}
		return fmt.Sprintf("line %d", g.ops.At(i).line)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s: dependency cycle in rank %d: ", g.place(at), g.rankOf(at))
	const most = 10 // operations that are told
	for first, n := at, 1; ; n++ {
		if n <= most {
			fmt.Fprintf(&s, "%q (%s) requires ", g.ops.At(at).text(), short(at))
		}
		if at = waitsFor[at]; at == first {
			if n > most {
				fmt.Fprintf(&s, "%d more, the last of which requires ", n-most)
			}
			s.WriteString(short(at))
			return errors.New(s.String())
		}
	}
}

// mostPaired is the most messages whose lengths are compared before a run: 24 bytes for each and its receive.
const mostPaired = 1 << 22

// length is the end of a message: what it is matched by, and its bytes.
type length struct {
	from, to, tag, op int32
	bytes             int64
}

// compare orders ends by what they are matched by.
func (l length) compare(o length) int {
	return cmp.Or(cmp.Compare(l.to, o.to), cmp.Compare(l.from, o.from), cmp.Compare(l.tag, o.tag))
}

// mixed is a hash of the end, equal for a message and its receive.
func (l length) mixed() uint64 {
	h := uint64(1)
	for _, v := range [3]uint64{uint64(l.from)<<32 | uint64(l.to), uint64(l.tag), uint64(l.bytes)} {
		high, low := bits.Mul64(h+v, 0x9e3779b97f4a7c15)
		h = high ^ low
	}
	return h
}

// checkLengths refuses messages that are longer than their receives in whatever order they are matched: of a
// pair of ranks and a tag, the n-th of the sends by length is longer than the n-th of the receives. It leaves the
// rest to the run: an order that comes out wrong, receives of any rank or tag, and schedules of many messages.
func (g *Schedule) checkLengths() error {
	differ, messages, anything := uint64(0), 0, false
	for l, kind := range g.lengths {
		if kind == mpi.Send {
			differ += l.mixed()
			messages++
		} else {
			differ -= l.mixed()
			anything = anything || l.from == mpi.Any
		}
		anything = anything || l.tag == mpi.Any
	}
	if differ == 0 || anything || messages > mostPaired {
		return nil
	}
	var ends [mpi.Recv + 1][]length
	for l, kind := range g.lengths {
		ends[kind] = append(ends[kind], l)
	}
	for _, list := range ends {
		slices.SortFunc(list, func(a, b length) int {
			return cmp.Or(a.compare(b), cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.op, b.op))
		})
	}
	for sends, receives := ends[mpi.Send], ends[mpi.Recv]; len(sends) > 0 && len(receives) > 0; {
		s, r := sends[0], receives[0]
		switch c := s.compare(r); {
		case c == 0 && s.bytes > r.bytes:
			return fmt.Errorf("%s: %w", g.place(s.op), mpi.TooLong(s.bytes, s.from, s.to, s.tag, r.bytes, g.place(r.op)))
		case c < 0:
			sends = sends[1:]
		case c > 0:
			receives = receives[1:]
		default:
			sends, receives = sends[1:], receives[1:]
		}
	}
	return nil
}

func (g *Schedule) lengths(yield func(length, mpi.Kind) bool) {
	r := int32(0)
	for i, op := range g.ops.All {
		for i >= g.first[r+1] {
			r++
		}
		if i%forgetAfter == forgetAfter-1 {
			g.memory.Forget()
		}
		l := length{r, op.peer, op.tag, i, op.size}
		if op.kind == mpi.Recv {
			l.from, l.to = op.peer, r
		}
		if op.kind != mpi.Calc && !yield(l, op.kind) {
			return
		}
	}
}
