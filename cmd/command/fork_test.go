package command

import (
	"os"
	"strings"
	"testing"
)

// TestForkOptions: a sweep that forks, its warm networks in a file, and what is refused,
// with status 2 and nothing written.
func TestForkOptions(t *testing.T) {
	const forks = `
[topology]
type = "dragonfly"
[measure]
warmup = 300
window = 300
[sweep]
"traffic.load" = [0.1, 0.5]
fork = { warmup = { "traffic.load" = 0.3 }, settle = "100ns" }
`
	inFolder(t, map[string]string{"x.toml": forks, "cost.toml": "kind = \"cost\"\n", "bad": "weft snapshot\n\x02"})
	results := map[string]string{}
	for _, args := range [][]string{{"forked"}, {"alone", "--no-fork"}, {"kept", "--snapshot", "warm"}, {"from", "--from", "warm", "--threads", "2"}} {
		status, _, stderr := weft(t, append([]string{"run", "x.toml", "--quiet", "--out"}, args...)...)
		if status != 0 {
			t.Fatalf("%v: status %d\n%s", args, status, stderr)
		}
		text, err := os.ReadFile(args[0] + "/results.csv")
		if err != nil {
			t.Fatal(err)
		}
		if results[args[0]] = string(text); results[args[0]] != results["forked"] {
			t.Errorf("%v:\n%s\nwant\n%s", args, text, results["forked"])
		}
	}
	before := left(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"x.toml", "--from", "bad"}, "bad: ends in its first"},
		{[]string{"x.toml", "--from", "x.toml"}, "x.toml: is no snapshot of weft"},
		{[]string{"x.toml", "--from", "none"}, "none: cannot be read"},
		{[]string{"x.toml", "--from", "warm", "--set", "topology.p=1"}, "warm: is of other settings: topology.p = "},
		{[]string{"cost.toml", "--snapshot", "new"}, "weft: --snapshot and --from need a kind that can write the state of a network: kind \"cost\" cannot"},
		{[]string{"x.toml", "x.toml", "--snapshot", "new", "--out", "two"}, "weft: x.toml and x.toml would both be written"},
		{[]string{"x.toml", "--snapshot", "new", "--from", "warm"}, "weft: --snapshot would write what --from reads"},
		{[]string{"x.toml", "--snapshot", "new", "--resume"}, "weft: --snapshot needs all points to be computed"},
		{[]string{"x.toml", "--from", "warm", "--executor", "slurm"}, "weft: --snapshot and --from are for runs on this machine"},
		{[]string{"cost.toml", "--snapshot-every", "1s"}, "weft: --snapshot-every: points of kind \"cost\" (cost.toml) begin again after a kill: it is computed in a moment"},
		{[]string{"x.toml", "--snapshot-every", "-1s"}, "weft: --snapshot-every -1s: want a time"},
		{[]string{"x.toml", "--snapshot-every", "1s", "--out", "-"}, "weft: --snapshot-every needs a result folder"},
	} {
		status, _, stderr := weft(t, append([]string{"run"}, c.args...)...)
		if status != exitUsage || !strings.HasPrefix(stderr, c.want) {
			t.Errorf("weft run %q: status %d\n%s\nwant\n%s", c.args, status, stderr, c.want)
		}
		if got := left(t); got != before {
			t.Errorf("weft run %q left %s", c.args, got)
		}
	}
}
