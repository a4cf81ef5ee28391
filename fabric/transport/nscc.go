package transport

// NSCCConfig holds the settings of the sender's window of Ultra Ethernet.
type NSCCConfig struct {
	Target      int64   // ps of delay in queues; 0: three quarters of the network's round trip
	KeepBaseRTT bool    // round trips of trimmed packets do not lower the base
	Gamma       float64 // how far a window falls with the excess of delay
}

// nscc is network signal congestion control, the sender's window of Ultra Ethernet (UEC 1.0,
// 2025), by the rules that its authors' simulator has: section 4 of the facts that
// docs/congestion.md lists. Times are picoseconds, sizes bytes on the wire.
type nscc struct {
	rtt0, target     int64
	scale            float64 // a: the network's bandwidth-delay product over that of 100 Gb/s and 12 us
	alpha            float64 // bytes*bytes/ps of proportional increase
	fair             float64
	eta              int64
	packet           int64
	psPerByte        int64
	gamma            float64
	window, base     int64
	average          int64 // of delays
	increase         int64
	received         int64 // since the last fulfilment
	achieved         int64 // since the last quick adaptation was possible
	ignored, ignore  int64
	adaptAt          int64
	trimmed          bool // since then
	etaAt, decreased int64
	fast             bool
	fastCount        int64
}

// newNSCC makes the window of a flow that has sent nothing; payload is that of a full packet.
func newNSCC(t *timing, c NSCCConfig, first int64) *nscc {
	n := &nscc{rtt0: t.rtt, target: c.Target, packet: t.packet, psPerByte: t.psPerByte, base: t.rtt, gamma: c.Gamma}
	if n.target == 0 {
		n.target = t.rtt * 3 / 4
		if !t.trims {
			n.target = t.rtt
		}
	}
	bdp := float64(t.rtt) / float64(t.psPerByte)
	n.scale = bdp / 150_000
	b := float64(n.target) / 12e6
	payload := float64(t.payload)
	n.alpha = 4 * payload * n.scale * b / float64(n.target)
	n.fair = 5 * payload * n.scale
	n.eta = int64(0.15 * payload * n.scale)
	if n.window = first; first == 0 {
		n.window = n.most()
	}
	return n
}

// most is the largest window: one and a half times the bandwidth-delay product of the flow.
func (n *nscc) most() int64 { return int64(1.5 * float64(n.base) / float64(n.psPerByte)) }

func (n *nscc) bound() { n.window = min(max(n.window, n.packet), n.most()) }

// sample takes a round trip.
func (n *nscc) sample(rtt int64) { n.base = min(n.base, rtt) }

// acknowledged takes an acknowledgement: of a packet with a valid round trip rtt (0: none) that
// was marked or not, and of bytes newly received; inFlight is what is under way afterwards.
func (n *nscc) acknowledged(now, rtt int64, marked bool, bytes, inFlight int64) {
	delay := n.average
	if rtt > 0 {
		n.sample(rtt)
		delay = rtt - n.base
		seen := delay
		if !marked && delay > n.target {
			seen = n.base / 4
		}
		n.average = int64(0.0125*float64(seen) + 0.9875*float64(n.average))
	}
	n.achieved += bytes
	n.received += bytes
	n.ignored += bytes
	if n.adapts(now, marked, delay, inFlight) {
		return
	}
	switch {
	case !marked && delay >= n.target:
		n.slow()
		n.increase += int64(n.fair * float64(bytes))
	case !marked:
		if delay >= 1e6 {
			n.slow()
		} else if n.fastCount += bytes; n.fast || n.fastCount > n.window {
			n.fast = true
			n.window += int64(0.25 * n.scale * float64(bytes))
			break
		}
		n.increase += int64(n.alpha * float64(bytes) * float64(n.target-delay))
	case delay >= n.target:
		n.slow()
		if n.average > n.target && now-n.decreased > n.base {
			factor := max(1-n.gamma*float64(n.average-n.target)/float64(n.average), 0.5)
			n.window = int64(float64(n.window) * factor)
			n.decreased = now
		}
	}
	n.bound()
	if n.received > 8*n.packet || now-n.etaAt > n.rtt0 {
		n.window += n.increase / n.window
		if now-n.etaAt > n.rtt0 {
			n.window += n.eta
			n.etaAt = now
		}
		n.increase, n.received = 0, 0
		n.bound()
	}
}

func (n *nscc) slow() { n.fast, n.fastCount = false, 0 }

// adapts is quick adaptation: the window becomes what has arrived in about a round trip, if that
// is little, and what is under way then is not heeded any more.
func (n *nscc) adapts(now int64, marked bool, delay, inFlight int64) (acts bool) {
	if marked && n.ignored < n.ignore {
		acts = true
	} else if now > n.adaptAt {
		if n.adaptAt != 0 && (n.trimmed || delay > 4*n.target) && n.achieved < n.most()/8 {
			n.window = max(n.achieved, n.packet)
			n.ignore, n.ignored = inFlight, 0
			acts = true
		}
		n.trimmed, n.achieved = false, 0
		n.adaptAt = now + n.base + n.target
	}
	if acts {
		n.increase, n.received = 0, 0
	}
	return acts
}

// refused takes a negative acknowledgement: of a packet of so many bytes that was trimmed;
// yields tells whether the window falls by it.
func (n *nscc) refused(now, size, inFlight int64, yields bool) {
	n.ignored += size
	n.average = int64(0.0125*float64(n.rtt0) + 0.9875*float64(n.average))
	n.trimmed = true
	if !n.adapts(now, true, n.rtt0, inFlight) && yields {
		n.window -= size
		n.bound()
	}
}

// expired takes a timeout.
func (n *nscc) expired(size int64) { n.window = max(n.window-size, n.packet) }
