package mpi_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
)

// plainMachine carries the rules out word by word: a sorted slice as queue,
// busy events put back one by one, linear matching. It is the oracle of the
// fast machine, in LogGOPSim's way (compatible) or with time across CPUs.
type plainMachine struct {
	mpi.LogGOPS
	work          mpi.Workload
	queue         []plainEvent
	numbers       int
	cpu, tx, rx   map[[2]int]int64 // by rank and CPU or NIC
	posted, early map[int32][]*plainOp
}

type plainOp struct {
	mpi.Op
	rank int32
	done bool
}

type plainEvent struct {
	time    int64
	number  int
	op      *plainOp
	message bool
}

func (m *plainMachine) put(e plainEvent) {
	i, _ := slices.BinarySearchFunc(m.queue, e, func(a, b plainEvent) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.number, b.number))
	})
	m.queue = slices.Insert(m.queue, i, e)
}

func (m *plainMachine) release(rank int32, ops []mpi.Op) {
	slices.SortStableFunc(ops, func(a, b mpi.Op) int { return cmp.Compare(a.Kind, b.Kind) })
	for _, op := range ops {
		at := m.cpu[[2]int{int(rank), int(op.CPU)}]
		if op.Kind == mpi.Send {
			at = max(at, m.tx[[2]int{int(rank), int(op.NIC)}])
		}
		if !m.Compatible {
			at = max(at, op.Ready)
		}
		m.put(plainEvent{at, m.numbers, &plainOp{Op: op, rank: rank}, false})
		m.numbers++
	}
}

func (m *plainMachine) run() (finished bool) {
	for r := range int32(m.work.Ranks()) {
		m.release(r, m.work.Start(r, nil))
	}
	for len(m.queue) > 0 {
		e := m.queue[0]
		m.queue = m.queue[1:]
		op := e.op
		rank := op.rank
		if e.message {
			rank = op.Peer
		}
		c, n := [2]int{int(rank), int(op.CPU)}, [2]int{int(rank), int(op.NIC)}
		bytes := op.Size - 1
		if op.Size == 0 && !m.Compatible {
			bytes = 0
		}
		free := int64(0)
		switch {
		case e.message:
			free = max(m.cpu[c], m.rx[n])
		case op.Kind == mpi.Send:
			free = max(m.cpu[c], m.tx[n])
		case op.Kind == mpi.Calc:
			free = m.cpu[c]
		}
		if free > e.time {
			e.time = free
			m.put(e)
			continue
		}
		var ops []mpi.Op
		switch {
		case e.message:
			m.cpu[c] = e.time + m.Overhead + max(bytes*m.OverByte, bytes*m.GapByte)
			m.rx[n] = e.time + m.Gap + bytes*m.GapByte
			if recv := take(m.posted, rank, op.rank, op.Tag); recv != nil {
				m.meet(recv, op, e.time, m.cpu[c], false, ops)
				continue
			}
			op.Ready = m.cpu[c]
			m.early[rank] = append(m.early[rank], op)
		case op.Kind == mpi.Calc:
			m.cpu[c] = e.time + op.Size
			ops = m.work.Done(rank, op.ID, m.cpu[c], m.work.Started(rank, op.ID, e.time, nil))
		case op.Kind == mpi.Send:
			m.cpu[c] = e.time + m.Overhead + bytes*m.OverByte
			m.tx[n] = e.time + m.Gap + bytes*m.GapByte
			m.put(plainEvent{e.time + m.Overhead + m.L, m.numbers, op, true})
			m.numbers++
			ops = m.work.Started(rank, op.ID, e.time, nil)
			if op.Size <= m.Eager {
				op.done = true
				ops = m.work.Done(rank, op.ID, m.cpu[c], ops)
			}
		default:
			ops = m.work.Started(rank, op.ID, e.time, nil)
			if send := take(m.early, rank, op.Peer, op.Tag); send != nil {
				m.meet(op, send, e.time, max(e.time, send.Ready), true, ops)
				continue
			}
			m.posted[rank] = append(m.posted[rank], op)
		}
		m.release(rank, ops)
	}
	for r := range int32(m.work.Ranks()) {
		if len(m.posted[r])+len(m.early[r]) > 0 {
			return false
		}
	}
	return m.work.Unreleased() == 0
}

func (m *plainMachine) meet(recv, send *plainOp, now, in int64, late bool, ops []mpi.Op) {
	var other []mpi.Op
	if m.Compatible && recv.Size > m.Eager || !m.Compatible && !send.done {
		at := send
		if late && m.Compatible {
			at = recv
		}
		c, n := [2]int{int(send.rank), int(at.CPU)}, [2]int{int(send.rank), int(at.NIC)}
		m.cpu[c], m.tx[n] = max(m.cpu[c], now), max(m.tx[n], now)
		if !send.done {
			other = m.work.Done(send.rank, send.ID, now, nil)
		}
	}
	if send.rank == recv.rank {
		ops, other = append(ops, other...), nil
	}
	ops = m.work.Done(recv.rank, recv.ID, in, ops)
	if send.rank < recv.rank {
		m.release(send.rank, other)
		m.release(recv.rank, ops)
	} else {
		m.release(recv.rank, ops)
		m.release(send.rank, other)
	}
}

func take(lists map[int32][]*plainOp, rank, source, tag int32) *plainOp {
	for i, op := range lists[rank] {
		from := op.Peer
		if op.Kind == mpi.Send {
			from = op.rank
		}
		if mpi.Fits(from, source) && mpi.Fits(op.Tag, tag) {
			lists[rank] = slices.Delete(slices.Clone(lists[rank]), i, i+1)
			return op
		}
	}
	return nil
}

// randomGoal draws a schedule in which every message has a receive; whether it
// finishes depends on the dependencies drawn.
func randomGoal(s *sim.Stream, cpus int) string {
	ranks := 1 + s.IntN(5)
	ops := make([][]string, ranks)
	resource := func(nic bool) string {
		t := ""
		if cpus > 1 {
			t = fmt.Sprintf(" cpu %d", s.IntN(cpus))
			if nic {
				t += fmt.Sprintf(" nic %d", s.IntN(2))
			}
		}
		return t
	}
	for range s.IntN(30) {
		from, to, tag := s.IntN(ranks), s.IntN(ranks), s.IntN(3)
		size := []int{1, 1, 8, 100, 5000}[s.IntN(5)]
		source, wanted := from, tag
		if s.IntN(6) == 0 {
			source = -1
		}
		if s.IntN(6) == 0 {
			wanted = -1
		}
		ops[from] = append(ops[from], fmt.Sprintf("send %db to %d tag %d%s", size, to, tag, resource(true)))
		ops[to] = append(ops[to], fmt.Sprintf("recv %db from %d tag %d%s", size, source, wanted, resource(true)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "num_ranks %d\n", ranks)
	for r := range ops {
		for range s.IntN(8) {
			ops[r] = append(ops[r], fmt.Sprintf("calc %d%s", s.IntN(3)*1500, resource(false)))
		}
		sim.Shuffle(s, ops[r])
		fmt.Fprintf(&b, "rank %d {\n", r)
		for i, op := range ops[r] {
			fmt.Fprintf(&b, "l%d: %s\n", i, op)
			for range s.IntN(2) {
				if i > 0 {
					fmt.Fprintf(&b, "l%d %s l%d\n", i, []string{"requires", "irequires"}[s.IntN(2)], s.IntN(i))
				}
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestLogGOPSAgainstPlainMachine(t *testing.T) {
	finished, stuck := 0, 0
	for i := range 3000 {
		s := sim.NewStream(1, "goal", i)
		text := randomGoal(&s, 1+i%3)
		p := []mpi.LogGOPS{mpi.DefaultLogGOPS, {Eager: 50}, {L: 500, Overhead: 1500, Gap: 4000, GapByte: 1, OverByte: 2, Eager: 50}}[s.IntN(3)]
		p.Compatible = s.IntN(2) == 0
		g, err := goal.Parse("random.goal", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		plain := plainMachine{LogGOPS: p, work: g.Replay(1), cpu: map[[2]int]int64{}, tx: map[[2]int]int64{}, rx: map[[2]int]int64{}, posted: map[int32][]*plainOp{}, early: map[int32][]*plainOp{}}
		ok := plain.run()
		got, err := p.Run(g.Replay(1), nil)
		if ok != (err == nil) {
			t.Fatalf("schedule %d: plain machine finishes: %v, fast machine: %v\n%s", i, ok, err, text)
		}
		if !ok {
			stuck++
			continue
		}
		finished++
		for r, finish := range got.Finish {
			want := int64(0)
			for c := range plain.work.CPUs() {
				want = max(want, plain.cpu[[2]int{r, c}])
			}
			if finish != want {
				t.Fatalf("schedule %d, %+v: rank %d finishes at %d, plain machine says %d\n%s", i, p, r, finish, want, text)
			}
		}
	}
	if finished < 500 || stuck < 200 {
		t.Errorf("%d schedules finished, %d got stuck: too few of one to mean anything", finished, stuck)
	}
}
