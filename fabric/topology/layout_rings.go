package topology

// rings draws parts of a network as layGroups draws groups.
func rings(g *Graph, groups int, of func(s SwitchID) int, name func(group int) string, how string) *Layout {
	l := layGroups(&ringed{g, groups, of})
	for i := range l.Frames {
		l.Frames[i].Name = name(i)
	}
	l.How = how
	return l
}

// ringed are switches in groups, for a layout.
type ringed struct {
	graph  *Graph
	groups int
	of     func(s SwitchID) int
}

func (r *ringed) Graph() *Graph                { return r.graph }
func (r *ringed) Facts() Facts                 { return Facts{} }
func (r *ringed) Groups() int                  { return r.groups }
func (r *ringed) GroupOf(s SwitchID) int       { return r.of(s) }
func (r *ringed) LocalTo(_, _ SwitchID) PortID { return NoPort }
func (r *ringed) Gateways(_, _ int) []PortID   { return nil }
