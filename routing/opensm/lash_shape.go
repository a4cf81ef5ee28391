package opensm

import (
	"slices"
	"sync"
)

// lashSwitch is a switch as LASH sees it. Those of a subnet are numbered like its nodes
// unless they are analysed as a mesh.
type lashSwitch struct {
	node  int32
	links []lashLink
	// Of the analysis:
	matrix    [][]int32 // hops between the switches at any two links, but through this one; nil: too many links
	shape     meshShape
	dimension int     // of the mesh or torus that looks like this from within, 0 none
	edge      bool    // fewer links than a neighbour
	coord     []int32 // far: in none of its rows
}

// lashLink is all cables to one other switch.
type lashLink struct {
	to     int32   // number of the switch
	cables []int32 // in Subnet.Links
	axis   int     // 1 and 2 are the directions of the first dimension, and so on; 0 none
}

// lashSwitches lists the switches of a subnet in order.
func lashSwitches(s *Subnet) []lashSwitch {
	list := make([]lashSwitch, s.nodes())
	for n := range s.nodes() {
		sw := &list[n]
		sw.node = n
		for l := s.Start[n]; l < s.Start[n+1]; l++ {
			to := s.Links[l].Peer
			if to == n {
				continue
			}
			i := sw.linkTo(to)
			if i < 0 {
				i = len(sw.links)
				sw.links = append(sw.links, lashLink{to: to})
			}
			sw.links[i].cables = append(sw.links[i].cables, l)
		}
	}
	return list
}

// linkTo is the link to another switch, -1 if there is none.
func (s *lashSwitch) linkTo(to int32) int {
	return slices.IndexFunc(s.links, func(l lashLink) bool { return l.to == to })
}

// maxMeshLinks is the most links of a switch that OpenSM analyses.
const maxMeshLinks = 8

// meshShape tells matrices of distances apart as OpenSM does: by the number of rows and,
// from the constant up, the coefficients of the characteristic polynomial, in 32 bits.
type meshShape [1 + maxMeshLinks]int32

// shapeOf is the shape of a matrix: of det(matrix - x), by Berkowitz's method (Information
// Processing Letters 1984), which needs no division.
func shapeOf(matrix [][]int32) meshShape {
	p := []int32{1} // of det(x - the first k rows and columns), from the highest power down
	for k, row := range matrix {
		// The first column of the matrix that leads to the next polynomial: 1, -row[k],
		// and minus the row times powers of the first k rows and columns times the column.
		column := make([]int32, k)
		for i := range column {
			column[i] = matrix[i][k]
		}
		first := []int32{1, -row[k]}
		for range k {
			first = append(first, -dot(row[:k], column))
			next := make([]int32, k)
			for i := range next {
				next[i] = dot(matrix[i][:k], column)
			}
			column = next
		}
		next := make([]int32, k+2)
		for i := range next {
			for j := 0; j <= min(i, k); j++ {
				next[i] += first[i-j] * p[j]
			}
		}
		p = next
	}
	n := len(matrix)
	shape := meshShape{int32(n)}
	for i := range n {
		shape[1+i] = p[n-i]
		if n%2 == 1 {
			shape[1+i] = -p[n-i]
		}
	}
	return shape
}

func dot(a, b []int32) (sum int32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// meshDimensions is the number of dimensions of all shapes that OpenSM knows: shapes of
// switches within tori of 2, 3, 5 or 6 and more switches in each dimension, with no more
// links than it analyses and, of four dimensions, one of 2 or 3; a ring of 4 looks like
// two dimensions of 2. One is of a mesh of two dimensions with a switch missing at a corner.
var meshDimensions = sync.OnceValue(func() map[meshShape]int {
	known := map[meshShape]int{
		shapeOf([][]int32{{0, 4, 6, 2}, {4, 0, 2, 2}, {6, 2, 0, 4}, {2, 2, 4, 0}}): 2,
	}
	// across is the hops between the two neighbours in each dimension, 0 if they are one.
	var add func(across []int32)
	add = func(across []int32) {
		if shape, ok := torusShape(across); ok {
			if len(across) > 0 && (len(across) != 4 || slices.Min(across) < 3) {
				known[shape] = len(across)
			}
			for _, hops := range []int32{0, 1, 3, 4} {
				add(append(across[:len(across):len(across)], hops))
			}
		}
	}
	add(nil)
	// OpenSM takes a ring for a long one where it has eight switches.
	delete(known, shapeOf([][]int32{{0, 4}, {4, 0}}))
	known[shapeOf([][]int32{{0, 6}, {6, 0}})] = 1
	return known
})

// torusShape is the shape of the switches within a torus; ok is false if they have more
// links than OpenSM analyses.
func torusShape(across []int32) (_ meshShape, ok bool) {
	var dimension []int // of each link
	for d, hops := range across {
		dimension = append(dimension, d)
		if hops > 0 {
			dimension = append(dimension, d)
		}
	}
	if len(dimension) > maxMeshLinks {
		return meshShape{}, false
	}
	matrix := make([][]int32, len(dimension))
	for i, d := range dimension {
		for j, e := range dimension {
			switch {
			case d != e:
				matrix[i] = append(matrix[i], 2)
			case i != j:
				matrix[i] = append(matrix[i], across[d])
			default:
				matrix[i] = append(matrix[i], 0)
			}
		}
	}
	return shapeOf(matrix), true
}
