package input

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MostProblems is how many problems of a file are reported together: a file of
// another kind has one in every line.
const MostProblems = 50

// Problems gathers what is wrong with a file, each problem with its line.
type Problems struct {
	Name string // of the file, for messages
	list []error
	more int // beyond MostProblems, counted only
}

// ProblemAt notes what is wrong with a line, numbered from 1.
func (p *Problems) ProblemAt(line int, format string, args ...any) {
	if p.Full() {
		p.more++
		return
	}
	p.list = append(p.list, fmt.Errorf("%s:%d: "+format, append([]any{p.Name, line}, args...)...))
}

// Add takes an error that names its place itself, such as those of a file that this one
// names; nil is none.
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
		return errors.Join(append(slices.Clone(p.list), fmt.Errorf("%s: %d more problems", p.Name, p.more))...)
	}
	return errors.Join(p.list...)
}

// longestLine bounds a line, in bytes: a row of service levels has a digit for each
// destination.
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

// Next moves to the next line. It is false at the end of the text, and when there are
// too many problems.
func (l *Lines) Next() bool {
	if l.Full() || !l.in.Scan() {
		return false
	}
	l.Number++
	whole := l.in.Text()
	l.Text, l.Cut = strings.TrimSpace(whole), !strings.HasSuffix(whole, "\n")
	return true
}

// NextWords moves to the next line that has words before a comment, which # begins, and
// returns them; nil at the end.
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

// Finish is all problems, with the error of reading if there was one; nil if the text is
// read to its end and has none.
func (l *Lines) Finish() error {
	if err := l.in.Err(); err != nil {
		return errors.Join(l.Err(), fmt.Errorf("%s:%d: %w", l.Name, l.Number+1, err))
	}
	if l.Full() {
		return errors.Join(l.Err(), fmt.Errorf("%s:%d: too many problems, the rest of the file was not read", l.Name, l.Number))
	}
	return l.Err()
}

// Quote quotes a user's text for a message, cut to sixty bytes.
func Quote(text string) string {
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return strconv.Quote(text)
}

// ErrUTF16 is what readers of text make of a file in UTF-16, as some editors and
// shells of Windows write it.
var ErrUTF16 = errors.New("the file is UTF-16; save it as UTF-8")

// CheckUTF8 returns [ErrUTF16] if a text that begins like this is in UTF-16: it
// has that byte order mark, or a zero byte in its first character.
func CheckUTF8(text []byte) error {
	if len(text) >= 2 && (text[0] == 0xff && text[1] == 0xfe || text[0] == 0xfe && text[1] == 0xff || (text[0] == 0) != (text[1] == 0)) {
		return ErrUTF16
	}
	return nil
}

// Printable is a text with control characters spelt out (\u001b), so that it
// neither steers a terminal nor breaks a picture or a page: those of Unicode's
// categories Cc, but for line ends and tabs, and the marks that turn the direction
// of writing. What is no UTF-8 becomes U+FFFD.
func Printable(s string) string {
	if !strings.ContainsFunc(s, steers) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if steers(c) {
			fmt.Fprintf(&b, "\\u%04x", c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// steers tells whether a character does something else than stand in a text.
func steers(c rune) bool {
	return unicode.IsControl(c) && c != '\n' && c != '\t' || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}

// HasControl tells whether a text holds what [Printable] spells out.
func HasControl(s string) bool { return strings.ContainsFunc(s, steers) }

// Text reads a text in UTF-8: without its byte order mark, if it has one. Of a text
// in UTF-16 the first Read fails with [ErrUTF16].
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
