package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sim/weft/sim/input"
)

// Slurm computes points as the tasks of a job array. All machines must see the
// result folder, the experiment file and weft's program under the same paths.
type Slurm struct {
	Chunk   int           // points a task; 0: so many that there are at most slurmTasks tasks
	Sbatch  []string      // further arguments of sbatch
	Poll    time.Duration // between looks at the queue; 0: two seconds
	Options Options       // with which the file was read
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

// slurmJob is what the tasks of an array read: which file, and which points
// each of them computes.
type slurmJob struct {
	File    string  `json:"file"`
	Options Options `json:"options"`
	Threads int     `json:"threads"`
	// SnapshotEvery is that of [Execution]: tasks keep the states of their points in the
	// result folder, which has this one in it. Files go by point, so that tasks do not meet.
	SnapshotEvery time.Duration `json:"snapshot_every,omitempty"`
	Tasks         [][]string    `json:"tasks"` // hashes of points
	// Refined are the points that refinement has added so far.
	Refined []added `json:"refined,omitempty"`
}

// slurmEnd is what a task leaves when it is through; its journal has the
// points.
type slurmEnd struct {
	Failed map[string]string `json:"failed,omitempty"` // reason by hash
}

// slurmRun is an array under way.
type slurmRun struct {
	*runner
	*Slurm
	dir      string
	job      slurmJob
	ended    []bool // tasks
	attempts []int
	missing  []int // looks in a row at which a task was nowhere
	read     []int64
	ids      []string // of the arrays submitted
}

// slurm computes points as tasks of job arrays: it submits, looks after them,
// takes in what is finished, and submits again what got lost. When ctx ends it
// cancels what is left; finished points are in the journal by then.
func (r *runner) slurm(ctx context.Context, todo []*Point) error {
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
func (s *slurmRun) prepare(todo []*Point) error {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	s.dir = dir
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
		return &FolderError{dir, "cannot be made: " + reason(err)}
	}
	s.job = slurmJob{File: s.file.Name, Options: s.Options, Threads: max(1, s.execution.Threads), SnapshotEvery: s.execution.SnapshotEvery}
	for _, p := range s.runner.points[len(s.file.Points):] {
		s.job.Refined = append(s.job.Refined, added{p.steps, p.refined})
	}
	if exists(s.job.File) {
		if s.job.File, err = filepath.Abs(s.job.File); err != nil {
			return err
		}
	}
	chunk := s.Chunk
	if chunk <= 0 {
		chunk = (len(todo) + slurmTasks - 1) / slurmTasks
	}
	chunk = max(chunk, (len(todo)+slurmMostTask-1)/slurmMostTask)
	for start := 0; start < len(todo); start += chunk {
		var task []string
		for _, p := range todo[start:min(start+chunk, len(todo))] {
			task = append(task, p.Hash)
		}
		s.job.Tasks = append(s.job.Tasks, task)
	}
	n := len(s.job.Tasks)
	s.ended, s.attempts, s.missing, s.read = make([]bool, n), make([]int, n), make([]int, n), make([]int64, n)
	text, err := json.MarshalIndent(s.job, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, slurmJobFile), append(text, '\n'))
}

// open lists the tasks that have not ended.
func (s *slurmRun) open() []int {
	var tasks []int
	for t, ended := range s.ended {
		if !ended {
			tasks = append(tasks, t)
		}
	}
	return tasks
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
	if err := WriteFile(path, []byte(script)); err != nil {
		return err
	}
	args := []string{
		"--parsable", "--array=" + indexList(tasks), "--job-name=weft-" + s.file.Stem(), "--output=" + filepath.Join(s.dir, "task-%a.log"),
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
	for _, t := range tasks {
		s.attempts[t]++
		s.missing[t] = 0
	}
	s.say(fmt.Sprintf("%s: job array %s, %d tasks for %d points", s.file.Name, id, len(tasks), s.count(tasks)))
	return nil
}

func (s *slurmRun) say(message string) {
	if s.Notify != nil {
		s.Notify(message)
	}
}

// count is the number of points of some tasks.
func (s *slurmRun) count(tasks []int) int {
	n := 0
	for _, t := range tasks {
		n += len(s.job.Tasks[t])
	}
	return n
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

// resubmit submits again the open tasks that are in no queue, after a second
// look (file systems of clusters show files late), and gives up those lost too
// often.
func (s *slurmRun) resubmit(tasks []int, live map[int]bool) error {
	var lost []int
	for _, t := range tasks {
		if live[t] {
			s.missing[t] = 0
			continue
		}
		if s.missing[t]++; s.missing[t] < 2 {
			continue
		}
		if s.attempts[t] < slurmAttempts {
			lost = append(lost, t)
			continue
		}
		s.ended[t] = true
		s.mu.Lock()
		for _, hash := range s.job.Tasks[t] {
			if s.records[hash] == nil {
				s.reasons[hash] = fmt.Sprintf("its Slurm task was lost %d times; its output is in %s", slurmAttempts, filepath.Join(s.dir, fmt.Sprintf("task-%d.log", t)))
			}
		}
		s.mu.Unlock()
	}
	if len(lost) > 0 {
		s.say(fmt.Sprintf("%s: %d tasks were lost and are submitted again", s.file.Name, len(lost)))
	}
	return s.submit(lost)
}

// collect takes the points that tasks have finished into the journal, and notes
// which tasks have ended.
func (s *slurmRun) collect() error {
	for _, t := range s.open() {
		// The end is looked for first: all points are in the journal then.
		text, err := input.ReadInput(filepath.Join(s.dir, fmt.Sprintf("task-%d.end", t)), input.MaxInput)
		ended := err == nil
		if err := s.take(t); err != nil {
			return err
		}
		if !ended {
			continue
		}
		var end slurmEnd
		if err := json.Unmarshal(text, &end); err != nil {
			return fmt.Errorf("task %d left a damaged file: %w", t, err)
		}
		s.mu.Lock()
		for _, hash := range s.job.Tasks[t] {
			if why, failed := end.Failed[hash]; failed {
				s.reasons[hash] = why
			}
		}
		s.mu.Unlock()
		s.ended[t] = true
	}
	return nil
}

// take adds the new records of a task's journal.
func (s *slurmRun) take(t int) error {
	text, err := input.ReadInput(filepath.Join(s.dir, fmt.Sprintf("task-%d.journal", t)), largestJournal())
	if err != nil || int64(len(text)) == s.read[t] {
		return nil // none yet, or nothing new
	}
	records := map[string]*record{}
	readJournal(text, records)
	drop(records, s.file.kind)
	s.read[t] = int64(len(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range s.job.Tasks[t] {
		found := records[hash]
		if found == nil || s.records[hash] != nil {
			continue
		}
		if err := s.journal.append(found); err != nil {
			return fmt.Errorf("cannot keep a finished point: %w", err)
		}
		s.records[hash] = found
		s.live.Add(found.Events)
	}
	return nil
}

// cancel ends all arrays; those that are through already do not mind.
func (s *slurmRun) cancel() {
	for _, id := range s.ids {
		_ = exec.Command("scancel", id).Run() // nothing is lost if it fails: the tasks end by themselves
	}
}
