package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/catalogue"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/sim/simtest"
)

var update = flag.Bool("update", false, "rewrite generated documentation and golden files")

const root = "../.."

// TestReference: docs/reference.html is what the registries say.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	simtest.Check(t, catalogue.Page(&b))
	golden(t, filepath.Join(root, "docs", "reference.html"), b.Bytes())
}

// TestWords: README.md and docs/*.md together have at most so many words, counted as by
// wc -w. A page that gains a paragraph has another one shortened.
func TestWords(t *testing.T) {
	const most = 46_500
	words := 0
	for _, text := range documents(t) {
		words += len(strings.Fields(text))
	}
	simtest.ErrorIf(t, words > most, "README.md and docs/*.md have %d words, at most %d are allowed", words, most)
}

// golden compares with a file of the repository, or rewrites it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		simtest.Check(t, os.WriteFile(path, got, 0o644))
	}
	want := simtest.Must(os.ReadFile(path))(t)
	simtest.ErrorIf(t, !bytes.Equal(got, want),
		"%s is out of date: run go test ./cmd/weft -update; first difference\n%s", path, firstDifference(string(got), string(want)))
}

// firstDifference shows the first line that differs.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, a[i], strings.Join(b[i:min(i+1, len(b))], ""))
		}
	}
	return fmt.Sprintf("line %d: missing", len(a)+1)
}

// TestDocumentedCommands runs every weft command in the shell blocks of the
// documentation, in one folder per document, in its quick variant; those that need no
// folder once for all documents, and of the experiments of a paper one. TestJobsNumbers and
// TestScripting run those of docs/jobs.md and docs/scripting.md.
func TestDocumentedCommands(t *testing.T) {
	seen := map[string]bool{} // commands that need no folder
	for name, text := range documents(t) {
		if name == "jobs.md" || name == "scripting.md" || testing.Short() && name != "README.md" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			inFolder(t, withCluster(t, documentedFiles(text)))
			for _, command := range shellCommands(text) {
				line := strings.Join(command, " ")
				if alone := slices.Contains([]string{"explain", "list", "reproduce"}, command[0]); alone && seen[line] {
					continue
				}
				seen[line] = true
				if some := artifacts(command); len(some) > 0 {
					command = append([]string{"reproduce"}, append(simtest.Some(t, 0, some...), command[2:]...)...)
				}
				status, _, stderr := weft(t, command...)
				differs := command[0] == "compare" && status == exitFailure && stderr == ""
				simtest.ErrorIf(t, status != exitSuccess && !differs || plainExample(command) != "" && strings.Contains(stderr, "warning"),
					"weft %s: status %d\n%s", line, status, stderr)
			}
		})
	}
}

// documents are the pages of the documentation by their names, in order.
func documents(t *testing.T) iter.Seq2[string, string] {
	t.Helper()
	paths := append(simtest.Must(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t), filepath.Join(root, "README.md"))
	texts := make([]string, len(paths)) // before the caller changes the folder
	for i, path := range paths {
		texts[i] = read(t, path)
	}
	return func(yield func(name, text string) bool) {
		for i, path := range paths {
			if !yield(filepath.Base(path), texts[i]) {
				return
			}
		}
	}
}

// artifacts are the experiments of the paper that a command reproduces; none for another command.
func artifacts(command []string) (names []string) {
	for _, path := range experiments.Embedded("papers") {
		if name := strings.TrimSuffix(strings.TrimPrefix(path, "papers/"), ".toml"); command[0] == "reproduce" && strings.HasPrefix(name, command[1]+"/") {
			names = append(names, name)
		}
	}
	return names
}

// plainExample is the example that a command runs as it is, in its quick variant; "" where it
// does something else.
func plainExample(command []string) string {
	if command[0] != "run" || !strings.HasPrefix(command[1], "examples/") {
		return ""
	}
	rest := slices.DeleteFunc(slices.Clone(command[2:]), func(word string) bool { return word == "--quick" })
	if len(rest) == 0 || len(rest) == 2 && rest[0] == "--out" {
		return command[1]
	}
	return ""
}

// withCluster adds what ibnetdiscover printed of a cluster, which documents call cluster.txt.
func withCluster(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	files["cluster.txt"] = read(t, root, "fabric", "topology", "ib", "testdata", "loginoff-2014-qdr-fdr10.txt")
	return files
}

// documentedFiles are the toml blocks of a document that begin with the name of a
// file, in a line of prose: "`name.toml`:".
func documentedFiles(document string) map[string]string {
	files := map[string]string{}
	name, inside := "", false
	for line := range strings.Lines(document) {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "```toml" && name != "":
			inside = true
		case strings.HasPrefix(trimmed, "```"):
			name, inside = "", false
		case inside:
			files[name] += line
		case strings.HasSuffix(trimmed, ".toml`:"):
			parts := strings.Split(trimmed, "`")
			name = parts[len(parts)-2]
		case trimmed != "":
			name = ""
		}
	}
	return files
}

// shellCommands lists the arguments of the weft commands in sh blocks. Sweeps run in their quick
// variant. Commands with shell syntax are left to the tests of those documents.
func shellCommands(document string) [][]string {
	var commands [][]string
	inside := false
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inside = line == "```sh"
			continue
		}
		line, _, _ = strings.Cut(line, "  #")
		rest, isWeft := strings.CutPrefix(strings.TrimPrefix(line, "./"), "weft ")
		arguments, plain := shellWords(rest)
		if !inside || !isWeft || !plain {
			continue
		}
		if (arguments[0] == "run" || arguments[0] == "reproduce") && !slices.Contains(arguments, "--quick") {
			arguments = append(arguments, "--quick")
		}
		commands = append(commands, arguments)
	}
	return commands
}

// shellWords divides a command line as a shell does; plain is false if it has more than
// words and quotes.
func shellWords(line string) (words []string, plain bool) {
	quote, word, open := rune(0), "", false
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word += string(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\n':
			if open {
				words = append(words, word)
			}
			word, open = "", false
		case strings.ContainsRune("|>$&;\\*", c):
			return nil, false
		default:
			word, open = word+string(c), true
		}
	}
	return words, true
}

// TestShellCommands: what counts as a command.
func TestShellCommands(t *testing.T) {
	got := shellCommands("weft no\n```sh\n$ weft no\nmake\nweft run a --set 'b=[\"c d\"]'  # note\nweft list | head\n./weft version\n```\nweft no\n")
	simtest.ErrorIf(t, len(got) != 2 || strings.Join(got[0], " ") != `run a --set b=["c d"] --quick` || got[1][0] != "version", "got %q", got)
}

// TestDocumentedFiles: what counts as a file.
func TestDocumentedFiles(t *testing.T) {
	got := documentedFiles("Write `a.toml`:\n\n```toml\nkind = 1\n```\n\nOther:\n```toml\nx = 2\n```\n")
	simtest.ErrorIf(t, len(got) != 1 || got["a.toml"] != "kind = 1\n", "got %q", got)
}

// TestNamedFiles: comments name no Go file that is gone. Lines that end in code before the comment count too.
func TestNamedFiles(t *testing.T) {
	named := regexp.MustCompile(`\b[a-z][a-z0-9_]*\.go\b`)
	files, lines := map[string]bool{}, map[string][]string{} // lines by the file that they name
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		files[entry.Name()] = true
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if _, comment, ok := strings.Cut(line, "// "); ok {
				for _, name := range named.FindAllString(comment, -1) {
					lines[name] = append(lines[name], path+": "+strings.TrimSpace(comment))
				}
			}
		}
		return err
	})
	simtest.Check(t, err)
	for name, where := range lines {
		simtest.ErrorIf(t, !files[name], "no file is called %s: %q", name, where)
	}
}

// large are examples that take seconds because of their size; a run tries one of each list.
var large = [][]string{
	{"examples/large-fat-tree.toml", "examples/tapered-tree.toml", "examples/broadcast-16000.toml"},
	{"examples/multicast-torus.toml", "examples/multicast-soak.toml", "examples/multicast-packets.toml"},
}

// TestExamples: every example runs in its quick variant, draws its figures,
// and loads in full. TestDocumentedCommands runs those that a document runs as they are.
func TestExamples(t *testing.T) {
	names := experiments.Embedded("examples")
	simtest.FatalIf(t, len(names) < 4, "examples: %v", names)
	for _, name := range append(names, experiments.Embedded("papers")...) {
		_, err := experiments.Open(name, experiments.Options{})
		simtest.ErrorIf(t, err != nil, "%v", err)
	}
	left := map[string]bool{}
	for i, list := range large {
		for _, name := range list {
			left[name] = true
		}
		for _, name := range simtest.Some(t, i, list...) {
			left[name] = false
		}
	}
	for _, text := range documents(t) {
		for _, command := range shellCommands(text) {
			left[plainExample(command)+".toml"] = true
		}
	}
	t.Chdir(t.TempDir())
	for _, name := range names {
		if left[name] && !testing.Short() || testing.Short() && name != "examples/torus.toml" {
			continue
		}
		status, _, stderr := weft(t, "run", name, "--quick")
		simtest.ErrorIf(t, status != exitSuccess || strings.Contains(stderr, "warning"), "%s: status %d\n%s", name, status, stderr)
	}
}

// TestDocumentedSchedule runs the GOAL schedule of docs/mpi.md on the machines that
// its experiment names. On LogGOPS rank 1 ends at 1000 + o + L + o + 4095*G, with
// the default o = 1500, L = 2500, G = 6.
func TestDocumentedSchedule(t *testing.T) {
	text := read(t, root, "docs", "mpi.md")
	block := func(start string) string {
		_, after, _ := strings.Cut(text, "```"+start)
		inside, _, _ := strings.Cut(after, "```")
		return inside
	}
	inFolder(t, map[string]string{"pair.goal": "num_ranks" + block("\nnum_ranks"), "pair.toml": "title" + block("toml\ntitle")})
	succeeds(t, "run", "pair.toml", "--out", "o")
	ranks := read(t, "o/ranks.csv")
	simtest.ErrorIf(t, !strings.Contains(ranks, "\n0,loggops,1,1,31070\n") || strings.Count(ranks, "\n") != 1+2*3, "%v", ranks)
}

// TestGallery: every picture of the gallery is a figure of the experiment that it is
// named after, and stands under its name; the gallery shows all of them.
func TestGallery(t *testing.T) {
	text := read(t, root, "docs", "gallery.md")
	pictures, err := filepath.Glob(filepath.Join(root, "docs", "gallery", "*.svg"))
	simtest.FatalIf(t, err != nil || len(pictures) < 10, "%d pictures (%v)", len(pictures), err)
	plots := map[string][]figures.PlotConfig{} // of the examples
	for _, picture := range pictures {
		name := strings.TrimSuffix(filepath.Base(picture), ".svg")
		example, figure, _ := strings.Cut(name, "--")
		before, _, shown := strings.Cut(text, "(gallery/"+name+".svg)")
		last := before[strings.LastIndex(before, "`examples/")+1:]
		simtest.ErrorIf(t, !shown || !strings.HasPrefix(last, "examples/"+example+"`"), "%s does not stand in the gallery under examples/%s", name, example)
		if plots[example] == nil {
			plots[example] = simtest.Must(experiments.Open("examples/"+example, experiments.Options{}))(t).Plots
		}
		simtest.ErrorIf(t, !slices.ContainsFunc(plots[example], func(p figures.PlotConfig) bool { return p.File == figure }),
			"examples/%s has no figure %s", example, figure)
	}
}

var (
	markdownLink = regexp.MustCompile(`!?\[[^\]]*\]\(([^()\s]*)\)`)
	punctuation  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	inlineCode   = regexp.MustCompile("`[^`]*`")
)

// TestLinks: every link of the documentation leads to a file of the repository, and
// every anchor to a heading; every page but the README is linked to.
func TestLinks(t *testing.T) {
	pages := map[string][]string{} // lines without blocks of code
	for _, pattern := range []string{"README.md", "docs/*.md"} {
		names := simtest.Must(filepath.Glob(filepath.Join(root, pattern)))(t)
		for _, name := range names {
			pages[filepath.Clean(name)] = prose(read(t, name))
		}
	}
	headings := map[string]map[string]bool{}
	for name, lines := range pages {
		headings[name] = anchors(lines)
	}
	linked := map[string]bool{}
	for name, lines := range pages {
		for _, line := range lines {
			for _, m := range markdownLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
				target, fragment, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				file := name
				if target != "" {
					file = filepath.Join(filepath.Dir(name), filepath.FromSlash(target))
				}
				if file != name {
					linked[file] = true
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s: %s leads nowhere", name, m[1])
				} else if fragment != "" && !headings[file][fragment] && !hasID(file, fragment) {
					t.Errorf("%s: %s has no heading for #%s", name, file, fragment)
				}
			}
		}
	}
	for name := range pages {
		simtest.ErrorIf(t, filepath.Base(name) != "README.md" && !linked[name], "no page leads to %s", name)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		simtest.ErrorIf(t, err == nil && !entry.IsDir() && strings.HasSuffix(path, ".png") && !linked[path], "no page shows %s", path)
		return err
	})
	simtest.ErrorIf(t, err != nil, "%v", err)
}

// prose is a page without its blocks of code.
func prose(page string) (lines []string) {
	inside := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		} else if !inside && !strings.HasPrefix(line, "    ") {
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
	}
	return lines
}

// anchors are the names of a page's headings, as forges make them; the second of the
// same name has -1 behind it.
func anchors(lines []string) map[string]bool {
	all := map[string]bool{}
	for _, line := range lines {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := strings.ToLower(strings.TrimSpace(heading))
		name = strings.ReplaceAll(punctuation.ReplaceAllString(name, ""), " ", "-")
		for i := 0; all[name]; i++ {
			name = strings.TrimSuffix(name, "-"+string(rune('0'+i))) + "-" + string(rune('1'+i))
		}
		all[name] = true
	}
	return all
}

// TestAnchors: the rule for names of headings.
func TestAnchors(t *testing.T) {
	got := anchors([]string{"# A `b`, [c]", "## group patterns", "## group patterns", "#no", "text"})
	for _, want := range []string{"a-b-c", "group-patterns", "group-patterns-1"} {
		simtest.ErrorIf(t, !got[want], "no %s in %v", want, got)
	}
	simtest.ErrorIf(t, len(got) != 3, "%v", got)
}

// hasID tells whether a page of HTML has an element of that name.
func hasID(file, name string) bool {
	text, err := os.ReadFile(file)
	return err == nil && strings.HasSuffix(file, ".html") && strings.Contains(string(text), ` id="`+name+`"`)
}
