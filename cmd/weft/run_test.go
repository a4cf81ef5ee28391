package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestMerge: two shares of a sweep make the results of one run; one share does not,
// with status 2 and nothing written; neither does a share that is none.
func TestMerge(t *testing.T) {
	inFolder(t, nil)
	weft := func(status int, words, args string) {
		t.Helper()
		says(t, status, "", words, strings.Fields(args+" --quick --quiet --set measure.window=200 --set measure.warmup=100")...)
	}
	weft(exitSuccess, "", "run examples/torus --out whole")
	weft(exitSuccess, "", "run examples/torus --shard 1/2 --out one")
	weft(exitUsage, "points are in no share", "merge examples/torus one --out merged")
	simtest.ErrorIf(t, strings.Contains(left(t), "merged"), "a folder was made of one share of two")
	weft(exitSuccess, "", "run examples/torus --shard 2/2 --out two")
	weft(exitSuccess, "", "merge examples/torus one two --out merged")
	for _, name := range []string{"results.csv", "resolved.toml"} {
		simtest.ErrorIf(t, read(t, "merged", name) != read(t, "whole", name), "%s of the merged shares differs", name)
	}
	before := left(t)
	for _, args := range []string{"3/2 --out other", "two --out other", "0/2 --out other", "1/2 --out -", "1/2 --executor slurm --out other"} {
		weft(exitUsage, "", "run examples/torus --shard "+args)
	}
	simtest.Equal(t, left(t), before, "left")
}

// TestFigureWithoutPoint: one iteration has no steady one, so that the only figure of the example has
// no point: a warning, and status 0. A file whose figure no results could mend is refused, by check
// and by run, and nothing is computed.
func TestFigureWithoutPoint(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": "[sweep]\n\"switch.vcs\" = [4, 8]\n\"traffic.load\" = [0.1, 0.2]\n[[plot]]\nx = \"switch.vcs\"\ny = \"latency_mean_ns\"\nby = \"seed\"\n"})
	says(t, exitSuccess, "", "examples/alltoall.toml: warning: plot time: no point to draw: no row has a number in both columns",
		"run", "examples/alltoall", "--quick", "--set", "workload.iterations=1", "--out", "out")
	files := left(t)
	simtest.ErrorIf(t, !strings.Contains(files, "results.csv") || strings.Contains(files, "time."), "left %s", files)
	before := left(t)
	for _, command := range []string{"check", "run"} {
		says(t, exitUsage, "", "x.toml:4:1: plot[0] cannot be drawn: points of one series at switch.vcs = 4 differ in traffic.load", command, "x.toml")
	}
	simtest.Equal(t, left(t), before, "left")
}

// TestSnapshotOptions: what does not go with --snapshot-every is refused, with status 2 and
// nothing written.
func TestSnapshotOptions(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": "[topology]\ntype = \"dragonfly\"\n", "cost.toml": "kind = \"cost\"\n"})
	before := left(t)
	for args, want := range map[string]string{
		"cost.toml --snapshot-every 1s":      "weft: --snapshot-every: points of kind \"cost\" (cost.toml) begin again after a kill: it is computed in a moment",
		"x.toml --snapshot-every -1s":        "weft: --snapshot-every -1s: want a time",
		"x.toml --snapshot-every 1s --out -": "weft: --snapshot-every needs a result folder",
	} {
		untouched(t, before, want, strings.Fields("run "+args)...)
	}
}

// contents reads every file below the present folder.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name := range strings.FieldsSeq(left(t)) {
		all[name] = read(t, name)
	}
	return all
}

// TestFinishedFolder: a folder with results is not written to unless --force
// or --resume is given; --force leaves nothing of the earlier run, figures and
// tables included, and nothing else is touched.
func TestFinishedFolder(t *testing.T) {
	other := strings.NewReplacer("latency_mean_ns", "accepted_load", `file = "latency"`, `file = "throughput"`, "window = 400", "window = 500").Replace(small)
	inFolder(t, map[string]string{"small.toml": strings.Replace(small, "window = 400", "window = 400\nlinks = true", 1), "other.toml": other, "p/results.csv": "mine"})
	refuses(t, "result folder p: holds a results.csv of no run here", "run", "small.toml", "--out", "p")
	simtest.Check(t, os.RemoveAll("p"))
	succeeds(t, "run", "small.toml", "--out", "o", "--quiet")
	simtest.Check(t, os.WriteFile("o/notes.txt", []byte("mine"), 0o644))
	before := contents(t)
	for _, args := range []string{
		"run small.toml --out o",
		"run other.toml --out o --quick",
		"run small.toml --out o --executor slurm",
		"multicast small.toml --out o",
	} {
		refuses(t, "result folder o: holds the results of a finished run: replace them with --force, ", strings.Fields(args)...)
	}
	for name, text := range contents(t) {
		simtest.ErrorIf(t, before[name] != text, "%s has changed", name)
	}
	succeeds(t, "run", "small.toml", "--out", "o", "--resume", "--quiet")
	for _, name := range []string{"o/results.csv", "o/latency.svg"} {
		simtest.ErrorIf(t, read(t, name) != before[name], "resumed: another %s", name)
	}
	_, stderr := succeeds(t, "run", "other.toml", "--out", "o", "--force", "--quiet")
	simtest.Equal(t, stderr, "", "forced:")
	want := "o/journal o/manifest.json o/notes.txt o/performance.csv o/resolved.toml o/results.csv o/throughput.data.csv o/throughput.png o/throughput.svg other.toml small.toml"
	simtest.Equal(t, left(t), want, "forced: left")
	simtest.ErrorIf(t, contents(t)["o/results.csv"] == before["o/results.csv"], "forced: the results are still those of the earlier run")
	refusesAll(t, [][2]string{
		{"run small.toml --out o --force --resume", "--resume keeps what --force replaces"},
		{"run small.toml --out - --force", "--force needs a result folder"},
	})
}

// TestOccupiedFolders: one folder of several that holds results stops the
// command before any is computed; many are not all named.
func TestOccupiedFolders(t *testing.T) {
	inFolder(t, map[string]string{"a.toml": small, "b.toml": small})
	succeeds(t, "run", "b.toml", "--out", "o/b", "--quiet")
	refuses(t, filepath.Join("o", "b"), "run", "a.toml", "b.toml", "--out", "o", "--quiet")
	files := left(t)
	simtest.ErrorIf(t, strings.Contains(files, filepath.Join("o", "a")), "left %s", files)
	for _, name := range []string{"theorem1", "theorem2", "faults", "overhead", "permutations"} {
		simtest.Check(t, os.MkdirAll(filepath.Join("r/dswitch", name), 0o755))
		simtest.Check(t, os.WriteFile(filepath.Join("r/dswitch", name, "manifest.json"), nil, 0o644))
	}
	status, _, stderr := weft(t, "reproduce", "dswitch", "--quick", "--out", "r")
	simtest.ErrorIf(t, status != exitUsage || strings.Count(stderr, "--force") != 3 || !strings.Contains(stderr, "\nand 2 more\n"),
		"reproduce: status %d: %s", status, stderr)
}

// TestForceInterrupted: --force begins again where a run was interrupted.
func TestForceInterrupted(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	simtest.Check(t, os.MkdirAll("o/slurm", 0o755))
	for name, text := range map[string]string{"o/journal": "torn", "o/slurm/job.json": "{}"} {
		simtest.Check(t, os.WriteFile(name, []byte(text), 0o644))
	}
	refuses(t, "begin again with --force", "run", "small.toml", "--out", "o")
	succeeds(t, "run", "small.toml", "--out", "o", "--force", "--quiet")
	simtest.ErrorIf(t, strings.Contains(left(t), "slurm"), "left %s", left(t))
}

// TestManifestSaysHow: the manifest holds the command line, what --set and --seed
// have changed, and whether the quick variant ran.
func TestManifestSaysHow(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small + "[quick]\nmeasure.window = 300\n", "none.toml": small})
	manifest := func(args ...string) engine.Manifest {
		t.Helper()
		succeeds(t, append([]string{"run", "--quiet", "--force", "--out", "o"}, args...)...)
		var m engine.Manifest
		simtest.Check(t, json.Unmarshal([]byte(read(t, "o/manifest.json")), &m))
		return m
	}
	m := manifest("small.toml", "--quick", "--set", "switch.vcs=4", "--set", "traffic.load=0.2", "--seed", "7")
	want := []string{"weft", "run", "small.toml", "--force=true", "--out=o", "--quick=true", "--quiet=true", "--seed=7", "--set=switch.vcs=4", "--set=traffic.load=0.2"}
	simtest.Alike(t, "command, set, quick", m.Command, want, m.Set, []string{"switch.vcs=4", "traffic.load=0.2", "seed=7"}, m.Quick, true)
	// Uniform traffic on a torus of 4x4: the bisection of 16 cables would carry more,
	// the terminals' own channels are full at a flit a cycle.
	b := manifest("none.toml").Bounds
	simtest.ErrorIf(t, len(b) != 1 || math.Abs(b[0]-1) > 1e-9, "bounds %v", b)
	m = manifest("none.toml", "--quick")
	simtest.ErrorIf(t, m.Quick || m.Set != nil, "a file without [quick]: quick %v, set %q", m.Quick, m.Set)
}

// faulty has names of faults that need quotes.
const faulty = `
topology = { type = "torus", dims = [4, 4] }
routing = { type = "table" }
switch = { vcs = 6 }
recovery = { unreachable = "count" }
measure = { warmup = 100, window = 200 }
[fault]
"rack 1" = { fraction = 0.05 }
"a.b" = { fraction = 0.1 }
'say "x" = 1' = { fraction = 0.0 }
[sweep]
'fault."a.b".fraction' = [0.0, 0.1]
"fault.rack 1.at" = [0, 150]
`

// TestResultFolderStandsAlone: report works on a result folder, and its resolved file gives the
// same results again, also from elsewhere and again from its own resolved file; where names need
// quotes, and where the inputs have relative paths, swept ones among them, compressed or not.
func TestResultFolderStandsAlone(t *testing.T) {
	inFolder(t, map[string]string{"quoted.toml": faulty, "x.toml": small})
	simtest.Check(t, os.MkdirAll("in/put", 0o777))
	for _, args := range []string{"topology x.toml -o in/put/net.json", "topology x.toml --format ibnetdiscover -o in/put/net.txt"} {
		succeeds(t, strings.Fields(args)...)
	}
	plain := []byte(read(t, "in/put/net.json"))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	simtest.Must(z.Write(plain))(t)
	simtest.Check(t, z.Close())
	simtest.Check(t, os.WriteFile("in/put/packed", packed.Bytes(), 0o666))
	standard := simtest.Must(zstd.NewWriter(nil))(t)
	simtest.Check(t, os.WriteFile("in/put/net.gz", standard.EncodeAll(plain, nil), 0o666))
	relative := strings.NewReplacer("type = \"torus\"\ndims = [4, 4]", "type = \"file\"\npath = \"put/net.json\"", `"dor"`, `"table"`, "[sweep]", "[switch]\nvcs = 6\n[sweep]\n\"topology.path\" = [\"put/net.json\", \"put/packed\", \"put/net.gz\"]").Replace(small)
	simtest.Check(t, os.WriteFile("in/relative.toml", []byte(relative), 0o666))
	for _, file := range []string{"quoted.toml", "in/relative.toml"} {
		first, name := "", strings.TrimSuffix(filepath.Base(file), ".toml")
		for _, dir := range []string{"r", "deep/er/r", "again"} {
			dir = filepath.Join(name, dir)
			succeeds(t, "run", file, "--quiet", "--out", dir)
			succeeds(t, "report", dir)
			results := read(t, dir, "results.csv")
			first = cmp.Or(first, results)
			simtest.Equal(t, results, first, "%s gives", file)
			file = filepath.Join(dir, "resolved.toml")
		}
	}
	// Four points of names in quotes, under columns that name them.
	header, _, _ := strings.Cut(read(t, "quoted/r/results.csv"), "\n")
	simtest.ErrorIf(t, !strings.HasPrefix(header, `point,"fault.""a.b"".fraction","fault.""rack 1"".at",`), "columns %s", header)
}

// TestManifestComesLast: a folder with a manifest has its figures.
func TestManifestComesLast(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	succeeds(t, "run", "x.toml", "--quiet", "--out", "r")
	manifest := simtest.Must(os.Stat("r/manifest.json"))(t)
	figures, err := filepath.Glob("r/latency.*")
	simtest.FatalIf(t, err != nil || len(figures) != 3, "%v %v", figures, err)
	for _, name := range figures {
		figure, err := os.Stat(name)
		simtest.ErrorIf(t, err != nil || figure.ModTime().After(manifest.ModTime()), "%s was written after the manifest", name)
	}
}
