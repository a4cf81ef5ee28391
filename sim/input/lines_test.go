package input_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestLines: numbers from 1, no white space around, and whether the last line is whole.
func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":              nil,
		"a":             {"1 a cut"},
		"a\n":           {"1 a"},
		" a \r\n\n\tb ": {"1 a", "2 ", "3 b cut"},
		"\ufeffa\nb\n":  {"1 a", "2 b"},
	} {
		in := input.NewLines(strings.NewReader(text), "x")
		var got []string
		for in.Next() {
			line := fmt.Sprint(in.Number, " ", in.Text)
			if in.Cut {
				line += " cut"
			}
			got = append(got, line)
		}
		err := in.Finish()
		simtest.ErrorIf(t, err != nil || !slices.Equal(got, want), "%q: %q, %v; want %q", text, got, err, want)
	}
}

// TestNextWords: lines of white space and of comments are passed over.
func TestNextWords(t *testing.T) {
	in := input.NewLines(strings.NewReader("# a\n\nb  c # d\n #e\nf\n"), "x")
	var got []string
	for words := in.NextWords(); words != nil; words = in.NextWords() {
		got = append(got, fmt.Sprintf("%d%s", in.Number, words))
	}
	want := []string{"3[b c]", "5[f]"}
	simtest.ErrorIf(t, !slices.Equal(got, want), "%q, want %q", got, want)
}

// TestLinesProblems: problems come together, with their lines; a file that has one in each
// line is not read to its end, and an error of reading names the line that it is in.
func TestLinesProblems(t *testing.T) {
	in := input.NewLines(strings.NewReader("a\nb\nc\n"), "x")
	for in.Next() {
		if in.Text != "b" {
			in.Problem("%s is wrong", input.Quote(in.Text))
		}
	}
	simtest.Equal(t, fmt.Sprint(in.Finish()), "x:1: \"a\" is wrong\nx:3: \"c\" is wrong", "")
	lines := 0
	for in = input.NewLines(strings.NewReader(strings.Repeat("a\n", 1000)), "x"); in.Next(); lines++ {
		in.Problem("wrong")
	}
	err := fmt.Sprint(in.Finish())
	simtest.ErrorIf(t, lines != 1000 || !strings.HasSuffix(err, "\nx: 990 more problems") || strings.Count(err, "\n") != input.MostProblems,
		"%d lines: %s", lines, err)
	broken := errors.New("broken")
	in = input.NewLines(iotest.ErrReader(broken), "x")
	simtest.ErrorIf(t, in.Next() || !errors.Is(in.Finish(), broken) || in.Finish().Error() != "x:1: broken", "%v", in.Finish())
	in = input.NewLines(strings.NewReader("a\n"+strings.Repeat("b", 1<<24+1)), "x")
	simtest.ErrorIf(t, !in.Next() || in.Next() || fmt.Sprint(in.Finish()) != "x:2: a line of more than 16 MiB", "a line without end is read")
}

// TestProblems: those that come after the text is read, such as of the file as a whole, are
// bounded too.
func TestProblems(t *testing.T) {
	p := input.Problems{Name: "x"}
	simtest.ErrorIf(t, p.Any() || p.Err() != nil, "%v", p.Err())
	p.Add(nil)
	simtest.ErrorIf(t, p.Any(), "no error is a problem")
	for i := range 60 {
		p.ProblemAt(i, "wrong")
	}
	err := p.Err().Error()
	simtest.ErrorIf(t, !strings.HasSuffix(err, "\nx: 50 more problems") || strings.Count(err, "\n") != input.MostProblems, "%v", err)
}

func TestQuote(t *testing.T) {
	got := input.Quote(strings.Repeat("ä\n", 50))
	simtest.ErrorIf(t, got != `"`+strings.Repeat(`ä\n`, 40)+`..."`, "%s", got)
	p := input.Problems{Name: "x"} // what a message quotes is cut, whatever its length; what it says is not
	p.ProblemAt(1, "%q: want %s, %q", strings.Repeat("a", 1<<20), strings.Repeat("b", 100), "c")
	got, want := p.Err().Error(), `x:1: "`+strings.Repeat("a", 80)+`...": want `+strings.Repeat("b", 100)+`, "c"`
	simtest.ErrorIf(t, got != want, "%s", got)
}

// FuzzLines: any text is lines that together are the text without its white space.
func FuzzLines(f *testing.F) {
	for _, text := range []string{"", "a\nb", "\xff\xfea\x00", "a\r\n\n b\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := input.NewLines(strings.NewReader(text), "x")
		var got []string
		for in.Next() {
			got = append(got, in.Text)
		}
		if in.Finish() != nil {
			return
		}
		want := strings.Split(strings.TrimSuffix(strings.TrimPrefix(text, "\ufeff"), "\n"), "\n")
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if strings.TrimPrefix(text, "\ufeff") == "" {
			want = nil
		}
		simtest.ErrorIf(t, !slices.Equal(got, want), "%q: %q, want %q", text, got, want)
	})
}

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
