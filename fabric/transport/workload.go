package transport

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/sim"
)

// Sizes is a distribution of flow sizes: shares below so many bytes, between which it is
// straight.
type Sizes []struct{ Bytes, Share float64 }

// SizesOf are distributions as published with the simulator of HPCC (Li et al., SIGCOMM 2019):
// web search (Alizadeh et al., SIGCOMM 2010), Hadoop clusters (Roy et al., SIGCOMM 2015), and
// storage at Alibaba in 2019.
var SizesOf = map[string]Sizes{
	"web-search":  {{0, 0}, {10e3, 15}, {20e3, 20}, {30e3, 30}, {50e3, 40}, {80e3, 53}, {200e3, 60}, {1e6, 70}, {2e6, 80}, {5e6, 90}, {10e6, 97}, {30e6, 100}},
	"hadoop":      {{0, 0}, {100, 1}, {200, 2}, {300, 5}, {350, 15}, {400, 20}, {500, 30}, {600, 40}, {700, 50}, {1e3, 60}, {2e3, 67}, {7e3, 70}, {30e3, 72}, {50e3, 82}, {80e3, 87}, {120e3, 90}, {300e3, 95}, {1e6, 97.5}, {2e6, 99}, {10e6, 100}},
	"ali-storage": {{0, 0}, {4e3, 22.93}, {8e3, 69.21}, {16e3, 80.61}, {32e3, 90.47}, {64e3, 93.53}, {128e3, 96.77}, {256e3, 97.53}, {2e6, 100}},
}

// Mean is the mean size in bytes.
func (d Sizes) Mean() float64 {
	sum := 0.0
	for i := 1; i < len(d); i++ {
		sum += (d[i].Share - d[i-1].Share) / 100 * (d[i].Bytes + d[i-1].Bytes) / 2
	}
	return sum
}

// Draw is a size, at least a byte.
func (d Sizes) Draw(s *sim.Stream) int64 {
	share := 100 * s.Float64()
	i := 1
	for d[i].Share < share {
		i++
	}
	a, b := d[i-1], d[i]
	return max(1, int64(math.Round(a.Bytes+(b.Bytes-a.Bytes)*(share-a.Share)/(b.Share-a.Share))))
}

// Permutation sends a flow from every terminal to another one: a cycle through all, drawn at
// random.
func Permutation(terminals int, bytes int64, seed uint64) (flows []Flow) {
	order := make([]int, terminals)
	for t := range order {
		order[t] = t
	}
	s := sim.NewStream(seed, "permutation of flows", 0)
	sim.Shuffle(&s, order)
	next := make([]int, terminals)
	for i, t := range order {
		next[t] = order[(i+1)%terminals]
	}
	for t := range terminals {
		flows = append(flows, Flow{ID: t + 1, Src: t, Dst: next[t], Bytes: bytes})
	}
	return flows
}

// Incast sends a flow from each of so many terminals behind the receiver to it.
func Incast(terminals, senders, receiver int, bytes int64) (flows []Flow, err error) {
	if receiver >= terminals {
		return nil, fmt.Errorf("receiver %d: want a terminal of 0 to %d", receiver, terminals-1)
	}
	if senders >= terminals {
		return nil, fmt.Errorf("%d senders: want at most %d, the other terminals", senders, terminals-1)
	}
	for i := 1; i <= senders; i++ {
		flows = append(flows, Flow{ID: i, Src: (receiver + i) % terminals, Dst: receiver, Bytes: bytes})
	}
	return flows, nil
}

// Victim is an incast, and behind it in the list a flow that shares switches with it and no
// cable to a terminal: from the fifth terminal behind the receiver to the next one, which take
// no part in the incast.
func Victim(terminals, senders, receiver int, bytes int64) (flows []Flow, err error) {
	if terminals < 7 || senders > terminals-3 {
		return nil, fmt.Errorf("%d senders of %d terminals: want at most the terminals without receiver and victim, and seven terminals", senders, terminals)
	}
	if receiver >= terminals {
		return nil, fmt.Errorf("receiver %d: want a terminal of 0 to %d", receiver, terminals-1)
	}
	for i := 2; len(flows) < senders; i++ {
		if i != 5 {
			flows = append(flows, Flow{ID: len(flows) + 1, Src: (receiver + i) % terminals, Dst: receiver, Bytes: bytes})
		}
	}
	return append(flows, Flow{ID: len(flows) + 1, Src: (receiver + 5) % terminals, Dst: (receiver + 1) % terminals, Bytes: bytes}), nil
}

// AllToAll sends a flow from every terminal to every other, one behind the other: first to the
// next terminal, then to the one behind it, and so on.
func AllToAll(terminals int, bytes int64) (flows []Flow, triggers []Trigger) {
	for t := range terminals {
		for i := 1; i < terminals; i++ {
			f := Flow{ID: len(flows) + 1, Src: t, Dst: (t + i) % terminals, Bytes: bytes}
			if i > 1 {
				f.After = len(triggers)
			}
			if i < terminals-1 {
				triggers = append(triggers, Trigger{len(triggers) + 1, 1})
				f.Fires = len(triggers)
			}
			flows = append(flows, f)
		}
	}
	return flows, triggers
}

// Poisson sends flows between random terminals at random times: every terminal sends load of
// rate in the mean. sizes nil: of bytes each.
func Poisson(terminals int, sizes Sizes, bytes int64, load float64, rate sim.Rate, duration sim.Time, seed uint64) ([]Flow, error) {
	mean := float64(bytes)
	if sizes != nil {
		mean = sizes.Mean()
	}
	gap := mean * 8e12 / (load * float64(rate) * float64(terminals)) // ps
	if n := float64(duration) / gap; n > mostFlows {
		return nil, fmt.Errorf("%.0f flows: want at most %d", n, mostFlows)
	}
	s := sim.NewStream(seed, "arrivals of flows", 0)
	var flows []Flow
	for at := 0.0; ; {
		if at -= gap * math.Log(1-s.Float64()); at >= float64(duration) {
			return flows, nil
		}
		f := Flow{ID: len(flows) + 1, Src: s.IntN(terminals), Dst: s.IntN(terminals - 1), Bytes: bytes, Start: sim.Time(at)}
		if f.Dst >= f.Src {
			f.Dst++
		}
		if sizes != nil {
			f.Bytes = sizes.Draw(&s)
		}
		flows = append(flows, f)
	}
}
