package opensm

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// lashMesh is OpenSM's analysis of meshes and tori (do_mesh_analysis). Where most switches
// have the surroundings of one of them, it gives the links directions, outwards from the
// first such switch, and the switches coordinates.
type lashMesh struct {
	switches  []lashSwitch
	seed      *lashSwitch
	dimension int
	order     []int // the dimensions, the largest first
	changed   bool
}

// far is the coordinate of switches that no row leads to, and the distance where no path leads.
const far = math.MaxInt32

// analyzeMesh numbers the switches and their links by the directions of a mesh: dimension by
// dimension, the largest first. Switches are left as they are where most look like no mesh.
// ok is false where OpenSM's analysis does not come to an end.
func analyzeMesh(subnet *Subnet, switches []lashSwitch) (_ []lashSwitch, ok bool) {
	m := &lashMesh{switches: switches}
	seed := m.findSeed(&breadth{s: subnet})
	if seed < 0 {
		return switches, true
	}
	m.seed = &switches[seed]
	m.dimension = m.seed.dimension
	if m.dimension == 0 {
		return switches, true
	}
	m.seedAxes()
	for m.changed = true; m.changed; {
		m.changed = false
		if !m.across() || !m.along() {
			return nil, false
		}
		m.corners()
	}
	m.coordinates()
	for i := range switches {
		m.orderLinks(&switches[i])
	}
	return m.sorted(), true
}

// findSeed is the first switch of the most common shape, edges aside; -1 where all have too many
// links.
func (m *lashMesh) findSeed(search *breadth) int {
	others := slices.Repeat([]bool{true}, len(m.switches))
	for i := range m.switches {
		if s := &m.switches[i]; len(s.links) <= maxMeshLinks {
			others[i] = false
			s.measure(search, others)
			others[i] = true
			s.dimension = meshDimensions()[s.shape]
		}
	}
	first, count := map[meshShape]int{}, map[meshShape]int{}
	var shapes []meshShape
	for i := range m.switches {
		s := &m.switches[i]
		for _, l := range s.links {
			s.edge = s.edge || s.dimension > 0 && len(m.switches[l.to].links) > len(s.links)
		}
		if s.matrix == nil || s.edge {
			continue
		}
		if count[s.shape]++; count[s.shape] == 1 {
			first[s.shape] = i
			shapes = append(shapes, s.shape)
		}
	}
	seed, most := -1, 0
	for _, shape := range shapes {
		if count[shape] > most {
			seed, most = first[shape], count[shape]
		}
	}
	return seed
}

// measure finds the hops between the neighbours of a switch, by the other switches.
func (s *lashSwitch) measure(search *breadth, others []bool) {
	s.matrix = make([][]int32, len(s.links))
	for at, link := range s.links {
		search.from(others, link.to)
		for _, l := range s.links {
			s.matrix[at] = append(s.matrix[at], int32(min(uint32(search.hops[l.to]), far)))
		}
	}
	s.shape = shapeOf(s.matrix)
}

// across tells whether two links of a switch make no corner: switches around a corner are two hops
// apart.
func (s *lashSwitch) across(i, j int) bool { return i != j && s.matrix[i][j] != 2 }

// seedAxes gives each link of the seed a direction, and the first link that may be across the
// opposite.
func (m *lashMesh) seedAxes() {
	links := m.seed.links
	free := func(l lashLink) bool { return l.axis == 0 }
	for axis := 1; axis <= 2*m.dimension; axis += 2 {
		i := slices.IndexFunc(links, free)
		if i < 0 {
			break
		}
		links[i].axis = axis
		for j := range links {
			if free(links[j]) && m.seed.across(i, j) {
				links[j].axis = axis + 1
				break
			}
		}
	}
}

// opposite is the direction opposite to one: itself with nothing across, 0 if the switch has not
// got it.
func (s *lashSwitch) opposite(axis int) int {
	if s.matrix == nil {
		return 0
	}
	for i := range s.links {
		if s.links[i].axis != axis {
			continue
		}
		for j := range s.links {
			if s.across(i, j) {
				return 1 + ((axis - 1) ^ 1)
			}
		}
		return axis
	}
	return 0
}

// set gives a link a direction if it has none. ok is false if the direction is none.
func (m *lashMesh) set(l *lashLink, axis int) (ok bool) {
	if l.axis == 0 {
		l.axis = axis
		m.changed = true
	}
	return l.axis != 0
}

// across gives links across from directed ones the opposite direction, where only one can be
// across.
func (m *lashMesh) across() (ok bool) {
	for n := range m.switches {
		s := &m.switches[n]
		if s.matrix == nil || len(s.links) < len(m.seed.links) && len(s.links) <= 2 {
			continue
		}
		for i := range s.links {
			if s.links[i].axis == 0 {
				continue
			}
			only, count := 0, 0
			for j := range s.links {
				if s.across(i, j) {
					only = j
					count++
				}
			}
			if count == 1 && s.matrix[i][only] <= 4 && !m.set(&s.links[only], m.seed.opposite(s.links[i].axis)) {
				return false
			}
		}
	}
	return true
}

// along gives the other end of links with a direction the opposite one.
func (m *lashMesh) along() (ok bool) {
	for n := range m.switches {
		s := &m.switches[n]
		for _, l := range s.links {
			if to := &m.switches[l.to]; s.matrix != nil && l.axis != 0 && to.matrix != nil && !m.set(&to.links[to.linkTo(int32(n))], m.seed.opposite(l.axis)) {
				return false
			}
		}
	}
	return true
}

// corners closes squares: links around a corner pass their directions to the links that lead to the
// first switch which their ends share.
func (m *lashMesh) corners() {
	for n := range m.switches {
		s := &m.switches[n]
		for i := range s.links {
			for j := range s.links {
				if s.matrix == nil || i == j || s.matrix[i][j] != 2 || s.links[i].axis == 0 || s.links[j].axis == 0 {
					continue
				}
				if k, l := m.common(n, s.links[i].to, s.links[j].to); k != nil {
					m.set(k, s.links[j].axis)
					m.set(l, s.links[i].axis)
				}
			}
		}
	}
}

// common is the links of two switches to the first other one that they have in common.
func (m *lashMesh) common(but int, a, b int32) (_, _ *lashLink) {
	for i := range m.switches[a].links {
		k := &m.switches[a].links[i]
		if int(k.to) == but {
			continue
		}
		if j := m.switches[b].linkTo(k.to); j >= 0 {
			return k, &m.switches[b].links[j]
		}
	}
	return nil, nil
}

// coordinates measures the switches' distances from the seed in each dimension, along directed
// links, and finds the order of the dimensions.
func (m *lashMesh) coordinates() {
	for i := range m.switches {
		s := &m.switches[i]
		s.coord = make([]int32, m.dimension)
		for k := range s.coord {
			if s != m.seed {
				s.coord[k] = far
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range m.switches {
			s := &m.switches[i]
			for _, l := range s.links {
				if s.coord[0] == far || l.axis == 0 {
					continue
				}
				to := m.switches[l.to].coord
				for k, c := range s.coord {
					switch l.axis {
					case 2*k + 1:
						c++
					case 2*k + 2:
						c--
					}
					if nearer(c, to[k]) {
						to[k] = c
						changed = true
					}
				}
			}
		}
	}
	size := make([]int32, m.dimension)
	for k := range size {
		low, high := int32(far), int32(-far)
		for i := range m.switches {
			if c := m.switches[i].coord[k]; c != far {
				low, high = min(low, c), max(high, c)
			}
		}
		size[k] = high - low + 1
		m.order = append(m.order, k)
	}
	slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
}

// nearer tells whether a coordinate is nearer to 0 than another, a positive one before a negative.
func nearer(a, b int32) bool {
	if abs := func(c int32) int32 { return max(c, -c) }; abs(a) != abs(b) {
		return abs(a) < abs(b)
	}
	return a > b
}

// orderLinks sorts a switch's links by dimension: first those away from the seed, so that with a
// positive coordinate the directions change places.
func (m *lashMesh) orderLinks(s *lashSwitch) {
	var links []lashLink
	taken := make([]bool, len(s.links))
	take := func(fits func(axis int) bool) {
		for i, l := range s.links {
			if !taken[i] && fits(l.axis) {
				links = append(links, l)
				taken[i] = true
			}
		}
	}
	for _, k := range m.order {
		for axis := 2*k + 1; axis <= 2*k+2; axis++ {
			want := axis
			if s.coord[k] > 0 {
				want = s.opposite(axis)
			}
			take(func(axis int) bool { return axis == want })
		}
	}
	take(func(int) bool { return true })
	s.links = links
}

// sorted is the switches by their coordinates, numbered anew.
func (m *lashMesh) sorted() []lashSwitch {
	numbers := mergeSort(topology.Numbers[int32](len(m.switches)), func(a, b int32) int32 {
		for _, k := range m.order {
			// The difference wraps round where one is far away, as in OpenSM.
			if d := m.switches[a].coord[k] - m.switches[b].coord[k]; d != 0 {
				return d
			}
		}
		return 0
	})
	number := make([]int32, len(numbers))
	for i, n := range numbers {
		number[n] = int32(i)
	}
	list := make([]lashSwitch, len(numbers))
	for i, n := range numbers {
		list[i] = m.switches[n]
		for j := range list[i].links {
			l := &list[i].links[j]
			l.to = number[l.to]
		}
	}
	return list
}

// mergeSort sorts as the C library's qsort does: difference need not be an order.
func mergeSort(list []int32, difference func(a, b int32) int32) []int32 {
	if len(list) < 2 {
		return list
	}
	a, b := mergeSort(list[:len(list)/2], difference), mergeSort(list[len(list)/2:], difference)
	merged := make([]int32, 0, len(list))
	for len(a) > 0 && len(b) > 0 {
		if difference(a[0], b[0]) <= 0 {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// maxMeshLinks is the most links of a switch that OpenSM analyses.
const maxMeshLinks = 8

// meshShape tells matrices of distances apart as OpenSM does: by the number of rows and,
// from the constant up, the coefficients of the characteristic polynomial, in 32 bits.
type meshShape [1 + maxMeshLinks]int32

// shapeOf is the shape of a matrix: det(matrix - x), by Berkowitz's method without division
// (Information Processing Letters 1984).
func shapeOf(matrix [][]int32) meshShape {
	p := []int32{1} // of det(x - the first k rows and columns), from the highest power down
	for k, row := range matrix {
		// The first column of the matrix that leads to the next polynomial: 1, -row[k],
		// and minus the row times powers of the first k rows and columns times the column.
		column := lists.Make(k, func(i int) int32 { return matrix[i][k] })
		first := []int32{1, -row[k]}
		for range k {
			first = append(first, -dot(row[:k], column))
			next := lists.Make(k, func(i int) int32 { return dot(matrix[i][:k], column) })
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

// torusShape is the shape of the switches within a torus; not ok with more links than OpenSM
// analyses.
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
