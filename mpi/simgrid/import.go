// Package simgrid reads the time-independent traces of SimGrid: actions of ranks, whose
// computations are numbers of floating-point operations.
package simgrid

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/mem"
)

// mostRanks bounds the number of a rank.
const mostRanks = 1 << 20

// typeBytes are the sizes of SMPI's datatypes, by number: double, int, char, short, long, float, byte, long long
// (all that traces without tags have), then signed and unsigned ones, those of fixed size, complex ones, pairs,
// and Fortran's.
var typeBytes = []float64{8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
	8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32}

// doubleType and byteType are numbers of datatypes, oldTypes the number of those before SimGrid 3.20.
const doubleType, byteType, oldTypes = 0, 6, 8

// anySource and anyTag are MPI_ANY_SOURCE and MPI_ANY_TAG of SMPI. SimGrid 3.32 writes undefined, its MPI_UNDEFINED,
// for MPI_ANY_SOURCE and for MPI_PROC_NULL.
const anySource, anyTag, undefined = -555, -444, -333

// messages are the actions that have a peer, and from SimGrid 3.20 on a tag.
var messages = strings.Fields("send recv isend irecv ssend issend")

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

// capitalsNow are names that SimGrid 3.32 still writes so.
var capitalsNow = strings.Fields("Ssend ISsend sendRecv waitAny")

// capitals has the names of actions before SimGrid 3.20, by today's names.
var capitals = map[string]string{}

func init() {
	for _, name := range slices.Concat(capitalsNow, strings.Fields("Isend Irecv waitAll allReduce allToAll allToAllV gatherV allGather allGatherV scatterV reduceScatter")) {
		capitals[strings.ToLower(name)] = name
	}
}

// learn finds out from an action whether messages have tags: one of two arguments has none, one of four
// has, and so has one of three of which the last is no datatype.
func (p *reader) learn(action string) {
	words := strings.Fields(action)
	name := modern(words[0])
	p.old = p.old || name != words[0] && !slices.Contains(capitalsNow, words[0])
	if !slices.Contains(messages, name) {
		return
	}
	switch len(words) - 1 {
	case 2:
		p.tags = withoutTags
	case 3:
		if last, err := strconv.ParseFloat(words[3], 64); err == nil && last >= oldTypes {
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
