package input_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/input"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		text, want string
		err        error
	}{
		{"", "", nil},
		{"a", "a", nil},
		{"\x00\x00", "\x00\x00", nil}, // no character of any text: what reads it says so
		{"zwölf\n", "zwölf\n", nil},
		{"\ufeffzwölf", "zwölf", nil},
		{"\ufeff", "", nil},
		{"\xff\xfea\x00", "", input.ErrUTF16},
		{"\xfe\xff\x00a", "", input.ErrUTF16},
		{"a\x00b\x00", "", input.ErrUTF16},
		{"\x00a\x00b", "", input.ErrUTF16},
	} {
		got, err := io.ReadAll(input.Text(strings.NewReader(c.text)))
		if string(got) != c.want || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
			t.Errorf("%q: %q, %v; want %q, %v", c.text, got, err, c.want, c.err)
		}
	}
}
