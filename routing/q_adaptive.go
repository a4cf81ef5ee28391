package routing

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// QAdaptiveConfig holds the settings of routing "q-adaptive".
type QAdaptiveConfig struct {
	Alpha       float64 `toml:"alpha" doc:"part of its difference by which an estimate moves towards an answer that is lower" min:"0" max:"1"`
	Beta        float64 `toml:"beta" doc:"part of its difference by which an estimate moves towards an answer that is higher" min:"0" max:"1"`
	Exploration float64 `toml:"exploration" doc:"probability that a switch that decides takes a random channel instead" min:"0" max:"1"`
	Source      float64 `toml:"source_threshold" doc:"at its source a packet goes minimally unless another channel is better by this part of the minimal one's estimate" min:"0" max:"1"`
	Between     float64 `toml:"between_threshold" doc:"at the first switch of a group between those of source and destination, a packet goes minimally unless another channel is better by this part of the minimal one's estimate" min:"0" max:"1"`
	SpreadVCs   bool    `toml:"spread_vcs" doc:"divide all virtual channels evenly between the hop classes, where there are more of them than classes; otherwise each class uses one"`
}

func init() {
	Register("q-adaptive", "Q-adaptive on groups: switches learn from each other's answers how long each channel takes to each group; the virtual channel rises at every hop; defaults are those of the authors' scripts", Use{On: Groups},
		QAdaptiveConfig{0.2, 0.04, 0.001, 0.2, 0.35, false}, newQAdaptive)
}

// qAdaptive is Q-adaptive routing (Kang, Wang and Lan, HPDC 2021). A switch estimates, for each of
// its channels, the time from here to each other group, for each place of the source terminal at
// its switch. At its source switch a packet takes the channel of the least estimate. At the first
// switch of an intermediate group it goes on minimally, or by a random other switch of the group if
// that estimate is better. Elsewhere it goes minimally. See [qMemory] for how estimates are
// learned.
//
// Deadlock: the class rises at each hop. A packet makes 5 hops at most: one from its source, one
// from the first switch of another group, and 3 on the minimal path from there.
//
// Source: the authors' simulator (SPEAR-IIT/sst-elements, merlin/topology/dragonfly.cc,
// q_adaptive, setQtable and updateQtable, with its defaults src_mid_group_q and
// destG_srcN). Rates, exploration and thresholds are those that its scripts give it for
// 1,056 terminals (tests/dragonfly_q-adaptive.py and tests/dragonfly_interference.sh: 0.2,
// 0.04, 0.001, 0.2, 0.35); without a script it takes 0.5, 0.5, 0.1, 0 and 0. The text of the
// paper was not at hand, nor what it takes for 2,550 terminals.
//
// Deviations: estimates are real numbers here, whole nanoseconds there. Of several global channels
// to a group one is drawn at random and all begin with their latency; there the one of the shorter
// queue of two is taken, and the first alone begins so. A switch answers when a packet reaches the
// front of its buffer, which is when routings are asked, not when it comes in. Packets keep times
// in their spare bits, 17 with 4 terminals a switch: a wait of 2^17 cycles or more at a switch is
// taken for a shorter one.
//
// Memory: groupWalk, and 4 bytes for each (channel between switches, group,
// terminal of a switch) in every network that runs.
type qAdaptive struct {
	*groupWalk
	config QAdaptiveConfig
	slot   []uint32            // len = ports: place of a terminal's port among the terminal ports of its switch
	slots  int                 // most terminals of a switch
	links  [][]topology.PortID // by switch: its ports to others
	column []int32             // len = ports: place in links
	stamp  int                 // first bit of the time in Head.State
}

// Layout of Head.State. Behind qSlot come the place of the source terminal and the cycle
// of the last decision, its low bits.
const (
	qHops    uint32 = 7      // hops made
	qGateway uint32 = 1 << 3 // a local hop has led to a switch with the global channel
	qSlot           = 4
	qClasses        = 5
)

func newQAdaptive(config QAdaptiveConfig, env Env) (fabric.Routing, error) {
	walk, err := newGroupWalk("q-adaptive", env, GroupSettings{Gateway: "random", GlobalVC: "next", SpreadVCs: config.SpreadVCs})
	if err != nil {
		return nil, err
	}
	walk.classes = qClasses
	g := walk.graph
	q := &qAdaptive{groupWalk: walk, config: config, slot: make([]uint32, g.NumPorts()), links: make([][]topology.PortID, g.Switches()), column: make([]int32, g.NumPorts())}
	terminals := make([]int, g.Switches())
	for i := range g.NumPorts() {
		p, s := topology.PortID(i), g.PortSwitch[i]
		if _, ok := g.PeerPort(p); ok {
			q.column[p] = int32(len(q.links[s]))
			q.links[s] = append(q.links[s], p)
			continue
		}
		q.slot[p] = uint32(terminals[s])
		terminals[s]++
		q.slots = max(q.slots, terminals[s])
	}
	q.stamp = qSlot + bits.Len(uint(q.slots-1))
	if fabric.StateBits-1-q.stamp < 12 {
		return nil, &param.ParamError{Key: "topology", Value: q.slots, Want: "at most 128 terminals a switch for routing \"q-adaptive\""}
	}
	return q, CheckVCs("q-adaptive", qClasses, env)
}

func (q *qAdaptive) IgnoresTerminals() bool { return true }
func (q *qAdaptive) Notes() uint32          { return fabric.NonMinimal - 1<<qSlot }

// times is the set of bits of a time that packets keep.
func (q *qAdaptive) times() uint32 { return 1<<(fabric.StateBits-1-q.stamp) - 1 }

func (q *qAdaptive) NewMemory(latency func(topology.PortID) int64) fabric.Memory {
	return newQMemory(q, latency)
}

func (q *qAdaptive) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	m, now, home := v.Memory().(*qMemory), v.Cycle(), &q.home[h.Dst]
	slot := h.State & (1<<q.stamp - 1) >> qSlot
	if h.State&qHops == 0 {
		slot = q.slot[h.In]
	}
	row := int(home.group)*q.slots + int(slot)
	if h.State&qHops != 0 {
		waited := int64((uint32(now) - h.State>>q.stamp) & q.times())
		m.answer(h, row, home.group, now, waited)
	}
	if h.Switch == home.sw {
		return fabric.Hop{Port: home.port, VCs: v.AllVCs()}
	}
	port := q.choose(m, h, row, now, v.Random(h.Switch))
	hop := q.leave(h, port, v.VCs())
	h.State |= slot<<qSlot | uint32(now)&q.times()<<q.stamp
	return hop
}

// choose is the port that a packet leaves by.
func (q *qAdaptive) choose(m *qMemory, h *fabric.Head, row int, now int64, random *sim.Stream) topology.PortID {
	decides, between := q.decides(h)
	if decides && q.config.Exploration > 0 && random.Float64() < q.config.Exploration {
		return q.links[h.Switch][random.IntN(len(q.links[h.Switch]))]
	}
	minimal := q.minimal(h, random)
	if !decides {
		return minimal
	}
	m.learn(h.Switch, now)
	estimates, other, threshold := m.row(h.Switch, row), topology.PortID(0), q.config.Source
	if between {
		at := &q.at[h.Switch]
		member := int32(random.IntN(int(q.size[at.group]) - 1)) // another of the switch's group
		if member >= at.member {
			member++
		}
		other, threshold = topology.PortID(q.local(h.Switch, member)>>stepBits), q.config.Between
	} else {
		other = q.links[h.Switch][leastOf(estimates)]
	}
	along := float64(estimates[q.column[minimal]])
	if along-float64(estimates[q.column[other]]) < threshold*along {
		return minimal
	}
	return other
}

// decides tells whether a packet is at a switch that decides: its source, or the first
// of a group between (without a channel to the destination's).
func (q *qAdaptive) decides(h *fabric.Head) (decides, between bool) {
	here, there := &q.at[h.Switch], &q.home[h.Dst]
	switch {
	case here.group == there.group:
	case h.State&qHops == 0:
		return true, false
	case h.State&qHops == 1:
		came, _ := q.graph.PeerPort(h.In)
		if q.at[q.graph.PortSwitch[came]].group == here.group || q.size[here.group] < 2 {
			return false, false
		}
		for _, step := range q.ways(h, new(qWays)) {
			if step&int32(leaveGroup) == leaveGroup {
				return false, false
			}
		}
		return true, true
	}
	return false, false
}

type qWays [16]int32

// ways are the minimal steps of a packet, as packStep has them; in room if they fit.
func (q *qAdaptive) ways(h *fabric.Head, room *qWays) []int32 {
	steps := room[:0]
	home := &q.home[h.Dst]
	step := q.step(h.Switch, &home.place, home.group)
	if step >= 0 {
		return append(steps, step)
	}
	several := q.way(h.Switch, step)
	n := several.count
	if h.State&qGateway != 0 {
		n = several.own
	}
	for i := range n {
		steps = append(steps, q.groupWalk.choose(h.Switch, several, int(i)))
	}
	return steps
}

// minimal is the port of a minimal step, one of several at random.
func (q *qAdaptive) minimal(h *fabric.Head, random *sim.Stream) topology.PortID {
	steps := q.ways(h, new(qWays))
	if len(steps) == 1 {
		return topology.PortID(steps[0] >> stepBits)
	}
	return topology.PortID(steps[random.IntN(len(steps))] >> stepBits)
}

// leave counts a hop by a port; a port that is no minimal step makes the packet go around.
func (q *qAdaptive) leave(h *fabric.Head, port topology.PortID, vcs int) fabric.Hop {
	hops, around := h.State&qHops, h.State&fabric.NonMinimal|fabric.NonMinimal
	gateway := uint32(0)
	for _, step := range q.ways(h, new(qWays)) {
		if topology.PortID(step>>stepBits) == port {
			around = h.State & fabric.NonMinimal
			if step&leaveGroup == toGateway {
				gateway = qGateway
			}
		}
	}
	h.State = hops + 1 | gateway | around
	return fabric.Hop{Port: port, VCs: q.vcSet(hops, vcs)}
}

func (q *qAdaptive) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	if home := &q.home[h.Dst]; h.Switch == home.sw {
		yield(fabric.Hop{Port: home.port, VCs: allVCs(vcs)}, h.State&^q.Notes(), 1)
		return
	}
	visit := func(port topology.PortID, weight float64) {
		head := h
		hop := q.leave(&head, port, vcs)
		yield(hop, head.State, weight)
	}
	decides, _ := q.decides(&h)
	if decides {
		for _, port := range q.links[h.Switch] {
			visit(port, 0)
		}
		return
	}
	steps := q.ways(&h, new(qWays))
	for _, step := range steps {
		visit(topology.PortID(step>>stepBits), 1/float64(len(steps)))
	}
}

func leastOf(numbers []float32) int {
	best := 0
	for i, x := range numbers {
		if x < numbers[best] {
			best = i
		}
	}
	return best
}

// qMemory is what the switches of a network learn by Q-adaptive routing. When a packet has come to
// the next switch, that switch answers with the time since the packet's decision and its own least
// estimate of the way on (none in the destination's group). The answer comes back over the channel
// like a credit, and moves the estimate of the channel that the packet took (hysteretic
// Q-learning).
//
// It is the same for any division of the network among threads: estimates are read and moved at
// their switch alone; answers wait in a box of the channel. The cycles that threads simulate apart
// are no more than an answer takes, so no answer is written and due in one such window.
type qMemory struct {
	routing   *qAdaptive
	latency   []int64 // len = ports
	estimates []float32
	first     []int   // len = switches: where its estimates begin, row by row
	learned   []int64 // len = switches: cycle in which it looked for answers last
	boxes     []qBox  // len = ports
}

// qBox holds the answers on their way to the sending end of a channel, in order of arrival.
type qBox struct {
	sync.Mutex
	answers []qAnswer
	next    atomic.Int64 // when the first of them is due, fabric.Never if there is none: most looks end here
}

// lookAgain notes when the first answer is due.
func (b *qBox) lookAgain() {
	next := fabric.Never
	if len(b.answers) > 0 {
		next = b.answers[0].due
	}
	b.next.Store(next)
}

// qAnswer is what a switch will learn of a packet that it has sent.
type qAnswer struct {
	due      int64 // cycle
	row      int32
	estimate float32 // cycles
}

// newQMemory is what switches know before the first packet: a global channel to a group takes its
// latency; any other channel takes a global and a local latency together, with classes of several
// latencies as the switch's own channels.
func newQMemory(q *qAdaptive, latency func(topology.PortID) int64) *qMemory {
	g := q.graph
	m := &qMemory{routing: q, first: make([]int, g.Switches()), learned: make([]int64, g.Switches()), boxes: make([]qBox, g.NumPorts()), latency: make([]int64, g.NumPorts())}
	local, global := int64(0), int64(0)
	leads := make([]int32, g.NumPorts()) // group at the far end
	for p := range leads {
		m.latency[p] = latency(topology.PortID(p))
		m.boxes[p].lookAgain()
		peer, ok := g.PeerPort(topology.PortID(p))
		if !ok {
			continue
		}
		leads[p] = q.at[g.PortSwitch[peer]].group
		if leads[p] == q.at[g.PortSwitch[p]].group {
			local = max(local, m.latency[p])
		} else {
			global = max(global, m.latency[p])
		}
	}
	for s, links := range q.links {
		m.first[s], m.learned[s] = len(m.estimates), -1
		for group := range int32(q.groups) {
			for range q.slots {
				for _, p := range links {
					estimate := local + global
					if leads[p] == group && q.at[s].group != group {
						estimate = m.latency[p]
					}
					m.estimates = append(m.estimates, float32(estimate))
				}
			}
		}
	}
	return m
}

// row is the estimates of a switch's channels for packets to a group, from a place at
// their source switches, in cycles.
func (m *qMemory) row(s topology.SwitchID, row int) []float32 {
	n := len(m.routing.links[s])
	return m.estimates[m.first[s]+row*n:][:n]
}

// answer sends back what the present switch knows of a packet.
func (m *qMemory) answer(h *fabric.Head, row int, to int32, now, waited int64) {
	q := m.routing
	from, _ := q.graph.PeerPort(h.In)
	if q.at[q.graph.PortSwitch[from]].group == to {
		return // within the destination's group there is nothing to choose
	}
	left := float32(0)
	if q.at[h.Switch].group != to {
		m.learn(h.Switch, now)
		estimates := m.row(h.Switch, row)
		left = estimates[leastOf(estimates)]
	}
	box := &m.boxes[from]
	box.Lock()
	box.answers = append(box.answers, qAnswer{now + 1 + m.latency[from], int32(row), float32(waited) + left})
	box.lookAgain()
	box.Unlock()
}

func (m *qMemory) learn(s topology.SwitchID, now int64) {
	if m.learned[s] == now {
		return
	}
	m.learned[s] = now
	for column, port := range m.routing.links[s] {
		box := &m.boxes[port]
		if box.next.Load() > now {
			continue
		}
		box.Lock()
		come := 0
		for ; come < len(box.answers) && box.answers[come].due <= now; come++ {
			a := &box.answers[come]
			m.move(&m.row(s, int(a.row))[column], a.estimate)
		}
		box.answers = append(box.answers[:0], box.answers[come:]...)
		box.lookAgain()
		box.Unlock()
	}
}

func (m *qMemory) move(estimate *float32, answer float32) {
	rate := m.routing.config.Beta
	if answer < *estimate {
		rate = m.routing.config.Alpha
	}
	*estimate += float32(rate) * (answer - *estimate)
}

// Archive implements [fabric.Memory]. Answers that are due but not taken still lie in their boxes:
// the next look takes them.
func (m *qMemory) Archive(a *snapshot.Archive) {
	snapshot.Array(a, "estimates", m.estimates, snapshot.Value)
	for p := range m.boxes {
		snapshot.Value(a, &m.boxes[p].answers)
	}
	if a.Reading() {
		for p := range m.boxes {
			m.boxes[p].lookAgain()
		}
		for s := range m.learned {
			m.learned[s] = -1
		}
	}
}
