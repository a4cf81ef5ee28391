package experiments

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/simtest"
)

// keep asks for an entry in a process of its own; computed tells whether it was computed.
func keep(t *testing.T, c *Cache, key string, value []float64) (computed bool) {
	t.Helper()
	got, err := Cached(&Shared{cache: c}, key, func() ([]float64, error) {
		computed = true
		return value, nil
	})
	simtest.FatalIf(t, err != nil || !reflect.DeepEqual(got, value), "%s: %v, %v, want %v", key, got, err, value)
	return computed
}

func entries(t *testing.T, c *Cache) []string {
	t.Helper()
	return simtest.Must(filepath.Glob(filepath.Join(c.Dir, "*")))(t)
}

// TestCached: what was computed once is read afterwards, by its whole key; errors and what
// was quick are not kept.
func TestCached(t *testing.T) {
	c := &Cache{Dir: filepath.Join(t.TempDir(), "below", "cache"), Limit: 1 << 20}
	a, b := []float64{1, 2.5}, []float64{3}
	simtest.ErrorIf(t, !keep(t, c, "a", a) || keep(t, c, "a", a) || !keep(t, c, "b", b) || keep(t, c, "b", b) || keep(t, c, "a", a),
		"an entry was computed twice, or not at all")
	for range 2 {
		_, err := Cached(&Shared{cache: c}, "bad", func() (int, error) { return 0, os.ErrInvalid })
		simtest.ErrorIf(t, err == nil, "an error was forgotten")
	}
	c.Least = time.Hour
	for range 2 {
		simtest.ErrorIf(t, !keep(t, c, "quick", a), "what took less than an hour was kept")
	}
	simtest.Equal(t, len(entries(t, c)), 2, "entries, want those of a and b:")
	simtest.ErrorIf(t, !keep(t, nil, "a", a), "read without a cache")
}

// TestCachedDamaged: whatever bit of an entry is wrong, or where it ends too early, or
// where it is that of another key, it is not used, a warning says so, and it is replaced.
func TestCachedDamaged(t *testing.T) {
	var warnings []string
	c := &Cache{Dir: t.TempDir(), Limit: 1 << 20, Warn: func(m string) { warnings = append(warnings, m) }}
	value := []float64{1, 2, 3}
	keep(t, c, "other", value)
	other := simtest.Must(os.ReadFile(entries(t, c)[0]))(t)
	_ = os.Remove(entries(t, c)[0])
	keep(t, c, "key", value)
	path := entries(t, c)[0]
	whole := simtest.Must(os.ReadFile(path))(t)
	damaged := [][]byte{nil, whole[:10], whole[:len(whole)/2], whole[:len(whole)-1], append([]byte("x"), whole...), append(whole[:len(whole):len(whole)], 0), other}
	for i := range whole {
		bad := []byte(string(whole))
		bad[i] ^= 1
		damaged = append(damaged, bad)
	}
	for i, text := range damaged {
		simtest.Check(t, os.WriteFile(path, text, 0o666))
		simtest.ErrorIf(t, !keep(t, c, "key", value) || keep(t, c, "key", value), "damage %d: used, or not replaced", i)
		simtest.FatalIf(t, len(warnings) != i+1 || !strings.Contains(warnings[i], path), "damage %d: warnings %q", i, warnings)
	}
}

// TestCachedLimit: beyond the limit the entries that were not used for longest go; what is
// larger than the limit is not kept.
func TestCachedLimit(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Limit: 1 << 20}
	value := make([]float64, 100)
	for i := range value {
		value[i] = 1 / float64(i+3)
	}
	keep(t, c, "0", value)
	info := simtest.Must(os.Stat(entries(t, c)[0]))(t)
	c.Limit = 3*info.Size() + info.Size()/2 // three entries
	long := time.Now().Add(-time.Hour)
	age := func(key string, hours int) {
		used := long.Add(time.Duration(-hours) * time.Hour)
		simtest.Check(t, os.Chtimes(c.path(key), used, used))
	}
	keep(t, c, "1", value)
	keep(t, c, "2", value)
	age("0", 3)
	age("1", 2)
	age("2", 1)
	simtest.ErrorIf(t, keep(t, c, "0", value), "entry 0 is gone") // it is the latest now
	keep(t, c, "3", value)
	simtest.Equal(t, len(entries(t, c)), 3, "entries:")
	for key, gone := range map[string]bool{"0": false, "2": false, "3": false} {
		simtest.ErrorIf(t, keep(t, c, key, value) != gone, "entry %s: gone %v", key, !gone)
	}
	simtest.ErrorIf(t, !keep(t, c, "1", value), "the entry that was not used for longest is still there")
	c.Limit = 10
	keep(t, c, "large", value)
	simtest.ErrorIf(t, !keep(t, c, "large", value), "an entry larger than the limit was kept")
}

// TestCachedNowhere: a folder that cannot be made is said once, and everything is computed.
func TestCachedNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	simtest.Check(t, os.WriteFile(file, nil, 0o666))
	var warnings []string
	c := &Cache{Dir: filepath.Join(file, "cache"), Limit: 1 << 20, Warn: func(m string) { warnings = append(warnings, m) }}
	for i := range 3 {
		simtest.ErrorIf(t, !keep(t, c, fmt.Sprint(i), []float64{1}), "read from nowhere")
	}
	simtest.ErrorIf(t, len(warnings) != 1, "warnings %q, want one", warnings)
}

// TestMemoryRefused: what no machine can hold is a problem of the file, found by an
// estimate before it is allocated. Each line alone took the machine's memory, or
// ended the process, before there was one.
func TestMemoryRefused(t *testing.T) {
	before := debug.SetMemoryLimit(16 << 30) // of a machine, whatever this one has
	defer debug.SetMemoryLimit(before)
	base := map[string]string{
		"mpi":        "kind = \"mpi\"\n",
		"loggops":    "kind = \"mpi\"\njob.machine = \"loggops\"\n",
		"bandwidth":  "kind = \"mpi\"\nworkload.type = \"osu-bandwidth\"\n",
		"contention": "kind = \"mpi\"\njob.ranks = 6\nworkload.type = \"contention\"\n",
		"fabric":     "kind = \"mpi\"\njob = { ranks = 4, machine = \"fabric\" }\nplacement.per_node = 1\n",
		"latency":    "kind = \"multicast-latency\"\ntopology = { type = \"fat-tree\", k = 4 }\n",
	}
	for _, c := range []struct{ kind, set, key string }{
		// 2^31-1 ranks of 300 bytes are 600 GiB; more have no numbers.
		{"mpi", "job.ranks=2147483647", "job.ranks"}, {"mpi", "job.ranks=9223372036854775807", "job.ranks"},
		{"loggops", "job.ranks=2147483647", "job.ranks"}, {"bandwidth", "job.ranks=2147483646", "job.ranks"},
		// Two rounds an iteration: 2^31 rounds, more than are numbered.
		{"mpi", "workload.iterations=1073741824", "workload.iterations"}, {"mpi", "workload.iterations=9223372036854775807", "workload.iterations"},
		// 8 pairs, 200 bytes a message: 1.6 TB and more.
		{"bandwidth", "workload.window=1000000000", "workload.window"}, {"bandwidth", "workload.window=9223372036854775807", "workload.window"},
		// 3 streams of 4 messages an iteration.
		{"contention", "workload.iterations=1000000000", "workload.iterations"}, {"contention", "workload.iterations=9223372036854775807", "workload.iterations"},
		// 4 adapters of 8 bytes a context.
		{"mpi", "hca.context_entries=100000000000", "hca.context_entries"}, {"mpi", "hca.context_entries=9223372036854775807", "hca.context_entries"},
		// Messages of 2^40 packets; of 2^29, in bursts of as many, at 2^10 ranks.
		{"fabric", "workload.bytes=\"1024GiB\" hca.mtu=\"1B\"", "hca.mtu"},
		{"fabric", "workload.bytes=\"1GiB\" hca.mtu=\"2B\" hca.quantum=\"1GiB\" job.ranks=1024", "hca.mtu"},
		// 2^30 packets a message in each of 4 groups, 48 bytes each: 192 GiB.
		{"latency", "messages.bytes=\"1GiB\" host.mtu=\"1B\"", "host.mtu"},
	} {
		_, err := Load("x.toml", base[c.kind], Options{Set: strings.Fields(c.set)})
		var problems document.Problems
		simtest.ErrorIf(t, !errors.As(err, &problems) || problems[0].Key != c.key, "%s, %s: %v", c.kind, c.set, err)
	}
	for _, c := range []struct{ kind, set string }{
		{"mpi", "placement.per_node=9223372036854775807"}, {"mpi", "job.ranks=100000"}, {"bandwidth", "workload.window=100000"}, {"latency", "host.mtu=\"1B\""},
	} {
		_, err := Load("x.toml", base[c.kind], Options{Set: strings.Fields(c.set)})
		simtest.ErrorIf(t, err != nil, "%s, %s: %v", c.kind, c.set, err)
	}
}

// TestContentOf: a file that Go's linker has not named is known by its bytes, and an executable
// by what the linker called it, so that what stands behind that does not count.
func TestContentOf(t *testing.T) {
	text := []byte("no executable")
	path := filepath.Join(t.TempDir(), "file")
	simtest.Check(t, os.WriteFile(path, text, 0o666))
	want := sha256.Sum256(text)
	simtest.ErrorIf(t, !bytes.Equal(simtest.Must(contentOf(path))(t), want[:]), "a text is not known by its bytes")
	test := simtest.Must(os.Executable())(t)
	known := simtest.Must(contentOf(test))(t)
	program := append(simtest.Must(os.ReadFile(test))(t), text...)
	if hash := sha256.Sum256(program[:len(program)-len(text)]); bytes.Equal(known, hash[:]) {
		t.Skip("no executable in which Go's linker notes a name")
	}
	simtest.Check(t, os.WriteFile(path, program, 0o666))
	simtest.ErrorIf(t, !bytes.Equal(simtest.Must(contentOf(path))(t), known), "the same program has another name")
}

// TestGarbageShare: 16 MiB of garbage stand in any case, half of what lives, 128 MiB at most: 16 of
// 1 MiB are 1,600 %, as many of 16 100 %; half of 256 MiB are 128, and 128 of 1 GiB are 12.5 %. While
// many points are checked 192 stand: 120 % of 160 MiB.
func TestGarbageShare(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 1: 1600, 16: 100, 32: 50, 256: 50, 1024: 12, 1 << 20: 1} {
		got := garbageShare(live<<20, leastGarbage)
		simtest.ErrorIf(t, got != want, "%d MiB live: %d %%, want %d", live, got, want)
	}
	got := garbageShare(160<<20, checkGarbage)
	simtest.ErrorIf(t, got != 120, "160 MiB live, many points: %d %%, want 120", got)
}
