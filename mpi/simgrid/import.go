// Package simgrid reads the time-independent traces of SimGrid: actions of ranks, whose
// computations are numbers of floating-point operations.
package simgrid

import (
	"bufio"
	"bytes"
	"container/list"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// mostRanks bounds the number of a rank.
const mostRanks = 1 << 20

// typeBytes are the sizes of the datatypes, by number: double, int, char, short, long,
// float, byte, long long.
var typeBytes = []float64{8, 4, 1, 2, 8, 4, 1, 8}

// doubleType and byteType are the numbers of datatypes.
const doubleType, byteType = 0, 6

// anySource and anyTag are MPI_ANY_SOURCE and MPI_ANY_TAG of SMPI.
const anySource, anyTag = -555, -444

// old is what the oldest traces have before the number of a rank.
const old = "p"

// Is tells whether a text begins like a trace: with a rank and an action.
func Is(in *bufio.Reader) bool {
	begin, _ := in.Peek(4096)
	for line := range bytes.Lines(bytes.TrimPrefix(begin, []byte("\ufeff"))) {
		words := bytes.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		_, err := strconv.Atoi(strings.TrimPrefix(string(words[0]), old))
		_, known := actions[modern(string(words[min(1, len(words)-1)]))]
		return err == nil && len(words) > 1 && known
	}
	return false
}

// Lists tells whether a file names those of the ranks, as the list for smpirun -replay does.
func Lists(name string) bool {
	if files := Files(name); len(files) > 1 {
		if f, err := input.OpenInput(files[1], input.MaxStream); err == nil {
			defer f.Close()
			return Is(bufio.NewReader(f))
		}
	}
	return false
}

// Files are the files of a trace: the one itself, and those that it names.
func Files(name string) []string {
	files := []string{name}
	f, err := input.OpenInput(name, input.MaxStream)
	if err != nil {
		return files
	}
	defer f.Close()
	in := input.NewLines(f, name)
	for words := in.NextWords(); len(words) == 1; words = in.NextWords() {
		files = append(files, beside(name, words[0]))
	}
	return files
}

// beside is a file that another names.
func beside(name, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(name), file)
}

// Import makes a schedule of a trace: one file of all ranks, or a file that names a file for
// each rank, one a line. flops is the speed of a host, in operations a second. The report is
// there if the trace was read to its end.
func Import(name string, flops float64, settings trace.Settings) (*goal.Schedule, *trace.Report, error) {
	in := &reader{most: input.Memory(), memory: &mem.Spill{}}
	if err := in.file(name, true); err != nil {
		return nil, nil, err
	}
	if len(in.ranks) == 0 {
		return nil, nil, fmt.Errorf("%s:1: no actions", name)
	}
	b := trace.NewBuilder(name, len(in.ranks), settings)
	for r := range in.ranks {
		if err := in.rank(b, r, flops); err != nil {
			return nil, nil, err
		}
	}
	in.memory.Free()
	return b.Schedule()
}

// reader reads the actions of all ranks, each with its line and its file.
type reader struct {
	files  []string
	ranks  []mem.List[byte]
	memory *mem.Spill
	held   int64
	most   int64
	tags   tags
	old    bool // names are those before SimGrid 3.20
}

// tags tells whether messages have tags, which SimGrid's had not at first: RANK SIZE [DATATYPE] became
// RANK TAG SIZE [DATATYPE].
type tags uint8

const (
	unknownTags tags = iota
	withTags
	withoutTags
)

// modern is the name of an action as SimGrid has it from 3.20 on; before, some had capitals.
func modern(name string) string {
	if lower := strings.ToLower(name); capitals[lower] == name {
		return lower
	}
	return name
}

// capitals has the names of actions before SimGrid 3.20, by today's names.
var capitals = map[string]string{}

func init() {
	for _, name := range strings.Fields("Isend Irecv waitAll waitAny sendRecv allReduce allToAll allToAllV gatherV allGather allGatherV scatterV reduceScatter") {
		capitals[strings.ToLower(name)] = name
	}
}

// learn finds out from an action whether messages have tags: one of two arguments has none, one of four
// has, and so has one of three of which the last is no datatype.
func (p *reader) learn(action string) {
	words := strings.Fields(action)
	name := modern(words[0])
	p.old = p.old || name != words[0]
	if !slices.Contains([]string{"send", "recv", "isend", "irecv"}, name) {
		return
	}
	switch len(words) - 1 {
	case 2:
		p.tags = withoutTags
	case 3:
		if last, err := strconv.ParseFloat(words[3], 64); err == nil && last >= float64(len(typeBytes)) {
			p.tags = withTags
		}
	case 4:
		p.tags = withTags
	}
}

// rank replays the actions of a rank.
func (p *reader) rank(b *trace.Builder, r int, flops float64) error {
	if p.ranks[r].Len() == 0 {
		return fmt.Errorf("%s: rank %d has no actions, but rank %d has: is it truncated?", p.files[0], r, len(p.ranks)-1)
	}
	one, err := b.Process()
	if err != nil {
		return err
	}
	rank := &process{Process: one, number: r, flops: flops, datatype: byteType, tagless: p.tags == withoutTags || p.tags == unknownTags && p.old}
	var file, line uint64
	b.Place = func() string { return fmt.Sprintf("%s:%d", p.files[file], line) }
	next, stop := iter.Pull(p.ranks[r].Pieces)
	defer stop()
	in := bufio.NewReader(&pieces{next: next})
	for {
		at, err := binary.ReadUvarint(in)
		if err != nil {
			break // there is no more
		}
		line = at
		file, _ = binary.ReadUvarint(in)
		text, _ := in.ReadString('\n')
		if err := rank.act(strings.Fields(text)); err != nil {
			return fmt.Errorf("%s: %w", b.Place(), err)
		}
	}
	if rank.open.Len() > 0 {
		b.Count(trace.Approximated, "request", "never waited for")
	}
	if !rank.finalized {
		return fmt.Errorf("%s: rank %d ends without finalize: is it truncated?", b.Place(), r)
	}
	return nil
}

// pieces reads what lies in pieces.
type pieces struct {
	next func() ([]byte, bool)
	rest []byte
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.rest) == 0 {
		var ok bool
		if p.rest, ok = p.next(); !ok {
			return 0, io.EOF
		}
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *reader) file(name string, list bool) error {
	f, err := input.OpenInput(name, input.MaxStream)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	file := uint64(len(p.files))
	p.files = append(p.files, name)
	var named []string
	var begin []byte
	in := input.NewLines(f, name)
	for in.Next() {
		text, _, _ := strings.Cut(in.Text, "#")
		text = strings.TrimSpace(text)
		number, action := text, ""
		if end := strings.IndexFunc(text, unicode.IsSpace); end >= 0 {
			number, action = text[:end], text[end:]
		}
		rank, err := strconv.Atoi(strings.TrimPrefix(number, old))
		switch {
		case text == "":
			continue
		case action == "" && list && len(p.ranks) == 0:
			named = append(named, beside(name, text))
			continue
		case len(named) > 0 || action == "":
			return fmt.Errorf("%s:%d: %s: want a rank and an action", name, in.Number, input.Quote(text))
		case err != nil || rank < 0 || rank >= mostRanks:
			return fmt.Errorf("%s:%d: rank %s: want 0 to %d", name, in.Number, input.Quote(number), mostRanks-1)
		}
		if p.tags == unknownTags {
			p.learn(action)
		}
		for rank >= len(p.ranks) {
			p.ranks = append(p.ranks, mem.List[byte]{Spill: p.memory})
		}
		begin = binary.AppendUvarint(binary.AppendUvarint(begin[:0], uint64(in.Number)), file)
		for _, part := range []string{string(begin), action, "\n"} {
			for k := range len(part) {
				p.ranks[rank].Add(part[k])
			}
		}
		if p.held += int64(len(text)); p.held > p.most && !p.memory.OnFile() {
			return fmt.Errorf("%s:%d: the actions so far take more than the memory of this machine", name, in.Number)
		}
	}
	if err := in.Finish(); err != nil {
		return err
	}
	for _, other := range named {
		if err := p.file(other, false); err != nil {
			return err
		}
	}
	return nil
}

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
	const computes = "its computing follows the messages"
	actions = map[string]action{
		"init": {0, 1, "", (*process).begin}, "finalize": {0, 0, "", (*process).end}, "comm_size": {1, 1, "", nothing},
		"location": {0, 0, "", nothing}, // of smpi/trace-call-location
		"compute":  {1, 1, "", func(p *process, args []float64) error { return p.compute(args[0]) }},
		"sleep":    {1, 1, "", func(p *process, args []float64) error { return p.Work(max(args[0], 0) * 1e9) }},
		"send":     {3, 4, "", message(mpi.Send, true)}, "isend": {3, 4, "", message(mpi.Send, false)},
		"recv": {3, 4, "", message(mpi.Recv, true)}, "irecv": {3, 4, "", message(mpi.Recv, false)},
		"wait": {0, 3, "", (*process).wait}, "waitall": {0, 1, "", (*process).waitAll}, // with the number of requests, as SMPI writes it and passes it over
		"test":    {0, 3, "takes no time and completes nothing", nothing},
		"barrier": {0, 0, "", collective(trace.Barrier, -1, -1)}, "bcast": {1, 3, "", collective(trace.Broadcast, 1, 2)},
		"reduce": {2, 4, computes, reduction(trace.Reduce, 2, 3)}, "allreduce": {2, 3, computes, reduction(trace.Allreduce, -1, 2)},
		"alltoall": {2, 4, "", collective(trace.Alltoall, -1, 2)}, "allgather": {2, 4, "", collective(trace.Allgather, -1, 2)},
	}
	for _, name := range strings.Fields("alltoallv gather scatter gatherv allgatherv scatterv reducescatter scan exscan sendrecv comm_split comm_dup testall testany waitany waitsome") {
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
		if err != nil || !(v >= -1 && v < 1<<62) {
			return fmt.Errorf("%s: argument %s: want a number of 0 to 2^62", name, input.Quote(w))
		}
		args = append(args, v)
	}
	if p.tagless && len(args) > 1 && slices.Contains([]string{"send", "recv", "isend", "irecv"}, name) {
		args = slices.Insert(args, 1, 0)
	}
	switch n := len(args); {
	case a.do == nil:
		p.Count(trace.Refused, name, "weft does not replay this action")
		return nil
	case n < a.least || n > a.most:
		return fmt.Errorf("%s with %d arguments: want %d to %d", name, n, a.least, a.most)
	}
	p.Noted(name, a.note)
	return a.do(p, args)
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
		return 0, fmt.Errorf("%v elements of datatype %v: want a count of 0 to 2^50 and a datatype of 0 to %d", count, datatype, len(typeBytes)-1)
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
