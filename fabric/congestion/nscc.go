// Package congestion holds the state machines of Ethernet's congestion control: the window of Ultra
// Ethernet's senders ([NSCC]), and the rate of RoCE's ([DCQCN]).
//
// None of them knows a packet or a network: the end point says what has happened and when, and asks
// what may be sent. Settings and what follows from them are shared by all flows of a terminal.
package congestion

import "github.com/weft-sim/weft/sim"

// Path is what an end point knows of the ways to the others before it has measured any.
type Path struct {
	RTT          sim.Time // of a whole packet and its acknowledgement over the diameter, unloaded
	Rate         sim.Rate // of the adapter
	PacketBytes  int64    // of a whole packet, its header included
	PayloadBytes int64    // of it
	Trimming     bool     // switches cut packets that do not fit, rather than drop them
	Credit       bool     // receivers grant credit, too: a cut on the last hop is theirs to answer
}

// product is what the adapter sends in a round trip: the bandwidth-delay product.
func (p *Path) product(rtt sim.Time) float64 { return float64(rtt) * float64(p.Rate) / 8e12 }

// NSCC holds the settings of the window of Ultra Ethernet's senders.
type NSCC struct {
	Target    sim.Time `toml:"target_delay" doc:"queueing delay that windows are steered to; 0ns: three quarters of the unloaded round trip, or all of it without trimming" min:"0ns" max:"1000000s"`
	Start     int64    `toml:"start_window" doc:"window of a flow that starts; 0: one and a half bandwidth-delay products" unit:"packets" min:"0" max:"1000000"`
	Gamma     float64  `toml:"decrease_gamma" doc:"share of the mean delay's excess by which a window falls, at most by half" min:"0" max:"1"`
	Weight    float64  `toml:"delay_weight" doc:"of one delay in the moving mean" min:"0.000001" max:"1"`
	Adjust    int64    `toml:"adjust_packets" doc:"size of what arrives before a window grows by what it has earned" unit:"packets" min:"1" max:"1000000"`
	Gate      int      `toml:"quick_adapt_gate" doc:"quick adapt acts if less has arrived than the largest window / 2^gate" min:"0" max:"30"`
	Threshold float64  `toml:"quick_adapt_threshold" doc:"delay, in target delays, that calls for quick adapt as a trimmed packet does" min:"0"`
	KeepBase  bool     `toml:"keep_base_rtt_on_nack" doc:"the answer to a trimmed packet, faster than that to a whole one, does not lower the unloaded round trip"`
}

// DefaultNSCC holds the values that htsim takes from the Ultra Ethernet specification, 1.0.
func DefaultNSCC() NSCC { return NSCC{Gamma: 0.8, Weight: 0.0125, Adjust: 8, Gate: 3, Threshold: 4} }

// NSCCLaw is what the windows of all flows with the same settings and paths share.
type NSCCLaw struct {
	NSCC
	path      Path
	target    sim.Time
	threshold sim.Time // of quick adapt

	// Bytes of window: earned by a byte that arrives, times bytes of window, where the delay is
	// short (for each picosecond that it is below the target) and where it is long; gained by a
	// byte in fast increase; gained in each round trip.
	short, long, rapid, each float64
}

// The network for which the specification states its constants: 100 Gb/s and a round trip of 12 us.
const (
	scaleBytes = 150_000
	scaleRTT   = 12 * sim.Microsecond
)

// Law is what the settings come to on a path.
func (c NSCC) Law(p Path) *NSCCLaw {
	l := &NSCCLaw{NSCC: c, path: p, target: c.Target}
	if l.target == 0 {
		if l.target = p.RTT; p.Trimming {
			l.target = p.RTT * 3 / 4
		}
	}
	bandwidth := float64(int64(p.product(p.RTT))) / scaleBytes
	delay := float64(l.target) / float64(scaleRTT)
	payload := float64(p.PayloadBytes)
	l.short = 4 * payload * bandwidth * delay / float64(l.target)
	l.long = 5 * payload * bandwidth
	l.rapid = 0.25 * bandwidth
	l.each = 0.15 * payload * bandwidth
	l.threshold = sim.Time(c.Threshold * float64(l.target))
	return l
}

// Decision is what a window does about an acknowledgement.
type Decision uint8

// Decisions of a window.
const (
	NoChange       Decision = iota
	Proportional            // no mark, short delay: it earns the more the shorter, or grows fast
	Fair                    // no mark, long delay: it earns the same whatever its size
	Multiplicative          // mark and long delay: it falls, at most once a round trip
	QuickAdapt              // it falls to what has arrived of late
)

func (d Decision) String() string {
	return [...]string{"none", "proportional", "fair", "multiplicative", "quick_adapt"}[d]
}

// NSCCWindow is the window of one flow: network-signalled congestion control of the Ultra
// Ethernet specification, 1.0, as htsim has it (github.com/ultraethernet/uet-htsim,
// 40ccb05). Delays and marks together tell four cases apart: see [Decision].
//
// Deviation: what a window has earned has 64 bits; there it has 32, which wrap from about
// 500 Gb/s on.
type NSCCWindow struct {
	law *NSCCLaw

	window, largest int64
	base            sim.Time // least round trip so far
	mean            sim.Time // of delays, moving

	earned    int64 // times bytes of window; added when it is fulfilled
	received  int64 // since then
	grown     sim.Time
	decreased sim.Time

	calm int64 // bytes since the last delay of a microsecond or more
	fast bool

	arrived         int64    // since quick adapt was last considered
	consider        sim.Time // when it may be again; 0: never so far
	lost            bool     // a packet was trimmed since it last acted
	ignored, ignore int64    // bytes of marks passed over since then, and to be passed over
}

// Start is the window of a flow that has sent nothing.
func (l *NSCCLaw) Start() NSCCWindow {
	w := NSCCWindow{law: l, base: l.path.RTT}
	w.largest = w.mostFor(w.base)
	if w.window = w.largest; l.NSCC.Start > 0 {
		w.window = l.NSCC.Start * l.path.PacketBytes
	}
	return w
}

// Window is the number of bytes that may be in flight.
func (w *NSCCWindow) Window() int64 { return w.window }

func (w *NSCCWindow) mostFor(rtt sim.Time) int64 { return int64(1.5 * w.law.path.product(rtt)) }

// saw lowers the unloaded round trip to a sample; 0: there is none.
func (w *NSCCWindow) saw(rtt sim.Time) {
	if rtt > 0 && rtt < w.base {
		w.base = rtt
		w.largest = w.mostFor(rtt)
	}
}

// average takes a delay into the mean.
func (w *NSCCWindow) average(delay float64) {
	weight := w.law.Weight
	w.mean = sim.Time(float64(weight*delay) + float64((1-weight)*float64(w.mean)))
}

// OnAck takes an acknowledgement into account: the round trip that it shows (0: none, as when
// a packet has been sent twice), the mark of the packet that it answers, the bytes that it says
// have newly arrived, and those in flight after it. It tells what it did, and whether the window
// has grown by what it had earned.
func (w *NSCCWindow) OnAck(now, rtt sim.Time, marked bool, newly, inFlight int64) (did Decision, fulfilled bool) {
	w.saw(rtt)
	l := w.law
	delay := w.mean
	if rtt > 0 {
		delay = rtt - w.base
		sample := float64(delay)
		if !marked && delay > l.target { // late, but the queue behind it is short by now
			sample = float64(w.base) / 4
		}
		w.average(sample)
	}
	w.arrived += newly
	w.received += newly
	w.ignored += newly
	if acts, over := w.quickAdapt(now, marked, false, delay, inFlight); acts {
		return QuickAdapt, false
	} else if over {
		return NoChange, false
	}
	switch {
	case !marked && delay >= l.target:
		did = Fair
		w.earn(l.long * float64(newly))
	case !marked:
		did = Proportional
		if w.speedUp(newly, delay); !w.fast {
			w.earn(l.short * float64(newly) * float64(l.target-delay))
		}
	case delay >= l.target:
		did = Multiplicative
		w.calm, w.fast = 0, false
		if w.mean > l.target && now-w.decreased > w.base {
			w.window = int64(float64(w.window) * max(1-l.Gamma*float64(w.mean-l.target)/float64(w.mean), 0.5))
			w.decreased = now
		}
	}
	w.bound()
	turn := now-w.grown > l.path.RTT
	if fulfilled = turn || w.received > l.Adjust*l.path.PacketBytes; fulfilled {
		w.window += w.earned / w.window
		if turn {
			w.window = int64(float64(w.window) + l.each)
			w.grown = now
		}
		w.earned, w.received = 0, 0
		w.bound()
	}
	return did, fulfilled
}

// earn adds to what the window grows by when it is next fulfilled.
func (w *NSCCWindow) earn(bytes float64) { w.earned = int64(float64(w.earned) + bytes) }

// speedUp lets a window grow fast once a whole window has come with hardly any delay.
func (w *NSCCWindow) speedUp(newly int64, delay sim.Time) {
	if delay >= sim.Microsecond {
		w.calm, w.fast = 0, false
		return
	}
	w.calm += newly
	if w.fast = w.fast || w.calm > w.window; w.fast {
		w.window = int64(float64(w.window) + float64(float64(newly)*w.law.rapid))
	}
}

// quickAdapt tells whether the window has been set to what has arrived of late; over, that
// nothing else is to be done about this answer.
func (w *NSCCWindow) quickAdapt(now sim.Time, marked, trimmed bool, delay sim.Time, inFlight int64) (acts, over bool) {
	l := w.law
	switch {
	case marked && w.ignored < w.ignore:
		over = true
	case now > w.consider:
		needed := w.lost || trimmed || delay > l.threshold
		if acts = needed && w.consider != 0 && w.arrived < w.largest>>l.Gate; acts {
			w.window = max(w.arrived, l.path.PacketBytes)
			w.ignore, w.ignored = inFlight, 0
			w.lost = false
			over = true
		}
		w.arrived = 0
		w.consider = now + w.base + l.target
	}
	if over {
		w.earned, w.received = 0, 0
	}
	return acts, over
}

// OnNack takes the answer to a trimmed packet of a size into account: whether it was trimmed on its
// last hop, the round trip that the answer shows (0: none), and the bytes in flight before it.
func (w *NSCCWindow) OnNack(now, rtt sim.Time, size int64, lastHop bool, inFlight int64) Decision {
	l := w.law
	if !l.KeepBase {
		w.saw(rtt)
	}
	w.ignored += size
	w.average(float64(l.path.RTT))
	w.lost = true
	if acts, over := w.quickAdapt(now, true, true, l.path.RTT, inFlight); acts {
		return QuickAdapt
	} else if !over && !(l.path.Credit && lastHop) {
		w.window -= size
		w.bound()
	}
	return NoChange
}

// OnTimeout takes into account that a packet of a size has been answered too late.
func (w *NSCCWindow) OnTimeout(size int64) { w.window = max(w.window-size, w.law.path.PacketBytes) }

func (w *NSCCWindow) bound() { w.window = max(w.law.path.PacketBytes, min(w.window, w.largest)) }
