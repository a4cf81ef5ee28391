package atlas

import (
	"fmt"
	"strings"
)

// Page is the atlas as a page of Markdown: what the families are, and with pictures, of
// which NAME.svg of each stands beside the page, the pairs of each. at is the command that
// made it.
func Page(entries []*Entry, at string, pictures bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, strings.ReplaceAll(`# The atlas

Every topology that weft generates, with every routing that it carries: the virtual
channels that the pair needs, whether its channel dependency graph has a cycle, and what it
carries. Made by '%s'; the pairs are in 'atlas.csv'.

| column of atlas.csv | meaning |
| --- | --- |
| certificate | free: no cycle among all dependencies of the pair, with as many virtual channels as it says it needs; cycle: the routing has a choice, for demonstrations, with which it can deadlock, and 'weft atlas' names the channels |
| bound | the load at which the first channel is full, in flits per terminal and cycle, from channel loads; none where choices depend on queues |
| saturation | the highest load at which the default switch was found steady, in steps of 0.02 |
| hard_pattern | worst-case, one group to the next, where there are groups; else switch-permutation, all terminals of a switch to those of another |
| price_per_terminal | by the assumptions of kind cost |

Engines of OpenSM give the network the routes that OpenSM would; some promise nothing, and
may have a cycle. A routing that learns ('q-adaptive') is measured when its switches have
learned: warm-up and window may take 400,000 cycles, those of other routings 12,000.

`, "'", "`"), at)
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row("topology", "settings", "terminals", "switches", "ports", "diameter", "mean distance", "uniform bound", "price a terminal")
	row("---", "---", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	for _, e := range entries {
		m := &e.Metrics
		row(e.Family, e.Line(), fmt.Sprint(m.Terminals), fmt.Sprint(m.Switches), fmt.Sprint(e.Radix), fmt.Sprint(m.Diameter()),
			short(m.MeanDistance), short(e.Capacity), fmt.Sprintf("%.0f", e.Price/float64(m.Terminals)))
	}
	if !pictures {
		return b.String()
	}
	for _, e := range entries {
		fmt.Fprintf(&b, "\n## %s\n\n<img src=\"%s.svg\" width=\"320\" alt=\"%s\">\n\n", e.Family, e.Family, e.Family)
		if line := e.Line(); line != "" {
			fmt.Fprintf(&b, "%s. ", line)
		}
		fmt.Fprintf(&b, "Hard pattern: %s.\n\n", e.Worst)
		row("routing", "virtual channels", "certificate", "idle ns", "bound, uniform", "saturation, uniform", "bound, hard", "saturation, hard")
		row("---", "--:", "---", "--:", "--:", "--:", "--:", "--:")
		for _, p := range e.Pairs {
			name := p.Routing
			if p.Variant != "" {
				name += ", " + p.Variant
			}
			certificate := verdict(p)
			if p.Refused != "" {
				certificate += ": " + p.Refused
			}
			row(name, vcsOf(p), certificate, of(e.ZeroLoad, p), short(p.Uniform), of(e.Uniform, p), short(p.Worst), of(e.Hard, p))
		}
	}
	return b.String()
}
