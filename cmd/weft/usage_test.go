package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	untouched(t, "o/results.csv/x x.toml", "result folder o: results.csv cannot be replaced: ", "run", "x.toml", "--out", "o")
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
