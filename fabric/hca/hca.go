package hca

import "github.com/weft-sim/weft/sim"

// HCA is the state of one adapter.
type HCA struct {
	config *Config
	sends  arbiter
	cache  contextCache
	rate   sim.Rate // the slower of DMA and link

	sending   serializer
	receiving serializer
	busyUntil sim.Time // of the sending engine
	recvUntil sim.Time // of the receiving engine

	// Stats counts what happened.
	Stats Stats
}

// Stats are counters of one adapter.
type Stats struct {
	Requests, Bursts int64
	Bytes            int64
	ContextMisses    int64
	SendBusy         sim.Time // engine time spent sending
	RecvBusy         sim.Time // engine time spent receiving
	MissTime         sim.Time // of both engines, loading contexts
}

// Add accumulates the counters of another adapter.
func (s *Stats) Add(o Stats) {
	s.Requests += o.Requests
	s.Bursts += o.Bursts
	s.Bytes += o.Bytes
	s.ContextMisses += o.ContextMisses
	s.SendBusy += o.SendBusy
	s.RecvBusy += o.RecvBusy
	s.MissTime += o.MissTime
}

// New makes n adapters; config is kept and must not change.
func New(config *Config, n int) []HCA {
	all := make([]HCA, n)
	for i := range all {
		all[i] = HCA{
			config: config,
			sends:  newArbiter(int64(config.Quantum)),
			cache:  newContextCache(config.ContextEntries),
			rate:   config.Rate(),
		}
	}
	return all
}

// Post puts a request into its send queue. If the engine is idle, the owner
// calls Next at once; otherwise at the end of the burst that is being sent.
func (h *HCA) Post(r Request) {
	h.Stats.Requests++
	h.sends.post(r)
}

// Busy tells whether the sending engine is at work at time now.
func (h *HCA) Busy(now sim.Time) bool { return now < h.busyUntil }

// BusyUntil is the time from which the sending engine is idle.
func (h *HCA) BusyUntil() sim.Time { return h.busyUntil }

// Hold keeps the sending engine busy until a time: the network or the receiver
// has not taken the last burst yet.
func (h *HCA) Hold(until sim.Time) { h.busyUntil = max(h.busyUntil, until) }

// Waiting tells whether any send queue holds a request.
func (h *HCA) Waiting() bool { return h.sends.current >= 0 }

// Next starts the next burst at time now, when the engine must be idle, and
// returns the time at which its first byte goes out and the time at which the
// engine is free again; false if all send queues are empty.
func (h *HCA) Next(now sim.Time) (b Burst, first, end sim.Time, ok bool) {
	if now < h.busyUntil {
		panic("hca: a burst while the engine is busy")
	}
	b, ok = h.sends.next()
	if !ok {
		return b, 0, 0, false
	}
	first, end = h.send(now, b)
	return b, first, end, true
}

// Express is Post and Next in one for a request that finds the engine idle and
// all send queues empty, as most do where there is no contention: it does not
// touch the queues. It returns false, and does nothing, if they are not empty
// or the request needs more than one turn.
func (h *HCA) Express(now sim.Time, r Request) (b Burst, first, end sim.Time, ok bool) {
	if now < h.busyUntil || h.sends.current >= 0 || r.Bytes > h.sends.quantum {
		return b, 0, 0, false
	}
	h.Stats.Requests++
	b = h.sends.express(r)
	first, end = h.send(now, b)
	return b, first, end, true
}

// send occupies the engine with a burst from time now on.
func (h *HCA) send(now sim.Time, b Burst) (first, end sim.Time) {
	first = now
	if b.First {
		first += h.config.RequestTime
	}
	if b.Turned {
		first += h.config.SwitchTime
	}
	first += h.load(b.QP)
	end = first + h.occupied(&h.sending, b.Size)
	h.Stats.Bursts++
	h.Stats.Bytes += b.Size
	h.Stats.SendBusy += end - now
	h.busyUntil = end
	return first, end
}

// load is the engine time for getting at the context of a QP.
func (h *HCA) load(qp QP) sim.Time {
	if h.cache.touch(qp) {
		return 0
	}
	h.Stats.ContextMisses++
	h.Stats.MissTime += h.config.ContextMiss
	return h.config.ContextMiss
}

// occupied is the engine time for so many bytes.
func (h *HCA) occupied(s *serializer, bytes int64) sim.Time {
	t := s.time(bytes, h.rate)
	if h.config.PacketTime > 0 {
		mtu := int64(h.config.MTU)
		t += h.config.PacketTime * sim.Time(max(1, (bytes+mtu-1)/mtu))
	}
	return t
}

// Receive takes in a burst on QP whose first byte arrives at time first and
// last byte at time last, and returns when the data are in memory. Bursts must
// be given in the order of their first bytes. The engine takes bytes as they
// come, at its own rate, one burst after another.
func (h *HCA) Receive(qp QP, bytes int64, first, last sim.Time) sim.Time {
	start := max(first, h.recvUntil)
	end := start + h.load(qp) + h.occupied(&h.receiving, bytes)
	h.Stats.RecvBusy += end - start
	h.recvUntil = end
	return max(end, last)
}

// Config is the adapter's configuration.
func (h *HCA) Config() *Config { return h.config }
