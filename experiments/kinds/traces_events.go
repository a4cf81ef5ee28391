package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// traceEvents writes the lives of packets in the JSON object form of Chrome's
// trace event format (N. Duca, D. Sinclair: Trace Event Format, 2016), which
// Perfetto and chrome://tracing open.
//
// Processes are terminals and switches, threads are queues (input port and
// virtual channel) and output channels. A packet is a complete event in each
// queue, from the arrival of its head until the tail is on the channel, divided
// into its stages, and one on each channel, until its tail has arrived at the
// other end; a flow leads from one to the next. Packets that are in a queue at
// the same time are beside one another: the events of a thread must be nested,
// so that a thread takes as many rows as it needs.
func traceEvents(g *topology.Graph, packets []*observe.PacketTrace, clock sim.Time) string {
	w := &eventWriter{graph: g, clock: clock}
	for i, p := range packets {
		w.packet(i+1, p)
	}
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
	process  int // 1 + switch, or 1 + switches + terminal
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

type eventWriter struct {
	graph  *topology.Graph
	clock  sim.Time
	spans  []span
	events []traceEvent
}

// Tracks of a terminal.
const (
	trackSource = iota
	trackOut
	trackIn
)

func (w *eventWriter) terminal(t topology.TerminalID) int { return 1 + w.graph.Switches() + int(t) }

// packet lists the spans of a packet. Flows start in the first channel.
func (w *eventWriter) packet(flow int, p *observe.PacketTrace) {
	g := w.graph
	name := packetName(g, p)
	source := w.terminal(p.Src)
	add := func(s span) {
		s.packet = flow
		w.spans = append(w.spans, s)
	}
	type facts struct {
		To    string `json:"to"`
		Flits int32  `json:"flits"`
		VC    int    `json:"vc"`
		Left  string `json:"vcs_allowed,omitempty"`
	}
	if p.Inject > p.Birth {
		add(span{process: source, track: trackSource, thread: "source queue", name: name, from: p.Birth, to: p.Inject})
	}
	add(span{
		process: source, track: trackOut, thread: "channel", name: name, from: p.Inject, to: p.Path[0].TailArrive, phase: "s",
		args: facts{g.TerminalName(p.Dst), p.Flits, p.VC, ""},
	})
	for i := range p.Path {
		h := &p.Path[i]
		s := g.PortSwitch[h.In]
		first, end := g.Ports(s)
		vcs := 16 // at most, for the order of display
		add(span{
			process: 1 + int(s), track: int(h.In-first)*vcs + h.InVC, thread: fmt.Sprintf("in %s vc %d", portOf(g, h.In), h.InVC),
			name: name, from: h.Arrive, to: h.TailDepart, phase: "t",
			stages: stagesAt(h),
			args:   facts{g.PortName(h.Out), p.Flits, h.OutVC, vcSet(h.VCs)},
		})
		arrived, phase := p.Cycle, "f"
		if i+1 < len(p.Path) {
			arrived, phase = p.Path[i+1].TailArrive, "t"
		}
		add(span{
			process: 1 + int(s), track: (int(end-first)+int(h.Out-first))*vcs + h.OutVC, thread: fmt.Sprintf("out %s vc %d", portOf(g, h.Out), h.OutVC),
			name: name, from: h.Depart, to: arrived, phase: phase,
			args: facts{farEnd(g, h.Out), p.Flits, h.OutVC, ""},
		})
	}
	add(span{process: w.terminal(p.Dst), track: trackIn, thread: "deliveries", name: name, from: p.Cycle, to: p.Cycle})
}

// stagesAt divides a packet's stay in a queue, in the order of the events:
// what it was asleep for is inside the stage that it was in.
func stagesAt(h *observe.TraceHop) []stage {
	list := []stage{
		{observe.StageNames[observe.StageBuffer], h.Arrive, h.Front},
		{observe.StageNames[observe.StageRoute], h.Front, h.Routed},
		{observe.StageNames[observe.StageVC], h.Routed, h.Held},
		{observe.StageNames[observe.StageSwitch], h.Held, h.Ready},
		{observe.StageNames[observe.StageOutput], h.Ready, h.Depart},
		{observe.StageNames[observe.StageTail], h.Depart, h.TailDepart},
	}
	for _, w := range h.Waits {
		name := observe.StageNames[observe.StageCredit]
		if w.Part == core.PartVC {
			name = "no free virtual channel"
		}
		list = append(list, stage{name, w.From, w.To})
	}
	slices.SortStableFunc(list, func(a, b stage) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	return list
}

// portOf names a port without its switch.
func portOf(g *topology.Graph, p topology.PortID) string {
	return strings.TrimPrefix(g.PortName(p), g.SwitchName(g.PortSwitch[p])+" ")
}

// rows gives every span a row of its thread in which it meets no other, and
// writes the events.
func (w *eventWriter) rows() {
	slices.SortStableFunc(w.spans, func(a, b span) int {
		return cmp.Or(a.process-b.process, a.track-b.track, cmp.Compare(a.from, b.from), a.packet-b.packet)
	})
	// Numbers of threads are unique, also among those of processes, since
	// Perfetto names threads by them, and in the order of display.
	thread := w.graph.Switches() + w.graph.Terminals()
	var ends []int64
	for i := range w.spans {
		s := &w.spans[i]
		newProcess := i == 0 || w.spans[i-1].process != s.process
		if newProcess || w.spans[i-1].track != s.track {
			thread += len(ends)
			ends = ends[:0]
		}
		if newProcess {
			w.describe("process", s.process, thread+1, w.processName(s.process), s.process)
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

func (w *eventWriter) processName(process int) string {
	if s := process - 1; s < w.graph.Switches() {
		return w.graph.SwitchName(topology.SwitchID(s))
	}
	return w.graph.TerminalName(topology.TerminalID(process - 1 - w.graph.Switches()))
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
	e := traceEvent{Name: s.name, Category: "packet", Phase: "X", Time: w.time(s.from), Duration: w.length(s.from, s.to), Process: s.process, Thread: thread, Args: s.args, cycle: s.from}
	if s.from == s.to {
		e.Phase, e.Duration, e.Scope = "i", "", "t"
	}
	w.events = append(w.events, e)
	if s.phase != "" {
		flow := traceEvent{Name: "way", Category: "packet", Phase: s.phase, Time: w.time(s.from), Process: s.process, Thread: thread, Flow: s.packet, cycle: s.from}
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
