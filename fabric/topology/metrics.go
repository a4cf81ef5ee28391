package topology

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/weft-sim/weft/sim"
)

// Metrics are what the graph of a network says of it.
type Metrics struct {
	Switches, Leaves, Terminals, Links int // leaves: switches that have terminals
	// Degree is the least and the largest number of ports to other switches.
	Degree [2]int
	// Pairs[d] is the number of ordered pairs of leaves d cables apart
	// (len = diameter+1); Pairs[0] = Leaves.
	Pairs []int64
	// MeanDistance is the mean over pairs of different leaves; 0 if there is one.
	MeanDistance float64
	// UniformHops is the mean number of cables between two terminals drawn from all, a
	// terminal and itself included.
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

// Measure computes the metrics of a connected network. Cost: a breadth-first search
// from every leaf.
func Measure(g *Graph) Metrics {
	m := Metrics{Switches: g.Switches(), Terminals: g.Terminals(), Links: g.SwitchLinks()}
	terminals := g.TerminalCounts()
	for s, n := range terminals {
		degree := g.Degree(SwitchID(s)) - n
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
		row = neighbors.DistancesFrom(SwitchID(s), row)
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

// krylov bounds the steps of the Lanczos process; the graphs of low diameter need a
// handful, random ones some dozens.
const krylov = 240

// AlgebraicConnectivity is the least eigenvalue but one of the graph's Laplacian,
// parallel cables counted (Fiedler 1973), from below: what the Lanczos process finds,
// less its residual. Times [Halving] it bounds the cables between two halves of the
// switches from below. Cost: up to 240 products of the graph's matrix with a vector, made
// orthogonal to all before them.
func AlgebraicConnectivity(g *Graph) float64 {
	n := g.Switches()
	if n < 2 {
		return 0
	}
	stream := sim.NewStream(1, "algebraic connectivity", 0)
	v := make([]float64, n)
	for i := range v {
		v[i] = stream.Float64() - 0.5
	}
	unit(v)
	var basis [][]float64
	var diagonal, beside []float64
	bound := 0.0
	for len(basis) < min(krylov, n-1) {
		basis = append(basis, v)
		next := laplacian(g, v)
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

// unit makes v orthogonal to the constant vector and of length 1.
func unit(v []float64) {
	floats.AddConst(-floats.Sum(v)/float64(len(v)), v)
	floats.Scale(1/floats.Norm(v, 2), v)
}

// laplacian is the product of the graph's Laplacian with a vector.
func laplacian(g *Graph, v []float64) []float64 {
	product := make([]float64, len(v))
	for s := range product {
		for _, to := range g.Links(SwitchID(s)) {
			product[s] += v[s] - v[to]
		}
	}
	return product
}

// ritz is the least eigenvalue of a tridiagonal matrix and how far the Laplacian's may
// be from it, if the process went on by a vector of length rest.
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

// Neighbors is the adjacency of the switches of a graph in compressed rows,
// parallel cables merged: what searches over large graphs walk. Terminals do
// not appear.
type Neighbors struct {
	start []int32    // len = switches+1
	ids   []SwitchID // neighbours of s, ascending: ids[start[s]:start[s+1]]
}

// Neighbors builds the adjacency. Cost: linear in the number of ports, but for
// sorting each row.
func (g *Graph) Neighbors() *Neighbors { return g.NeighborsWithout(nil) }

// NeighborsWithout is [Graph.Neighbors] without the cables that are down.
func (g *Graph) NeighborsWithout(down *Down) *Neighbors {
	n := &Neighbors{start: make([]int32, 1, g.Switches()+1), ids: make([]SwitchID, 0, 2*g.SwitchLinks())}
	for s := range g.Switches() {
		row := len(n.ids)
		for p, to := range g.Links(SwitchID(s)) {
			if !down.Port(p) {
				n.ids = append(n.ids, to)
			}
		}
		slices.Sort(n.ids[row:])
		n.ids = n.ids[:row+len(slices.Compact(n.ids[row:]))]
		n.start = append(n.start, int32(len(n.ids)))
	}
	return n
}

// Of lists the switches that s has cables to, in ascending order, each once.
// The slice must not be changed.
func (n *Neighbors) Of(s SwitchID) []SwitchID { return n.ids[n.start[s]:n.start[s+1]] }

// Unreachable is the distance to a switch that no path leads to.
const Unreachable int16 = -1

// DistancesFrom is [Neighbors.DistancesFrom] for a single use.
func (g *Graph) DistancesFrom(s SwitchID, dst []int16) []int16 {
	return g.Neighbors().DistancesFrom(s, dst)
}

// DistancesFrom returns the number of switch-switch cables on a shortest path
// from switch s to every switch (len = switches), or [Unreachable], by
// breadth-first search. dst is used if it is large enough. Graphs of diameter
// above 32,767 panic; [Graph.CheckReach] refuses them. Cost: linear in the number of links.
func (n *Neighbors) DistancesFrom(s SwitchID, dst []int16) []int16 {
	switches := len(n.start) - 1
	if cap(dst) < switches {
		dst = make([]int16, switches)
	}
	dst = dst[:switches]
	for s := range dst {
		dst[s] = Unreachable
	}
	n.search(dst, append(make([]SwitchID, 0, switches), s))
	return dst
}

// CheckReach refuses networks of files that are not connected, naming the first switch that no path
// leads to, or in which a path may have more cables than distances can count.
func (g *Graph) CheckReach() (lost SwitchID, err error) {
	neighbors := g.Neighbors()
	seen := make([]bool, g.Switches())
	queue, depth := []SwitchID{0}, 0
	seen[0] = true
	for ; len(queue) > 0; depth++ {
		var next []SwitchID
		for _, s := range queue {
			for _, t := range neighbors.Of(s) {
				if !seen[t] {
					seen[t] = true
					next = append(next, t)
				}
			}
		}
		if depth >= math.MaxInt16/2 && len(next) > 0 {
			return next[0], FarError(next[0])
		}
		queue = next
	}
	if lost := slices.Index(seen, false); lost >= 0 {
		return SwitchID(lost), fmt.Errorf("no path from switch 0 to switch %d: the network is not connected", lost)
	}
	return 0, nil
}

// FarError names a switch that is so far from switch 0 that distances in the network may not be counted.
type FarError SwitchID

func (s FarError) Error() string {
	return fmt.Sprintf("switch %d is more than %d cables from switch 0: want a network with shorter paths", SwitchID(s), math.MaxInt16/2)
}

// DistancesFromAny is [Neighbors.DistancesFrom] to the nearest of some switches.
func (n *Neighbors) DistancesFromAny(from []SwitchID) []int16 {
	distance := slices.Repeat([]int16{Unreachable}, len(n.start)-1)
	n.search(distance, slices.Clone(from))
	return distance
}

// search enters the distances of switches that have none from those in the queue, which have
// 0 or are given it, and returns them all, nearest first.
func (n *Neighbors) search(distance []int16, queue []SwitchID) []SwitchID {
	for _, s := range queue {
		distance[s] = 0
	}
	for i := 0; i < len(queue); i++ {
		next := distance[queue[i]] + 1
		for _, t := range n.Of(queue[i]) {
			if distance[t] != Unreachable {
				continue
			}
			if next < 0 {
				panic("topology: DistancesFrom: a path of more than 32767 cables")
			}
			distance[t] = next
			queue = append(queue, t)
		}
	}
	return queue
}
