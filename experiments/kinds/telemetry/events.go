package telemetry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim"
)

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
	// In the order of time, to the cycle: readers keep the order of the file
	// where times are equal.
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

// rows gives every span a row of its thread in which it meets no other, and
// writes the events.
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
func (w *EventWriter) time(cycle int64) json.Number { return microseconds(w.nanoseconds(cycle)) }

// length is the time from one cycle to another. It is between the rounded
// times, so that what is nested remains so.
func (w *EventWriter) length(from, to int64) json.Number {
	return microseconds(w.nanoseconds(to) - w.nanoseconds(from))
}

func microseconds(ns int64) json.Number {
	return json.Number(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", ns/1000, ns%1000), "0"), "."))
}
