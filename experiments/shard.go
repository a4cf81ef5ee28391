package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Shard is a share of a sweep: of Of shares, the one with number Index, from 1.
// Points are dealt out in turn, so that each share has points of all loads. The
// zero value is the whole sweep.
type Shard struct{ Index, Of int }

// ParseShard reads "2/8". Both numbers are at least 1, and the first is at most
// the second.
func ParseShard(text string) (Shard, error) {
	var s Shard
	index, of, ok := strings.Cut(text, "/")
	var err1, err2 error
	s.Index, err1 = strconv.Atoi(index)
	s.Of, err2 = strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || s.Index < 1 || s.Of < s.Index || s.Of > maxPoints {
		return Shard{}, fmt.Errorf("%q: want the number of a share and how many there are, such as 1/8 to 8/8", text)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// of keeps the points of a share. Variants that come down to the same settings are
// one point.
func (s Shard) of(points []*Point) []*Point {
	var mine []*Point
	seen := map[string]bool{}
	for _, p := range points {
		if !seen[p.Hash] && len(seen)%s.Of == s.Index-1 {
			mine = append(mine, p)
		}
		seen[p.Hash] = true
	}
	return mine
}

// shardFile ends a share: it is written when no point is left to compute.
const shardFile = "shard.json"

// shardEnd is what a share leaves beside its journal.
type shardEnd struct {
	Experiment string            `json:"experiment"`
	Weft       string            `json:"weft"`
	Shard      string            `json:"shard"`
	Points     int               `json:"points"`
	Failed     map[string]string `json:"failed,omitempty"` // reason by hash
}

// executeShard computes the share that the execution names. Its results wait in the
// journal for [File.Merge]; points that refinement adds are left to that.
func (r *runner) executeShard(ctx context.Context) (*Outcome, error) {
	r.reasons = map[string]string{}
	r.points = r.execution.Shard.of(r.points)
	r.computeAll(ctx, r.points)
	outcome := &Outcome{Points: len(r.points), Reused: r.reused, Finished: r.finished()}
	switch {
	case r.writeError != nil:
		r.leaveNothing()
		return nil, r.writeError
	case len(r.records)+len(r.reasons) < len(r.points):
		return outcome, ErrInterrupted
	}
	for _, p := range r.points {
		if why, failed := r.reasons[p.Hash]; failed {
			outcome.Failures = append(outcome.Failures, Failure{p, why})
		}
	}
	end := shardEnd{r.file.Name, Version(), r.execution.Shard.String(), len(r.points), r.reasons}
	text, err := json.MarshalIndent(end, "", "  ")
	if err != nil {
		return nil, err
	}
	return outcome, writeInside(r.execution.Dir, shardFile, append(text, '\n'))
}

// UnfinishedError says that the shares of a sweep do not make it up.
type UnfinishedError struct {
	Missing, Points int
	Unfinished      []string // folders of shares that have not ended
}

func (e *UnfinishedError) Error() string {
	text := fmt.Sprintf("%d of %d points are in no share", e.Missing, e.Points)
	if len(e.Unfinished) > 0 {
		return text + "; not at their end: " + strings.Join(e.Unfinished, ", ") + " (go on with --resume)"
	}
	return text + ": give the folders of all shares, and the same file, --set, --seed and --quick as they had"
}

// Merge makes one result folder of the shares of a sweep, the same as a run of
// the whole file leaves. It computes nothing but what refinement adds. Points are
// known by all their settings, so the order of the folders, and how many there are, make
// no difference. The error is an [*UnfinishedError] or a [*FolderError] before
// anything is written, or one of [File.Execute].
func (f *File) Merge(ctx context.Context, e Execution, shares []string) (*Outcome, error) {
	records, reasons, err := f.readShares(shares)
	if err != nil {
		return nil, err
	}
	r, err := newRunner(f, e)
	if err != nil {
		return nil, err
	}
	defer f.shared.forget()
	if err := r.open(); err != nil {
		return nil, err
	}
	defer r.journal.close()
	for _, p := range f.Points {
		if found := records[p.Hash]; found != nil && r.records[p.Hash] == nil {
			if err := r.journal.append(found); err != nil {
				return nil, fmt.Errorf("cannot keep a finished point: %w", err)
			}
			r.records[p.Hash] = found
		}
	}
	r.reasons = reasons
	return r.complete(ctx)
}

// readShares collects the points of all shares and finds those that are missing.
func (f *File) readShares(shares []string) (records map[string]*record, reasons map[string]string, err error) {
	records, reasons = map[string]*record{}, map[string]string{}
	missing := &UnfinishedError{}
	var bad []error
	for _, dir := range shares {
		text, err := input.ReadInput(filepath.Join(dir, journalFile), largestJournal())
		if err != nil {
			bad = append(bad, &FolderError{dir, "is no share of a sweep: its " + journalFile + " cannot be read: " + reason(err)})
			continue
		}
		readJournal(text, records)
		text, err = input.ReadInput(filepath.Join(dir, shardFile), input.MaxInput)
		if err != nil {
			missing.Unfinished = append(missing.Unfinished, dir)
			continue
		}
		var end shardEnd
		if err := json.Unmarshal(text, &end); err != nil {
			bad = append(bad, &FolderError{dir, shardFile + " is damaged: " + err.Error()})
		}
		maps.Copy(reasons, end.Failed)
	}
	if err := errors.Join(bad...); err != nil {
		return nil, nil, err
	}
	drop(records, f.kind)
	seen := map[string]bool{}
	for _, p := range f.Points {
		_, failed := reasons[p.Hash]
		if !seen[p.Hash] && records[p.Hash] == nil && !failed {
			missing.Missing++
		}
		seen[p.Hash] = true
	}
	if missing.Points = len(seen); missing.Missing > 0 {
		return nil, nil, missing
	}
	return records, reasons, nil
}
