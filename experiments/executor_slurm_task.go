package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/weft-sim/weft/sim/input"
)

// SlurmTask computes the points of one task of a job array: what the machines
// of the cluster run. A task that was lost goes on where it ended, its point from its last
// snapshot.
func SlurmTask(ctx context.Context, jobFile string, task int) error {
	text, err := Interruptible(ctx, func() ([]byte, error) { return input.ReadInput(jobFile, input.MaxInput) })
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
	file, err := Interruptible(ctx, func() (*File, error) { return Open(job.File, job.Options) })
	if err != nil {
		return err
	}
	dir := filepath.Dir(jobFile)
	stem := filepath.Join(dir, fmt.Sprintf("task-%d", task))
	r, err := newRunner(file, Execution{Dir: filepath.Dir(dir), Jobs: 1, Threads: job.Threads, SnapshotEvery: job.SnapshotEvery})
	if err != nil {
		return err
	}
	if r.journal, r.records, err = openJournal(stem+".journal", true); err != nil {
		return err
	}
	defer r.journal.close()
	drop(r.records, file.kind)
	points := map[string]*Point{}
	for _, p := range file.Points {
		points[p.Hash] = p
	}
	for _, a := range job.Refined {
		if file.refine == nil || len(a.Steps) != len(file.sweep) {
			continue // the file has changed
		}
		if p, err := file.refined(a, len(points)); err == nil {
			points[p.Hash] = p
		}
	}
	for _, hash := range job.Tasks[task] {
		switch p := points[hash]; {
		case r.records[hash] != nil:
		case p == nil:
			r.reasons[hash] = "the experiment file has changed since the job was submitted"
		default:
			r.one(ctx, p)
		}
	}
	if err := errors.Join(r.writeError, ctx.Err()); err != nil {
		return err
	}
	end, err := json.Marshal(slurmEnd{r.reasons})
	if err != nil {
		return err
	}
	return WriteFile(stem+".end", append(end, '\n'))
}
