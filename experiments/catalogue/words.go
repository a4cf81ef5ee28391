package catalogue

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/mpi/systems"
)

//go:embed tables.txt
var commonText string

// commonTables have columns of tables of every kind, and in front of all tables.
var commonTables = experiments.ReadTables(commonText, nil)

// verdicts are the words of every judgement: of points, of targets, of differences,
// and the topics of weft check.
var verdicts = []struct {
	what  string
	facts []string
	words []term
}{
	{"a verdict on a point", []string{"column state", "more docs/model.md, The verdict"}, []term{
		{measure.Steady.String(), "queues have become stationary and what is accepted reaches what is offered: the network keeps up with the load, and the latencies of the row mean something"},
		{measure.Saturated.String(), "queues grow as long as the load goes on: more is offered than the network carries. Latencies of the row say how long the run was, and nothing else"},
		{measure.Undecided.String(), "the run does not tell whether the network keeps up: too short, or too close to the capacity. A longer measure.window, or measure.window = 0, decides; state_reason says what was missing"},
	}},
	{"the reason of a verdict on a point", []string{"column state_reason", "more docs/model.md, The verdict"}, []term{
		{measure.ByBound, "saturated: more is offered than the channels can carry, by a proven bound"},
		{measure.ByGrowth, "saturated: sources fall behind further and further"},
		{measure.ByDrain, "saturated: packets of the window had not arrived after twice its length"},
		{measure.ByTests, "steady: neither the backlog of the sources nor the latency grows, and what is accepted reaches what is offered"},
		{measure.ByPackets, "undecided: fewer than 100 packets were measured"},
		{measure.ByWindow, "undecided: the window has fewer than eight slices, or the run is shorter than a hundred longest packets of a terminal or four latencies of an idle network"},
		{measure.ByBacklog, "undecided: the backlog of the sources may be growing"},
		{measure.ByLatency, "undecided: the latency may be growing"},
		{measure.ByAccepting, "undecided: less is accepted than is offered, and no queue is seen to grow"},
	}},
	{"a verdict on a target of a paper", []string{"table verdicts.csv of weft reproduce"}, []term{
		{verdict.Met, "the measured value is within the tolerance of the target"},
		{verdict.Missed, "the measured value is outside the tolerance of the target"},
		{verdict.Refuted, "a count contradicts what the paper says, and no model could avoid it"},
		{verdict.Calibrated, "a parameter of the model was fitted to this row, which therefore proves nothing"},
		{verdict.Reported, "the row has no tolerance: the value stands beside the paper's"},
		{verdict.NotRun, "the run has none of the points that the row is about, as with --quick"},
	}},
	{"a judgement of weft compare", []string{"column judgement"}, []term{
		{results.Higher, "the difference is significant, and the second value is the higher one"},
		{results.Lower, "the difference is significant, and the second value is the lower one"},
		{results.Unclear, "chance alone may give the difference"},
		{results.Equal, "the same numbers on both sides, without any spread"},
		{results.NoInterval, "there is neither a confidence interval nor several seeds to judge by"},
		{"a saturated", "the time is that of a network that does not keep up, and not judged: a the first, b the second value, or both; so with undecided"},
		{results.Best, "--best: every other variant is significantly behind"},
		{results.Tie, "--best: not significantly different from the first"},
		{results.Behind, "--best: significantly worse than the first"},
		{results.Foremost, "--best: has the best value, and nothing to judge by"},
	}},
	{"a topic of weft check", nil, []term{
		{"faults", "what is broken from the start, and what becomes of it"},
		{"deadlock", "whether packets can wait for each other in a circle, from the dependencies between channels: exact, and the circle is shown if there is one. --allow-deadlock runs such a network all the same"},
		{"channels", "virtual channels that there are, and that the routing needs to be free from deadlock"},
		{"throughput", "the load from which on a channel cannot carry its share of the traffic, and which channel that is"},
		{"latency", "mean latency of a packet that meets no other"},
		{"cost", "flit-hops, time of one core and memory that the run takes, roughly"},
	}},
}

// term is a word of the field, or an abbreviation, as weft uses it.
type term struct{ word, doc string }

// glossary has a term a line, in alphabetical order, capitals counting as small letters.
//
//go:embed glossary.txt
var glossary string

// terms are the glossary's.
var terms = sync.OnceValue(func() (all []term) {
	for line := range strings.Lines(glossary) {
		word, doc, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all = append(all, term{word, doc})
	}
	return all
})

// systemsCategory is the category of presets of machines, of which there is more to say than their settings.
const systemsCategory = "systems"

// listErrors says how far a preset is from measurements, and what of it is not known.
func listErrors(t *tabwriter.Writer, name string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return
	}
	for _, e := range p.Errors() {
		fmt.Fprintf(t, "  \t  %s, %s: median of errors %s %%, nine in ten within %s %%, %s rows\n", e.Class, e.Sizes, e.Median, e.P90, e.Rows)
	}
	if len(p.Errors()) == 0 {
		fmt.Fprintf(t, "  \t  held against no row\n")
	}
	if p.Unknown != "" {
		fmt.Fprintf(t, "  \t  not known: %s\n", p.Unknown)
	}
}

// sources are the values of a preset with where they come from.
func sources(name string) (facts []string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return nil
	}
	for _, v := range p.Value {
		facts = append(facts, fmt.Sprintf("%s %s; %s", v.Key, v.Value, v.Source))
	}
	for _, f := range p.Fitted {
		facts = append(facts, fmt.Sprintf("fitted %s", f))
	}
	return facts
}
