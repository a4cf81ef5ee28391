package fabric

import (
	"slices"

	"github.com/weft-sim/weft/sim/snapshot"
)

// letterNumbers numbers the letters that are in use: by the packets that carry them, then
// by the timers that run for them.
type letterNumbers struct {
	number []int32 // by id, + 1
	ids    []int32
	count  int
}

func (n *letterNumbers) see(id int32) {
	if n.number[id] == 0 {
		n.ids = append(n.ids, id)
		n.number[id] = int32(len(n.ids))
	}
}

// numberLetters numbers those of a network that is written.
func (x *archiver) numberLetters() {
	n, faults := &x.letters, x.f.faults
	n.number = make([]int32, int(faults.letters.used.Load())*chunkPackets)
	for _, id := range x.ids {
		n.see(int32(x.f.packet(id).tag))
	}
	for t := range faults.senders {
		s := &faults.senders[t]
		for _, timer := range s.timers[s.first:] {
			n.see(timer.letter)
		}
	}
	n.count = len(n.ids)
}

// letter archives the number of a letter in place of its id.
func (x *archiver) letter(id *int32) {
	n := *id
	if !x.Reading() {
		n = x.letters.number[n] - 1
	}
	snapshot.Int(x.Archive, &n)
	x.Check(n >= 0 && int(n) < x.letters.count, "letter %d of %d", n, x.letters.count)
	if x.Reading() {
		*id = n
	}
}

// letterTable archives the letters. Domain 0 has those that are not in use, and what is
// counted; which domain has them makes no difference.
func (x *archiver) letterTable() {
	a, f := x.Archive, x.f
	if f.faults == nil {
		return
	}
	a.Mark("letters")
	snapshot.Int(a, &x.letters.count)
	n := x.letters.count
	x.Check(n >= 0 && n <= maxChunks*chunkPackets, "%d letters", n)
	r := f.domains[0].retry
	for i := 0; i < n && a.Err() == nil; i++ {
		id := int32(i)
		if !a.Reading() {
			id = x.letters.ids[i]
		} else if i%chunkPackets == 0 {
			r.unused = f.faults.letters.more(r.unused)
		}
		archiveLetter(a, f.faults.letters.at(id))
	}
	if a.Reading() {
		r.unused = slices.DeleteFunc(r.unused, func(id int32) bool { return int(id) < n })
	}
}

// faults archives what is down, what is known of it, and the timers.
func (x *archiver) faults() {
	a, f, faults := x.Archive, x.f, x.f.faults
	if faults == nil {
		return
	}
	a.Mark("faults")
	snapshot.Int(a, &faults.origin)
	x.Check(faults.origin == 0 || faults.plan.AfterWarmup && faults.origin > 0 && (faults.origin <= f.Cycle() || faults.origin == Never), "eras count from cycle %d", faults.origin)
	snapshot.Int(a, &faults.now)
	snapshot.Int(a, &faults.known)
	eras := len(faults.plan.Eras)
	x.Check(faults.now >= 0 && faults.now < eras && faults.known >= 0 && faults.known <= faults.now, "era %d, known %d, of %d", faults.now, faults.known, eras)
	pending, tally, doomed := 0, f.FaultTally(), []int32(nil)
	for _, d := range f.domains {
		pending += d.retry.pending
		doomed = append(doomed, d.doomed...)
	}
	for t := range faults.senders {
		s := &faults.senders[t]
		timers := s.timers[s.first:]
		snapshot.List(a, &timers, func(a *snapshot.Archive, t *timer) { snapshot.Int(a, &t.end); x.letter(&t.letter) })
		if a.Reading() {
			*s = sender{timers: timers}
		}
	}
	if !a.Reading() {
		slices.SortFunc(doomed, func(a, b int32) int { return int(x.number[a] - x.number[b]) })
		doomed = slices.Compact(doomed)
	}
	snapshot.List(a, &doomed, func(_ *snapshot.Archive, id *int32) {
		flags := *id << packetBits
		x.packet(&flags)
		if x.Reading() {
			*id = flags >> packetBits
		}
	})
	snapshot.Int(a, &pending)
	for _, n := range []*int64{&tally.Dropped, &tally.Retransmitted, &tally.Duplicates, &tally.Lost, &tally.Unreachable, &tally.GivenUpFlits, &tally.WastedFlits} {
		snapshot.Int(a, n)
	}
	if a.Reading() && a.Err() == nil {
		first := f.domains[0]
		first.doomed, first.retry.pending, first.retry.tally = doomed, pending, tally
		faults.down = faults.plan.Eras[faults.now].Down
		faults.learn(faults.known)
	}
}

func archiveLetter(a *snapshot.Archive, l *letter) {
	archiveSpec(a, &l.spec)
	snapshot.Int(a, &l.acked)
	snapshot.Int(a, &l.tries)
	snapshot.Int(a, &l.sent)
	snapshot.Int(a, &l.landed)
	snapshot.Bool(a, &l.timed)
	snapshot.Bool(a, &l.delivered)
	snapshot.Bool(a, &l.noPath)
	snapshot.Bool(a, &l.heard)
}

func archiveSpec(a *snapshot.Archive, s *PacketSpec) {
	snapshot.Int(a, &s.Birth)
	snapshot.Int(a, &s.Dst)
	snapshot.Int(a, &s.Flits)
	snapshot.Int(a, &s.Tag)
	snapshot.Int(a, &s.VCs)
	snapshot.Int(a, &s.MLID)
}
