package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// record is a finished point: what the journal keeps of it, and what a worker
// on another machine sends back.
type record struct {
	Hash         string       `json:"hash"`
	Replications int          `json:"replications"`
	Cells        []string     `json:"cells"`
	Tables       []*Output    `json:"tables,omitempty"`
	Files        []Attachment `json:"files,omitempty"`
	Events       int64        `json:"events"`
	FlitHops     int64        `json:"flit_hops"`
	WallSeconds  float64      `json:"wall_seconds"`
	PeakBytes    int64        `json:"peak_bytes"`
	OnOneThread  string       `json:"on_one_thread,omitempty"` // why, where there were more threads
}

// journal keeps finished points safe: an append-only file of lines, each a
// checksum (CRC-32C, 8 hexadecimal digits) and a record as JSON. A line is on
// disk before its point counts as finished; a line torn by a crash fails its
// checksum and is dropped with all that follows it, so that the file always
// ends with a whole line before it is written to again.
type journal struct{ file *os.File }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal opens or creates the journal at path and returns the records in
// it that fit the kind, the last one for each hash. With keep unset old records are removed. What is
// no regular file, such as a link that leads elsewhere, is refused.
func openJournal(path string, keep bool, k *kind) (j *journal, records map[string]*record, err error) {
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
	if err := lockFile(file); err != nil {
		return nil, nil, fmt.Errorf("another weft is writing to %s", path)
	}
	records = map[string]*record{}
	end := int64(0)
	if keep {
		text, err := io.ReadAll(io.LimitReader(file, largestJournal()+1))
		if err == nil && int64(len(text)) > largestJournal() {
			err = errors.New("the journal is too long for the memory of this machine")
		}
		if err != nil {
			return nil, nil, err
		}
		records, end = readJournal(text, k)
	}
	if err := file.Truncate(end); err != nil {
		return nil, nil, err
	}
	if _, err := file.Seek(end, io.SeekStart); err != nil {
		return nil, nil, err
	}
	return &journal{file}, records, nil
}

// readJournal collects the records of whole lines that fit a kind, and the length of the
// part that is whole.
func readJournal(text []byte, k *kind) (records map[string]*record, end int64) {
	records = map[string]*record{}
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
	maps.DeleteFunc(records, func(_ string, r *record) bool { return !r.fits(k) })
	return records, end
}

var errTorn = errors.New("experiments: torn journal line")

func parseLine(line []byte) (*record, error) {
	if len(line) < 9 || line[8] != ' ' {
		return nil, errTorn
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(line[9:], castagnoli) {
		return nil, errTorn
	}
	r := &record{}
	if err := json.Unmarshal(line[9:], r); err != nil {
		return nil, err
	}
	return r, nil
}

// largestJournal is the length of a journal that is still read: what its records
// become takes as much again.
func largestJournal() int64 { return input.Memory() / 2 }

// fits tells whether a record can be of a kind. A journal may come from anywhere: a
// record that does not fit counts as torn, its point as not finished.
func (r *record) fits(k *kind) bool {
	seen := map[string]bool{}
	for _, t := range r.Tables {
		if t == nil || seen[t.Name] || !slices.Contains(k.tables, t.Name) {
			return false
		}
		seen[t.Name] = true
		for _, row := range t.Rows {
			if len(row) != len(t.Columns) {
				return false
			}
		}
	}
	for _, f := range r.Files {
		if !plainName(f.Folder) || !plainName(f.Extension) {
			return false
		}
	}
	return len(r.Cells) == len(k.columns)
}

// plainName tells whether a name is made of small letters and underscores, so that
// it leads nowhere.
func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// append writes a record and forces it to disk.
func (j *journal) append(r *record) error {
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
