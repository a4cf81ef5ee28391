package core

import "github.com/weft-sim/weft/sim/snapshot"

// observed archives what the observers of the network have seen, and what is noted for them.
func (x *Archiver) observed() {
	a, f := x.Archive, x.Fabric
	a.Mark("observers")
	is := f.observer != nil
	snapshot.Bool(a, &is)
	if x.Check(is == (f.observer != nil), "one of the state's run and this one is observed (blame, traces), and the other is not"); a.Err() != nil || !is {
		return
	}
	if d := f.domains[0]; d.Unit != nil && d.Unit.Followed != nil {
		x.passings(d.Unit.Followed)
	}
	f.observer.Archive(x)
}

// passings archives how packets as the unit are under way that are.
func (x *Archiver) passings(w *followed) {
	x.underWay(func(queue int32) { snapshot.Value(x.Archive, &w.passing[queue]) })
}

// Archive implements observer: each of them in turn.
func (all observers) Archive(x *Archiver) {
	for _, o := range all {
		o.Archive(x)
	}
}
