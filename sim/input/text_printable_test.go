package input

import "testing"

// Line ends, tabs and letters stay; what steers a terminal or turns the direction
// of writing is spelt out; what is no UTF-8 is replaced.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc µ 漢":         "a\tb\nc µ 漢",
		"\x1b[31mred\x00\x7f": `\u001b[31mred\u0000\u007f`,
		"\u0085\u009b":        `\u0085\u009b`,
		"\u202eabc\u2066":     `\u202eabc\u2066`,
		"a\xffb":              "a\ufffdb",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if HasControl(in) != HasControl(want) && HasControl(want) {
			t.Errorf("%q still steers", want)
		}
	}
}
