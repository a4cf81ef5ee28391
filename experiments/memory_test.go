package experiments

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"
)

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
		var problems Problems
		if !errors.As(err, &problems) || problems[0].Key != c.key {
			t.Errorf("%s, %s: %v", c.kind, c.set, err)
		}
	}
	for _, c := range []struct{ kind, set string }{
		{"mpi", "placement.per_node=9223372036854775807"}, {"mpi", "job.ranks=100000"}, {"bandwidth", "workload.window=100000"}, {"latency", "host.mtu=\"1B\""},
	} {
		if _, err := Load("x.toml", base[c.kind], Options{Set: strings.Fields(c.set)}); err != nil {
			t.Errorf("%s, %s: %v", c.kind, c.set, err)
		}
	}
}
