package dumpi

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/trace"
)

// bytes is how many bytes count elements of a datatype have. Errors: a negative count or size, a
// datatype whose size is not known.
func (p *process) bytes(count, datatype int64) (int64, error) {
	size, ok := p.types[datatype]
	if !ok && datatype < int64(len(p.sizes)) {
		size, ok = p.sizes[datatype], true
	}
	switch {
	case count < 0 || ok && (size < 0 || count > 0 && size > math.MaxInt64/2/count):
		return 0, fmt.Errorf("%d elements of %d B", count, size)
	case !ok:
		return 0, trace.Refusal("of a datatype whose size is not known")
	}
	return count * size, nil
}

// communicator finds a communicator by its number. Error: its ranks are not known.
func (p *process) communicator(number int64) (*trace.Communicator, error) {
	if c := p.comms[number]; c != nil {
		return c, nil
	}
	return nil, trace.UnknownRanks
}

// message describes a message of count elements to or from rank peer of communicator number.
// Errors: see bytes and communicator; a peer that the communicator does not have.
func (p *process) message(kind mpi.Kind, count, datatype, peer, tag, number int64) (m message, err error) {
	if m.bytes, err = p.bytes(count, datatype); err != nil {
		return m, err
	}
	c, err := p.communicator(number)
	if err != nil {
		return m, err
	}
	m.kind, m.peer, m.tag = kind, peer, tag
	m.absent = peer < 0 && (kind == mpi.Send || peer != anySource) // MPI_PROC_NULL
	switch {
	case c.Members != nil && peer >= int64(len(c.Members)):
		return m, fmt.Errorf("%s with rank %d of a communicator of %d", kind, peer, len(c.Members))
	case peer >= 0:
		m.peer = c.Rank(peer)
	}
	return m, nil
}

// begin begins a message; nothing if it has no peer.
func (p *process) begin(m message) (int32, error) {
	if m.absent {
		return p.Nothing()
	}
	return p.Begin(m.kind, m.bytes, m.peer, m.tag)
}

// send is any call that sends or receives one message, or says how one is to be.
func (p *process) send() error {
	v := p.values
	kind := mpi.Send
	if strings.Contains(strings.ToLower(p.name), "recv") {
		kind = mpi.Recv
	}
	m, err := p.message(kind, v[0], v[1], v[2], v[3], v[4])
	if err != nil {
		return err
	}
	switch {
	case strings.HasSuffix(p.name, "_init"):
		p.requests[v[5]] = request{persistent: true, message: m}
		return nil
	case p.name[0] == 'I':
		id, err := p.begin(m)
		p.requests[v[5]] = request{operation: id, under: true}
		return err
	case m.absent:
		return nil
	}
	return p.Then(p.Message(m.kind, m.bytes, m.peer, m.tag))
}

// sendReceive sends a message and receives another at once.
func (p *process) sendReceive() error {
	v := p.values
	out, in := v[:4], v[4:] // count, datatype, rank, tag
	if p.name == "Sendrecv_replace" {
		in = []int64{v[0], v[1], v[4], v[5], v[6]}
	}
	s, err := p.message(mpi.Send, out[0], out[1], out[2], out[3], in[4])
	if err != nil {
		return err
	}
	r, err := p.message(mpi.Recv, in[0], in[1], in[2], in[3], in[4])
	if err != nil {
		return err
	}
	received, err := p.begin(r)
	if err != nil {
		return err
	}
	sent, err := p.begin(s)
	if err != nil {
		return err
	}
	return p.Join([]int32{received, sent})
}

// prepared begins messages that were prepared.
func (p *process) prepared() error {
	numbers := []int32{int32(p.values[0])}
	if p.name == "Startall" {
		numbers = p.lists[0]
	}
	for _, n := range numbers {
		r, ok := p.requests[int64(n)]
		if !ok || !r.persistent || r.under {
			return fmt.Errorf("request %d is not one that could be started", n)
		}
		var err error
		if r.operation, err = p.begin(r.message); err != nil {
			return err
		}
		r.under = true
		p.requests[int64(n)] = r
	}
	return nil
}

func (p *process) free() error {
	delete(p.requests, p.values[0])
	return nil
}

// wait is any call that waits for requests or asks for their end: it waits for those that
// the trace says were complete.
func (p *process) wait() error {
	v := p.values
	var done []int32
	completed := true // those calls that ask have the answer last
	if strings.HasPrefix(p.name, "Test") {
		completed = v[len(v)-1] != 0
	}
	switch p.name {
	case "Wait", "Test":
		done = []int32{int32(v[0])}
	case "Waitall", "Testall":
		done = p.lists[0]
	case "Waitany", "Testany":
		completed = completed && v[1] >= 0 && v[1] < int64(len(p.lists[0])) // or there was none
		if completed {
			done = p.lists[0][v[1]:][:1]
		}
	case "Waitsome", "Testsome":
		completed = true
		for _, i := range p.lists[1] {
			if i < 0 || int(i) >= len(p.lists[0]) {
				return fmt.Errorf("request %d of %d completed", i, len(p.lists[0]))
			}
			done = append(done, p.lists[0][i])
		}
	}
	var messages []int32
	for _, n := range done {
		r, ok := p.requests[int64(n)]
		switch {
		case !completed || n < firstRequest:
			continue
		case !ok:
			p.Count(trace.Approximated, "request", "was begun by no call that is recorded")
			continue
		case r.under:
			messages = append(messages, r.operation)
		}
		if r.under = false; r.persistent {
			p.requests[int64(n)] = r
		} else {
			delete(p.requests, int64(n))
		}
	}
	if messages == nil {
		return nil
	}
	return p.Join(messages)
}

// shape says where the arguments of a collective stand: the communicator, the root (-1: none),
// and the count and the datatype of the rank's own part.
type shape struct {
	operation                   trace.Operation
	comm, root, count, datatype int
	all, allType                int // of a gather or scatter, at its root; all -1: counts are listed
}

var shapes = map[string]shape{
	"Barrier": {operation: trace.Barrier, root: -1, count: -1}, "Bcast": {trace.Broadcast, 3, 2, 0, 1, 0, 0}, "Reduce": {trace.Reduce, 4, 3, 0, 1, 0, 0},
	"Allreduce": {trace.Allreduce, 3, -1, 0, 1, 0, 0}, "Reduce_scatter": {trace.ReduceScatter, 3, -1, -1, 1, 0, 0},
	// What is received, as nothing may be said of what is sent.
	"Allgather": {trace.Allgather, 4, -1, 2, 3, 0, 0}, "Alltoall": {trace.Alltoall, 4, -1, 2, 3, 0, 0},
	"Gather": {trace.Exchange, 4, 3, 1, 2, 5, 6}, "Gatherv": {trace.Exchange, 5, 4, 2, 3, -1, 6},
	"Scatter": {trace.Exchange, 4, 3, 1, 2, 5, 6}, "Scatterv": {trace.Exchange, 6, 5, 3, 4, -1, 2},
	"Allgatherv": {operation: trace.Exchange, comm: 4}, "Alltoallv": {operation: trace.Exchange, comm: 3},
}

// collective is a call that all ranks of a communicator take part in.
func (p *process) collective() error {
	v, at := p.values, shapes[p.name]
	c, err := p.communicator(v[at.comm])
	if err != nil {
		return err
	}
	if at.operation == trace.Exchange {
		return p.exchange(c, &at)
	}
	var bytes, root, count int64
	if at.root >= 0 {
		root = v[at.root]
	}
	switch {
	case at.operation == trace.Barrier:
	case at.count >= 0:
		bytes, err = p.bytes(v[at.count], v[at.datatype])
	default:
		for _, n := range p.lists[0] {
			count += int64(n)
		}
		bytes, err = p.bytes(count, v[at.datatype])
	}
	if err != nil {
		return err
	}
	return p.Collect(at.operation, c, bytes, int(root))
}

// exchange is a collective that is replayed as messages straight between ranks.
func (p *process) exchange(c *trace.Communicator, at *shape) (err error) {
	v, size, index := p.values, p.Size(c), p.Index(c)
	if index < 0 {
		return fmt.Errorf("on a communicator of which this rank is no member")
	}
	parts := func(counts []int32, datatype int64) []int64 {
		if err == nil && len(counts) != size {
			err = fmt.Errorf("%d counts in a communicator of %d ranks", len(counts), size)
		}
		all := make([]int64, size)
		for i := range all {
			if err == nil {
				all[i], err = p.bytes(int64(counts[i]), datatype)
			}
		}
		return all
	}
	var send, receive []int64
	switch p.name {
	case "Allgatherv":
		receive = parts(p.lists[0], v[3])
		send = slices.Repeat(receive[index:][:1], size)
	case "Alltoallv":
		send, receive = parts(p.lists[0], v[1]), parts(p.lists[2], v[2])
	default:
		root := v[at.root]
		atRoot := v[0] == root
		var own []int64
		switch {
		case root < 0 || root >= int64(size):
			return fmt.Errorf("root %d of a communicator of %d ranks", root, size)
		case !atRoot:
			own = []int64{0}
			own[0], err = p.bytes(v[at.count], v[at.datatype])
		case at.all < 0:
			own = parts(p.lists[0], v[at.allType])
		default:
			own = parts(slices.Repeat([]int32{int32(v[at.all])}, size), v[at.allType])
		}
		if err != nil || size == 1 {
			return err
		}
		return p.Rooted(strings.HasPrefix(p.name, "Scatter"), c, int(root), atRoot, own)
	}
	if err != nil || size == 1 {
		return err
	}
	return p.Exchange(c, send, receive)
}

// functionList has a line for each function, and says what stands in it.
//
//go:embed functions.txt
var functionList string

// functions are the traced functions by number.
var functions = sync.OnceValue(func() (all []function) {
	for line := range strings.Lines(functionList) {
		if words := strings.SplitN(strings.TrimSpace(line)+"   ", " ", 4); words[0] != "#" {
			all = append(all, function{words[0], strings.Trim(words[1], "-"), words[2], strings.TrimSpace(words[3])})
		}
	}
	return all
})

type function struct {
	name, layout string
	does, note   string // by roles; what is not replayed as it stands
}

// Numbers that are no functions of MPI: their count, and the marks in the body.
const (
	allFunctions  = 290
	functionEnter = 291
	functionExit  = 292
	endOfStream   = 293
)
