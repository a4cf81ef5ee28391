package congestion

import (
	"container/heap"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestDCQCNVectors replays notifications, and lets each timer go off by itself: rates to the
// 1 kb/s and alpha to the 1e-8 that are printed, stages, and the times of all expiries.
func TestDCQCNVectors(t *testing.T) {
	settings := DefaultDCQCN()
	settings.Minimum = 0
	var r ReactionPoint
	scenario, rows := "", simtest.Table(t, "testdata/dcqcn_rp.csv.gz")
	for i, row := range rows {
		where := fmt.Sprintf("row %d, %s at %s us", i+2, row["scenario"], row["time_us"])
		if row["scenario"] != scenario {
			scenario, r = row["scenario"], settings.Start(40e9)
		}
		now := microseconds(t, row["time_us"])
		switch before := r; row["event"] {
		case "cnp":
			r.OnCNP(now)
		case "alpha":
			simtest.ErrorIf(t, r.nextAlpha != now, "%s: alpha falls at %v", where, r.nextAlpha)
			r.expire()
		default:
			simtest.ErrorIf(t, r.nextTimer != now, "%s: the timer goes off at %v", where, r.nextTimer)
			r.expire()
			additive := row["event"] == "timer_additive"
			simtest.ErrorIf(t, r.target > before.target && !additive || r.target == before.target && additive && r.target < 40e9,
				"%s: the target goes from %g to %g", where, before.target, r.target)
		}
		got, want := fmt.Sprintf("%d %d", r.timerStage, r.byteStage), row["timer_stage"]+" "+row["byte_stage"]
		simtest.ErrorIf(t, got != want, "%s: stages %s, want %s", where, got, want)
		for _, c := range []struct {
			what                   string
			got, printed, rounding float64
		}{
			{"rate", r.current / 1e9, number(t, row["rc_gbps"]), 0.5001e-6},
			{"target", r.target / 1e9, number(t, row["rt_gbps"]), 0.5001e-6},
			{"alpha", r.alpha, number(t, row["alpha"]), 0.5001e-8},
		} {
			simtest.ErrorIf(t, math.Abs(c.got-c.printed) > c.rounding, "%s: %s %.9f, want %.9f", where, c.what, c.got, c.printed)
		}
	}
	simtest.ErrorIf(t, len(rows) != 323, "%d rows, want 323", len(rows))
}

// TestDCQCNHyper: 6 stages of both kinds after a cut to 20 Gb/s, one of the timer and one of the
// bytes in turn: the target stays for 4 of each, grows by 40 Mb/s with the fifth of either and
// the sixth of the timer, and by 400 Mb/s with the sixth of the bytes.
func TestDCQCNHyper(t *testing.T) {
	settings := DefaultDCQCN()
	r := settings.Start(100e9)
	r.current, r.target = 40e9, 40e9
	r.OnCNP(0) // target 40, current 20
	want := []float64{40e9, 40e9, 40e9, 40e9, 40e9, 40e9, 40e9, 40e9, 40.04e9, 40.08e9, 40.12e9, 40.52e9}
	for i := range 6 {
		now := sim.Time(i+1) * 55 * sim.Microsecond
		r.Rate(now)
		timer := r.target
		r.OnSent(now, 10e6)
		simtest.ErrorIf(t, timer != want[2*i] || r.target != want[2*i+1], "stage %d: targets %g and %g, want %g and %g", i+1, timer, r.target, want[2*i], want[2*i+1])
	}
}

// TestDCQCNPace: a packet of 1,000 bytes takes 266,666 2/3 ps at 30 Gb/s, so that three take
// 800,000; notifications are 50 us apart.
func TestDCQCNPace(t *testing.T) {
	settings := DefaultDCQCN()
	r, sum := settings.Start(30e9), sim.Time(0)
	for range 3 {
		sum += r.OnSent(0, 1000)
	}
	if sum < 799999 || sum > 800000 { // the last third may be a rounding error short
		t.Errorf("three packets take %d ps, want 800000", sum)
	}
	var n NotificationPoint
	sent := 0
	for at := range 100 {
		if n.OnMarked(sim.Time(at)*sim.Microsecond, &settings) {
			sent++
		}
	}
	simtest.ErrorIf(t, sent != 2, "%d notifications in 100 us of marks, want 2", sent)
	simtest.Check(t, param.Validate(&settings))
}

// bottleneck is a switch with one queue of 40 Gb/s, to which each flow has a link of its own; a
// link takes a microsecond. Packets have 1,048 bytes and are marked as they come, by the bytes
// that wait then: from 5 kB on, up to 1 % at 200 kB, above it all.
type bottleneck struct {
	settings DCQCN
	flows    []bottleneckFlow
	draws    sim.Stream
	events   events
	waiting  int64
	free     sim.Time // when the queue's channel is

	// From start to end:
	start, end    sim.Time
	bytes         []float64
	area          float64 // byte picoseconds
	changed       sim.Time
	marked, total int
}

type bottleneckFlow struct {
	rate     ReactionPoint
	notifies NotificationPoint
}

type happening struct {
	at           sim.Time
	kind, number int // number: in the order in which they are scheduled
	flow         int
	marked       bool
}

const (
	sends = iota
	joins
	leaves
	arrives
	notified
)

type events []happening

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(happening)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

const (
	bottleneckPacket = 1048
	bottleneckRate   = 40e9
	packetTime       = sim.Time(bottleneckPacket * 8e12 / bottleneckRate) // 209,600 ps
	linkTime         = sim.Microsecond
)

// run simulates until the end and returns utilisation, Jain's index of fairness, the mean of what
// waits, in kB, and the share of packets marked.
func (b *bottleneck) run(n int, seed uint64) (utilisation, jain, queue, marked float64) {
	b.draws = sim.NewStream(seed, "marks", 0)
	b.flows, b.bytes = make([]bottleneckFlow, n), make([]float64, n)
	number := 0
	at := func(when sim.Time, kind, flow int, marked bool) {
		number++
		heap.Push(&b.events, happening{when, kind, number, flow, marked})
	}
	for i := range b.flows {
		b.flows[i].rate = b.settings.Start(bottleneckRate)
		at(sim.Time(b.draws.IntN(int(packetTime))), sends, i, false)
	}
	grow := func(now sim.Time, by int64) {
		if from, to := max(b.changed, b.start), min(now, b.end); to > from {
			b.area += float64(b.waiting) * float64(to-from)
		}
		b.waiting, b.changed = b.waiting+by, now
	}
	for {
		e := heap.Pop(&b.events).(happening)
		if e.at > b.end {
			grow(e.at, 0)
			break
		}
		flow, measured := &b.flows[e.flow], e.at >= b.start
		switch e.kind {
		case sends:
			at(e.at+max(flow.rate.OnSent(e.at, bottleneckPacket), packetTime), sends, e.flow, false)
			at(e.at+packetTime+linkTime, joins, e.flow, false)
		case joins:
			p := 0.01 * (float64(b.waiting) - 5e3) / 195e3
			mark := b.waiting >= 200e3 || p > 0 && b.draws.Float64() < p
			if measured {
				b.total++
				if mark {
					b.marked++
				}
			}
			grow(e.at, bottleneckPacket)
			b.free = max(b.free, e.at) + packetTime
			at(b.free, leaves, e.flow, mark)
		case leaves:
			grow(e.at, -bottleneckPacket)
			if measured {
				b.bytes[e.flow] += bottleneckPacket
			}
			at(e.at+linkTime, arrives, e.flow, e.marked)
		case arrives:
			if e.marked && flow.notifies.OnMarked(e.at, &b.settings) {
				at(e.at+2*linkTime, notified, e.flow, false)
			}
		case notified:
			flow.rate.OnCNP(e.at)
		}
	}
	sum, squares := 0.0, 0.0
	for _, x := range b.bytes {
		sum += x
		squares += x * x
	}
	span := b.end - b.start
	return sum * 8 / (bottleneckRate * span.Seconds()), sum * sum / (float64(n) * squares),
		b.area / float64(span) / 1000, float64(b.marked) / float64(b.total)
}

// TestDCQCNBottleneck holds a bottleneck to the table of another model of it, of which each row
// is a seed: the mean of three seeds here lies within the table's rows, or beyond them by no more
// than their range or, where they agree by chance, 1 % of utilisation and fairness and a tenth of
// the queue. For 2 and 4 flows, whose queue stays between the two thresholds, the share marked
// and the queue lie within a fifth and a quarter of the fixed point.
func TestDCQCNBottleneck(t *testing.T) {
	f := simtest.Must(os.Open("testdata/dcqcn_bottleneck.csv"))(t)
	defer f.Close()
	lines := simtest.Must(csv.NewReader(f).ReadAll())(t)
	for lines = lines[1:]; len(lines) > 0; lines = lines[3:] {
		flows := int(integer(t, lines[0][0]))
		var low, high [3]float64
		for k := range low {
			for i, line := range lines[:3] {
				if x := number(t, line[k+1]); i == 0 {
					low[k], high[k] = x, x
				} else {
					low[k], high[k] = min(low[k], x), max(high[k], x)
				}
			}
		}
		var mean [3]float64
		marks := 0.0
		for seed := uint64(1); seed <= 3; seed++ {
			b := bottleneck{settings: DefaultDCQCN(), start: 15 * sim.Millisecond, end: 40 * sim.Millisecond}
			utilisation, jain, queue, marked := b.run(flows, seed)
			t.Logf("%d flows, seed %d: utilisation %.4f, Jain %.4f, queue %.1f kB, marked %.3f %%", flows, seed, utilisation, jain, queue, 100*marked)
			for k, x := range []float64{utilisation, jain, queue} {
				mean[k] += x / 3
			}
			marks += marked / 3
		}
		for k, what := range []string{"utilisation", "Jain's index", "queue in kB"} {
			margin := max(high[k]-low[k], []float64{0.01, 0.01, high[k] / 10}[k])
			simtest.ErrorIf(t, mean[k] < low[k]-margin || mean[k] > high[k]+margin,
				"%d flows: %s %.4g, want %.4g to %.4g within %.2g", flows, what, mean[k], low[k], high[k], margin)
		}
		settings := DefaultDCQCN()
		p := fixedPoint(&settings, flows, bottleneckRate, bottleneckPacket)
		queue := 5 + 195*p/0.01
		t.Logf("%d flows: fixed point %.4f %%, queue %.1f kB; here %.4f %% and %.1f kB", flows, 100*p, queue, 100*marks, mean[2])
		simtest.ErrorIf(t, flows <= 4 && (math.Abs(marks/p-1) > 0.2 || math.Abs(mean[2]/queue-1) > 0.25),
			"%d flows: marked %.3f %% and %.1f kB, fixed point %.3f %% and %.1f kB", flows, 100*marks, mean[2], 100*p, queue)
	}
}

// fixedPoint is the share of packets marked at which the rates of so many flows through one
// bottleneck stay: rate / flows each. It follows from the fluid model of Zhu et al. ("ECN or delay:
// lessons learnt from analysis of DCQCN and TIMELY", CoNEXT 2016) where few are marked. With R the
// packets of a flow a second, A those of the additive increase, t the interval of notifications,
// and K = 1/B + 1/(T R) the increases for a packet sent, by bytes and by the timer: alpha = p t R;
// what a cut takes, R alpha/2, at a rate of p R, increases give back: p^2 t R^2 = (target - R) K;
// and the target's loss, (target - R) p, is its gain, A K. Hence p^3 = A K^2 / (t R^2).
func fixedPoint(c *DCQCN, flows int, bottleneck sim.Rate, packet int64) float64 {
	bits := 8 * float64(packet)
	rate := float64(bottleneck) / float64(flows) / bits
	increases := 1 / (c.IncreaseTimer.Seconds() * rate)
	if c.IncreaseBytes > 0 {
		increases += float64(packet) / float64(c.IncreaseBytes)
	}
	return math.Cbrt(float64(c.Additive) / bits * increases * increases / (c.CNPInterval.Seconds() * rate * rate))
}

// TestDCQCNBytesBeginAnew: of 10 MB for an increase 9 are sent, then a notification comes, then 9
// again: none is due; a tenth makes one.
func TestDCQCNBytesBeginAnew(t *testing.T) {
	settings := DefaultDCQCN()
	r := settings.Start(100e9)
	r.OnCNP(0)
	r.OnSent(0, 9e6)
	r.OnCNP(0)
	r.OnSent(0, 9e6)
	simtest.ErrorIf(t, r.byteStage != 0, "%d increases after 9 MB behind a notification, want none", r.byteStage)
	r.OnSent(0, 1e6)
	simtest.ErrorIf(t, r.byteStage != 1, "%d increases after 10 MB behind a notification, want 1", r.byteStage)
}

// TestDCQCNSilence: what timers do in a silence is what they do one by one; once the rate is the line's and alpha, halved
// each nanosecond, has come to 0 (after 1,075), no more than counting: an hour of 3.6 * 10^12 expiries takes no time.
func TestDCQCNSilence(t *testing.T) {
	settings := DefaultDCQCN()
	settings.Gain, settings.AlphaTimer, settings.IncreaseTimer = 0.5, sim.Nanosecond, 3*sim.Nanosecond
	r := settings.Start(100e9)
	r.OnCNP(0)
	one := r
	r.advance(100*sim.Microsecond + 7)
	for min(one.nextTimer, one.nextAlpha) <= 100*sim.Microsecond+7 {
		one.expire()
	}
	simtest.ErrorIf(t, r != one || r.alpha != 0 || r.timerStage != 33_333 || r.nextAlpha != 100_001*sim.Nanosecond, "%+v, one by one %+v", r, one)
	r.advance(3600 * sim.Second)
	simtest.ErrorIf(t, r.timerStage != 1_200_000_000_000 || r.nextTimer != 3600*sim.Second+3*sim.Nanosecond, "after an hour %+v", r)
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	return simtest.Must(strconv.ParseFloat(text, 64))(t)
}

// integer is a whole number, 0 where a field is empty.
func integer(t *testing.T, text string) int64 {
	t.Helper()
	if text == "" {
		return 0
	}
	return int64(number(t, text))
}

// microseconds is a time of a vector.
func microseconds(t *testing.T, text string) sim.Time {
	t.Helper()
	return sim.Time(math.Round(number(t, text) * 1e6))
}

// vectorPath is that of the flows of the vectors: 100 Gb/s, three tiers, packets of 4,150 bytes.
var vectorPath = Path{RTT: 14022720, Rate: 100e9, PacketBytes: 4150, PayloadBytes: 4086, Trimming: true}

// TestNSCCVectors: of 1,946 windows at most three differ, which follow from a tie in the printed
// times (at 680.5 us of incast2: more than a round trip since the window grew, or exactly one, by
// which earlier or later acknowledgements fulfil it); all decisions, and the mean and the decision
// at all 55 trimmed packets. The replay goes on from the windows of the file.
func TestNSCCVectors(t *testing.T) {
	files, _ := filepath.Glob("testdata/nscc_*.csv.gz")
	windows, nacks := 0, 0
	var differing []string
	for _, path := range files {
		w, tie := DefaultNSCC().Law(vectorPath).Start(), strings.Contains(path, "incast2_")
		for i, row := range simtest.Table(t, path) {
			now := microseconds(t, row["time_us"])
			where, inFlight := fmt.Sprintf("%s row %d at %s us", path, i+2, row["time_us"]), integer(t, row["in_flight_bytes"])
			var did Decision
			if row["event"] == "nack" {
				nacks++
				did = w.OnNack(now, sim.Time(integer(t, row["base_rtt_ps"])), 4150, false, inFlight)
			} else {
				windows++
				var fulfilled bool
				did, fulfilled = w.OnAck(now, sim.Time(integer(t, row["raw_rtt_ps"])), row["ecn"] == "1", integer(t, row["newly_received_bytes"]), inFlight)
				simtest.ErrorIf(t, fulfilled != (row["fulfilled"] == "1") && !tie, "%s: fulfilled %v", where, fulfilled)
				if want := integer(t, row["cwnd_bytes_after"]); w.Window() != want {
					differing = append(differing, fmt.Sprintf("%s: window %d, want %d", where, w.Window(), want))
					w.window = want
				}
			}
			simtest.ErrorIf(t, did.String() != row["action"], "%s: %v, want %s", where, did, row["action"])
			for _, c := range []struct{ what, got, want string }{
				{"mean delay", fmt.Sprintf("%.6g", w.mean.Microseconds()), row["avg_delay_us"]},
				{"base round trip", strconv.FormatInt(int64(w.base), 10), row["base_rtt_ps"]},
			} {
				simtest.ErrorIf(t, c.want != "" && c.got != c.want, "%s: %s %s, want %s", where, c.what, c.got, c.want)
			}
		}
	}
	simtest.ErrorIf(t, windows != 1946 || nacks != 55, "%d windows and %d trimmed packets, want 1946 and 55", windows, nacks)
	simtest.ErrorIf(t, len(differing) > 3, "%d windows differ:\n%s", len(differing), strings.Join(differing, "\n"))
}

// TestNSCCConstants: at 100 Gb/s and 14.02272 us a is 175,284 / 150,000 = 1.16856, the target
// 10.51704 us, b = 0.87642; alpha = 4*4086*a*b/T, and 1.5 products are 262,926 bytes.
func TestNSCCConstants(t *testing.T) {
	l := DefaultNSCC().Law(vectorPath)
	simtest.ErrorIf(t, l.target != 10517040, "target %v", l.target)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"short", l.short, 4 * 4086 * 1.16856 * 0.87642 / 10517040}, {"long", l.long, 5 * 4086 * 1.16856},
		{"rapid", l.rapid, 0.29214}, {"each", l.each, 0.15 * 4086 * 1.16856},
	} {
		simtest.ErrorIf(t, math.Abs(c.got/c.want-1) > 1e-6, "%s %g, want %g", c.what, c.got, c.want)
	}
	w := l.Start()
	simtest.ErrorIf(t, w.Window() != 262926, "window %d, want 262926", w.Window())
	dropping := vectorPath
	dropping.Trimming = false
	simtest.Equal(t, DefaultNSCC().Law(dropping).target, dropping.RTT, "target without trimming, the round trip:")
	given := DefaultNSCC()
	given.Target, given.Start = 3*sim.Microsecond, 50
	w = given.Law(vectorPath).Start()
	simtest.ErrorIf(t, w.law.target != 3*sim.Microsecond || w.Window() != 50*4150, "target %v and window %d, want 3us and 207500", w.law.target, w.Window())
}

// TestNSCCLosses: with credit of the receiver a cut on the last hop leaves the window alone, and
// one elsewhere takes the packet from it; a timeout does, down to a packet.
func TestNSCCLosses(t *testing.T) {
	path := vectorPath
	path.Credit = true
	w := DefaultNSCC().Law(path).Start()
	for _, c := range []struct {
		lastHop bool
		want    int64
	}{{true, 262926}, {false, 262926 - 4150}} {
		w.OnNack(sim.Microsecond, 0, 4150, c.lastHop, 100000)
		simtest.ErrorIf(t, w.Window() != c.want, "last hop %v: window %d, want %d", c.lastHop, w.Window(), c.want)
	}
	for range 100 {
		w.OnTimeout(4150)
	}
	simtest.ErrorIf(t, w.Window() != 4150, "window %d after 100 timeouts, want a packet", w.Window())
	keep := DefaultNSCC()
	keep.KeepBase = true
	w = keep.Law(path).Start()
	w.OnNack(sim.Microsecond, 9*sim.Microsecond, 4150, false, 0)
	simtest.ErrorIf(t, w.base != path.RTT, "base %v after a trimmed packet, want %v", w.base, path.RTT)
}

// TestNSCCQuickAdaptLeast: when a delay is above the threshold and nothing has arrived of late, the window
// falls to a packet, not to nothing, which would end the flow.
func TestNSCCQuickAdaptLeast(t *testing.T) {
	w := DefaultNSCC().Law(vectorPath).Start()
	w.OnAck(sim.Microsecond, vectorPath.RTT, false, 0, 0)
	did, _ := w.OnAck(sim.Millisecond, 100*vectorPath.RTT, false, 0, 0)
	simtest.ErrorIf(t, did != QuickAdapt || w.Window() != 4150, "%v, window %d, want quick adapt to 4150", did, w.Window())
}

// TestSettings: the defaults are allowed, and values out of bounds are refused by their key.
func TestSettings(t *testing.T) {
	n := DefaultNSCC()
	simtest.Check(t, param.Validate(&n))
	n.Weight = 0
	simtest.Fail(t, param.Validate(&n), "delay_weight = 0")
}
