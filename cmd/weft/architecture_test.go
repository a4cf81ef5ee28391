package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weft-sim/weft/"

// arrows lists what each package may import of the others: docs/architecture.md
// draws them. A package's parts (experiments/figure) count as the package.
var arrows = map[string][]string{
	"sim":               {},
	"fabric/topology":   {"sim"},
	"fabric/hca":        {"sim"},
	"fabric":            {"sim", "fabric/topology", "fabric/hca"},
	"fabric/traffic":    {"sim", "fabric/topology"},
	"routing":           {"sim", "fabric", "fabric/topology"},
	"routing/multicast": {"sim", "fabric/topology"},
	"routing/certify":   {"fabric/topology"},
	"collectives":       {"sim", "fabric/topology"},
	"mpi":               {"sim", "collectives", "fabric/hca"},
	"experiments": {"sim", "fabric", "fabric/topology", "fabric/hca", "fabric/traffic", "routing", "routing/multicast",
		"routing/certify", "collectives", "mpi"},
	"cmd/weft": {"experiments"},
}

// TestImportArrows holds the packages to their arrows. Tests may import more.
func TestImportArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := part(strings.TrimPrefix(p.ImportPath, module))
		allowed, known := arrows[from]
		if !known {
			t.Errorf("package %s is not in the map of packages", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if to = part(to); ours && to != from && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s, which it may not", p.ImportPath, i)
			}
		}
	}
}

// part is the package of the map that a package belongs to.
func part(path string) string {
	for ; ; path = path[:strings.LastIndex(path, "/")] {
		if _, known := arrows[path]; known || !strings.Contains(path, "/") {
			return path
		}
	}
}
