package ib

import (
	"regexp"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
)

// device matches the last word of an adapter's description where the word before
// names its host: what drivers call adapters ("mlx5_0", "ibp65s0") and what the
// subnet agents of old ones did ("HCA-1").
var device = regexp.MustCompile(`^(HCA-\d+|mlx\d+_\d+|mthca\d+|qib\d+|hfi1_\d+|(ib|ro)\w*\d+\w*)$`)

// hostsOf numbers the hosts of terminals by the names of their adapters: those
// described as "HOST DEVICE" with one host and different devices are rails of one
// host. Adapters that share both words, as those of clusters do where nobody has set
// host names, are hosts of their own. nil: no host has several terminals.
func hostsOf(n *topology.Names) []int32 {
	type adapter struct{ host, device string }
	name := func(t int) (a adapter, ok bool) {
		words := strings.Fields(n.Terminal[t])
		if len(words) < 2 || !device.MatchString(words[len(words)-1]) {
			return a, false
		}
		return adapter{strings.Join(words[:len(words)-1], " "), words[len(words)-1]}, true
	}
	owner := map[adapter]int32{}   // adapter by its name
	ambiguous := map[string]bool{} // hosts by name
	for t, node := range n.TerminalNode {
		if a, ok := name(t); ok {
			if first, known := owner[a]; known && first != node {
				ambiguous[a.host] = true
			}
			owner[a] = node
		}
	}
	byName := map[string]int32{}
	byNode := map[int32]int32{}
	hosts := make([]int32, len(n.Terminal))
	several := false
	next := int32(0)
	for t, node := range n.TerminalNode {
		host, known := byNode[node]
		a, ok := name(t)
		if ok = ok && !ambiguous[a.host]; ok && !known {
			host, known = byName[a.host]
		}
		if !known {
			host = next
			next++
		}
		several = several || known
		byNode[node] = host
		if ok {
			byName[a.host] = host
		}
		hosts[t] = host
	}
	if !several {
		return nil
	}
	return hosts
}
