package experiments

import (
	_ "embed"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

//go:embed reference.md
var referenceIntroduction string

// Reference writes docs/experiments.md: the introduction, then every table,
// key and column from the registries, behind a list of contents.
func Reference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(strings.TrimRight(referenceIntroduction, "\n") + "\n")
	b.WriteString("\n## Expectations\n\n")
	b.WriteString(expectIntroduction)
	referenceParams(&b, ExpectParams())
	b.WriteString("\n## Keys outside tables\n\n")
	referenceParams(&b, HeaderParams())
	for _, name := range KindNames() {
		referenceKind(&b, kinds[name])
	}
	for _, c := range Registered() {
		if c.Name == "kinds" {
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
	var plot strings.Builder
	plot.WriteString("### Keys of [[plot]]\n\n")
	referenceParams(&plot, PlotParams())
	plot.WriteString("\n### Keys of [[plot.reference]]\n\n")
	referenceParams(&plot, ReferenceParams())
	text := strings.Replace(b.String(), "{{plot}}\n", plot.String()+"\n", 1)
	text = strings.Replace(text, "{{kept}}\n", referenceKept(), 1)
	_, err := io.WriteString(w, strings.Replace(text, "{{contents}}\n", contents(text), 1))
	return err
}

// referenceKept is a table of what becomes of points that are killed, by kind.
func referenceKept() string {
	b := "| kind | a point that was killed |\n|---|---|\n"
	for _, name := range KindNames() {
		k := kinds[name]
		does := "goes on"
		switch {
		case k.again != "":
			does = "begins again: " + k.again
		case k.someAgain:
			does = "goes on, but for some points, of which `weft run --snapshot-every` says why they begin again"
		}
		b += fmt.Sprintf("| `%s` | %s |\n", name, does)
	}
	return b
}

// contents lists the sections of a page, and under those about kinds their tables.
func contents(page string) string {
	var b strings.Builder
	below, inside := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		if inside {
			continue
		}
		if name, is := strings.CutPrefix(line, "## "); is {
			below = strings.HasPrefix(name, "Kind ")
			fmt.Fprintf(&b, "- [%s](#%s)\n", name, anchor(name))
		} else if name, is := strings.CutPrefix(line, "### "); is && below {
			short, _, _ := strings.Cut(name, " of kind ")
			fmt.Fprintf(&b, "  - [%s](#%s)\n", strings.Trim(short, "[]"), anchor(name))
		}
	}
	return b.String()
}

// anchor is the name under which a heading can be linked to, as forges make it: in
// lower case, hyphens for spaces, without punctuation.
func anchor(heading string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(heading) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c > 127:
			b.WriteRune(c)
		}
	}
	return b.String()
}

const expectIntroduction = "`[[expect]]` names a row of the targets (`experiments/papers/targets.csv` or `claims.csv`) and how its\n" +
	"value follows from the results. `where` selects rows by column; a column stands\n" +
	"for its mean over them, in the target's unit. Selections under `of`, laid over\n" +
	"`where`, can be combined by a `formula`:\n\n" +
	"```toml\n[[expect]]\n" +
	"target = \"dragonfly-fig10b-wc-load-0-2-ugal-l-vch-over-ugal-g-latency-ratio\"\n" +
	"metric = \"latency_mean_ns\"\n" +
	"where = { \"traffic.load\" = 0.2 }\n" +
	"formula = \"vch / g\"\n" +
	"of.vch = { \"routing.type\" = \"ugal-l-vch\" }\n" +
	"of.g = { \"routing.type\" = \"ugal-g\" }\n```\n\n" +
	"`each` gives a value for every set of cells of some columns, so that a row that\n" +
	"names several cases is judged by all of them. If the selected rows have several\n" +
	"seeds (`sweep.seed`), the value is computed for each seed by itself; the mean is\n" +
	"judged, and its 95 % confidence interval is shown. With one seed the interval is\n" +
	"that of the columns, where they have one; the parts of a formula are taken for\n" +
	"independent.\n\n" +
	"Verdicts are `met` and `missed`; `refuted` if `counterexample`, a count of what\n" +
	"contradicts the paper in any model, is above `counterexample_above`; `calibrated` if a parameter was\n" +
	"fitted to the row; `reported` if the row has no tolerance; `not-run` if the run\n" +
	"has none of the points, as with `--quick`. The note says if the interval contains\n" +
	"the bound, so that other seeds might turn the verdict, and whether the rows of\n" +
	"`baseline`, a model without what the row is about, meet it too. `verdicts.csv`\n" +
	"has all of it.\n\n"

func referenceKind(b *strings.Builder, k *kind) {
	fmt.Fprintf(b, "\n## Kind %s\n\n%s.\n", k.name, capital(k.doc))
	for _, t := range k.settings() {
		fmt.Fprintf(b, "\n### [%s] of kind %s\n\n%s.\n\n", t.Header(), k.name, capital(t.Doc))
		referenceParams(b, t.Params)
		for _, c := range t.Choices {
			fmt.Fprintf(b, "\n`%s` names one of the [%s](#%s), whose parameters stand in the same table.\n", c.Key, pluralOf(c.Registry), anchor(pluralOf(c.Registry)))
		}
	}
	fmt.Fprintf(b, "\n### Columns of kind %s\n\n| column | meaning |\n|---|---|\n", k.name)
	for _, c := range k.columns {
		fmt.Fprintf(b, "| `%s` | %s |\n", c.Name, markdown(c.Doc))
	}
}

func referenceParams(b *strings.Builder, params []param.Param) {
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
