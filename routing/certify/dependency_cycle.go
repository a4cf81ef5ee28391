package certify

// components gives each node the number of its strongly connected component
// (Tarjan, SIAM Journal on Computing 1972, without recursion) and the size of
// each component.
func (a *adjacency) components() (component, size []int32) {
	n := a.nodes()
	component = make([]int32, n)
	order := make([]int32, n) // 1 + time of discovery; 0: not seen
	low := make([]int32, n)
	cursor := make([]int32, n) // next edge to follow
	var path, stack []int32
	for i := range component {
		component[i] = -1
	}
	time := int32(0)
	for root := range int32(n) {
		if order[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if order[v] == 0 {
				time++
				order[v], low[v], cursor[v] = time, time, a.start[v]
				stack = append(stack, v)
			}
			if cursor[v] < a.start[v+1] {
				w := a.to[cursor[v]]
				switch {
				case order[w] == 0:
					path = append(path, w) // comes back to this edge, seen then
				default:
					cursor[v]++
					if component[w] < 0 {
						low[v] = min(low[v], low[w])
					}
				}
				continue
			}
			path = path[:len(path)-1]
			if low[v] != order[v] {
				continue
			}
			number := int32(len(size))
			size = append(size, 0)
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				component[w] = number
				size[number]++
				if w == v {
					break
				}
			}
		}
	}
	return component, size
}

// maxStarts bounds the nodes from which shortestCycle searches.
const maxStarts = 20000

// shortestCycle is a shortest cycle of the graph, nil if there is none: a
// breadth-first search from every node that lies on a cycle, cut off at the
// length of the best one so far. In graphs with more than 20,000 nodes on
// cycles it is a shortest one through the first 20,000 of them.
func (a *adjacency) shortestCycle() []int32 {
	component, size := a.components()
	var best []int32
	parent := make([]int32, a.nodes())
	seen := make([]int32, a.nodes()) // 1 + the start of the search that saw the node last
	starts := 0
	for v := range int32(a.nodes()) {
		if size[component[v]] == 1 && !a.hasLoop(v) {
			continue
		}
		if starts++; starts > maxStarts {
			break
		}
		if cycle := a.cycleThrough(v, component, len(best), parent, seen); cycle != nil {
			best = cycle
		}
	}
	return best
}

func (a *adjacency) hasLoop(v int32) bool {
	for _, w := range a.next(v) {
		if w == v {
			return true
		}
	}
	return false
}

// cycleThrough is a shortest cycle through v that is shorter than limit (0: no
// limit), or nil.
func (a *adjacency) cycleThrough(v int32, component []int32, limit int, parent, seen []int32) []int32 {
	level := []int32{v}
	seen[v] = v + 1
	for length := 1; len(level) > 0 && (limit == 0 || length < limit); length++ {
		var next []int32
		for _, u := range level {
			for _, w := range a.next(u) {
				if w == v {
					return unwind(v, u, parent, length)
				}
				if component[w] == component[v] && seen[w] != v+1 {
					seen[w] = v + 1
					parent[w] = u
					next = append(next, w)
				}
			}
		}
		level = next
	}
	return nil
}

// unwind lists the path of so many nodes from v to last.
func unwind(v, last int32, parent []int32, length int) []int32 {
	cycle := make([]int32, length)
	for i := length - 1; i > 0; i-- {
		cycle[i] = last
		last = parent[last]
	}
	cycle[0] = v
	return cycle
}
