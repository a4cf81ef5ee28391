package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestTimelines: the report of a run with timelines has a picture with a row for each rank and the
// parts of the critical path, whose shares are of its length.
func TestTimelines(t *testing.T) {
	dir := t.TempDir()
	resultFolder(t, dir, `
kind = "mpi"
[job]
ranks = 6
machine = "fabric"
[placement]
per_node = 1
[workload]
type = "osu-alltoall"
algorithm = "alltoall-linear"
bytes = "16KiB"
iterations = 1
[topology]
terminals = 6
[measure]
timeline = true
`)
	f, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, note := timelines(f)
	if len(list) != 1 || note == "" {
		t.Fatalf("%d timelines", len(list))
	}
	share, time := 0.0, 0.0
	for _, s := range list[0].Steps {
		percent, err := strconv.ParseFloat(strings.Trim(s.Share, "< %"), 64)
		us, err2 := strconv.ParseFloat(s.Time, 64)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		share, time = share+percent, time+us
	}
	elapsed, err := f.Results.Numbers("elapsed_s")
	if err != nil || share < 99 || share > 101 || time < 0.99e6*elapsed[0] || time > 1.01e6*elapsed[0] {
		t.Errorf("parts of %v %% and %v us, want 100 %% and %v (%v)", share, time, 1e6*elapsed[0], err)
	}
	html, err := Make([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	parse(t, html)
	for _, want := range []string{"Timeline of ranks", `aria-label="timeline of ranks"`, ">rank 5<", "On the critical path", "<td>serialisation</td>", "<title>message "} {
		if !strings.Contains(string(html), want) {
			t.Errorf("no %s", want)
		}
	}
	// A table that somebody has changed is left out.
	f.Tables["timeline"].Rows[0][len(f.Tables["timeline"].Rows[0])-4] = "x"
	if list, _ := timelines(f); list != nil {
		t.Error("a row without a time is drawn")
	}
}

// TestTimelineOfManyRanks: of more ranks than a picture has rows, those of the path are shown.
func TestTimelineOfManyRanks(t *testing.T) {
	var rows []rankRow
	for i := range 100 {
		rows = append(rows, rankRow{rank: strconv.Itoa(i), what: "compute", end: 1})
	}
	last := newTimeline(rows, []rankRow{
		{rank: "98", what: "compute", end: 1},
		{rank: "99", what: "serialisation", peer: "98", message: "98:0", start: 1, end: 2},
		{rank: "99", what: "cable", peer: "98", message: "98:0", cable: "a to b", start: 2, end: 4},
		{rank: "99", what: "receive", peer: "98", message: "98:0", start: 4, end: 5},
	})
	if !strings.Contains(last.Caption, "32 of 100 ranks") || !strings.Contains(string(last.Picture), ">rank 99<") || !strings.Contains(string(last.Picture), ">rank 29<") || strings.Contains(string(last.Picture), ">rank 30<") {
		t.Errorf("%s: not the 30 first ranks and the two of the path", last.Caption)
	}
	if !strings.Contains(string(last.Picture), "<title>message 98:0 to rank 99: 3 us</title>") {
		t.Error("the message is no line of its own")
	}
	if s := last.Steps; len(s) != 4 || s[0].Cable != "a to b" || s[0].Share != "40.0 %" || s[0].Time != "2.000" {
		t.Errorf("parts %+v", s)
	}
}
