package applications

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Traffic sends what its load says, to where its pattern or matrix says.
func TestTraffic(t *testing.T) {
	matrix := filepath.Join(t.TempDir(), "matrix.csv")
	simtest.Check(t, os.WriteFile(matrix, []byte("# a matrix\n0,1,3\n0,2,1\n3,0,2\n"), 0o666))
	for pattern, c := range map[string]struct {
		set   func(*Traffic)
		right func(w *traffic, to map[[2]int32]int) bool // messages by source and destination
	}{
		"uniform":     {func(*Traffic) {}, func(_ *traffic, to map[[2]int32]int) bool { return len(to) == 8*7 }},
		"permutation": {func(*Traffic) {}, func(_ *traffic, to map[[2]int32]int) bool { return len(to) == 8 }},
		"shift":       {func(c *Traffic) { c.Shift = 3 }, func(_ *traffic, to map[[2]int32]int) bool { return to[[2]int32{6, 1}] == 400 }},
		"hot": {func(c *Traffic) { c.Hot = 2 }, func(w *traffic, _ map[[2]int32]int) bool {
			return len(w.to[2]) == 0 && w.expected[2] == 7*400
		}},
		// 4 : 2, and of the first 3 : 1, to 5 standard deviations of sqrt(400 * 3/16).
		"matrix": {func(c *Traffic) { c.Matrix = matrix }, func(w *traffic, to map[[2]int32]int) bool {
			return len(w.to[0]) == 400 && len(w.to[3]) == 200 && math.Abs(float64(to[[2]int32{0, 1}])-300) <= 45 && len(to) == 3
		}},
	} {
		settings := Traffic{Pattern: pattern, Bytes: 1000, Load: 0.5, Rate: 4e8, Gaps: "fixed", Messages: 400, Seed: 1}
		c.set(&settings)
		w := simtest.Must(newTraffic(settings, skeletons.Env{Ranks: 8, PerNode: 1}))(t).(*traffic)
		to := map[[2]int32]int{}
		for r, all := range w.to {
			for _, x := range all {
				simtest.ErrorIf(t, int(x) == r, "%s: rank %d sends to itself", pattern, r)
				to[[2]int32{int32(r), x}]++
			}
		}
		simtest.ErrorIf(t, !c.right(w, to), "%s: messages %v, expected %v", pattern, to, w.expected)
		messages := 0
		for _, times := range to {
			messages += times
		}
		run := w.Run(sim.Nanosecond, mpi.Costs{})
		n := mpi.OperationsOf(run)
		simtest.ErrorIf(t, n != float64(2*messages), "%s: %v operations, want a send and a receive of each of %d messages", pattern, n, messages)
		l := simtest.Must(mpi.DefaultLogGOPS.Run(run, nil))(t)
		simtest.Equal(t, run.Unreleased(), 0, "%s: operations are left at the end", pattern)
		// 1000 B at half of 0.4 Gb/s are 40 us each.
		last := slices.Max(l.Finish)
		want := 400 * 40000.0
		simtest.ErrorIf(t, float64(last) < want || pattern != "hot" && float64(last) > 1.05*want, "%s: ends at %d ns, want %v", pattern, last, want)
	}
}

// What is wrong with files is told all at once, with places; what would go too deep or beyond 64 bits is refused.
func TestProgramAndMatrixProblems(t *testing.T) {
	_, err := parseProgram("p.toml", "[[step]]\ntype = \"stencil\"\ndims = [3]\nsize = 4\n[[step]]\ntype = \"nothing\"\n[[step]]\ntype = \"milc\"\ngroup = \"none\"\ntimes = 0\n[[step]]\ntype = \"traffic\"\n", skeletons.Env{Ranks: 16, PerNode: 1})
	simtest.Fail(t, err, "p.toml: step[0]: dims", "p.toml: step[1]: type = nothing", "p.toml: step[2]: group = none", "p.toml: step[3]: type = traffic", "step.size is not a key")
	simtest.ErrorIf(t, errors.As(err, new(*param.ParamError)), "a problem of the file is taken for one of the file that names it")
	const group = "[[step]]\ntype = \"halo\"\ndims = [1]\ngroup = \"g\"\n[group.g]\n"
	for text, want := range map[string]string{"": "", "x = [": "", "iterations = -1\n[[step]]\ntype = \"milc\"\n": "", group + "size = 4294967296\nstride = 4294967296\n": " step[0]: group.g",
		group + "first = 9223372036854775807\ncount = 1\n": " step[0]: group.g", "a=1\nx = " + strings.Repeat("[", 1e6): "2: nested deeper than 500 levels"} {
		_, err := parseProgram("p.toml", text, skeletons.Env{Ranks: 16, PerNode: 1})
		simtest.Fail(t, err, "p.toml:"+want)
	}
	matrix := strings.NewReader("\ufeff0,1,1\n0,9,1\n1,1,1\n2,1,-1\n2\n")
	simtest.Refuse(readMatrix("m.csv", matrix, 4))(t, `m.csv:2: "0","9"`, `m.csv:3: "1","1"`, `m.csv:4: weight "-1"`, `m.csv:5: "2": want SOURCE`)
}

// TestByKind: shifts have a digit of base 3 for each dimension, 1 in the middle: 4 and 13. Faces are
// 1, 3 and 9 from there; of corners no digit is 1, of edges one is.
func TestByKind(t *testing.T) {
	simtest.EqualSlices(t, byKind(2, 0), []int{3, 5, 1, 7, 0, 2, 6, 8}, "two dimensions:")
	want := []int{14, 12, 16, 10, 22, 4, 0, 2, 6, 8, 18, 20, 24, 26, 1, 3, 5, 7, 9, 11, 15, 17, 19, 21, 23, 25}
	simtest.EqualSlices(t, byKind(3, 2), want, "three dimensions:")
}
