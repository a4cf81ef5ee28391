package kinds

import (
	"cmp"
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
	w := &packetEvents{eventWriter{clock: clock, category: "packet", processes: g.Switches() + g.Terminals()}, g}
	w.name = w.processName
	for i, p := range packets {
		w.packet(i+1, p)
	}
	return w.text()
}

// packetEvents writes the events of packets.
type packetEvents struct {
	eventWriter
	graph *topology.Graph
}

// Tracks of a terminal.
const (
	trackSource = iota
	trackOut
	trackIn
)

func (w *packetEvents) terminal(t topology.TerminalID) int { return 1 + w.graph.Switches() + int(t) }

// packet lists the spans of a packet. Flows start in the first channel.
func (w *packetEvents) packet(flow int, p *observe.PacketTrace) {
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

func (w *packetEvents) processName(process int) string {
	if s := process - 1; s < w.graph.Switches() {
		return w.graph.SwitchName(topology.SwitchID(s))
	}
	return w.graph.TerminalName(topology.TerminalID(process - 1 - w.graph.Switches()))
}
