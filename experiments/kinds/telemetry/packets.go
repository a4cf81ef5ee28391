package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// TraceTable is the [trace] table: packets whose lives are written down.
type TraceTable struct {
	Packets      int    `toml:"packets" doc:"packets of the window whose lives are written to traces/POINT.txt and, for Perfetto, traces/POINT.json, and a row each to packets.csv; of the first replication; 0: none" min:"0" max:"1000"`
	Choose       string `toml:"choose" doc:"which, of those that the other keys leave: the first to enter the network, or those with the longest latency" choices:"first|slowest"`
	Every        int    `toml:"every" doc:"of each terminal's packets that match, only each so-many-th" min:"1"`
	Sources      []int  `toml:"sources" doc:"only packets of these terminals, by number; default: all" min:"0"`
	Destinations []int  `toml:"destinations" doc:"only packets to these terminals, by number; default: all" min:"0"`
}

// NoTrace is the table of files that have none.
var NoTrace = TraceTable{Choose: "first", Every: 1}

// IdleTrace says when the table changes nothing.
var IdleTrace = []experiments.Idle[*TraceTable]{
	{Key: "trace.*", When: func(c *TraceTable) bool { return c.Packets == 0 }, Because: "trace.packets is 0"},
}

// Plan is the choice for a network of so many terminals.
func (c *TraceTable) Plan(terminals int) (observe.TracePlan, error) {
	plan := observe.TracePlan{Packets: c.Packets, Every: c.Every, Slowest: c.Choose == "slowest"}
	var problems []error
	set := func(key string, numbers []int) []bool {
		if len(numbers) == 0 {
			return nil
		}
		chosen := make([]bool, terminals)
		for i, n := range numbers {
			if n >= terminals {
				problems = append(problems, document.At(fmt.Sprintf("trace.%s[%d]", key, i), fmt.Errorf("= %d: there are %d terminals, numbered from 0", n, terminals)))
				continue
			}
			chosen[n] = true
		}
		return chosen
	}
	plan.Sources, plan.Destinations = set("sources", c.Sources), set("destinations", c.Destinations)
	return plan, errors.Join(problems...)
}

// writePackets keeps a row for each of the packets: packets.csv.
func writePackets(run *experiments.Run, g *topology.Graph, packets []*observe.PacketTrace, clock sim.Time) {
	t := run.Table(Tables.Named("packets"))
	cycle := clock.Nanoseconds()
	for _, p := range packets {
		minimal := 1
		if p.NonMinimal {
			minimal = 0
		}
		t.Add(g.TerminalName(p.Src), g.TerminalName(p.Dst), p.Flits, float64(p.Birth)*cycle, float64(p.Cycle-p.Birth)*cycle, float64(p.Inject-p.Birth)*cycle, len(p.Path), minimal)
	}
}

// traceText tells the lives of packets in cycles.
func traceText(g *topology.Graph, packets []*observe.PacketTrace, clock sim.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d packets, in the order in which they entered the network. Times in cycles of %s: of the packet's head, then of its tail.\n", len(packets), clock)
	line := func(head int64, tail string, format string, args ...any) {
		fmt.Fprintf(&b, "%10d%10s  %s\n", head, tail, fmt.Sprintf(format, args...))
	}
	at := func(tail int64) string { return fmt.Sprint(tail) }
	for _, p := range packets {
		way := "minimal"
		if p.NonMinimal {
			way = "non-minimal"
		}
		fmt.Fprintf(&b, "\n%s: %s to %s, %d flits, %s, %d cycles\n", packetName(g, p), g.TerminalName(p.Src), g.TerminalName(p.Dst), p.Flits, way, p.Cycle-p.Birth)
		line(p.Birth, "", "born")
		line(p.Inject, at(p.InjectTail), "enters the channel to %s, virtual channel %d", g.PortName(g.TerminalPort[p.Src]), p.VC)
		for i := range p.Path {
			h := &p.Path[i]
			line(h.Arrive, at(h.TailArrive), "arrives at %s", g.PortName(h.In))
			if h.Front > h.Arrive {
				line(h.Front, "", "at the front of its queue")
			}
			line(h.Routed, "", "routed to %s, virtual channels %s", g.PortName(h.Out), vcSet(h.VCs))
			if h.Held > h.Routed {
				line(h.Held, "", "holds virtual channel %d", h.OutVC)
			}
			for _, w := range h.Waits {
				if w.To == w.From {
					continue
				}
				reason := "no virtual channel is free"
				if w.Part == core.PartCredit {
					reason = "no credit, the buffer at the far end is full"
				}
				line(w.From, "", "asleep until %d: %s", w.To, reason)
			}
			line(h.Cross, at(h.TailCross), "granted the switch")
			if h.Depart > h.Ready {
				line(h.Ready, "", "waits behind the crossbar")
			}
			line(h.Depart, at(h.TailDepart), "enters the channel to %s, virtual channel %d", farEnd(g, h.Out), h.OutVC)
		}
		line(p.HeadCycle, at(p.Cycle), "arrives at %s", g.TerminalName(p.Dst))
		parts := make([]string, 0, observe.NumStages)
		for i, x := range p.Stages() {
			parts = append(parts, fmt.Sprintf("%s %d", observe.StageNames[i], x))
		}
		fmt.Fprintf(&b, "  %s: %d cycles\n", strings.Join(parts, " + "), p.Cycle-p.Birth)
	}
	return b.String()
}

// packetName is unique among the packets of a point.
func packetName(g *topology.Graph, p *observe.PacketTrace) string {
	return fmt.Sprintf("packet %d of %s", p.Number, g.TerminalName(p.Src))
}

// farEnd names what is at the other end of a port's cable.
func farEnd(g *topology.Graph, p topology.PortID) string {
	_, to, _ := ChannelEnds(g, int(p))
	return to
}

// vcSet writes a set of virtual channels: 0-2,5.
func vcSet(set uint32) string {
	var numbers []int
	for ; set != 0; set &= set - 1 {
		numbers = append(numbers, bits.TrailingZeros32(set))
	}
	return results.IndexList(numbers)
}

// traceEvents writes the lives of packets in the JSON object form of Chrome's trace event format
// (N. Duca, D. Sinclair: Trace Event Format, 2016), which Perfetto and chrome://tracing open.
//
// Processes are terminals and switches, threads are queues (input port and virtual channel) and
// output channels. A packet is a complete event in each queue, from the arrival of its head until
// the tail is on the channel, divided into its stages, and one on each channel, until its tail has
// arrived at the other end; a flow leads from one to the next. Packets that are in a queue at the
// same time are beside one another: the events of a thread must be nested, so that a thread takes
// as many rows as it needs.
func traceEvents(g *topology.Graph, packets []*observe.PacketTrace, clock sim.Time) string {
	w := &packetEvents{EventWriter{Clock: clock, Category: "packet", Processes: g.Switches() + g.Terminals()}, g}
	w.Name = w.processName
	for i, p := range packets {
		w.packet(i+1, p)
	}
	return w.Text()
}

type packetEvents struct {
	EventWriter
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
	add := func(s Span) {
		s.Packet = flow
		w.Spans = append(w.Spans, s)
	}
	type facts struct {
		To    string `json:"to"`
		Flits int32  `json:"flits"`
		VC    int    `json:"vc"`
		Left  string `json:"vcs_allowed,omitempty"`
	}
	if p.Inject > p.Birth {
		add(Span{Process: source, Track: trackSource, Thread: "source queue", Name: name, From: p.Birth, To: p.Inject})
	}
	add(Span{
		Process: source, Track: trackOut, Thread: "channel", Name: name, From: p.Inject, To: p.Path[0].TailArrive, Phase: "s",
		Args: facts{g.TerminalName(p.Dst), p.Flits, p.VC, ""},
	})
	for i := range p.Path {
		h := &p.Path[i]
		s := g.PortSwitch[h.In]
		first, end := g.Ports(s)
		vcs := 16 // at most, for the order of display
		add(Span{
			Process: 1 + int(s), Track: int(h.In-first)*vcs + h.InVC, Thread: fmt.Sprintf("in %s vc %d", portOf(g, h.In), h.InVC),
			Name: name, From: h.Arrive, To: h.TailDepart, Phase: "t",
			stages: stagesAt(h),
			Args:   facts{g.PortName(h.Out), p.Flits, h.OutVC, vcSet(h.VCs)},
		})
		arrived, phase := p.Cycle, "f"
		if i+1 < len(p.Path) {
			arrived, phase = p.Path[i+1].TailArrive, "t"
		}
		add(Span{
			Process: 1 + int(s), Track: (int(end-first)+int(h.Out-first))*vcs + h.OutVC, Thread: fmt.Sprintf("out %s vc %d", portOf(g, h.Out), h.OutVC),
			Name: name, From: h.Depart, To: arrived, Phase: phase,
			Args: facts{farEnd(g, h.Out), p.Flits, h.OutVC, ""},
		})
	}
	add(Span{Process: w.terminal(p.Dst), Track: trackIn, Thread: "deliveries", Name: name, From: p.Cycle, To: p.Cycle})
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
