package experiments

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
)

// FurtherDescription documents a further table of results.
type FurtherDescription struct {
	Doc     string
	Columns []Column // behind the point, its swept keys and its seed
}

// FurtherColumns documents the further table of that name.
func FurtherColumns(name string) (FurtherDescription, bool) {
	d, ok := furtherTables[name]
	return d, ok
}

// furtherTables documents what kinds give to [Run.Table]. A test runs them all and
// finds columns that are missing here.
var furtherTables = map[string]FurtherDescription{
	"links": {"what every channel carried in the window, by virtual channel", []Column{
		{"from", "port or terminal that the channel leads out of"},
		{"to", "port or terminal that it leads to"},
		{"class", "class of the channel, as the topology names it"},
		{"vc", "virtual channel, from 0"},
		{"flits", "flits that it carried in the window"},
		{"flits_per_cycle", "the same by the length of the window: 1 is all that a channel carries"},
	}},
	"global_channels": {"load of the channels between groups", []Column{
		{"group", "group that the channel leads out of"},
		{"offset", "groups from there to the one that it leads to, modulo their number"},
		{"role", "minimal: to the next group; beside: another channel of a switch that has such a one; other"},
		{"flits_per_cycle", "flits by the length of the window"},
	}},
	"histogram": {"distribution of packet latency", []Column{
		{"latency_from_ns", "lower end of the bin"},
		{"latency_to_ns", "upper end of the bin, which is not in it"},
		{"packets", "measured packets in the bin"},
	}},
	"fairness": {"how evenly terminals are served", []Column{
		{"direction", "sent or received"},
		{"jain_index", "Jain's index of fairness: 1 if all terminals have the same, k/n if k of n have everything"},
		{"mean_flits_per_cycle", "mean over the terminals"},
		{"min_flits_per_cycle", "of the terminal with the least"},
		{"min_terminal", "its name"},
		{"max_flits_per_cycle", "of the terminal with the most"},
		{"max_terminal", "its name"},
	}},
	"search": {"loads that the search for saturation has tried", []Column{
		{"step", "number of the run, from 0"},
		{"offered_load", "flits per terminal and cycle that were tried"},
		{"accepted_load", "flits per terminal and cycle delivered"},
		{"latency_mean_ns", "mean packet latency"},
		{"window_cycles", "length of the window"},
		{"state", "verdict on the run: steady, saturated or undecided"},
		{"state_reason", "what the verdict follows from"},
	}},
	"program": {"times that terminal programs have noted, such as round trips", []Column{
		{"measure", "what was timed"},
		{"count", "how often"},
		{"mean_ns", "mean"}, {"p50_ns", "median"}, {"p95_ns", "95th percentile"}, {"p99_ns", "99th percentile"}, {"max_ns", "largest"},
	}},
	"blame": {"parts of the latency of measured packets", append(append([]Column{
		{"scope", "all; packets: sent minimally or not; switch: a switch with all its channels; channel"},
		{"from", "port, terminal or switch; with scope packets minimal or non-minimal"},
		{"to", "port or terminal that the channel leads to"},
		{"channel_class", "class of the channel"},
		{"packets", "measured packets that the means are over"},
	}, partColumns()...), []Column{
		{"total_ns", "sum of the parts: with scope all, the mean latency"},
		{"root_share", "share of all waiting in the network that has its root at the channel"},
	}...)},
	"congestion": {"channels with the largest root_share, as trees of the channels that they stall", []Column{
		{"tree", "number of the tree, from the largest share on"},
		{"depth", "0: the root; 1: stalled by it; and so on"},
		{"from", "port or terminal that the channel leads out of"},
		{"to", "port or terminal that it leads to"},
		{"channel_class", "class of the channel"},
		{"share", "share of all waiting that passes through the channel on its way to the root"},
	}},
	"ranks": {"when every rank was done", []Column{
		{"rank", "number of the rank, from 0"},
		{"finish_ns", "time at which its program ended"},
	}},
	"colours": {"trees that share an entry of the forwarding tables", []Column{
		{"colour", "number of the entry, the same in all switches"},
		{"trees", "trees that have it"},
		{"groups", "groups on these trees"},
		{"largest_tree_groups", "groups of the tree with the most"},
	}},
	"efi": {"edge forwarding index (EFI, groups over one cable) of the cables between switches", []Column{
		{"groups", "groups over a cable"},
		{"cables", "cables that have so many"},
	}},
	"timing": {"run time of the multicast engine, which differs from run to run", []Column{
		{"groups", "groups routed"},
		{"run_time_s", "time for all"},
		{"time_per_group_ms", "mean time of one"},
	}},
	"groups": {"latency of every multicast group", []Column{
		{"group", "number of the group, from 0"},
		{"members", "terminals in it"},
		{"messages", "messages measured"},
		{"latency_mean_ns", "mean from the post of a message until the last member has it"},
		{"latency_p50_ns", "median of it"},
		{"latency_p99_ns", "99th percentile of it"},
		{"latency_max_ns", "the largest"},
	}},
}

// partColumns documents the parts of the latency (docs/blame.md).
func partColumns() []Column {
	doc := map[string]string{
		"source_queue":      "at its terminal, until the head enters the channel",
		"route":             "route computation",
		"vc_allocation":     "waiting for a virtual channel, and the stage itself",
		"switch_allocation": "switch allocation, waiting for it, and the crossbar",
		"credit_stall":      "no buffer free at the far end of the channel",
		"serialisation":     "flits in front, of the packet itself and of others on their way out",
		"ejection":          "waiting for the channel to the destination",
		"wire":              "latencies of the channels",
	}
	var columns []Column
	for _, name := range fabric.PartNames {
		columns = append(columns, Column{name + "_ns", "mean part of the latency: " + doc[name]})
	}
	return columns
}

// undescribed lists the columns of a further table without documentation.
func undescribed(o *Output) (missing []string) {
	d := furtherTables[o.Name]
	for _, name := range o.Columns {
		if !slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Name == name && c.Doc != "" }) {
			missing = append(missing, name)
		}
	}
	return missing
}
