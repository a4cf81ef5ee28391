package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFurtherTables: every column that a kind writes to a further table is
// documented, and every documented table is written.
func TestFurtherTables(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(list, []byte("arrival_s,nodes,duration_s\n0,4,1\n0,4,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"traffic": `
[topology]
p = 1
a = 2
h = 1
[program]
type = "request-reply"
[measure]
warmup = 50
window = 200
links = true
global_channels = true
blame = true
histogram = true
fairness = true
queues = "50ns"
`,
		"flows": `
kind = "flows"
[topology]
type = "xgft"
m = [2, 2]
w = [1, 2]
[measure]
queues = "10us"
flows = true
`,
		"adapters": `
[topology]
p = 1
a = 2
h = 1
[program]
type = "infiniband"
[measure]
warmup = 50
window = 200
`,
		"search": `
[topology]
type = "torus"
dims = [3]
[routing]
type = "dor"
[measure]
warmup = 50
window = 200
budget = 200
find = "saturation"
load_precision = 0.5
`,
		"mpi": `
kind = "mpi"
[job]
ranks = 2
finish_times = true
[measure]
timeline = true
`,
		"jobs": fmt.Sprintf(`
kind = "jobs"
[batch]
policy = "first-fit"
file = %q
[job.a]
program = "many-to-one"
iterations = 1
bytes = "64KiB"
[measure]
ranks = true
blame = true
`, list),
		"multicast-routing": `
kind = "multicast-routing"
[groups]
pattern = "blocks"
[measure]
colours = true
efi = true
timing = true
`,
		"multicast-latency": `
kind = "multicast-latency"
[messages]
count = 2
warmup = 0
[measure]
groups = true
links = true
`,
	}
	written := map[string]bool{}
	for name, text := range files {
		f, err := Load(name+".toml", text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := &Run{Seed: 1, Threads: 1}
		if _, err := f.kind.run(t.Context(), f.Points[0].config, run); err != nil {
			t.Fatal(err)
		}
		for _, o := range run.tables {
			written[o.Name] = true
			d, described := FurtherColumns(f.kind.name, o.Name)
			written[f.kind.name+" "+o.Name] = true
			if !described {
				t.Errorf("kind %s: table %s is not documented", f.kind.name, o.Name)
				continue
			}
			if missing := undescribed(d, o); len(missing) > 0 {
				t.Errorf("kind %s: columns %v of table %s are not in furtherTables", f.kind.name, missing, o.Name)
			}
			for _, c := range d.Columns {
				if !slices.Contains(o.Columns, c.Name) {
					t.Errorf("table %s has no column %s", o.Name, c.Name)
				}
			}
		}
	}
	for name := range furtherTables {
		if !written[name] {
			t.Errorf("no file above makes a kind write table %s", name)
		}
	}
}

// undescribed lists the columns of a further table without documentation.
func undescribed(d FurtherDescription, o *Output) (missing []string) {
	for _, name := range o.Columns {
		if !slices.ContainsFunc(d.Columns, func(c Column) bool { return c.Name == name && c.Doc != "" }) {
			missing = append(missing, name)
		}
	}
	return missing
}
