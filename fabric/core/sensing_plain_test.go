package core_test

import (
	"math"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// plainSensing is credit sensing by its definition: what is ready in the fabric
// is worked out from all round trips whenever it is asked for.
type plainSensing struct {
	g    *topology.Graph
	vcs  int
	out  [][]int64 // by output virtual channel: cycles in which the flits were granted whose credits are out
	next []int     // how many of those are before the one that is timed; -1: none
	trip []int64   // the last that was timed; 0: none
	idle []int64   // by port: the shortest; 0: none
}

func (s *plainSensing) granted(in topology.PortID, ov int, c int64) (late int64) {
	s.out[ov] = append(s.out[ov], c)
	if s.next[ov] < 0 {
		s.next[ov] = len(s.out[ov]) - 1
	}
	if s.g.Classes[s.g.PortClass[in]].Name == "global" {
		return 0
	}
	least := int64(math.MaxInt64)
	first, end := s.g.Ports(s.g.PortSwitch[in])
	for p := first; p < end; p++ {
		if s.g.Peer[p] < 0 {
			continue
		}
		ofPort := int64(math.MaxInt64)
		for vc := range s.vcs {
			if own := int(p)*s.vcs + vc; s.trip[own] > 0 {
				ofPort = min(ofPort, s.trip[own]-s.idle[p])
			}
		}
		if ofPort == math.MaxInt64 {
			ofPort = 0
		}
		least = min(least, ofPort)
	}
	excess := int64(0)
	if s.trip[ov] > 0 {
		excess = s.trip[ov] - s.idle[ov/s.vcs]
	}
	return max(0, excess-least)
}

func (s *plainSensing) back(ov int, c int64) {
	if s.next[ov] == 0 {
		s.trip[ov] = c - s.out[ov][0]
		if port := ov / s.vcs; s.idle[port] == 0 || s.trip[ov] < s.idle[port] {
			s.idle[port] = s.trip[ov]
		}
	}
	s.out[ov] = s.out[ov][1:]
	s.next[ov] = max(-1, s.next[ov]-1)
}

// TestSensingIsAsDefined drives the sensing of a switch with flits and credits
// at random: two outputs to switches in the group and one out of it, 2 virtual
// channels each. Round trips are few cycles long, so that every port, and with
// all of them the switch, is often without congestion and often not.
func TestSensingIsAsDefined(t *testing.T) {
	n := dragonflyNetwork(t, "min", 1, 3, 1)
	g := n.topo.Graph()
	config := fabric.DefaultConfig()
	config.Switch.VCs, config.Switch.CreditSensing = 2, "on"
	f := n.fabric(t, config)
	ovs := g.NumPorts() * 2
	plain := &plainSensing{g: g, vcs: 2, out: make([][]int64, ovs), next: make([]int, ovs), trip: make([]int64, ovs), idle: make([]int64, g.NumPorts())}
	for i := range plain.next {
		plain.next[i] = -1
	}
	random := sim.NewStream(1, "test", 0)
	first, end := g.Ports(0)
	lateOnes, allLate := 0, 0
	for c := int64(1); c < 20_000; c++ {
		for range 3 {
			ov := int(first)*2 + random.IntN(int(end-first)*2)
			if g.Peer[ov/2] < 0 {
				continue
			}
			if len(plain.out[ov]) > 0 && (len(plain.out[ov]) == 4 || random.IntN(2) == 0) && plain.out[ov][0]+3 <= c {
				plain.back(ov, c)
				f.CreditBack(int32(ov), c)
				continue
			}
			if len(plain.out[ov]) == 4 {
				continue
			}
			in := first + topology.PortID(random.IntN(int(end-first)))
			want := plain.granted(in, ov, c)
			got := f.Granted(in, int32(ov), int32(len(plain.out[ov])), c)
			simtest.FatalIf(t, got != want,
				"cycle %d: credit over port %d of a flit to %d is %d cycles late, want %d", c, in, ov, got, want)
			if want > 0 {
				lateOnes++
			} else if plain.trip[ov] > plain.idle[ov/2] && g.Classes[g.PortClass[in]].Name != "global" {
				allLate++
			}
		}
	}
	simtest.ErrorIf(t, lateOnes < 1000 || allLate < 100,
		"%d credits were late, %d not because all ports are congested: the test shows little", lateOnes, allLate)
}
