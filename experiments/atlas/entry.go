package atlas

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Entry is all that the atlas says of a network.
type Entry struct {
	Listed
	Worst string // the pattern that is hard for it; "none" if it has not what that needs
	Pairs []Pair
	// Of pairs certified with the routing's defaults, by routing (nil: not measured): latency in an
	// idle network in nanoseconds, and the highest steady loads.
	ZeroLoad, Uniform, Hard map[string]float64
}

// NewEntry builds, certifies and counts the cost of a network.
func NewEntry(ctx context.Context, c Candidate, set []string) (*Entry, error) {
	l, err := listed(ctx, c, set)
	if err != nil {
		return nil, err
	}
	x, err := c.Build()
	if err != nil {
		return nil, err
	}
	e := &Entry{Listed: *l, Worst: worstPattern(x)}
	if !hasPattern(x, e.Worst) {
		e.Worst = "none"
	}
	e.Pairs, err = Pairs(&e.Candidate)
	return e, err
}

// Measurement is a file that sweeps the routings of an entry, and where its results go.
type Measurement struct {
	Name, Text string
	column     string              // of the results
	first      string              // of the routings
	values     *map[string]float64 // of the entry, by routing
}

// learningBudget is the most cycles of warm-up and window where switches learn.
const learningBudget = 400_000

// Measurements are the experiments that find the zero-load latency and the saturation of an entry's
// routings, in a file; routings that learn have another, with time to learn.
func (e *Entry) Measurements() []Measurement {
	return append(e.measurements(false, "", 500, 12_000), e.measurements(true, "-learning", learningBudget/2, learningBudget)...)
}

// measurements lists what is measured of routings that learn, or of others; idle is the idle
// network's warm-up.
func (e *Entry) measurements(learn bool, suffix string, idle, budget int) []Measurement {
	var routings []string
	for _, p := range e.Pairs {
		if p.Refused == "" && p.Variant == "" && p.Certificate.Acyclic && p.Learns == learn {
			routings = append(routings, p.Routing)
		}
	}
	if len(routings) == 0 {
		return nil
	}
	quoted := `"` + strings.Join(routings, `", "`) + `"`
	of := func(what, title, traffic, measure, column string, values *map[string]float64) Measurement {
		text := fmt.Sprintf("title = %q\nkind = \"traffic\"\n\n%s\n[routing]\ntype = %q\n\n[traffic]\n%s\n[measure]\n%s\n[sweep]\n\"routing.type\" = [%s]\n",
			e.Family+": "+title, e.Table(), routings[0], traffic, measure, quoted)
		return Measurement{e.Family + "-" + what + suffix, text, column, routings[0], values}
	}
	search := fmt.Sprintf("find = \"saturation\"\nload_precision = 0.02\nbudget = %d\n", budget)
	all := []Measurement{
		of("zero-load", "idle network", "pattern = \"uniform\"\nload = 0.01\n", fmt.Sprintf("warmup = %d\nwindow = 10000\n", idle), "latency_mean_ns", &e.ZeroLoad),
		of("uniform", "uniform traffic", "pattern = \"uniform\"\n", search, "offered_load", &e.Uniform),
	}
	if e.Worst != "none" {
		all = append(all, of("hard", e.Worst, fmt.Sprintf("pattern = %q\n", e.Worst), search, "offered_load", &e.Hard))
	}
	return all
}

// Keep takes the results of a measurement.
func (e *Entry) Keep(m Measurement, results *results.Table) error {
	values, err := results.Numbers(m.column)
	if err != nil {
		return err
	}
	if *m.values == nil {
		*m.values = map[string]float64{}
	}
	at, err := results.Column("routing.type")
	for i, x := range values {
		name := m.first // a sweep of one value has no column
		if err == nil {
			name = results.Rows[i][at]
		}
		(*m.values)[name] = x
	}
	return nil
}

// EntryTable is the table of all pairs.
func EntryTable(entries []*Entry) *results.Table {
	t := &results.Table{Columns: []string{"topology", "settings", "routing", "variant", "virtual_channels", "certificate",
		"zero_load_ns", "bound_uniform", "saturation_uniform", "hard_pattern", "bound_hard", "saturation_hard", "price_per_terminal", "note"}}
	for _, e := range entries {
		for _, p := range e.Pairs {
			note := cmp.Or(p.Refused, strings.Join(strings.Fields(p.Certificate.Cycle), " "))
			t.Rows = append(t.Rows, []string{e.Family, e.Line(), p.Routing, p.Variant, vcsOf(p), verdict(p),
				of(e.ZeroLoad, p), short(p.Uniform), of(e.Uniform, p), e.Worst, short(p.Worst), of(e.Hard, p),
				fmt.Sprintf("%.0f", e.Price/float64(e.Metrics.Terminals)), note})
		}
	}
	return t
}

func vcsOf(p Pair) string {
	if p.VCs == 0 {
		return ""
	}
	return fmt.Sprint(p.VCs)
}

func verdict(p Pair) string {
	switch {
	case p.Refused != "":
		return "refused"
	case !p.Certificate.Acyclic:
		return "cycle"
	case !p.Certificate.Exact:
		return "no cycle in a sample"
	}
	return "free"
}

// of is a measured value of a pair; only the defaults are measured.
func of(values map[string]float64, p Pair) string {
	x, there := values[p.Routing]
	if !there || p.Variant != "" || math.IsNaN(x) {
		return ""
	}
	return short(x)
}

// pageHead is what stands at the top of a page, with a verb for the command that made it.
//
//go:embed page.txt
var pageHead string

// Page is the atlas as a page of Markdown: the families, with pictures (NAME.svg beside the page),
// and the pairs of each. at is the command that made it.
func Page(entries []*Entry, at string, pictures bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, at)
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row("topology", "settings", "terminals", "switches", "ports", "diameter", "mean distance", "uniform bound", "price per terminal")
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

// Networks lists a network of every registered family that needs no file.
func Networks() []Candidate {
	var all []Candidate
	for _, name := range topology.Registry.Names() {
		c := Candidate{name, counterparts().Sizes[name]}
		if _, err := c.Build(); err == nil {
			all = append(all, c)
		}
	}
	return all
}

// Pair is a routing on a network, and what is known of it without running it.
type Pair struct {
	Routing string
	// Variant is a setting by which the routing can deadlock, "KEY = VALUE"; empty for the
	// defaults.
	Variant string
	VCs     int
	// Refused says why weft does not build it, without a subject; a network that lacks the
	// routing's needs is no pair.
	Refused     string
	Certificate network.Certificate
	Learns      bool    // switches learn while packets move
	Uniform     float64 // bounds from channel loads; NaN where choices depend on queues
	Worst       float64
}

// worstPattern names the pattern that is hard for a network: one group to the next, or without
// groups all terminals of a switch to another's.
func worstPattern(x topology.Topology) string {
	if hasPattern(x, "worst-case") {
		return "worst-case"
	}
	return "switch-permutation"
}

func hasPattern(x topology.Topology, name string) bool {
	_, err := traffic.Patterns.New(name, traffic.Env{Topology: x, Seed: 1})
	return err == nil
}

// Pairs certifies every registered routing whose needs a network meets, with its defaults and with
// each choice that can deadlock.
func Pairs(network *Candidate) ([]Pair, error) {
	x, err := network.Build()
	if err != nil {
		return nil, err
	}
	var all []Pair
	for _, name := range routing.Registry.Names() {
		env := routing.Env{Topology: x, TopologyName: network.Family, Seed: 1}
		keys, err := routing.Registry.Settings(name, env)
		if err != nil {
			continue // the network has not got what it needs
		}
		config, err := routing.Registry.Config(name)
		if err != nil {
			return nil, err
		}
		pair := certified(network, x, name, "", config, env)
		if _, reads := config.(topology.PathConfig); reads && pair.Refused != "" {
			continue // it is no pair without files, such as a cluster's tables
		}
		all = append(all, pair)
		param.EachSetting(config, func(f *param.Field, v reflect.Value) {
			key := f.Key
			if !slices.Contains(keys, key) || f.Tag.Get("deadlocks") == "" {
				return
			}
			was, env := v.String(), env
			env.AllowDeadlock = true
			for _, choice := range strings.Split(f.Tag.Get("deadlocks"), "|") {
				v.SetString(choice)
				p := certified(network, x, name, fmt.Sprintf("%s = %q", key, choice), config, env)
				r, err := routing.Registry.Build(name, config, env)
				if err != nil || slices.Contains(routing.Registry.Unused(name, env, r), key) {
					continue // it goes with another setting, or there is no ring to cut
				}
				all = append(all, p)
			}
			v.SetString(was)
		})
	}
	return all, nil
}

func certified(c *Candidate, x topology.Topology, name, variant string, config any, env routing.Env) Pair {
	p := Pair{Routing: name, Variant: variant, Uniform: math.NaN(), Worst: math.NaN()}
	r, err := routing.Registry.Build(name, config, env)
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	p.VCs = max(1, r.VCs())
	_, p.Learns = r.(fabric.Learner)
	if p.Certificate, err = network.Certify(x.Graph(), r, p.VCs); err != nil {
		p.Refused = err.Error()
		return p
	}
	p.Uniform, p.Worst = bound(x, r, p.VCs, "uniform"), bound(x, r, p.VCs, worstPattern(x))
	return p
}

// bound is the load at which the first channel is full, NaN where it is not known.
func bound(x topology.Topology, r fabric.Routing, vcs int, pattern string) float64 {
	p, err := traffic.Patterns.New(pattern, traffic.Env{Topology: x, Seed: 1})
	if err != nil {
		return math.NaN()
	}
	load, err := routing.Loads(x.Graph(), r, vcs, p.(traffic.Matrix))
	if err != nil {
		return math.NaN()
	}
	most, _ := load.Bound(nil)
	return min(1, most)
}

// NetworksOf returns the networks of [Networks] whose families are named; all without names.
func NetworksOf(names []string) ([]Candidate, error) {
	all := Networks()
	if len(names) == 0 {
		return all, nil
	}
	var some []Candidate
	for _, name := range names {
		i := slices.IndexFunc(all, func(c Candidate) bool { return c.Family == name })
		if i < 0 {
			return nil, fmt.Errorf("--topology %s: want %s", name, lists.Join(all, ", ", func(c Candidate) string { return c.Family }))
		}
		some = append(some, all[i])
	}
	return some, nil
}
