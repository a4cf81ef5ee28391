package command

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// extensions reads the files that docs/extending.md adds, by path: blocks of Go
// code, each behind a line that ends with the path.
func extensions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "extending.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)`([a-z_/]+\\.go)`:\n\n```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		files[m[1]] = m[2]
	}
	if blocks := strings.Count(string(text), "```go\n"); blocks != len(files) || blocks == 0 {
		t.Fatalf("%d blocks of Go code, %d files", blocks, len(files))
	}
	return files
}

// TestExtending takes docs/extending.md at its word: the files given there, and
// nothing else, make things that are registered and pass their suites.
func TestExtending(t *testing.T) {
	if testing.Short() {
		t.Skip("builds packages")
	}
	files := extensions(t)
	dir := t.TempDir()
	replace := map[string]string{}
	for path, code := range files {
		example := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		if err := os.WriteFile(example, []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
		target, err := filepath.Abs(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(target); err == nil {
			t.Fatalf("%s is there already", path)
		}
		replace[target] = example
		if out, err := exec.Command("gofmt", "-l", example).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: gofmt: %v %s", path, err, out)
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	// Each file with the suite that picks it up, and the subtest that shows it.
	suites := map[string]struct{ run, shows string }{
		"fabric/topology/ring.go":           {"TestConformance/ring", "TestConformance/ring/switches="},
		"routing/negative_first.go":         {"TestConformance/(negative-first|table)", "TestConformance/negative-first/defaults/mesh"},
		"fabric/allocator/rotating.go":      {"TestConformance/rotating", "TestConformance/rotating"},
		"collectives/allgather_doubling.go": {"TestConformance/allgather-recursive-doubling", "TestConformance/allgather-recursive-doubling/defaults"},
		"mpi/skeletons/shift.go":            {"TestSkeletonsRun/shift", "TestSkeletonsRun/shift"},
		"fabric/hca/xdr.go":                 {"TestPresets", "TestPresets"},
		"routing/multicast/first_member.go": {"TestChurn/single_switch/first-member", "first-member"},
		"fabric/terminal/paced.go":          {"TestConformance/paced", "TestConformance/paced/threads"},
		"fabric/traffic/reversal.go":        {"TestPatternConformance", "TestPatternConformance"},
		"experiments/kinds/facts.go":        {"TestConformance/facts", "TestConformance/facts"},
	}
	// All suites are built at once: the overlay changes packages that all of them import.
	binaries, packages := filepath.Join(dir, "suites"), map[string]bool{}
	for path := range files {
		if _, ok := suites[path]; !ok {
			t.Fatalf("the test has no suite for %s", path)
		}
		packages["./"+filepath.Dir(path)] = true
	}
	build := exec.Command("go", append([]string{"test", "-c", "-overlay", list, "-o", binaries + "/"}, slices.Sorted(maps.Keys(packages))...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path := range files {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			folder, suite := filepath.Dir(path), suites[path]
			test := exec.Command(filepath.Join(binaries, filepath.Base(folder)+".test"), "-test.run", suite.run, "-test.v")
			test.Dir = filepath.Join(root, folder)
			out, err := test.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), suite.shows) {
				t.Errorf("the suite did not show %s:\n%s", suite.shows, out)
			}
			if path == "routing/negative_first.go" && !strings.Contains(string(out), "table/defaults/ring_switches=") {
				t.Errorf("routing \"table\" did not meet the new topology:\n%s", out)
			}
		})
	}
}

// outside copies the module of docs/outside, which is not weft's, makes it use this weft, and
// returns how commands are run in it, without a network. It is replaced there, as users do, until
// all that the module imports is found, and then in a workspace: there weft's packages are those
// that the go command has built for this test.
func outside(t *testing.T) (run func(name string, args ...string) string) {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	lab := t.TempDir()
	if err := os.CopyFS(lab, os.DirFS(filepath.Join(dir, "docs", "outside"))); err != nil {
		t.Fatal(err)
	}
	run = func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = lab
		c.Env = append(os.Environ(), "GOPROXY=off", cacheVariable+"="+t.TempDir())
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("go", "mod", "edit", "-replace", "github.com/weft-sim/weft="+dir)
	run("go", "list", "-mod=mod", "-deps", "-test", ".")
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
	if out := run("./lab", "check", "chords.toml"); !strings.Contains(out, "chords.toml: valid, 12 points") || !strings.Contains(out, "free from deadlock") {
		t.Errorf("check:\n%s", out)
	}
	out := run("./lab", "run", "chords.toml", "--out", "-", "--format", "csv", "--quiet")
	rows := strings.Split(strings.TrimSpace(out), "\n")
	// A window of one packet: 4 flits take 18 cycles to the opposite switch, 1 takes 15 back:
	// 5 flits in 33 cycles are 0.1515 of a terminal's channel.
	if len(rows) != 13 || !strings.HasPrefix(rows[1], "0,1,none,1,1,1,,0.15") {
		t.Fatalf("run:\n%s", out)
	}
	// Where four send to one, marks keep the windows as short as they have to be.
	latency := func(row string) float64 {
		x, err := strconv.ParseFloat(strings.Split(row, ",")[8], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	if without, with := latency(rows[9]), latency(rows[12]); with > without/2 {
		t.Errorf("a latency of %g ns with marks, %g without", with, without)
	}
	for _, threads := range []string{"2", "3"} {
		if other := run("./lab", "run", "chords.toml", "--out", "-", "--quiet", "--threads", threads); other != out {
			t.Errorf("%s threads:\n%s\nwant\n%s", threads, other, out)
		}
	}
	run("./lab", "run", "chords.toml", "--out", "r", "--quiet")
	run("./lab", "run", "chords.toml", "--out", "threads", "--quiet", "--threads", "2")
	for _, table := range []string{"queues.csv", "samples.csv", "program.csv"} {
		run("cmp", filepath.Join("r", table), filepath.Join("threads", table))
	}
	run("./lab", "plot", "r/results.csv", "--x", "program.limit", "--y", "accepted_load", "-o", "x.svg")
	run("./lab", "report", "r")
	for _, c := range [][3]string{{"list", "topologies", "chords"}, {"list", "routings", "chord-first"}, {"list", "patterns", "opposite"}, {"list", "programs", "aimd"}, {"explain", "limit", "program.limit"}} {
		if out := run("./lab", c[0], c[1]); !strings.Contains(out, c[2]) {
			t.Errorf("%s %s does not know %s:\n%s", c[0], c[1], c[2], out)
		}
	}
	run("go", "vet", ".")
	run("go", "test", ".")
}

// TestOutsideSums: what the example module trusts is what weft trusts.
func TestOutsideSums(t *testing.T) {
	own, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "docs", "outside", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(sums)) {
		if !strings.Contains(string(own), line) {
			t.Errorf("docs/outside/go.sum has %swhich go.sum has not: run go mod tidy there", line)
		}
	}
}
