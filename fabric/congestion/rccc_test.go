package congestion

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestCreditSpeculation: a flow begins with 1.5 products, 262,926 bytes, so that 64 packets of
// 4,150 bytes leave (the last one makes the credit negative: 262,926 - 64*4,150 = -2,674); an
// answer throws away what is left, and a PULL of 64 units, 16,384 bytes, lets 4 more leave.
func TestCreditSpeculation(t *testing.T) {
	path := vectorPath
	send := func(c *Credit) (n int) {
		for ; c.MaySend(); n++ {
			c.OnSent(4150)
		}
		return n
	}
	c := path.StartCredit()
	if n := send(&c); n != 64 || c.credit != -2674 {
		t.Errorf("%d packets, credit %d after; want 64 and -2674", n, c.credit)
	}
	if c.OnAnswer(); c.credit != -2674 {
		t.Errorf("credit %d after an answer, want -2674: a debt stays", c.credit)
	}
	c = path.StartCredit()
	c.OnSent(4150)
	if c.OnAnswer(); c.MaySend() {
		t.Error("credit that was speculated on is left after an answer")
	}
	c.OnPull(64)
	c.OnPull(64) // the same once more, late
	if n := send(&c); n != 4 || c.credit != 16384-4*4150 {
		t.Errorf("%d packets, credit %d after; want 4 and %d", n, c.credit, 16384-4*4150)
	}
	c.OnPull(100000)
	if c.credit != 262926 {
		t.Errorf("credit %d, want 1.5 products, 262926", c.credit)
	}
}

// TestCreditTarget: what is asked for beyond 10 units granted, in units of 256 bytes rounded up.
func TestCreditTarget(t *testing.T) {
	path := vectorPath
	for _, c := range []struct {
		what            string
		credit          int64
		speculating     bool
		backlog, window int64
		active          int
		want            int64
	}{
		{"backlog 10,000 less credit 1,000: 9,000 are 36 units", 1000, false, 10000, 0, 1, 10 + 36},
		{"a debt is asked for, too: 11,000 are 43 units", -1000, false, 10000, 0, 1, 10 + 43},
		{"at most 262,926 less 926: 1,024 units", 926, false, 1e9, 0, 1, 10 + 1024},
		{"window 4,150 and a packet: 8,300 are 33 units", 0, false, 1e9, 4150, 1, 10 + 33},
		{"shared by 3 flows: 3,000 are 12 units", 1000, false, 10000, 0, 3, 10 + 12},
		{"no more than there is credit for", 10000, false, 5000, 0, 1, 10},
		{"a packet at least while it speculates: 17 units", 262926, true, 5000, 0, 1, 10 + 17},
		{"nothing without a backlog", 262926, true, 0, 0, 1, 10},
	} {
		f := Credit{path: &path, credit: c.credit, granted: 10, speculating: c.speculating}
		if got := f.Target(c.backlog, c.window, c.active); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

// TestPacerTurns: three flows ask for 100, 64 and 10 units. Turns of 64 units go round: to the
// first 64, to the second 64, to the third 10, to the first the remaining 36, and then, while
// nobody asks, 64 to each idle flow in the order in which they became so. Turns of 64 units are
// 16,384 bytes, 1,323,959.6 ps at 99 Gb/s apart.
func TestPacerTurns(t *testing.T) {
	p := DefaultRCCC().Pacer(vectorPath, 1, 0)
	for flow, target := range []int64{100, 64, 10} {
		p.OnTarget(flow, target)
	}
	type turn struct{ flow, granted int64 }
	take := func(n int) (turns []turn, spent sim.Time) {
		for range n {
			flow, granted, pause := p.Turn(spent)
			turns = append(turns, turn{int64(flow), granted})
			spent += pause
		}
		return turns, spent
	}
	got, spent := take(7)
	want := []turn{{0, 64}, {1, 64}, {2, 10}, {0, 100}, {1, 128}, {2, 74}, {0, 164}}
	if !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
	// 64+64+10+36+64+64+64 = 366 units, 93,696 bytes, of which the fraction of a picosecond is left
	if want := sim.Time(7571393); spent != want {
		t.Errorf("7 turns take %d ps, want %d", spent, want)
	}
	// Who asks for more goes before the idle ones; who was granted that already does not.
	p.OnTarget(2, 80)
	p.OnTarget(0, 150)
	if got, _ := take(2); !slices.Equal(got, []turn{{2, 80}, {1, 192}}) {
		t.Errorf("turns %v, want 6 units for flow 2, then 64 for flow 1", got)
	}
	// A trim brings a turn in which nothing is granted, and a pause of 1,024 bytes.
	p.OnTrim(1, 64)
	if flow, granted, pause := p.Turn(0); flow != 1 || granted != 192 || pause < 82747 || pause > 82748 {
		t.Errorf("a turn after a trim: flow %d, %d units, %v; want 1, 192 and 82.747 ns", flow, granted, pause)
	}
}

// TestPacerIdle: an idle flow gets turns until 1.5 products, 1,027 units, are granted beyond its
// target: 17 turns of 64 units; then nobody waits, until it asks for more than that.
func TestPacerIdle(t *testing.T) {
	p := DefaultRCCC().Pacer(vectorPath, 1, 0)
	p.OnTarget(0, 64)
	turns, granted := 0, int64(0)
	for ; p.Waiting(); turns++ {
		_, granted, _ = p.Turn(0)
	}
	if turns != 18 || granted != 18*64 {
		t.Errorf("%d turns and %d units, want 18 and 1152", turns, granted)
	}
	if p.OnTarget(0, 1000); !p.Waiting() {
		t.Error("a flow that asks for what it was granted is not idle again")
	}
	p.Remove(0)
	if p.Waiting() {
		t.Error("a flow that is complete waits")
	}
	if p.OnTarget(0, 1200); !p.Waiting() {
		t.Error("a flow that asks for more does not wait")
	}
}

// TestPacerSlows: of 10 packets of each interval 5 are marked: the mean g goes 0.25, 0.375, ...;
// the rate grows by 0.01 (to at most 1), then falls by the factor 1 - 0.5 (0.375 - 0.3) =
// 0.9625. One packet of 10 trimmed before the last hop takes 0.1; without marks it grows by
// 0.01, 0.02, 0.04. It stays above 0.9 / 4.
func TestPacerSlows(t *testing.T) {
	var s slowing
	s.rate = 1
	step := func(want float64, all, whole, marked, trims int64) {
		t.Helper()
		s.all, s.whole, s.marked, s.trims = all, whole, marked, trims
		if s.change(0.9 / 4); s.rate < want-1e-9 || s.rate > want+1e-9 {
			t.Errorf("rate %.6f, want %.6f", s.rate, want)
		}
	}
	step(1, 10, 10, 5, 0)
	step(0.9625, 10, 10, 5, 0)
	s.marks = 0
	step(0.8625, 10, 9, 0, 1)
	step(0.8725, 10, 10, 0, 0)
	step(0.8925, 10, 10, 0, 0)
	step(0.9325, 10, 10, 0, 0)
	step(0.9425, 10, 10, 1, 0)
	step(0.225, 10, 0, 0, 10)

	c := DefaultRCCC()
	c.Oversubscription = 4
	p := c.Pacer(vectorPath, 1, 0)
	_, _, fast := grantOne(p, 0)
	for at := sim.Time(0); at < 400*sim.Microsecond; at += sim.Microsecond {
		p.OnPacket(at, true, false, false)
	}
	if _, _, slow := grantOne(p, 400*sim.Microsecond); slow < fast*3/2 {
		t.Errorf("pauses of %v after 400 us of marks, %v before", slow, fast)
	}
}

func grantOne(p *Pacer, now sim.Time) (int, int64, sim.Time) {
	p.OnTarget(0, p.flow(0).granted+64)
	return p.Turn(now)
}

// TestCreditArchive: credit and pacer go on from what they have written.
func TestCreditArchive(t *testing.T) {
	path := vectorPath
	p, c := DefaultRCCC().Pacer(path, 1, 0), path.StartCredit()
	for flow := range 20 {
		p.OnTarget(flow, int64(37*flow))
		p.OnPacket(sim.Time(flow)*sim.Microsecond, flow%2 == 0, flow%3 == 0, false)
	}
	for range 30 {
		flow, granted, _ := p.Turn(0)
		if flow == 7 {
			c.OnPull(granted)
		}
	}
	a := snapshot.Writer()
	p.Archive(a)
	snapshot.Value(a, &c)
	q, d := DefaultRCCC().Pacer(path, 1, 0), Credit{}
	r := snapshot.Reader(a.Bytes())
	q.Archive(r)
	snapshot.Value(r, &d)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if d.Use(&path); !reflect.DeepEqual(p, q) || c != d {
		t.Errorf("written %+v and %+v, read %+v and %+v", p, c, q, d)
	}
	settings := DefaultRCCC()
	if err := param.Validate(&settings); err != nil {
		t.Error(err)
	}
}
