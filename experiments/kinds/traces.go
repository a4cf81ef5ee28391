package kinds

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// traceTable is the [trace] table: packets whose lives are written down.
type traceTable struct {
	Packets      int    `toml:"packets" doc:"packets of the window whose lives are written to traces/POINT.txt and, for Perfetto, traces/POINT.json, and a row each to packets.csv; of the first replication; 0: none" min:"0" max:"1000"`
	Choose       string `toml:"choose" doc:"which, of those that the other keys leave: the first to enter the network, or those with the longest latency" choices:"first|slowest"`
	Every        int    `toml:"every" doc:"of each terminal's packets that match, only each so-many-th" min:"1"`
	Sources      []int  `toml:"sources" doc:"only packets of these terminals, by number; default: all" min:"0"`
	Destinations []int  `toml:"destinations" doc:"only packets to these terminals, by number; default: all" min:"0"`
}

// noTrace is the table of files that have none.
var noTrace = traceTable{Choose: "first", Every: 1}

// plan is the choice for a network of so many terminals.
func (c *traceTable) plan(terminals int) (observe.TracePlan, error) {
	plan := observe.TracePlan{Packets: c.Packets, Every: c.Every, Slowest: c.Choose == "slowest"}
	var problems []error
	set := func(key string, numbers []int) []bool {
		if len(numbers) == 0 {
			return nil
		}
		chosen := make([]bool, terminals)
		for i, n := range numbers {
			if n >= terminals {
				problems = append(problems, experiments.At(fmt.Sprintf("trace.%s[%d]", key, i), fmt.Errorf("= %d: there are %d terminals, numbered from 0", n, terminals)))
				continue
			}
			chosen[n] = true
		}
		return chosen
	}
	plan.Sources, plan.Destinations = set("sources", c.Sources), set("destinations", c.Destinations)
	return plan, errors.Join(problems...)
}

// writeTraces keeps the lives of packets: as text, and for Perfetto.
func writeTraces(run *experiments.Run, g *topology.Graph, packets []*observe.PacketTrace, clock sim.Time) {
	run.Attach("traces", "txt", traceText(g, packets, clock))
	run.Attach("traces", "json", traceEvents(g, packets, clock))
}

// writePackets keeps a row for each of the packets: packets.csv.
func writePackets(run *experiments.Run, g *topology.Graph, packets []*observe.PacketTrace, clock sim.Time) {
	t := run.Table("packets", "source", "destination", "flits", "born_ns", "latency_ns", "source_queue_ns", "hops", "minimal")
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
				line(w.From, "", "asleep until %d: %s", w.To, waitReason(w.Part))
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

// waitReason says what a head at the front of its queue sleeps for.
func waitReason(part core.Part) string {
	if part == core.PartCredit {
		return "no credit, the buffer at the far end is full"
	}
	return "no virtual channel is free"
}

// packetName is unique among the packets of a point.
func packetName(g *topology.Graph, p *observe.PacketTrace) string {
	return fmt.Sprintf("packet %d of %s", p.Number, g.TerminalName(p.Src))
}

// farEnd names what is at the other end of a port's cable.
func farEnd(g *topology.Graph, p topology.PortID) string {
	if peer, ok := g.PeerPort(p); ok {
		return g.PortName(peer)
	}
	t, _ := g.PeerTerminal(p)
	return g.TerminalName(t)
}

// vcSet writes a set of virtual channels: 0-2,5.
func vcSet(set uint32) string {
	var parts []string
	for set != 0 {
		first := bits.TrailingZeros32(set)
		n := bits.TrailingZeros32(^(set >> first))
		if n == 1 {
			parts = append(parts, fmt.Sprint(first))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", first, first+n-1))
		}
		set &^= (1<<n - 1) << first
	}
	return strings.Join(parts, ",")
}
