package mpi_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

func parseFile(t *testing.T, name string) *goal.Schedule {
	t.Helper()
	f := simtest.Must(os.Open(filepath.Join("testdata/goal", name)))(t)
	defer f.Close()
	return simtest.Must(goal.Parse(name, f))(t)
}

// The finish times in results.csv are LogGOPSim's (snapshot 76451de with a stable sort); one row a schedule, parameter set and rank.
func TestLogGOPSMatchesReference(t *testing.T) {
	want := map[string]map[int]int64{} // by file and parameters, then by rank
	for _, row := range simtest.Rows(t, "testdata/goal/results.csv") {
		key := strings.Join(row[:7], " ")
		if want[key] == nil {
			want[key] = map[int]int64{}
		}
		want[key][simtest.Must(strconv.Atoi(row[7]))(t)] = simtest.Must(strconv.ParseInt(row[8], 10, 64))(t)
	}
	for key, finish := range want {
		for _, compatible := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/compatible=%v", key, compatible), func(t *testing.T) {
				var file string
				p := mpi.LogGOPS{Compatible: compatible}
				simtest.Must(fmt.Sscan(key, &file, &p.L, &p.Overhead, &p.Gap, &p.GapByte, &p.OverByte, &p.Eager))(t)
				got := simtest.Must(p.Run(parseFile(t, file).Replay(1), nil))(t)
				simtest.ErrorIf(t, !maps.Equal(maps.Collect(slices.All(got.Finish)), finish), "ranks finish at %v, want %v", got.Finish, finish)
			})
		}
	}
}

func runText(t *testing.T, p mpi.LogGOPS, text string) ([]int64, error) {
	t.Helper()
	g := simtest.Must(goal.Parse("test.goal", strings.NewReader(text)))(t)
	r, err := p.Run(g.Replay(1), nil)
	return r.Finish, err
}

func TestLogGOPSByHand(t *testing.T) {
	compatible, perByte, rendezvous := mpi.DefaultLogGOPS, mpi.DefaultLogGOPS, mpi.DefaultLogGOPS
	compatible.Compatible, perByte.OverByte, rendezvous.Eager = true, 2, 7
	perByteCompatible, rendezvousCompatible := perByte, rendezvous
	perByteCompatible.Compatible, rendezvousCompatible.Compatible = true, true
	for _, c := range []struct {
		name, text string
		p          mpi.LogGOPS
		want       []int64
	}{
		// Sender o = 1500. Receiver: o + L = 4000, then o + 7 G = 1542.
		{"one eager message", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5542}},
		// The sender is held until the message gets through at 4000.
		{"one rendezvous message", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n", rendezvous, []int64{4000, 5542}},
		// The second CPU starts when the first is done: 1000 + 500.
		{"time crosses CPUs", "num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 500 cpu 1\nb requires a\n}\n", mpi.DefaultLogGOPS, []int64{1500}},
		// LogGOPSim reads the clock of the second CPU, which is 0.
		{"time does not cross CPUs", "num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 500 cpu 1\nb requires a\n}\n", compatible, []int64{1000}},
		// A message sent on cpu 1 keeps cpu 1 of the receiver until 5542; what requires it runs on cpu 0 from then on.
		{"a receive on another CPU", "num_ranks 2\nrank 0 {\nsend 8b to 1 cpu 1\n}\nrank 1 {\nr: recv 8b from 0\nc: calc 10\nc requires r\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5552}},
		// The same where the message is in (at 4042 + 1500 on cpu 1) before the receive is posted (at 5000 on cpu 0).
		{"an early message still being received", "num_ranks 2\nrank 0 {\nsend 8b to 1 cpu 1\n}\nrank 1 {\nw: calc 5000\nr: recv 8b from 0\nr requires w\nc: calc 10\nc requires r\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5552}},
		// 0 bytes cost what 1 byte costs; LogGOPSim refunds O = 2.
		{"no bytes", "num_ranks 1\nrank 0 {\nsend 0b to 0 tag 1\nrecv 0b from 0 tag 1\n}\n", perByte, []int64{5500}},
		{"no bytes, compatible", "num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n", perByteCompatible, []int64{1498, 5498}},
		{"no bytes, compatible, O = 0: G = 6 comes back", "num_ranks 2\nrank 0 {\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n}\n", compatible, []int64{1500, 5494}},
		// A receive that is posted in time does not choose the protocol; one of more than S posted late, at 6000, holds the sender.
		{"a longer receive, compatible", "num_ranks 2\nrank 0 {\nsend 7b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n", rendezvousCompatible, []int64{1500, 5536}},
		{"a longer receive, late, compatible", "num_ranks 2\nrank 0 {\nsend 7b to 1\n}\nrank 1 {\nc: calc 6000\nr: recv 8b from 0\nr requires c\n}\n", rendezvousCompatible, []int64{6000, 7536}},
		// Two receives from anyone with any tag take the messages in order.
		{"wildcards", "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}\nrank 1 {\nr: recv 8b from -1 tag -1\nc: calc 58\nc requires r\n}\n", mpi.DefaultLogGOPS, []int64{1500, 5600}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := runText(t, c.p, c.text)
			simtest.ErrorIf(t, err != nil || !slices.Equal(got, c.want), "finish times %v, %v; want %v", got, err, c.want)
		})
	}
}

func TestStuckPrograms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cycle      bool
		want       []string
	}{
		{"three ranks in a ring", simtest.Text(t, "testdata/stuck_ring.goal"), true, []string{"deadlock", "rank 0: recv 8 B from 1 tag 4 (test.goal:3) waits for rank 1", "rank 2: recv 8 B from 0 tag 0 (test.goal:13) waits for rank 0"}},
		{"tags that differ", "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\nrank 1 {\nrecv 8b from 0 tag 2\n}\n", false, []string{"rank 1: recv 8 B from 0 tag 2 (test.goal:6) does not fit the waiting send 8 B to 1 tag 1 (test.goal:3) of rank 0"}},
		{"a message that is never sent", "num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 8b from 0\n}\n", false, []string{"waits for a message that rank 0 never sends"}},
		{"a message that is never received", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n", false, []string{"send 8 B to 1 tag 0 (test.goal:3) is never received"}},
		{"a rendezvous without a receive", "num_ranks 2\nrank 0 {\nsend 800000b to 1\n}\nrank 1 {\n}\n", false, []string{"waits for a receive that rank 1 never posts"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := runText(t, mpi.DefaultLogGOPS, c.text)
			var stuck *mpi.StuckError
			simtest.FatalIf(t, !errors.As(err, &stuck), "error %v, want a StuckError", err)
			simtest.ErrorIf(t, stuck.Cycle != c.cycle, "cycle = %v, want %v", stuck.Cycle, c.cycle)
			simtest.Fail(t, err, c.want...)
		})
	}
}

// plainMachine carries the rules out word by word: a sorted slice as queue, busy events put back one by one, linear
// matching. It is the oracle of the fast machine, in LogGOPSim's way (compatible) or with time across CPUs.
type plainMachine struct {
	mpi.LogGOPS
	work          mpi.Workload
	queue         []plainEvent
	numbers       int
	cpu, tx, rx   map[[2]int]int64 // by rank and CPU or NIC
	posted, early map[int32][]*plainOp
	long          bool // a message did not fit its receive
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
			m.cpu[c] = e.time + m.Overhead + int64(max(uint64(bytes)*uint64(m.OverByte), uint64(bytes)*uint64(m.GapByte)))
			m.rx[n] = e.time + m.Gap + bytes*int64(m.GapByte)
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
			m.cpu[c] = e.time + m.Overhead + bytes*int64(m.OverByte)
			m.tx[n] = e.time + m.Gap + bytes*int64(m.GapByte)
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
	return m.work.Unreleased() == 0 && !m.long
}

func (m *plainMachine) meet(recv, send *plainOp, now, in int64, late bool, ops []mpi.Op) {
	m.long = m.long || send.Size > recv.Size
	var other []mpi.Op
	byReceive := late && m.Compatible
	if byReceive && recv.Size > m.Eager || !byReceive && !send.done {
		at := send
		if byReceive {
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

// randomGoal draws a schedule in which every message has a receive; whether it finishes depends on the dependencies drawn.
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
		size := []int{0, 1, 8, 100, 5000}[s.IntN(5)]
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
	return goalText(s, ops, func() string { return fmt.Sprintf("calc %d%s", s.IntN(3)*1500, resource(false)) }, 2)
}

// goalText writes the operations of ranks with up to seven computations each, in any order; one in
// so many operations depends on an earlier one.
func goalText(s *sim.Stream, ops [][]string, calc func() string, oneIn int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "num_ranks %d\n", len(ops))
	for r := range ops {
		for range s.IntN(8) {
			ops[r] = append(ops[r], calc())
		}
		sim.Shuffle(s, ops[r])
		fmt.Fprintf(&b, "rank %d {\n", r)
		for i, op := range ops[r] {
			fmt.Fprintf(&b, "l%d: %s\n", i, op)
			if s.IntN(oneIn) == 0 && i > 0 {
				fmt.Fprintf(&b, "l%d %s l%d\n", i, []string{"requires", "irequires"}[s.IntN(2)], s.IntN(i))
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
		g := simtest.Must(goal.Parse("random.goal", strings.NewReader(text)))(t)
		plain := plainMachine{LogGOPS: p, work: g.Replay(1), cpu: map[[2]int]int64{}, tx: map[[2]int]int64{}, rx: map[[2]int]int64{}, posted: map[int32][]*plainOp{}, early: map[int32][]*plainOp{}}
		ok := plain.run()
		got, err := p.Run(g.Replay(1), nil)
		simtest.FatalIf(t, ok != (err == nil), "schedule %d: plain machine finishes: %v, fast machine: %v\n%s", i, ok, err, text)
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
			simtest.FatalIf(t, finish != want, "schedule %d, %+v: rank %d finishes at %d, plain machine says %d\n%s", i, p, r, finish, want, text)
		}
	}
	simtest.ErrorIf(t, finished < 500 || stuck < 200, "%d schedules finished, %d got stuck: too few of one to mean anything", finished, stuck)
}

// TestAtlahs: o = 1500, L = 2500, g = 1000, G = 6. A message of 8 B that is sent at 0 is there at 1500 + 2500 + 7 * 6 = 4042.
func TestAtlahs(t *testing.T) {
	p := mpi.DefaultLogGOPS
	p.Atlahs = true
	rendezvous := p
	rendezvous.Eager = 7
	const send = "num_ranks 2\nrank 0 {\nsend 8b to 1\n"
	for _, c := range []struct {
		name, text string
		p          mpi.LogGOPS
		want       []int64
	}{
		// Received g + o later.
		{"one eager message", send + "}\nrank 1 {\nrecv 8b from 0\n}\n", p, []int64{1500, 6542}},
		{"by rendezvous", send + "}\nrank 1 {\nrecv 8b from 0\n}\n", rendezvous, []int64{6542, 6542}},
		// The receive is posted at 0; the CPU is busy until 5000.
		{"a busy receiver", send + "}\nrank 1 {\nrecv 8b from 0\ncalc 5000\n}\n", p, []int64{1500, 7500}},
		// The message waits for the receive at 10000.
		{"early", send + "}\nrank 1 {\nr: recv 8b from 0\nc: calc 10000\nr requires c\n}\n", p, []int64{1500, 12500}},
		// The NIC sends until 1000 + 1000 * 6 = 7000, the CPU computes from 1500 to 6500.
		{"early, sending", send + "recv 1001b from 1\n}\nrank 1 {\nsend 1001b to 0\nr: recv 8b from 0\nc: calc 5000\nr requires c\n}\n", p, []int64{12500, 9500}},
		// The second CPU takes in what its receive is for, while the first is busy.
		{"on another CPU", send + "}\nrank 1 {\ncalc 9000\nrecv 8b from 0 cpu 1\n}\n", p, []int64{1500, 9000}},
	} {
		got, err := runText(t, c.p, c.text)
		simtest.ErrorIf(t, err != nil || !slices.Equal(got, c.want), "%s: finish times %v, %v; want %v", c.name, got, err, c.want)
	}
}

// TestAtlahsFanIn: eight messages of 1 MB are all there at 100 + 1000 + 999,999 and take g + o = 110 each;
// LogGOPSim has them come one after the other, 100 + 1000 + 8 * (100 + 999,999).
func TestAtlahsFanIn(t *testing.T) {
	var text, receives strings.Builder
	for r := 1; r <= 8; r++ {
		fmt.Fprintf(&receives, "recv 1000000b from %d\n", r)
		fmt.Fprintf(&text, "rank %d {\nsend 1000000b to 0\n}\n", r)
	}
	for atlahs, want := range map[bool]int64{true: 1_001_979, false: 8_001_892} {
		p := mpi.LogGOPS{L: 1000, Overhead: 100, Gap: 10, GapByte: 1, Eager: 65535, Atlahs: atlahs}
		got, err := runText(t, p, "num_ranks 9\nrank 0 {\n"+receives.String()+"}\n"+text.String())
		simtest.ErrorIf(t, err != nil || slices.Max(got) != want, "atlahs = %v: %v, %v; want %d", atlahs, got, err, want)
	}
}

// TestDecimalsPerByte: at G = 0.04 the 24 bytes behind the first of 25 take 0.96 and count nothing, 25 take 1, and
// 1,000,000 take 40,000; at O = 2.5 the sender keeps its CPU 60, 62 and 2,500,000 longer than o.
func TestDecimalsPerByte(t *testing.T) {
	for size, want := range map[int][2]int64{25: {160, 1200}, 26: {162, 1201}, 1_000_001: {2_500_100, 41_200}} {
		text := fmt.Sprintf("num_ranks 2\nrank 0 {\nsend %db to 1\n}\nrank 1 {\nrecv %db from 0\n}\n", size, size)
		p := mpi.LogGOPS{L: 1000, Overhead: 100, Gap: 10, GapByte: 0.04, Eager: 1 << 30}
		simtest.Equal(t, simtest.Must(runText(t, p, text))(t)[1], want[1], "%d B:", size)
		p.OverByte = 2.5
		simtest.Equal(t, simtest.Must(runText(t, p, text))(t)[0], want[0], "%d B with O:", size)
	}
}
