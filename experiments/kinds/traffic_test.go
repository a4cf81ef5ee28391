package kinds

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestTrafficTables: what the further tables count agrees with the row.
func TestTrafficTables(t *testing.T) {
	f := load(t, `
kind = "traffic"
[topology]
type = "mesh"
dims = [3, 3]
[routing]
type = "dor"
[traffic]
load = 0.3
[measure]
warmup = 500
window = 2000
links = true
histogram = true
`, experiments.Options{})
	o := execute(t, f, experiments.Execution{})
	row := o.Results
	cell := func(name string) float64 {
		values, err := row.Numbers(name)
		if err != nil {
			t.Fatal(err)
		}
		return values[0]
	}
	// The histogram counts every measured packet.
	counts, err := o.Tables["histogram"].Numbers("packets")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	if sum != cell("packets_measured") {
		t.Errorf("histogram of %v packets, measured %v", sum, cell("packets_measured"))
	}
	// A 3x3 mesh has 12 cables, 24 channels between switches, and 9 terminals
	// with a channel each way. What the terminals' channels carry away in the
	// window is the accepted load; all channels together carry a flit once
	// for each switch that it crosses and once to get in.
	links := o.Tables["links"]
	vcs := len(links.Rows) / (24 + 2*9)
	if vcs*(24+2*9) != len(links.Rows) {
		t.Fatalf("%d rows", len(links.Rows))
	}
	delivered, total := 0.0, 0.0
	for _, r := range links.Rows {
		from, to := r[len(r)-6], r[len(r)-5]
		flits := number(r[len(r)-2])
		total += flits
		if strings.HasPrefix(from, "switch") && strings.HasPrefix(to, "terminal") {
			delivered += flits
		}
	}
	if got, want := delivered/2000/9, cell("accepted_load"); math.Abs(got-want) > 0.002 {
		t.Errorf("channels to terminals carry %v, accepted %v", got, want)
	}
	if got, want := total/2000/9, cell("accepted_load")*(cell("hops_mean")+1); math.Abs(got/want-1) > 0.02 {
		t.Errorf("all channels carry %v a terminal, want %v", got, want)
	}
}

// TestPipelineNote: a switch with BookSim2's stages whose pipeline is left at the default is
// noted; one that says which it is, and the default switch, are not.
func TestPipelineNote(t *testing.T) {
	const stages = "kind = \"traffic\"\n[switch]\nvc_alloc_cycles = 1\nspeedup = 2\n"
	for text, want := range map[string]int{
		stages:                                 1,
		stages + "pipeline = \"serial\"\n":     0,
		stages + "pipeline = \"overlapped\"\n": 0,
		"kind = \"traffic\"\n":                 0,
	} {
		f, err := experiments.Load("test.toml", text, experiments.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := 0
		for _, w := range f.Warnings {
			if w.Key == "switch.pipeline" {
				notes++
			}
		}
		if notes != want {
			t.Errorf("%d notes of the pipeline, want %d:\n%s", notes, want, text)
		}
	}
}

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
