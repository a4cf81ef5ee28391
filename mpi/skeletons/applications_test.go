package skeletons_test

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/applications"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// Messages and bytes of a whole program, from what its source says of its communication.
func TestApplicationsCommunication(t *testing.T) {
	for _, c := range []struct {
		what            string
		s               collectives.Schedule
		messages, bytes int64
	}{
		// 4 x 4 without wrapping: 24 pairs at faces, 18 at corners, both ways.
		{"9-point stencil", skeleton(t, "stencil", 16, func(c *applications.Stencil) { c.Iterations.Iterations = 1 }), 2 * (24 + 18), 2 * (24*8192 + 18*64)},
		// A torus of 3 x 3 x 3: all 26 others are neighbours, 6 at faces, 12 at edges, 8 at corners.
		{"27-point stencil", skeleton(t, "stencil", 27, func(c *applications.Stencil) { c.Iterations.Iterations, c.Dims, c.Wraps = 1, []int{3, 3, 3}, true }), 27 * 26, 27 * (6*8192 + 12*64 + 8*8)},
		// A torus of 2 x 2: 8 messages a rank, to 3 others.
		{"a torus of two", skeleton(t, "stencil", 4, func(c *applications.Stencil) { c.Iterations.Iterations, c.Dims, c.Wraps = 1, []int{2, 2}, true }), 4 * 8, 4 * (4*8192 + 4*64)},
		// 4 x 4: from each corner, 2 octants of 4 blocks cross 24 pairs; the sum has 4 rounds.
		{"sweep3d", skeleton(t, "sweep3d", 16, func(*applications.Sweep3D) {}), 8*4*24 + 16*4, 8*4*24*2400 + 16*4*8},
		// Two each of 3 dimensions, of 4 x 2 x 2, forth and back in 5 iterations and once with
		// atoms, and a sum of 4 rounds.
		{"lammps", skeleton(t, "lammps", 16, func(c *applications.LAMMPS) { c.Iterations.Iterations = 5 }), 16 * (11*6 + 4), 16 * (10*6*65536 + 6*16384 + 4*8)},
		{"random neighbours", skeleton(t, "random-neighbours", 11, func(c *applications.RandomNeighbours) { c.Iterations.Iterations = 1 }), 11 * 4, 11 * 4 * 8192},
		// 16 ranks, 4 x 4: 26 steps of 2 exchanges of 14000/4+1 doubles in the row, the transpose (not
		// of the 4 ranks on the diagonal), 2 x 2 numbers.
		{"CG", skeleton(t, "nas-cg", 16, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }), 26 * (16*6 + 12), 26 * ((16*2+12)*3501*8 + 16*4*8)},
		// 32 ranks in rows of 8: 3 exchanges; the transpose of half a piece leaves 8 ranks where they are.
		{"CG of 32", skeleton(t, "nas-cg", 32, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }), 26 * (32*9 + 24), 26 * (32*3*3501*8 + 24*3501*4 + 32*6*8)},
		// 8 ranks, 4 x 2, of 64 x 64 points of 40 B: 6 pairs along x with 32 points at their border, 4 along y
		// with 16; one way in each of 2 x 62 planes, then two layers of 64 planes both ways.
		{"LU of 8", skeleton(t, "nas-lu", 8, func(c *skeletons.NAS) { c.Iterations.Iterations = 1 }), 124*10 + 2*10, (124 + 2*128) * 40 * (6*32 + 4*16)},
		// 12^3 points of 16 B on 4 ranks: blocks of 12^3/4^2 points.
		{"FFT", skeleton(t, "fft3d", 4, func(c *skeletons.FFT3D) { c.N, c.Iterations.Iterations = 12, 1 }), 4 * 3, 4 * 3 * 108 * 16},
		{"groups", skeleton(t, "group-alltoall", 16, func(c *applications.GroupAlltoall) { c.Iterations.Iterations, c.Stride = 1, 2 }), 16 * 3, 16 * 3 * 16384},
		// 15 clients with 4 requests each, answered in 4 bytes.
		{"many to one", skeleton(t, "many-to-one", 16, func(c *applications.Storage) { c.Iterations.Iterations = 1 }), 15 * 8, 15 * (4<<20 + 4*4)},
		{"three servers", skeleton(t, "many-to-one", 16, func(c *applications.Storage) { c.Iterations.Iterations, c.Servers = 1, 3 }), 13 * 8, 13 * (4<<20 + 4*4)},
		// The steps of the file, twice: 3 stencils of 84 messages, 4 rows of 8 in each of 2 rounds twice, 4
		// columns of 12 and a barrier of 8, 6 writers.
		{"a program file", programOf(t, "../applications/testdata/steps.toml", 16), 2 * (3*84 + 2*32 + 4*20 + 6*2), 2 * (3*(48*1024+36*64) + 2*32*2048 + 4*(12*1024+8) + 6*(65536+4))},
	} {
		if m, b := countSends(c.s); m != c.messages || b != c.bytes {
			t.Errorf("%s: %d messages, %d B, want %d, %d", c.what, m, b, c.messages, c.bytes)
		}
	}
}

// Sends and bytes of ranks of MFNetSim's runs (PADS 2025; SPEAR-UIC/MFNetSim@9da8142, logs of the
// applications alone): of ranks that take part in sums in each of the three ways, or stand at
// borders of the grid. Nekbone's three barriers have 9 messages each, here of a byte.
func TestApplicationsAsMFNetSim(t *testing.T) {
	milc := skeleton(t, "milc", 300, func(c *applications.MILC) { c.Dims = []int{3, 4, 5, 5} })
	nekbone := skeleton(t, "nekbone", 300, func(c *applications.Nekbone) { c.Dims = []int{5, 6, 10} })
	sum := collectives.AllreduceRecursiveHalving(300, 29516800)
	for _, c := range []struct {
		what         string
		s            collectives.Schedule
		rank         int
		sends, bytes int64
	}{
		{"milc", milc, 0, 1800, 796264000},
		{"milc", milc, 1, 3400, 796276800},
		{"milc", milc, 88, 3200, 796275200},
		{"milc", milc, 150, 3200, 796275200},
		{"milc", milc, 299, 3200, 796275200},
		{"nekbone", nekbone, 0, 6075, 318445632 + 27},
		{"nekbone", nekbone, 1, 22947, 425406288 + 27},
		{"nekbone", nekbone, 88, 24777, 532939872 + 27},
		{"nekbone", nekbone, 150, 21141, 425391840 + 27},
		{"nekbone", nekbone, 299, 18717, 318546768 + 27},
		{"a sum of Cosmoflow", sum, 0, 1, 147584000 / 5},
		{"a sum of Cosmoflow", sum, 1, 85 / 5, 441599000 / 5},
		{"a sum of Cosmoflow", sum, 88, 80 / 5, 294015000 / 5},
		{"a sum of Cosmoflow", sum, 150, 80 / 5, 294015000 / 5},
		{"a sum of Cosmoflow", sum, 299, 80 / 5, 294015000 / 5},
	} {
		if sends, bytes := rankSends(c.s, c.rank); sends != c.sends || bytes != c.bytes {
			t.Errorf("%s, rank %d: %d sends of %d B, want %d of %d", c.what, c.rank, sends, bytes, c.sends, c.bytes)
		}
	}
}

func programOf(t *testing.T, file string, ranks int) collectives.Schedule {
	t.Helper()
	p := simtest.Must(skeletons.Registry.Build("program", &applications.ProgramFile{File: file}, skeletons.Env{Ranks: ranks, PerNode: 1}))(t)
	return p.(collectives.Schedule)
}

// A wave needs as many steps as there are ranks on its way and blocks behind it: without
// communication costs, of 4 x 4 ranks with 4 blocks the last ends after 6 + 2 x 4 steps from a
// corner; the next corner's wave starts where ranks are through with this one.
func TestSweepWavefront(t *testing.T) {
	s := skeleton(t, "sweep3d", 16, func(c *applications.Sweep3D) { c.Compute = 32 * sim.Millisecond })
	free := mpi.DefaultLogGOPS
	r := simtest.Must(free.Run(mpi.RunSchedule(s, mpi.Costs{}, sim.Nanosecond), nil))(t)
	// At least all 32 blocks and one way across; at most four ways across.
	if ms := float64(slices.Max(r.Finish)) / 1e6; ms < 32+6 || ms > 1.02*(32+4*6) {
		t.Errorf("takes %v ms", ms)
	}
}
