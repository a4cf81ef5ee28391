package experiments

import (
	_ "embed"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/weft-sim/weft/sim"
)

//go:embed reference.md
var referenceIntroduction string

// Reference writes docs/experiments.md: the introduction, then every table,
// key and column from the registries.
func Reference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(referenceIntroduction)
	referenceParams(&b, sim.DescribeParams(&PlotConfig{Style: "line", Table: resultsTable, Formats: []string{"svg", "png"}}))
	b.WriteString("\n## Expectations\n\n")
	b.WriteString(expectIntroduction)
	referenceParams(&b, sim.DescribeParams(&ExpectConfig{Table: resultsTable}))
	b.WriteString("\n## Keys outside tables\n\n")
	referenceParams(&b, sim.DescribeParams(&header{Kind: "traffic", Seed: 1}))
	for _, name := range KindNames() {
		referenceKind(&b, kinds[name])
	}
	for _, c := range Categories() {
		if c.Name == "kinds" || c.Name == "experiments" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", capital(c.Name))
		for _, e := range c.Entries {
			fmt.Fprintf(&b, "\n### %s\n\n%s.\n", e.Name, capital(e.Doc))
			if len(e.Params) > 0 {
				b.WriteString("\n")
				referenceParams(&b, e.Params)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const expectIntroduction = "`[[expect]]` names a row of the targets (`experiments/papers/targets.csv`) and how its\n" +
	"value follows from the results. `where` selects rows by column; a column stands\n" +
	"for its mean over them, in the target's unit. Selections under `of`, laid over\n" +
	"`where`, can be combined by a `formula`:\n\n" +
	"```toml\n[[expect]]\n" +
	"target = \"dragonfly-fig10b-wc-load-0-2-ugal-l-vch-over-ugal-g-latency-ratio\"\n" +
	"metric = \"latency_mean_ns\"\n" +
	"where = { \"traffic.load\" = 0.2 }\n" +
	"formula = \"vch / g\"\n" +
	"of.vch = { \"routing.type\" = \"ugal-l-vch\" }\n" +
	"of.g = { \"routing.type\" = \"ugal-g\" }\n```\n\n"

func referenceKind(b *strings.Builder, k *kind) {
	fmt.Fprintf(b, "\n## Kind %s\n\n%s.\n", k.name, capital(k.doc))
	for _, t := range k.settings() {
		fmt.Fprintf(b, "\n### [%s]\n\n%s.\n\n", t.Name, capital(t.Doc))
		referenceParams(b, t.Params)
		for _, c := range t.Choices {
			fmt.Fprintf(b, "\n`%s` names one of the [%s](#%s), whose parameters stand in the same table.\n", c.Key, pluralOf(c.Registry), pluralOf(c.Registry))
		}
	}
	fmt.Fprintf(b, "\n### Columns of kind %s\n\n| column | meaning |\n|---|---|\n", k.name)
	for _, c := range k.columns {
		fmt.Fprintf(b, "| `%s` | %s |\n", c.Name, markdown(c.Doc))
	}
}

func referenceParams(b *strings.Builder, params []sim.Param) {
	b.WriteString("| key | default | meaning | unit | allowed |\n|---|---|---|---|---|\n")
	for _, p := range params {
		value := "`" + p.Default + "`"
		if reflect.ValueOf(p.Default).IsZero() || p.Default == `""` || p.Default == "[]" {
			value = ""
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", p.Key, markdown(value), markdown(p.Doc), p.Unit, markdown(p.Allowed))
	}
}

// markdown keeps text from ending a cell of a table.
func markdown(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
