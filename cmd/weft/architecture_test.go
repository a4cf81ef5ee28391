package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

const module = "github.com/weft-sim/weft/"

// tableRow is a package in a table of docs/architecture.md.
var tableRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\|$")

// TestImports holds the imports of packages, but those of their tests, to docs/imports.csv, and the tables of
// docs/architecture.md to the packages: each stands there once, itself or a folder that it is in, and those of
// the house behind what they import.
func TestImports(t *testing.T) {
	place := map[string]int{}
	for i, row := range tableRow.FindAllStringSubmatch(read(t, root, "docs", "architecture.md"), -1) {
		_, twice := place[row[1]]
		simtest.ErrorIf(t, twice, "docs/architecture.md has %s twice", row[1])
		place[row[1]] = i
	}
	imports := map[string][]string{}
	out := simtest.Must(exec.Command("go", "list", "-pgo=off", "-json=ImportPath,Imports,Doc", module+"...").Output())(t)
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Doc string
			Imports         []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		simtest.ErrorIf(t, p.Doc == "", "package %s has no documentation", p.ImportPath)
		from := part(place, strings.TrimPrefix(p.ImportPath, module))
		_, known := place[from]
		simtest.ErrorIf(t, !known, "package %s is in no table of docs/architecture.md", p.ImportPath)
		list := imports[from]
		for _, i := range p.Imports {
			if to, ours := strings.CutPrefix(i, module); ours && part(place, to) != from {
				list = append(list, part(place, to))
			}
		}
		slices.Sort(list)
		imports[from] = slices.Compact(list)
	}
	for name := range place {
		_, there := imports[name]
		simtest.ErrorIf(t, !there, "docs/architecture.md has package %s, which is not there", name)
	}
	for _, name := range dependencies(t, "cmd/command") {
		for _, to := range imports[part(place, name)] {
			simtest.ErrorIf(t, place[to] > place[part(place, name)], "%s imports %s, which stands behind it in docs/architecture.md", name, to)
		}
	}
	var b strings.Builder
	b.WriteString("package,imports\n")
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&b, "%s,%s\n", name, strings.Join(imports[name], " "))
	}
	golden(t, filepath.Join(root, "docs", "imports.csv"), []byte(b.String()))
}

// part is the package of a table that a package belongs to.
func part(place map[string]int, path string) string {
	for ; ; path = path[:strings.LastIndex(path, "/")] {
		if _, known := place[path]; known || !strings.Contains(path, "/") {
			return path
		}
	}
}

// eachSource visits the files of Go that are no tests.
func eachSource(t *testing.T, visit func(folder, name, text string)) {
	t.Helper()
	simtest.Check(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		visit(filepath.ToSlash(folder), name, string(text))
		return err
	}))
}

// TestStart: what a run may not use is not made as the program starts: regular expressions are
// compiled when they are asked for (input.Pattern), and so are templates. Functions may compile.
func TestStart(t *testing.T) {
	made := regexp.MustCompile(`(?m)^(?:var |\t)\w+\s+= (?:regexp\.MustCompile|template\.Must)\(`)
	simtest.FatalIf(t, !made.MatchString("var x = regexp.MustCompile(`a`)"), "the pattern finds nothing")
	eachSource(t, func(folder, name, text string) {
		for _, line := range made.FindAllString(text, -1) {
			t.Errorf("%s/%s: %s", folder, name, line)
		}
	})
}

// TestLines: no package has more lines, without tests, than docs/lines.csv allows. A commit that
// raises a number (-update) says why; one that lowers it need not. The column before has
// commit 8bc4b67, from which on the house is made smaller. Packages stand by wing.
func TestLines(t *testing.T) {
	lines := map[string]int{}
	eachSource(t, func(folder, _, text string) { lines[folder] += strings.Count(text, "\n") })
	path := filepath.Join(root, "docs", "lines.csv")
	rows := simtest.Must(csv.NewReader(strings.NewReader(read(t, path))).ReadAll())(t)
	allowed, before := map[string]int{}, map[string]string{}
	for _, r := range rows[1:] {
		before[r[1]] = r[2]
		allowed[r[1]] = simtest.Must(strconv.Atoi(r[3]))(t)
	}
	if *update {
		wingOf := map[string]string{}
		for _, name := range dependencies(t, "cmd/command") {
			wingOf[name] = "house"
		}
		for _, w := range readWings(t) {
			for _, name := range w.packages {
				wingOf[name] = w.root
			}
		}
		names := sortedNames(lines, before)
		slices.SortStableFunc(names, func(x, y string) int {
			return cmp.Compare(cmp.Or(wingOf[x], "tests"), cmp.Or(wingOf[y], "tests"))
		})
		var b strings.Builder
		b.WriteString("wing,package,before,at_most\n")
		sums := map[string]int{}
		for _, name := range names {
			of := cmp.Or(wingOf[name], "tests")
			fmt.Fprintf(&b, "%s,%s,%s,%d\n", of, name, before[name], lines[name])
			sums[of] += lines[name]
			sums["all"] += lines[name]
		}
		t.Logf("lines: %v", sums)
		simtest.Check(t, os.WriteFile(path, []byte(b.String()), 0o644))
		return
	}
	for name, n := range lines {
		most, known := allowed[name]
		simtest.ErrorIf(t, !known || n > most, "package %s has %d lines, and docs/lines.csv allows %d: "+
			"go test ./cmd/weft -update raises that, and the commit says why", name, n, most)
	}
}

func sortedNames(lines map[string]int, before map[string]string) []string {
	seen := maps.Clone(lines)
	for name, n := range before {
		if n != "" {
			seen[name] = lines[name]
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// TestMakeAgain: what make runs into a folder of its own can be run again.
func TestMakeAgain(t *testing.T) {
	runs := 0
	for line := range strings.Lines(read(t, root, "Makefile")) {
		command, isWeft := strings.CutPrefix(strings.TrimSpace(line), "$(BIN) ")
		if !isWeft || !strings.Contains(command, "--out") {
			continue
		}
		runs++
		simtest.ErrorIf(t, !strings.Contains(command, "--force") && !strings.Contains(command, "--resume"), "%s: refused the second time", command)
	}
	simtest.ErrorIf(t, runs < 2, "%d commands", runs)
}

// TestLinkedVersion: what the Makefile and the container tell the linker is a variable
// that there is.
func TestLinkedVersion(t *testing.T) {
	holds(t, filepath.Join(root, "experiments", "process.go"), "\nvar version string\n")
	for _, name := range []string{"Makefile", "docs/Containerfile"} {
		holds(t, filepath.Join(root, name), "-X github.com/weft-sim/weft/experiments.version=$")
	}
}

// TestTopLevel: the repository keeps at its root what the issues fix, and files that begin with a dot.
func TestTopLevel(t *testing.T) {
	out, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Skip("not a clone")
	}
	fixed := strings.Fields("sim fabric routing collectives mpi experiments cmd docs go.mod go.sum Makefile LICENSE README.md CITATION.cff")
	for _, path := range strings.Fields(string(out)) {
		top, _, _ := strings.Cut(path, "/")
		simtest.ErrorIf(t, !strings.HasPrefix(top, ".") && !slices.Contains(fixed, top), "%s stands at the root", path)
	}
}

// TestCitation: the file that says how to cite names the newest version of the change
// log, with its date.
func TestCitation(t *testing.T) {
	_, after, _ := strings.Cut(read(t, root, "docs", "CHANGELOG.md"), "\n## Unreleased\n")
	_, after, _ = strings.Cut(after, "\n## ")
	heading, _, _ := strings.Cut(after, "\n")
	version, date, ok := strings.Cut(heading, " - ")
	simtest.FatalIf(t, !ok, "the change log has no version in %q", heading)
	holds(t, filepath.Join(root, "CITATION.cff"), "cff-version: 1.2.0\n", "\nversion: "+version+"\n", "\ndate-released: "+date+"\n", "\nlicense: Apache-2.0\n", "\nauthors:\n")
}

// extensions reads the files that docs/extending.md adds, by path: blocks of Go
// code, each behind a line that ends with the path.
func extensions(t *testing.T) map[string]string {
	t.Helper()
	text := read(t, root, "docs", "extending.md")
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)`([a-z_/]+\\.go)`:\n\n```go\n(.*?)```").FindAllStringSubmatch(text, -1) {
		files[m[1]] = m[2]
	}
	blocks := strings.Count(text, "```go\n")
	simtest.FatalIf(t, blocks != len(files) || blocks == 0, "%d blocks of Go code, %d files", blocks, len(files))
	return files
}

// TestExtending takes docs/extending.md at its word: the files given there, and
// nothing else, make things that are registered and pass their suites.
func TestExtending(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages")
	}
	files := extensions(t)
	// Each file with the suite that picks it up, and the subtest that shows it: in parts, of which a
	// run of the tests builds one.
	type suite struct{ run, shows string }
	parts := []map[string]suite{{
		"fabric/topology/ring.go":           {"TestConformance/ring", "TestConformance/ring/switches="},
		"routing/negative_first.go":         {"TestConformance/(negative-first|table)", "TestConformance/negative-first/defaults/mesh"},
		"routing/multicast/first_member.go": {"TestChurn/single_switch/first-member", "first-member"},
	}, {
		"fabric/allocator/rotating.go": {"TestConformance/rotating", "TestConformance/rotating"},
		"fabric/hca/xdr.go":            {"TestPresets", "TestPresets"},
		"fabric/terminal/paced.go":     {"TestConformance/paced", "TestConformance/paced/threads"},
		"fabric/traffic/reversal.go":   {"TestPatternConformance", "TestPatternConformance"},
	}, {
		"collectives/allgather_spread.go": {"TestConformance/allgather-spread", "TestConformance/allgather-spread/defaults"},
		"mpi/skeletons/shift.go":          {"TestSkeletonsRun/shift", "TestSkeletonsRun/shift"},
		"experiments/kinds/facts.go":      {"TestConformance/facts", "TestConformance/facts"},
	}}
	for path := range files {
		simtest.FatalIf(t, !slices.ContainsFunc(parts, func(part map[string]suite) bool { return part[path] != suite{} }),
			"the test has no suite for %s", path)
	}
	dir := t.TempDir()
	replace, all := map[string]string{}, map[string]bool{}
	for path, text := range files {
		example := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		simtest.Check(t, os.WriteFile(example, []byte(text), 0o644))
		target := simtest.Must(filepath.Abs(filepath.Join(root, path)))(t)
		simtest.FatalIf(t, results.Exists(target), "%s is there already", path)
		replace[target], all["./"+filepath.Dir(path)] = example, true
		out, err := exec.Command("gofmt", "-l", example).CombinedOutput()
		simtest.ErrorIf(t, err != nil || len(out) > 0, "%s: gofmt: %v %s", path, err, out)
	}
	overlay := simtest.Must(json.Marshal(map[string]map[string]string{"Replace": replace}))(t)
	list := filepath.Join(dir, "overlay.json")
	simtest.Check(t, os.WriteFile(list, overlay, 0o644))
	compile := func(packages map[string]bool, arguments ...string) {
		build := exec.Command("go", append(append(arguments, "-overlay", list), slices.Sorted(maps.Keys(packages))...)...)
		build.Dir = root
		out, err := build.CombinedOutput()
		simtest.FatalIf(t, err != nil, "%v\n%s", err, out)
	}
	compile(all, "build")
	suites := map[string]suite{}
	for _, part := range simtest.Some(t, 0, parts...) {
		maps.Copy(suites, part)
	}
	// The suites are built at once: the overlay changes packages that several of them import.
	binaries, packages := filepath.Join(dir, "suites"), map[string]bool{}
	for path := range suites {
		packages["./"+filepath.Dir(path)] = true
	}
	compile(packages, "test", "-c", "-o", binaries+"/")
	for path, suite := range suites {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Dir(path)
			test := exec.Command(filepath.Join(binaries, filepath.Base(folder)+".test"), "-test.run", suite.run, "-test.v")
			test.Dir = filepath.Join(root, folder)
			out, err := test.CombinedOutput()
			simtest.FatalIf(t, err != nil, "%v\n%s", err, out)
			simtest.ErrorIf(t, !strings.Contains(string(out), suite.shows), "the suite did not show %s:\n%s", suite.shows, out)
			simtest.ErrorIf(t, path == "routing/negative_first.go" && !strings.Contains(string(out), "table/defaults/ring_switches="),
				"routing \"table\" did not meet the new topology:\n%s", out)
		})
	}
}

// outside copies the module of docs/outside, which is not weft's, makes it use this weft, and
// returns how commands are run in it, without a network. It is replaced there, as users do, until
// all that the module imports is found, and then in a workspace: there weft's packages are those
// that the go command has built for this test.
func outside(t *testing.T) (run func(name string, args ...string) string) {
	t.Helper()
	dir := simtest.Must(filepath.Abs(root))(t)
	lab := t.TempDir()
	simtest.Check(t, os.CopyFS(lab, os.DirFS(filepath.Join(dir, "docs", "outside"))))
	run = func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = lab
		// The module cache has been verified by the go.sum of weft: no data base of sums is asked.
		c.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", command.CacheVariable+"="+t.TempDir())
		out, err := c.CombinedOutput()
		simtest.FatalIf(t, err != nil, "%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		return string(out)
	}
	run("go", "mod", "edit", "-replace", "github.com/weft-sim/weft="+dir)
	run("go", "list", "-mod=readonly", "-deps", "-test", ".") // as in a clone: go.mod and go.sum are whole
	run("go", "mod", "edit", "-dropreplace", "github.com/weft-sim/weft", "-droprequire", "github.com/weft-sim/weft")
	run("go", "work", "init", ".", dir)
	return run
}

// TestOutside: a module of others has the whole command with its own topology, routing,
// pattern and program, and the suites hold them.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	run := outside(t)
	run("go", "build", "-o", "lab", ".")
	simtest.Says(t, run("./lab", "check", "chords.toml"), "chords.toml: valid, 12 points", "free from deadlock")
	out := run("./lab", "run", "chords.toml", "--out", "-", "--format", "csv", "--quiet")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	// A window of one packet: 4 flits take 18 cycles to the opposite switch, 1 takes 15 back:
	// 5 flits in 33 cycles are 0.1515 of a terminal's channel.
	simtest.FatalIf(t, len(rows) != 13 || !strings.HasPrefix(rows[1], "0,1,none,1,1,1,,0.15"), "run:\n%s", out)
	// Where four send to one, marks keep the windows as short as they have to be.
	latency := func(row string) float64 {
		return simtest.Must(strconv.ParseFloat(strings.Split(row, ",")[8], 64))(t)
	}
	without, with := latency(rows[9]), latency(rows[12])
	simtest.ErrorIf(t, with > without/2, "a latency of %g ns with marks, %g without", with, without)
	for _, threads := range []string{"2", "3"} {
		simtest.Equal(t, run("./lab", "run", "chords.toml", "--out", "-", "--quiet", "--threads", threads), out, "%s threads:\n", threads)
	}
	run("./lab", "run", "chords.toml", "--out", "r", "--quiet")
	run("./lab", "run", "chords.toml", "--out", "threads", "--quiet", "--threads", "2")
	for _, table := range []string{"queues.csv", "samples.csv", "program.csv"} {
		run("cmp", filepath.Join("r", table), filepath.Join("threads", table))
	}
	run("./lab", "plot", "r/results.csv", "--x", "program.limit", "--y", "accepted_load", "-o", "x.svg")
	run("./lab", "report", "r")
	for _, c := range [][3]string{{"list", "topologies", "chords"}, {"list", "routings", "chord-first"}, {"list", "patterns", "opposite"}, {"list", "programs", "aimd"}, {"explain", "limit", "program.limit"}} {
		out := run("./lab", c[0], c[1])
		simtest.ErrorIf(t, !strings.Contains(out, c[2]), "%s %s does not know %s:\n%s", c[0], c[1], c[2], out)
	}
	run("go", "vet", ".")
	run("go", "test", ".")
}

// TestOutsideSums: what the example module trusts is what weft trusts.
func TestOutsideSums(t *testing.T) {
	own := read(t, root, "go.sum")
	for line := range strings.Lines(read(t, root, "docs", "outside", "go.sum")) {
		simtest.Says(t, own, line)
	}
}
