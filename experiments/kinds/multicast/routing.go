package multicast

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
)

//go:embed routing_tables.txt
var routingText string

var routingTables = experiments.ReadTables(routingText, nil)

func init() {
	experiments.Register(experiments.Kind[multicastConfig, multicastRow]{
		Name:        "multicast-routing",
		RestsOn:     verdict.Count,
		BeginsAgain: "trees are computed one by one, and none is kept",
		Doc:         "multicast trees and forwarding-table entries of many groups on a network, without traffic",
		Tables:      routingTables,
		Defaults: func() multicastConfig {
			return multicastConfig{
				Topology:  network.TopologyTable{Type: experiments.Choose(topology.Registry, "fat-tree")},
				Groups:    groupsTable{Pattern: experiments.Choose(multicast.Patterns, "grid")},
				Multicast: multicastTable{Engine: experiments.Choose(multicast.Registry, "mr4lms"), Entries: multicast.Unlimited},
			}
		},
		Check: func(c *multicastConfig, seed uint64) ([]experiments.Warning, error) {
			_, _, err := c.network(seed)
			return experiments.IdleOf(nil, idleTrees, &c.Multicast), err
		},
		Run: runMulticast,
	})
}

var idleTrees = []experiments.Idle[*multicastTable]{
	{Key: "multicast.successes multicast.merge multicast.old_trees", When: func(m *multicastTable) bool { return m.Entries == multicast.Unlimited }, Because: "no groups are merged: multicast.entries is unlimited"},
	{Key: "multicast.entries", When: func(m *multicastTable) bool { return m.Engine.Name() == "one-tree" }, Because: "one entry serves all groups"},
}

type multicastConfig struct {
	Topology  network.TopologyTable `toml:"topology" doc:"switches and terminals"`
	Groups    groupsTable           `toml:"groups" doc:"who belongs to which group"`
	Multicast multicastTable        `toml:"multicast" doc:"how trees are made"`
	Measure   multicastMeasureTable `toml:"measure" doc:"what is kept beside the row"`
}

type groupsTable struct {
	Pattern experiments.Choice[multicast.PatternEnv, []multicast.Group] `toml:"pattern" doc:"how processes are divided into groups"`
}

type multicastTable struct {
	Engine  experiments.Choice[multicast.Env, multicast.Engine] `toml:"engine" doc:"algorithm that makes the trees"`
	Entries Entries                                             `toml:"entries" doc:"forwarding-table entries of each switch, or \"unlimited\""`
	PerPort bool                                                `toml:"per_port" doc:"every port has a table of its own"`
}

type multicastMeasureTable struct {
	Check   bool `toml:"check" doc:"verify every tree and every table row"`
	Colours bool `toml:"colours" doc:"write colours.csv, the trees and groups of every colour"`
	EFI     bool `toml:"efi" doc:"write efi.csv, how many cables carry how many groups"`
	Timing  bool `toml:"timing" doc:"write timing.csv, the run time of the engine; it differs from run to run"`
}

// Entries is a number of table entries; [multicast.Unlimited] is written "unlimited".
type Entries int

// String is the number of entries, or the word for no limit.
func (e Entries) String() string {
	if e == multicast.Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(int(e))
}

// Wanted implements [experiments.NumberOrWord].
func (*Entries) Wanted() string { return `a number of at least 1, or "unlimited"` }

// UnmarshalText reads a positive number or "unlimited".
func (e *Entries) UnmarshalText(text []byte) error {
	if string(text) == "unlimited" {
		*e = multicast.Unlimited
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return errors.New("not a number of table entries")
	}
	*e = Entries(n)
	return nil
}

type multicastRow struct {
	Switches    int     `column:"switches" doc:"switches of the network"`
	Terminals   int     `column:"terminals" doc:"terminals of the network"`
	Groups      int     `column:"groups" doc:"multicast groups asked for"`
	Refused     int     `column:"refused" doc:"groups that found no free entry" best:"lowest number of groups refused"`
	Trees       int     `column:"trees" doc:"multicast trees; fewer than groups where trees are shared"`
	Colours     int     `column:"colours" doc:"forwarding-table entries needed" best:"lowest number of forwarding-table entries"`
	ColourBound int     `column:"colours_at_least" doc:"proven lower bound on colours while every group has its own tree: most groups with a member on one switch (or terminal, with a table per port), or the least sizes of all trees together over the number of switches (or cables)"`
	MaxEFI      int     `column:"max_efi" doc:"most groups over one cable between switches"`
	MeanEFI     float64 `column:"mean_efi" doc:"groups over a cable between switches, mean"`
	MaxTFI      int     `column:"max_tfi" doc:"most groups on one tree"`
	MeanTFI     float64 `column:"mean_tfi" doc:"groups over trees"`
	MaxHeight   int     `column:"max_height" doc:"most cables from a root to a member"`
	MeanHeight  float64 `column:"mean_height" doc:"most cables from a root to a member, mean over trees"`
	TreeLinks   int     `column:"tree_links" doc:"cables between switches of all trees"`
}

func (c *multicastConfig) network(seed uint64) (*topology.Graph, []multicast.Group, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, nil, err
	}
	g := t.Graph()
	groups, err := c.Groups.Pattern.Build(multicast.PatternEnv{Terminals: g.Terminals(), Seed: seed})
	return g, groups, err
}

func runMulticast(_ context.Context, c *multicastConfig, run *experiments.Run) (multicastRow, error) {
	g, groups, err := c.network(run.Seed)
	if err != nil {
		return multicastRow{}, err
	}
	env, err := c.Multicast.environment(&c.Topology, g, run.Seed, run.Threads)
	if err != nil {
		return multicastRow{}, err
	}
	engine, err := c.Multicast.Engine.Build(env)
	if err != nil {
		return multicastRow{}, err
	}
	r, err := multicast.Route(engine, groups, c.Measure.Check, func(routed int) { run.Advance(int64(routed), int64(len(groups)), "groups") })
	if err != nil {
		return multicastRow{}, fmt.Errorf("%s: %w", c.Multicast.Engine.Name(), err)
	}
	run.Count(int64(r.Groups), 0)
	c.Measure.write(r, run)
	return multicastRow{
		Switches: g.Switches(), Terminals: g.Terminals(),
		Groups: len(groups), Refused: r.Refused, Trees: r.Trees, Colours: r.Colours, ColourBound: r.ColourBound,
		MaxEFI: r.MaxEFI, MeanEFI: r.MeanEFI, MaxTFI: r.MaxTFI, MeanTFI: r.MeanTFI,
		MaxHeight: r.MaxHeight, MeanHeight: r.MeanHeight, TreeLinks: r.TreeLinks,
	}, nil
}

// environment has the min-hop tables of g, which all points on g share.
func (m *multicastTable) environment(t *network.TopologyTable, g *topology.Graph, seed uint64, threads int) (multicast.Env, error) {
	hops, err := experiments.Share(t.Type.Shared(), fmt.Sprintf("min-hop tables of %p", g), func() (*multicast.MinHop, error) { return multicast.NewMinHop(g, max(1, threads)) })
	if err != nil {
		return multicast.Env{}, err
	}
	return multicast.Env{Graph: g, Hops: hops, Seed: seed, Entries: int(m.Entries), PerPort: m.PerPort}, nil
}

func (m *multicastMeasureTable) write(r *multicast.Result, run *experiments.Run) {
	if m.Colours {
		t := run.Table(routingTables.Named("colours"))
		for colour, use := range r.PerColour {
			t.Add(colour, use.Trees, use.Groups, use.LargestTree)
		}
	}
	if m.EFI {
		t := run.Table(routingTables.Named("efi"))
		for groups, cables := range r.Forest.EFIHistogram() {
			t.Add(groups, cables)
		}
	}
	if m.Timing {
		t := run.Table(routingTables.Named("timing"))
		t.Add(r.Groups, r.Time.Seconds(), r.Time.Seconds()*1e3/float64(max(1, r.Groups)))
	}
}
