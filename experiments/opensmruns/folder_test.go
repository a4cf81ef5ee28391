package opensmruns

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
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
		simtest.Check(t, os.MkdirAll(filepath.Dir(path), 0o777))
		simtest.Check(t, os.WriteFile(path, []byte(text), 0o666))
	}
	return dir
}

func judged(t *testing.T, files map[string]string) judge.Row {
	t.Helper()
	f := simtest.Must(ReadFolder(write(t, files)))(t)
	return f.Judge(&f.Runs[0])
}

func TestJudge(t *testing.T) {
	files := map[string]string{
		"index.tsv":     tinyIndex + tinyRow("minhop", "-", sum(tinyLFT)),
		"nets/tiny.net": tinyNet, "runs/tiny/minhop.lft": tinyLFT,
	}
	row := judged(t, files)
	simtest.ErrorIf(t, row.Verdict != judge.Agrees || row.Note != "", "%+v, want equal", row)
	// One entry is another.
	other := strings.Replace(tinyLFT, "1 0 3", "1 0 1", 1)
	files["index.tsv"], files["runs/tiny/minhop.lft"] = tinyIndex+tinyRow("minhop", "-", sum(other)), other
	row = judged(t, files)
	simtest.Alike(t, "LID 3", row.Verdict, judge.Differs, row.Note, "1 of 3 entries; first: switch 0000000000200000, LID 3: port 3, OpenSM 1")
	// ftree refuses a single switch; OpenSM is said not to.
	files["index.tsv"] = tinyIndex + tinyRow("ftree", "-", sum(tinyLFT))
	delete(files, "runs/tiny/minhop.lft")
	row = judged(t, files)
	simtest.Alike(t, "refused", row.Verdict, judge.Differs, row.Note, "ftree refuses: Fabric has 1 switches - topology is not fat-tree.")
}

// Damaged folders are told with file and line.
func TestReadFolderProblems(t *testing.T) {
	good := tinyIndex + tinyRow("minhop", "-", sum(tinyLFT))
	for _, c := range []struct{ name, file, text, want string }{
		{"no index", "index.tsv", "", "index.tsv: an empty file; want a table with the columns fabric, "},
		{"cut index", "index.tsv", good[:len(good)-40], "index.tsv:2: 7 cells, want 15"},
		{"hash", "index.tsv", strings.Replace(good, sum(tinyLFT), "xyz", 1), "index.tsv:2: lft_sha256"},
		{"status", "index.tsv", strings.Replace(good, "\tok\t", "\tfine\t", 1), "index.tsv:2: status"},
		{"name", "index.tsv", strings.Replace(good, "tiny\t", "../tiny\t", 1), "index.tsv:2: fabric"},
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
		r, err := Open(write(t, files))
		if err == nil {
			err = r.Check()
		}
		simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), c.want), "%s: %v, want %q", c.name, err, c.want)
	}
	// A run that stands twice in the index is judged once.
	f, err := ReadFolder(write(t, map[string]string{"index.tsv": good + tinyRow("minhop", "-", sum(tinyLFT)), "nets/tiny.net": tinyNet}))
	if err != nil || len(f.Runs) != 2 || len(f.Runs[0].Faults) > 0 || !strings.Contains(f.Judge(&f.Runs[1]).Note, "index.tsv:3: tiny/minhop again") {
		t.Errorf("%v: %+v", err, f)
	}
	// Problems of the fabric and of options show when they are used.
	f, err = ReadFolder(write(t, map[string]string{"index.tsv": tinyIndex + tinyRow("updn", "root_guid_file nets/none", sum(tinyLFT)), "nets/tiny.net": tinyNet}))
	simtest.Check(t, err)
	row := f.Judge(&f.Runs[0])
	simtest.ErrorIf(t, row.Verdict != judge.Unreadable || !strings.Contains(row.Note, "index.tsv:2: options:1: root_guid_file"),
		"%+v, want the file that is missing", row)
}

// TestOthersAreJudged: a fabric without its network, a line that is cut and a table that is
// damaged leave the other runs.
func TestOthersAreJudged(t *testing.T) {
	index := tinyIndex + tinyRow("minhop", "-", sum(tinyLFT)) + strings.ReplaceAll(tinyRow("minhop", "-", sum(tinyLFT)), "tiny", "lost") +
		tinyRow("updn", "-", sum(tinyLFT)) + tinyRow("dnup", "-", sum(tinyLFT))[:20] + "\n" + tinyRow("dor", "-", sum(tinyLFT))
	f := simtest.Must(ReadFolder(write(t, map[string]string{"index.tsv": index, "nets/tiny.net": tinyNet, "runs/tiny/updn.lft": tinyLFT[:len(tinyLFT)-3]})))(t)
	for i, want := range []struct{ verdict, note string }{
		{judge.Agrees, ""}, {judge.Unreadable, "lost.net: is not there"}, {judge.Unreadable, "updn.lft:2: the file ends"},
		{judge.Unreadable, "index.tsv:5: 6 cells, want 15"}, {judge.Agrees, ""},
	} {
		row := f.Judge(&f.Runs[i])
		simtest.ErrorIf(t, row.Verdict != want.verdict || !strings.Contains(row.Note, want.note), "%+v, want %+v", row, want)
	}
}

// TestSomeLevels: service levels are judged on the sources and destinations that were kept.
// dfsssp has all paths of the tiny fabric on one layer: level 0, between LIDs 1 and 3.
func TestSomeLevels(t *testing.T) {
	const header = "# column i is the SL to the i-th CA LID of:"
	row := func(rows string) string {
		r := strings.TrimSuffix(tinyRow("dfsssp", "-", sum(tinyLFT)), "\t-\t-\t-\t-\t-\t0.0\tidentical\n")
		return tinyIndex + r + "\t0\t" + sum(rows) + "\t-\t-\t-\t0.0\tidentical\n"
	}
	for _, c := range []struct{ columns, rows, verdict, note string }{
		{" 1 3\n", "1 00\n3 00\n", judge.Agrees, ""},
		{" 1 3\n", "3 00\n", judge.Agrees, "service levels were kept of 1 of 2 sources to 2 of 2 destinations"},
		{" 3\n", "1 0\n3 0\n", judge.Agrees, "service levels were kept of 2 of 2 sources to 1 of 2 destinations"},
		{" 1 3\n", "", judge.Agrees, "service levels were kept of 0 of 2 sources to 2 of 2 destinations"},
		{" 1 3\n", "3 10\n", judge.Differs, "1 of 2 service levels; first: from LID 3 to LID 1: 0, OpenSM 1"},
		{" 1 3\n", "2 00\n", judge.Differs, "service levels: LID 2 is of no host"},
		{" 1 4\n", "3 00\n", judge.Differs, "service levels: LID 4 is of no host"},
		{"\n", "1 00\n", judge.Unreadable, "dfsssp.sl:2: 2 service levels, the header lists 0 LIDs"},
	} {
		f := &Folder{path: write(t, map[string]string{"index.tsv": row(c.rows), "nets/tiny.net": tinyNet, "runs/tiny/dfsssp.sl": header + c.columns + c.rows})}
		f.readIndex(os.DirFS(f.path))
		f.checkFiles(&f.Runs[0])
		got := f.Judge(&f.Runs[0])
		simtest.ErrorIf(t, got.Verdict != c.verdict || !strings.Contains(got.Note, c.note) || c.note == "" && got.Note != "",
			"%q%q: %s: %s, want %s: %s", c.columns, c.rows, got.Verdict, got.Note, c.verdict, c.note)
	}
	// No file, and the index has nothing of it.
	bare := tinyIndex + tinyRow("dfsssp", "-", sum(tinyLFT))
	got := judged(t, map[string]string{"index.tsv": bare, "nets/tiny.net": tinyNet})
	simtest.ErrorIf(t, got.Verdict != judge.Agrees || got.Note != "the service levels were not kept", "%+v", got)
}

func FuzzTables(f *testing.F) {
	f.Add(tinyLFT)
	f.Add("# CA LID of: 1 3\n1 00\n3 01\n")
	f.Fuzz(func(t *testing.T, text string) {
		in := input.NewLines(strings.NewReader(text), "x")
		if table := parseLFT(in); in.Finish() == nil {
			d := compare(table, table)
			simtest.FatalIf(t, d.cells > 0 || d.shape != "", "differs from itself: %+v", d)
		}
		parseSL(input.NewLines(strings.NewReader(text), "x"))
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(tinyIndex + tinyRow("minhop", "lmc 1 ; qos TRUE", "0123456789abcdef"))
	f.Fuzz(func(t *testing.T, text string) {
		folder := &Folder{}
		folder.readIndex(fstest.MapFS{"index.tsv": {Data: []byte(text)}})
		for _, r := range folder.Runs {
			simtest.FatalIf(t, len(r.Faults) == 0 && strings.ContainsAny(r.Fabric+r.Variant+r.SameAs, "/\\"),
				"%q/%q leads out of the folder", r.Fabric, r.Variant)
		}
	})
}

const reference = "testdata/reference"

// TestReference repeats every run of OpenSM: the tables must be equal to the last
// entry, refusals must have the same reason.
func TestReference(t *testing.T) {
	f := simtest.Must(ReadFolder(reference))(t)
	simtest.ErrorIf(t, len(f.Runs) != 237, "%d runs, want 237", len(f.Runs))
	for i := range f.Runs {
		r := &f.Runs[i]
		row := f.Judge(r)
		switch {
		case row.Verdict != judge.Agrees:
			t.Errorf("%s/%s: %s", r.Fabric, r.Variant, row.Note)
		case r.Refused && !strings.HasPrefix(row.Note, "refused, as by OpenSM: "):
			t.Errorf("%s/%s: equal to nothing", r.Fabric, r.Variant)
		}
	}
}

// TestDumps: the dumps are OpenSM's own files, byte for byte.
func TestDumps(t *testing.T) {
	f := simtest.Must(ReadFolder(reference))(t)
	i := slices.IndexFunc(f.Runs, func(r Run) bool { return r.Fabric == "ft2_8" && r.Variant == "dfsssp" })
	s, c, err := f.subnet(&f.Runs[i], nil)
	simtest.Check(t, err)
	engine := simtest.Must(opensm.EngineOf("dfsssp"))(t)
	tables := simtest.Must(engine.Route(s, &c.Options))(t)
	for name, write := range map[string]func(io.Writer) error{
		"lfts":  tables.WriteLFTDump,
		"sl2vl": func(w io.Writer) error { return tables.WriteSL2VL(w, &c.Options) },
	} {
		want := simtest.Must(input.ReadInput("testdata/raw/ft2_8.dfsssp.opensm-"+name+".dump.gz", input.MaxInput))(t)
		var b strings.Builder
		simtest.Check(t, write(&b))
		got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
		for i := range lines {
			if i >= len(got) || got[i] != lines[i] {
				t.Errorf("%s differs in line %d: want %q", name, i+1, lines[i])
				break
			}
		}
		simtest.ErrorIf(t, len(got) != len(lines), "%s has %d lines, want %d", name, len(got), len(lines))
	}
}
