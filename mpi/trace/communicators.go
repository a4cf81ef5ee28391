package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Communicator is a group of ranks with a context of its own.
type Communicator struct {
	Name    string // one of its own; "" for the communicator of all ranks
	Members []int  // ranks in the communicator's order; nil: all
	Dims    []int  // if it is Cartesian
	made    []*creation
}

// Rank is the rank of a member.
func (c *Communicator) Rank(member int64) int64 {
	if c.Members == nil {
		return member
	}
	return int64(c.Members[member])
}

// creation is the making of communicators out of one, in which all its members take part.
type creation struct {
	arrived int
	parts   []Part
	result  []*Communicator // by member, once all have arrived
}

// Part is what one rank does about communicators and groups.
type Part struct {
	Kind     PartKind
	Parent   int64 // communicator or group, by the rank's own number
	Other    int64 // second group
	New      int64 // the number of what is made
	Color    int64 // of a split; negative: none
	Key      int64
	Integers []int32 // ranks, dimensions, or flags of those that remain
}

// PartKind is what a [Part] does.
type PartKind uint8

// The kinds. The first are collective in their parent; all of them make a communicator,
// the others a group.
const (
	CommDup PartKind = iota
	CommSplit
	CommCreate     // of the group Other
	CommFirst      // of the first Integers[0] ranks
	CommCartesian  // of dimensions Integers
	CommSub        // of the dimensions that Integers keep
	CommUnknown    // of ranks that the trace does not tell
	GroupOf        // of a communicator
	GroupInclude   // of the ranks Integers of a group
	GroupExclude   // without them
	GroupUnion     // of two groups
	GroupIntersect // of two groups
	GroupSubtract  // of two groups
)

// Collective tells whether all members of the parent take part.
func (k PartKind) Collective() bool { return k < GroupOf }

// member is a rank on its way through its parts.
type member struct {
	next        int
	waiting     *creation // which it has arrived at
	communities map[int64]*Communicator
	groups      map[int64][]int
	steps       map[*Communicator]int
	made        []*Communicator
}

// Resolve finds the communicators that ranks make: for each rank the communicators of its
// collective parts, in order; nil if it is no member, or if the members cannot be known.
// world and self are the numbers of the communicators that are there from the start.
func Resolve(parts [][]Part, world, self int64) [][]*Communicator {
	all := &Communicator{}
	members := make([]*member, len(parts))
	for r := range parts {
		all.Members = append(all.Members, r)
		own := &Communicator{Name: "self", Members: []int{r}}
		members[r] = &member{communities: map[int64]*Communicator{world: all, self: own}, groups: map[int64][]int{}, steps: map[*Communicator]int{}}
	}
	names := 0
	for moved := true; moved; {
		moved = false
		for r, m := range members {
			for m.next < len(parts[r]) && m.step(r, parts[r][m.next], &names) {
				m.next++
				moved = true
			}
		}
	}
	made := make([][]*Communicator, len(parts))
	for r, m := range members {
		for ; m.next < len(parts[r]); m.next++ { // others never come to these
			if parts[r][m.next].Kind.Collective() {
				m.made = append(m.made, nil)
			}
		}
		made[r] = m.made
	}
	return made
}

// step does one part; false if it has to wait for other ranks.
func (m *member) step(rank int, p Part, names *int) bool {
	if !p.Kind.Collective() {
		m.groups[p.New] = m.group(p)
		return true
	}
	parent := m.communities[p.Parent]
	var result *Communicator
	if p.Kind != CommUnknown && parent != nil {
		k := m.steps[parent]
		if k == len(parent.made) {
			parent.made = append(parent.made, &creation{parts: make([]Part, len(parent.Members))})
		}
		c, index := parent.made[k], slices.Index(parent.Members, rank)
		if m.waiting != c {
			m.waiting = c
			c.arrived++
			if p.Kind == CommCreate {
				p.Integers = nil
				for _, r := range m.groups[p.Other] {
					p.Integers = append(p.Integers, int32(r))
				}
			}
			c.parts[index] = p
			if c.arrived == len(parent.Members) {
				c.result = parent.divide(c.parts, names)
			}
		}
		if c.result == nil {
			return false
		}
		m.steps[parent]++
		result = c.result[index]
	}
	m.communities[p.New] = result
	m.made = append(m.made, result)
	return true
}

// group is the group that a part makes; nil if it is not known.
func (m *member) group(p Part) []int {
	if p.Kind == GroupOf {
		if c := m.communities[p.Parent]; c != nil {
			return c.Members
		}
		return nil
	}
	a, b := m.groups[p.Parent], m.groups[p.Other]
	var group []int
	switch p.Kind {
	case GroupInclude:
		taken := make([]bool, len(a)) // MPI has no rank twice
		for _, i := range p.Integers {
			if i < 0 || int(i) >= len(a) || taken[i] {
				return nil
			}
			taken[i] = true
			group = append(group, a[i])
		}
	case GroupUnion:
		group = slices.Clone(a)
		for _, r := range b {
			if !slices.Contains(a, r) {
				group = append(group, r)
			}
		}
	default:
		for i, r := range a {
			out := p.Kind == GroupExclude && slices.Contains(p.Integers, int32(i)) || p.Kind != GroupExclude && slices.Contains(b, r) == (p.Kind == GroupSubtract)
			if !out {
				group = append(group, r)
			}
		}
	}
	return group
}

// divide makes the communicators of one creation, by member of the parent.
func (c *Communicator) divide(parts []Part, names *int) []*Communicator {
	result := make([]*Communicator, len(c.Members))
	colors := make([]string, len(c.Members))
	order := make([]int, len(c.Members))
	for i := range parts {
		if parts[i].Kind != parts[0].Kind || parts[i].Kind == CommSub && (len(parts[i].Integers) != len(c.Dims) || len(c.Dims) == 0) {
			return result // not what MPI allows
		}
		order[i], colors[i] = i, c.color(i, &parts[i])
	}
	if parts[0].Kind == CommSplit {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[a].Key, parts[b].Key) })
	}
	byColor := map[string]*Communicator{}
	for _, i := range order {
		color := colors[i]
		if color == "" {
			continue
		}
		n := byColor[color]
		if n == nil {
			*names++
			n = &Communicator{Name: fmt.Sprint("communicator ", *names), Dims: c.dims(&parts[i], parts[0].Integers)}
			byColor[color] = n
		}
		if parts[i].Kind != CommCreate {
			n.Members = append(n.Members, c.Members[i])
		} else if n.Members == nil { // the group's order
			for _, r := range parts[i].Integers {
				n.Members = append(n.Members, int(r))
			}
		}
		result[i] = n
	}
	return result
}

// color tells the communicators apart that a division makes; "": member i, who takes part p, is in none.
func (c *Communicator) color(i int, p *Part) (color string) {
	switch p.Kind {
	case CommDup:
		return "all"
	case CommSplit:
		if p.Color >= 0 {
			return fmt.Sprint(p.Color)
		}
	case CommCreate:
		if slices.Contains(p.Integers, int32(c.Members[i])) {
			return fmt.Sprint(p.Integers)
		}
	case CommFirst, CommCartesian:
		size := int64(1)
		for _, n := range p.Integers {
			size *= int64(max(min(n, 1<<15), 0))
			size = min(size, 1<<30)
		}
		if int64(i) < size {
			return "first"
		}
	case CommSub:
		rest := i
		for d := len(c.Dims) - 1; d >= 0; d-- {
			if p.Integers[d] == 0 {
				color += fmt.Sprint(rest%c.Dims[d], " ")
			}
			rest /= c.Dims[d]
		}
		return color + "sub"
	}
	return ""
}

// dims are the dimensions of a communicator that a division makes of c, as the first of it gives them.
func (c *Communicator) dims(p *Part, first []int32) (dims []int) {
	switch p.Kind {
	case CommDup:
		return c.Dims
	case CommCartesian:
		for _, d := range first {
			dims = append(dims, max(int(d), 1))
		}
	case CommSub:
		for d, kept := range p.Integers {
			if kept != 0 {
				dims = append(dims, c.Dims[d])
			}
		}
	}
	return dims
}
