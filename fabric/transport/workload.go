package transport

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Sizes is a distribution of flow sizes: shares below so many bytes, between which it is straight.
type Sizes []struct{ Bytes, Share float64 }

// SizesOf are distributions as published with the simulator of HPCC (Li et al., SIGCOMM 2019):
// web search (Alizadeh et al., SIGCOMM 2010), Hadoop clusters (Roy et al., SIGCOMM 2015), and
// storage at Alibaba in 2019.
var SizesOf = map[string]Sizes{
	"web-search":  {{0, 0}, {10e3, 15}, {20e3, 20}, {30e3, 30}, {50e3, 40}, {80e3, 53}, {200e3, 60}, {1e6, 70}, {2e6, 80}, {5e6, 90}, {10e6, 97}, {30e6, 100}},
	"hadoop":      {{0, 0}, {100, 1}, {200, 2}, {300, 5}, {350, 15}, {400, 20}, {500, 30}, {600, 40}, {700, 50}, {1e3, 60}, {2e3, 67}, {7e3, 70}, {30e3, 72}, {50e3, 82}, {80e3, 87}, {120e3, 90}, {300e3, 95}, {1e6, 97.5}, {2e6, 99}, {10e6, 100}},
	"ali-storage": {{0, 0}, {4e3, 22.93}, {8e3, 69.21}, {16e3, 80.61}, {32e3, 90.47}, {64e3, 93.53}, {128e3, 96.77}, {256e3, 97.53}, {2e6, 100}},
}

// Mean is the mean size in bytes.
func (d Sizes) Mean() float64 {
	sum := 0.0
	for i := 1; i < len(d); i++ {
		sum += (d[i].Share - d[i-1].Share) / 100 * (d[i].Bytes + d[i-1].Bytes) / 2
	}
	return sum
}

// Draw is a size, at least a byte.
func (d Sizes) Draw(s *sim.Stream) int64 {
	share := 100 * s.Float64()
	i := 1
	for d[i].Share < share {
		i++
	}
	a, b := d[i-1], d[i]
	return max(1, int64(math.Round(a.Bytes+(b.Bytes-a.Bytes)*(share-a.Share)/(b.Share-a.Share))))
}

// Permutation sends a flow from every terminal to another one: a cycle through all, drawn at
// random.
func Permutation(terminals int, bytes int64, seed uint64) (flows []Flow) {
	order := topology.Numbers[int](terminals)
	s := sim.NewStream(seed, "permutation of flows", 0)
	sim.Shuffle(&s, order)
	next := make([]int, terminals)
	for i, t := range order {
		next[t] = order[(i+1)%terminals]
	}
	for t := range terminals {
		flows = append(flows, Flow{ID: t + 1, Src: t, Dst: next[t], Bytes: bytes})
	}
	return flows
}

// Incast sends a flow from each of so many terminals behind the receiver to it.
func Incast(terminals, senders, receiver int, bytes int64) (flows []Flow, err error) {
	if receiver >= terminals {
		return nil, fmt.Errorf("receiver %d: want a terminal of 0 to %d", receiver, terminals-1)
	}
	if senders >= terminals {
		return nil, fmt.Errorf("%d senders: want at most %d, the other terminals", senders, terminals-1)
	}
	flows = make([]Flow, 0, senders)
	for i := 1; i <= senders; i++ {
		flows = append(flows, Flow{ID: i, Src: (receiver + i) % terminals, Dst: receiver, Bytes: bytes})
	}
	return flows, nil
}

// Victim is an incast, and behind it in the list a flow that shares switches with it and no
// cable to a terminal: from the fifth terminal behind the receiver to the next one, which take
// no part in the incast.
func Victim(terminals, senders, receiver int, bytes int64) (flows []Flow, err error) {
	if terminals < 7 || senders > terminals-3 {
		return nil, fmt.Errorf("%d senders of %d terminals: want at most the terminals without receiver and victim, and seven terminals", senders, terminals)
	}
	if receiver >= terminals {
		return nil, fmt.Errorf("receiver %d: want a terminal of 0 to %d", receiver, terminals-1)
	}
	for i := 2; len(flows) < senders; i++ {
		if i != 5 {
			flows = append(flows, Flow{ID: len(flows) + 1, Src: (receiver + i) % terminals, Dst: receiver, Bytes: bytes})
		}
	}
	return append(flows, Flow{ID: len(flows) + 1, Src: (receiver + 5) % terminals, Dst: (receiver + 1) % terminals, Bytes: bytes}), nil
}

// AllToAll sends a flow from every terminal to every other, one behind the other: first to the
// next terminal, then to the one behind it, and so on.
func AllToAll(terminals int, bytes int64) (flows []Flow, triggers []Trigger) {
	for t := range terminals {
		for i := 1; i < terminals; i++ {
			f := Flow{ID: len(flows) + 1, Src: t, Dst: (t + i) % terminals, Bytes: bytes}
			if i > 1 {
				f.After = len(triggers)
			}
			if i < terminals-1 {
				triggers = append(triggers, Trigger{len(triggers) + 1, 1})
				f.Fires = len(triggers)
			}
			flows = append(flows, f)
		}
	}
	return flows, triggers
}

// Repeated sends each flow several times, one behind the other: the first times of all, then the
// second ones, and so on. Where the end of a flow counts, its last time is meant. Triggers are
// numbered from 1 on.
func Repeated(flows []Flow, triggers []Trigger, times int) ([]Flow, []Trigger) {
	each := len(flows)
	for k := 1; k < times; k++ {
		for i := range each {
			before := &flows[(k-1)*each+i]
			triggers = append(triggers, Trigger{len(triggers) + 1, 1})
			again := *before
			again.ID, again.Start, again.After = len(flows)+1, 0, len(triggers)
			before.Fires = len(triggers)
			flows = append(flows, again)
		}
	}
	return flows, triggers
}

// PoissonFlows is the number of flows, of so many bytes in the mean, that [Poisson] is expected to send.
func PoissonFlows(terminals int, mean, load float64, rate sim.Rate, duration sim.Time) float64 {
	return float64(duration) / poissonGap(terminals, mean, load, rate)
}

// poissonGap is the mean time between two flows, in ps.
func poissonGap(terminals int, mean, load float64, rate sim.Rate) float64 {
	return mean * 8e12 / (load * float64(rate) * float64(terminals))
}

// Poisson sends flows between random terminals at random times: every terminal sends load of
// rate in the mean, payload counted. sizes nil: of bytes each.
func Poisson(terminals int, sizes Sizes, bytes int64, load float64, rate sim.Rate, duration sim.Time, seed uint64) ([]Flow, error) {
	mean := float64(bytes)
	if sizes != nil {
		mean = sizes.Mean()
	}
	if n := PoissonFlows(terminals, mean, load, rate, duration); n > MostFlows {
		return nil, fmt.Errorf("%.0f flows: want at most %d", n, MostFlows)
	}
	gap := poissonGap(terminals, mean, load, rate)
	s := sim.NewStream(seed, "arrivals of flows", 0)
	var flows []Flow
	for at := 0.0; ; {
		if at -= gap * math.Log(1-s.Float64()); at >= float64(duration) {
			return flows, nil
		}
		f := Flow{ID: len(flows) + 1, Src: s.IntN(terminals), Dst: s.IntN(terminals - 1), Bytes: bytes, Start: sim.Time(at)}
		if f.Dst >= f.Src {
			f.Dst++
		}
		if sizes != nil {
			f.Bytes = sizes.Draw(&s)
		}
		flows = append(flows, f)
	}
}

// MatrixBytes is about what [ReadMatrix] takes for the flows of a text: the least.
func MatrixBytes(text []byte) float64 {
	return float64(bytes.Count(text, []byte("->"))) * float64(unsafe.Sizeof(Flow{})+8)
}

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
//	SRC->DST [id n] [msg [n]] start TIME | trigger n, size BYTES [send_done_trigger n] [recv_done_trigger n] [prio n]
//	trigger id n oneshot | barrier count m
//
// in any order; # begins a comment. A flow starts at a time, in us if it has no unit (htsim's older trees;
// uet-htsim counts ps: numbers from a second of us on have to have one), or when its trigger fires: at
// the end of the first flow that names it (oneshot), or of the m-th (barrier): as send_done_trigger, when the
// sender knows, as recv_done_trigger, when all is at the receiver. prio is read over, as htsim's own
// end points of Ultra Ethernet do. Flows of one id share a connection where those are shared. Errors name the lines,
// and are joined; so are triggers that nothing fires, or that wait for each other.
func ReadMatrix(name string, text []byte) (*Matrix, error) {
	if err := input.CheckUTF8(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &matrixReader{Lines: input.NewLines(bytes.NewReader(text), name), connections: -1, triggers: -1, lines: map[int]int{}}
	r.Nodes = -1
	for r.words = r.NextWords(); r.words != nil; r.words = r.NextWords() {
		r.read()
	}
	r.Number = bytes.Count(text, []byte("\n")) + 1 // the end
	r.checkWhole()
	if err := r.Finish(); err != nil {
		return nil, err
	}
	return &r.Matrix, nil
}

type matrixReader struct {
	*input.Lines
	Matrix
	words                 []string
	connections, triggers int
	at                    []int       // lines of flows
	lines                 map[int]int // of triggers
}

const digits = "0123456789"

// MostFlows bounds the flows of a run.
const MostFlows = 1 << 24

func (r *matrixReader) read() {
	switch first := r.words[0]; {
	case first == "Nodes":
		r.count(&r.Nodes, 1<<22)
	case first == "Connections":
		r.count(&r.connections, MostFlows)
	case first == "Triggers":
		r.count(&r.triggers, MostFlows)
	case first == "Failures" && len(r.words) == 2 && r.words[1] == "0": // none
	case first == "Failures" || first == "failure":
		r.Problem("%q: links that fail are settings of the network here: want none in this file", first)
	case first == "trigger":
		r.trigger()
	case strings.Contains(first, "->"):
		r.flow()
	default:
		r.Problem("%s: want Nodes, Connections, Triggers, trigger or SRC->DST", input.Quote(first))
	}
}

func (r *matrixReader) count(n *int, most int) {
	switch {
	case len(r.words) != 2:
		r.Problem("%s: want one number behind it", r.words[0])
		return
	case *n >= 0:
		r.Problem("%s stands twice", r.words[0])
	}
	*n = int(r.number(r.words[0], r.words[1], int64(most)))
}

func (r *matrixReader) number(what, word string, most int64) int64 {
	x, err := strconv.ParseInt(word, 10, 64)
	if err != nil || x < 0 || x > most {
		r.Problem("%s %s: want a number of 0 to %d", what, input.Quote(word), most)
		return 0
	}
	return x
}

// start reads a time: a number of us, with decimals or without, or one with its unit.
func (r *matrixReader) start(word string) sim.Time {
	us, err := strconv.ParseFloat(word, 64)
	switch t, wrong := sim.ParseTime(word); {
	case err != nil && wrong == nil && t >= 0:
		return t
	case err == nil && us >= 0 && us < 1e6:
		return sim.Time(math.Round(us * float64(sim.Microsecond)))
	case err == nil && us >= 1e6:
		r.Problem("start %s: without a unit it is in us, and later than a second: write the unit, as %sps (uet-htsim) or %sus (older trees of htsim)", input.Quote(word), input.Cut(word), input.Cut(word))
	default:
		r.Problem("start %s: want a time, as 1.5 (us) or 1500ps", input.Quote(word))
	}
	return 0
}

func (r *matrixReader) trigger() {
	t, kind := Trigger{Count: 1}, ""
	for w := r.words[1:]; len(w) > 0; w = w[1:] {
		key, number := w[0], &t.ID
		counted := len(w) > 1 && strings.Trim(w[1], digits) == ""
		switch {
		case kind == "" && (key == "oneshot" || key == "barrier"):
			if kind = key; key == "oneshot" || !counted {
				continue
			}
			number = &t.Count
		case key == "count":
			number = &t.Count
		case key != "id":
			counted = false
		}
		if !counted {
			r.Problem("%q: want trigger id NUMBER oneshot, or trigger id NUMBER barrier count COUNT", key)
			return
		}
		*number = int(r.number(key, w[1], MostFlows))
		w = w[1:]
	}
	if kind == "" || t.ID == 0 || kind == "oneshot" && t.Count != 1 {
		r.Problem("want trigger id NUMBER oneshot, or trigger id NUMBER barrier count COUNT, numbers from 1")
		return
	}
	t.Count = max(1, t.Count)
	if before, ok := r.lines[t.ID]; ok {
		r.Problem("trigger %d stands in line %d, too", t.ID, before)
	}
	r.lines[t.ID] = r.Number
	r.Triggers = append(r.Triggers, t)
}

func (r *matrixReader) flow() {
	src, dst, _ := strings.Cut(r.words[0], "->")
	f := Flow{ID: len(r.Flows) + 1, Bytes: -1, Start: -1}
	f.Src, f.Dst = int(r.number("source", src, 1<<22)), int(r.number("destination", dst, 1<<22))
	for w := r.words[1:]; len(w) > 0; {
		key := w[0]
		if w = w[1:]; key == "msg" {
			if len(w) > 0 && strings.Trim(w[0], digits) == "" {
				w = w[1:] // its number
			}
			continue
		}
		if len(w) == 0 {
			r.Problem("%s: want a number behind it", input.Quote(key))
			return
		}
		value := w[0]
		w = w[1:]
		switch key {
		case "id":
			f.ID = int(r.number(key, value, 1<<40))
			f.Connection = f.ID
		case "start":
			f.Start = r.start(value)
		case "size":
			f.Bytes = r.number(key, value, 1<<40)
		case "trigger":
			f.After = int(r.number(key, value, MostFlows))
		case "send_done_trigger":
			f.Fires = int(r.number(key, value, MostFlows))
		case "recv_done_trigger":
			f.Arrives = int(r.number(key, value, MostFlows))
		case "prio":
			r.number(key, value, math.MaxInt32)
		default:
			r.Problem("%s: want id, msg, start, size, trigger, send_done_trigger, recv_done_trigger or prio", input.Quote(key))
			return
		}
	}
	switch {
	case f.Bytes < 1:
		r.Problem("size is missing, or 0, in htsim a flow without an end: want the bytes of a message, at least 1")
	case f.Start < 0 && f.After == 0:
		r.Problem("start and trigger are missing")
	case f.Start >= 0 && f.After != 0:
		r.Problem("has both a start and a trigger")
	case f.Src == f.Dst:
		r.Problem("leads from terminal %d to itself", f.Src)
	}
	if len(r.Flows) == MostFlows {
		r.Problem("more than %d flows", MostFlows)
		return
	}
	f.Start = max(f.Start, 0)
	r.Flows = append(r.Flows, f)
	r.at = append(r.at, r.Number)
}

// checkWhole checks what follows from the whole file.
func (r *matrixReader) checkWhole() {
	if r.Nodes < 1 {
		r.Problem("Nodes is missing")
	}
	if len(r.Flows) == 0 && !r.Any() {
		r.Problem("has no flow: want one at least, as 0->1 start 0 size 4096")
	}
	if r.connections >= 0 && r.connections != len(r.Flows) {
		r.Problem("Connections announces %d flows, and %d follow: is the file cut?", r.connections, len(r.Flows))
	}
	if r.triggers >= 0 && r.triggers != len(r.Triggers) {
		r.Problem("Triggers announces %d triggers, and %d follow: is the file cut?", r.triggers, len(r.Triggers))
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
		case f.Arrives != 0 && r.lines[f.Arrives] == 0:
			r.ProblemAt(r.at[i], "recv_done_trigger %d is not in the file", f.Arrives)
		}
		if f.After != 0 {
			after[f.After] = append(after[f.After], i)
		}
	}
	if r.Any() {
		return
	}
	// Which flows start, if each ends.
	ready := lists.Places(len(r.Flows), func(i int) bool { return r.Flows[i].After == 0 })
	starts := 0
	for len(ready) > 0 {
		f := &r.Flows[ready[len(ready)-1]]
		ready = ready[:len(ready)-1]
		starts++
		for _, trigger := range []int{f.Fires, f.Arrives} {
			if trigger == 0 {
				continue
			}
			if needs[trigger]--; needs[trigger] == 0 {
				ready = append(ready, after[trigger]...)
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
