package core

import (
	"github.com/weft-sim/weft/fabric"
)

// Observe adds an observer. Only before the network is attached, or divided among threads.
func (f *Fabric) Observe(o Observer) {
	switch before := f.observer.(type) {
	case nil:
		f.observer = o
	case observers:
		f.observer = append(before, o)
	default:
		f.observer = observers{before, o}
	}
}

type observers []Observer

func (all observers) each(tell func(Observer)) {
	for _, o := range all {
		tell(o)
	}
}

func (all observers) Part(d *Domain) Observer {
	parts := make(observers, len(all))
	for i, o := range all {
		parts[i] = o.Part(d)
	}
	return parts
}

func (all observers) Gather()                     { all.each(Observer.Gather) }
func (all observers) Begins(d *Domain)            { all.each(func(o Observer) { o.Begins(d) }) }
func (all observers) Injects(d *Domain, t int32)  { all.each(func(o Observer) { o.Injects(d, t) }) }
func (all observers) Injected(d *Domain, t int32) { all.each(func(o Observer) { o.Injected(d, t) }) }

func (all observers) Arrived(d *Domain, flits []Flit) {
	all.each(func(o Observer) { o.Arrived(d, flits) })
}

func (all observers) Sleeps(d *Domain, queue int32, part Part) {
	all.each(func(o Observer) { o.Sleeps(d, queue, part) })
}

func (all observers) Resumes(d *Domain, queue int32, part Part) {
	all.each(func(o Observer) { o.Resumes(d, queue, part) })
}

func (all observers) Blocked(d *Domain, queue int32, out *OutPort) {
	all.each(func(o Observer) { o.Blocked(d, queue, out) })
}

func (all observers) GrantedVC(d *Domain, sw *SwitchState, matches []Request, step uint32) {
	all.each(func(o Observer) { o.GrantedVC(d, sw, matches, step) })
}

func (all observers) GrantedSwitch(d *Domain, sw *SwitchState, matches []Request, t *StepTime) {
	all.each(func(o Observer) { o.GrantedSwitch(d, sw, matches, t) })
}

func (all observers) TailCrosses(d *Domain, sw *SwitchState, m Request, t *StepTime, leaves int64) {
	all.each(func(o Observer) { o.TailCrosses(d, sw, m, t, leaves) })
}

func (all observers) Delivered(d *Domain, packet int32, delivery *fabric.Delivery) {
	all.each(func(o Observer) { o.Delivered(d, packet, delivery) })
}

func (all observers) Discarded(d *Domain, packet int32) {
	all.each(func(o Observer) { o.Discarded(d, packet) })
}

func (all observers) Uncovered(d *Domain, queue int32) {
	all.each(func(o Observer) { o.Uncovered(d, queue) })
}

func (all observers) EndCycle(d *Domain)  { all.each(func(o Observer) { o.EndCycle(d) }) }
func (all observers) Archive(x *Archiver) { all.each(func(o Observer) { o.Archive(x) }) }

func (all observers) Next() int64 {
	next := fabric.Never
	all.each(func(o Observer) { next = min(next, o.Next()) })
	return next
}
