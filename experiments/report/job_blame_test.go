package report

import (
	"strings"
	"testing"
)

const twoHalos = `
kind = "jobs"
[topology]
type = "single-switch"
terminals = 8
[routing]
type = "table"
[job.a]
program = "osu-alltoall"
ranks = 4
iterations = 1
[job.b]
program = "many-to-one"
ranks = 4
bytes = "64KiB"
iterations = 1
placement = "listed"
nodes = [0, 1, 2, 3]
`

// TestJobBlame: a report of jobs has the matrix of who slows whom with the cables most to blame, or the
// slowdowns where the file does not ask for blame.
func TestJobBlame(t *testing.T) {
	for more, want := range map[string][]string{
		"[measure]\nblame = true\n": {"Who slows whom: job over slowed_by", "The cables most to blame"},
		"":                          {"Slowdown of jobs: slowdown over job"},
		"[measure]\nblame = true\n[sweep]\n\"job.a.bytes\" = [\"1KiB\", \"64KiB\"]\n": {"The point in which a job is slowed most: job.a.bytes"},
	} {
		dir := t.TempDir()
		resultFolder(t, dir, twoHalos+more)
		html, err := Make([]string{dir}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range append(want, "Who slows whom") {
			if !strings.Contains(string(html), words) {
				t.Errorf("%q: the page has not %q", more, words)
			}
		}
	}
}
