package multicast

// uniter merges groups into one tree.
type uniter struct {
	forest  *Forest
	roots   *rootFinder
	colour  *subgraph
	extend  bool // old trees keep their cables
	members []member
	far     []int32
}

func newUniter(f *Forest, roots *rootFinder, colour *subgraph, extend bool) *uniter {
	return &uniter{forest: f, roots: roots, colour: colour, extend: extend, far: make([]int32, f.env.Graph.Switches())}
}

// join puts g and the groups of the given trees, all of colour c, on one tree
// of that colour. It reports false, having changed nothing, if they are not
// connected in what the colour leaves free.
func (e *uniter) join(g Group, c Colour, trees []*Planted) bool {
	f, colour := e.forest, e.colour
	virtual := virtualGroup(trees, &g)
	e.members = appendMembers(f.env.Graph, &virtual, e.members[:0])
	colour.open(c, trees)
	for _, cell := range f.requiredCells(&virtual, nil) {
		if colour.blocked.has(int(cell)) {
			return false
		}
	}
	e.boundAll(&g, trees)
	root, height := colour.bestRoot(e.members, e.far)
	if root < 0 {
		return false
	}
	var t *Tree
	if e.extend {
		t = colour.extend(root, e.members, trees)
	} else {
		t = colour.tree(root, e.members, height)
	}
	var groups []Group
	for _, p := range trees {
		groups = append(groups, p.Groups...)
		f.Uproot(p)
	}
	f.Plant(t, c, append(groups, g)...).far = e.roots.bytes()
	return true
}

// boundAll fills far with the distance, in the whole network, from every switch
// to the farthest member of g or of a group on one of the trees. United trees
// remember theirs, since they have many members.
func (e *uniter) boundAll(g *Group, trees []*Planted) {
	r := e.roots
	r.reset()
	r.include(g)
	for _, p := range trees {
		if p.far != nil {
			widen(r.far, p.far)
			continue
		}
		for i := range p.Groups {
			r.include(&p.Groups[i])
		}
	}
	r.finish()
	for v := range e.far {
		e.far[v] = int32(byte(r.far[v/8] >> (v % 8 * 8)))
	}
}
