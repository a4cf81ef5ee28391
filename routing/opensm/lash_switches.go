package opensm

// lashSwitch is a switch as LASH sees it. Those of a subnet are numbered like its nodes
// unless they are analysed as a mesh.
type lashSwitch struct {
	node  int32
	links []lashLink
	// Of the analysis:
	matrix    [][]int32 // hops between the switches at any two links, but through this one; nil: too many links
	shape     meshShape
	dimension int     // of the mesh or torus that looks like this from within, 0 none
	edge      bool    // fewer links than a neighbour
	coord     []int32 // far: in none of its rows
}

// lashLink is all cables to one other switch.
type lashLink struct {
	to     int32   // number of the switch
	back   int     // its link to here
	cables []int32 // in Subnet.Links
	axis   int     // 1 and 2 are the directions of the first dimension, and so on; 0 none
}

// lashSwitches lists the switches of a subnet in order.
func lashSwitches(s *Subnet) []lashSwitch {
	list := make([]lashSwitch, s.nodes())
	at := make([]int, len(list)*len(list)) // 1 + the link, by both switches
	for n := range s.nodes() {
		sw := &list[n]
		sw.node = n
		for l := s.Start[n]; l < s.Start[n+1]; l++ {
			to := s.Links[l].Peer
			if to == n {
				continue
			}
			i := &at[int(n)*len(list)+int(to)]
			if *i == 0 {
				sw.links = append(sw.links, lashLink{to: to})
				*i = len(sw.links)
			}
			link := &sw.links[*i-1]
			link.cables = append(link.cables, l)
		}
	}
	for n := range list {
		for i := range list[n].links {
			link := &list[n].links[i]
			link.back = at[int(link.to)*len(list)+n] - 1
		}
	}
	return list
}
