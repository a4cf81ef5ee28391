package dumpi

import (
	"bufio"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
)

// Numbers that DUMPI gives what MPI names.
const (
	world, self   = 2, 3
	firstRequest  = 2
	anySource     = -1
	description   = ".meta"
	mostDescribed = 1 << 20
)

// naming is how files of a trace are named: PREFIX-RANK.bin, of any packing.
var naming = trace.Naming{Pattern: input.Pattern(`^(.*-)([0-9]{4,9})(\.bin(?:\.gz|\.zst)?)$`), Digits: 4}

// Files are the files of the ranks of a trace, of which name is one or the description,
// PREFIX.meta.
func Files(name string) []string {
	if prefix, ok := strings.CutSuffix(name, description); ok {
		name = prefix + "-0000.bin"
	}
	return naming.Files(name)
}

// described is the number of ranks that the description of a trace names; 0 if there is none.
func described(files []string) (int, string) {
	parts := naming.Pattern().FindStringSubmatch(filepath.Base(files[0]))
	if parts == nil {
		return 0, ""
	}
	name := filepath.Join(filepath.Dir(files[0]), strings.TrimSuffix(parts[1], "-")+description)
	f, err := input.OpenInput(name, mostDescribed)
	if err != nil {
		return 0, ""
	}
	defer f.Close()
	ranks := 0
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		if n, ok := strings.CutPrefix(scan.Text(), "numprocs="); ok {
			ranks, _ = strconv.Atoi(n)
		}
	}
	return ranks, name
}

// Import makes a schedule of a trace, of which name is one file. The files are read twice:
// who belongs to a communicator stands in all of them. The report is there if the trace was
// read to its end.
func Import(name string, settings trace.Settings) (*goal.Schedule, *trace.Report, error) {
	files := Files(name)
	if ranks, place := described(files); ranks != 0 && ranks != len(files) {
		return nil, nil, fmt.Errorf("%s: numprocs=%d, but there are files of %d ranks", place, ranks, len(files))
	}
	b := trace.NewBuilder(name, len(files), settings)
	var parts [][]trace.Part
	var ends []*summary
	for rank, file := range files {
		list, end, err := survey(file, rank, len(files))
		if err != nil {
			return nil, nil, err
		}
		parts, ends = append(parts, list), append(ends, end)
	}
	made := trace.Resolve(parts, world, self)
	for rank, file := range files {
		if err := replay(b, file, ends[rank], made[rank]); err != nil {
			return nil, nil, err
		}
	}
	return b.Schedule()
}

// survey reads the file of a rank for what has to be known before: communicators, and
// what stands after the calls. Calls that are recorded are taken off the counts there.
func survey(file string, rank, ranks int) (parts []trace.Part, end *summary, err error) {
	d, err := open(file)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	recorded := map[string]int64{}
	for d.next() {
		recorded[d.name]++
		if p, ok := d.part(); ok {
			parts = append(parts, p)
		}
		v := d.values
		if (d.name == "Comm_size" || d.name == "Comm_rank") && v[0] == world {
			if want := map[string]int{"Comm_size": ranks, "Comm_rank": rank}[d.name]; v[1] != int64(want) {
				return nil, nil, fmt.Errorf("%s: byte %d: %s of all ranks is %d, but this is the file of rank %d of %d: are files missing?", file, d.begin, d.name, v[1], rank, ranks)
			}
		}
	}
	if d.Err != nil {
		return nil, nil, d.Err
	}
	if end, err = d.end(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	for f := range min(len(functions()), len(end.counts)) {
		end.counts[f] -= recorded[functions()[f].name]
	}
	return parts, end, nil
}

// part is what the call does about communicators and groups, if it does.
func (c *call) part() (p trace.Part, ok bool) {
	at, ok := parts[c.name]
	if !ok {
		return p, false
	}
	p = trace.Part{Kind: at.kind, New: c.values[len(c.values)-1]}
	if at.kind != trace.CommUnknown {
		p.Parent = c.values[at.parent]
	}
	switch at.kind {
	case trace.CommSplit:
		p.Color, p.Key = c.values[1], c.values[2]
	case trace.CommFirst:
		p.Integers = []int32{int32(c.values[2])}
	case trace.CommCreate, trace.GroupUnion, trace.GroupIntersect, trace.GroupSubtract:
		p.Other = c.values[1]
	case trace.CommCartesian, trace.CommSub, trace.GroupInclude, trace.GroupExclude:
		p.Integers = slices.Clone(c.lists[0])
	}
	return p, true
}

// parts are the calls that make communicators and groups, whose number stands last among their
// arguments; parent is the place of that which they make them of.
var parts = map[string]struct {
	kind   trace.PartKind
	parent int
}{
	"Comm_dup": {trace.CommDup, 0}, "Comm_split": {trace.CommSplit, 0}, "Comm_create": {trace.CommCreate, 0},
	"Cart_create": {trace.CommCartesian, 0}, "Cart_sub": {trace.CommSub, 1}, "Graph_create": {trace.CommFirst, 1},
	"Intercomm_create": {trace.CommUnknown, 0}, "Intercomm_merge": {trace.CommUnknown, 0},
	"Comm_group": {trace.GroupOf, 0}, "Group_incl": {trace.GroupInclude, 0}, "Group_excl": {trace.GroupExclude, 0},
	"Group_union": {trace.GroupUnion, 0}, "Group_intersection": {trace.GroupIntersect, 0}, "Group_difference": {trace.GroupSubtract, 0},
}

// replay reads the calls of a rank into the schedule.
func replay(b *trace.Builder, file string, end *summary, made []*trace.Communicator) error {
	d, err := open(file)
	if err != nil {
		return err
	}
	defer d.Close()
	r, err := b.Process()
	if err != nil {
		return err
	}
	p := &process{Process: r, call: &d.call, sizes: end.sizes, made: made, comms: map[int64]*trace.Communicator{world: {}, self: {Name: "self", Members: []int{r.Number()}}}, requests: map[int64]request{}, types: map[int64]int64{}}
	b.Place = func() string { return fmt.Sprintf("%s: byte %d", file, d.begin) }
	for d.next() {
		if err := p.act(); err != nil {
			return fmt.Errorf("%s: %s: %w", b.Place(), d.name, err)
		}
	}
	if d.Err != nil {
		return d.Err
	}
	for _, r := range p.requests {
		if r.under {
			b.Count(trace.Approximated, "request", "never waited for")
		}
	}
	for f := range functions() {
		if n := end.counts[f]; n > 0 {
			b.CountAll(n, trace.Approximated, functions()[f].name, "counted in the file, but not recorded: nothing of it is replayed")
		}
	}
	return nil
}

// process is a rank on its way through its calls.
type process struct {
	*trace.Process
	*call
	sizes    []int64                       // of datatypes, at the end of the program
	types    map[int64]int64               // of those that the program makes
	made     []*trace.Communicator         // of the collective parts still to come
	comms    map[int64]*trace.Communicator // by number; of all ranks: no members
	requests map[int64]request
	stopped  int64 // when the last call ended that is no computing
	began    bool
}

// request is a message that the rank has begun, or may.
type request struct {
	operation  int32
	under      bool // way
	persistent bool
	message    message
}

// message is a message with another rank; absent: the peer is no process.
type message struct {
	kind             mpi.Kind
	bytes, peer, tag int64
	absent           bool
}

// roles are what calls do that are more than computing of their own rank.
var roles = map[string]func(p *process) error{
	"nothing":    func(*process) error { return nil },
	"refused":    func(*process) error { return trace.Refusal("weft does not replay this call") },
	"send":       (*process).send,
	"start":      (*process).prepared,
	"free":       (*process).free,
	"exchange":   (*process).sendReceive,
	"wait":       (*process).wait,
	"collective": (*process).collective,
}

// act performs the call. Computing is the time between calls, and in calls that only their own
// rank takes part in.
func (p *process) act() error {
	part, creates := p.part()
	creates = creates && part.Kind.Collective()
	do := roles[p.does]
	if do == nil && !creates {
		p.count(nil)
		return p.derive()
	}
	if p.timed && p.began && p.start > p.stopped {
		if err := p.Work(float64(p.start - p.stopped)); err != nil {
			return err
		}
	}
	if p.timed {
		p.stopped, p.began = max(p.stopped, p.stop), true
	}
	if creates {
		p.comms[part.New], p.made = p.made[0], p.made[1:]
		return p.count(nil)
	}
	return p.count(do(p))
}

func (p *process) count(err error) error {
	note := p.note + shapes[p.name].operation.Note() // of collectives, what they are replayed as says it
	if part, ok := p.part(); ok && part.Kind.Collective() {
		note = "takes no time, and no rank waits"
	}
	if note == "" && p.thread != 0 {
		note = "of another thread, as if of the first"
	}
	return p.Done(p.name, note, err)
}

// derive keeps the size of a datatype that the call makes.
func (p *process) derive() error {
	v := p.values
	var size, of int64 = 1, 0
	switch p.name {
	case "Type_contiguous":
		size, of = v[0], v[1]
	case "Type_vector", "Type_hvector":
		size, of = v[0]*v[1], v[3]
	case "Type_indexed", "Type_hindexed", "Type_struct":
		size = 0
		for i, n := range p.lists[0] {
			each := int64(1)
			if p.name == "Type_struct" {
				if i >= len(p.lists[2]) {
					return fmt.Errorf("%d lengths and %d types", len(p.lists[0]), len(p.lists[2]))
				}
				var err error
				if each, err = p.bytes(1, int64(uint16(p.lists[2][i]))); err != nil {
					return nil // unknown, as the new one is
				}
			}
			size += int64(n) * each
		}
		of = v[1]
	default:
		return nil
	}
	made := v[len(v)-1]
	delete(p.types, made)
	if p.name != "Type_struct" {
		each, err := p.bytes(1, of)
		if err != nil {
			return nil
		}
		size *= each
	}
	if size >= 0 && size <= 1<<40 {
		p.types[made] = size
	}
	return nil
}
