package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReproduceOpenSM: one fabric of OpenSM's tables, the same with a table that is
// cut, and names that are not there.
func TestReproduceOpenSM(t *testing.T) {
	data, err := filepath.Abs(filepath.Join(root, "experiments", "opensmruns", "testdata", "reference"))
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, nil)
	status, stdout, stderr := weft(t, "reproduce", "opensm/single_8", "--data", data, "--out", "r")
	verdicts, err := os.ReadFile("r/opensm/verdicts.csv")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	for _, want := range []string{"fabric,run,engine,options,entries,verdict,note\n", "\nsingle_8,minhop,minhop,,9,agrees,\n",
		"\nsingle_8,ftree,ftree,,0,agrees,\"refused, as by OpenSM: Fabric has 1 switches - topology is not fat-tree.\"\n"} {
		if !strings.Contains("\n"+string(verdicts), want) {
			t.Errorf("no %q in\n%s", want, verdicts)
		}
	}
	if !strings.Contains(stdout, "refused, as by OpenSM") || status == exitUsage {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	// Without the network of a fabric, the others are judged.
	if err := os.CopyFS("part", os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove("part/nets/ft2_8.net.gz"); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr = weft(t, "reproduce", "opensm/single_8", "opensm/ft2_8/minhop", "--data", "part", "--out", "p")
	if status != exitUsage || strings.Count(stdout, "unreadable") != 1 || !strings.Contains(stderr, "ft2_8.net: is not there") || !strings.Contains(stderr, ", 1 unreadable; ") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if status, _, stderr := weft(t, "reproduce", "opensm/single_8", "--data", "part", "--out", "q"); status == exitUsage {
		t.Errorf("status %d for a fabric without problems: %s", status, stderr)
	}
	refused(t, "opensm/ft2_8 --data part --out w", "ft2_8.net: is not there")
}
