package congestion

import (
	"math"

	"github.com/weft-sim/weft/sim"
)

// DCQCN holds the settings of RoCE's congestion control.
type DCQCN struct {
	CNPInterval   sim.Time  `toml:"cnp_interval" doc:"least time between two notifications of a receiver to one flow" min:"0ns" max:"1000000s"`
	Gain          float64   `toml:"alpha_gain" doc:"of the estimate of congestion, alpha, at a notification and without one" min:"0.000001" max:"1"`
	AlphaTimer    sim.Time  `toml:"alpha_timer" doc:"time without a notification after which alpha falls" min:"1ns" max:"1000000s"`
	IncreaseTimer sim.Time  `toml:"increase_timer" doc:"time between two increases of the rate" min:"1ns" max:"1000000s"`
	IncreaseBytes sim.Bytes `toml:"increase_bytes" doc:"data sent between two increases of the rate, beside those of the timer; 0B: none" min:"0B"`
	Stages        int       `toml:"recovery_stages" doc:"increases of either kind from which on the target rate grows: fast recovery ends" min:"1"`
	Additive      sim.Rate  `toml:"additive_increase" doc:"of the target rate, after fast recovery" min:"1b/s"`
	Hyper         sim.Rate  `toml:"hyper_increase" doc:"of the target rate, times the number of increases of both kinds beyond recovery_stages" min:"1b/s"`
	Minimum       sim.Rate  `toml:"minimum_rate" doc:"of a flow" min:"1b/s"`
}

// DefaultDCQCN holds the values of the paper. It gives none for hyper_increase and minimum_rate:
// these are usual ones.
func DefaultDCQCN() DCQCN {
	return DCQCN{
		CNPInterval: 50 * sim.Microsecond, Gain: 1.0 / 256,
		AlphaTimer: 55 * sim.Microsecond, IncreaseTimer: 55 * sim.Microsecond, IncreaseBytes: 10e6,
		Stages: 5, Additive: 40e6, Hyper: 400e6, Minimum: 100e6,
	}
}

// ReactionPoint is the rate of one flow of a sender (Zhu et al., "Congestion control for
// large-scale RDMA deployments", SIGCOMM 2015, section 3.2 and figure 7). A flow starts at the rate
// of its adapter. Its timers start with the first notification, and all begin anew with each: what
// they have done is found out when the flow is next asked about, so that they need no events.
//
// Ambiguous in the paper: hyper increase begins when both kinds of increase have gone beyond
// recovery_stages; when one has reached it, the target grows.
type ReactionPoint struct {
	settings *DCQCN
	line     float64 // rate of the adapter, in bits a second

	current, target float64 // rates
	alpha           float64
	timerStage      int
	byteStage       int
	active          bool // a notification has come
	nextTimer       sim.Time
	nextAlpha       sim.Time
	sent            int64 // bytes towards the next increase
	pause           fraction
}

// Start is the rate of a flow that has sent nothing. The settings are shared by all flows.
func (c *DCQCN) Start(adapter sim.Rate) ReactionPoint {
	return ReactionPoint{settings: c, line: float64(adapter), alpha: 1, current: float64(adapter), target: float64(adapter)}
}

// Rate is the rate of the flow, in bits a second.
func (r *ReactionPoint) Rate(now sim.Time) float64 {
	r.advance(now)
	return r.current
}

// OnSent takes into account that a packet of a size leaves now, and tells how long after it the
// next one may.
func (r *ReactionPoint) OnSent(now sim.Time, size int64) sim.Time {
	r.advance(now)
	if b := int64(r.settings.IncreaseBytes); r.active && b > 0 {
		for r.sent += size; r.sent >= b; r.sent -= b {
			r.byteStage++
			r.increase()
		}
	}
	return r.pause.whole(float64(size) * 8e12 / r.current)
}

// fraction is the part of a picosecond by which the last of a row of pauses was cut.
type fraction float64

// whole is the next pause in whole picoseconds, so that all of them keep the exact rate.
func (f *fraction) whole(picoseconds float64) sim.Time {
	exact := picoseconds + float64(*f)
	down := math.Floor(exact)
	*f = fraction(exact - down)
	return sim.Time(down)
}

// OnCNP takes a notification into account.
func (r *ReactionPoint) OnCNP(now sim.Time) {
	r.advance(now)
	c := r.settings
	r.target = r.current
	r.current = max(r.current*(1-r.alpha/2), float64(c.Minimum))
	r.alpha = float64((1-c.Gain)*r.alpha) + c.Gain
	r.timerStage, r.byteStage, r.sent = 0, 0, 0
	r.active = true
	r.nextTimer, r.nextAlpha = now+c.IncreaseTimer, now+c.AlphaTimer
}

// advance lets the timers go off that were due until now.
func (r *ReactionPoint) advance(now sim.Time) {
	for r.active && min(r.nextTimer, r.nextAlpha) <= now {
		if r.rests() {
			c := r.settings
			n := max(0, (now-r.nextTimer)/c.IncreaseTimer+1)
			r.timerStage += int(n)
			r.nextTimer += n * c.IncreaseTimer
			r.nextAlpha += max(0, (now-r.nextAlpha)/c.AlphaTimer+1) * c.AlphaTimer
			return
		}
		r.expire()
	}
}

// rests tells whether timers change no rate any more: after a long silence they would go off millions of times.
func (r *ReactionPoint) rests() bool {
	return r.target == r.line && (r.target+r.current)/2 == r.current && r.alpha*(1-r.settings.Gain) == r.alpha
}

// expire lets the timer go off that is due first, alpha's if both are.
func (r *ReactionPoint) expire() {
	if r.nextAlpha <= r.nextTimer {
		r.alpha *= 1 - r.settings.Gain
		r.nextAlpha += r.settings.AlphaTimer
		return
	}
	r.timerStage++
	r.nextTimer += r.settings.IncreaseTimer
	r.increase()
}

// increase moves the rate half way to the target, which may grow before.
func (r *ReactionPoint) increase() {
	c := r.settings
	if both := min(r.timerStage, r.byteStage); both > c.Stages {
		r.target += float64(both-c.Stages) * float64(c.Hyper)
	} else if max(r.timerStage, r.byteStage) >= c.Stages {
		r.target += float64(c.Additive)
	}
	r.target = min(r.target, r.line)
	r.current = (r.target + r.current) / 2
}

// NotificationPoint is what a receiver keeps of one flow.
type NotificationPoint struct {
	next sim.Time // before which it sends no notification
}

// OnMarked tells whether a packet that came marked is answered by a notification.
func (n *NotificationPoint) OnMarked(now sim.Time, c *DCQCN) bool {
	if now < n.next {
		return false
	}
	n.next = now + c.CNPInterval
	return true
}
