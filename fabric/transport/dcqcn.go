package transport

import (
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/sim"
)

// DCQCN holds the settings of data center quantized congestion notification.
type DCQCN struct {
	Gain       float64   `toml:"gain" doc:"g of the estimate of congestion" min:"0" max:"1"`
	AlphaTimer sim.Time  `toml:"alpha_timer" doc:"without a notification until the estimate falls"`
	RateTimer  sim.Time  `toml:"rate_timer" doc:"of a stage of increase"`
	RateBytes  sim.Bytes `toml:"rate_bytes" doc:"sent, of a stage of increase" min:"1"`
	Fast       int       `toml:"fast_stages" doc:"stages of fast recovery" min:"1" max:"100"`
	Additive   sim.Rate  `toml:"additive" doc:"additive increase of the target"`
	Hyper      sim.Rate  `toml:"hyper" doc:"hyper increase of the target, by stage"`
	Least      sim.Rate  `toml:"least" doc:"lowest rate"`
	Interval   sim.Time  `toml:"notification_interval" doc:"least time between two notifications of a connection"`
}

// DefaultDCQCN is as published (Zhu et al., SIGCOMM 2015, section 5).
func DefaultDCQCN() DCQCN {
	return DCQCN{Gain: 1. / 256, AlphaTimer: 55 * sim.Microsecond, RateTimer: 55 * sim.Microsecond, RateBytes: 10_000_000, Fast: 5,
		Additive: 40_000_000, Hyper: 400_000_000, Least: 100_000_000, Interval: 50 * sim.Microsecond}
}

// dcqcn is the reaction point of a connection (Zhu et al., SIGCOMM 2015, section 3.1 and
// algorithm 1). Rates are bits a second.
type dcqcn struct {
	*DCQCN
	line, rate, target float64
	alpha              float64
	timerStage         int
	byteStage          int
	bytes              int64
	nextAt             int64 // ps: when a packet may go
	alphaAt, rateAt    int64 // ps: ends of the timers; 0: they have not begun
	event              int64 // pending event; 0: none
}

func newDCQCN(config *DCQCN, line float64) *dcqcn {
	return &dcqcn{DCQCN: config, line: line, rate: line, target: line, alpha: 1}
}

// notified takes a notification.
func (d *dcqcn) notified(now int64) {
	d.target = d.rate
	d.rate = max(d.rate*(1-d.alpha/2), float64(d.Least))
	d.alpha = (1-d.Gain)*d.alpha + d.Gain
	d.timerStage, d.byteStage, d.bytes = 0, 0, 0
	d.alphaAt, d.rateAt = now+int64(d.AlphaTimer), now+int64(d.RateTimer)
}

// timers lets what has ended by now happen.
func (d *dcqcn) timers(now int64) {
	for d.alphaAt > 0 && min(d.alphaAt, d.rateAt) <= now {
		if d.alphaAt <= d.rateAt {
			d.alpha *= 1 - d.Gain
			d.alphaAt += int64(d.AlphaTimer)
			continue
		}
		d.timerStage++
		d.raise()
		d.rateAt += int64(d.RateTimer)
	}
}

// sent takes a packet that leaves.
func (d *dcqcn) sent(now, bytes int64) {
	d.timers(now)
	if d.bytes += bytes; d.alphaAt > 0 && d.bytes >= int64(d.RateBytes) {
		d.bytes -= int64(d.RateBytes)
		d.byteStage++
		d.raise()
	}
	d.nextAt = max(d.nextAt, now) + int64(float64(bytes)*8e12/d.rate)
}

// raise is a stage of increase.
func (d *dcqcn) raise() {
	switch least, most := min(d.timerStage, d.byteStage), max(d.timerStage, d.byteStage); {
	case most < d.Fast:
	case least > d.Fast:
		d.target += float64(least-d.Fast) * float64(d.Hyper)
	default:
		d.target += float64(d.Additive)
	}
	d.target = min(d.target, d.line)
	d.rate = min((d.rate+d.target)/2, d.line)
}

// notify tells the sender of a marked packet, unless it has been told lately.
func (c *connection) notify(p *shared.Packet) {
	now, r := int64(c.system.kernel.Now()), &c.receiver
	if r.notified > 0 && now-r.notified < int64(c.rate.Interval) {
		return
	}
	r.notified = now
	c.system.Counts.Notified++
	c.answer(notification, p)
}
