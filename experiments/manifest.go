package experiments

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
)

// Manifest is the provenance of a result folder.
type Manifest struct {
	Weft    string   `json:"weft"`
	File    string   `json:"file"`
	Command []string `json:"command,omitempty"` // the command line, with the options that were given as --NAME=VALUE
	Set     []string `json:"set,omitempty"`     // what --set and --seed have laid over the file, KEY=VALUE
	Quick   bool     `json:"quick,omitempty"`   // the file's [quick] table was applied
	Title   string   `json:"title"`
	Kind    string   `json:"kind"`
	Hash    string   `json:"hash"`  // of the resolved configurations of all points
	Seeds   []uint64 `json:"seeds"` // of the points, without repetition
	Points  int      `json:"points"`
	Failed  int      `json:"failed"`
	Reused  int      `json:"reused"`
	Jobs    int      `json:"jobs"`
	Threads int      `json:"threads"`
	Tables  []string `json:"tables"`                 // CSV files of the kind beside results.csv, without extension
	Files   []string `json:"files,omitempty"`        // further files of points, such as traces/0.txt
	Cyclic  []string `json:"can_deadlock,omitempty"` // networks that can deadlock and were allowed to, each with a cycle of channels
	// OnOneThread counts the points that one thread simulated although Threads are
	// more, by the reason.
	OnOneThread map[string]int `json:"on_one_thread,omitempty"`
	Formats     []string       `json:"formats,omitempty"` // other forms of these and of results.csv, such as jsonl
	// Bounds are the highest loads that the channels can carry, proven, of the first
	// point of each variant of a load sweep, by its index, as far as they are known.
	Bounds   map[int]float64 `json:"bounds,omitempty"`
	Started  time.Time       `json:"started"`
	Finished time.Time       `json:"finished"`
	Host     HostFacts       `json:"host"`
	Resolved string          `json:"resolved"` // the content of resolved.toml
}

// readManifest reads the manifest of a result folder. The error says what is
// wrong with the file.
func readManifest(dir string) (*Manifest, error) {
	text, err := input.ReadInput(filepath.Join(dir, manifestFile), input.MaxInput)
	if err != nil {
		return nil, errors.New(manifestFile + " cannot be read: " + err.Error())
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, errors.New(manifestFile + " is damaged: " + err.Error())
	}
	return m, nil
}

// has tells whether a further file of a point was written.
func (m *Manifest) has(name string) bool { return slices.Contains(m.Files, name) }

// HostFacts describes the machine that computed a result folder.
type HostFacts struct {
	Name string `json:"name"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
}

func (r *runner) manifest(o *Outcome) Manifest {
	f := r.file
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Manifest{
		Weft: Version(), File: f.Name, Command: r.execution.Command, Set: f.set, Quick: f.quick, Title: f.Title, Kind: f.kind.name, Hash: hashOf(r.points), Seeds: seedsOf(r.points),
		Points: len(r.points), Failed: len(o.Failures), Reused: o.Reused,
		Jobs: r.jobs(), Threads: max(r.execution.Threads, 1), OnOneThread: o.OnOneThread,
		Tables:  results.SortedKeys(o.Tables),
		Formats: r.formats(),
		Files:   results.SortedKeys(o.Files),
		Cyclic:  f.cyclic,
		Bounds:  r.bounds(o.Results),
		Started: r.started.UTC(), Finished: time.Now().UTC(),
		Host:     HostFacts{host, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()},
		Resolved: f.resolvedIn(r.execution.Dir),
	}
}

// bounds computes the bounds of a load sweep. Cost: little, the channel loads of the
// run are kept.
func (r *runner) bounds(results *Table) map[int]float64 {
	all := map[int]float64{}
	for _, k := range results.Knees() {
		for _, p := range r.points {
			if p.Index == k.Point {
				if bound := r.file.LoadBound(p); bound > 0 {
					all[p.Index] = bound
				}
			}
		}
	}
	return all
}

func seedsOf(points []*Point) []uint64 {
	var seeds []uint64
	for _, p := range points {
		seeds = results.AddNew(seeds, p.Seed)
	}
	return seeds
}

// hashOf names the resolved configurations of some points.
func hashOf(points []*Point) string {
	h := sha256.New()
	for _, p := range points {
		fmt.Fprintln(h, p.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Resolved is the file with everything spelt out: defaults, --set and [quick]
// applied. Running it gives the same results.
func (f *File) Resolved() string { return f.resolved(f.inputs) }

// resolvedIn is Resolved for a file in another folder: the paths of its input files
// stay as they are given, and what they are relative to is stated.
func (f *File) resolvedIn(dir string) string {
	inputs := f.inputs
	if f.readsFiles() {
		inputs = f.inputFolder()
		if absolute, err := filepath.Abs(dir); err == nil {
			if relative, err := filepath.Rel(absolute, inputs); err == nil {
				inputs = relative
			}
		}
		inputs = filepath.ToSlash(inputs)
	}
	return f.resolved(inputs)
}

func (f *File) resolved(inputs string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s%s from %s.\n", resolvedBy, Version(), f.Name)
	for _, line := range f.doc.comment {
		b.WriteString(strings.TrimSpace("# "+line) + "\n")
	}
	fmt.Fprintf(&b, "title = %s\nkind = %s\nseed = %d\n", tomlValue(f.rawTitle), tomlValue(f.kind.name), f.Seed)
	if inputs != "" {
		fmt.Fprintf(&b, "inputs = %s\n", tomlValue(inputs))
	}
	if f.Beside {
		b.WriteString("beside = true\n")
	}
	table := ""
	for _, s := range f.baseSettings() {
		if p := parent(s.key); p != table {
			table = p
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		fmt.Fprintf(&b, "%s = %s\n", s.key[len(table)+1:], tomlValue(s.value))
	}
	if sweep, ok := f.doc.tree["sweep"].(map[string]any); ok && len(f.keys) > 0 {
		b.WriteString("\n[sweep]\n")
		first := slices.IndexFunc(f.sweep, func(a axis) bool { return len(a.keys) > 1 })
		if first < 0 {
			first = len(f.sweep)
		}
		for _, a := range f.sweep[:first] {
			fmt.Fprintf(&b, "%s = %s\n", tomlValue(a.keys[0]), tomlValue(column(a, 0)))
		}
		together := f.sweep[first:] // in their order, of which the last varies fastest
		header := "[[sweep.lockstep]]"
		if _, single := sweep["lockstep"].(map[string]any); single && len(together) == 1 {
			header = "[sweep.lockstep]"
		}
		for _, a := range together {
			fmt.Fprintf(&b, "\n%s\n", header)
			for i, key := range a.keys {
				fmt.Fprintf(&b, "%s = %s\n", tomlValue(key), tomlValue(column(a, i)))
			}
		}
		if r := f.refine; r != nil {
			fmt.Fprintf(&b, "\n[sweep.refine]\n%s = %s\n", tomlValue(r.key), tomlValue(r.value(r.spacing)))
		}
	}
	if f.fork != nil {
		b.WriteString(f.resolvedFork())
	}
	for _, name := range []string{"plot", "expect"} {
		i := 0
		for _, table := range f.doc.elements(name, f.doc.tree[name], "") {
			fmt.Fprintf(&b, "\n[[%s]]\n", name)
			for _, key := range results.SortedKeys(table) {
				value := table[key]
				if name == "plot" && key == "title" {
					value = f.Plots[i].RawTitle
				}
				fmt.Fprintf(&b, "%s = %s\n", tomlKey(key), tomlValue(value))
			}
			i++
		}
	}
	return b.String()
}

// column lists the values that one key of an axis takes.
func column(a axis, i int) []any {
	values := make([]any, len(a.values))
	for j, v := range a.values {
		values[j] = v[i]
	}
	return values
}

// baseSettings is what all points of the file share: the settings of the first
// point without the swept keys and, where a swept choice brings its own
// parameters, without those that the file does not give.
func (f *File) baseSettings() []setting {
	given := map[string]bool{}
	var all []setting
	for _, s := range f.doc.flatten("", without(f.doc.tree, append(slices.Clone(headerKeys), headerTables...)...), func(map[string]any) bool { return false }) {
		given[s.key] = true
		all = append(all, s)
	}
	all = slices.DeleteFunc(all, func(s setting) bool { return slices.Contains(f.keys, s.key) })
	shared := f.sharedSettings()
	for _, s := range f.Points[0].settings {
		if !given[s.key] && !slices.Contains(f.keys, s.key) && shared[s.key] && !f.shared.idle(s.key) {
			all = append(all, s)
		}
	}
	rank := f.settingRanks()
	slices.SortStableFunc(all, func(a, b setting) int {
		return cmp.Or(rank[parent(a.key)]-rank[parent(b.key)], strings.Compare(parent(a.key), parent(b.key)), rank[a.key]-rank[b.key])
	})
	return all
}

// settingRanks orders tables and keys as the kind declares them; a key that
// only some points know comes where the first of them has it.
func (f *File) settingRanks() map[string]int {
	rank := map[string]int{}
	for _, p := range f.Points {
		for i, s := range p.settings {
			for _, key := range []string{parent(s.key), s.key} {
				if _, known := rank[key]; !known {
					rank[key] = i
				}
			}
		}
	}
	return rank
}

// sharedSettings is the set of settings that have come to the same value in
// every point.
func (f *File) sharedSettings() map[string]bool {
	times := map[string]int{} // by key and value
	for _, p := range f.Points {
		for _, s := range p.settings {
			times[s.key+" = "+tomlValue(s.value)]++
		}
	}
	shared := map[string]bool{}
	for _, s := range f.Points[0].settings {
		shared[s.key] = times[s.key+" = "+tomlValue(s.value)] == len(f.Points)
	}
	return shared
}
