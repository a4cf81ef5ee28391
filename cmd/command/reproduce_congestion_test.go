package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReproduceCongestion: rows that agree, that differ, that weft has no counterpart of, and
// that cannot be read, each beside the others.
func TestReproduceCongestion(t *testing.T) {
	data, err := filepath.Abs(filepath.Join(root, "experiments", "congestion", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, nil)
	status, _, stderr := weft(t, "reproduce", "congestion", "--data", data, "--out", "r")
	verdicts, err := os.ReadFile("r/congestion/verdicts.csv")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	for _, want := range []string{
		"\none,basic,tail,176.2,176.2,", "\none_rccc,basic,mean,80,", "\npause,basic,tail,176.216,176.216,", "\nwrong,basic,tail,100,176.2,176.2,176.2,5,76.20,0.1,differs,",
		"\nsleek,basic,tail,176.2,,,,,,0.1,not-run,weft has no counterpart of the option -sleek\n", ",not-run,missing.cm is not in inputs\n", "\nbroken,basic,tail,",
	} {
		if !strings.Contains(string(verdicts), want) {
			t.Errorf("no %q in\n%s", want, verdicts)
		}
	}
	if status != exitUsage || !strings.Contains(stderr, `rows.csv:8: link_gbps = "x": want a number`) || !strings.Contains(stderr, "3 of 7 rows agree") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if status, _, stderr := weft(t, "reproduce", "congestion/one", "--data", data, "--out", "one", "--quick"); status != exitSuccess {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if status, _, stderr := weft(t, "reproduce", "congestion"); status != exitUsage || !strings.Contains(stderr, "needs --data DIR, a folder of rows that htsim measured") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}
