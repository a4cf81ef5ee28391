package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
