package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestReport: a result folder becomes a page; a folder without results is refused.
func TestReport(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	succeeds(t, "run", "small.toml", "--quiet")
	for args, said := range map[string]string{"report results": "results/report.html\n", "report results/small -o r.html": "r.html\n"} {
		_, stderr := succeeds(t, strings.Fields(args)...)
		simtest.ErrorIf(t, stderr != said, "%s: %s", args, stderr)
	}
	holds(t, "r.html", "<h1>small</h1>")
	refuses(t, "cannot be read", "report", "."+string(filepath.Separator)+"nothing")
}

// TestPlot: a table draws the same figure as the file that it comes from; its
// variants are series, its seeds are not.
func TestPlot(t *testing.T) {
	text := strings.Replace(small, "[0.1, 0.2]", "[0.1, 0.2]\n\"switch.vcs\" = [2, 4]\nseed = [1, 2, 3]", 1)
	inFolder(t, map[string]string{"small.toml": "title = \"small\"\n" + text})
	succeeds(t, "run", "small.toml", "--out", "o", "--quiet")
	for _, x := range []string{"offered_load", "traffic.load"} {
		succeeds(t, "plot", "o/results.csv", "--x", x, "--title", "small", "-o", "a.svg")
		simtest.ErrorIf(t, read(t, "a.svg") != read(t, "o/latency.svg"), "over %s: another figure than that of the run", x)
	}
	// The title of the legend and two names: one series a variant.
	for text, times := range map[string]int{">vcs<": 1, ">2<": 1, ">4<": 1, "seed": 0} {
		simtest.Equal(t, strings.Count(read(t, "a.svg"), text), times, "times %s:", text)
	}
	for args, want := range map[string]string{
		"":                     "a.svg\n",
		"--quiet":              "",
		"--where switch.vcs=3": "weft: o/results.csv: no row has switch.vcs = 3 (did you mean \"2\"?): there are 2, 4\n",
		"--where switch.vcs=2 --where traffic.load=1": "weft: o/results.csv: no row has traffic.load = 1: there are 0.1, 0.2\n",
		"--where switch.vsc=2":                        "weft: o/results.csv: no column \"switch.vsc\" (did you mean \"switch.vcs\"?)",
	} {
		_, _, stderr := weft(t, append([]string{"plot", "o/results.csv", "-o", "a.svg"}, strings.Fields(args)...)...)
		simtest.ErrorIf(t, !strings.HasPrefix(stderr, want) || want == "" && stderr != "", "plot %s: %q, want %q", args, stderr, want)
	}
	refuses(t, "points of one series at offered_load = 0.1 differ in switch.vcs", "plot", "o/results.csv", "--x", "offered_load", "--by", "seed", "-o", "a.svg")
	succeeds(t, "run", "small.toml", "--out", "o", "--force", "--quiet", "--set", "switch.buffer_flits=4")
	holds(t, "o/latency.svg", "small, switch.buffer_flits = 4") // the title follows --set
}

// TestPlotOptions: the options give the figure that the same keys give in a file, and
// a table in its result folder knows the bounds.
func TestPlotOptions(t *testing.T) {
	keys := "names = { \"2\" = \"two\" }\norder = [\"4\"]\nannotate = [\"bound\", \"knee\"]\nsize = \"one-column\"\nx_range = [0, 0.5]\nintervals = \"bars\"\npanels = \"switch.vcs\"\ncolour_by = \"switch.vcs\"\n"
	text := strings.NewReplacer("[0.1, 0.2]", "[0.1, 0.2]\n\"switch.vcs\" = [2, 4]", "[4, 4]", "[8]").Replace(small) + "title = \"small\"\n" + keys
	inFolder(t, map[string]string{"small.toml": text})
	succeeds(t, "run", "small.toml", "--out", "o", "--quiet")
	options := []string{"plot", "o", "--title", "small", "--name", "2=two", "--order", "4", "--annotate", "bound,knee", "--size", "one-column",
		"--x-range", "0,0.5", "--intervals", "bars", "--panels", "switch.vcs", "--colour-by", "switch.vcs"}
	for ending, of := range map[string]string{".svg": "o/latency.svg", ".csv": "o/latency.data.csv"} {
		succeeds(t, append(options, "-o", "a"+ending)...)
		simtest.ErrorIf(t, read(t, "a"+ending) != read(t, of), "another %s than that of the run", ending)
	}
	holds(t, "a.svg", ">two<") // a panel
}

// TestTrace: the commands of the page on messages: a schedule becomes binary and a trace of
// one file a rank, which both become the same schedule again and run as it does.
func TestTrace(t *testing.T) {
	here := simtest.Must(os.Getwd())(t)
	const schedule = "num_ranks 2\n\nrank 0 {\nl1: calc 1500\nl2: send 4096b to 1 tag 7\nl2 requires l1\n}\n\nrank 1 {\nl1: recv 4096b from 0 tag 7\n}\n"
	inFolder(t, map[string]string{
		"app.goal":   schedule,
		"foreign.x":  "\x03BOTF3",
		"ti.txt":     "0 init\n0 compute 3e3\n0 finalize\n",
		"any.goal":   "num_ranks 1\nrank 0 {\nrecv 1b from -1\n}\n",
		"x.toml":     "kind = \"mpi\"\n[workload]\ntype = \"trace\"\n[placement]\nper_node = 1\n[job]\nmachine = \"loggops\"\n[sweep]\n\"workload.file\" = [\"app.goal\", \"app.bin\", \"app.1.et\"]\n",
		"other.toml": "kind = \"mpi\"\n[workload]\ntype = \"trace\"\n[placement]\nper_node = 1\n[job]\nmachine = \"loggops\"\n",
		"bad.toml":   "kind = \"mpi\"\n[workload]\ntype = \"trace\"\nfile = \"cut.bin\"\n",
	})
	const report = "replayed              1  calc\nreplayed              1  recv\nreplayed              1  send\nranks                 2\nsends                 1  4096 B\nreceives              1  4096 B\ncomputations          1  1500 ns\n"
	for _, args := range [][]string{{"app.goal"}, {"app.goal", "-o", "app.bin"}, {"app.bin", "--to", "chakra", "-o", "app"}, {"app.bin", "-o", "again.goal"}} {
		status, stdout, stderr := weft(t, append([]string{"trace"}, args...)...)
		simtest.ErrorIf(t, status != exitSuccess || stdout != report, "%v: status %d: %s%s", args, status, stdout, stderr)
	}
	succeeds(t, "trace", "app.1.et", "-o", "back.goal")
	for _, file := range []string{"again.goal", "back.goal"} {
		simtest.Equal(t, read(t, file), schedule, "%s:", file)
	}
	says(t, exitSuccess, "  750 ns\n", "", "trace", "app.goal", "--compute-scale", "0.5")
	stdout, _ := succeeds(t, "run", "x.toml", "--out", "-")
	var times []string
	for line := range strings.Lines(stdout) {
		times = append(times, strings.Split(line, ",")[4])
	}
	simtest.ErrorIf(t, len(times) != 4 || times[1] != times[2] || times[1] != times[3], "elapsed %v", times)
	says(t, exitSuccess, "computations          2  1500 ns\n", "", "trace", "ti.txt", "--host-flops", "2e9")
	// Traces of other tools: those that the tests of their readers are about.
	for format, file := range map[string]string{"dumpi": "ring-0001.bin", "otf2": "t.otf2"} {
		simtest.Check(t, os.CopyFS(format, os.DirFS(filepath.Join(here, "..", "..", "mpi", format, "testdata"))))
		file = filepath.Join(format, file)
		archive := format + ".tar.gz"
		tarFolder(t, format, archive)
		want, _ := succeeds(t, "trace", file)
		for _, name := range []string{format, archive, filepath.Join(archive, filepath.Base(file))} {
			status, stdout, stderr := weft(t, "trace", name)
			simtest.ErrorIf(t, status != exitSuccess || stdout != want, "%s: status %d: %s%s", name, status, stdout, stderr)
		}
		simtest.ErrorIf(t, !strings.Contains(want, "\nranks                 4\n"), "%s: %s", file, want)
		succeeds(t, "run", "other.toml", "--set", "workload.file="+file, "--out", "-")
	}
	simtest.Check(t, os.WriteFile("cut.bin", []byte(read(t, "app.bin")[:60]), 0o666))
	refusesAll(t, [][2]string{
		{"trace cut.bin", "cut.bin: byte 60: "},
		{"check bad.toml", "cut.bin: byte 60: rank 0: the file ends here: is it truncated?"},
		{"trace foreign.x", "foreign.x:1: "},
		{"trace nothing", "nothing"},
		{"trace dumpi.tar.gz/nothing", "no such file in the archive"},
		{"trace otf2.tar.gz/t", "holds 8 traces, as 0.def and 0.evt: name one, as t/0.def"},
		{"trace app.goal -o app", "want --to goal|goal-binary|chakra"},
		{"trace app.goal --to goal", "want -o FILE"},
		{"trace app.goal -o app.bin", "-o app.bin: app.bin is there already: want a new file"},
		{"trace app.goal --to chakra -o app", "app.0.et is there already"},
		{"trace app.goal --compute-scale -1", "want at least 0"},
		{"trace ti.txt --host-flops 0", "want at least 1"},
	})
	says(t, exitUsage, "receives              1  1 B\n", "any.goal:3: recv 1 B from any tag 0: any rank or any tag", "trace", "any.goal", "-o", "any.et")
	simtest.ErrorIf(t, results.Exists("any.0.et"), "a trace that cannot be written was begun")
}

// TestTraceOfAProgram: what the programs of an experiment do becomes a schedule, of several jobs with
// the ranks behind each other; text and binary say the same, and it runs. What is no schedule,
// or not one, is refused.
func TestTraceOfAProgram(t *testing.T) {
	const jobs = "kind = \"jobs\"\n[job.a]\nranks = 16\n[job.b]\nprogram = \"osu-alltoall\"\nranks = 4\nstart = \"2us\"\nrepeat = 3\n"
	inFolder(t, map[string]string{
		"pair.toml":  "kind = \"mpi\"\n[job]\nranks = 2\n[workload]\ntype = \"ping-pong\"\nbytes = \"4KiB\"\niterations = 2\n",
		"jobs.toml":  jobs,
		"noise.toml": jobs + "[job.c]\nrepeat = 0\n",
		"sweep.toml": "kind = \"mpi\"\n[sweep]\n\"job.ranks\" = [2, 4]\n",
		"mesh.toml":  "kind = \"traffic\"\n",
		"app.goal":   "num_ranks 1\nrank 0 {\ncalc 1\n}\n",
		"play.toml":  "kind = \"mpi\"\n[job]\nmachine = \"loggops\"\n[workload]\ntype = \"goal\"\nfile = \"jobs.goal\"\n",
	})
	// Two times a message of 4 KiB there and one back; a barrier of two messages before.
	says(t, exitSuccess, "16384 B\n", "", "trace", "pair.toml", "-o", "pair.goal")
	for _, args := range []string{"jobs.toml -o jobs.goal", "jobs.toml -o jobs.bin", "jobs.bin -o again.goal", "jobs.toml -o jobs.et"} {
		says(t, exitSuccess, "ranks                20\n", "", strings.Fields("trace "+args)...)
	}
	text := read(t, "jobs.goal")
	simtest.ErrorIf(t, text != read(t, "again.goal") || !strings.Contains(text, "rank 16 {\nl1: calc 2000\n"),
		"text and binary differ, or job b does not begin at 2 us")
	succeeds(t, "run", "play.toml", "--out", "-")
	refusesAll(t, [][2]string{
		{"trace noise.toml", "job.c.repeat = 0: want a number of repetitions"},
		{"trace sweep.toml", "sweep.toml: has 2 points; want one"},
		{"trace mesh.toml", "mesh.toml: kind traffic has no program; want mpi or jobs"},
		{"trace pair.toml --drop", "--drop is for traces"},
		{"trace app.goal --set a=1", "app.goal is none"},
		{"trace pair.toml --set job.ranks=1", "job.ranks"},
	})
}

// tarFolder packs a folder.
func tarFolder(t *testing.T, folder, archive string) {
	f := simtest.Must(os.Create(archive))(t)
	packed := gzip.NewWriter(f)
	w := tar.NewWriter(packed)
	simtest.Check(t, errors.Join(w.AddFS(os.DirFS(folder)), w.Close(), packed.Close(), f.Close()))
}

// TestCompare: exit status 0 without a significant difference, 1 with, 2 where
// there is nothing to compare.
func TestCompare(t *testing.T) {
	const head = "point,mode,load,seed,replications,latency_mean_ns,latency_ci95_ns\n"
	inFolder(t, map[string]string{
		"a.csv": head + "0,x,0.1,1,1,10,0.1\n1,x,0.2,1,1,20,0.1\n",
		"b.csv": head + "0,x,0.1,1,1,10,0.1\n1,x,0.2,1,1,22,0.1\n",
		"c.csv": head + "0,x,0.1,1,1,10,0.1\n1,y,0.1,1,1,12,0.1\n2,z,0.1,1,1,10,0.1\n",
		"s.csv": strings.ReplaceAll(head, "\n", ",state\n") + "0,x,0.1,1,1,10,0.1,steady\n1,x,0.1,2,1,11,0.1,steady\n2,y,0.1,1,1,,,saturated\n3,y,0.1,2,1,,,saturated\n",
	})
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"a.csv a.csv", exitSuccess, "0 of 2 differences are significant"},
		{"a.csv b.csv", exitFailure, "1 of 2 differences are significant (t test on the intervals of single rows"},
		{"a.csv b.csv --format csv", exitFailure, "baseline,variant,mode,load,a,b,difference,difference_ci95,relative,method,t,degrees_of_freedom,p,p_holm,judgement\na.csv,b.csv,x,0.1,10,10,0,"},
		{"a.csv b.csv --where load=0.10", exitSuccess, "0 of 1 differences"},
		{"a.csv b.csv --where load=0.2 --where mode=x", exitFailure, "1 of 1 differences"},
		{"c.csv --between mode", exitFailure, "latency_mean_ns of y (b) against x (a)"},
		{"c.csv --between mode", exitFailure, "latency_mean_ns of z (b) against x (a)"},
		{"c.csv --between mode --baseline y", exitFailure, "latency_mean_ns of z (b) against y (a)"},
		{"c.csv --baseline mode=z --where load=0.1", exitFailure, "latency_mean_ns of x (b) against z (a)"},
		{"c.csv --between mode --baseline mode=z --where load=0.1", exitFailure, "latency_mean_ns of x (b) against z (a)"},
		{"s.csv --between mode", exitSuccess, "b saturated\n\n0 of 0 differences are significant (two-sided"},
		{"s.csv --between mode --baseline y", exitSuccess, "a saturated\n"},
		{"a.csv c.csv", exitSuccess, "1 only in a\n2 only in b\n"},
		{"a.csv b.csv --by load,mode", exitFailure, "load  mode  a"},
		{"c.csv --best --between mode --metric latency_mean_ns", exitSuccess, "Of 3 variants, x and z tie for the lowest latency_mean_ns, 10 ns at x; y has 2.00 ± 0.14 ns (20.0 %) more than that.\n\nmetric           place  mode  value  value_ci95  difference"},
		{"c.csv --best --between mode --metric latency_mean_ns --format csv", exitSuccess, "\nlatency_mean_ns,,3,y,12,0.1,2,"},
	} {
		says(t, c.status, c.want, "", append([]string{"compare"}, strings.Fields(c.args)...)...)
	}
	refusesAll(t, [][2]string{
		{"compare a.csv", "weft: one table: name a second"},
		{"compare a.csv b.csv --between mode", "weft: --between and --baseline compare variants within one table"},
		{"compare a.csv b.csv --baseline mode=x", "weft: --between and --baseline compare variants within one table"},
		{"compare a.csv b.csv --baseline x", "weft: --baseline x: is for one table"},
		{"compare a.csv --between mode", "a.csv: mode has one value"},
		{"compare a.csv --between mdoe", `(did you mean "mode"?)`},
		{"compare c.csv --between mode --baseline w", "c.csv: --baseline: no row has mode = w"},
		{"compare a.csv b.csv --where load=3", "a.csv: --where: no row has load = 3: there are 0.1, 0.2"},
		{"compare a.csv b.csv --where laod=3", `a.csv: --where: no column "laod" (did you mean "load"?)`},
		{"compare a.csv b.csv --where load", "weft: --where load: want KEY=VALUE"},
		{"compare a.csv d.csv", "d.csv: no such file"},
		{"compare a.csv .", "results.csv: no such file"},
		{"compare a.csv b.csv --metric x", `no column "x"`},
		{"compare a.csv b.csv --format xml", "want text or csv"},
		{"compare a.csv b.csv --best", "weft: --best ranks all variants of one table"},
		{"compare c.csv --best --metric mode", "weft: --best --metric mode: is no time"},
		{"compare c.csv --best --metric x", `c.csv: no column "x"`},
		{"compare c.csv --best --between moed", `c.csv: no column "moed"`},
		{"compare c.csv --best", "c.csv: there is nothing to rank: no column says"},
	})
}

// TestCompareFolders: result folders stand for their tables; what is compared is what their kind is ranked
// by, and what a formula gives differs by no chance.
func TestCompareFolders(t *testing.T) {
	inFolder(t, map[string]string{"modes.toml": "kind = \"connections\"\n[sweep]\n\"connections.mode\" = [\"rc\", \"xrc-s\"]\n"})
	succeeds(t, "run", "modes.toml", "--out", "o", "--quiet")
	says(t, exitSuccess, "memory_per_node_bytes of o (b) against o (a)", "", "compare", "o", "o")
	says(t, exitFailure, "1 of 1 differ: formulas leave nothing to chance", "", "compare", "o", "--between", "connections.mode")
}

// TestCompareBest: the head of a report is what weft compare --best says.
func TestCompareBest(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	succeeds(t, "run", "small.toml", "--set", `sweep.switch.vcs=[2,4]`, "--set", "sweep.traffic.load=[0.1,0.9]", "--out", "o", "--quiet")
	stdout, _ := succeeds(t, "compare", "o/results.csv", "--best")
	succeeds(t, "report", "o", "--quiet")
	page := read(t, "o/report.html")
	answer, _, _ := strings.Cut(stdout, "\n\n")
	sentences := strings.Split(answer, "\n")
	simtest.FatalIf(t, len(sentences) < 1 || !strings.Contains(answer, "throughput") && !strings.Contains(answer, "keep up to a load of"), "%v", stdout)
	for _, sentence := range sentences {
		simtest.ErrorIf(t, !strings.Contains(page, `<p class="answer">`+sentence+"</p>"), "the report does not say %q", sentence)
	}
}
