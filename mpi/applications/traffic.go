package applications

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Traffic configures messages that ranks send at times of their own, whatever became of earlier
// ones.
type Traffic struct {
	Pattern  string    `toml:"pattern" doc:"where a rank's messages go: uniform: to any other; permutation: to one drawn for it; shift: to the rank that many behind it; hot: to rank hot; matrix: by the weights of a file" choices:"uniform|permutation|shift|hot|matrix"`
	Bytes    sim.Bytes `toml:"bytes" doc:"size of a message" min:"0B"`
	Load     float64   `toml:"load" doc:"of a rank, as a part of rate; with a matrix of the rank that sends most" min:"0.000001" max:"1"`
	Rate     sim.Rate  `toml:"rate" doc:"what load 1 is" min:"1kb/s"`
	Gaps     string    `toml:"gaps" doc:"times between messages: exponential, or all equal" choices:"exponential|fixed"`
	Messages int       `toml:"messages" doc:"of a rank; with a matrix of the rank that sends most" min:"1"`
	Shift    int       `toml:"shift" doc:"pattern shift: by so many ranks; the ranks of a group of a dragonfly make adversarial traffic" min:"0"`
	Hot      int       `toml:"hot" doc:"pattern hot: the rank that all send to" min:"0"`
	Matrix   string    `toml:"matrix" doc:"pattern matrix: file of lines SOURCE,DESTINATION,WEIGHT by ranks, relative to the experiment file" file:"read"`
	Seed     int64     `toml:"seed" doc:"of destinations and times" min:"0"`
}

func init() {
	param.Register(skeletons.Registry, "traffic", "messages at times of their own to destinations of a pattern, or of a matrix from a file", Traffic{
		Pattern: "uniform", Bytes: 4096, Load: 0.1, Rate: 32e9, Gaps: "exponential", Messages: 100, Seed: 1,
	}, newTraffic)
}

// traffic is the messages of all ranks.
type traffic struct {
	Traffic
	to       [][]int32  // by rank
	expected []int32    // by rank
	gap      []sim.Time // by rank, the mean
}

func newTraffic(c Traffic, e skeletons.Env) (skeletons.Program, error) {
	n := e.Ranks
	if err := errors.Join(
		skeletons.NeedRanks("traffic", n >= 2, n, "at least 2"),
		input.CheckMemory("messages", c.Messages, "the destinations of all messages", 4*float64(c.Messages)*float64(n)),
	); err != nil {
		return nil, err
	}
	switch {
	case c.Pattern == "shift" && c.Shift%n == 0:
		return nil, &param.ParamError{Key: "shift", Value: c.Shift, Want: fmt.Sprintf("no multiple of %d, the number of ranks", n)}
	case c.Pattern == "hot" && c.Hot >= n:
		return nil, &param.ParamError{Key: "hot", Value: c.Hot, Want: fmt.Sprintf("a rank: 0 to %d", n-1)}
	case (c.Pattern == "matrix") != (c.Matrix != ""):
		return nil, &param.ParamError{Key: "matrix", Value: c.Matrix, Want: "a file with pattern matrix, and with no other"}
	}
	t := &traffic{Traffic: c, to: make([][]int32, n), expected: make([]int32, n), gap: make([]sim.Time, n)}
	mean := sim.Time(c.Rate.PicosecondsFor(c.Bytes) / c.Load)
	if mean < 1 {
		return nil, &param.ParamError{Key: "bytes", Value: c.Bytes, Want: "messages that take a picosecond at least at this load"}
	}
	if c.Pattern == "matrix" {
		if err := t.ofMatrix(mean); err != nil {
			return nil, err
		}
	} else {
		t.ofPattern(mean)
	}
	for _, all := range t.to {
		for _, to := range all {
			t.expected[to]++
		}
	}
	return t, nil
}

// ofPattern draws the destinations of a pattern.
func (t *traffic) ofPattern(mean sim.Time) {
	n := len(t.to)
	_, partner := cycle(n, uint64(t.Seed), "traffic permutation", 0)
	for r := range t.to {
		s := sim.NewStream(uint64(t.Seed), "traffic destinations", r)
		t.gap[r] = mean
		for range t.Messages {
			to := r
			switch t.Pattern {
			case "uniform":
				to = (r + 1 + s.IntN(n-1)) % n
			case "permutation":
				to = int(partner[r])
			case "shift":
				to = (r + t.Shift) % n
			case "hot":
				to = t.Hot
			}
			if to != r { // the hot rank sends nothing
				t.to[r] = append(t.to[r], int32(to))
			}
		}
	}
}

// cycle is a random cycle of all ranks, drawn from a stream: who is before each, and who behind.
func cycle(ranks int, seed uint64, role string, number int) (before, behind []int32) {
	order := lists.Make(ranks, func(i int) int32 { return int32(i) })
	s := sim.NewStream(seed, role, number)
	sim.Shuffle(&s, order)
	before, behind = make([]int32, ranks), make([]int32, ranks)
	for i, r := range order {
		to := order[(i+1)%ranks]
		behind[r], before[to] = to, r
	}
	return before, behind
}

// ofMatrix draws destinations by a file's weights. Ranks send in proportion to their weights' sum.
func (t *traffic) ofMatrix(mean sim.Time) error {
	f, err := input.OpenInput(t.Matrix, input.MaxInput)
	if err != nil {
		return &param.ParamError{Key: "matrix", Value: t.Matrix, Want: "a file that can be read (" + err.Error() + ")"}
	}
	defer f.Close()
	rows, err := readMatrix(t.Matrix, f, len(t.to))
	if err != nil {
		return err
	}
	most := 0.0
	sums := make([]float64, len(rows))
	for r, row := range rows {
		for _, x := range row {
			sums[r] += x.weight
		}
		most = max(most, sums[r])
	}
	for r, row := range rows {
		s := sim.NewStream(uint64(t.Seed), "traffic destinations", r)
		n := int(float64(t.Messages)*sums[r]/most + 0.5)
		if n > 0 {
			t.gap[r] = sim.Time(float64(mean) * most / sums[r])
		}
		for range n {
			at, k := s.Float64()*sums[r], 0
			for ; k < len(row)-1 && at >= row[k].weight; k++ {
				at -= row[k].weight
			}
			t.to[r] = append(t.to[r], row[k].to)
		}
	}
	return nil
}

type weighted struct {
	to     int32
	weight float64
}

// readMatrix reads lines SOURCE,DESTINATION,WEIGHT. The error joins the errors of all lines.
func readMatrix(name string, r io.Reader, ranks int) ([][]weighted, error) {
	rows := make([][]weighted, ranks)
	any := false
	in := input.NewLines(r, name)
	for in.Next() {
		if in.Text == "" || in.Text[0] == '#' {
			continue
		}
		cells := strings.Split(in.Text, ",")
		for i, cell := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cell), `"`)
		}
		if len(cells) != 3 {
			in.Problem("%q: want SOURCE,DESTINATION,WEIGHT", in.Text)
			continue
		}
		from, err1 := strconv.Atoi(cells[0])
		to, err2 := strconv.Atoi(cells[1])
		weight, err3 := strconv.ParseFloat(cells[2], 64)
		switch {
		case err1 != nil || err2 != nil || from < 0 || to < 0 || from >= ranks || to >= ranks || from == to:
			in.Problem("%q,%q: want two different ranks, 0 to %d", cells[0], cells[1], ranks-1)
		case err3 != nil || !(weight >= 0 && weight < 1e18):
			in.Problem("weight %q: want a number from 0 to 1e18", cells[2])
		case weight > 0:
			rows[from] = append(rows[from], weighted{int32(to), weight})
			any = true
		}
	}
	if !any && !in.Any() {
		in.Problem("no weight above 0")
	}
	return rows, in.Finish()
}

func (t *traffic) Run(unit sim.Time, _ mpi.Costs) mpi.Workload {
	run := &trafficRun{traffic: t, unit: unit, ranks: make([]trafficRank, len(t.to))}
	for r := range run.ranks {
		run.ranks[r].stream = sim.NewStream(uint64(t.Seed), "traffic times", r)
	}
	return run
}

// trafficRun is the state of one run. A rank waits for its next message's time, and always has one
// receive posted.
type trafficRun struct {
	*traffic
	unit  sim.Time
	ranks []trafficRank
}

type trafficRank struct {
	stream         sim.Stream
	due            int64 // of the next message
	begun          bool
	sent, received int32
	over           int32 // of both
}

// Operations of a rank: its wait, its receive, and its sends from firstSend on.
const (
	trafficWait = iota
	trafficReceive
	firstSend
)

func (w *trafficRun) Ranks() int { return len(w.ranks) }
func (w *trafficRun) CPUs() int  { return 1 }
func (w *trafficRun) NICs() int  { return 1 }

// wait is the operation before the next message, at time now.
func (w *trafficRun) wait(rank int32, now int64, dst []mpi.Op) []mpi.Op {
	p := &w.ranks[rank]
	if int(p.sent) == len(w.to[rank]) {
		return dst
	}
	gap := w.gap[rank]
	if w.Gaps == "exponential" {
		gap = sim.Time(-math.Log(1-p.stream.Float64()) * float64(gap))
	}
	p.due += int64(gap / w.unit)
	return append(dst, mpi.Op{ID: trafficWait, Kind: mpi.Calc, Wait: true, Size: max(0, p.due-now)})
}

func (w *trafficRun) receive(rank int32, dst []mpi.Op) []mpi.Op {
	if w.ranks[rank].received == w.expected[rank] {
		return dst
	}
	return append(dst, mpi.Op{ID: trafficReceive, Kind: mpi.Recv, Peer: mpi.Any, Size: int64(w.Bytes)})
}

func (w *trafficRun) Start(rank int32, dst []mpi.Op) []mpi.Op {
	return w.wait(rank, 0, w.receive(rank, dst))
}

// Started implements [mpi.Workload]: a send begins the wait for the next message.
func (w *trafficRun) Started(rank, id int32, now int64, dst []mpi.Op) []mpi.Op {
	if id < firstSend {
		return dst
	}
	return w.wait(rank, now, dst)
}

func (w *trafficRun) Done(rank, id int32, now int64, dst []mpi.Op) []mpi.Op {
	p := &w.ranks[rank]
	switch id {
	case trafficWait:
		if !p.begun { // times are those since then
			p.begun, p.due = true, now
		}
		op := mpi.Op{ID: firstSend + p.sent, Kind: mpi.Send, Peer: w.to[rank][p.sent], Size: int64(w.Bytes), Ready: now}
		p.sent++
		return append(dst, op)
	case trafficReceive:
		p.received++
		p.over++
		return w.receive(rank, dst)
	}
	p.over++
	return dst
}

func (w *trafficRun) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "traffic of ranks", w.ranks, snapshot.Value)
}

func (w *trafficRun) Where(_, id int32) string {
	switch id {
	case trafficWait:
		return "wait for the next message"
	case trafficReceive:
		return "receive"
	}
	return fmt.Sprintf("message %d", id-firstSend+1)
}

func (w *trafficRun) Unreleased() (n int64) {
	for r := range w.ranks {
		n += int64(len(w.to[r])) + int64(w.expected[r]-w.ranks[r].over)
	}
	return n
}
