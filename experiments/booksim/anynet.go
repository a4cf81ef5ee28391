package booksim

import (
	"bytes"
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
)

// mostRouters bounds the networks of anynet: the paths take time that grows with its cube.
const mostRouters = 2048

// anynet is the network of network_file, with the paths that BookSim2 finds in it.
func (c *Config) anynet(m *Counterpart) error {
	name := c.Text("network_file")
	if name == "" {
		return refusal("network_file: is not given, and anynet wants one")
	}
	if c.graphErr != nil {
		return refusal(fmt.Sprintf("network_file = %s: %v", name, c.graphErr))
	}
	network, err := topology.ReadAnynet(name, []byte(c.graph))
	if err != nil {
		return refusal(err.Error())
	}
	if doubts := network.(topology.Doubtful).Doubts(); len(doubts) > 0 {
		return refusal(doubts[0])
	}
	g := network.Graph()
	if n := g.Switches(); n > mostRouters {
		return refusal(fmt.Sprintf("network_file = %s: %d routers, want at most %d", name, n, mostRouters))
	}
	for t, p := range g.TerminalPort {
		if cycles := g.Classes[g.PortClass[p]].Latency; cycles > 1 { // it makes a channel between routers of them
			return refusal(fmt.Sprintf("network_file = %s: %d cycles to node %d, which BookSim2 does not read as such: want none there", name, cycles, t))
		}
	}
	m.Topology = "type = \"anynet\"\npath = \"network.anynet\"\n"
	m.Routing = "type = \"table\"\nnext_hops = \"network.nexthop\"\nhop_vcs = \"any\"\n"
	m.Files = map[string][]byte{"network.anynet": []byte(c.graph), "network.nexthop": nextHops(g)}
	m.CanDeadlock = true
	return nil
}

// nextHops lists, for each router and destination, the router that comes next on the shortest
// path by the cycles of channels. Of paths as short it is the one that BookSim2 takes: routers
// are settled by their distance, then by their number, and the first way found stands.
func nextHops(g *topology.Graph) []byte {
	n := g.Switches()
	var table bytes.Buffer
	distance, next, settled := make([]int, n), make([]int, n), make([]bool, n)
	for from := range n {
		for s := range n {
			distance[s], next[s], settled[s] = math.MaxInt, -1, false
		}
		distance[from] = 0
		for range n {
			nearest := -1
			for s, done := range settled {
				if !done && distance[s] < math.MaxInt && (nearest < 0 || distance[s] < distance[nearest]) {
					nearest = s
				}
			}
			if nearest < 0 {
				break
			}
			settled[nearest] = true
			for p, to := range g.Links(topology.SwitchID(nearest)) {
				if d := distance[nearest] + g.Classes[g.PortClass[p]].Latency; d < distance[to] {
					distance[to], next[to] = d, next[nearest]
					if nearest == from {
						next[to] = int(to)
					}
				}
			}
		}
		for s, hop := range next {
			if s > 0 {
				table.WriteByte(' ')
			}
			fmt.Fprint(&table, hop)
		}
		table.WriteByte('\n')
	}
	return table.Bytes()
}
