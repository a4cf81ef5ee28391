package fabric

import "github.com/weft-sim/weft/fabric/allocator"

// neverTuned, which only tests set, lets the registered allocators do what
// allocateSwitch can itself.
var neverTuned bool

// registered is what switch allocation by a registered allocator needs. iSLIP and
// input-first are played out by allocateSwitch itself, on the records of ports.
type registered struct {
	bySwitch []allocator.Allocator
	ages     bool // it reads births
	requests []allocator.Request
	matches  []int
	chosen   []request
}

// newRegistered makes the allocators of all switches; nil where allocateSwitch does
// without.
func newRegistered(f *Fabric) (*registered, error) {
	name := f.config.Switch.Allocator
	if (name == allocator.ISLIP || name == allocator.InputFirst) && !neverTuned {
		return nil, nil
	}
	a := &registered{bySwitch: make([]allocator.Allocator, len(f.switches)), ages: allocator.TraitsOf(name).Ages}
	for s := range f.switches {
		env := allocator.Env{Ports: max(1, int(f.switches[s].ports)), VCs: f.vcs, Iterations: f.config.Switch.Iterations}
		var err error
		if a.bySwitch[s], err = allocator.Registry.New(name, env); err != nil {
			return nil, err
		}
	}
	return a.part(f), nil
}

// part is a with scratch memory of its own, for a part of f.
func (a *registered) part(f *Fabric) *registered {
	n := len(f.alloc.requests)
	return &registered{bySwitch: a.bySwitch, ages: a.ages, requests: make([]allocator.Request, n), matches: make([]int, 0, n), chosen: make([]request, 0, n)}
}

// allocate lets the allocator of a switch choose among some requests, and sends
// what it chose through the crossbar.
func (a *registered) allocate(f *Fabric, sw *switchState, requests []request, t *stepTime) {
	if len(requests) == 0 {
		return
	}
	for i, r := range requests {
		local := r.local()
		a.requests[i] = allocator.Request{Input: uint16(r.port()), VC: f.alloc.places[local].vc, Output: uint16(r.output())}
		if a.ages {
			a.requests[i].Born = f.packet(sw.queue(local).packet >> packetBits).birth
		}
	}
	a.matches = a.bySwitch[f.wordSwitch[sw.queue0>>6]].Allocate(a.requests[:len(requests)], a.matches[:0])
	a.chosen = a.chosen[:0]
	for _, k := range a.matches {
		a.chosen = append(a.chosen, requests[k])
	}
	f.cross(sw, a.chosen, t, false)
}
