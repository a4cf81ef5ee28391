// Package metrics measures the graphs of networks: distances, capacity, and bounds of them.
package metrics

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
)

// Metrics are what the graph of a network says of it.
type Metrics struct {
	Switches, Leaves, Terminals, Links int // leaves: switches that have terminals
	// Degree is the least and the largest number of ports to other switches.
	Degree [2]int
	// Pairs[d] counts ordered pairs of leaves d cables apart (len = diameter+1); Pairs[0] = Leaves.
	Pairs []int64
	// MeanDistance is the mean over pairs of different leaves; 0 if there is one.
	MeanDistance float64
	// UniformHops is the mean cables between two terminals drawn from all, equal ones included.
	UniformHops float64
	// UniformCapacity is the number of channels between switches over the hops that
	// they must carry if every terminal sends one flit a cycle evenly to all: no routing
	// accepts more, in flits a cycle and terminal. Above 1 the terminals' own channels
	// are the bound. Infinite where no packet leaves its switch.
	UniformCapacity float64
}

// Diameter is the largest distance between leaves.
func (m Metrics) Diameter() int { return len(m.Pairs) - 1 }

// MooreEfficiency is the number of switches in units of the Moore bound: of the most
// that any graph has with this largest degree and this diameter between all switches,
// 1 + d*(1 + (d-1) + ... + (d-1)^(diameter-1)).
func (m Metrics) MooreEfficiency() float64 {
	sum, power := 0.0, 1.0
	for range m.Diameter() {
		sum, power = sum+power, power*float64(m.Degree[1]-1)
	}
	return float64(m.Switches) / (1 + float64(m.Degree[1])*sum)
}

// Measure computes a connected network's metrics. Cost: a breadth-first search from every leaf.
func Measure(g *topology.Graph) Metrics {
	m := Metrics{Switches: g.Switches(), Terminals: g.Terminals(), Links: g.SwitchLinks()}
	terminals := g.TerminalCounts()
	for s, n := range terminals {
		degree := g.Degree(topology.SwitchID(s)) - n
		if s == 0 || degree < m.Degree[0] {
			m.Degree[0] = degree
		}
		m.Degree[1] = max(m.Degree[1], degree)
		if n > 0 {
			m.Leaves++
		}
	}
	neighbors := g.Neighbors()
	var row []int16
	hops := 0.0 // over all pairs of terminals
	for s, n := range terminals {
		if n == 0 {
			continue
		}
		row = neighbors.DistancesFrom(topology.SwitchID(s), row)
		sum := int64(0)
		for t, d := range row {
			if terminals[t] == 0 {
				continue
			}
			for len(m.Pairs) <= int(d) {
				m.Pairs = append(m.Pairs, 0)
			}
			m.Pairs[d]++
			sum += int64(d) * int64(terminals[t])
		}
		hops += float64(sum) * float64(n)
	}
	sum := 0.0
	for d, n := range m.Pairs {
		sum += float64(d) * float64(n)
	}
	if m.Leaves > 1 {
		m.MeanDistance = sum / float64(m.Leaves) / float64(m.Leaves-1)
	}
	m.UniformHops = hops / float64(m.Terminals) / float64(m.Terminals)
	m.UniformCapacity = 2 * float64(m.Links) / (float64(m.Terminals) * m.UniformHops)
	return m
}

// krylov bounds the Lanczos steps: graphs of low diameter need a handful, random ones some dozens.
const krylov = 240

// AlgebraicConnectivity is the least eigenvalue but one of the graph's Laplacian, parallel cables
// counted (Fiedler 1973), from below: what the Lanczos process finds, less its residual. Times
// [Halving] it bounds the cables between two halves of the switches from below. Cost: up to 240
// products of the graph's matrix with a vector, made orthogonal to all before them.
func AlgebraicConnectivity(g *topology.Graph) float64 {
	n := g.Switches()
	if n < 2 {
		return 0
	}
	stream := sim.NewStream(1, "algebraic connectivity", 0)
	v := lists.Make(n, func(int) float64 { return stream.Float64() - 0.5 })
	floats.AddConst(-floats.Sum(v)/float64(n), v) // orthogonal to the constant vector
	floats.Scale(1/floats.Norm(v, 2), v)
	var basis [][]float64
	var diagonal, beside []float64
	bound := 0.0
	for len(basis) < min(krylov, n-1) {
		basis = append(basis, v)
		next := make([]float64, n) // the product of the graph's Laplacian with v
		for s := range next {
			for _, to := range g.Links(topology.SwitchID(s)) {
				next[s] += v[s] - v[to]
			}
		}
		diagonal = append(diagonal, floats.Dot(next, v))
		for range 2 { // once is not enough in floating point
			for _, b := range basis {
				floats.AddScaled(next, -floats.Dot(next, b), b)
			}
			floats.AddConst(-floats.Sum(next)/float64(n), next)
		}
		rest := floats.Norm(next, 2)
		if done := rest < 1e-9*float64(n); done || len(basis)%8 == 0 || len(basis) == min(krylov, n-1) {
			least, residual := ritz(diagonal, beside, rest)
			if bound = least - residual; done || residual < 1e-9*max(1, least) {
				break
			}
		}
		floats.Scale(1/rest, next)
		beside, v = append(beside, rest), next
	}
	return bound
}

// Halving is what the algebraic connectivity of a graph of n switches is multiplied by
// to bound its bisection: h(n-h)/n, where the smaller half has h = n/2 switches, rounded
// down; n/4 for even n (Fiedler 1975; the Laplacian's quadratic form of the halves).
func Halving(n int) float64 { return float64(n/2) * float64(n-n/2) / float64(n) }

// ritz is the least eigenvalue of a tridiagonal matrix and its distance to the Laplacian's, if the
// process went on by a vector of length rest.
func ritz(diagonal, beside []float64, rest float64) (least, residual float64) {
	n := len(diagonal)
	m := mat.NewSymDense(n, nil)
	for i, x := range diagonal {
		m.SetSym(i, i, x)
		if i > 0 {
			m.SetSym(i-1, i, beside[i-1])
		}
	}
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		panic("topology: AlgebraicConnectivity: a symmetric matrix without eigenvalues")
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	return e.Values(nil)[0], rest * math.Abs(vectors.At(n-1, 0))
}

// MeanDistanceBound is the least mean distance of n switches of a degree: each has
// degree*(degree-1)^(d-1) others at distance d until all are used (Cerf, Cowan, Mullin and Stanton,
// Networks 1974).
func MeanDistanceBound(n, degree int) float64 {
	left, level, sum := float64(n-1), float64(degree), 0.0
	for d := 1.0; left > 0; d++ {
		at := min(left, level)
		sum, left, level = sum+d*at, left-at, level*float64(degree-1)
	}
	return sum / float64(n-1)
}
