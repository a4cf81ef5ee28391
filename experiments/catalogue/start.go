package catalogue

import (
	"cmp"
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
	var names, lines []string
	for _, k := range experiments.DescribeKinds() {
		if k.Name == kind {
			return start(k), nil
		}
		names = append(names, k.Name)
		lines = append(lines, fmt.Sprintf("  %-18s %s", k.Name, k.Doc))
	}
	return "", fmt.Errorf("no kind %q%s; there are\n%s", kind, param.DidYouMean(kind, names), strings.Join(lines, "\n"))
}

// start adds to the file that a kind begins with what it does not say: to each of its
// tables the other settings, and the other tables of the kind before those of every kind.
func start(k experiments.KindDescription) string {
	text, err := starts.ReadFile("starts/" + k.Name + ".toml")
	if err != nil { // there is none
		text = fmt.Appendf(nil, "# The question: ...\ntitle = %q\nkind  = %q\nseed  = 1\n", strings.TrimSuffix(sentence(k.Doc), "."), k.Name)
	}
	var b strings.Builder
	rest := slices.Clone(k.Tables)
	for _, p := range parts(string(text)) {
		if name := p.name; name == "sweep" || name == "plot" || name == "quick" {
			writeTables(&b, rest)
			rest = nil
		}
		b.WriteString(strings.TrimRight(p.text, "\n") + "\n")
		if i := slices.IndexFunc(rest, func(t experiments.TableDescription) bool { return t.Name == p.name }); i >= 0 {
			writeSettings(&b, &rest[i], p.keys)
			rest = slices.Delete(rest, i, i+1)
		}
		b.WriteString("\n")
	}
	writeTables(&b, rest)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// part is a table of a file as it is written.
type part struct {
	name, text string
	keys       map[string]string // with their values
}

// parts divides a file at its headers; the first part is what stands before
// them.
func parts(text string) []part {
	all := []part{{keys: map[string]string{}}}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") {
			name, _, _ := strings.Cut(strings.TrimLeft(trimmed, "["), "]")
			all = append(all, part{name: name, keys: map[string]string{}})
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
		for _, line := range wrap(sentence(t.Doc), 86) {
			fmt.Fprintf(b, "# %s\n", line)
		}
		fmt.Fprintf(b, "%s[%s]\n", mark, t.Header())
		writeSettings(b, t, nil)
		b.WriteString("\n")
	}
}

// writeSettings writes the settings of a table that are not given, as comments; those
// of the entries that it names stand behind the key that names them.
func writeSettings(b *strings.Builder, d *experiments.TableDescription, given map[string]string) {
	write := func(s Setting) {
		text := "#" + s.Key + " = " + s.Default
		switch _, is := given[s.Key]; {
		case is || s.Default == "":
			return
		case s.Default == `"0Gb/s"`: // stands for none, and cannot be written
			text = "# " + s.Key + ": not set"
		}
		fmt.Fprintf(b, "%-28s # %s\n", text, brief(s.Param))
	}
	all := (&table{"", *d}).settings()
	for _, s := range all {
		if !s.Own {
			continue
		}
		write(s)
		name := cmp.Or(given[s.Key], s.Default)
		for _, e := range all {
			if e.Choice == s.Key && e.Entry == strings.Trim(name, `"`) {
				write(e)
			}
		}
	}
}
