package families

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// TiersConfig configures the topology "tiers": a tree of two or three levels from a file of the
// htsim simulators. Lines are a name and a number; # begins a comment. Nodes, Tiers and Podsize
// (terminals of a pod; on two levels all) stand first, then for each level, leaves first, "Tier
// n" and
//
//	Downlink_speed_Gbps   data rate of the cables below
//	Downlink_Latency_ns   their time of flight
//	Switch_Latency_ns     from arrival to the output queue; 0 if it is left out
//	Radix_Down, Radix_Up  ports; the highest level has none up
//	Oversubscribed        rate below over rate above; 1 if it is left out
//	Bundle                parallel cables to a switch of the level below; 1 if it is left out
//
// Level sizes follow: leaves have Radix_Down terminals, and a level's rate up is its rate down over
// Oversubscribed. The network is an [XGFT], with its numbers.
type TiersConfig struct {
	Path string `toml:"path" doc:"file of tiers; relative to the experiment file" file:"read"`
}

func init() {
	topology.RegisterFormat(topology.Format{Name: "tiers", Called: "a topology file of htsim", Is: func(data []byte) bool { return tiersLine().Match(data) },
		Read: func(path string, data []byte) (topology.Topology, error) {
			return topology.AsTopology(ReadTiers(path, data))
		}})
	topology.RegisterFile("tiers", "a tree of two or three levels from a topology file of htsim", TiersConfig{}, input.MaxSettings,
		func(c TiersConfig) string { return c.Path },
		func(c TiersConfig, data []byte) (topology.Topology, error) {
			return topology.AsTopology(ReadTiers(c.Path, data))
		})
}

// tiersLine matches the line that tells such a file from others.
var tiersLine = input.Pattern(`(?im)^Tiers\s+\d+\s*$`)

func (c *TiersConfig) Validate() error { return topology.CheckPath(c.Path, "a file of tiers") }

// TiersNetwork is the network of a file of tiers.
type TiersNetwork struct {
	*topology.XGFT
	flights []sim.Time // by class
	delays  []sim.Time // by level
}

// CableLatency is the time of flight of a class of cables.
func (x *TiersNetwork) CableLatency(c topology.ClassID) sim.Time { return x.flights[c] }

// SwitchDelay is the time from the arrival of a packet at a switch to its output queue.
func (x *TiersNetwork) SwitchDelay(s topology.SwitchID) sim.Time { return x.delays[x.LevelOf(s)] }

// tier is a level of the file.
type tier struct {
	line int
	set  map[string]int
}

// tierKeys are a level's names, their least value and their default; -1: required.
var tierKeys = map[string]struct{ least, otherwise int }{
	"downlink_speed_gbps": {1, -1}, "downlink_latency_ns": {0, -1}, "switch_latency_ns": {0, 0}, "radix_down": {1, -1},
	"radix_up": {0, 0}, "oversubscribed": {1, 1}, "bundle": {1, 1},
	"queue_up": {0, 0}, "queue_down": {0, 0}, "queue_size_up": {0, 0}, "queue_size_down": {0, 0}, // ignored: queues are settings of the network
}

// mostTierValue bounds every number of a file.
const mostTierValue = 1 << 30

func (t *tier) at(key string) int {
	if v, ok := t.set[key]; ok {
		return v
	}
	return tierKeys[key].otherwise
}

// ReadTiers reads a file of tiers; name stands for it in errors, which are joined.
func ReadTiers(name string, data []byte) (*TiersNetwork, error) {
	if err := input.CheckUTF8(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines := input.NewLines(bytes.NewReader(data), name)
	head := map[string]int{}
	var tiers []tier
	for words := lines.NextWords(); words != nil; words = lines.NextWords() {
		key := strings.ToLower(words[0])
		if len(words) != 2 {
			text, _, _ := strings.Cut(lines.Text, "#")
			lines.Problem("%s: want a name and a number", input.Quote(strings.TrimSpace(text)))
			continue
		}
		value, err := strconv.Atoi(words[1])
		if err != nil || value < 0 || value > mostTierValue {
			lines.Problem("%s = %s: want a number of 0 to %d", words[0], input.Quote(words[1]), mostTierValue)
			continue
		}
		limits, known := tierKeys[key]
		set := head
		if known && len(tiers) > 0 {
			set = tiers[len(tiers)-1].set
		}
		_, twice := set[key]
		switch {
		case twice:
			lines.Problem("%s stands twice", words[0])
		case key == "nodes" || key == "tiers" || key == "podsize":
			head[key] = value
		case key == "tier":
			if value != len(tiers) {
				lines.Problem("tier %d: want tier %d next", value, len(tiers))
			}
			tiers = append(tiers, tier{lines.Number, map[string]int{}})
		case !known:
			lines.Problem("%s: unknown; known are Nodes, Tiers, Podsize, Tier, Downlink_speed_Gbps, Downlink_Latency_ns, Switch_Latency_ns, Radix_Down, Radix_Up, Oversubscribed, Bundle", input.Quote(words[0]))
		case len(tiers) == 0:
			lines.Problem("%s stands before the first Tier", words[0])
		case value < limits.least:
			lines.Problem("%s = %d: want at least %d", words[0], value, limits.least)
		default:
			tiers[len(tiers)-1].set[key] = value
		}
	}
	end := bytes.Count(data, []byte("\n")) + 1
	for _, key := range []string{"nodes", "tiers", "podsize"} {
		if head[key] < 1 {
			lines.ProblemAt(end, "%s is missing", key)
		}
	}
	if n := head["tiers"]; n != len(tiers) || n < 2 || n > 3 {
		lines.ProblemAt(end, "%d tiers are announced, and %d follow: want 2 or 3", n, len(tiers))
	}
	for i := range tiers {
		for _, key := range slices.Sorted(maps.Keys(tierKeys)) {
			if _, ok := tiers[i].set[key]; !ok && tierKeys[key].otherwise < 0 {
				lines.ProblemAt(tiers[i].line, "tier %d has no %s", i, key)
			}
		}
	}
	if err := lines.Finish(); err != nil {
		return nil, err
	}
	x, err := tiersOf(head, tiers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return x, nil
}

// tiersOf works out how many switches there are.
func tiersOf(head map[string]int, tiers []tier) (*TiersNetwork, error) {
	nodes, pod := head["nodes"], head["podsize"]
	var wrong error
	divide := func(what string, a, b int) int {
		if wrong == nil && (b == 0 || a%b != 0 || a == 0) {
			wrong = fmt.Errorf("%s: %d / %d is not a whole number above 0", what, a, b)
		}
		if wrong != nil {
			return 1
		}
		return a / b
	}
	leaves := divide("leaves of a pod, Podsize / Radix_Down of tier 0", pod, tiers[0].at("radix_down"))
	pods := divide("pods, Nodes / Podsize", nodes, pod)
	speed := func(t int) int { return tiers[t].at("downlink_speed_gbps") }
	// up is the number of cables above a switch, and parents those switches.
	up := divide("cables above a leaf", tiers[0].at("radix_down")*speed(0), speed(1)*tiers[0].at("oversubscribed"))
	parents := divide("switches of tier 1 above a leaf, cables / Bundle", up, tiers[1].at("bundle"))
	c := topology.XGFTConfig{M: []int{tiers[0].at("radix_down"), leaves}, W: []int{1, parents}, Parallel: []int{1, tiers[1].at("bundle")}}
	if len(tiers) == 3 {
		below := leaves * tiers[1].at("bundle")
		up = divide("cables above a switch of tier 1", below*speed(1), speed(2)*tiers[1].at("oversubscribed"))
		c.M, c.W = append(c.M, pods), append(c.W, divide("switches of tier 2 above one of tier 1, cables / Bundle", up, tiers[2].at("bundle")))
		c.Parallel = append(c.Parallel, tiers[2].at("bundle"))
	} else if wrong == nil && pods != 1 {
		wrong = fmt.Errorf("%d pods on two tiers: want Podsize = Nodes", pods)
	}
	for i, cables := range []int{c.W[1] * c.Parallel[1], up} {
		if given := tiers[i].at("radix_up"); wrong == nil && i < len(tiers)-1 && given > 0 && given != cables {
			wrong = fmt.Errorf("tier %d: Radix_Up = %d, and its rates and Oversubscribed make %d cables up", i, given, cables)
		}
	}
	if wrong == nil {
		wrong = c.Validate()
	}
	if wrong != nil {
		return nil, wrong
	}
	x := &TiersNetwork{XGFT: topology.NewXGFT(c)}
	for i := range tiers {
		x.Graph().Classes[i].Rate = sim.Rate(speed(i)) * 1e9
		x.flights = append(x.flights, sim.Time(tiers[i].at("downlink_latency_ns"))*sim.Nanosecond)
		x.delays = append(x.delays, sim.Time(tiers[i].at("switch_latency_ns"))*sim.Nanosecond)
	}
	return x, nil
}
