package atlas

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// seedPoint is a row of seeds.csv: a point of a curve again, with another seed.
type seedPoint struct {
	curve         string
	load, latency float64
}

// setNoise says of every point of every curve how much a seed of BookSim2's latency
// varies: as much as at the points of seeds.csv that are no nearer to saturation, of which
// the noisiest counts. How near a point is, is its load in units of the largest accepted load
// of its curve. Points farther from saturation than all of seeds.csv have no noise known.
func (r *Reference) setNoise() {
	type known struct{ nearness, deviation float64 }
	var all []known
	for i := range r.Curves {
		c := &r.Curves[i]
		for _, p := range c.Points {
			latencies := []float64{p.Latency}
			for _, s := range r.seeds {
				if s.curve == c.Name && s.load == p.Load {
					latencies = append(latencies, s.latency)
				}
			}
			if len(latencies) > 2 && !p.Saturated && !p.Overloaded && !p.Deadlock {
				mean, deviation := stat.MeanStdDev(latencies, nil)
				all = append(all, known{p.Load / c.largestAccepted(), deviation / mean})
			}
		}
	}
	for i := range r.Curves {
		c := &r.Curves[i]
		c.Noise = map[float64]float64{}
		for _, p := range c.Points {
			for _, k := range all {
				if k.nearness <= p.Load/c.largestAccepted() {
					c.Noise[p.Load] = math.Max(c.Noise[p.Load], k.deviation)
				}
			}
		}
	}
}

func (c *Curve) largestAccepted() float64 {
	most := 0.0
	for _, p := range c.Points {
		if p.Accepted > most { // a deadlock may have none
			most = p.Accepted
		}
	}
	return most
}
