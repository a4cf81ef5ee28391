package congestion

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Feedback is what an answer says of the path of a packet.
type Feedback uint8

// Feedback of a path.
const (
	Clear        Feedback = iota // acknowledged, not marked
	Marked                       // acknowledged, marked
	Trimmed                      // trimmed on a hop that other paths may avoid
	TrimmedAtEnd                 // trimmed on the last hop, which all paths share
	TimedOut                     // not answered in time
)

// Sprayer chooses the entropies of a flow's packets, from which switches choose paths.
type Sprayer interface {
	// Next is the entropy of the packet that is sent now.
	Next(now sim.Time) uint16
	// Heard takes the answer to a packet of an entropy into account.
	Heard(now sim.Time, entropy uint16, f Feedback)
	// Archive writes what it remembers, or reads it into one of the same settings and flow.
	Archive(a *snapshot.Archive)
}

// SprayEnv is the flow that a [Sprayer] is made for.
type SprayEnv struct {
	Seed uint64
	Flow int
}

// Sprayers holds every way to spray packets that experiment files can name.
var Sprayers = param.NewRegistry[SprayEnv, Sprayer]("spraying")

// Spraying is a setting that names one of them, whose settings stand beside it.
type Spraying = param.Choice[SprayEnv, Sprayer]

// Entropies is the setting that all ways to spray packets have.
type Entropies struct {
	Entropies int `toml:"entropies" doc:"entropies of a flow, a power of two; 1: all of its packets take one path, but for the choices of switches" min:"1" max:"65536"`
}

// Validate checks the number of entropies; see [param.Validate].
func (e *Entropies) Validate() error {
	if e.Entropies&(e.Entropies-1) != 0 {
		return &param.ParamError{Key: "entropies", Value: e.Entropies, Want: "a power of two"}
	}
	return nil
}

// Penalties are the settings of ways to spray that pass over entropies of congested paths.
type Penalties struct {
	Mark    int `toml:"penalty_mark" doc:"turns that an entropy is passed over for a mark" min:"0" max:"255"`
	Trim    int `toml:"penalty_trim" doc:"for a trimmed packet, but on its last hop" min:"0" max:"255"`
	Timeout int `toml:"penalty_timeout" doc:"for a timeout: of the first entropy, as the sender does not know whose packet is late" min:"0" max:"255"`
	Most    int `toml:"penalty_most" doc:"turns at most" min:"1" max:"255"`
}

// Skipping holds the settings of "bitmap" and "mixed".
type Skipping struct {
	Entropies
	Penalties
}

// Recycling holds the settings of "reps".
type Recycling struct {
	Entropies
	Ring    int      `toml:"ring_entropies" doc:"entropies of unmarked acknowledgements that are kept" min:"1" max:"4096"`
	Freeze  sim.Time `toml:"freeze" doc:"after a timeout, during which those that are kept are used again and again" min:"0ns"`
	Explore int      `toml:"explore_packets" doc:"packets with random entropies after it" unit:"packets" min:"0"`
}

func init() {
	entropies := Entropies{64}
	skipping := Skipping{entropies, Penalties{Mark: 1, Trim: 4, Timeout: 15, Most: 15}}
	param.Register(Sprayers, "oblivious", "all entropies in turn, in an order that changes after each round", entropies,
		func(c Entropies, e SprayEnv) (Sprayer, error) { w := newWalk(c, e); return &w, nil })
	param.Register(Sprayers, "bitmap", "all entropies in turn, but those whose packets were marked, trimmed or late", skipping,
		func(c Skipping, e SprayEnv) (Sprayer, error) { return newBitmap(c, e), nil })
	param.Register(Sprayers, "mixed", "entropies of unmarked acknowledgements once more; if there is none, as bitmap", skipping,
		func(c Skipping, e SprayEnv) (Sprayer, error) { return &mixed{bitmap: *newBitmap(c, e)}, nil })
	param.Register(Sprayers, "reps", "the last entropies of unmarked acknowledgements once more; if there is none, a random one",
		Recycling{entropies, 8, 10 * sim.Millisecond, 16},
		func(c Recycling, e SprayEnv) (Sprayer, error) {
			return &reps{c: c, walk: newWalk(c.Entropies, e), ring: make([]uint16, c.Ring)}, nil
		})
}

// walk is "oblivious": entropy i xor x for each i in turn, x drawn anew in each round.
type walk struct {
	mask   uint16 // entropies - 1
	upper  uint16 // bits beyond it, which stay
	stream sim.Stream
	index  int
	xor    uint16
}

func newWalk(c Entropies, e SprayEnv) walk {
	w := walk{mask: uint16(c.Entropies - 1), stream: sim.NewStream(e.Seed, "spraying", e.Flow)}
	drawn := uint16(w.stream.Uint64())
	w.upper, w.xor = drawn&^w.mask, drawn&w.mask
	return w
}

// here is the entropy that is next.
func (w *walk) here() uint16 { return uint16(w.index) ^ w.xor }

// advance moves on to the one after it.
func (w *walk) advance() {
	if w.index++; w.index > int(w.mask) {
		w.index = 0
		w.xor = w.draw()
	}
}

// draw is one of the entropies, without the upper bits.
func (w *walk) draw() uint16 { return uint16(w.stream.Uint64()) & w.mask }

// Next implements [Sprayer].
func (w *walk) Next(sim.Time) uint16 {
	e := w.here()
	w.advance()
	return w.upper | e
}

// Heard implements [Sprayer]: it does not listen.
func (w *walk) Heard(sim.Time, uint16, Feedback) {}

// Archive implements [Sprayer].
func (w *walk) Archive(a *snapshot.Archive) {
	sim.ArchiveStream(a, &w.stream)
	snapshot.Int(a, &w.index)
	snapshot.Int(a, &w.xor)
	a.Check(w.index >= 0 && w.index <= int(w.mask), "a walk over %d entropies is at number %d", int(w.mask)+1, w.index)
}

// bitmap passes over the entropies that have a penalty. Of those that it passes over on the way
// to one packet, the first loses one of it.
type bitmap struct {
	c Penalties
	walk
	penalty []uint8 // by entropy
}

func newBitmap(c Skipping, e SprayEnv) *bitmap {
	return &bitmap{c.Penalties, newWalk(c.Entropies, e), make([]uint8, c.Entropies.Entropies)}
}

// Next implements [Sprayer]. If all entropies have a penalty it takes one all the same.
func (b *bitmap) Next(now sim.Time) uint16 {
	if p := &b.penalty[b.here()]; *p > 0 {
		*p--
		b.advance()
		for n := 1; n < len(b.penalty) && b.penalty[b.here()] > 0; n++ {
			b.advance()
		}
	}
	return b.walk.Next(now)
}

// Heard implements [Sprayer].
func (b *bitmap) Heard(_ sim.Time, entropy uint16, f Feedback) {
	entropy &= b.mask
	penalty := 0
	switch f {
	case Marked:
		penalty = b.c.Mark
	case Trimmed:
		penalty = b.c.Trim
	case TimedOut:
		entropy, penalty = 0, b.c.Timeout
	}
	p := &b.penalty[entropy]
	*p = uint8(min(int(*p)+penalty, b.c.Most))
}

// Archive implements [Sprayer].
func (b *bitmap) Archive(a *snapshot.Archive) {
	b.walk.Archive(a)
	snapshot.Array(a, "penalties", b.penalty, snapshot.Int)
}

// mixed takes the entropies of unmarked acknowledgements in the order in which they came.
type mixed struct {
	bitmap
	good fifo[uint16]
}

// Next implements [Sprayer].
func (m *mixed) Next(now sim.Time) uint16 {
	if m.good.size() > 0 {
		return m.good.pop()
	}
	return m.bitmap.Next(now)
}

// Heard implements [Sprayer].
func (m *mixed) Heard(now sim.Time, entropy uint16, f Feedback) {
	if f == Clear || f == TrimmedAtEnd {
		m.good.push(entropy)
	}
	m.bitmap.Heard(now, entropy, f)
}

// Archive implements [Sprayer].
func (m *mixed) Archive(a *snapshot.Archive) {
	m.bitmap.Archive(a)
	snapshot.Value(a, &m.good)
	a.Check(m.good.head >= 0 && m.good.size() >= 0, "%d of %d entropies have been taken", m.good.head, len(m.good.items))
}

// reps recycles entropies that have served well (Bonato et al., "REPS: recycled entropy packet
// spraying for adaptive load balancing and failure mitigation", arXiv 2407.21625), with a ring of
// [Recycling.Ring] entropies.
type reps struct {
	c Recycling
	walk
	ring    []uint16
	last    int // where the next one is written
	kept    int // in the ring
	fresh   int // of those, not used: the last ones written
	again   int // used next while frozen
	frozen  bool
	thaw    sim.Time
	explore int // packets yet to be sent with random entropies
}

// Next implements [Sprayer].
func (r *reps) Next(now sim.Time) uint16 {
	r.warm(now)
	switch {
	case r.explore > 0:
		r.explore--
	case r.frozen && r.kept > 0:
		r.again = (r.again + 1) % r.kept
		return r.ring[r.again]
	case r.fresh > 0:
		at := (r.last - r.fresh + len(r.ring)) % len(r.ring)
		r.fresh--
		return r.ring[at]
	}
	return r.upper | r.draw()
}

// warm ends a freeze whose time is over.
func (r *reps) warm(now sim.Time) {
	if r.frozen && now >= r.thaw {
		r.frozen, r.explore = false, r.c.Explore
	}
}

// Heard implements [Sprayer].
func (r *reps) Heard(now sim.Time, entropy uint16, f Feedback) {
	r.warm(now)
	switch {
	case f == TimedOut && !r.frozen && r.explore == 0:
		r.frozen, r.thaw = true, now+r.c.Freeze
	case f == Clear || f == TrimmedAtEnd:
		r.ring[r.last] = entropy
		r.last = (r.last + 1) % len(r.ring)
		r.kept = min(r.kept+1, len(r.ring))
		r.fresh = min(r.fresh+1, len(r.ring))
	}
}

// Archive implements [Sprayer].
func (r *reps) Archive(a *snapshot.Archive) {
	r.walk.Archive(a)
	snapshot.Array(a, "entropies", r.ring, snapshot.Int)
	for _, n := range []*int{&r.last, &r.kept, &r.fresh, &r.again, &r.explore} {
		snapshot.Int(a, n)
	}
	snapshot.Bool(a, &r.frozen)
	snapshot.Int(a, &r.thaw)
	n := len(r.ring)
	a.Check(r.last >= 0 && r.last < n && 0 <= r.fresh && r.fresh <= r.kept && r.kept <= n && r.again >= 0 && r.again < n && r.explore >= 0,
		"a ring of %d entropies has %d, %d of them unused, and goes on at %d and %d", n, r.kept, r.fresh, r.last, r.again)
}
