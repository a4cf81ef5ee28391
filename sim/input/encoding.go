package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
