package topology

import (
	"errors"
	"fmt"
)

// Design is a symmetric block design (N, m, sigma): N points, N blocks of m
// points, every point in m blocks, every two points together in exactly sigma
// blocks, so that sigma*(N-1) = m*(m-1). Points become processors and blocks
// become switches (Podlazov 2012, section 1).
//
// All designs here are developed from a difference set D of an abelian group:
// block b holds the points b - D[0], ..., b - D[m-1]. That gives the port
// labelling for nothing: the cable between block b and point b - D[j] sits at
// port j on both sides, so that each block sees every port number once, and so
// does each point.
type Design struct {
	points, size, sigma int
	base                []int   // D; len = m
	bitwise             bool    // the group is (Z_2)^n, not Z_N
	portOf              []int32 // len = N: index in D of each group element, or -1
}

// newDesign develops a difference set; sigma follows from its size.
func newDesign(points int, base []int, bitwise bool) *Design {
	d := &Design{
		points: points, size: len(base), sigma: len(base) * (len(base) - 1) / (points - 1),
		base: base, bitwise: bitwise, portOf: make([]int32, points),
	}
	for i := range d.portOf {
		d.portOf[i] = -1
	}
	for j, e := range base {
		d.portOf[e] = int32(j)
	}
	return d
}

// Points is N, the number of points and of blocks.
func (d *Design) Points() int { return d.points }

// Size is m, the number of points in a block and of blocks through a point.
func (d *Design) Size() int { return d.size }

// Sigma is the number of blocks that two points share.
func (d *Design) Sigma() int { return d.sigma }

// Base is the difference set that the design is developed from; read-only.
func (d *Design) Base() []int { return d.base }

// Point is the point at port j of a block.
func (d *Design) Point(block, j int) int { return d.minus(block, d.base[j]) }

// Block is the block at port j of a point.
func (d *Design) Block(point, j int) int {
	if d.bitwise {
		return point ^ d.base[j]
	}
	return (point + d.base[j]) % d.points
}

// Port is the port, on both sides, of the cable between a block and a point;
// ok is false if the point is not in the block.
func (d *Design) Port(block, point int) (j int, ok bool) {
	j = int(d.portOf[d.minus(block, point)])
	return j, j >= 0
}

func (d *Design) minus(a, b int) int {
	switch {
	case d.bitwise:
		return a ^ b
	case a < b:
		return a - b + d.points
	}
	return a - b
}

// Verify counts what the definition demands: N different points in no block
// twice, every point once at every port, every two points in sigma blocks.
// All constructors have been through it in the tests; it is there for new
// difference sets. Cost: N*m*m steps and N*N counters.
func (d *Design) Verify() error {
	if d.sigma*(d.points-1) != d.size*(d.size-1) {
		return fmt.Errorf("topology: (%d, %d, %d) is not a symmetric design: sigma(N-1) differs from m(m-1)", d.points, d.size, d.sigma)
	}
	var problems []error
	together := make([]int32, d.points*d.points)
	for b := range d.points {
		for i := range d.size {
			x := d.Point(b, i)
			if back := d.Block(x, i); back != b {
				problems = append(problems, fmt.Errorf("topology: port %d of block %d leads to point %d, whose port %d leads to block %d", i, b, x, i, back))
			}
			for j := range d.size {
				together[x*d.points+d.Point(b, j)]++
			}
		}
	}
	for x := range d.points {
		for y := range d.points {
			want := d.sigma
			if x == y {
				want = d.size
			}
			if got := int(together[x*d.points+y]); got != want {
				problems = append(problems, fmt.Errorf("topology: points %d and %d share %d blocks, want %d", x, y, got, want))
			}
		}
	}
	return errors.Join(problems...)
}
