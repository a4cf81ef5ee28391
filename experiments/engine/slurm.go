package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Slurm computes points as the tasks of a job array. All machines must see the
// result folder, the experiment file and weft's program under the same paths.
type Slurm struct {
	Chunk   int                 // points a task; 0: so many that there are at most slurmTasks tasks
	Sbatch  []string            // further arguments of sbatch
	Poll    time.Duration       // between looks at the queue; 0: two seconds
	Options experiments.Options // with which the file was read
	Notify  func(message string)
}

const (
	slurmTasks    = 64   // of an array, if Chunk leaves it open
	slurmMostTask = 1000 // Slurm's default MaxArraySize is 1001
	slurmAttempts = 3    // submissions of a task
	slurmFolder   = "slurm"
	slurmJobFile  = "job.json"
)

// SlurmError says that Slurm cannot be used as asked for.
type SlurmError struct{ Reason string }

func (e *SlurmError) Error() string { return "--executor slurm: " + e.Reason }

// slurmJob is what the tasks of an array read: which file, and which points each of them computes.
type slurmJob struct {
	File    string              `json:"file"`
	Options experiments.Options `json:"options"`
	Threads int                 `json:"threads"`
	// SnapshotEvery is as in [Execution]: tasks keep the states of their points in the
	// result folder, which has this one in it. Files go by point, so that tasks do not meet.
	SnapshotEvery time.Duration `json:"snapshot_every,omitempty"`
	Tasks         [][]string    `json:"tasks"` // hashes of points
	// Refined are the points that refinement has added so far.
	Refined []experiments.Added `json:"refined,omitempty"`
}

// slurmRun is an array under way.
type slurmRun struct {
	*runner
	*Slurm
	dir   string
	job   slurmJob
	tasks []slurmTask
	ids   []string // of the arrays submitted
}

// slurmTask is a task: a share of the points.
type slurmTask struct {
	share
	points   []*experiments.Point
	ended    bool
	attempts int
	missing  int // looks in a row at which it was nowhere
}

func slurmShare(dir string, task int) share {
	stem := filepath.Join(dir, fmt.Sprintf("task-%d", task))
	return share{journal: stem + ".journal", end: stem + ".end"}
}

// slurm computes points as tasks of job arrays: it submits, looks after them,
// takes in what is finished, and submits again what got lost. When ctx ends it
// cancels what is left; finished points are in the journal by then.
func (r *runner) slurm(ctx context.Context, todo []*experiments.Point) error {
	s := &slurmRun{runner: r, Slurm: r.execution.Slurm, dir: filepath.Join(r.execution.Dir, slurmFolder)}
	if r.execution.Dir == "" {
		return &SlurmError{"needs a result folder; --out - has none"}
	}
	for _, program := range []string{"sbatch", "squeue", "scancel"} {
		if _, err := exec.LookPath(program); err != nil {
			return &SlurmError{program + " is not in PATH: run on a machine of a Slurm cluster, or leave --executor out"}
		}
	}
	if err := s.prepare(todo); err != nil {
		return err
	}
	if err := s.submit(s.open()); err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.watch(ctx); err != nil || len(s.open()) > 0 || len(s.reasons) > 0 {
		return err // what the tasks left tells more
	}
	return os.RemoveAll(s.dir)
}

// prepare writes what the tasks need, into a folder made anew.
func (s *slurmRun) prepare(todo []*experiments.Point) error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	s.dir = dir
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
		return &FolderError{dir, "cannot be made: " + results.Reason(err)}
	}
	s.job = slurmJob{File: s.file.Name, Options: s.Options, Threads: max(1, s.execution.Threads), SnapshotEvery: s.execution.SnapshotEvery}
	for _, p := range s.runner.points[len(s.file.Points):] {
		s.job.Refined = append(s.job.Refined, p.Added())
	}
	if results.Exists(s.job.File) {
		if s.job.File, err = filepath.Abs(s.job.File); err != nil {
			return err
		}
	}
	chunk := s.Chunk
	if chunk <= 0 {
		chunk = (len(todo) + slurmTasks - 1) / slurmTasks
	}
	chunk = max(chunk, (len(todo)+slurmMostTask-1)/slurmMostTask)
	for points := range slices.Chunk(todo, chunk) {
		hashes := lists.Map(points, func(p *experiments.Point) string { return p.Hash })
		s.tasks = append(s.tasks, slurmTask{share: slurmShare(dir, len(s.tasks)), points: points})
		s.job.Tasks = append(s.job.Tasks, hashes)
	}
	return writeJSON(dir, slurmJobFile, s.job)
}

// open lists the tasks that have not ended.
func (s *slurmRun) open() []int {
	return lists.Filter(results.Indices(len(s.tasks)), func(t int) bool { return !s.tasks[t].ended })
}

// submit makes a job array of some tasks.
func (s *slurmRun) submit(tasks []int) error {
	if len(tasks) == 0 {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec %s slurm-task %s \"$SLURM_ARRAY_TASK_ID\"\n", shellQuote(program), shellQuote(filepath.Join(s.dir, slurmJobFile)))
	path := filepath.Join(s.dir, "task.sh")
	if err := results.WriteFile(path, []byte(script)); err != nil {
		return err
	}
	args := []string{
		"--parsable", "--array=" + results.IndexList(tasks), "--job-name=weft-" + s.file.Stem(), "--output=" + strings.ReplaceAll(s.dir, "%", "%%") + "/task-%a.log",
		"--cpus-per-task=" + strconv.Itoa(s.job.Threads),
	}
	args = append(append(args, s.Sbatch...), path)
	// Not bound to a context: an array that is being submitted at Ctrl-C has to
	// be known by its id to be cancelled.
	out, err := exec.Command("sbatch", args...).Output()
	if err != nil {
		return &SlurmError{"sbatch refuses: " + outputOf(err)}
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
	if _, err := strconv.Atoi(id); err != nil {
		return &SlurmError{fmt.Sprintf("sbatch answers %q, not the id of a job", strings.TrimSpace(string(out)))}
	}
	s.ids = append(s.ids, id)
	points := 0
	for _, t := range tasks {
		s.tasks[t].attempts++
		s.tasks[t].missing = 0
		points += len(s.tasks[t].points)
	}
	s.say(fmt.Sprintf("%s: job array %s, %d tasks for %d points", s.file.Name, id, len(tasks), points))
	return nil
}

func (s *slurmRun) say(message string) {
	if s.Notify != nil {
		s.Notify(message)
	}
}

// watch waits for all tasks to end.
func (s *slurmRun) watch(ctx context.Context) error {
	poll := s.Poll
	if poll <= 0 {
		poll = 2 * time.Second
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	silent := 0
	for {
		select {
		case <-ctx.Done():
			s.cancel()
			return s.collect()
		case <-ticker.C:
		}
		// The queue first: a task that leaves it has written its end before.
		live, err := queuedTasks(s.ids)
		if err := s.collect(); err != nil {
			s.cancel()
			return err
		}
		tasks := s.open()
		if len(tasks) == 0 {
			return nil
		}
		if err != nil {
			if silent++; silent == 10 {
				s.cancel()
				return &SlurmError{"squeue keeps failing: " + err.Error()}
			}
			continue
		}
		silent = 0
		if err := s.resubmit(tasks, live); err != nil {
			s.cancel()
			return err
		}
	}
}

// resubmit submits again the open tasks that are in no queue, after a second look (file systems of
// clusters show files late), and gives up those lost too often.
func (s *slurmRun) resubmit(tasks []int, live map[int]bool) error {
	var lost []int
	for _, number := range tasks {
		t := &s.tasks[number]
		if live[number] {
			t.missing = 0
			continue
		}
		if t.missing++; t.missing < 2 {
			continue
		}
		if t.attempts < slurmAttempts {
			lost = append(lost, number)
			continue
		}
		t.ended = true
		why := fmt.Sprintf("its Slurm task was lost %d times; its output is in %s", slurmAttempts, filepath.Join(s.dir, fmt.Sprintf("task-%d.log", number)))
		s.fail(t, func(*experiments.Point) string { return why })
	}
	if len(lost) > 0 {
		s.say(fmt.Sprintf("%s: %d tasks were lost and are submitted again", s.file.Name, len(lost)))
	}
	return s.submit(lost)
}

// fail notes why points of a task have failed, "" where they have not.
func (s *slurmRun) fail(t *slurmTask, why func(*experiments.Point) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range t.points {
		if reason := why(p); reason != "" && s.records[p.Hash] == nil {
			s.reasons[p.Hash] = reason
		}
	}
}

// collect takes the points that tasks have finished into the journal, and notes
// which tasks have ended.
func (s *slurmRun) collect() error {
	for _, number := range s.open() {
		t := &s.tasks[number]
		n, damaged := t.look(s.file)
		for _, rec := range n.found {
			s.live.Add(rec.Events)
		}
		if err := errors.Join(s.take(t.points, n.found), damaged); err != nil {
			return err
		}
		t.ended = n.ended
		s.fail(t, func(p *experiments.Point) string { return n.failed[p.Hash] })
	}
	return nil
}

// cancel ends all arrays; those that are through already do not mind.
func (s *slurmRun) cancel() {
	for _, id := range s.ids {
		_ = exec.Command("scancel", id).Run() // nothing is lost if it fails: the tasks end by themselves
	}
}

// SlurmTask computes the points of one task of a job array: what the machines of the cluster run. A
// task that was lost goes on where it ended, its point from its last snapshot.
func SlurmTask(ctx context.Context, jobFile string, task int) error {
	text, err := experiments.Interruptible(ctx, func() ([]byte, error) { return input.ReadRegular(jobFile, input.MaxInput) })
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %w", jobFile, err)
	}
	var job slurmJob
	if err := json.Unmarshal(text, &job); err != nil {
		return fmt.Errorf("%s: %w", jobFile, err)
	}
	if task < 0 || task >= len(job.Tasks) {
		return fmt.Errorf("%s has %d tasks, no task %d", jobFile, len(job.Tasks), task)
	}
	file, err := experiments.Interruptible(ctx, func() (*experiments.File, error) { return experiments.Open(job.File, job.Options) })
	if err != nil {
		return err
	}
	dir := filepath.Dir(jobFile)
	files := slurmShare(dir, task)
	r := newRunner(file, Execution{Dir: filepath.Dir(dir), Jobs: 1, Threads: job.Threads, SnapshotEvery: job.SnapshotEvery})
	if r.journal, r.records, err = openJournal(files.journal, true, file); err != nil {
		return err
	}
	defer r.journal.close()
	points := lists.Table(file.Points, func(p *experiments.Point) (string, *experiments.Point) { return p.Hash, p })
	for _, a := range job.Refined {
		if p, err := file.Refined(a, len(points)); err == nil { // otherwise the file has changed
			points[p.Hash] = p
		}
	}
	r.points = nil
	for _, hash := range job.Tasks[task] {
		switch p := points[hash]; {
		case p != nil:
			r.points = append(r.points, p)
		case r.records[hash] == nil:
			r.reasons[hash] = "the experiment file has changed since the job was submitted"
		}
	}
	return r.computeShare(ctx, files.end)
}

// queuedTasks are the array tasks of some jobs that wait, run or come to their end.
func queuedTasks(ids []string) (map[int]bool, error) {
	out, err := exec.Command("squeue", "--me", "--array", "--noheader", "--states=PENDING,RUNNING,SUSPENDED,COMPLETING", "--format=%F %K").Output()
	if err != nil {
		return nil, errors.New(outputOf(err))
	}
	live := map[int]bool{}
	for line := range strings.Lines(string(out)) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(ids, id) {
			continue
		}
		task, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("its answer %q names no task of an array", strings.TrimSpace(line))
		}
		live[task] = true
	}
	return live, nil
}

// outputOf is what a program said before it failed.
func outputOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
			return said
		}
	}
	return err.Error()
}

// shellQuote writes a word for a POSIX shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
