// Package otf2 reads traces in the Open Trace Format 2, as Score-P writes them: of every
// location, its events with their times. What is read is what the messages and collectives
// of MPI's ranks take: little endian, one file a location, not compressed.
package otf2

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
)

// Types of events.
const (
	enter              = 12
	leave              = 13
	mpiSend            = 14
	mpiIsend           = 15
	mpiIsendComplete   = 16
	mpiIrecvRequest    = 17
	mpiRecv            = 18
	mpiIrecv           = 19
	mpiRequestTest     = 20
	mpiCancelled       = 21
	mpiCollectiveBegin = 22
	mpiCollectiveEnd   = 23
	firstRMA, lastRMA  = 35, 52
	programBegin       = 83
	nonBlocking        = 85 // collectives: begin, end
	nonBlockingEnd     = 86
	commDestroy        = 88
)

// names are the names of events, as OTF2 prints them, from 10 and from programBegin on.
var (
	names     = []string{"BUFFER_FLUSH", "MEASUREMENT_ON_OFF", "ENTER", "LEAVE", "MPI_SEND", "MPI_ISEND", "MPI_ISEND_COMPLETE", "MPI_IRECV_REQUEST", "MPI_RECV", "MPI_IRECV", "MPI_REQUEST_TEST", "MPI_REQUEST_CANCELLED", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END"}
	lateNames = []string{"PROGRAM_BEGIN", "PROGRAM_END", "NON_BLOCKING_COLLECTIVE_REQUEST", "NON_BLOCKING_COLLECTIVE_COMPLETE", "COMM_CREATE", "COMM_DESTROY"}
)

func eventName(kind byte) string {
	switch early, late := int(kind)-10, int(kind)-programBegin; {
	case early >= 0 && early < len(names):
		return names[early]
	case late >= 0 && late < len(lateNames):
		return lateNames[late]
	case kind >= firstRMA && kind <= lastRMA:
		return "RMA"
	}
	return fmt.Sprint("event ", kind)
}

// collectiveNames are the names of the operations of MPI_COLLECTIVE_END.
var collectiveNames = []string{"BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV", "ALLTOALLW", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN", "REDUCE_SCATTER_BLOCK", "CREATE_HANDLE", "DESTROY_HANDLE", "ALLOCATE", "DEALLOCATE", "CREATE_HANDLE_AND_ALLOCATE", "DESTROY_HANDLE_AND_DEALLOCATE"}

// operations are what collectives are replayed as; handles are those that only make something known.
var (
	operations = map[string]trace.Operation{
		"BARRIER": trace.Barrier, "BCAST": trace.Broadcast, "ALLREDUCE": trace.Allreduce, "ALLGATHER": trace.Allgather, "ALLTOALL": trace.Alltoall,
		"REDUCE_SCATTER_BLOCK": trace.ReduceScatter, "REDUCE": trace.Reduce, "GATHER": trace.Exchange, "SCATTER": trace.Exchange,
	}
	handles = map[string]bool{"CREATE_HANDLE": true, "DESTROY_HANDLE": true, "ALLOCATE": true, "DEALLOCATE": true, "CREATE_HANDLE_AND_ALLOCATE": true, "DESTROY_HANDLE_AND_DEALLOCATE": true}
)

// Import makes a schedule of a trace, of which name is the anchor. The report is there if
// the trace was read to its end.
func Import(name string, settings trace.Settings) (*goal.Schedule, *trace.Report, error) {
	a, err := readArchive(name)
	if err != nil {
		return nil, nil, err
	}
	b := trace.NewBuilder(name, len(a.ranks), settings)
	for rank, location := range a.ranks {
		p, err := b.Process()
		if err == nil {
			r := &process{Process: p, archive: a, rank: rank, requests: map[uint64]int32{}}
			err = r.read(location)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, location := range a.foreign { // threads, whose computing is not the rank's
		p := &process{Process: &trace.Process{Builder: b}, archive: a, rank: -1}
		if err := p.read(location); err != nil {
			return nil, nil, err
		}
	}
	return b.Schedule()
}

// process is a rank on its way through its events; rank -1 is a location that is none.
type process struct {
	*trace.Process
	*archive
	local
	d        *reader
	rank     int
	requests map[uint64]int32 // the operations of those that are under way
	depth    int              // regions of MPI that the rank is in
	entered  uint64           // when it came into the outer one
	began    bool             // it has been in one
	stopped  uint64           // when the last one ended in which it communicated
	busy     bool             // it has communicated in this one
	both     bool             // this one is MPI_Sendrecv
	open     []int32          // its messages
}

func (p *process) read(location uint64) (err error) {
	if p.local, err = p.archive.local(location); err != nil {
		return err
	}
	if p.d, err = open(p.file(location, eventsExtension), p.eventChunk, true); err != nil {
		return err
	}
	defer p.d.Close()
	p.Place = func() string { return fmt.Sprintf("%s: byte %d", p.d.Name, p.d.begin) }
	events := uint64(0)
	for p.d.next() {
		if p.d.kind == attributes {
			continue
		}
		events++
		if err := p.event(); err != nil {
			return fmt.Errorf("%s: %s: %w", p.Place(), eventName(p.d.kind), err)
		}
	}
	if p.d.Err != nil {
		return p.d.Err
	}
	if want := p.recorded[location]; events != want {
		return fmt.Errorf("%s: byte %d: %d events, but %d are defined", p.d.Name, p.d.begin, events, want)
	}
	if n := len(p.requests); n > 0 {
		p.CountAll(int64(n), trace.Approximated, "request", "never completed")
	}
	return nil
}

func (p *process) event() error {
	kind := p.d.kind
	name := eventName(kind)
	communicates := kind >= mpiSend && kind <= mpiCollectiveEnd && kind != mpiRequestTest || kind == nonBlocking || kind == nonBlockingEnd || kind >= firstRMA && kind <= lastRMA
	switch {
	case p.rank < 0 && communicates:
		p.Count(trace.Refused, name, "of a location that is no rank of MPI")
		return nil
	case p.rank < 0:
		p.Count(trace.Approximated, "location", "events of one that is no rank of MPI: nothing is replayed")
		return nil
	case kind == enter || kind == leave:
		p.Count(trace.Replayed, name, "")
		return p.region(p.regions[p.global(mappedRegions, p.d.number())])
	case !communicates && (kind < programBegin && kind > mpiCollectiveEnd || kind > commDestroy):
		p.Count(trace.Approximated, name, "its time is computing")
		return nil
	case !communicates:
		p.Count(trace.Replayed, name, "")
		return nil
	}
	if err := p.compute(); err != nil {
		return err
	}
	switch {
	case kind == mpiCollectiveEnd:
		return p.collective()
	case kind > mpiCollectiveEnd:
		return p.Done(name, "", trace.Refusal("weft does not replay this event"))
	case kind == mpiCancelled:
		delete(p.requests, p.d.number()) // a receive then is nothing
		p.Noted(name, "the request is never waited for")
		return nil
	}
	return p.Done(name, "", p.message())
}

// region enters or leaves a region. The time between regions of MPI is computing, and that
// of those in which the rank does not communicate.
func (p *process) region(r region) error {
	if !r.mpi {
		return nil
	}
	if p.d.kind == enter {
		if p.depth++; p.depth == 1 {
			p.entered = p.d.time
			name := p.strings[r.name]
			p.both = name == "MPI_Sendrecv" || name == "MPI_Sendrecv_replace"
		}
		return nil
	}
	if p.depth--; p.depth < 0 {
		p.depth = 0
		return fmt.Errorf("a region that was not entered")
	}
	if p.depth > 0 || !p.busy {
		return nil
	}
	p.stopped, p.began, p.busy = p.d.time, true, false
	if p.open == nil {
		return nil
	}
	open := p.open
	p.open = nil
	return p.Join(open)
}

// compute appends the computing before the rank communicates.
func (p *process) compute() error {
	if p.busy {
		return nil
	}
	until := p.entered
	if p.depth == 0 { // a trace without regions
		until = p.d.time
	} else {
		p.busy = true
	}
	from, began := p.stopped, p.began
	p.stopped, p.began = max(until, from), true
	if !began || until <= from {
		return nil
	}
	return p.Work(float64(until-from) / p.ticks * 1e9)
}

// communicator is the one that an event names, with its ranks.
func (p *process) communicator(number uint64) (of *trace.Communicator, ranks uint64, ok bool) {
	c, ok := p.comms[p.global(mappedComms, number)]
	if c.self {
		c.Members = []int{p.rank}
	}
	return &c.Communicator, uint64(p.Size(&c.Communicator)), ok
}

// message replays what an event says of a message.
func (p *process) message() error {
	d := p.d
	switch d.kind {
	case mpiCollectiveBegin:
		return nil
	case mpiIsendComplete:
		return p.joins(d.number())
	case mpiIrecvRequest:
		id, err := p.Nothing() // until its end tells what it was
		p.requests[d.number()] = id
		return err
	}
	peer, number, tag, bytes := d.number(), d.number(), d.number(), d.number()
	kind := mpi.Send
	if d.kind == mpiRecv || d.kind == mpiIrecv {
		kind = mpi.Recv
	}
	c, ranks, ok := p.communicator(number)
	if !ok {
		return trace.UnknownRanks
	}
	if peer >= ranks || tag > 1<<31 || bytes > 1<<62 {
		return fmt.Errorf("%d B with rank %d of a communicator of %d ranks, tag %d", bytes, peer, ranks, tag)
	}
	to := c.Rank(int64(peer))
	switch {
	case d.kind == mpiIrecv:
		request := d.number()
		if id, ok := p.requests[request]; ok {
			if err := p.Become(id, kind, int64(bytes), to, int64(tag)); err != nil {
				return err
			}
		}
		return p.joins(request)
	case d.kind == mpiIsend:
		id, err := p.Begin(kind, int64(bytes), to, int64(tag))
		p.requests[d.number()] = id
		return err
	case p.both:
		id, err := p.Begin(kind, int64(bytes), to, int64(tag))
		p.open = append(p.open, id)
		return err
	}
	return p.Then(p.Message(kind, int64(bytes), to, int64(tag)))
}

// joins waits for a request that is over.
func (p *process) joins(request uint64) error {
	id, ok := p.requests[request]
	if !ok {
		return fmt.Errorf("request %d is not under way", request)
	}
	delete(p.requests, request)
	return p.Join([]int32{id})
}

// collective replays a collective at its end. Sizes are Score-P's, which counts a
// rank's part once for each rank that it goes to, or comes from, itself included but for
// MPI_IN_PLACE, of which the trace does not tell.
func (p *process) collective() error {
	d := p.d
	operation := int(d.byte())
	c, size, ok := p.communicator(d.number())
	root, sent, received := d.number(), d.number(), d.number()
	name := fmt.Sprint("collective ", operation)
	if operation < len(collectiveNames) {
		name = collectiveNames[operation]
	}
	if d.Err != nil {
		return d.Err
	}
	index := uint64(p.Index(c))
	rooted := name == "BCAST" || name == "REDUCE" || name == "GATHER" || name == "SCATTER"
	switch {
	case handles[name]:
		p.Noted(name, "takes no time, and no rank waits")
		return nil
	case !ok:
		return p.Done(name, "", trace.UnknownRanks)
	case index >= size || rooted && root >= size || sent > 1<<62 || received > 1<<62:
		return fmt.Errorf("%s from rank %d of a communicator of %d ranks, %d B sent and %d B received", name, root, size, sent, received)
	}
	to, known := operations[name]
	if !known {
		why := trace.Refusal("weft has no algorithm")
		if name[len(name)-1] == 'V' || name == "ALLTOALLW" || name == "REDUCE_SCATTER" {
			why = "the trace does not tell the sizes of its parts"
		}
		return p.Done(name, "", why)
	}
	note := to.Note()
	if to == trace.Allgather || to == trace.Alltoall {
		note = "not in place, if its size does not tell"
	}
	p.Noted(name, note)
	if to == trace.Exchange {
		return p.rooted(name == "SCATTER", c, int(root), root == index, sent, received)
	}
	var bytes int64
	// share is what each of the ranks has in what comes from all.
	share := int64((received + size - 1) / size)
	if received%size != 0 && size > 1 && received%(size-1) == 0 {
		share = int64(received / (size - 1))
	}
	switch to {
	case trace.Broadcast:
		bytes = int64(received)
	case trace.Allreduce, trace.Allgather, trace.Alltoall:
		bytes = share
	case trace.ReduceScatter:
		bytes = share * int64(size)
	case trace.Reduce:
		if bytes = int64(sent); root == index && sent == 0 { // in place
			bytes = int64(received / max(size-1, 1))
		}
	}
	if size == 1 {
		return nil
	}
	if !rooted {
		root = 0
	}
	return p.Collect(to, c, bytes, int(root))
}

// rooted replays a gather or a scatter. If the root's own part is in place, its counts are of
// the others alone.
func (p *process) rooted(scatter bool, c *trace.Communicator, root int, atRoot bool, sent, received uint64) error {
	all, own := received, sent
	if scatter {
		all, own = sent, received
	}
	size := p.Size(c)
	parts := []int64{int64(own)}
	if atRoot && own == 0 {
		parts = slices.Repeat([]int64{int64(all) / max(int64(size-1), 1)}, size)
	} else if atRoot {
		parts = slices.Repeat([]int64{int64(all) / int64(size)}, size)
	}
	return p.Rooted(scatter, c, root, atRoot, parts)
}
