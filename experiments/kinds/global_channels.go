package kinds

import (
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
)

// writeGlobalChannels keeps how much every global channel of a grouped topology
// carried in the window: global_channels.csv. Channels are told apart as figure
// 9 of the dragonfly paper does for worst-case traffic, by where they lead and
// by their switch: role is minimal for channels to the next group, beside for
// the others of a switch that has such a channel, and other.
func writeGlobalChannels(run *experiments.Run, t topology.Grouped, c *carried) {
	g := t.Graph()
	table := run.Table("global_channels", "group", "offset", "role", "flits_per_cycle")
	groups := t.Groups()
	for from := range groups {
		next := map[topology.SwitchID]bool{} // switches with a channel to the next group
		for _, p := range t.Gateways(from, (from+1)%groups) {
			next[g.PortSwitch[p]] = true
		}
		for offset := 1; offset < groups; offset++ {
			for _, p := range t.Gateways(from, (from+offset)%groups) {
				role := "other"
				switch {
				case offset == 1:
					role = "minimal"
				case next[g.PortSwitch[p]]:
					role = "beside"
				}
				table.Add(from, offset, role, c.rate(int(p), g.NumPorts()+g.Terminals()))
			}
		}
	}
}
