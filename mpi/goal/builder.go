package goal

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// Builder makes a schedule of operations that another format names, rank by rank.
type Builder struct{ p parser }

// NewBuilder begins a schedule of so many ranks; name stands for it in messages.
func NewBuilder(name string, ranks int) *Builder {
	b := &Builder{parser{ranks: ranks, most: input.Memory()}}
	b.p.begin(name)
	b.p.goal.numbered = true
	return b
}

// Rank begins the next rank.
func (b *Builder) Rank() { b.p.goal.first = append(b.p.goal.first, int32(b.p.goal.ops.Len())) }

// Add appends an operation to the rank and returns its number, which is unique in the
// schedule. A computation has no peer and no tag; its size is in ns.
func (b *Builder) Add(kind mpi.Kind, size int64, peer, tag int32) (int32, error) {
	if err := b.check(kind, size, peer, tag); err != nil {
		return 0, err
	}
	if kind == mpi.Calc {
		peer, tag = 0, 0
	}
	if n := b.p.goal.ops.Len(); n%mem.PieceItems == 0 && b.p.held() > b.p.most {
		return 0, fmt.Errorf("%d operations so far take more than the memory of this machine", n)
	}
	if !b.p.add(nil, operation{kind: kind, size: size, peer: peer, tag: tag}) {
		return 0, fmt.Errorf("more than %d operations", mostOperations)
	}
	return int32(b.p.goal.ops.Len() - 1), nil
}

// check refuses what no operation can be.
func (b *Builder) check(kind mpi.Kind, size int64, peer, tag int32) error {
	switch {
	case kind == mpi.Calc && size >= 0:
	case kind != mpi.Calc && (peer >= int32(b.p.ranks) || peer < 0 && (peer != mpi.Any || kind != mpi.Recv)):
		return fmt.Errorf("%s with rank %d: ranks are 0 to %d", kind, peer, b.p.ranks-1)
	case size < 0 || tag < mpi.Any:
		return fmt.Errorf("%s of size %d with tag %d: want a size of 0 to %d and a tag of -1 to %d", kind, size, tag, int64(math.MaxInt64), math.MaxInt32)
	}
	return nil
}

// Become makes an operation that was appended another one.
func (b *Builder) Become(id int32, kind mpi.Kind, size int64, peer, tag int32) error {
	err := b.check(kind, size, peer, tag)
	if err == nil {
		o := b.p.goal.ops.At(id)
		o.kind, o.size, o.peer, o.tag = kind, size, peer, tag
	}
	return err
}

// After makes an operation wait for the end of another of its rank.
func (b *Builder) After(before, after int32) { b.p.depend(&b.p.onDone, before, after) }

// AfterStart makes an operation wait for the start of another of its rank.
func (b *Builder) AfterStart(before, after int32) { b.p.depend(&b.p.onStart, before, after) }

// Schedule is what was built. It refuses operations that wait for themselves.
func (b *Builder) Schedule() (*Schedule, error) {
	b.Rank() // where the last ends
	return b.p.finish()
}

// Of is the schedule that a workload replays; nil if it is another one.
func Of(w mpi.Workload) *Schedule {
	if r, ok := w.(*replay); ok {
		return r.Schedule
	}
	return nil
}

// Step is an operation of a schedule, for those who write it in another format.
type Step struct {
	mpi.Op         // ID is its number in the rank
	After  []int32 // the numbers of those whose end it waits for
}

// Steps yields the operations of a rank, in order. Dependencies on starts are refused.
func (g *Schedule) Steps(rank int, yield func(Step) error) error {
	first, end := g.first[rank], g.first[rank+1]
	after := make([][]int32, end-first)
	for i := first; i < end; i++ {
		if len(g.onStart.of(i)) > 0 {
			return fmt.Errorf("%s: others wait for the start of this operation (irequires), which the format cannot say", g.place(i))
		}
		for _, waiting := range g.onDone.of(i) {
			after[waiting-first] = append(after[waiting-first], i-first)
		}
	}
	for i := first; i < end; i++ {
		o := g.ops.At(i)
		if o.cpu != 0 || o.nic != 0 {
			return fmt.Errorf("%s: a CPU or NIC beyond the first, which the format cannot say", g.place(i))
		}
		step := Step{mpi.Op{ID: i - first, Kind: o.kind, Peer: o.peer, Tag: o.tag, Size: o.size}, after[i-first]}
		if err := yield(step); err != nil {
			return fmt.Errorf("%s: %w", g.place(i), err)
		}
	}
	return nil
}

// Count is the number of operations of a kind, and the sum of their sizes.
func (g *Schedule) Count(kind mpi.Kind) (n, size int64) {
	for _, op := range g.ops.All {
		if op.kind == kind {
			n++
			size = min(size, math.MaxInt64-op.size) + op.size // at most what 63 bits hold
		}
	}
	return n, size
}

// ScaleCompute multiplies the computing times, before the schedule is run.
func (g *Schedule) ScaleCompute(factor float64) {
	if factor == 1 {
		return
	}
	for _, op := range g.ops.All {
		if op.kind == mpi.Calc {
			op.size = int64(min(math.Round(float64(op.size)*factor), math.MaxInt64/2))
		}
	}
}
