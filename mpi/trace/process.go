package trace

import (
	"fmt"

	"github.com/weft-sim/weft/mpi"
)

// Process is a rank that does one thing after another, but for the messages that it
// begins and waits for later.
type Process struct {
	*Builder
	last int32 // what the next operation waits for
}

// Process begins the next rank, with something for its first operation to wait for.
func (b *Builder) Process() (*Process, error) {
	b.Rank()
	p := &Process{Builder: b}
	var err error
	p.last, err = b.Compute(0)
	return p, err
}

// Then makes an operation follow the last.
func (p *Process) Then(operation int32, err error) error {
	if err == nil {
		p.After(p.last, operation)
		p.last = operation
	}
	return err
}

// Work makes the rank compute for so many ns of the trace.
func (p *Process) Work(ns float64) error { return p.Then(p.Compute(ns)) }

// Begin begins a message, for which the rank does not wait until [Process.Join].
func (p *Process) Begin(kind mpi.Kind, bytes, peer, tag int64) (int32, error) {
	id, err := p.Message(kind, bytes, peer, tag)
	if err == nil {
		p.After(p.last, id)
	}
	return id, err
}

// Join makes the rank wait for messages that it began.
func (p *Process) Join(messages []int32) error {
	return p.Then(p.gather(messages))
}

// Collect makes the rank take part in a collective, which is that of [Builder.Collective].
func (p *Process) Collect(operation Operation, group string, members []int, bytes int64, root int) error {
	return p.around(p.Collective(operation, group, members, bytes, root))
}

// Exchange makes the rank take part in an exchange of messages straight between the
// members of a group: bytes to send to and to receive from each of them, in their order; of
// 0 bytes there is no message. What it sends itself takes no time.
func (p *Process) Exchange(group string, members []int, send, receive []int64) error {
	return p.around(p.exchange(group, members, send, receive))
}

// Rooted is an exchange in which a root sends to all members of a group, or else receives from
// all: parts are their bytes at the root, elsewhere those of the rank alone.
func (p *Process) Rooted(scatter bool, group string, members []int, root int, atRoot bool, parts []int64) error {
	none := make([]int64, p.Size(members))
	if !atRoot {
		own := parts[0]
		parts = make([]int64, len(none))
		parts[root] = own
	}
	if scatter == atRoot {
		return p.Exchange(group, members, parts, none)
	}
	return p.Exchange(group, members, none, parts)
}

// around follows operations of which the first waits for all before, and all after for
// the last.
func (p *Process) around(first, last int32, err error) error {
	if err == nil {
		p.After(p.last, first)
		p.last = last
	}
	return err
}

// exchange is a collective of which every rank knows its own part only.
func (b *Builder) exchange(group string, members []int, send, receive []int64) (first, last int32, err error) {
	index, size, err := b.position(Exchange, group, members)
	if err != nil {
		return 0, 0, err
	}
	if len(send) != size || len(receive) != size {
		return 0, 0, fmt.Errorf("an exchange of %d and %d parts in a group of %d ranks", len(send), len(receive), size)
	}
	c, err := b.join(Exchange, group, size, 0, 0)
	if err != nil {
		return 0, 0, err
	}
	if first, err = b.Compute(0); err != nil {
		return 0, 0, err
	}
	done := []int32{first}
	message := func(kind mpi.Kind, member int, bytes int64) {
		if err != nil || bytes == 0 {
			return
		}
		peer := member
		if members != nil {
			peer = members[member]
		}
		var id int32
		if id, err = b.Add(kind, bytes, int32(peer), c.tag(0)); err == nil {
			b.After(first, id)
			done = append(done, id)
		}
	}
	for step := 1; step < size; step++ { // from the next rank on, so that not all begin with one
		from, to := (index+size-step)%size, (index+step)%size
		message(mpi.Recv, from, receive[from])
		message(mpi.Send, to, send[to])
	}
	if err == nil {
		last, err = b.gather(done)
	}
	return first, last, err
}

// Nothing is an operation that ends when the last has.
func (p *Process) Nothing() (int32, error) {
	id, err := p.Compute(0)
	if err == nil {
		p.After(p.last, id)
	}
	return id, err
}
