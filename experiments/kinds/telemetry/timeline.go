package telemetry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// NewTimeline is an empty timeline of so many ranks, of which it holds what half of the memory
// has room for.
func NewTimeline(ranks int) *mpi.Timeline {
	const bytes = 200 // of an activity with a wait
	return mpi.NewTimeline(int(input.Memory() / 2 / bytes / int64(ranks)))
}

// TimelineWriter writes the timeline of a run.
type TimelineWriter struct {
	*mpi.Timeline
	CPUs  int                                 // of a rank, where each is one of the timeline
	Graph *topology.Graph                     // nil: without channels
	Jobs  []string                            // nil: no jobs
	JobOf func(rank int) (job int, inJob int) // where there are jobs
	paths [][]mpi.Activity                    // by job that has one
	names []string                            // of these
}

// Path adds the critical path to the end of a rank's work.
func (w *TimelineWriter) Path(job string, rank int, end sim.Time) {
	w.paths, w.names = append(w.paths, w.CriticalPath(rank, end)), append(w.names, job)
}

// place is the beginning of a row.
func (w *TimelineWriter) place(a *mpi.Activity) []any {
	job := ""
	if w.JobOf != nil {
		j, _ := w.JobOf(int(a.Rank))
		job = w.Jobs[j]
	}
	peer, message := w.message(a)
	return []any{job, w.local(a.Rank), Exact(int64(a.Start), 1000), Exact(int64(a.End), 1000), a.What.String(), peer, message}
}

// message is the peer and the message of an activity, "" where it has none.
func (w *TimelineWriter) message(a *mpi.Activity) (peer, message string) {
	if a.Peer >= 0 {
		peer = w.local(a.Peer)
	}
	if a.Number >= 0 {
		message = fmt.Sprintf("%s:%d", w.local(a.Sender), a.Number)
	}
	return peer, message
}

// local names a rank by its number, in its job where there are jobs, and of several CPUs by
// that, too.
func (w *TimelineWriter) local(rank int32) string {
	if w.JobOf != nil {
		_, in := w.JobOf(int(rank))
		return strconv.Itoa(in)
	}
	if w.CPUs > 1 {
		return fmt.Sprintf("%d.%d", int(rank)/w.CPUs, int(rank)%w.CPUs)
	}
	return strconv.Itoa(int(rank))
}

// Write keeps timeline.csv, critical_path.csv and timelines/POINT.json.
func (w *TimelineWriter) Write(run *experiments.Run) {
	t := run.Table(Tables.Named("timeline"))
	for rank := range w.Ranks() {
		w.Of(rank, func(a mpi.Activity) { t.Add(w.place(&a)...) })
	}
	t = run.Table(Tables.Named("critical_path"))
	for _, path := range w.paths {
		for i := range path {
			s := &path[i]
			t.Add(append(w.place(s), w.cable(s), (s.End - s.Start).Seconds())...)
		}
	}
	run.Attach("timelines", "json", w.events())
}

// cable names the channel that a step waits for.
func (w *TimelineWriter) cable(s *mpi.Activity) string {
	if s.Cable < 0 {
		return ""
	}
	from, to, _ := ChannelEnds(w.Graph, int(s.Cable))
	return from + " to " + to
}

// AgainTimeline is why points with a timeline begin again.
const AgainTimeline = "measure.timeline: what ranks have done so far is not kept"

// mostSpans bounds what is written for Perfetto, by whole ranks, the ranks of critical paths first.
const mostSpans = 50_000

// events writes the timeline for Perfetto: a process for the ranks, with a thread each, and one
// for each critical path, whose messages are flows.
func (w *TimelineWriter) events() string {
	names := []string{"ranks"}
	for _, job := range w.names {
		names = append(names, strings.TrimSpace("critical path "+job))
	}
	e := &EventWriter{Clock: sim.Picosecond, Category: "rank", Processes: len(names), Name: func(process int) string { return names[process-1] }}
	type facts struct {
		Peer    string `json:"peer,omitempty"`
		Message string `json:"message,omitempty"`
		Cable   string `json:"cable,omitempty"`
	}
	add := func(process int, thread string, a *mpi.Activity) {
		peer, message := w.message(a)
		e.Spans = append(e.Spans, Span{Process: process, Track: int(a.Rank), Thread: thread, Name: a.What.String(), From: int64(a.Start), To: int64(a.End), Args: facts{peer, message, w.cable(a)}})
	}
	starts := map[[2]int64]int{} // by rank and start, the span
	for _, rank := range w.order() {
		if len(e.Spans) >= mostSpans {
			break
		}
		thread := "rank " + w.local(int32(rank))
		if w.JobOf != nil {
			job, _ := w.JobOf(rank)
			thread = w.Jobs[job] + " " + thread
		}
		w.Of(rank, func(a mpi.Activity) {
			starts[[2]int64{int64(rank), int64(a.Start)}] = len(e.Spans)
			add(1, thread, &a)
		})
	}
	for k, path := range w.paths {
		flow := 0
		for i := range path {
			s := &path[i]
			add(2+k, "rank "+w.local(s.Rank), s)
			if i == 0 || path[i-1].Rank == s.Rank {
				continue
			}
			// From what the sender did last to what the receiver does then.
			arrives := i
			for arrives < len(path)-1 && path[arrives].Peer == path[i-1].Rank && path[arrives].What > mpi.Waiting {
				arrives++
			}
			from, there := starts[[2]int64{int64(path[i-1].Rank), int64(path[i-1].Start)}]
			to, also := starts[[2]int64{int64(s.Rank), int64(path[arrives].Start)}]
			if there && also && from != to && e.Spans[from].Phase == "" && e.Spans[to].Phase == "" {
				flow++
				e.Spans[from].Phase, e.Spans[from].Packet = "s", k<<32|flow
				e.Spans[to].Phase, e.Spans[to].Packet = "f", k<<32|flow
			}
		}
	}
	return e.Text()
}

func (w *TimelineWriter) order() (ranks []int) {
	seen := make([]bool, w.Ranks())
	add := func(rank int) {
		if !seen[rank] {
			seen[rank] = true
			ranks = append(ranks, rank)
		}
	}
	for _, path := range w.paths {
		for i := range path {
			add(int(path[i].Rank))
		}
	}
	for rank := range seen {
		add(rank)
	}
	return ranks
}

// Exact writes a time in a unit of which it has been counted in so many parts, 1 or 1000: every
// digit, and none that is not known.
func Exact(t, parts int64) string {
	text := strconv.FormatInt(t/parts, 10)
	if fraction := t % parts; fraction != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%03d", fraction), "0")
	}
	return text
}

// EventWriter writes spans as events of Chrome's trace event format.
type EventWriter struct {
	Clock     sim.Time                 // a cycle
	Category  string                   // of spans
	Processes int                      // their number
	Name      func(process int) string // of one, from 1 on
	Spans     []Span
	events    []traceEvent
}

// Text is the file.
func (w *EventWriter) Text() string {
	w.rows()
	// In the order of time, to the cycle: readers keep the order of the file where times are equal.
	slices.SortStableFunc(w.events, func(a, b traceEvent) int { return cmp.Compare(a.cycle, b.cycle) })
	var b strings.Builder
	b.WriteString("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n")
	for i, e := range w.events {
		text, err := json.Marshal(e)
		if err != nil {
			panic("kinds: " + err.Error()) // strings and numbers
		}
		b.Write(text)
		if i < len(w.events)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.String()
}

// traceEvent is an event of the format. Times are in microseconds.
type traceEvent struct {
	Name     string      `json:"name"`
	Category string      `json:"cat,omitempty"`
	Phase    string      `json:"ph"`
	Time     json.Number `json:"ts,omitempty"`
	Duration json.Number `json:"dur,omitempty"`
	Process  int         `json:"pid"`
	Thread   int         `json:"tid,omitempty"`
	Flow     int         `json:"id,omitempty"`
	Binding  string      `json:"bp,omitempty"` // of the end of a flow; e: to the event that it is in
	Scope    string      `json:"s,omitempty"`  // of an instant; t: its thread
	Args     any         `json:"args,omitempty"`

	cycle int64 // of Time; -1 of metadata
}

// Span is a packet's stay in a thread.
type Span struct {
	Process  int // of packets: 1 + switch, or 1 + switches + terminal
	Track    int // within the process, in order of display
	Thread   string
	Name     string
	From, To int64 // cycles
	Packet   int   // flow
	Phase    string
	stages   []stage
	Args     any
}

// stage is a part of a span.
type stage struct {
	name     string
	from, to int64
}

// rows gives every span a row of its thread in which it meets no other, and writes the events.
func (w *EventWriter) rows() {
	slices.SortStableFunc(w.Spans, func(a, b Span) int {
		return cmp.Or(a.Process-b.Process, a.Track-b.Track, cmp.Compare(a.From, b.From), a.Packet-b.Packet)
	})
	// No thread has the number of another thread or of a process, since
	// Perfetto names threads by them, and in the order of display.
	thread := w.Processes
	var ends []int64
	for i := range w.Spans {
		s := &w.Spans[i]
		newProcess := i == 0 || w.Spans[i-1].Process != s.Process
		if newProcess || w.Spans[i-1].Track != s.Track {
			thread += len(ends)
			ends = ends[:0]
		}
		if newProcess {
			w.describe("process", s.Process, thread+1, w.Name(s.Process), s.Process)
		}
		row := slices.IndexFunc(ends, func(end int64) bool { return end <= s.From })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
			w.describe("thread", s.Process, thread+row+1, s.Thread, thread+row+1)
		}
		ends[row] = s.To
		w.writeSpan(s, thread+row+1)
	}
}

// describe names a process or a thread and says where it is shown.
func (w *EventWriter) describe(what string, process, thread int, name string, order int) {
	w.events = append(w.events,
		traceEvent{Name: what + "_name", Phase: "M", Process: process, Thread: thread, Args: map[string]any{"name": name}, cycle: -1},
		traceEvent{Name: what + "_sort_index", Phase: "M", Process: process, Thread: thread, Args: map[string]any{"sort_index": order}, cycle: -1})
}

// Span writes the events of a span: its own, the flow that binds to it, which
// must come before its stages, and those.
func (w *EventWriter) writeSpan(s *Span, thread int) {
	e := traceEvent{Name: s.Name, Category: w.Category, Phase: "X", Time: w.time(s.From), Duration: w.length(s.From, s.To), Process: s.Process, Thread: thread, Args: s.Args, cycle: s.From}
	if s.From == s.To {
		e.Phase, e.Duration, e.Scope = "i", "", "t"
	}
	w.events = append(w.events, e)
	if s.Phase != "" {
		flow := traceEvent{Name: "way", Category: w.Category, Phase: s.Phase, Time: w.time(s.From), Process: s.Process, Thread: thread, Flow: s.Packet, cycle: s.From}
		if s.Phase == "f" {
			flow.Binding = "e"
		}
		w.events = append(w.events, flow)
	}
	for _, x := range s.stages {
		if x.to > x.from {
			w.events = append(w.events, traceEvent{Name: x.name, Category: "stage", Phase: "X", Time: w.time(x.from), Duration: w.length(x.from, x.to), Process: s.Process, Thread: thread, cycle: x.from})
		}
	}
}

// nanoseconds is the time of a cycle, rounded: what Perfetto counts in.
func (w *EventWriter) nanoseconds(cycle int64) int64 { return (cycle*int64(w.Clock) + 500) / 1000 }

// time is the time of a cycle.
func (w *EventWriter) time(cycle int64) json.Number { return w.length(0, cycle) }

// length is the time from one cycle to another. It is between the rounded
// times, so that what is nested remains so.
func (w *EventWriter) length(from, to int64) json.Number {
	return json.Number(Exact(w.nanoseconds(to)-w.nanoseconds(from), 1000))
}
