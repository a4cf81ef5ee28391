package routing

import (
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
)

// qMemory is what the switches of a network learn by Q-adaptive routing. When a packet
// has come from one switch to the next, that answers: with the time that the packet has
// taken since it was decided on there, and its own least estimate of the way on (none in
// the destination's group). The answer comes back over the channel like a credit, and
// moves the estimate of the channel that the packet took (hysteretic Q-learning).
//
// It is the same for any division of the network among threads: a switch's estimates
// are read and moved at that switch alone; answers lie in a box of the channel until
// their time has come, and none that has come can be written in the window of cycles that
// threads simulate apart, because that is no longer than an answer takes.
type qMemory struct {
	routing   *qAdaptive
	latency   []int64 // len = ports
	estimates []float32
	first     []int   // len = switches: where its estimates begin, row by row
	learned   []int64 // len = switches: cycle in which it looked for answers last
	boxes     []qBox  // len = ports
}

// qBox holds the answers on their way to the sending end of a channel, in the order in
// which they come.
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

type qAnswer struct {
	due      int64 // cycle
	row      int32
	estimate float32 // cycles
}

// newQMemory is what switches know before the first packet: a global channel to a group
// takes its latency, any other that of a global and a local one. With classes of several
// latencies these are those of the switch's own channels.
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

// answer sends back what the switch that a packet has come to knows of it.
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

// learn takes the answers that have come to a switch.
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

// move moves an estimate towards an answer.
func (m *qMemory) move(estimate *float32, answer float32) {
	rate := m.routing.config.Beta
	if answer < *estimate {
		rate = m.routing.config.Alpha
	}
	*estimate += float32(rate) * (answer - *estimate)
}

// Archive implements [fabric.Memory]. Answers that have come and were not looked for yet
// still lie in their boxes: at the next look they are taken in any case.
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
