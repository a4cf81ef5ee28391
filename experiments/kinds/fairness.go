package kinds

import (
	"math"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
)

// writeFairness keeps how evenly terminals are served: fairness.csv.
func writeFairness(run *experiments.Run, g *topology.Graph, c *carried) {
	t := run.Table("fairness", "direction", "jain_index", "mean_flits_per_cycle",
		"min_flits_per_cycle", "min_terminal", "max_flits_per_cycle", "max_terminal")
	channels := g.NumPorts() + g.Terminals()
	sent, received := make([]float64, g.Terminals()), make([]float64, g.Terminals())
	for i := range sent {
		sent[i] = c.rate(g.NumPorts()+i, channels)
		received[i] = c.rate(int(g.TerminalPort[i]), channels)
	}
	for _, x := range []struct {
		direction string
		rates     []float64
	}{{"sent", sent}, {"received", received}} {
		least, most, sum := 0, 0, 0.0
		for i, rate := range x.rates {
			sum += rate
			if rate < x.rates[least] {
				least = i
			}
			if rate > x.rates[most] {
				most = i
			}
		}
		t.Add(x.direction, jainIndex(x.rates), sum/float64(len(x.rates)),
			x.rates[least], g.TerminalName(topology.TerminalID(least)), x.rates[most], g.TerminalName(topology.TerminalID(most)))
	}
}

// jainIndex is the fairness of shares (Jain, Chiu and Hawe 1984): the square
// of their sum over n times the sum of their squares. 1 if all are equal, k/n
// if k of them have everything; NaN if there is nothing to share.
func jainIndex(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}
