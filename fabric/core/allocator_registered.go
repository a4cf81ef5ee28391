package core

import "github.com/weft-sim/weft/fabric/allocator"

// neverTuned, which only tests set, lets the registered allocators do what
// allocateSwitch can itself.
var neverTuned bool

// newAllocators makes the allocators of all switches; nil where allocateSwitch does
// without: iSLIP and input-first are played out by allocateSwitch itself, on the records
// of ports.
func newAllocators(n *network) ([]allocator.Allocator, error) {
	chosen := &n.Config.Switch.Allocator
	name := chosen.Name()
	if (name == allocator.ISLIP || name == allocator.InputFirst) && !neverTuned {
		return nil, nil
	}
	bySwitch := make([]allocator.Allocator, len(n.Switches))
	for s := range n.Switches {
		env := allocator.Env{Ports: max(1, int(n.Switches[s].Ports)), VCs: n.vcs, Iterations: n.Config.Switch.Iterations, Switch: s, Seed: n.seed}
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
	chosen   []Request
}

func newRegistered(d *Domain) *registered {
	n := len(d.Matcher.requests)
	return &registered{allocator.TraitsOf(d.Config.Switch.Allocator.Name()), make([]allocator.Request, n), make([]int, 0, n), make([]Request, 0, n)}
}

// allocate lets the allocator of a switch choose among some requests, and sends
// what it chose through the crossbar.
func (a *registered) allocate(d *Domain, sw *SwitchState, requests []Request, t *StepTime) {
	if len(requests) == 0 {
		return
	}
	for i, r := range requests {
		local := r.Local()
		a.requests[i] = allocator.Request{Input: uint16(r.Port()), VC: d.Matcher.Places[local].vc, Output: uint16(r.Output())}
		if a.reads.Ages {
			a.requests[i].Born = d.Packet(sw.Queue(local).Packet >> PacketBits).Birth
		}
		if a.reads.Queues {
			a.requests[i].Queued = sw.Queue(local).Count
		}
	}
	a.matches = d.allocators[d.WordSwitch[sw.Queue0>>6]].Allocate(a.requests[:len(requests)], a.matches[:0])
	a.chosen = a.chosen[:0]
	for _, k := range a.matches {
		a.chosen = append(a.chosen, requests[k])
	}
	d.cross(sw, a.chosen, t, false)
}
