package simgrid

import (
	"container/list"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
)

// process is a rank on its way through its actions.
type process struct {
	*trace.Process
	number    int
	flops     float64
	datatype  int                         // of counts without one
	tagless   bool                        // of SimGrid before 3.20
	open      list.List                   // of requests, in the order in which they began
	waiting   map[message][]*list.Element // those of each message, likewise
	begun     bool
	finalized bool
}

// request is a message that the rank has not waited for.
type request struct {
	message
	operation int32
}

// message tells requests apart.
type message struct{ source, destination, tag int64 }

func (p *process) keep(m message, operation int32) {
	if p.open.Len() == 0 {
		p.waiting = map[message][]*list.Element{}
	}
	p.waiting[m] = append(p.waiting[m], p.open.PushBack(request{m, operation}))
}

type action struct {
	least, most int                                    // arguments
	note        string                                 // what is not replayed as it stands
	do          func(p *process, args []float64) error // nil: it cannot be replayed
}

var actions map[string]action

func init() {
	nothing := func(*process, []float64) error { return nil }
	message := func(kind mpi.Kind, waits bool) func(p *process, args []float64) error {
		return func(p *process, args []float64) error { return p.message(kind, waits, args) }
	}
	// collective has a count first; root and datatype are the places of these arguments.
	collective := func(operation trace.Operation, root, datatype int) func(p *process, args []float64) error {
		return func(p *process, args []float64) error { return p.collective(operation, args, root, datatype) }
	}
	// reduction computes after its messages.
	reduction := func(operation trace.Operation, root, datatype int) func(p *process, args []float64) error {
		return func(p *process, args []float64) error {
			if err := p.collective(operation, args, root, datatype); err != nil {
				return err
			}
			return p.compute(args[1])
		}
	}
	const computes, asSend = "its computing follows the messages", "as a send that need not wait for its receive"
	actions = map[string]action{
		"init": {0, 1, "", (*process).begin}, "finalize": {0, 0, "", (*process).end}, "comm_size": {1, 1, "", nothing},
		"location": {0, 0, "", nothing}, // of smpi/trace-call-location
		"compute":  {1, 1, "", func(p *process, args []float64) error { return p.compute(args[0]) }},
		"sleep":    {1, 1, "", func(p *process, args []float64) error { return p.Work(max(args[0], 0) * 1e9) }},
		"send":     {3, 4, "", message(mpi.Send, true)}, "isend": {3, 4, "", message(mpi.Send, false)},
		"recv": {3, 4, "", message(mpi.Recv, true)}, "irecv": {3, 4, "", message(mpi.Recv, false)},
		"ssend": {3, 4, asSend, message(mpi.Send, true)}, "issend": {3, 4, asSend, message(mpi.Send, false)},
		"sendrecv": {4, 6, "", (*process).sendReceive},
		"wait":     {0, 3, "", (*process).wait}, "waitall": {0, 1, "", (*process).waitAll}, // with the number of requests, as SMPI writes it and passes it over
		"test":    {0, 3, "takes no time and completes nothing", nothing},
		"barrier": {0, 0, "", collective(trace.Barrier, -1, -1)}, "bcast": {1, 3, "", collective(trace.Broadcast, 1, 2)},
		"reduce": {2, 4, computes, reduction(trace.Reduce, 2, 3)}, "allreduce": {2, 3, computes, reduction(trace.Allreduce, -1, 2)},
		"alltoall": {2, 4, "", collective(trace.Alltoall, -1, 2)}, "allgather": {2, 4, "", collective(trace.Allgather, -1, 2)},
	}
	for _, name := range strings.Fields("alltoallv gather scatter gatherv allgatherv scatterv reducescatter scan exscan comm_split comm_dup testall testany waitany waitsome") {
		actions[name] = action{}
	}
}

func (p *process) act(words []string) error {
	name := modern(words[0])
	a, ok := actions[name]
	if !ok {
		return fmt.Errorf("unknown action %s", input.Quote(name))
	}
	if p.finalized || p.begun == (name == "init") {
		return fmt.Errorf("%s: want init first, once, and finalize last", name)
	}
	if name == "location" {
		words = words[:1] // a file and a line, of the source
	}
	var args []float64
	for _, w := range words[1:] {
		v, err := strconv.ParseFloat(strings.TrimPrefix(w, old), 64)
		if v == anySource || v == anyTag {
			v = -1
		}
		if peer := v == undefined && (slices.Contains(messages, name) || name == "wait" || name == "sendrecv"); err != nil || !(v >= -1 && v < 1<<62 || peer) {
			return fmt.Errorf("%s: argument %s: want a number of 0 to 2^62", name, input.Quote(w))
		}
		args = append(args, v)
	}
	if p.tagless && len(args) > 1 && slices.Contains(messages, name) {
		args = slices.Insert(args, 1, 0)
	}
	switch n := len(args); {
	case a.do == nil:
		p.Count(trace.Refused, name, "weft does not replay this action")
		return nil
	case n < a.least || n > a.most:
		return fmt.Errorf("%s with %d arguments: want %d to %d", name, n, a.least, a.most)
	}
	return p.Done(name, a.note, a.do(p, args))
}

func (p *process) begin(args []float64) error {
	if p.begun = true; len(args) > 0 {
		p.datatype = doubleType
	}
	return nil
}

func (p *process) end([]float64) error {
	p.finalized = true
	return nil
}

// argument is the i-th, or what stands for one that is not there.
func argument(args []float64, i int, without float64) float64 {
	if i >= 0 && i < len(args) {
		return args[i]
	}
	return without
}

// bytes is how many bytes count elements have; the datatype may be given as argument i.
func (p *process) bytes(count float64, args []float64, i int) (int64, error) {
	datatype := argument(args, i, float64(p.datatype))
	if count < 0 || datatype < 0 || int(datatype) >= len(typeBytes) || count > 1<<50 {
		return 0, fmt.Errorf("%v elements of datatype %v: want a count of 0 to 2^50 and a datatype of 0 to %d (SMPI writes -1 for those that a program makes)", count, datatype, len(typeBytes)-1)
	}
	return int64(math.Ceil(count * typeBytes[int(datatype)])), nil
}

func (p *process) compute(flops float64) error { return p.Work(max(flops, 0) / p.flops * 1e9) }

// message appends a send or a receive, for which the rank waits at once or not.
func (p *process) message(kind mpi.Kind, waits bool, args []float64) error {
	bytes, err := p.bytes(args[2], args, 3)
	if err != nil {
		return err
	}
	peer, tag := int64(args[0]), int64(args[1])
	if peer == undefined {
		return nobody(kind)
	}
	if waits {
		return p.Then(p.Message(kind, bytes, peer, tag))
	}
	m := message{int64(p.number), peer, tag}
	if kind == mpi.Recv {
		m.source, m.destination = m.destination, m.source
	}
	operation, err := p.Begin(kind, bytes, peer, tag)
	p.keep(m, operation)
	return err
}

// nobody is what a message without a peer comes to: what is sent to MPI_PROC_NULL is nothing.
func nobody(kind mpi.Kind) error {
	if kind == mpi.Send {
		return nil
	}
	return trace.Refusal("from -333, which stands for MPI_ANY_SOURCE and for MPI_PROC_NULL")
}

// sendReceive sends and receives at once, with tag 0: COUNT DESTINATION COUNT SOURCE [DATATYPE DATATYPE].
func (p *process) sendReceive(args []float64) error {
	if args[1] == undefined || args[3] == undefined {
		return nobody(mpi.Recv)
	}
	var begun [2]int32
	for i, kind := range []mpi.Kind{mpi.Recv, mpi.Send} {
		of := args[2-2*i:] // a count and a peer
		bytes, err := p.bytes(of[0], args, 5-i)
		if err != nil {
			return err
		}
		if begun[i], err = p.Begin(kind, bytes, int64(of[1]), 0); err != nil {
			return err
		}
	}
	return p.Join(begun[:])
}

// wait waits for the oldest request of a source, a destination and a tag; without these, as before SimGrid
// 3.20, for the newest of all.
func (p *process) wait(args []float64) error {
	if len(args) == 0 && p.open.Len() > 0 {
		newest := p.open.Remove(p.open.Back()).(request)
		p.waiting[newest.message] = p.waiting[newest.message][:len(p.waiting[newest.message])-1]
		return p.Join([]int32{newest.operation})
	}
	if len(args) < 3 {
		return fmt.Errorf("wait with %d arguments: want 3, or none behind a message that is under way", len(args))
	}
	m := message{int64(args[0]), int64(args[1]), int64(args[2])}
	if m.source == undefined || m.destination == undefined {
		return nil // for what [nobody] did not begin
	}
	queue := p.waiting[m]
	if len(queue) == 0 {
		return fmt.Errorf("wait for a message from %v to %v with tag %v, which is not under way", args[0], args[1], args[2])
	}
	p.waiting[m] = queue[1:]
	return p.Join([]int32{p.open.Remove(queue[0]).(request).operation})
}

func (p *process) waitAll([]float64) error {
	var messages []int32
	for e := p.open.Front(); e != nil; e = e.Next() {
		messages = append(messages, e.Value.(request).operation)
	}
	p.open.Init()
	p.waiting = nil
	return p.Join(messages)
}

// collective appends a collective of all ranks, of as much as its first argument says.
func (p *process) collective(operation trace.Operation, args []float64, root, datatype int) error {
	bytes, err := p.bytes(argument(args, 0, 0), args, datatype)
	if err != nil {
		return err
	}
	return p.Collect(operation, &trace.Communicator{}, bytes, int(argument(args, root, 0)))
}
