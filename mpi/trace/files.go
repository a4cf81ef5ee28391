package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Naming is how the files of the ranks of a trace are named: a pattern of three parts,
// of which the second is the rank, and the fewest digits of it.
type Naming struct {
	Pattern *regexp.Regexp
	Digits  int
}

// Files are the files of the trace to which one of them belongs, by rank: those of the
// same name with other numbers, or one more than are there, as it is missing. A name
// that does not follow the pattern is that of a trace of one rank.
func (n Naming) Files(name string) []string {
	parts := n.Pattern.FindStringSubmatch(filepath.Base(name))
	if parts == nil {
		return []string{name}
	}
	names, _ := input.Names(filepath.Dir(name))
	ranks, found := 0, 0
	for _, f := range append(names, filepath.Base(name)) {
		if p := n.Pattern.FindStringSubmatch(f); p != nil && p[1] == parts[1] && p[3] == parts[3] {
			r, _ := strconv.Atoi(p[2])
			ranks = max(ranks, r+1)
			found++
		}
	}
	var files []string
	for r := range min(ranks, found) {
		files = append(files, filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%0*d%s", parts[1], n.Digits, r, parts[3])))
	}
	return files
}

// Find is the file that a trace is told by: the name itself, or if it is a folder or a tar
// file the first one in it of the endings that name such files; or the only file.
func Find(name string, endings []string) (string, error) {
	names, err := input.Names(name)
	if err != nil || len(names) == 0 {
		return name, err
	}
	var found []string
	for _, ending := range endings {
		for _, n := range names {
			if strings.HasSuffix(n, ending) {
				found = append(found, n)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if found == nil {
		found = names
	}
	if len(found) > 1 {
		return "", fmt.Errorf("holds %d traces, as %s and %s: name one, as %s", len(found), found[0], found[1], filepath.Join(filepath.Base(name), found[0]))
	}
	return filepath.Join(name, found[0]), nil
}

// Bytes are those of a binary file of a trace, for readers of records. After an error they are zeros.
type Bytes struct {
	Name string
	At   int64 // of the next one
	Err  error // the first
	In   *bufio.Reader
	file io.Closer
	ends string
}

// OpenBytes opens a file; ends is what is said of one that ends in the middle of a record.
func OpenBytes(name, ends string) (*Bytes, error) {
	f, err := input.OpenInput(name, input.MaxStream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Bytes{Name: name, In: bufio.NewReaderSize(f, 1<<16), file: f, ends: ends}, nil
}

// Close closes the file.
func (b *Bytes) Close() { b.file.Close() }

// Fail keeps the first error, with its place.
func (b *Bytes) Fail(at int64, format string, args ...any) {
	if b.Err == nil {
		b.Err = fmt.Errorf("%s: byte %d: "+format, append([]any{b.Name, at}, args...)...)
	}
}

// Next are the next n, good until the next call.
func (b *Bytes) Next(n int) []byte {
	next, err := b.In.Peek(n)
	if err != nil || b.Err != nil {
		if err == io.EOF {
			err = errors.New(b.ends)
		}
		b.Fail(b.At+int64(len(next)), "%w", err)
		return make([]byte, n)
	}
	b.In.Discard(n)
	b.At += int64(n)
	return next
}

// Skip passes over the next n.
func (b *Bytes) Skip(n int) {
	done, err := b.In.Discard(n)
	b.At += int64(done)
	if err != nil {
		b.Next(1)
	}
}

// Append appends the next n to a list.
func (b *Bytes) Append(list []byte, n int) []byte {
	for ; n > 0 && b.Err == nil; n -= min(n, b.In.Size()) {
		list = append(list, b.Next(min(n, b.In.Size()))...)
	}
	return list
}

// Uvarint is the next number, of a variable length.
func (b *Bytes) Uvarint() uint64 {
	begin := b.At
	for shift, n := 0, uint64(0); shift < 64 && b.Err == nil; shift += 7 {
		next := b.Next(1)[0]
		if n |= uint64(next&0x7f) << shift; next < 0x80 {
			return n
		}
	}
	b.Fail(begin, "a number of more than 64 bits")
	return 0
}
