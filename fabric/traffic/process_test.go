package traffic

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func process[C any](t testing.TB, name string, env ProcessEnv, set func(*C)) Process {
	t.Helper()
	p := simtest.Must(param.Make(Processes, name, env, set))(t)
	return p
}

// births marks the cycles of n in which a terminal's packets are born.
func births(p Process, n, id int) []bool {
	stream, state := sim.NewStream(4, "test", id), uint32(0)
	born := make([]bool, n)
	for at := p.NextGap(&stream, &state) - 1; at < int64(n); at += p.NextGap(&stream, &state) {
		born[at] = true
	}
	return born
}

func count(born []bool) (n float64) {
	for _, b := range born {
		if b {
			n++
		}
	}
	return n
}

// TestBernoulli: packets in n = 10^6 cycles at rate p are binomial; within 6 standard deviations
// but for a probability of 2*10^-9. So are pairs in neighbouring cycles, at rate p^2 (their
// variance is at most n*p^2*(1-p^2+2p), for overlapping pairs).
func TestBernoulli(t *testing.T) {
	const n = 1e6
	for i, c := range []struct{ load, flits float64 }{{0.1, 1}, {0.5, 1}, {0.9, 4}, {1, 1}, {0.001, 1}} {
		p := c.load / c.flits
		born := births(process[struct{}](t, "bernoulli", ProcessEnv{c.load, c.flits}, nil), n, i)
		simtest.Near(t, count(born), n*p, 6*math.Sqrt(n*p*(1-p)), "load %v of %v flits: packets", c.load, c.flits)
		pairs := 0.0
		for at := range born[1:] {
			if born[at] && born[at+1] {
				pairs++
			}
		}
		want := n * p * p
		simtest.ErrorIf(t, math.Abs(pairs-want) > 6*math.Sqrt(n*p*p*(1-p*p+2*p))+1, "load %v: %v pairs, want %v", c.load, pairs, want)
	}
}

// onOffByCycle is the chain of on-off, cycle by cycle, as its definition says.
func onOffByCycle(n int, r1, alpha, beta, on float64, id int) []bool {
	stream := sim.NewStream(8, "oracle", id)
	born := make([]bool, n)
	isOn := stream.Float64() < on
	for c := range born {
		born[c] = isOn && stream.Float64() < r1
		if isOn {
			isOn = stream.Float64() >= beta
		} else {
			isOn = stream.Float64() < alpha
		}
	}
	return born
}

// TestOnOff compares with the chain simulated cycle by cycle, and with its rate. Births at distance
// d are correlated: covariance r1^2 * v * (1-a-b)^d with v = on*(1-on), so that a count over n
// cycles has variance of about n*(p*(1-p) + 2*r1^2*v*(1-a-b)/(a+b)); 6 standard deviations fail by
// chance once in 5*10^8. The number of births whose next cycle has one too separates bursts from
// Bernoulli traffic; its variance is bounded by the variance of runs, whose correlation is the
// same: (1 + 2/(a+b)) times binomial.
func TestOnOff(t *testing.T) {
	const n = 2e6
	for i, c := range []struct{ load, flits, burst, peak float64 }{
		{0.2, 1, 8, 1}, {0.6, 1, 20, 0.9}, {0.3, 4, 5, 1}, {0.05, 1, 1, 0.5}, {0.4, 1, 2, 1},
	} {
		r1 := c.peak / c.flits
		beta := r1 / c.burst
		alpha := beta * c.load / (c.peak - c.load)
		on, rate := c.load/c.peak, c.load/c.flits
		born := births(process(t, "on-off", ProcessEnv{c.load, c.flits}, func(o *OnOffConfig) { o.Burst, o.Peak = c.burst, c.peak }), n, i)
		chain := onOffByCycle(n, r1, alpha, beta, on, i)
		slow := 2 * r1 * r1 * on * (1 - on) * math.Max(0, 1-alpha-beta) / (alpha + beta)
		deviation := math.Sqrt(n * (rate*(1-rate) + slow))
		got := count(born)
		simtest.ErrorIf(t, math.Abs(got-n*rate) > 6*deviation, "%+v: %v packets, want %v", c, got, n*rate)
		simtest.Near(t, count(chain), n*rate, 6*deviation, "%+v: packets of the oracle", c)
		// Two births in a row: on, a birth, still on, a birth.
		pairs, want := 0.0, n*rate*(1-beta)*r1
		for at := range born[1:] {
			if born[at] && born[at+1] {
				pairs++
			}
		}
		simtest.ErrorIf(t, math.Abs(pairs-want) > 6*math.Sqrt(want*(1+2/(alpha+beta))), "%+v: %v pairs, want %v", c, pairs, want)
	}
}

// TestOnOffStarts: the first cycle is as likely to have a packet as any other.
// 40,000 terminals at rate 0.2: binomial, 6 standard deviations.
func TestOnOffStarts(t *testing.T) {
	const n = 40000
	p := process[OnOffConfig](t, "on-off", ProcessEnv{0.2, 1}, nil)
	for cycle := range int64(3) {
		got := 0.0
		for id := range n {
			if born := births(p, 3, id); born[cycle] {
				got++
			}
		}
		simtest.ErrorIf(t, math.Abs(got-0.2*n) > 6*math.Sqrt(n*0.2*0.8), "%v of %d terminals start a packet in cycle %d, want %v", got, n, cycle, 0.2*n)
	}
}

// TestNoLoad: at load 0 there are no packets.
func TestNoLoad(t *testing.T) {
	for _, name := range Processes.Names() {
		config, _ := Processes.Config(name)
		p := simtest.Must(Processes.Build(name, config, ProcessEnv{0, 1}))(t)
		born := births(p, 1000, 0)
		simtest.ErrorIf(t, count(born) != 0, "%s: %v packets at load 0", name, count(born))
	}
}

// TestProcessContract: gaps are positive and cost no allocation.
func TestProcessContract(t *testing.T) {
	for _, name := range Processes.Names() {
		config, _ := Processes.Config(name)
		p := simtest.Must(Processes.Build(name, config, ProcessEnv{0.5, 1}))(t)
		stream, state := sim.NewStream(1, "test", 0), uint32(0)
		if n := testing.AllocsPerRun(1000, func() {
			if p.NextGap(&stream, &state) < 1 {
				t.Errorf("%s: a gap below 1", name)
			}
		}); n != 0 {
			t.Errorf("%s allocates %v times a packet", name, n)
		}
	}
}

// TestProcessErrors: loads that cannot be had are refused by key.
func TestProcessErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		env  ProcessEnv
		set  func(*OnOffConfig)
		want string
	}{
		{"bernoulli", ProcessEnv{1.7, 1}, nil, "load = 1.7: want 0 to 1"},
		{"bernoulli", ProcessEnv{-0.1, 1}, nil, "load = -0.1: want 0 to 1"},
		{"bernoulli", ProcessEnv{math.NaN(), 1}, nil, "load = NaN: want 0 to 1"},
		{"bernoulli", ProcessEnv{0.5, 0}, nil, "packet_flits = 0: want a mean of at least 1"},
		{"on-off", ProcessEnv{0.5, 1}, func(c *OnOffConfig) { c.Peak = 0.5 }, "load = 0.5: want at least 0 and below the load during a burst, peak = 0.5"},
		{"on-off", ProcessEnv{math.NaN(), 1}, nil, "load = NaN"},
		// alpha = (1/2) * 0.9/0.1 = 4.5 > 1; with bursts of 9 it is 1.
		{"on-off", ProcessEnv{0.9, 1}, func(c *OnOffConfig) { c.Burst = 2 }, "burst = 2: want at least 9 packets"},
	} {
		var err error
		if c.name == "bernoulli" {
			_, err = param.Make[struct{}](Processes, c.name, c.env, nil)
		} else {
			_, err = param.Make(Processes, c.name, c.env, c.set)
		}
		var problem *param.ParamError
		simtest.ErrorIf(t, !errors.As(err, &problem) || !strings.Contains(err.Error(), c.want), "%s %+v: %v, want %s", c.name, c.env, err, c.want)
	}
}

// TestSizes: 1 and 5 flits at weights 3 and 1 have mean 2; of 40,000 packets,
// 1/4 are long, binomial, 6 standard deviations.
func TestSizes(t *testing.T) {
	s := simtest.Must(NewSizes([]int{1, 5}, []float64{3, 1}))(t)
	simtest.Equal(t, s.Mean(), 2, "mean flits")
	stream, long := sim.NewStream(1, "test", 0), 0.0
	for range 40000 {
		switch s.Draw(&stream) {
		case 5:
			long++
		case 1:
		default:
			t.Fatal("a size that was not given")
		}
	}
	simtest.ErrorIf(t, math.Abs(long-10000) > 6*math.Sqrt(40000*0.25*0.75), "%v of 40000 packets are long", long)
	equal, _ := NewSizes([]int{2, 4, 9}, nil)
	simtest.ErrorIf(t, equal.Mean() != 5, "mean %v of 2, 4, 9 at equal weights", equal.Mean())
	one, _ := NewSizes([]int{7}, nil)
	before := stream
	simtest.ErrorIf(t, one.Draw(&stream) != 7 || stream != before, "a fixed size draws a random number")
}

// TestSizesErrors: all problems together.
func TestSizesErrors(t *testing.T) {
	simtest.Refuse(NewSizes([]int{1, 0, -3}, []float64{1, -1}))(t, "packet_flits[1] = 0", "packet_flits[2] = -3",
		"packet_weights = [1 -1]: want one weight for each of the 3 sizes", "packet_weights[1] = -1")
	_, err := NewSizes(nil, nil)
	simtest.ErrorIf(t, err == nil, "no sizes at all")
}
