// Package trace turns the operations that a trace records into a schedule that is
// replayed, and says what became of them. Packages of formats use it.
package trace

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Settings say how traces are replayed.
type Settings struct {
	Compute   float64 `toml:"compute_scale" doc:"factor of the computing times of a trace" min:"0"`
	Drop      bool    `toml:"drop" doc:"leave out what cannot be replayed, instead of refusing the trace"`
	Allreduce string  `toml:"allreduce" doc:"algorithm of a trace's allreduces, as all that follow one of weft list collectives"`
	Allgather string  `toml:"allgather" doc:"algorithm of allgathers"`
	Alltoall  string  `toml:"alltoall" doc:"algorithm of alltoalls"`
	Broadcast string  `toml:"broadcast" doc:"algorithm of broadcasts"`
	Reduce    string  `toml:"reduce" doc:"algorithm of reduces"`
}

// Default are the settings of a trace that says no more.
func Default() Settings {
	return Settings{Compute: 1, Allreduce: "allreduce-ring", Allgather: "allgather-ring", Alltoall: "alltoall-pairwise", Broadcast: "broadcast-binomial", Reduce: "reduce-binomial"}
}

// Operation is a collective operation.
type Operation string

// The collectives that weft has algorithms for.
const (
	Allreduce     Operation = "allreduce"
	Allgather     Operation = "allgather"
	Alltoall      Operation = "alltoall"
	Broadcast     Operation = "broadcast"
	Reduce        Operation = "reduce"
	ReduceScatter Operation = "reduce-scatter"
	Barrier       Operation = "barrier"
)

// Exchange is a collective without an algorithm, of which every rank knows its own part only:
// [Process.Exchange].
const Exchange Operation = "exchange"

// notes say what of an operation is not replayed as it stands.
var notes = map[Operation]string{
	Allreduce: "combining takes no time", Reduce: "combining takes no time", ReduceScatter: "combining takes no time, around a ring",
	Exchange: "messages straight between the ranks",
}

// Note says what of an operation is not replayed as it stands; "" if all is.
func (o Operation) Note() string { return notes[o] }

// Tags of collectives: 1, the number of the collective, the tag of its algorithm. Rounds of
// one tag modulo algorithmTags are posted in the same order on both sides.
const (
	collectiveTag  = 1 << 30
	algorithmTags  = 1 << 8
	mostCollective = collectiveTag / algorithmTags
)

// Builder makes the schedule of a trace, rank by rank.
type Builder struct {
	*goal.Builder
	Report
	Settings
	group   map[string][]collective // the collectives of a group, in the order of every rank
	next    map[string]int          // which one the rank is at
	place   map[string]int          // of the rank in a group, where it has been looked for; -1: it is none of them
	rank    int
	ranks   int
	carried int // collectives so far
	built   map[string]collectives.Schedule
}

// collective is what the ranks of a group do together; the first that comes to it says what it is.
type collective struct {
	operation Operation
	bytes     int64
	root      int
	number    int
	schedule  collectives.Schedule
	rounds    int // of the schedule; -1: all
}

// NewBuilder begins a schedule of so many ranks; name stands for the trace in messages.
func NewBuilder(name string, ranks int, settings Settings) *Builder {
	return &Builder{
		Builder: goal.NewBuilder(name, ranks), Settings: settings, rank: -1, ranks: ranks,
		group: map[string][]collective{}, built: map[string]collectives.Schedule{},
	}
}

// Size is the number of ranks of a communicator.
func (b *Builder) Size(of *Communicator) int {
	if of.Members == nil {
		return b.ranks
	}
	return len(of.Members)
}

// Number is the number of the rank that is built.
func (b *Builder) Number() int { return b.rank }

// Rank begins the next rank.
func (b *Builder) Rank() {
	b.Builder.Rank()
	b.rank++
	b.next, b.place = map[string]int{}, map[string]int{}
}

// Compute appends a computation of so many ns of the trace.
func (b *Builder) Compute(ns float64) (int32, error) {
	return b.Add(mpi.Calc, int64(min(max(math.Round(ns*b.Settings.Compute), 0), math.MaxInt64/2)), 0, 0)
}

// Message appends a send or a receive.
func (b *Builder) Message(kind mpi.Kind, bytes int64, peer, tag int64) (int32, error) {
	if err := b.check(kind, peer, tag); err != nil {
		return 0, err
	}
	return b.Add(kind, bytes, int32(peer), int32(tag))
}

// Become makes an operation a send or a receive.
func (b *Builder) Become(id int32, kind mpi.Kind, bytes, peer, tag int64) error {
	if err := b.check(kind, peer, tag); err != nil {
		return err
	}
	return b.Builder.Become(id, kind, bytes, int32(peer), int32(tag))
}

// check refuses messages that the schedule cannot hold.
func (b *Builder) check(kind mpi.Kind, peer, tag int64) error {
	if peer < -1 || peer >= int64(b.ranks) || tag < -1 || tag >= collectiveTag {
		return fmt.Errorf("%s with rank %d, tag %d: ranks are 0 to %d, tags 0 to %d", kind, peer, tag, b.ranks-1, collectiveTag-1)
	}
	return nil
}

// Collective appends the rank's part of a collective of a communicator. The k-th collective of
// a communicator on one rank belongs to the k-th on the others. It begins with operation first and
// ends with last; bytes mean what they mean in [collectives.Env].
func (b *Builder) Collective(operation Operation, of *Communicator, bytes int64, root int) (first, last int32, err error) {
	index, c, err := b.join(operation, of, bytes, root)
	if err != nil {
		return 0, 0, err
	}
	if first, err = b.Compute(0); err != nil {
		return 0, 0, err
	}
	last = first
	rounds := c.schedule.Rounds(index)
	if c.rounds >= 0 {
		rounds = c.rounds
	}
	var ops []collectives.Op
	for round := range rounds {
		ops = c.schedule.Round(index, round, ops[:0])
		done, err := b.messages(last, ops, c, of)
		switch {
		case err != nil:
			return 0, 0, err
		case len(done) == 1:
			last = done[0]
		case len(done) > 1:
			if last, err = b.gather(done); err != nil {
				return 0, 0, err
			}
		}
	}
	return first, last, nil
}

// messages appends the messages among the operations of a round, which wait for an operation; moving
// data inside a rank takes no time here.
func (b *Builder) messages(behind int32, ops []collectives.Op, c *collective, of *Communicator) (done []int32, err error) {
	for _, op := range ops {
		kind := mpi.Send
		switch op.Kind {
		case collectives.Recv:
			kind = mpi.Recv
		case collectives.Compute, collectives.Copy:
			continue
		}
		tag := collectiveTag | int32(c.number)*algorithmTags | op.Tag%algorithmTags
		id, err := b.Add(kind, op.Bytes, int32(of.Rank(int64(op.Peer))), tag)
		if err != nil {
			return nil, err
		}
		b.After(behind, id)
		done = append(done, id)
	}
	return done, nil
}

// gather appends an operation that waits for others.
func (b *Builder) gather(done []int32) (int32, error) {
	last, err := b.Compute(0)
	if err == nil {
		for _, id := range done {
			b.After(id, last)
		}
	}
	return last, err
}

// Index is the rank's place among the members of a communicator; -1: it is none of them. It is
// looked for once.
func (b *Builder) Index(of *Communicator) int {
	if of.Members == nil {
		return b.rank
	}
	index, known := b.place[of.Name]
	if !known {
		index = slices.Index(of.Members, b.rank)
		b.place[of.Name] = index
	}
	return index
}

// join finds the collective that the rank comes to, or is the first at, and the rank's place in it.
func (b *Builder) join(operation Operation, of *Communicator, bytes int64, root int) (index int, c *collective, err error) {
	group := of.Name
	if index = b.Index(of); index < 0 {
		return 0, nil, fmt.Errorf("%s of group %q, to which rank %d does not belong", operation, group, b.rank)
	}
	k := b.next[group]
	b.next[group]++
	if k == len(b.group[group]) {
		if err := b.begin(operation, group, b.Size(of), bytes, root); err != nil {
			return 0, nil, err
		}
	}
	c = &b.group[group][k]
	if c.operation != operation || c.bytes != bytes || c.root != root {
		return 0, nil, fmt.Errorf("collective %d of group %q is %s of %d B (root %d), and on another rank %s of %d B (root %d)", k, group, operation, bytes, root, c.operation, c.bytes, c.root)
	}
	return index, c, nil
}

func (b *Builder) begin(operation Operation, group string, size int, bytes int64, root int) (err error) {
	if b.carried == mostCollective {
		return fmt.Errorf("more than %d collectives", mostCollective)
	}
	c := collective{operation: operation, bytes: bytes, root: root, number: b.carried, rounds: -1}
	b.carried++
	if operation == ReduceScatter { // the first half of the ring: every rank has the sum of its chunk then
		c.rounds = size - 1
	}
	if operation != Exchange {
		c.schedule, err = b.algorithm(&c, size)
	}
	if err == nil {
		b.group[group] = append(b.group[group], c)
	}
	return err
}

// algorithm is the schedule of a collective of so many ranks, as the settings have it.
func (b *Builder) algorithm(c *collective, size int) (schedule collectives.Schedule, err error) {
	name := map[Operation]string{Allreduce: b.Allreduce, Allgather: b.Allgather, Alltoall: b.Alltoall, Broadcast: b.Broadcast, Reduce: b.Reduce, ReduceScatter: "allreduce-ring", Barrier: "barrier-dissemination"}[c.operation]
	if c.operation != ReduceScatter && !strings.HasPrefix(name, string(c.operation)+"-") {
		return nil, &param.ParamError{Key: string(c.operation), Value: name, Want: fmt.Sprintf("an algorithm of %s: see weft list collectives", c.operation)}
	}
	var set []param.Setting
	if c.operation == Broadcast || c.operation == Reduce {
		set = append(set, param.Set("root", c.root))
	}
	key := fmt.Sprint(name, size, c.bytes, c.root)
	if b.built[key] == nil {
		if b.built[key], err = collectives.Registry.New(name, collectives.Env{Ranks: size, PerNode: 1, Bytes: sim.Bytes(c.bytes)}, set...); err != nil {
			return nil, err
		}
	}
	return b.built[key], nil
}

// Schedule is what was built, with the report; it is refused if something had to be left out,
// unless the settings allow it.
func (b *Builder) Schedule() (*goal.Schedule, *Report, error) {
	if err := b.refusal(); err != nil && !b.Drop {
		return nil, &b.Report, err
	}
	g, err := b.Builder.Schedule()
	return g, &b.Report, err
}

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
func (p *Process) Then(operation int32, err error) error { return p.around(operation, operation, err) }

// Work makes the rank compute for so many ns of the trace.
func (p *Process) Work(ns float64) error { return p.Then(p.Compute(ns)) }

// Begin begins a message, for which the rank does not wait until [Process.Join].
func (p *Process) Begin(kind mpi.Kind, bytes, peer, tag int64) (int32, error) {
	return p.behind(p.Message(kind, bytes, peer, tag))
}

// Join makes the rank wait for messages that it began.
func (p *Process) Join(messages []int32) error { return p.Then(p.gather(messages)) }

// Collect makes the rank take part in a collective, as [Builder.Collective] describes it.
// By itself it does nothing.
func (p *Process) Collect(operation Operation, of *Communicator, bytes int64, root int) error {
	if len(of.Members) == 1 {
		return nil
	}
	return p.around(p.Collective(operation, of, bytes, root))
}

// Exchange makes the rank take part in an exchange of messages straight between the
// members of a communicator: bytes to send to and to receive from each of them, in their order; of
// 0 bytes there is no message. What it sends itself takes no time.
func (p *Process) Exchange(of *Communicator, send, receive []int64) error {
	return p.around(p.exchange(of, send, receive))
}

// Rooted is an exchange in which a root sends to all members of a communicator (scatter), or receives
// from all. At the root, parts has the bytes of every member; elsewhere the rank's own alone.
func (p *Process) Rooted(scatter bool, of *Communicator, root int, atRoot bool, parts []int64) error {
	none := make([]int64, p.Size(of))
	if !atRoot {
		own := parts[0]
		parts = make([]int64, len(none))
		parts[root] = own
	}
	if scatter == atRoot {
		return p.Exchange(of, parts, none)
	}
	return p.Exchange(of, none, parts)
}

// around follows operations of which the first waits for all before, and all after for the last.
func (p *Process) around(first, last int32, err error) error {
	if err == nil {
		p.After(p.last, first)
		p.last = last
	}
	return err
}

// exchange is a collective of which every rank knows its own part only.
func (b *Builder) exchange(of *Communicator, send, receive []int64) (first, last int32, err error) {
	size := b.Size(of)
	index, c, err := b.join(Exchange, of, 0, 0)
	if err != nil {
		return 0, 0, err
	}
	if first, err = b.Compute(0); err != nil {
		return 0, 0, err
	}
	var ops []collectives.Op
	for step := 1; step < size; step++ { // from the next rank on, so that not all begin with one
		from, to := (index+size-step)%size, (index+step)%size
		if receive[from] != 0 {
			ops = append(ops, collectives.RecvOp(from, 0, receive[from]))
		}
		if send[to] != 0 {
			ops = append(ops, collectives.SendOp(to, 0, send[to]))
		}
	}
	done, err := b.messages(first, ops, c, of)
	if err == nil {
		last, err = b.gather(append([]int32{first}, done...))
	}
	return first, last, err
}

// Nothing is an operation that ends when the last has.
func (p *Process) Nothing() (int32, error) { return p.behind(p.Compute(0)) }

// behind makes an operation wait for the last, and nothing wait for it so far.
func (p *Process) behind(id int32, err error) (int32, error) {
	if err == nil {
		p.After(p.last, id)
	}
	return id, err
}

// Naming is how the files of the ranks of a trace are named: a pattern of three parts,
// of which the second is the rank, and the fewest digits of it. Sure is the end of a first part
// behind which the number is a rank even where files of ranks are missing.
type Naming struct {
	Pattern func() *regexp.Regexp
	Digits  int
	Sure    string
}

// Files lists the files of the trace to which name belongs, by rank: files of the same name with
// other numbers. If numbers are missing, the list has one more file than there are, so that one
// cannot be opened. A name that does not follow the pattern names a trace of one rank.
func (n Naming) Files(name string) []string {
	parts := n.Pattern().FindStringSubmatch(filepath.Base(name))
	if parts == nil {
		return []string{name}
	}
	names, _ := input.Names(filepath.Dir(name))
	ranks, found := 0, 0
	for _, f := range append(names, filepath.Base(name)) {
		if p := n.Pattern().FindStringSubmatch(f); p != nil && p[1] == parts[1] && p[3] == parts[3] {
			r, _ := strconv.Atoi(p[2])
			ranks = max(ranks, r+1)
			found++
		}
	}
	if found <= ranks && !strings.HasSuffix(parts[1], n.Sure) { // name has been found twice
		return []string{name}
	}
	var files []string
	for r := range min(ranks, found) {
		files = append(files, filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%0*d%s", parts[1], n.Digits, r, parts[3])))
	}
	return files
}

// Find is the file that a trace is told by: the name itself, or if it is a folder or a tar
// file the first one in it of the endings that name such files; or the only file.
func Find(name string, endings []string) (string, error) {
	names, err := input.Names(name)
	if err != nil || len(names) == 0 {
		return name, err
	}
	var found []string
	for _, ending := range endings {
		for _, n := range names {
			if strings.HasSuffix(n, ending) {
				found = append(found, n)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if found == nil {
		found = names
	}
	if len(found) > 1 {
		return "", fmt.Errorf("holds %d traces, as %s and %s: name one, as %s", len(found), found[0], found[1], filepath.Join(filepath.Base(name), found[0]))
	}
	return filepath.Join(name, found[0]), nil
}
