package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// wing is a part of the section Wings of docs/architecture.md: its heading names what brings it, its table its packages.
type wing struct {
	name, root string
	packages   []string // with the root
}

func readWings(t *testing.T) (wings []wing) {
	t.Helper()
	_, text, _ := strings.Cut(read(t, root, "docs", "architecture.md"), "\n## Wings\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, part := range strings.Split(text, "\n### ")[1:] {
		heading, table, _ := strings.Cut(part, "\n")
		name, brings, _ := strings.Cut(heading, ": ")
		w := wing{name: name, root: strings.Trim(brings, "`")}
		for _, row := range tableRow.FindAllStringSubmatch(table, -1) {
			w.packages = append(w.packages, row[1])
		}
		wings = append(wings, w)
	}
	simtest.FatalIf(t, len(wings) < 4, "%d wings in docs/architecture.md", len(wings))
	return wings
}

// dependencies are the packages of weft that a package needs, with itself.
func dependencies(t *testing.T, name string) (list []string) {
	t.Helper()
	out := simtest.Must(exec.Command("go", "list", "-deps", module+name).Output())(t)
	for line := range strings.Lines(string(out)) {
		if own, ours := strings.CutPrefix(strings.TrimSpace(line), module); ours {
			list = append(list, own)
		}
	}
	return list
}

// TestWings: the house, which is all that cmd/command needs, has no package of a wing; the blank
// imports of main.go are the wings; each brings its own packages, of which no other wing needs one.
func TestWings(t *testing.T) {
	wings := readWings(t)
	house := dependencies(t, "cmd/command")
	needs := map[string][]string{}
	var roots []string
	for _, w := range wings {
		roots = append(roots, w.root)
		needs[w.name] = dependencies(t, w.root)
		for _, p := range w.packages {
			simtest.ErrorIf(t, slices.Contains(house, p), "the house needs %s of wing %s", p, w.name)
			simtest.ErrorIf(t, !slices.Contains(needs[w.name], p), "%s, which brings wing %s, does not bring %s", w.root, w.name, p)
		}
	}
	for _, w := range wings {
		for _, p := range needs[w.name] {
			simtest.ErrorIf(t, !slices.Contains(house, p) && !slices.Contains(w.packages, p),
				"wing %s needs %s, which belongs neither to it nor to the house", w.name, p)
		}
	}
	var blank []string
	file := simtest.Must(parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ImportsOnly))(t)
	for _, i := range file.Imports {
		if i.Name != nil && i.Name.Name == "_" {
			blank = append(blank, strings.TrimPrefix(simtest.Must(strconv.Unquote(i.Path.Value))(t), module))
		}
	}
	slices.Sort(roots)
	slices.Sort(blank)
	simtest.ErrorIf(t, !slices.Equal(blank, roots), "main.go imports %v, the wings are %v", blank, roots)
}

// TestHouse: a program of the house alone runs the quick start to the same results, and knows nothing
// of wings.
func TestHouse(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	source, house := simtest.Must(filepath.Abs(filepath.Join(root, "docs", "outside", "house", "main.go")))(t), filepath.Join(dir, "house")
	overlay := simtest.Must(json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(simtest.Must(filepath.Abs(root))(t), "cmd", "house", "main.go"): source,
	}}))(t)
	list := filepath.Join(dir, "overlay.json")
	simtest.Check(t, os.WriteFile(list, overlay, 0o644))
	build := exec.Command("go", "build", "-overlay", list, "-o", house, "./cmd/house")
	build.Dir = root
	out, err := build.CombinedOutput()
	simtest.FatalIf(t, err != nil, "%v\n%s", err, out)
	quickstart := read(t, root, "experiments", "examples", "quickstart.toml")
	inFolder(t, map[string]string{"small.toml": small, "quickstart.toml": quickstart})
	alone := func(status int, message string, args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		c := exec.Command(house, args...)
		c.Stdout, c.Stderr = &stdout, &stderr
		if _ = c.Run(); c.ProcessState.ExitCode() != status || !strings.Contains(stderr.String(), message) {
			t.Errorf("%v: status %d: %s\nwant %d, %s", args, c.ProcessState.ExitCode(), &stderr, status, message)
		}
		return stdout.String()
	}
	run := []string{"run", "quickstart.toml", "--quick", "--out", "-", "--quiet"}
	want, _ := succeeds(t, run...)
	got := alone(exitSuccess, "", run...)
	simtest.ErrorIf(t, got != want || strings.Count(got, "\n") < 10, "the house computes\n%s\nweft\n%s", got, want)
	simtest.Says(t, alone(exitSuccess, "", "check", "papers/mr4lms/fig7", "--quick", "--no-cache"), "\n  verdict      can run")
	for _, args := range [][2]string{{"topology small.toml --format ibsim", `unknown format "ibsim"`}, {"topology small.toml --lfts x", "no form of them"}, {"check small.toml --set routing.type=opensm-updn", "unknown routing"}, {"check small.toml --set topology.type=kautz", "unknown topology"}} {
		alone(exitUsage, args[1], strings.Fields(args[0])...)
	}
	alone(exitUsage, `unknown command "trace"`, "trace", "x.goal")
	alone(exitUsage, `unknown command "report"`, "report", "results")
	for _, kind := range []string{"cost", "flows", "jobs"} {
		alone(exitUsage, strconv.Quote(kind)+": unknown kind", "run", "small.toml", "--set", "kind="+kind)
	}
	help := alone(exitSuccess, "", "reproduce", "--help")
	simtest.ErrorIf(t, strings.Contains(help, "--data") || strings.Contains(help, "BookSim"), "the house is held against\n%s", help)
	alone(exitSuccess, "", "run", "small.toml", "--out", "o")
}
