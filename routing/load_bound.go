package routing

import (
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// Limits are the least cycles that channels take for a flit.
type Limits struct {
	Class []float64 // by channel class of the graph: the channels themselves; nil: 1
	// By part of the network: the queues that channels end in and the virtual channels that
	// they are made of, where these take longer.
	Part [parts]float64
}

// Part is a part of a network's channels.
type Part uint8

const (
	Injection Part = iota // out of terminals
	Between               // switches
	Ejection              // into terminals
	parts
)

// of is the limit of channels of a class in a part, in flits a cycle, at least 1.
func (x *Limits) of(class topology.ClassID, part Part) float64 {
	if x.Class == nil {
		return max(1, x.Part[part])
	}
	return max(x.Class[class], x.Part[part])
}

// PartOf is the part that the channel out of a port of a switch is in, and the injection
// channels with NoPort.
func (l *Load) PartOf(p topology.PortID) Part {
	if p == topology.NoPort {
		return Injection
	}
	if _, ok := l.graph.PeerTerminal(p); ok {
		return Ejection
	}
	return Between
}

// TerminalLoads are the loads of the terminals' own channels under traffic m, whatever the
// routing, with 0 for those between switches.
func TerminalLoads(g *topology.Graph, m Matrix) *Load {
	l := &Load{g, make([]float64, g.NumPorts()), make([]float64, g.Terminals())}
	if even, ok := m.(EvenMatrix); ok {
		d := &evenDemands{}
		d.weight, d.self = even.Even()
		l.enterEven(d)
		return l
	}
	for src := range l.Injection {
		m.Weights(topology.TerminalID(src), func(dst topology.TerminalID, weight float64) {
			l.Injection[src] += weight
			l.Port[g.TerminalPort[dst]] += weight
		})
	}
	return l
}

// enterEven enters the loads of the terminals' own channels under even demands.
func (l *Load) enterEven(d *evenDemands) {
	all := repeated(d.weight, d.others(len(l.Injection)))
	for t := range l.Injection {
		l.Injection[t], l.Port[l.graph.TerminalPort[t]] = all, all
	}
}

// use visits all channels with their utilisation where each terminal that sends injects a flit
// a cycle: injection channels by terminal, with NoPort, then ports.
func (l *Load) use(x *Limits, visit func(p topology.PortID, used float64)) {
	g := l.graph
	if x == nil {
		x = &Limits{}
	}
	for t, load := range l.Injection {
		visit(topology.NoPort, load*x.of(g.PortClass[g.TerminalPort[t]], Injection))
	}
	for p, load := range l.Port {
		visit(topology.PortID(p), load*x.of(g.PortClass[p], l.PartOf(topology.PortID(p))))
	}
}

// Hops is the number of switches that a flit crosses in the mean.
func (l *Load) Hops() float64 {
	crossed, sent := 0.0, 0.0
	for _, load := range l.Port {
		crossed += load
	}
	for _, load := range l.Injection {
		sent += load
	}
	return crossed / sent
}

// Bound is the load that fills the first channel, in flits a cycle and sending terminal:
// beyond it, some terminal falls behind. Others may send more, so that the mean over
// terminals can be higher, unless the load [Load.Caps] that. worst is the port of that channel,
// NoPort if it is a terminal's injection channel. No limits: a cycle for each flit.
func (l *Load) Bound(x *Limits) (load float64, worst topology.PortID) {
	most, worst := 0.0, topology.NoPort
	l.use(x, func(p topology.PortID, used float64) {
		if used > most*(1+1e-12) { // sums in another order are equal
			most, worst = used, p
		}
	})
	if most == 0 {
		return math.Inf(1), topology.NoPort
	}
	return 1 / most, worst
}

// full sums up, by part, the utilisation in m of the channels that are filled first under l.
func (l *Load) full(x *Limits, m *Load) (sums [parts]float64) {
	bound := l.bound(x)
	var used []float64
	m.use(x, func(_ topology.PortID, u float64) { used = append(used, u) })
	i := 0
	l.use(x, func(p topology.PortID, u float64) {
		if u*bound > 1-1e-9 {
			sums[l.PartOf(p)] += used[i]
		}
		i++
	})
	return sums
}

// Caps tells whether [Load.Bound] bounds the mean throughput of the sending terminals, too,
// however unequal they are. A terminal's flits take a channel in fixed shares, so that n
// terminals that send a(s) of q(s) each over the channels that are filled first, c in number,
// keep to sum a(s) q(s) <= c; where all q(s) are equal, that is mean a <= the bound. It is
// enough for the channels of one part: those out of terminals, between switches, or into
// terminals. Whether q(s) are equal shows in the loads of traffic in which terminals weigh
// differently: weighted computes the loads of l's traffic as [Weighted] makes it, nil if it
// cannot. It is not asked where the channels out of terminals are enough.
func (l *Load) Caps(x *Limits, weighted func() *Load) bool {
	senders := 0.0
	for _, sent := range l.Injection {
		if sent > 0 {
			senders++
		}
	}
	sums := l.full(x, l)
	if math.Abs(sums[Injection]*l.bound(x)-senders) < 1e-9*senders {
		return true // each sends over its own, which is full
	}
	w := weighted()
	if w == nil {
		return false
	}
	weights := 0.0
	for t, sent := range l.Injection {
		if sent > 0 {
			weights += w.Injection[t] / sent
		}
	}
	for part, sum := range l.full(x, w) {
		if sums[part] > 0 && math.Abs(sum/weights*senders/sums[part]-1) < 1e-9 {
			return true
		}
	}
	return false
}

// bound is the bound alone.
func (l *Load) bound(x *Limits) float64 {
	bound, _ := l.Bound(x)
	return bound
}

// Weighted is the traffic of m in which every terminal sends 1 to 2 times as much, drawn at
// random, the same for all matrices.
func Weighted(m Matrix) Matrix { return weighted{m} }

// weighted is what [Weighted] makes of a matrix.
type weighted struct{ m Matrix }

// Weights implements [Matrix].
func (w weighted) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	r := sim.NewStream(1, "weighted", int(src))
	times := 1 + r.Float64()
	w.m.Weights(src, func(dst topology.TerminalID, weight float64) { yield(dst, times*weight) })
}
