package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/sim/simtest"
)

const (
	exitSuccess = command.ExitSuccess
	exitFailure = command.ExitFailure
	exitUsage   = command.ExitUsage
)

// weft runs the command in an empty folder and returns what it left.
func weft(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = command.Run(t.Context(), args, &out, &err)
	return status, out.String(), err.String()
}

// succeeds runs the command, which has to succeed.
func succeeds(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	status, stdout, stderr := weft(t, args...)
	simtest.FatalIf(t, status != exitSuccess, "weft %s: status %d: %s%s", strings.Join(args, " "), status, stdout, stderr)
	return stdout, stderr
}

// refuses runs the command, which has to refuse what it is given, and to say only why.
func refuses(t *testing.T, why string, args ...string) {
	t.Helper()
	status, stdout, stderr := weft(t, args...)
	simtest.ErrorIf(t, status != exitUsage || stdout != "" || !strings.Contains(stderr, why),
		"weft %s: status %d\n%s%s\nwant\n%s", strings.Join(args, " "), status, stdout, stderr, why)
}

// says runs the command, which has to end with a status, to print some words, and to have others
// among its messages.
func says(t *testing.T, status int, words, message string, args ...string) {
	t.Helper()
	got, stdout, stderr := weft(t, args...)
	simtest.ErrorIf(t, got != status || !strings.Contains(stdout, words) || !strings.Contains(stderr, message),
		"weft %s: status %d\n%s%s\nwant %d,\n%s\n%s", strings.Join(args, " "), got, stdout, stderr, status, words, message)
}

// refusesAll is refuses for command lines without quotes, each with what has to be said.
func refusesAll(t *testing.T, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		refuses(t, c[1], strings.Fields(c[0])...)
	}
}

// inFolder changes to a new folder with the given files.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		simtest.Check(t, os.MkdirAll(filepath.Dir(name), 0o777))
		simtest.Check(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

// read is the text of a file.
func read(t *testing.T, parts ...string) string {
	t.Helper()
	return string(simtest.Must(os.ReadFile(filepath.Join(parts...)))(t))
}

// holds checks that a file has some words.
func holds(t *testing.T, file string, words ...string) {
	t.Helper()
	simtest.Says(t, read(t, file), words...)
}

// left lists the files below the present folder, and the empty folders.
func left(t *testing.T) string {
	t.Helper()
	var names []string
	simtest.Check(t, filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if inside, err := os.ReadDir(path); !entry.IsDir() || err == nil && len(inside) == 0 && path != "." {
			names = append(names, path)
		}
		return nil
	}))
	return strings.Join(names, " ")
}

const small = `
kind = "traffic"
[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "dor"
[measure]
warmup = 200
window = 400
[sweep]
"traffic.load" = [0.1, 0.2]
[[plot]]
file = "latency"
x = "offered_load"
y = "latency_mean_ns"
`

// TestBadInput: each mistake gives a message with its place and what is
// allowed, exit status 2, and nothing is written.
func TestBadInput(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(small, old, new, 1) }
	for _, c := range []struct {
		name, text string
		args       []string
		want       string
	}{
		{"misspelt key", replace("dims", "dmis"), nil, `x.toml:5:1: topology.dmis is not a key of [topology] (did you mean "dims"?): allowed are dims, terminals, type`},
		{"load of 1.7", replace("[0.1, 0.2]", "[0.1, 1.7]"), nil, `x.toml:12:1: traffic.load = 1.7: want 0 to 1`},
		{"p = 0", "[topology]\ntype = \"dragonfly\"\np = 0\n", nil, `x.toml:3:1: topology.p = 0: want 1 to 4096`},
		{"unknown routing", replace(`"dor"`, `"door"`), nil, `x.toml:7:1: routing.type = "door": unknown routing (did you mean "dor"?): known are`},
		{"routing that the topology cannot carry", replace(`"dor"`, `"min"`), nil, `x.toml:7:1: routing.type routing "min" needs a topology with groups; torus has none`},
		{"too few VCs", small + "[switch]\nvcs = 1\n", nil, `x.toml:18:1: switch.vcs = 1: want at least 2, which routing "dor" needs to be free from deadlock here; --allow-deadlock, or fabric.allow_deadlock = true, runs it all the same: can deadlock: a cycle of 4 channels (exact)
  switch `},
		{"routing that can deadlock", replace(`"dor"`, "\"dor\"\nvc_rule = \"none\""), nil, `x.toml:7:1: routing.type = "dor" can deadlock: a cycle of 4 channels (exact); --allow-deadlock, or fabric.allow_deadlock = true, runs it all the same
  switch `},
		{"packet that no buffer holds", small + "[traffic]\npacket_flits = 9\n[switch]\nflow_control = \"cut-through\"\nbuffer_flits = 8\n", nil, `x.toml:21:1: switch.buffer_flits = 8: want at least 9: under cut-through a packet goes on only where it fits whole`},
		{"not TOML", "kind = traffic\n", nil, `x.toml:1:8: not valid TOML: `},
		{"unwritable folder", small, []string{"--out", "x.toml/below"}, `result folder x.toml/below: cannot be made: not a directory`},
		{"no such channel class", small + "[channel.global]\nlatency = \"5ns\"\n", nil, `x.toml:17:1: channel.global = (a table): want a channel class of this topology: `},
		{"time that is not whole cycles", small + "[channel.terminal]\nlatency = \"1.5ns\"\n", nil, `x.toml:18:1: channel.terminal.latency = 1.5ns: want whole cycles of 1ns, at least one`},
		{"window that no run reaches", small, []string{"--set", "measure.window=9223372036854775807"}, `--set measure.window=9223372036854775807: measure.window = 9223372036854775807: want 0 to 1000000000000`},
		{"bad --set", small, []string{"--set", "traffic.load=high"}, `--set traffic.load=high: traffic.load = "high": want a number`},
		{"unknown flag", small, []string{"--jbos", "2"}, `weft: unknown flag: --jbos; see weft run --help`},
		{"resume without folder", small, []string{"--out", "-", "--resume"}, `weft: --resume needs a result folder; --out - has none`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t, map[string]string{"x.toml": c.text})
			status, stdout, stderr := weft(t, append([]string{"run", "x.toml"}, c.args...)...)
			simtest.Alike(t, "status and standard output", status, exitUsage, stdout, "")
			simtest.Says(t, stderr, c.want)
			simtest.Equal(t, strings.Count(stderr, "\n")-strings.Count(stderr, "\n  "), 1, "more than one problem:\n%s", stderr) // indented lines explain
			simtest.Equal(t, left(t), "x.toml", "left")
		})
	}
	inFolder(t, nil)
	refuses(t, `(did you mean "examples/quickstart"?)`, "run", "examples/quickstrat")
	refuses(t, "takes FILE..., and got nothing", "run")
}

// TestSeveralBadFiles: the problems of all files come together.
func TestSeveralBadFiles(t *testing.T) {
	inFolder(t, map[string]string{"a.toml": "x = 1\n", "b.toml": "[traffic]\nload = 2\n"})
	for _, problem := range []string{"a.toml:1:1: x is not", "b.toml:2:1: traffic.load = 2: want 0 to 1"} {
		refuses(t, problem, "check", "a.toml", "b.toml")
	}
	inFolder(t, map[string]string{"a.toml": "x = 1\n", "c.toml": small, "d.toml": "topology.type = \"edges\"\ntopology.path = \"d\"\n", "d": strings.Repeat("1 1\n", 30)})
	status, stdout, stderr := weft(t, "check", "a.toml", "c.toml")
	simtest.ErrorIf(t, status != exitUsage || !strings.HasSuffix(stderr, "a.toml: not valid, 1 problem: it cannot run\n") ||
		!strings.HasPrefix(stdout, "c.toml: valid, 2 points"), "status %d:\n%s%s", status, stdout, stderr)
	refuses(t, "d.toml: not valid, 30 problems", "check", "d.toml") // of which 20 are only counted
}

// TestWarningsOfMany: of warnings about a key the first ten are printed, and how many more there are. A
// process of n ranks on one node each has a queue pair to each other: 12 counts of ranks lead to 12
// warnings about an adapter with 2.
func TestWarningsOfMany(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": "kind = \"mpi\"\nhca.max_qp = 2\nworkload.type = \"osu-alltoall\"\n[sweep]\n\"job.ranks\" = { from = 4, to = 15, step = 1 }\n"})
	stdout, stderr := succeeds(t, "check", "x.toml")
	simtest.Says(t, stdout, "see the 12 warnings")
	simtest.Says(t, stderr, "x.toml:2:1: warning: hca.max_qp: 2 more like these\n")
	simtest.Equal(t, strings.Count(stderr, "for job.ranks = "), 10, "warnings of ranks:")
}

// TestManualPages: every command has a page that says what its help says, and nothing
// in a page begins a line that troff would take for itself.
func TestManualPages(t *testing.T) {
	inFolder(t, nil)
	succeeds(t, "man", "-o", "share")
	files := left(t)
	for _, command := range []string{"", "-run", "-check", "-explain", "-reproduce", "-completion"} {
		simtest.Says(t, files, "share/man1/weft"+command+".1")
	}
	for name := range strings.FieldsSeq(files) {
		for line := range strings.Lines(read(t, name)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			simtest.ErrorIf(t, strings.HasPrefix(word, ".") && !strings.Contains(".TH .SH .SS .PP .TP .RS .RE .nf .fi .nh .EX .EE", word) || strings.HasPrefix(word, "'"), "%s: %s", name, line)
		}
	}
	holds(t, "share/man1/weft-run.1", "\\fB-j\\fP, \\fB--jobs\\fP=0\n\tpoints computed side by side", "weft run examples/quickstart")
	refuses(t, "unknown command \"rnu\"", "man", "rnu")
}

// TestInitIsNew: a file that exists is left alone.
func TestInitIsNew(t *testing.T) {
	inFolder(t, map[string]string{"mine.toml": "# mine\n"})
	refuses(t, "is there already", "init", "traffic", "-o", "mine.toml")
	simtest.Equal(t, read(t, "mine.toml"), "# mine\n", "")
}

// TestRun: a result folder has the files of the documentation; standard output has the same rows.
func TestRun(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	status, stdout, stderr := weft(t, "run", "small.toml")
	simtest.FatalIf(t, status != exitSuccess || stdout != "", "status %d: %s%s", status, stdout, stderr)
	want := "journal latency.data.csv latency.png latency.svg manifest.json performance.csv resolved.toml results.csv"
	simtest.Equal(t, strings.ReplaceAll(left(t), "results/small/", ""), want+" small.toml", "left")
	results := read(t, "results/small/results.csv")
	status, stdout, stderr = weft(t, "run", "--out", "-", "--jobs", "1", "--quiet", "results/small/resolved.toml")
	simtest.Alike(t, "the resolved file, status, messages and results", status, exitSuccess, stderr, "", stdout, results)
	succeeds(t, "plot", "results/small/results.csv", "--y", "accepted_load", "-o", "a.pdf")
	refuses(t, `(did you mean "accepted_load"?)`, "plot", "results/small/results.csv", "--y", "acepted_load")
}

// TestAllowDeadlock: what is refused above runs with the flag, and a network that does lock up ends
// with the wait-for cycle. Rings of eight switches with two-flit buffers do at once.
func TestAllowDeadlock(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	says(t, exitSuccess, "", `x.toml:7:1: warning: routing.type = "dor" can deadlock: a cycle of 4 channels (exact)`,
		"run", "x.toml", "--allow-deadlock", "--set", "routing.vc_rule=none", "--out", "-", "--quiet")
	refuses(t, "can deadlock", "check", "x.toml", "--set", "routing.vc_rule=none")
	status, _, stderr := weft(t, "run", "x.toml", "--allow-deadlock", "--set", "switch.vcs=1", "--set", "switch.buffer_flits=2",
		"--set", "topology.dims=[8]", "--set", "topology.terminals=2", "--set", "sweep.traffic.load=[1.0]", "--set", "measure.window=20000", "--out", "-", "--quiet")
	simtest.Equal(t, status, exitFailure, "status")
	simtest.Says(t, stderr, "deadlock: no flit has moved for 5", "; a cycle of 8 buffers, each waiting for the next:\n  VC 0 of switch ")
}

// TestAllowDeadlockInFile: the same by a key of the file; the results and the report say that the
// network can deadlock, and by which cycle, also where all points of an earlier run are kept.
func TestAllowDeadlockInFile(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": strings.Replace(small, `"dor"`, "\"dor\"\nvc_rule = \"none\"", 1) + "[fabric]\nallow_deadlock = true\n"})
	for _, more := range [][]string{nil, {"--resume"}} {
		_, stderr := succeeds(t, append([]string{"run", "x.toml", "--out", "x", "--quiet"}, more...)...)
		warned := strings.Contains(stderr, `routing.type = "dor" can deadlock: a cycle of 4 channels (exact)`)
		simtest.Equal(t, warned, more == nil, "%v: a warning in %s", more, stderr)
		holds(t, "x/manifest.json", `"dor on torus can deadlock: a cycle of 4 channels (exact)\n  switch 0 port 1 holds VC 0, waits for VC 0 of switch 1 port 1\n`)
	}
	succeeds(t, "report", "x", "-o", "x.html")
	holds(t, "x.html", "Was allowed to deadlock:</p>\n<pre>dor on torus can deadlock: a cycle of 4 channels (exact)\n  switch 0 port 1 holds VC 0")
}

// asked is a context that does something when it is asked whether it has ended, before it answers.
type asked struct {
	context.Context
	do func()
}

func (a asked) Err() error {
	a.do()
	return a.Context.Err()
}

// TestInterrupted: Ctrl-C ends with status 1 and the way to go on. It comes when the first
// point begins.
func TestInterrupted(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	ctx, cancel := context.WithCancel(t.Context())
	var out, err bytes.Buffer
	status := command.Run(asked{ctx, cancel}, []string{"run", "small.toml"}, &out, &err)
	simtest.Equal(t, status, exitFailure, "status")
	simtest.Says(t, err.String(), "interrupted: 0 of 2 points of small.toml are finished and safe in results/small; go on with the same command and --resume")
	succeeds(t, "run", "small.toml", "--resume")
}

// TestInformation: the commands that only print.
func TestInformation(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	for _, c := range []struct{ args, want string }{
		{"version", "weft "},
		{"list", "topologies\n"},
		{"list routings", "  dor "},
		{"list topologies torus", "dims = [8, 8]"},
		{"list kinds traffic", "latency_p99_ns"},
		{"check small.toml", "small.toml: valid, 2 points, 0 warnings\n  deadlock     free from deadlock: "},
		{"check small.toml", "\n  verdict      can run\n"},
		{"check small.toml --set sweep.traffic.load=[0.1,1.0] --set traffic.pattern=transpose", "\n  verdict      can run; 1 point offers more than the channels can carry, and will be saturated\n"},
		{"check small.toml --set sweep.traffic.pattern=[uniform,transpose]", "small.toml: valid, 4 points, 0 warnings\n"},
		{"check small.toml --resolved", "\n[measure]\nwarmup = 200\n"},
		{"explain traffic.load", "traffic.load: a setting\n  Offered load."},
		{"init traffic", "\n[topology]\ntype = \"dragonfly\""},
		{"schema", "\"$schema\": \"http://json-schema.org/draft-07/schema#\""},
		{"man run", ".TH \"WEFT-RUN\" \"1\" \"\" \"weft "},
		{"man experiment", "\\fBload\\fP\n\toffered load; default \\fB0.1\\fR"},
		{"topology small.toml", "switches   16\nterminals  16\nlinks      32 between switches\ndiameter   4\n"},
		{"topology small.toml --format dot", "graph "},
		{"completion bash", "bash completion"},
		{"--help", "Usage:"},
	} {
		says(t, exitSuccess, c.want, "", strings.Fields(c.args)...)
	}
	for _, format := range []string{"json", "ibnetdiscover", "ibsim"} {
		file := filepath.Join(t.TempDir(), "net")
		succeeds(t, "topology", "small.toml", "--format", format, "-o", file)
		says(t, exitSuccess, "switches   16\nterminals  16\nlinks      32 between switches\ndiameter   4 (counted)\n", "", "topology", file)
	}
	refusesAll(t, [][2]string{
		{"list rotuings", `nothing is called "rotuings" (did you mean "routings"?)`},
		{"list routings mni", `(did you mean "min"?)`},
		{"topology small.toml --format dto", `unknown format "dto" (did you mean "dot"?): known are dot, graphml, ibnetdiscover, ibsim, json`},
		{"reproduce nothing", `no experiment "nothing"`},
		{"atlas --radix 2", "no family has a network of at least 1000 terminals (--terminals) on switches of at most 2 ports (--radix)"},
		{"frobnicate", `unknown command "frobnicate" for "weft"`},
	})
	simtest.Equal(t, left(t), "small.toml", "left")
}

// TestNextCommand: a run ends with the verdicts and the command that shows them; with
// --quiet no command says anything but warnings and errors.
func TestNextCommand(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": small})
	last := regexp.MustCompile(`\n(\d+ (steady|undecided|saturated)(, )?)+; next: weft report 'o o'\n$`)
	_, stderr := succeeds(t, "run", "small.toml", "--out", "o o")
	simtest.ErrorIf(t, !last.MatchString(stderr), "%q", stderr)
	for _, args := range [][]string{
		{"run", "small.toml", "--out", "o o", "--force"}, {"report", "o o"}, {"plot", "o o/results.csv"},
		{"compare", "o o/results.csv", "o o/results.csv"},
	} {
		_, stderr := succeeds(t, append(args, "--quiet")...)
		simtest.Equal(t, stderr, "", "%v --quiet:", args)
	}
}

// TestReproduce: two small artifacts from their files, with their seeds, to the verdicts and the
// page: one in its quick variant, one that has none.
func TestReproduce(t *testing.T) {
	inFolder(t, nil)
	stdout, stderr := succeeds(t, "reproduce", "dswitch/theorem2", "dswitch/theorem1", "--quick", "--out", "r")
	simtest.Equal(t, strings.Count(stdout, "\n  theorem2: "), 4, "rows of theorem2 in\n%s:", stdout)
	simtest.Says(t, stderr, "9 targets: 7 met, 2 refuted; of those met 7 simulated")
	holds(t, "r/verdicts.csv", "id,paper,artifact,case,metric,target,measured,ci95,unit,kind,tolerance,rests_on,variant,verdict,note\n", ",simulated,full,met,",
		"\ndswitch-theorem1-pk-1-7-3-1-sessions,dswitch,theorem1,PK_1(7 3 1),sessions,3,3,,sessions,exact,abs 0,simulated,quick,met,\n")
	holds(t, "r/report.html", "7 met")
	holds(t, "r/dswitch/theorem2/resolved.toml", "seed = 1\n")
	simtest.Says(t, left(t)+" ", "theorem2/results.csv ", "theorem2/manifest.json ", "theorem2/sessions-2.svg ")
}

// TestUsage: mistakes in the command line have a message without the words of
// the libraries, status 2, and nothing is written.
func TestUsage(t *testing.T) {
	cases := simtest.Table(t, "testdata/usage.csv")
	const table = "point,traffic.load,seed,replications,offered_load,latency_mean_ns,saturated\n0,0.1,1,1,0.1,5,false\n"
	inFolder(t, map[string]string{"x.toml": small, "quick.toml": small + "[quick]\n\"traffic.lod\" = 1\n", "empty.toml": "# nothing\n",
		"a.csv": table, "b.csv": strings.Replace(table, ",5,", ",6,", 1), "bare.csv": "offered_load,latency_mean_ns\n0.1,5\n",
		"bench.csv": "workload,ns_per_unit\na,1\n", "other.csv": "workload,ns_per_unit\nb,1\n"})
	before := left(t)
	for _, c := range cases {
		if c["arguments"] == "compare a.csv bare.csv" { // two loads on one side, none on the other
			simtest.Check(t, os.WriteFile("a.csv", []byte(table+"1,0.2,1,1,0.2,6,false\n"), 0o644))
		}
		args, _ := shellWords(c["arguments"])
		untouched(t, before, c["message"]+map[string]string{"whole": "\n"}[c["which"]], args...)
	}
	// Equal tables differ in nothing, whatever is known about their spread.
	succeeds(t, "compare", "b.csv", "b.csv")
	says(t, exitSuccess, "weft ", "", "--version")
	succeeds(t, "topology", "x.toml", "-o", "net.json")
	says(t, exitSuccess, "switches   16\n", "", "topology", "net.json")
}

// untouched runs the command, which has to refuse what it is given with a message that begins so,
// and to leave the files that there were.
func untouched(t *testing.T, before, want string, args ...string) {
	t.Helper()
	status, _, stderr := weft(t, args...)
	files := left(t)
	simtest.ErrorIf(t, status != exitUsage || !strings.HasPrefix(stderr, want) || files != before,
		"weft %q: status %d, left %s\n%s\nwant\n%s", args, status, files, stderr, want)
}

// TestShellCompletion: names and values are completed, not only files.
func TestShellCompletion(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small, "a.csv": "point,offered_load\n0,0.1\n"})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "examples/quick"}, "examples/quickstart\n"},
		{[]string{"reproduce", "dragonfly/fig8"}, "dragonfly/fig8a-saturation\ndragonfly/fig8a\ndragonfly/fig8b-saturation\ndragonfly/fig8b\n"},
		{[]string{"list", "routings", "ugal-l-"}, "ugal-l-cr\nugal-l-vc\nugal-l-vch\n"},
		{[]string{"bench", "lu"}, "lu-16384\n"},
		{[]string{"plot", "--style", ""}, "line\nscatter\nbar\nhistogram\n"},
		{[]string{"explain", "latency_p99"}, "latency_p99_ci95_ns\nlatency_p99_ns\n"},
		{[]string{"init", "m"}, "mpi\nmulticast-latency\nmulticast-routing\n"},
		{[]string{"man", "ru"}, "run\n"},
		{[]string{"run", "x.toml", "--set", "routing.th"}, "routing.threshold=\n"},
		{[]string{"run", "x.toml", "--set", "sweep.traffic.pattern=tr"}, "sweep.traffic.pattern=transpose\n"},
		{[]string{"run", "examples/alltoall", "--set", "job.machine="}, "job.machine=fabric\njob.machine=loggops\njob.machine=loggp\n"},
		{[]string{"plot", "a.csv", "--x", "off"}, "offered_load\n"},
		{[]string{"compare", "a.csv", "--between", ""}, "point\noffered_load\n"},
	} {
		status, stdout, _ := weft(t, append([]string{"__complete"}, c.args...)...)
		simtest.ErrorIf(t, status != exitSuccess || !strings.HasPrefix(stdout, c.want), "%q: status %d: %s", c.args, status, stdout)
	}
}

// fullWriter takes so many bytes.
type fullWriter int

func (n *fullWriter) Write(p []byte) (int, error) {
	if int(*n) < len(p) {
		return 0, errors.New("no space left on device")
	}
	*n -= fullWriter(len(p))
	return len(p), nil
}

// TestFullOutput: no command succeeds whose output got lost.
func TestFullOutput(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	for _, args := range []string{"list", "list routings", "check x.toml", "topology x.toml", "topology x.toml --format dot", "version", "--help", "run x.toml --quiet --out -"} {
		room := fullWriter(3)
		var stderr bytes.Buffer
		status := command.Run(t.Context(), strings.Fields(args), &room, &stderr)
		simtest.ErrorIf(t, status != exitFailure || stderr.String() != "standard output: no space left on device\n",
			"weft %s: status %d: %s", args, status, stderr.String())
	}
}

// TestBlockedFolder: a result folder in which a file cannot be replaced is left
// as it was, and the message names the file.
func TestBlockedFolder(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	simtest.Check(t, os.MkdirAll("o/results.csv/x", 0o777))
	untouched(t, "o/results.csv/x x.toml", "result folder o: results.csv cannot be replaced: ", "run", "x.toml", "--out", "o", "--force")
}

// TestBadInputFiles: problems of a file that an experiment names stand under the key that names it.
func TestBadInputFiles(t *testing.T) {
	inFolder(t, map[string]string{
		"net.toml":  "[topology]\ntype = \"file\"\npath = \"net.json\"\n[routing]\ntype = \"table\"\n",
		"net.json":  "{\n",
		"goal.toml": "kind = \"mpi\"\n[workload]\ntype = \"goal\"\nfile = \"x.goal\"\n",
		"x.goal":    "num_ranks 1\nrank 0 {\n\u00e4: calc 5\n}\n",
	})
	dir := simtest.Must(os.Getwd())(t)
	for file, want := range map[string]string{
		"net.toml":  "net.toml:3:1: topology.path " + filepath.Join(dir, "net.json") + ":2: not JSON: ",
		"goal.toml": "goal.toml:4:1: workload.file " + filepath.Join(dir, "x.goal") + ":3: '\u00e4' has no place in \"\u00e4: calc 5\"\n",
	} {
		refuses(t, want, "check", file)
	}
}

// TestHelpExamples: the examples of the help texts name commands and options that there are.
func TestHelpExamples(t *testing.T) {
	root := command.Root(io.Discard, io.Discard)
	for _, c := range root.Commands() {
		if c.Example == "" {
			continue
		}
		own := false // a line is about the command itself, others about what goes with it
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, " > ")
			args, _ := shellWords(line)
			of, rest, err := command.Root(io.Discard, io.Discard).Find(args[1:])
			if args[0] != "weft" || err != nil || !of.HasParent() {
				t.Errorf("%s: example %q: %v", c.Name(), line, err)
				continue
			}
			own = own || of.Name() == c.Name()
			err = of.ParseFlags(rest)
			if err == nil && of.Args != nil {
				err = of.Args(of, of.Flags().Args())
			}
			simtest.ErrorIf(t, err != nil, "%q: %v", line, err)
		}
		simtest.ErrorIf(t, !own, "%s: no example of its own", c.Name())
	}
}
