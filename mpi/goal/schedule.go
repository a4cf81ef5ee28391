package goal

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// Schedule is a schedule in the GOAL format (Hoefler, Siebert, Lumsdaine, Group
// Operation Assembly Language, ICPP 2009), as LogGOPSim and ATLAHS replay it:
// for every rank a set of operations with dependencies. It is read-only once
// parsed; 40 bytes an operation and 4 a dependency, 8 more while it is read.
type Schedule struct {
	name       string
	numbered   bool // no lines: the places of operations are ranks and numbers
	cpus, nics int
	first      []int32 // first operation of each rank (len = ranks+1)
	ops        list[operation]
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
func newDependents(ops int, edges *list[edge]) dependents {
	// Counted two places up and filled one place up, the starts end in their places.
	start := make([]int32, ops+2)
	for _, e := range edges.all {
		start[e.before+2]++
	}
	for i := range ops {
		start[i+2] += start[i+1]
	}
	d := dependents{start: start[:ops+1], op: make([]int32, edges.len())}
	for _, e := range edges.all {
		d.op[start[e.before+1]] = e.after
		start[e.before+1]++
	}
	return d
}

// Ranks is the number of ranks.
func (g *Schedule) Ranks() int { return len(g.first) - 1 }

// Messages is the number of sends of all ranks.
func (g *Schedule) Messages() int {
	n, _ := g.Count(mpi.Send)
	return int(n)
}

// place is where the schedule has an operation, for messages.
func (g *Schedule) place(i int32) string {
	if !g.numbered {
		return fmt.Sprintf("%s:%d", g.name, g.ops.at(i).line)
	}
	r := g.rankOf(i)
	return fmt.Sprintf("%s: rank %d, operation %d", g.name, r, i-g.first[r])
}

// rankOf is the rank of an operation.
func (g *Schedule) rankOf(i int32) int {
	return sort.Search(g.Ranks(), func(r int) bool { return g.first[r+1] > i })
}

// WriteTo writes the schedule in the GOAL format; operations are labelled l1,
// l2, ... within each rank.
func (g *Schedule) WriteTo(w io.Writer) (int64, error) {
	out := &countingWriter{w: bufio.NewWriter(w)}
	fmt.Fprintf(out, "num_ranks %d\n", g.Ranks())
	for r := range g.Ranks() {
		fmt.Fprintf(out, "\nrank %d {\n", r)
		first, end := g.first[r], g.first[r+1]
		for i := first; i < end; i++ {
			fmt.Fprintf(out, "l%d: %s\n", i-first+1, g.ops.at(i).text())
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
	if err := out.w.Flush(); err != nil && out.err == nil {
		out.err = err
	}
	return out.n, out.err
}

type countingWriter struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
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
	w := &replay{Schedule: g, unit: calcUnit, needs: make([]int32, g.ops.len()), ready: make([]int64, g.ops.len()), left: int64(g.ops.len())}
	for i, op := range g.ops.all {
		w.needs[i] = op.needs
	}
	return w
}

// Run replays the schedule on a machine with the given time unit; a calc unit is 1
// ns, and the costs of local work are those of the schedule itself.
func (g *Schedule) Run(unit sim.Time, _ mpi.Costs) mpi.Workload {
	return g.Replay(int64(sim.Nanosecond / unit))
}

// replay is the state of one run: 12 bytes an operation.
type replay struct {
	*Schedule
	unit  int64
	needs []int32 // dependencies not yet met, per operation
	ready []int64 // when the last one met so far was, per operation
	left  int64
	parts []*replay
}

// Part implements [mpi.Divisible].
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

func (w *replay) Where(rank, id int32) string {
	return w.place(w.first[rank] + id)
}

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
	o := w.ops.at(i)
	w.left--
	op := mpi.Op{ID: i - w.first[rank], Kind: o.kind, CPU: o.cpu, NIC: o.nic, Peer: o.peer, Tag: o.tag, Size: o.size, Ready: w.ready[i]}
	if o.kind == mpi.Calc {
		op.Size = min(op.Size, math.MaxInt64/w.unit) * w.unit // what is more is too late anyway
	}
	return append(dst, op)
}
