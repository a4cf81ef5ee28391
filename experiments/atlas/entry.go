package atlas

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// Entry is all that the atlas says of a network.
type Entry struct {
	Listed
	Worst string // the pattern that is hard for it; "none" if it has not what that needs
	Pairs []Pair
	// Of the pairs that are certified with the routing's defaults, by routing; nil if not
	// measured: latency in an idle network in nanoseconds, and the highest steady loads.
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
	e := &Entry{Listed: *l, Worst: WorstPattern(x)}
	if !hasPattern(x, e.Worst) {
		e.Worst = "none"
	}
	e.Pairs, err = Pairs(&e.Candidate)
	return e, err
}

// Measurement is a file that sweeps the routings of an entry, and where its results go.
type Measurement struct {
	Name, Text string
	keep       func(e *Entry, values map[string]float64)
	column     string
}

// Measurements are the experiments that find the zero-load latency and the saturation of
// all routings of an entry, each in one file.
func (e *Entry) Measurements() []Measurement {
	var routings []string
	for _, p := range e.Pairs {
		if p.Refused == "" && p.Variant == "" && p.Certificate.Acyclic {
			routings = append(routings, fmt.Sprintf("%q", p.Routing))
		}
	}
	if len(routings) == 0 {
		return nil
	}
	text := func(title, traffic, measure string) string {
		return fmt.Sprintf("title = %q\nkind = \"traffic\"\n\n%s\n[routing]\ntype = %s\n\n[traffic]\n%s\n[measure]\n%s\n[sweep]\n\"routing.type\" = [%s]\n",
			title, e.Table(), routings[0], traffic, measure, strings.Join(routings, ", "))
	}
	const search = "find = \"saturation\"\nload_precision = 0.02\nbudget = 12000\n"
	all := []Measurement{
		{e.Family + "-zero-load", text(e.Family+": idle network", "pattern = \"uniform\"\nload = 0.01\n", "warmup = 500\nwindow = 10000\n"),
			func(e *Entry, v map[string]float64) { e.ZeroLoad = v }, "latency_mean_ns"},
		{e.Family + "-uniform", text(e.Family+": uniform traffic", "pattern = \"uniform\"\n", search),
			func(e *Entry, v map[string]float64) { e.Uniform = v }, "offered_load"},
	}
	if e.Worst != "none" {
		all = append(all, Measurement{e.Family + "-hard", text(e.Family+": "+e.Worst, fmt.Sprintf("pattern = %q\n", e.Worst), search),
			func(e *Entry, v map[string]float64) { e.Hard = v }, "offered_load"})
	}
	return all
}

// Keep takes the results of a measurement.
func (e *Entry) Keep(m Measurement, results *experiments.Table) error {
	values, err := results.Numbers(m.column)
	if err != nil {
		return err
	}
	names := make([]string, len(values))
	for i := range names { // a sweep of one value has no column
		names[i] = firstRouting(e)
	}
	if at, err := results.Column("routing.type"); err == nil {
		for i, row := range results.Rows {
			names[i] = row[at]
		}
	}
	by := map[string]float64{}
	for i, x := range values {
		by[names[i]] = x
	}
	m.keep(e, by)
	return nil
}

func firstRouting(e *Entry) string {
	i := slices.IndexFunc(e.Pairs, func(p Pair) bool { return p.Refused == "" && p.Variant == "" && p.Certificate.Acyclic })
	return e.Pairs[i].Routing
}

// EntryTable is the table of all pairs.
func EntryTable(entries []*Entry) *experiments.Table {
	t := &experiments.Table{Columns: []string{"topology", "settings", "routing", "variant", "virtual_channels", "certificate",
		"zero_load_ns", "bound_uniform", "saturation_uniform", "hard_pattern", "bound_hard", "saturation_hard", "price_per_terminal", "note"}}
	for _, e := range entries {
		for _, p := range e.Pairs {
			t.Rows = append(t.Rows, []string{e.Family, e.Line(), p.Routing, p.Variant, vcsOf(p), verdict(p),
				of(e.ZeroLoad, p), short(p.Uniform), of(e.Uniform, p), e.Worst, short(p.Worst), of(e.Hard, p),
				fmt.Sprintf("%.0f", e.Price/float64(e.Metrics.Terminals)), note(p)})
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

// verdict is a word for a certificate.
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

// note is why a pair is refused, or the cycle's channels in one line.
func note(p Pair) string {
	if p.Refused != "" {
		return p.Refused
	}
	return strings.Join(strings.Fields(p.Certificate.Cycle), " ")
}

// of is a measured value of a pair; only the defaults are measured.
func of(values map[string]float64, p Pair) string {
	x, there := values[p.Routing]
	if !there || p.Variant != "" || math.IsNaN(x) {
		return ""
	}
	return short(x)
}
