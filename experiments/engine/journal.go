package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
)

// journal keeps finished points safe: an append-only file of lines, each a checksum (CRC-32C, 8
// hexadecimal digits) and a record as JSON. A line is on disk before its point counts as finished;
// a line torn by a crash fails its checksum and is dropped with all that follows it, so that the
// file always ends with a whole line before it is written to again.
type journal struct{ file *os.File }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal opens or creates the journal at path and returns the records in
// it that fit the file, the last one for each hash. With keep unset old records are removed. What is
// no regular file, such as a link that leads elsewhere, is refused.
func openJournal(path string, keep bool, f *experiments.File) (j *journal, records map[string]*experiments.Record, err error) {
	before, absent := os.Lstat(path)
	if absent == nil && !before.Mode().IsRegular() {
		return nil, nil, errors.New(journalFile + " is not a regular file")
	}
	flags := os.O_RDWR
	if absent != nil {
		flags |= os.O_CREATE | os.O_EXCL // follows no link
	}
	file, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	if now, err := file.Stat(); absent == nil && (err != nil || !os.SameFile(before, now)) {
		return nil, nil, errors.New(journalFile + " was replaced while it was opened")
	}
	if err := experiments.LockFile(file); err != nil {
		return nil, nil, fmt.Errorf("another weft is writing to %s", path)
	}
	records = map[string]*experiments.Record{}
	end := int64(0)
	if keep {
		text, err := io.ReadAll(io.LimitReader(file, largestJournal()+1))
		if err == nil && int64(len(text)) > largestJournal() {
			err = errors.New("the journal is too long for the memory of this machine")
		}
		if err != nil {
			return nil, nil, err
		}
		records, end = readJournal(text, f)
	}
	if err := file.Truncate(end); err != nil {
		return nil, nil, err
	}
	if _, err := file.Seek(end, io.SeekStart); err != nil {
		return nil, nil, err
	}
	return &journal{file}, records, nil
}

// readJournal collects the records of whole lines that fit a file, and the length of the
// part that is whole.
func readJournal(text []byte, f *experiments.File) (records map[string]*experiments.Record, end int64) {
	records = map[string]*experiments.Record{}
	for {
		length := int64(bytes.IndexByte(text[end:], '\n'))
		if length < 0 {
			break
		}
		r, err := parseLine(text[end : end+length])
		if err != nil {
			break
		}
		records[r.Hash] = r
		end += length + 1
	}
	maps.DeleteFunc(records, func(_ string, r *experiments.Record) bool { return !r.Fits(f) })
	return records, end
}

var errTorn = errors.New("experiments: torn journal line")

func parseLine(line []byte) (*experiments.Record, error) {
	if len(line) < 9 || line[8] != ' ' {
		return nil, errTorn
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(line[9:], castagnoli) {
		return nil, errTorn
	}
	r := &experiments.Record{}
	if err := json.Unmarshal(line[9:], r); err != nil {
		return nil, err
	}
	return r, nil
}

// largestJournal is the length of a journal that is still read: what its records
// become takes as much again.
func largestJournal() int64 { return input.Memory() / 2 }

// append writes a record and forces it to disk.
func (j *journal) append(r *experiments.Record) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line := append(fmt.Appendf(nil, "%08x ", crc32.Checksum(body, castagnoli)), body...)
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

func (j *journal) close() error { return j.file.Close() }

// Shard is a share of a sweep: of Of shares, the one with number Index, from 1. Points are dealt
// out in turn, so that each share has points of all loads. The zero value is the whole sweep.
type Shard struct{ Index, Of int }

// ParseShard reads "2/8". Both numbers are at least 1, and the first is at most the second.
func ParseShard(text string) (Shard, error) {
	var s Shard
	index, of, ok := strings.Cut(text, "/")
	var err1, err2 error
	s.Index, err1 = strconv.Atoi(index)
	s.Of, err2 = strconv.Atoi(of)
	if !ok || err1 != nil || err2 != nil || s.Index < 1 || s.Of < s.Index || s.Of > experiments.MaxPoints {
		return Shard{}, fmt.Errorf("%q: want the number of a share and how many there are, such as 1/8 to 8/8", text)
	}
	return s, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// of keeps the points of a share. Variants that come down to the same settings are one point.
func (s Shard) of(points []*experiments.Point) []*experiments.Point {
	var mine []*experiments.Point
	seen := map[string]bool{}
	for _, p := range points {
		if !seen[p.Hash] && len(seen)%s.Of == s.Index-1 {
			mine = append(mine, p)
		}
		seen[p.Hash] = true
	}
	return mine
}

// shardFile ends a share of [Execution].
const shardFile = "shard.json"

// shareEnd is what a share leaves when no point is left to compute.
type shareEnd struct {
	Experiment string            `json:"experiment"`
	Weft       string            `json:"weft"`
	Shard      string            `json:"shard,omitempty"`
	Points     int               `json:"points"`
	Failed     map[string]string `json:"failed,omitempty"` // reason by hash
}

// executeShard computes the share that the execution names. Its results wait in the
// journal to be merged ([Execution].Shares); points that refinement adds are left to that.
func (r *runner) executeShard(ctx context.Context) (*Outcome, error) {
	r.points = r.execution.Shard.of(r.points)
	err := r.computeShare(ctx, filepath.Join(r.execution.Dir, shardFile))
	outcome := &Outcome{Points: len(r.points), Reused: r.reused, Finished: r.finished()}
	switch {
	case r.writeError != nil:
		r.leaveNothing()
		return nil, err
	case err == nil:
		outcome.Failures = r.failures()
	}
	return outcome, err
}

// computeShare computes the points of a share, of which the runner has a journal, and
// writes its end. The error is [experiments.ErrInterrupted] where ctx ends before they are done.
func (r *runner) computeShare(ctx context.Context, end string) error {
	r.computeAll(ctx, r.points)
	switch {
	case r.writeError != nil:
		return r.writeError
	case r.left() > 0:
		return experiments.ErrInterrupted
	}
	shard := ""
	if r.execution.Shard.Of > 0 {
		shard = r.execution.Shard.String()
	}
	return writeJSON(filepath.Dir(end), filepath.Base(end), shareEnd{r.file.Name, experiments.Version(), shard, len(r.points), r.reasons})
}

// share is what another process has computed, or is computing.
type share struct {
	journal, end string // files
	read         int64  // of the journal
}

// news is what a share has come to since the last look.
type news struct {
	found  map[string]*experiments.Record // finished points
	failed map[string]string              // reasons of those that have failed; known at the end
	ended  bool
	unread error // why there is no journal
}

// look reads what is new. The error says that the end is damaged.
func (s *share) look(f *experiments.File) (n news, damaged error) {
	// The end first: all points are in the journal then.
	last, absent := input.ReadRegular(s.end, input.MaxInput)
	var text []byte
	if text, n.unread = input.ReadRegular(s.journal, largestJournal()); int64(len(text)) > s.read {
		var whole int64
		n.found, whole = readJournal(text[s.read:], f)
		s.read += whole
	}
	if n.ended = absent == nil; !n.ended {
		return n, nil
	}
	var end shareEnd
	if err := json.Unmarshal(last, &end); err != nil {
		damaged = fmt.Errorf("%s is damaged: %w", filepath.Base(s.end), err)
	}
	n.failed = end.Failed
	return n, damaged
}

// take keeps what shares have found of some points.
func (r *runner) take(points []*experiments.Point, found map[string]*experiments.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range points {
		if rec := found[p.Hash]; rec != nil && r.records[p.Hash] == nil {
			if err := r.keep(rec); err != nil {
				return err
			}
		}
	}
	return nil
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

// readShares collects the points of all shares and finds those that are missing.
func readShares(f *experiments.File, dirs []string) (records map[string]*experiments.Record, reasons map[string]string, err error) {
	records, reasons = map[string]*experiments.Record{}, map[string]string{}
	missing := &UnfinishedError{}
	var bad []error
	for _, dir := range dirs {
		s := share{journal: filepath.Join(dir, journalFile), end: filepath.Join(dir, shardFile)}
		n, damaged := s.look(f)
		switch {
		case n.unread != nil:
			bad = append(bad, &FolderError{dir, "is no share of a sweep: its " + journalFile + " cannot be read: " + results.Reason(n.unread)})
		case !n.ended:
			missing.Unfinished = append(missing.Unfinished, dir)
		case damaged != nil:
			bad = append(bad, &FolderError{dir, damaged.Error()})
		}
		maps.Copy(records, n.found)
		maps.Copy(reasons, n.failed)
	}
	if err := errors.Join(bad...); err != nil || len(dirs) == 0 {
		return nil, reasons, err
	}
	all := (Shard{1, 1}).of(f.Points)
	for _, p := range all {
		if _, failed := reasons[p.Hash]; records[p.Hash] == nil && !failed {
			missing.Missing++
		}
	}
	if missing.Points = len(all); missing.Missing > 0 {
		return nil, nil, missing
	}
	return records, reasons, nil
}
