package command

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrace: the commands of the page on messages: a schedule becomes binary and a trace of
// one file a rank, which both become the same schedule again and run as it does.
func TestTrace(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
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
		if status, stdout, stderr := weft(t, append([]string{"trace"}, args...)...); status != exitSuccess || stdout != report {
			t.Errorf("%v: status %d: %s%s", args, status, stdout, stderr)
		}
	}
	if status, _, stderr := weft(t, "trace", "app.1.et", "-o", "back.goal"); status != exitSuccess {
		t.Errorf("status %d: %s", status, stderr)
	}
	for _, file := range []string{"again.goal", "back.goal"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != schedule {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
	if status, stdout, _ := weft(t, "trace", "app.goal", "--compute-scale", "0.5"); status != exitSuccess || !strings.HasSuffix(stdout, "  750 ns\n") {
		t.Errorf("status %d: %s", status, stdout)
	}
	if status, stdout, stderr := weft(t, "run", "x.toml", "--out", "-"); status != exitSuccess {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	} else {
		var times []string
		for line := range strings.Lines(stdout) {
			times = append(times, strings.Split(line, ",")[4])
		}
		if len(times) != 4 || times[1] != times[2] || times[1] != times[3] {
			t.Errorf("elapsed %v", times)
		}
	}
	if status, stdout, stderr := weft(t, "trace", "ti.txt", "--host-flops", "2e9"); status != exitSuccess || !strings.HasSuffix(stdout, "computations          2  1500 ns\n") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	// Traces of other tools: those that the tests of their readers are about.
	for format, file := range map[string]string{"dumpi": "ring-0001.bin", "otf2": "t.otf2"} {
		if err := os.CopyFS(format, os.DirFS(filepath.Join(here, "..", "..", "mpi", format, "testdata"))); err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(format, file)
		archive := format + ".tar.gz"
		tarFolder(t, format, archive)
		_, want, _ := weft(t, "trace", file)
		for _, name := range []string{format, archive, filepath.Join(archive, filepath.Base(file))} {
			if status, stdout, stderr := weft(t, "trace", name); status != exitSuccess || stdout != want {
				t.Errorf("%s: status %d: %s%s", name, status, stdout, stderr)
			}
		}
		if status, stdout, stderr := weft(t, "trace", file); status != exitSuccess || !strings.Contains(stdout, "\nranks                 4\n") {
			t.Errorf("status %d: %s%s", status, stdout, stderr)
		}
		if status, _, stderr := weft(t, "run", "other.toml", "--set", "workload.file="+file, "--out", "-"); status != exitSuccess {
			t.Errorf("%s: status %d: %s", file, status, stderr)
		}
	}
	binary, err := os.ReadFile("app.bin")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("cut.bin", binary[:60], 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"trace", "cut.bin"}, "cut.bin: byte 60: "},
		{[]string{"check", "bad.toml"}, "cut.bin: byte 60: rank 0: the file ends here: is it truncated?"},
		{[]string{"trace", "foreign.x"}, "foreign.x:1: "},
		{[]string{"trace", "nothing"}, "nothing"},
		{[]string{"trace", "dumpi.tar.gz/nothing"}, "no such file in the archive"},
		{[]string{"trace", "otf2.tar.gz/t"}, "holds 8 traces, as 0.def and 0.evt: name one, as t/0.def"},
		{[]string{"trace", "any.goal", "-o", "any.et"}, "any.goal:3: recv 1 B from any tag 0: any rank or any tag"},
		{[]string{"trace", "app.goal", "-o", "app.bin"}, "app.bin: file exists"},
		{[]string{"trace", "app.goal", "-o", "app"}, "want --to goal|goal-binary|chakra"},
		{[]string{"trace", "app.goal", "--to", "goal"}, "want -o FILE"},
		{[]string{"trace", "app.goal", "--compute-scale", "-1"}, "want at least 0"},
		{[]string{"trace", "ti.txt", "--host-flops", "0"}, "want at least 1"},
	} {
		if status, _, stderr := weft(t, c.args...); status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d: %s\nwant %s", c.args, status, stderr, c.want)
		}
	}
	if _, err := os.Stat("any.0.et"); err == nil {
		t.Error("a trace that cannot be written was begun")
	}
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
	if status, stdout, stderr := weft(t, "trace", "pair.toml", "-o", "pair.goal"); status != exitSuccess || !strings.Contains(stdout, "16384 B\n") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	for _, args := range [][]string{{"jobs.toml", "-o", "jobs.goal"}, {"jobs.toml", "-o", "jobs.bin"}, {"jobs.bin", "-o", "again.goal"}, {"jobs.toml", "-o", "jobs.et"}} {
		if status, stdout, stderr := weft(t, append([]string{"trace"}, args...)...); status != exitSuccess || !strings.Contains(stdout, "ranks                20\n") {
			t.Errorf("%v: status %d: %s%s", args, status, stdout, stderr)
		}
	}
	text, err := os.ReadFile("jobs.goal")
	again, _ := os.ReadFile("again.goal")
	if err != nil || string(text) != string(again) || !strings.Contains(string(text), "rank 16 {\nl1: calc 2000\n") {
		t.Errorf("%v: text and binary differ, or job b does not begin at 2 us", err)
	}
	if status, _, stderr := weft(t, "run", "play.toml", "--out", "-"); status != exitSuccess {
		t.Errorf("status %d: %s", status, stderr)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"noise.toml"}, "job.c.repeat = 0: want a number of repetitions"},
		{[]string{"sweep.toml"}, "sweep.toml: has 2 points; want one"},
		{[]string{"mesh.toml"}, "mesh.toml: kind traffic has no program; want mpi or jobs"},
		{[]string{"pair.toml", "--drop"}, "--drop is for traces"},
		{[]string{"app.goal", "--set", "a=1"}, "app.goal is none"},
		{[]string{"pair.toml", "--set", "job.ranks=1"}, "job.ranks"},
	} {
		if status, _, stderr := weft(t, append([]string{"trace"}, c.args...)...); status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d: %s\nwant %s", c.args, status, stderr, c.want)
		}
	}
}

// tarFolder packs a folder.
func tarFolder(t *testing.T, folder, archive string) {
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(f)
	w := tar.NewWriter(packed)
	err = errors.Join(w.AddFS(os.DirFS(folder)), w.Close(), packed.Close(), f.Close())
	if err != nil {
		t.Fatal(err)
	}
}
