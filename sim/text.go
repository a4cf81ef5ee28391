package sim

import (
	"bufio"
	"errors"
	"io"
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
