package reference

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/param"
)

// starts holds what [Start] begins with, a file a kind: KIND.toml. A kind without
// one begins with its defaults.
//
//go:embed starts
var starts embed.FS

// Start is an experiment of a kind to begin with: a question, a network, a sweep and
// a figure, and behind them every other setting as a comment, with its default and
// meaning. The error names the kinds that there are.
func Start(kind string) (string, error) {
	all := experiments.DescribeKinds()
	i := slices.IndexFunc(all, func(k experiments.KindDescription) bool { return k.Name == kind })
	if i < 0 {
		var names, lines []string
		for _, k := range all {
			names = append(names, k.Name)
			lines = append(lines, fmt.Sprintf("  %-18s %s", k.Name, k.Doc))
		}
		return "", fmt.Errorf("no kind %q%s; there are\n%s", kind, param.DidYouMean(kind, names), strings.Join(lines, "\n"))
	}
	text, err := starts.ReadFile("starts/" + kind + ".toml")
	if err != nil { // there is none
		text = fmt.Appendf(nil, "# The question: ...\ntitle = %q\nkind  = %q\nseed  = 1\n", capital(all[i].Doc), kind)
	}
	return complete(string(text), &all[i]), nil
}

// complete adds to a file what it does not say: to each of its tables the other
// settings, and the other tables of the kind before those of every kind.
func complete(text string, k *experiments.KindDescription) string {
	var b strings.Builder
	rest := slices.Clone(k.Tables)
	for _, section := range sections(text) {
		if name := section.name; name == "sweep" || name == "plot" || name == "quick" {
			writeTables(&b, rest)
			rest = nil
		}
		b.WriteString(strings.TrimRight(section.text, "\n") + "\n")
		if i := slices.IndexFunc(rest, func(t experiments.TableDescription) bool { return t.Name == section.name }); i >= 0 {
			writeSettings(&b, &rest[i], section.keys)
			rest = slices.Delete(rest, i, i+1)
		}
		b.WriteString("\n")
	}
	writeTables(&b, rest)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// section is a table of a file as it is written.
type section struct {
	name, text string
	keys       map[string]string // with their values
}

// sections divides a file at its headers; the first section is what stands before
// them.
func sections(text string) []section {
	all := []section{{keys: map[string]string{}}}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			name, _, _ := strings.Cut(strings.TrimLeft(trimmed, "["), "]")
			all = append(all, section{name: name, keys: map[string]string{}})
		}
		last := &all[len(all)-1]
		last.text += line
		if key, value, ok := strings.Cut(trimmed, "="); ok && trimmed[0] != '#' && trimmed[0] != '[' {
			value, _, _ = strings.Cut(value, "#")
			last.keys[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return all
}

// writeTables writes tables of which the file says nothing. Those of names that the
// user gives are comments altogether.
func writeTables(b *strings.Builder, tables []experiments.TableDescription) {
	for i := range tables {
		t := &tables[i]
		mark := ""
		if t.Names != "" {
			mark = "#"
		}
		for _, line := range wrap(capital(t.Doc)+".", 86) {
			fmt.Fprintf(b, "# %s\n", line)
		}
		fmt.Fprintf(b, "%s[%s]\n", mark, t.Header())
		writeSettings(b, t, nil)
		b.WriteString("\n")
	}
}

// writeSettings writes the settings of a table that are not given, as comments; those
// of the entries that it names stand behind the key that names them.
func writeSettings(b *strings.Builder, t *experiments.TableDescription, given map[string]string) {
	list := func(params []param.Param) {
		for _, p := range params {
			if _, is := given[p.Key]; is || p.Default == "" {
				continue
			}
			if p.Default == `"0Gb/s"` { // stands for none, and cannot be written
				fmt.Fprintf(b, "%-28s # %s\n", "# "+p.Key+": not set", brief(p))
				continue
			}
			fmt.Fprintf(b, "%-28s # %s\n", "#"+p.Key+" = "+p.Default, brief(p))
		}
	}
	for _, p := range t.Params {
		name := strings.Trim(p.Default, `"`)
		if value, is := given[p.Key]; is {
			name = strings.Trim(value, `"`)
		}
		list([]param.Param{p})
		for _, c := range t.Choices {
			for _, e := range c.Entries {
				if c.Key == p.Key && e.Name == name {
					list(e.Params)
				}
			}
		}
	}
}

// brief is what a setting means and may be, in a line.
func brief(p param.Param) string {
	text := p.Doc
	if facts := strings.Join(slices.DeleteFunc([]string{p.Unit, p.Allowed}, func(s string) bool { return s == "" }), "; "); facts != "" {
		text += " (" + facts + ")"
	}
	return text
}
