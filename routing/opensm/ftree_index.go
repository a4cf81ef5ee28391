package opensm

import (
	"bytes"
	"slices"
)

// makeIndex gives every switch a tuple of bytes that tells its place in the tree:
// its rank, then numbers such that switches below one another share them. It goes
// breadth first from the first leaf switch; from each switch down, then up. A new
// switch takes the tuple it is found from, with its own rank, and at the place of
// the larger of both ranks the lowest number that makes it unique.
func (f *fatTree) makeIndex() {
	n := len(f.s.Switches)
	f.index = make([][8]uint8, n)
	for i := range f.index {
		f.index[i] = [8]uint8{noPath, noPath, noPath, noPath, noPath, noPath, noPath, noPath}
	}
	first := int32(max(0, slices.Index(f.marked, true)))
	f.index[first] = [8]uint8{f.rank[first]}
	taken := map[[8]uint8]bool{f.index[first]: true}
	// Numbers are given out in rising order, so the next one to try is known.
	next := map[[8]uint8]uint8{}
	done := make([]bool, n)
	done[first] = true
	queue := []int32{first}
	visit := func(from int32, groups []*portGroup) {
		for _, g := range groups {
			if done[g.remote] {
				continue
			}
			done[g.remote] = true
			tuple := f.index[from]
			tuple[0] = f.rank[g.remote]
			place := min(int(max(f.rank[from], f.rank[g.remote])), len(tuple)-1)
			tuple[place] = noPath
			stem := tuple
			for tuple[place] = next[stem]; taken[tuple] && tuple[place] < noPath-1; tuple[place]++ {
			}
			next[stem] = tuple[place]
			taken[tuple] = true
			f.index[g.remote] = tuple
			queue = append(queue, g.remote)
		}
	}
	for head := 0; head < len(queue); head++ {
		at := queue[head]
		if f.rank[at] < f.leaf {
			visit(at, f.down[at])
		}
		if f.rank[at] > 0 {
			visit(at, f.up[at])
		}
		if f.rank[at] < f.leaf {
			slices.SortStableFunc(f.down[at], f.byRemote)
		}
		slices.SortStableFunc(f.up[at], f.byRemote)
	}
}

func (f *fatTree) byRemote(a, b *portGroup) int {
	return bytes.Compare(f.index[a.remote][:], f.index[b.remote][:])
}

// listLeaves lists the switches of leaf rank by index, from the first with compute
// nodes to the last.
func (f *fatTree) listLeaves() {
	for n, rank := range f.rank {
		if rank == f.leaf {
			f.leaves = append(f.leaves, int32(n))
		}
	}
	slices.SortStableFunc(f.leaves, func(a, b int32) int { return bytes.Compare(f.index[a][:], f.index[b][:]) })
	for len(f.leaves) > 0 && !f.marked[f.leaves[0]] {
		f.leaves = f.leaves[1:]
	}
	for len(f.leaves) > 0 && !f.marked[f.leaves[len(f.leaves)-1]] {
		f.leaves = f.leaves[:len(f.leaves)-1]
	}
}

// validate holds every switch to the first one of its rank.
func (f *fatTree) validate() string {
	reference := map[uint8]int32{}
	for n := range f.s.nodes() {
		first, known := reference[f.rank[n]]
		if !known {
			reference[f.rank[n]] = n
			continue
		}
		what := ""
		switch {
		case len(f.up[n]) != len(f.up[first]):
			what = "ERR AB09: Different number of upward port groups on switches:"
		case f.rank[n] != f.leaf && len(f.down[n])+f.hosts[n] != len(f.down[first])+f.hosts[first]:
			what = "ERR AB0A: Different number of downward port groups on switches:"
		case !f.samePorts(n, first):
			what = "ERR AB0B: Different number of ports in an upward port group on switches:"
		case f.rank[n] != f.leaf && len(f.down[n]) > 0 && len(f.down[first]) > 0 && len(f.down[n][0].ports) != len(f.down[first][0].ports):
			what = "ERR AB0C: Different number of ports in a downward port group on switches:"
		default:
			continue
		}
		return "fabric_validate_topology: " + what + "; fabric_validate_topology: ERR AB0D: Fabric topology hasn't been identified as FatTree; " + noTree
	}
	return ""
}

// samePorts tells whether all groups up of a switch have as many ports as the first
// group of the reference.
func (f *fatTree) samePorts(n, reference int32) bool {
	for _, g := range f.up[n] {
		if len(g.ports) != len(f.up[reference][0].ports) {
			return false
		}
	}
	return true
}
