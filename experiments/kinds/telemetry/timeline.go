package telemetry

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// TimelineTables are timeline and critical_path.
var TimelineTables = func() [2]experiments.FurtherTable {
	what := "compute, copy, send, receive, relay, connect: CPU time; pause: for no message, until the rank or its job starts or a time that the program names; wait: for a message, its completion, or another CPU of the rank"
	message := []experiments.Column{
		{Name: "peer", Doc: "rank at the other end of the message"},
		{Name: "message", Doc: "sender of the message and its number among those of the sender, from 0: 3:17; empty: not of the program"},
	}
	place := []experiments.Column{
		{Name: "job", Doc: "kind jobs: name of the job"},
		{Name: "rank", Doc: "number of the rank, from 0; of a message that is waited for, of the rank that waits; machine loggops with several CPUs a rank: 3.1, its CPU 1"},
		{Name: "start_ns", Doc: "from when"},
		{Name: "end_ns", Doc: "until when"},
	}
	return [2]experiments.FurtherTable{{
		Name: "timeline", Doc: "what every rank does and waits for: its rows follow each other from 0 to its end", Asked: "measure.timeline",
		Columns: append(append(place[:4:4], experiments.Column{Name: "what", Doc: what}), message...),
	}, {
		Name: "critical_path", Doc: "the chain of work and messages that led to the end of the program, or job: its rows follow each other from 0 on and add up to the elapsed time", Asked: "measure.timeline",
		Columns: append(append(append(place[:4:4], experiments.Column{
			Name: "what", Doc: what + ". Of a message that a rank waits for, one behind the other: staging; adapter: requests, contexts and other messages; serialisation of its own bytes; propagation; cable: waiting for a channel; shared_memory; receive_buffer: none was posted; acknowledgement",
		}), message...), experiments.Column{Name: "cable", Doc: "the channel that is waited for, by its ends"}, experiments.Column{Name: "seconds", Doc: "from start_ns to end_ns"}),
	}}
}()

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
	return []any{job, w.local(a.Rank), ExactNanoseconds(int64(a.Start), 1000), ExactNanoseconds(int64(a.End), 1000), a.What.String(), peer, message}
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
	t := run.Table(TimelineTables[0])
	for rank := range w.Ranks() {
		w.Of(rank, func(a mpi.Activity) { t.Add(w.place(&a)...) })
	}
	t = run.Table(TimelineTables[1])
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

// order is that in which ranks are of interest.
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

// ExactNanoseconds writes a time in units of which a nanosecond has 1 or 1000: every digit,
// and none that is not known.
func ExactNanoseconds(t, unitsPerNanosecond int64) string {
	text := strconv.FormatInt(t/unitsPerNanosecond, 10)
	if fraction := t % unitsPerNanosecond; fraction != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%03d", fraction), "0")
	}
	return text
}
