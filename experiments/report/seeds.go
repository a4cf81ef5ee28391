package report

import (
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// seedKey is swept for replications, which are no variants.
const seedKey = "seed"

// withoutSeed names a point by its swept settings but for the seed, which does
// not make another variant.
func withoutSeed(f *experiments.File, p *experiments.Point) string {
	var parts []string
	for i, key := range f.SweptKeys() {
		if key != seedKey {
			parts = append(parts, key+" = "+p.Swept[i])
		}
	}
	return strings.Join(parts, ", ")
}

// meanOfSeeds puts the points together that have the same label: those that
// differ only in their seed. Their means count alike.
func meanOfSeeds(points []blamedPoint) []blamedPoint {
	var all []blamedPoint
	place := map[string]int{}
	times := map[string]float64{}
	for _, p := range points {
		times[p.label]++
	}
	for _, p := range points {
		if times[p.label] == 1 {
			all = append(all, p)
			continue
		}
		share := 1 / times[p.label]
		at, known := place[p.label]
		if !known {
			at = len(all)
			place[p.label] = at
			all = append(all, blamedPoint{label: p.label})
		}
		sum := &all[at]
		sum.behind = sum.behind || p.behind
		sum.total += share * p.total
		for i, x := range p.parts {
			sum.parts[i] += share * x
		}
		for _, c := range p.channels {
			sum.addChannel(c, share)
		}
	}
	return all
}

// addChannel adds a share of what a channel has in one seed.
func (p *blamedPoint) addChannel(c blamedChannel, share float64) {
	name := [3]string{c.from, c.to, c.class}
	at, known := p.places[name]
	if !known {
		if p.places == nil {
			p.places = map[[3]string]int{}
		}
		at = len(p.channels)
		p.places[name] = at
		p.channels = append(p.channels, blamedChannel{from: c.from, to: c.to, class: c.class})
	}
	sum := &p.channels[at]
	sum.total += share * c.total
	sum.root += share * c.root
	for i, x := range c.parts {
		sum.parts[i] += share * x
	}
}
