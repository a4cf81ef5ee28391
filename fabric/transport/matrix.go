package transport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// Matrix is a file of flows.
type Matrix struct {
	Nodes    int
	Flows    []Flow
	Triggers []Trigger
}

// ReadMatrix reads a connection matrix of the htsim simulators. Lines are
//
//	Nodes n
//	Connections n
//	Triggers n
//	SRC->DST [id n] [msg] start US | trigger n, size BYTES [send_done_trigger n]
//	trigger id n oneshot | barrier m
//
// in any order; # begins a comment. A flow starts at a time in us, or when its trigger fires: at
// the end of the first flow that names it as send_done_trigger (oneshot), or of the m-th
// (barrier). Flows of one id share a connection where those are shared. Errors name the lines,
// and are joined; so are triggers that nothing fires, or that wait for each other.
func ReadMatrix(name string, text []byte) (*Matrix, error) {
	if err := input.CheckUTF8(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &matrixReader{Problems: input.Problems{Name: name}, connections: -1, triggers: -1, lines: map[int]int{}}
	r.Nodes = -1
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			r.line, r.words = i+1, words
			r.read()
		}
	}
	r.finish(len(lines))
	if r.Any() {
		return nil, r.Err()
	}
	return &r.Matrix, nil
}

type matrixReader struct {
	input.Problems
	Matrix
	line                  int
	words                 []string
	connections, triggers int
	at                    []int       // lines of flows
	lines                 map[int]int // of triggers
}

// mostFlows bounds a file.
const mostFlows = 1 << 24

func (r *matrixReader) read() {
	switch first := r.words[0]; {
	case first == "Nodes":
		r.count(&r.Nodes, 1<<22)
	case first == "Connections":
		r.count(&r.connections, mostFlows)
	case first == "Triggers":
		r.count(&r.triggers, mostFlows)
	case first == "trigger":
		r.trigger()
	case strings.Contains(first, "->"):
		r.flow()
	default:
		r.ProblemAt(r.line, "%s: want Nodes, Connections, Triggers, trigger or SRC->DST", input.Quote(first))
	}
}

func (r *matrixReader) count(n *int, most int) {
	if len(r.words) != 2 {
		r.ProblemAt(r.line, "%s: want one number behind it", r.words[0])
		return
	}
	*n = int(r.number(r.words[0], r.words[1], int64(most)))
}

// number reads a number of 0 to most.
func (r *matrixReader) number(what, word string, most int64) int64 {
	x, err := strconv.ParseInt(word, 10, 64)
	if err != nil || x < 0 || x > most {
		r.ProblemAt(r.line, "%s %s: want a number of 0 to %d", what, input.Quote(word), most)
		return 0
	}
	return x
}

func (r *matrixReader) trigger() {
	w := r.words
	if len(w) < 4 || w[1] != "id" || w[3] == "oneshot" && len(w) != 4 || w[3] == "barrier" && len(w) != 5 || w[3] != "oneshot" && w[3] != "barrier" {
		r.ProblemAt(r.line, "want trigger id NUMBER oneshot, or trigger id NUMBER barrier COUNT")
		return
	}
	t := Trigger{int(r.number("id", w[2], mostFlows)), 1}
	if len(w) == 5 {
		t.Count = max(1, int(r.number("barrier", w[4], mostFlows)))
	}
	if before, ok := r.lines[t.ID]; ok {
		r.ProblemAt(r.line, "trigger %d stands in line %d, too", t.ID, before)
	}
	r.lines[t.ID] = r.line
	r.Triggers = append(r.Triggers, t)
}

func (r *matrixReader) flow() {
	src, dst, _ := strings.Cut(r.words[0], "->")
	f := Flow{ID: len(r.Flows) + 1, Bytes: -1, Start: -1}
	f.Src, f.Dst = int(r.number("source", src, 1<<22)), int(r.number("destination", dst, 1<<22))
	for w := r.words[1:]; len(w) > 0; {
		key := w[0]
		if w = w[1:]; key == "msg" {
			continue
		}
		if len(w) == 0 {
			r.ProblemAt(r.line, "%s: want a number behind it", input.Quote(key))
			return
		}
		value := w[0]
		w = w[1:]
		switch key {
		case "id":
			f.ID = int(r.number(key, value, 1<<40))
			f.Connection = f.ID
		case "start":
			f.Start = sim.Time(r.number(key, value, 1<<40)) * sim.Microsecond
		case "size":
			f.Bytes = r.number(key, value, 1<<40)
		case "trigger":
			f.After = int(r.number(key, value, mostFlows))
		case "send_done_trigger":
			f.Fires = int(r.number(key, value, mostFlows))
		default:
			r.ProblemAt(r.line, "%s: want id, msg, start, size, trigger or send_done_trigger", input.Quote(key))
			return
		}
	}
	switch {
	case f.Bytes < 1:
		r.ProblemAt(r.line, "size is missing, or 0")
	case f.Start < 0 && f.After == 0:
		r.ProblemAt(r.line, "start and trigger are missing")
	case f.Start >= 0 && f.After != 0:
		r.ProblemAt(r.line, "has both a start and a trigger")
	case f.Src == f.Dst:
		r.ProblemAt(r.line, "leads from terminal %d to itself", f.Src)
	}
	if len(r.Flows) == mostFlows {
		r.ProblemAt(r.line, "more than %d flows", mostFlows)
		return
	}
	f.Start = max(f.Start, 0)
	r.Flows = append(r.Flows, f)
	r.at = append(r.at, r.line)
}

// finish checks what follows from the whole file.
func (r *matrixReader) finish(end int) {
	r.line = end
	if r.Nodes < 1 {
		r.ProblemAt(end, "Nodes is missing")
	}
	if r.connections >= 0 && r.connections != len(r.Flows) {
		r.ProblemAt(end, "Connections announces %d flows, and %d follow: is the file cut?", r.connections, len(r.Flows))
	}
	if r.triggers >= 0 && r.triggers != len(r.Triggers) {
		r.ProblemAt(end, "Triggers announces %d triggers, and %d follow: is the file cut?", r.triggers, len(r.Triggers))
	}
	needs, after := map[int]int{}, map[int][]int{}
	for _, t := range r.Triggers {
		needs[t.ID] = t.Count
	}
	for i, f := range r.Flows {
		switch {
		case r.Nodes > 0 && (f.Src >= r.Nodes || f.Dst >= r.Nodes):
			r.ProblemAt(r.at[i], "leads from %d to %d, and there are %d nodes, from 0", f.Src, f.Dst, r.Nodes)
		case f.After != 0 && r.lines[f.After] == 0:
			r.ProblemAt(r.at[i], "trigger %d is not in the file", f.After)
		case f.Fires != 0 && r.lines[f.Fires] == 0:
			r.ProblemAt(r.at[i], "send_done_trigger %d is not in the file", f.Fires)
		}
		if f.After != 0 {
			after[f.After] = append(after[f.After], i)
		}
	}
	if r.Any() {
		return
	}
	// Which flows start, if each ends.
	var ready []int
	for i, f := range r.Flows {
		if f.After == 0 {
			ready = append(ready, i)
		}
	}
	starts := 0
	for len(ready) > 0 {
		f := &r.Flows[ready[len(ready)-1]]
		ready = ready[:len(ready)-1]
		starts++
		if f.Fires != 0 {
			if needs[f.Fires]--; needs[f.Fires] == 0 {
				ready = append(ready, after[f.Fires]...)
			}
		}
	}
	if starts < len(r.Flows) {
		for i, f := range r.Flows {
			if f.After != 0 && needs[f.After] > 0 {
				r.ProblemAt(r.at[i], "never starts: trigger %d waits for %d more flows, in a circle or for ever (%d flows in all)", f.After, needs[f.After], len(r.Flows)-starts)
				return
			}
		}
	}
}
