package opensmruns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/input"
)

// A fabric of one switch and two hosts: minhop sends LID 1 (the manager's) and 3 by
// the hosts' ports, LID 2 is the switch.
const (
	tinyNet   = "Switch 4 \"S\"\n[1] \"H0\"[1]\n[3] \"H1\"[1]\n\nHca 1 \"H0\"\n[1] \"S\"[1]\n\nHca 1 \"H1\"\n[1] \"S\"[3]\n"
	tinyLFT   = "# switch_guid lid: out port for LID 1..3 ('-' = no entry)\n0000000000200000 2: 1 0 3\n"
	tinyIndex = "fabric\tvariant\tengine\toptions\tstatus\tengine_used\tlft_sha256\tlft_entries\tSLs_used\tsl_sha256\tsl2vl\tsame_as\treason_if_refused\tengine_wall_s\tsecond_run\n"
)

func tinyRow(engine, options, lft string) string {
	return "tiny\t" + engine + "\t" + engine + "\t" + options + "\tok\t" + engine + "\t" + lft + "\t3\t-\t-\t-\t-\t-\t0.0\tidentical\n"
}

// write makes a folder of runs.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func judge(t *testing.T, files map[string]string) Row {
	t.Helper()
	f, err := ReadFolder(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	row, err := f.Judge(&f.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestJudge(t *testing.T) {
	files := map[string]string{
		"index.tsv":     tinyIndex + tinyRow("minhop", "-", sum(tinyLFT)),
		"nets/tiny.net": tinyNet, "runs/tiny/minhop.lft": tinyLFT,
	}
	if row := judge(t, files); row.Verdict != Equal || row.Note != "" {
		t.Errorf("%+v, want equal", row)
	}
	// One entry is another.
	other := strings.Replace(tinyLFT, "1 0 3", "1 0 1", 1)
	files["index.tsv"], files["runs/tiny/minhop.lft"] = tinyIndex+tinyRow("minhop", "-", sum(other)), other
	if row := judge(t, files); row.Verdict != Differs || row.Note != "1 of 3 entries; first: switch 0000000000200000, LID 3: port 3, OpenSM 1" {
		t.Errorf("%+v, want a difference at LID 3", row)
	}
	// ftree refuses a single switch; OpenSM is said not to.
	files["index.tsv"] = tinyIndex + tinyRow("ftree", "-", sum(tinyLFT))
	delete(files, "runs/tiny/minhop.lft")
	if row := judge(t, files); row.Verdict != Differs || row.Note != "ftree refuses: Fabric has 1 switches - topology is not fat-tree." {
		t.Errorf("%+v, want a refusal", row)
	}
}

// Damaged folders are told with file and line.
func TestReadFolderProblems(t *testing.T) {
	good := tinyIndex + tinyRow("minhop", "-", sum(tinyLFT))
	for _, c := range []struct{ name, file, text, want string }{
		{"no index", "index.tsv", "", "index.tsv:1: no column fabric"},
		{"cut index", "index.tsv", good[:len(good)-40], "index.tsv:2: 7 cells, want 15"},
		{"hash", "index.tsv", strings.Replace(good, sum(tinyLFT), "xyz", 1), "index.tsv:2: lft_sha256"},
		{"status", "index.tsv", strings.Replace(good, "\tok\t", "\tfine\t", 1), "index.tsv:2: status"},
		{"name", "index.tsv", strings.Replace(good, "tiny\t", "../tiny\t", 1), "index.tsv:2: fabric"},
		{"twice", "index.tsv", good + tinyRow("minhop", "-", sum(tinyLFT)), "index.tsv:3: tiny/minhop again"},
		{"cut table", "runs/tiny/minhop.lft", tinyLFT[:len(tinyLFT)-3], "minhop.lft:2: the file ends in the middle of a line"},
		{"port", "runs/tiny/minhop.lft", strings.Replace(tinyLFT, "1 0 3", "1 0 300", 1), "minhop.lft:2: LID 3: port"},
		{"other table", "runs/tiny/minhop.lft", strings.Replace(tinyLFT, "1 0 3", "1 0 4", 1), "index.tsv:2:"},
		{"levels", "runs/tiny/minhop.sl", "# CA LID of: 1 3\n1 00\n3 0g\n", "minhop.sl:3: service level"},
		{"no net", "nets/tiny.net", "absent", "tiny.net: is not there"},
	} {
		files := map[string]string{"index.tsv": good, "nets/tiny.net": tinyNet, "runs/tiny/minhop.lft": tinyLFT}
		if files[c.file] = c.text; c.text == "absent" {
			delete(files, c.file)
		}
		_, err := ReadFolder(write(t, files))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// Problems of the fabric and of options show when they are used.
	f, err := ReadFolder(write(t, map[string]string{"index.tsv": tinyIndex + tinyRow("updn", "root_guid_file nets/none", sum(tinyLFT)), "nets/tiny.net": tinyNet}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Judge(&f.Runs[0]); err == nil || !strings.Contains(err.Error(), "index.tsv:2: options:1: root_guid_file") {
		t.Errorf("%v, want the file that is missing", err)
	}
}

func FuzzTables(f *testing.F) {
	f.Add(tinyLFT)
	f.Add("# CA LID of: 1 3\n1 00\n3 01\n")
	f.Fuzz(func(t *testing.T, text string) {
		in := input.NewLines(strings.NewReader(text), "x")
		if table := parseLFT(in); in.Finish() == nil {
			if d := compare(table, table); d.cells > 0 || d.shape != "" {
				t.Fatalf("differs from itself: %+v", d)
			}
		}
		parseSL(input.NewLines(strings.NewReader(text), "x"))
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(tinyIndex + tinyRow("minhop", "lmc 1 ; qos TRUE", "0123456789abcdef"))
	f.Fuzz(func(t *testing.T, text string) {
		folder := &Folder{checked: map[string]bool{}}
		folder.readIndex("index.tsv", text)
		for _, r := range folder.Runs {
			if strings.ContainsAny(r.Fabric+r.Variant, "/\\") {
				t.Fatalf("%q/%q leads out of the folder", r.Fabric, r.Variant)
			}
		}
	})
}
