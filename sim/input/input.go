// Package input reads what users hand in: files of any packing within limits, text in editors'
// encodings, and estimates of the memory that settings would take, before it is taken.
package input

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// Limits of users' files, in bytes of content: what a compressed file becomes counts, not its size
// on disk. Pipes have the same limits, devices MaxSettings.
const (
	// MaxSettings is for files that people write: experiment files.
	MaxSettings = 16 << 20
	// MaxInput is for files held in memory: topologies, dumps, tables of results, journals.
	MaxInput = 1 << 30
	// MaxStream is for files that are read line by line: GOAL schedules, dumps.
	MaxStream = 64 << 30
)

// Limits of what a packed file becomes, in bytes: spaceFirst, and a multiple of the bytes read of
// it, which no meaningful text or trace reaches; less for files held in memory (limit up to
// MaxInput).
const (
	spaceFirst, spaceHeld, spaceStream = 32 << 20, 32, 128
)

// maxWindow bounds the memory of zstd's decoder: 128 MiB, the zstd program's default.
const maxWindow = 128 << 20

// OpenInput opens a file that a user names for reading, which may be a member of a tar
// file, packed or not: ARCHIVE/MEMBER, or come with the program: weft:NAME. Files of gzip and zstd are told by their first
// bytes, whatever their names, and read as what they hold.
// Reading fails once the content is longer than limit bytes, with an [*InputError];
// a regular file that is too long is refused at once, and a packed one once it holds much more
// than packing saves. Every error is an
// [*InputError], without the file's name.
func OpenInput(path string, limit int64) (io.ReadCloser, error) {
	if strings.ContainsRune(path, 0) {
		return nil, &InputError{"its name holds a zero byte"}
	}
	if name, ok := strings.CutPrefix(path, Bundled); ok {
		file, err := bundled.Open(name)
		if err != nil {
			return nil, &InputError{"no such file comes with weft"}
		}
		return open(file, limit)
	}
	file, err := os.Open(path)
	if err == nil {
		return open(file, limit)
	}
	member, memberErr := openMember(path)
	switch {
	case memberErr != nil:
		return nil, memberErr
	case member == nil:
		return nil, inputError(err)
	}
	return open(member, limit)
}

func open(f fs.File, limit int64) (*input, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		err = inputError(err)
	case info.IsDir():
		err = &InputError{"is a folder"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.Mode()&os.ModeDevice != 0 {
		limit = min(limit, MaxSettings) // a terminal; nothing else that is one has an end
	}
	in := &input{file: f, limit: limit, left: limit}
	err = in.decompress(bufio.NewReaderSize(counter{f, &in.packed}, 1<<16))
	if err == nil && in.kind == "" && info.Mode().IsRegular() && info.Size() > limit {
		err = tooLong(limit)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// OpenRegular is [OpenInput] of a file that weft has written, such as one of a result folder: it
// refuses pipes, which would be waited for, and devices.
func OpenRegular(path string, limit int64) (io.ReadCloser, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &InputError{"is not a regular file"}
	}
	return OpenInput(path, limit)
}

// ReadRegular reads a file as [OpenRegular] does, whole.
func ReadRegular(path string, limit int64) ([]byte, error) { return whole(OpenRegular(path, limit)) }

// ReadInput reads a file as [OpenInput] does, whole.
func ReadInput(path string, limit int64) ([]byte, error) { return whole(OpenInput(path, limit)) }

// ReadInputIn is [ReadInput] of a file in a folder.
func ReadInputIn(folder fs.FS, path string, limit int64) ([]byte, error) {
	f, err := folder.Open(path)
	if err != nil {
		return nil, inputError(err)
	}
	return whole(open(f, limit))
}

// whole reads and closes an input, if it could be opened.
func whole(opened io.ReadCloser, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	in := opened.(*input)
	defer in.Close()
	var content bytes.Buffer
	if info, err := in.file.Stat(); err == nil && info.Mode().IsRegular() && in.kind == "" {
		content.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = content.ReadFrom(in)
	return content.Bytes(), err
}

// InputError says why a file that a user named cannot be read.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return e.Reason }

func tooLong(limit int64) error {
	return &InputError{fmt.Sprintf("holds more than %s, the most that is read", byteCount(limit))}
}

// byteCount writes a limit as people do: all are whole MiB or GiB.
func byteCount(n int64) string {
	if n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// inputError takes the name of the file, which messages have already, off an error of the system.
func inputError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return &InputError{err.Error()}
}

// input is a file being read.
type input struct {
	file        fs.File
	content     io.Reader
	close       func()
	kind        string // of compression; "" for none
	limit, left int64
	packed      int64 // bytes read of the file
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n *int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += int64(n)
	return n, err
}

// swollen is the error of a packed file that holds more than packing saves.
func (in *input) swollen() error {
	times := int64(spaceStream)
	if in.limit <= MaxInput {
		times = spaceHeld
	}
	if content := in.limit - in.left; in.kind != "" && content > spaceFirst+times*in.packed {
		return &InputError{fmt.Sprintf("%d bytes of %s hold more than %d bytes: want at most %s and %d times the packed size; unpack it if that is right", in.packed, in.kind, content, byteCount(spaceFirst), times)}
	}
	return nil
}

// decompress finds out from the first bytes what the file holds.
func (in *input) decompress(r *bufio.Reader) error {
	start, err := r.Peek(4)
	if err != nil && err != io.EOF {
		return inputError(err)
	}
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		if err != nil {
			return &InputError{"damaged gzip file: " + err.Error()}
		}
		in.content, in.kind = z, "gzip"
	case bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return &InputError{"damaged zstd file: " + err.Error()}
		}
		in.content, in.kind, in.close = z, "zstd", z.Close
	case bytes.HasPrefix(start, []byte("\xfd7zX")), bytes.HasPrefix(start, []byte("BZh")), bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return &InputError{"packed by xz, bzip2 or zip, of which weft reads none: unpack it, or pack it with gzip or zstd"}
	default:
		in.content = r
	}
	return nil
}

func (in *input) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > in.left+1 {
		p = p[:in.left+1] // one byte tells whether there is more
	}
	n, err := in.content.Read(p)
	if int64(n) > in.left {
		return int(in.left), tooLong(in.limit)
	}
	in.left -= int64(n)
	if swollen := in.swollen(); swollen != nil {
		return n, swollen
	}
	switch {
	case err == nil || err == io.EOF:
	case in.kind != "":
		err = &InputError{fmt.Sprintf("damaged %s file: %v", in.kind, err)}
	default:
		err = inputError(err)
	}
	return n, err
}

func (in *input) Close() error {
	if in.close != nil {
		in.close()
	}
	return in.file.Close()
}

// MostProblems is how many problems of a file are reported: a wrong file has one in every line.
const MostProblems = 10

// Problems gathers what is wrong with a file, each problem with its line.
type Problems struct {
	Name string // of the file, for messages
	list []error
	more int // beyond MostProblems, counted only
}

// ProblemAt notes what is wrong with a line, from 1 (also what a file lacks at its end). Texts that
// the format quotes (%q) are cut as by [Quote].
func (p *Problems) ProblemAt(line int, format string, args ...any) {
	if p.Full() {
		p.more++
		return
	}
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = foreign(text)
		}
	}
	p.list = append(p.list, fmt.Errorf("%s:%d: "+format, append([]any{p.Name, max(1, line)}, args...)...))
}

// foreign is a text of a message, which is cut where it is quoted.
type foreign string

func (s foreign) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprint(f, Quote(string(s)))
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), string(s))
}

// Add takes an error that names its place itself, as of a file that this file names; nil is none.
func (p *Problems) Add(err error) {
	switch {
	case err == nil:
	case p.Full():
		p.more++
	default:
		p.list = append(p.list, err)
	}
}

// Full tells that no more problems are wanted.
func (p *Problems) Full() bool { return len(p.list) >= MostProblems }

// Any tells whether there is a problem.
func (p *Problems) Any() bool { return len(p.list) > 0 }

// Err is all problems, nil if there are none. Those beyond [MostProblems] are counted.
func (p *Problems) Err() error {
	if p.more > 0 {
		return errors.Join(append(slices.Clone(p.list), &More{p.Name, p.more})...)
	}
	return errors.Join(p.list...)
}

// More is problems of a file that are counted only.
type More struct {
	Name     string // of the file
	Problems int
}

func (m *More) Error() string { return fmt.Sprintf("%s: %d more problems", m.Name, m.Problems) }

// longestLine bounds a line, in bytes: a row of service levels has a digit for each destination.
const longestLine = 1 << 24

// Lines reads a text in UTF-8 line by line and gathers its problems:
//
//	for in := input.NewLines(r, name); in.Next(); {
//		... in.Text, in.Problem(...)
//	}
//	return in.Finish()
type Lines struct {
	*Problems
	Number int    // of the current line, from 1; after the last, of that
	Text   string // without white space around it
	Cut    bool   // the line has no line end: it is the last, and perhaps not whole

	in *bufio.Scanner
}

// NewLines reads r; name is the file's name for messages.
func NewLines(r io.Reader, name string) *Lines { return LinesInto(&Problems{Name: name}, r) }

// LinesInto reads r for a reader that has a list of problems already.
func LinesInto(p *Problems, r io.Reader) *Lines {
	l := &Lines{Problems: p, in: bufio.NewScanner(Text(r))}
	l.in.Buffer(nil, longestLine)
	l.in.Split(wholeLines)
	return l
}

// wholeLines splits a text behind its line ends.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end+1], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// Next moves to the next line. It is false at the end of the text.
func (l *Lines) Next() bool {
	if !l.in.Scan() {
		return false
	}
	l.Number++
	whole := l.in.Text()
	l.Text, l.Cut = strings.TrimSpace(whole), !strings.HasSuffix(whole, "\n")
	return true
}

// NextWords moves to the next line with words before a comment (#) and returns them; nil at the
// end.
func (l *Lines) NextWords() []string {
	for l.Next() {
		text, _, _ := strings.Cut(l.Text, "#")
		if words := strings.Fields(text); len(words) > 0 {
			return words
		}
	}
	return nil
}

// Problem notes what is wrong with the current line.
func (l *Lines) Problem(format string, args ...any) { l.ProblemAt(l.Number, format, args...) }

// Finish is all problems, with the error of reading if any; nil if the whole text has none.
func (l *Lines) Finish() error {
	if err := l.in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a line of more than %s", byteCount(longestLine))
		}
		return errors.Join(l.Err(), fmt.Errorf("%s:%d: %w", l.Name, l.Number+1, err))
	}
	return l.Err()
}

// Quote quotes a user's text for a message, cut to 80 characters.
func Quote(text string) string { return strconv.Quote(Cut(text)) }

// Cut is a user's text for a message, cut to 80 characters.
func Cut(text string) string {
	characters := 0
	for i := range text {
		if characters++; characters > 80 {
			return text[:i] + "..."
		}
	}
	return text
}

// ErrUTF16 is the error for UTF-16, as some editors and shells of Windows write it.
var ErrUTF16 = errors.New("the file is UTF-16; save it as UTF-8")

// CheckUTF8 returns [ErrUTF16] if a text begins as UTF-16 does: with its byte order mark, or a zero
// byte in the first character.
func CheckUTF8(text []byte) error {
	if len(text) >= 2 && (text[0] == 0xff && text[1] == 0xfe || text[0] == 0xfe && text[1] == 0xff || (text[0] == 0) != (text[1] == 0)) {
		return ErrUTF16
	}
	return nil
}

// Printable is a text with control characters spelt out (\u001b), so that it
// neither steers a terminal nor breaks a picture or a page. Control characters are
// Unicode's category Cc, but for line ends and tabs, and the marks that turn the
// direction of writing. What is no UTF-8 becomes U+FFFD.
func Printable(s string) string {
	if !strings.ContainsFunc(s, Steers) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if Steers(c) {
			fmt.Fprintf(&b, "\\u%04x", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Steers tells whether a character does something else than stand in a text.
func Steers(c rune) bool {
	return unicode.IsControl(c) && c != '\n' && c != '\t' || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}

// HasControl tells whether a text holds what [Printable] spells out.
func HasControl(s string) bool { return strings.ContainsFunc(s, Steers) }

// Text reads a text in UTF-8 without its byte order mark. In UTF-16 the first Read fails with
// [ErrUTF16].
func Text(r io.Reader) io.Reader { return &text{in: bufio.NewReader(r)} }

type text struct {
	in      *bufio.Reader
	started bool
	err     error
}

func (t *text) Read(p []byte) (int, error) {
	if !t.started {
		t.started = true
		start, _ := t.in.Peek(3) // errors are met again
		if t.err = CheckUTF8(start); string(start) == "\ufeff" {
			_, t.err = t.in.Discard(3)
		}
	}
	if t.err != nil {
		return 0, t.err
	}
	return t.in.Read(p)
}
