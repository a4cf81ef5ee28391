package catalogue

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

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
	var given map[string]any
	if _, err := toml.Decode(string(text), &given); err != nil {
		panic("catalogue: " + err.Error()) // a test reads them all
	}
	var b strings.Builder
	rest := slices.Clone(k.Tables)
	begin := 0
	for _, at := range append(header.FindAllIndex(text, -1), []int{len(text)}) {
		part := string(text[begin:at[0]])
		name := ""
		if m := header.FindStringSubmatch(part); m != nil {
			name = m[1]
		}
		if name == "sweep" || name == "plot" || name == "quick" {
			writeTables(&b, rest)
			rest = nil
		}
		b.WriteString(strings.TrimRight(part, "\n") + "\n")
		if i := slices.IndexFunc(rest, func(t experiments.TableDescription) bool { return t.Name == name }); i >= 0 {
			keys, _ := given[name].(map[string]any)
			writeSettings(&b, &rest[i], keys)
			rest = slices.Delete(rest, i, i+1)
		}
		b.WriteString("\n")
		begin = at[0]
	}
	writeTables(&b, rest)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// header is that of a table: [traffic], [[plot]].
var header = regexp.MustCompile(`(?m)^\[+([^]]+)\]`)

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
func writeSettings(b *strings.Builder, d *experiments.TableDescription, given map[string]any) {
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
		name, is := given[s.Key]
		for _, e := range all {
			if e.Choice == s.Key && (e.Entry == name || !is && strconv.Quote(e.Entry) == s.Default) {
				write(e)
			}
		}
	}
}
