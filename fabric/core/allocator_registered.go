package core

import "github.com/weft-sim/weft/fabric/allocator"

// neverTuned, which only tests set, lets the registered allocators do what
// allocateSwitch can itself.
var neverTuned bool

// newAllocators makes the allocators of all switches; nil where allocateSwitch does
// without: iSLIP and input-first are played out by allocateSwitch itself, on the records
// of ports.
func newAllocators(n *network) ([]allocator.Allocator, error) {
	chosen := &n.config.Switch.Allocator
	name := chosen.Name()
	if (name == allocator.ISLIP || name == allocator.InputFirst) && !neverTuned {
		return nil, nil
	}
	bySwitch := make([]allocator.Allocator, len(n.switches))
	for s := range n.switches {
		env := allocator.Env{Ports: max(1, int(n.switches[s].ports)), VCs: n.vcs, Iterations: n.config.Switch.Iterations, Switch: s, Seed: n.seed}
		var err error
		if bySwitch[s], err = chosen.Build(env); err != nil {
			return nil, err
		}
	}
	return bySwitch, nil
}

// registered is the memory that switch allocation by registered allocators works in.
type registered struct {
	reads    allocator.Traits
	requests []allocator.Request
	matches  []int
	chosen   []request
}

func newRegistered(d *domain) *registered {
	n := len(d.matcher.requests)
	return &registered{allocator.TraitsOf(d.config.Switch.Allocator.Name()), make([]allocator.Request, n), make([]int, 0, n), make([]request, 0, n)}
}

// allocate lets the allocator of a switch choose among some requests, and sends
// what it chose through the crossbar.
func (a *registered) allocate(d *domain, sw *switchState, requests []request, t *stepTime) {
	if len(requests) == 0 {
		return
	}
	for i, r := range requests {
		local := r.local()
		a.requests[i] = allocator.Request{Input: uint16(r.port()), VC: d.matcher.places[local].vc, Output: uint16(r.output())}
		if a.reads.Ages {
			a.requests[i].Born = d.packet(sw.queue(local).packet >> packetBits).birth
		}
		if a.reads.Queues {
			a.requests[i].Queued = sw.queue(local).count
		}
	}
	a.matches = d.allocators[d.wordSwitch[sw.queue0>>6]].Allocate(a.requests[:len(requests)], a.matches[:0])
	a.chosen = a.chosen[:0]
	for _, k := range a.matches {
		a.chosen = append(a.chosen, requests[k])
	}
	d.cross(sw, a.chosen, t, false)
}
