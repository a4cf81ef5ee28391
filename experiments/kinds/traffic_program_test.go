package kinds

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestPrograms: a closed loop has no offered load and its round trips in program.csv,
// the sum of the latencies of packet and acknowledgement.
func TestPrograms(t *testing.T) {
	const head = "kind = \"traffic\"\n[topology]\ntype = \"mesh\"\ndims = [3, 3]\n[routing]\ntype = \"dor\"\n"
	f := load(t, head+"[program]\ntype = \"closed-loop\"\nack_flits = 2\n[measure]\nwarmup = 500\nwindow = 2000\nreplications = 2\n", experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	column, err := o.Results.Column("offered_load")
	if err != nil {
		t.Fatal(err)
	}
	if offered := o.Results.Rows[0][column]; offered != "" {
		t.Errorf("offered load %q, want none", offered)
	}
	means, err := o.Tables["program"].Numbers("mean_ns")
	if err != nil || len(means) != 3 {
		t.Fatalf("%v, %v", means, err)
	}
	// Packets at both edges of the window are not the same: some of hundreds.
	if sum := means[0] + means[1]; means[2] < 0.99*sum || means[2] > 1.01*sum {
		t.Errorf("a round trip of %v ns, of a packet of %v and an acknowledgement of %v", means[2], means[0], means[1])
	}
}

// TestProgramMisuse: what does not go with a program is refused, by key.
func TestProgramMisuse(t *testing.T) {
	const head = "kind = \"traffic\"\n[topology]\ntype = \"mesh\"\ndims = [3, 3]\n[routing]\ntype = \"table\"\n"
	for text, want := range map[string]string{
		"[program]\ntype = \"closed-loop\"\n[measure]\nfind = \"saturation\"\n":                 "measure.find",
		"[program]\ntype = \"request-reply\"\n[fault.one]\nlinks = [\"switch 0 - switch 1\"]\n": "program.type",
		"[program]\ntype = \"closed-loop\"\nreply_flits = 1\n":                                  "reply_flits",
		"[program]\ntype = \"closed-loop\"\nwindow = 0\n":                                       "program.window",
		"[program]\ntype = \"closed-lop\"\n":                                                    "closed-loop",
	} {
		if _, err := experiments.Load("x.toml", head+text, experiments.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one about %s", text, err, want)
		}
	}
}
