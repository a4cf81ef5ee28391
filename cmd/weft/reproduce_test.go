package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/simtest"
)

const peerHeader = "offered_flits_per_node_cycle,status,avg_packet_latency_cycles,accepted_flits_per_node_cycle\n"

// peerConfig is the configuration of a curve that comes with weft.
func peerConfig(t *testing.T, name string) string {
	t.Helper()
	return string(simtest.Must(fs.ReadFile(booksim.Own(), name+".cfg"))(t))
}

// TestReproduceBookSim: a folder with a curve that BookSim2 measured, of which one point is made 10
// % slower, and one of a network that weft has not got. Of the first curve the measured values are
// those of experiments/booksim/curves/mesh_8x8_dor_uniform_1flit_vc2_buf16_speedup1.csv.
func TestReproduceBookSim(t *testing.T) {
	config := peerConfig(t, "mesh_8x8_dor_uniform_1flit_vc2_buf16_speedup1")
	inFolder(t, map[string]string{
		"good/mesh.cfg": config, "good/mesh.csv": peerHeader + "0.05,stable,27.0512,0.0498229\n",
		"good/flat.cfg": "topology = qtree;", "good/flat.csv": peerHeader + "0.1,stable,20,0.1\n",
		"good/vcs.cfg": strings.Replace(config, "num_vcs = 2", "num_vcs = 17", 1), "good/vcs.csv": peerHeader + "0.1,stable,20,0.1\n",
		"good/notes.csv": "case,seconds\na,1\n",
		"bad/mesh.cfg":   config, "bad/mesh.csv": peerHeader + "0.05,stable,29.8,0.0498229\n",
		"wrong/mesh.cfg": config + "num_vc = 3;\n", "wrong/mesh.csv": peerHeader + "0.05,stable,many,0.05\n",
	})
	status, stdout, stderr := weft(t, "reproduce", "booksim", "--data", "good", "--quick", "--out", "r")
	verdicts, err := os.ReadFile("r/booksim/verdicts.csv")
	simtest.FatalIf(t, err != nil || status != exitSuccess, "status %d: %v\n%s", status, err, stderr)
	rows := strings.Split(strings.TrimSpace(string(verdicts)), "\n")
	for i, want := range []string{"curve,source,offered_load,metric,booksim2_mean,", "flat,flat.csv,,,", "mesh,mesh.csv,0.05,latency,27.051,27.051,27.051,1,", "mesh,mesh.csv,0.05,accepted,0.049823,", "vcs,vcs.csv,,,"} {
		simtest.FatalIf(t, i >= len(rows) || !strings.HasPrefix(rows[i], want), "verdicts:\n%s", verdicts)
	}
	for i, want := range map[int]string{1: "not-run,\"topology = qtree: not mapped", 2: ",agrees,", 3: ",agrees,", 4: "not-run,weft refuses it: switch.vcs"} {
		simtest.Says(t, rows[i], want)
	}
	simtest.Says(t, stdout, "not-run")
	simtest.Says(t, stderr, "good/notes.csv: warning: no table of curves", "2 agree, 0 differ, 0 not judged, 2 not run")
	simtest.Must(os.Stat(filepath.Join("r", "booksim", "mesh", "results.csv")))(t)
	status, stdout, stderr = weft(t, "reproduce", "booksim/mesh", "--data", "bad", "--quick", "--out", "s")
	simtest.ErrorIf(t, status != exitFailure || strings.Count(stdout, "differs") != 1, "status %d\n%s%s", status, stdout, stderr)
	status, _, stderr = weft(t, "reproduce", "booksim", "--data", "wrong", "--out", "w")
	simtest.Equal(t, status, exitUsage, "status")
	simtest.Says(t, stderr, `num_vc is not a setting of BookSim2 (did you mean "num_vcs"?)`, `wrong/mesh.csv:2: avg_packet_latency_cycles = "many"`)
}

// TestReproduceRefuses: names and folders of all references; nothing is left of what was refused.
func TestReproduceRefuses(t *testing.T) {
	data := opensmData(t)
	inFolder(t, nil)
	for _, c := range []struct{ args, want string }{
		{"booksim/nothing", `no curve "nothing" in the curves of weft: there are dragonfly_k2_min_bad_dragon_buf256_speedup2, `},
		{"atlas/nothing", `no curve "nothing" in the atlas of weft: there are targets, `},
		{"opensm/none --data " + data, `no run "none" in ` + data + ": there are single_8, ft2_8, "},
		{"nothing", `no experiment "nothing": there are alltoall/`},
		{"booksim --data nowhere", "nowhere: cannot be read: no such file"},
		{"atlas --data nowhere", "nowhere: holds neither targets.csv nor"},
		{"opensm --data nowhere", "index.tsv: cannot be read"},
		{"opensm", "opensm needs --data DIR, a folder of tables that OpenSM computed"},
		{"dragonfly --data nowhere", "--data nowhere: is a folder for weft reproduce atlas, booksim, congestion, hardware, intervals, jobs, opensm"},
		{"booksim dragonfly", "booksim has verdicts of its own: name it alone"},
		{"dragonfly opensm", "opensm has verdicts of its own: name it alone"},
		{"atlas booksim", "atlas has verdicts of its own: name it alone"},
	} {
		refuses(t, c.want, strings.Fields("reproduce "+c.args+" --out w")...)
		simtest.Equal(t, left(t), "", "weft reproduce %s: left", c.args)
	}
}

// TestReproduceBookSimNetworks: the networks of BookSim2 that no curve of weft's own has run. Its
// UGAL on its dragonfly uses virtual channels that weft's certificate refuses; a dragonfly under
// minimal routing has no cycle and goes on. Latencies of saturated runs are not judged.
func TestReproduceBookSimNetworks(t *testing.T) {
	const short = "internal_speedup = 2.0; routing_delay = 0; credit_delay = 2; sample_period = 200; warmup_periods = 1; max_samples = 3; vc_buf_size = 64; num_vcs = 3;"
	inFolder(t, map[string]string{
		"d/tree.cfg": "topology = fattree; k = 2; n = 3; routing_function = nca;" + short, "d/tree.csv": peerHeader + "0.9,saturated,,0.9\n",
		"d/ugal.cfg": "topology = dragonflynew; k = 2; n = 1; routing_function = ugal;" + short, "d/ugal.csv": peerHeader + "0.2,saturated,,0.2\n0.6,deadlock,,\n",
		"d/min.cfg": "topology = dragonflynew; k = 2; n = 1; routing_function = min;" + short, "d/min.csv": peerHeader + "0.6,deadlock,nan,0\n",
	})
	says(t, exitFailure, "weft refuses the network: ", "3 agree, 1 differ, 2 not judged, 0 not run;", "reproduce", "booksim", "--data", "d", "--quick", "--out", "r")
}

// TestReproduceCongestion: rows that agree, that differ, that weft has no counterpart of, and
// that cannot be read, each beside the others.
func TestReproduceCongestion(t *testing.T) {
	data := simtest.Must(filepath.Abs(filepath.Join(root, "experiments", "congestion", "testdata")))(t)
	inFolder(t, nil)
	status, _, stderr := weft(t, "reproduce", "congestion", "--data", data, "--out", "r")
	holds(t, "r/congestion/verdicts.csv",
		"\none,basic,tail,176.2,176.2,", "\none_rccc,basic,mean,80,", "\npause,basic,tail,176.216,176.216,", "\nwrong,basic,tail,100,176.2,176.2,176.2,5,76.20,0.1,differs,",
		"\nsleek,basic,tail,176.2,,,,,,0.1,not-run,weft has no counterpart of the option -sleek\n", ",not-run,missing.cm is not in inputs\n", "\nbroken,basic,tail,")
	simtest.Equal(t, status, exitUsage, "status")
	simtest.Says(t, stderr, `rows.csv:8: link_gbps = "x": want a number`, "3 of 7 rows agree")
	succeeds(t, "reproduce", "congestion/one", "--data", data, "--out", "one", "--quick")
	refuses(t, "needs --data DIR, a folder of rows that htsim measured", "reproduce", "congestion")
}

// TestReproduceOpenSM: one fabric of OpenSM's tables. TestOthersAreJudged of package opensmruns
// damages some.
func TestReproduceOpenSM(t *testing.T) {
	data := opensmData(t)
	inFolder(t, nil)
	status, stdout, stderr := weft(t, "reproduce", "opensm/single_8", "--data", data, "--out", "r")
	holds(t, "r/opensm/verdicts.csv", "fabric,run,engine,options,entries,verdict,note\n", "\nsingle_8,minhop,minhop,,9,agrees,\n",
		"\nsingle_8,ftree,ftree,,0,agrees,\"refused, as by OpenSM: Fabric has 1 switches - topology is not fat-tree.\"\n")
	simtest.ErrorIf(t, !strings.Contains(stdout, "refused, as by OpenSM") || status == exitUsage, "status %d\n%s%s", status, stdout, stderr)
}

// judgedRow is a row of docs/verdicts.csv, the verdicts.csv of a full run of weft reproduce.
type judgedRow struct {
	target                        verdict.Target
	measured, half                float64 // NaN: empty
	verdict, note, rests, variant string
}

// readVerdicts reads docs/verdicts.csv and checks that it is whole: every target
// once, as it stands in the data, and judged as it would be today.
func readVerdicts(t *testing.T) []judgedRow {
	table := simtest.Must(results.ReadTableFile(filepath.Join(root, "docs", "verdicts.csv")))(t)
	simtest.EqualSlices(t, table.Columns, verdict.Table(nil).Columns, "columns")
	measured := simtest.Must(table.Numbers("measured"))(t)
	half := simtest.Must(table.Numbers("ci95"))(t)
	byID := map[string]judgedRow{}
	for i, cells := range table.Rows {
		byID[cells[0]] = judgedRow{measured: measured[i], half: half[i], verdict: cells[len(cells)-2], note: cells[len(cells)-1], rests: cells[len(cells)-4], variant: cells[len(cells)-3]}
	}
	var rows []judgedRow
	for _, target := range verdict.Targets() {
		row, ok := byID[target.ID]
		if !ok {
			t.Errorf("docs/verdicts.csv lacks %s: make verdicts", target.ID)
			continue
		}
		row.target = target
		today := target.Judge(row.measured)
		simtest.ErrorIf(t, row.verdict != today && (row.verdict == verdict.Met || row.verdict == verdict.Missed),
			"%s: %v is called %s, which is %s", target.ID, row.measured, row.verdict, today)
		simtest.ErrorIf(t, !slices.Contains(verdict.Names(), row.verdict), "%s: no verdict is called %q", target.ID, row.verdict)
		rows = append(rows, row)
	}
	simtest.ErrorIf(t, len(table.Rows) != len(rows), "docs/verdicts.csv has %d rows for %d targets", len(table.Rows), len(rows))
	return rows
}

// TestMutations: docs/mutations.csv has a mutation for each simulated row that is met, no other, and with
// the number that it gives, if it gives one, the row is missed. It says how that is known, and names
// tests that there are.
func TestMutations(t *testing.T) {
	table := simtest.Must(results.ReadTableFile(filepath.Join(root, "docs", "mutations.csv")))(t)
	simtest.EqualSlices(t, table.Columns, []string{"row", "mutation", "measured", "basis"}, "columns")
	var want, got []string
	for _, r := range readVerdicts(t) {
		if r.verdict == verdict.Met && r.rests == verdict.Simulated {
			want = append(want, r.target.ID)
		}
	}
	tests := ""
	for _, path := range simtest.Must(filepath.Glob(filepath.Join(root, "collectives", "dswitch", "*_test.go")))(t) {
		tests += read(t, path)
	}
	for _, cells := range table.Rows {
		row, measured, basis := cells[0], cells[2], cells[3]
		got = append(got, row)
		target, err := verdict.TargetByID(row)
		x, number := strconv.ParseFloat(measured, 64)
		simtest.ErrorIf(t, err == nil && number == nil && target.Judge(x) != verdict.Missed, "%s: with %q it is %v, and %s", row, cells[1], x, target.Judge(x))
		switch how, what, _ := strings.Cut(basis, ": "); {
		case (how == "quick" || how == "full") && what == "":
		case how == "test" && strings.Contains(tests, "func "+what+"("):
		default:
			t.Errorf("%s is known by %q: want quick, full, or test: one of collectives/dswitch", row, basis)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	simtest.EqualSlices(t, got, want, "docs/mutations.csv has mutations for")
}

// TestPapersPage: the counts and tables of docs/papers.md are those of
// docs/verdicts.csv. With -update they are written anew.
func TestPapersPage(t *testing.T) {
	rows := readVerdicts(t)
	path := filepath.Join(root, "docs", "papers.md")
	text := read(t, path)
	block := regexp.MustCompile(`(?s)<!-- verdicts: (\S+) -->\n.*?<!-- end of verdicts -->`)
	page := block.ReplaceAllStringFunc(text, func(found string) string {
		name := block.FindStringSubmatch(found)[1]
		simtest.ErrorIf(t, name != "counts" && !slices.ContainsFunc(rows, func(r judgedRow) bool { return r.target.Paper == name }),
			"docs/papers.md asks for the verdicts of %q, a paper without targets", name)
		body := countsTable(rows)
		if name != "counts" {
			body = paperTable(rows, name)
		}
		if body == "" {
			body = "\nNo row is missed or refuted.\n\n"
		}
		return "<!-- verdicts: " + name + " -->\n" + body + "<!-- end of verdicts -->"
	})
	simtest.ErrorIf(t, !strings.Contains(page, "<!-- verdicts: counts -->"), "docs/papers.md has no counts")
	golden(t, path, []byte(page))
}

// countsTable counts verdicts by paper.
func countsTable(rows []judgedRow) string {
	var b strings.Builder
	names := verdict.Names()
	fmt.Fprintf(&b, "| paper | rows | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	var papers []string
	for _, r := range rows {
		if !slices.Contains(papers, r.target.Paper) {
			papers = append(papers, r.target.Paper)
		}
	}
	slices.Sort(papers)
	for _, paper := range append(papers, "") {
		counts, all := map[string]int{}, 0
		for _, r := range rows {
			if paper == "" || r.target.Paper == paper {
				counts[r.verdict]++
				all++
			}
		}
		cells := []string{paper, strconv.Itoa(all)}
		if paper == "" {
			cells[0] = "all"
		}
		for _, name := range names {
			cells = append(cells, strconv.Itoa(counts[name]))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("\nWhat the rows met rest on: ")
	for i, name := range verdict.RestsOnNames() {
		n := 0
		for _, r := range rows {
			if r.verdict == verdict.Met && r.rests == name {
				n++
			}
		}
		fmt.Fprintf(&b, "%s%d %s", map[bool]string{true: ", "}[i > 0], n, name)
	}
	b.WriteString(".\n")
	undecided, idle := 0, 0
	for _, r := range rows {
		if strings.Contains(r.note, verdict.IntervalHasBound) {
			undecided++
		}
		if r.verdict == verdict.Met && strings.Contains(r.note, "also met ") {
			idle++
		}
	}
	fmt.Fprintf(&b, "\nOf the rows met or missed, %d have their bound within the 95 %% interval; %d of those met are\nalso met by a model without what they are about.\n", undecided, idle)
	return b.String()
}

// paperTable is the table of a paper's rows that are missed or refuted.
func paperTable(rows []judgedRow, paper string) string {
	var table strings.Builder
	above := ""
	for _, r := range rows {
		if x := r.target; x.Paper == paper && (r.verdict == verdict.Missed || r.verdict == verdict.Refuted) {
			remark := withoutLists(r.note)
			if remark != "" && remark == above {
				remark = "likewise"
			} else {
				above = remark
			}
			fmt.Fprintf(&table, "| %s | %s: %s | %s | %s | %s | %s | %s |\n", x.Artifact, cell(x.Case), strings.ReplaceAll(x.Metric, "_", " "), published(x), measuredCell(r), r.verdict, rests(r), cell(remark))
		}
	}
	if table.Len() == 0 {
		return ""
	}
	return "| where | case | published | measured | verdict | rests on | remark |\n|---|---|---|---|---|---|---|\n" + table.String()
}

// withoutLists is a remark without the values that a row sums up, which verdicts.csv has.
func withoutLists(note string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(note, "; "), func(part string) bool {
		return strings.HasPrefix(part, "every of ") || strings.HasPrefix(part, "mean of ")
	}), "; ")
}

// rests is what a row rests on.
func rests(r judgedRow) string {
	if r.variant == "quick" {
		return r.rests + ", quick"
	}
	return r.rests
}

// published is the target as a reader would put it.
func published(x verdict.Target) string {
	value := strconv.FormatFloat(x.Value, 'g', 5, 64)
	if x.Unit != "ratio" && x.Unit != "fraction" {
		value += " " + x.Unit
	}
	switch x.ToleranceKind {
	case "at_least":
		return "at least " + value
	case "at_most":
		return "at most " + value
	}
	return value
}

// measuredCell is the measured value with its interval.
func measuredCell(r judgedRow) string {
	if math.IsNaN(r.measured) {
		return "none"
	}
	value := strconv.FormatFloat(r.measured, 'g', 5, 64)
	if r.half > 0 {
		value += " ± " + strconv.FormatFloat(r.half, 'g', 2, 64)
	}
	return value
}

// cell escapes what would end a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// TestTrials: docs/papers-tried.csv names experiments that there are.
func TestTrials(t *testing.T) {
	table := simtest.Must(results.ReadTableFile(filepath.Join(root, "docs", "papers-tried.csv")))(t)
	simtest.EqualSlices(t, table.Columns, []string{"paper", "experiment", "case", "quantity", "value", "ci95"}, "columns")
	names := map[string]bool{}
	for _, row := range table.Rows {
		names["papers/"+row[0]+"/"+row[1]] = true
	}
	for name := range names {
		_, err := experiments.Open(name, experiments.Options{})
		simtest.ErrorIf(t, err != nil, "%s: %v", name, err)
	}
}
