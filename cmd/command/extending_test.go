package command

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
