package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

// The ranks of six make communicators. Members follow from MPI's rules: of a split, those of one
// color by key, then by rank; of a grid of 2 x 3, whose last dimension varies fastest, rows where that
// is kept, and columns where the first is; of a group, its order; of two kinds at once, nothing.
func TestResolve(t *testing.T) {
	const world, self, made, group, of = 0, 1, 2, 3, 4
	all := func(part func(rank int) Part) (parts [][]Part) {
		for r := range 6 {
			p := part(r)
			p.New = made
			parts = append(parts, []Part{p})
		}
		return parts
	}
	first := func(before Part, part func(rank int) Part) [][]Part {
		parts := all(part)
		for r := range parts {
			parts[r] = append([]Part{before}, parts[r]...)
		}
		return parts
	}
	create := func(ranks ...int32) [][]Part {
		parts := first(Part{Kind: GroupInclude, Parent: of, New: group, Integers: ranks}, func(int) Part { return Part{Kind: CommCreate, Other: group} })
		for r := range parts {
			parts[r] = append([]Part{{Kind: GroupOf, New: of}}, parts[r]...)
		}
		return parts
	}
	grid := Part{Kind: CommCartesian, New: of, Integers: []int32{2, 3}}
	for _, c := range []struct {
		name  string
		parts [][]Part
		want  string // the members of each rank's last communicator
	}{
		{"dup", all(func(int) Part { return Part{Kind: CommDup} }), "[0 1 2 3 4 5] [0 1 2 3 4 5] [0 1 2 3 4 5] [0 1 2 3 4 5] [0 1 2 3 4 5] [0 1 2 3 4 5]"},
		{"split", all(func(r int) Part { return Part{Kind: CommSplit, Color: int64(r%3) - 1, Key: int64(-r)} }), "- [4 1] [5 2] - [4 1] [5 2]"},
		{"first", all(func(int) Part { return Part{Kind: CommFirst, Integers: []int32{2}} }), "[0 1] [0 1] - - - -"},
		{"rows", first(grid, func(int) Part { return Part{Kind: CommSub, Parent: of, Integers: []int32{0, 1}} }), "[0 1 2] [0 1 2] [0 1 2] [3 4 5] [3 4 5] [3 4 5]"},
		{"columns", first(grid, func(int) Part { return Part{Kind: CommSub, Parent: of, Integers: []int32{1, 0}} }), "[0 3] [1 4] [2 5] [0 3] [1 4] [2 5]"},
		{"no grid", all(func(int) Part { return Part{Kind: CommSub, Integers: []int32{1, 0}} }), "- - - - - -"},
		{"two kinds", all(func(r int) Part { return Part{Kind: PartKind(r % 2)} }), "- - - - - -"},
		{"create", create(4, 0), "[4 0] - - - [4 0] -"},
		{"one twice", create(4, 0, 4), "- - - - - -"},
	} {
		got := ""
		for _, communicators := range Resolve(c.parts, world, self) {
			last := communicators[len(communicators)-1]
			if got != "" {
				got += " "
			}
			if last == nil {
				got += "-"
				continue
			}
			got += fmt.Sprint(last.Members)
		}
		simtest.ErrorIf(t, got != c.want, "%s: %s, want %s", c.name, got, c.want)
	}
}

// TestFiles: where no dot stands before a number it is a rank only if there are files from 0 on.
func TestFiles(t *testing.T) {
	naming := Naming{Pattern: input.Pattern(`^(|.*[^0-9])(0|[1-9][0-9]*)(\.et)$`), Digits: 1, Sure: "."}
	for name, want := range map[string]string{
		"a.1.et": "a.0.et a.1.et", "rank_0.et": "rank_0.et rank_1.et", "1.et": "0.et 1.et", "b.2.et": "b.0.et b.1.et b.2.et", "resnet50.et": "resnet50.et", "x.et": "x.et",
	} {
		dir := t.TempDir()
		for _, file := range append(strings.Fields(want), name) {
			if name != "b.2.et" || file == "b.0.et" || file == name {
				simtest.Check(t, os.WriteFile(filepath.Join(dir, file), nil, 0o666))
			}
		}
		got := strings.ReplaceAll(strings.Join(naming.Files(filepath.Join(dir, name)), " "), dir+"/", "")
		simtest.ErrorIf(t, got != want, "%s: %s, want %s", name, got, want)
	}
}
