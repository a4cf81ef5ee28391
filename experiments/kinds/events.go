package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim"
)

// eventWriter writes spans as events of Chrome's trace event format.
type eventWriter struct {
	clock     sim.Time                 // a cycle
	category  string                   // of spans
	processes int                      // their number
	name      func(process int) string // of one, from 1 on
	spans     []span
	events    []traceEvent
}

// text is the file.
func (w *eventWriter) text() string {
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

// span is a packet's stay in a thread.
type span struct {
	process  int // of packets: 1 + switch, or 1 + switches + terminal
	track    int // within the process, in order of display
	thread   string
	name     string
	from, to int64 // cycles
	packet   int   // flow
	phase    string
	stages   []stage
	args     any
}

// stage is a part of a span.
type stage struct {
	name     string
	from, to int64
}

// rows gives every span a row of its thread in which it meets no other, and
// writes the events.
func (w *eventWriter) rows() {
	slices.SortStableFunc(w.spans, func(a, b span) int {
		return cmp.Or(a.process-b.process, a.track-b.track, cmp.Compare(a.from, b.from), a.packet-b.packet)
	})
	// Numbers of threads are unique, also among those of processes, since
	// Perfetto names threads by them, and in the order of display.
	thread := w.processes
	var ends []int64
	for i := range w.spans {
		s := &w.spans[i]
		newProcess := i == 0 || w.spans[i-1].process != s.process
		if newProcess || w.spans[i-1].track != s.track {
			thread += len(ends)
			ends = ends[:0]
		}
		if newProcess {
			w.describe("process", s.process, thread+1, w.name(s.process), s.process)
		}
		row := slices.IndexFunc(ends, func(end int64) bool { return end <= s.from })
		if row < 0 {
			row = len(ends)
			ends = append(ends, 0)
			w.describe("thread", s.process, thread+row+1, s.thread, thread+row+1)
		}
		ends[row] = s.to
		w.span(s, thread+row+1)
	}
}

// describe names a process or a thread and says where it is shown.
func (w *eventWriter) describe(what string, process, thread int, name string, order int) {
	w.events = append(w.events,
		traceEvent{Name: what + "_name", Phase: "M", Process: process, Thread: thread, Args: map[string]any{"name": name}, cycle: -1},
		traceEvent{Name: what + "_sort_index", Phase: "M", Process: process, Thread: thread, Args: map[string]any{"sort_index": order}, cycle: -1})
}

// span writes the events of a span: its own, the flow that binds to it, which
// must come before its stages, and those.
func (w *eventWriter) span(s *span, thread int) {
	e := traceEvent{Name: s.name, Category: w.category, Phase: "X", Time: w.time(s.from), Duration: w.length(s.from, s.to), Process: s.process, Thread: thread, Args: s.args, cycle: s.from}
	if s.from == s.to {
		e.Phase, e.Duration, e.Scope = "i", "", "t"
	}
	w.events = append(w.events, e)
	if s.phase != "" {
		flow := traceEvent{Name: "way", Category: w.category, Phase: s.phase, Time: w.time(s.from), Process: s.process, Thread: thread, Flow: s.packet, cycle: s.from}
		if s.phase == "f" {
			flow.Binding = "e"
		}
		w.events = append(w.events, flow)
	}
	for _, x := range s.stages {
		if x.to > x.from {
			w.events = append(w.events, traceEvent{Name: x.name, Category: "stage", Phase: "X", Time: w.time(x.from), Duration: w.length(x.from, x.to), Process: s.process, Thread: thread, cycle: x.from})
		}
	}
}

// nanoseconds is the time of a cycle, rounded: what Perfetto counts in.
func (w *eventWriter) nanoseconds(cycle int64) int64 { return (cycle*int64(w.clock) + 500) / 1000 }

// time is the time of a cycle.
func (w *eventWriter) time(cycle int64) json.Number { return microseconds(w.nanoseconds(cycle)) }

// length is the time from one cycle to another. It is that of the rounded
// times, so that what is nested remains so.
func (w *eventWriter) length(from, to int64) json.Number {
	return microseconds(w.nanoseconds(to) - w.nanoseconds(from))
}

func microseconds(ns int64) json.Number {
	return json.Number(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", ns/1000, ns%1000), "0"), "."))
}
