package experiments

import (
	"fmt"
	"strings"
	"testing"
)

// TestDepth: what is nested 500 deep is read, one level more is refused at the place
// of that level, and so is what would overflow the stack of a parser.
func TestDepth(t *testing.T) {
	nest := func(open, close string, n int) string {
		return "kind = \"toy\"\ntraffic.x = " + strings.Repeat(open, n) + "1" + strings.Repeat(close, n) + "\n"
	}
	for name, c := range map[string]struct {
		text string
		want string // "": not refused for its depth
	}{
		"arrays":              {nest("[", "]", 500), ""},
		"one array more":      {nest("[", "]", 501), "x.toml:2:513: nested deeper than 500 levels"},
		"millions":            {nest("[", "]", 3_000_000), "x.toml:2:513: nested deeper than 500 levels"},
		"inline tables":       {nest("{a=", "}", 10_000), "x.toml:2:1513: nested deeper than 500 levels"},
		"a dotted key":        {strings.Repeat("a.", 10_000) + "b = 1\n", "x.toml:1:1002: nested deeper than 500 levels"},
		"a header":            {"[" + strings.Repeat("a.", 10_000) + "b]\n", "x.toml:1:1003: nested deeper than 500 levels"},
		"brackets in strings": {"kind = \"toy\"\ntitle = \"" + strings.Repeat("[", 1000) + "\" # " + strings.Repeat("{", 1000) + "\n", ""},
		"in long strings":     {"kind = \"toy\"\ntitle = '''\n" + strings.Repeat("[\n", 1000) + "'''\n", ""},
		"one after another":   {"kind = \"toy\"\ntraffic.x = [" + strings.Repeat("[1.5], ", 1000) + "]\n", ""},
	} {
		_, err := Load("x.toml", c.text, Options{})
		if text := fmt.Sprint(err); c.want != "" && text != c.want || c.want == "" && strings.Contains(text, "nested") {
			t.Errorf("%s: %.200s\nwant %q", name, text, c.want)
		}
	}
	if _, _, err := ParseSetting("traffic.x=" + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("--set: %v", err)
	}
}

// TestLongMessages: however large the input, what is said about it is not; no
// control character reaches a terminal.
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("x", 5_000_000)
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "k%d = 1\n", i)
	}
	for name, text := range map[string]string{
		"value":     "kind = \"toy\"\n[traffic]\nload = \"" + long + "\"\n",
		"kind":      "kind = \"" + long + "\"\n",
		"key":       "kind = \"toy\"\n\"" + long + "\" = 1\n",
		"unknown":   "kind = \"toy\"\n[traffic]\n" + many.String(),
		"steering":  "kind = \"\\u001b[31m\"\n\"\\u009b31m\" = 1\n",
		"not TOML":  "kind = " + long + "\n",
		"title":     "title = \"a\\u0000b\"\nkind = \"toy\"\n",
		"direction": "kind = \"toy\"\n[traffic]\n\"\\u202e\" = 1\n",
	} {
		_, err := Load("x.toml", text, Options{})
		if err == nil {
			t.Errorf("%s: read", name)
			continue
		}
		message := err.Error()
		if len(message) > 50*9000 || strings.ContainsAny(message, "\x00\x1b\u009b\u202e") {
			t.Errorf("%s: %d bytes: %.300q", name, len(message), message)
		}
		if name == "unknown" && !strings.HasSuffix(message, "\nand 980 more problems") {
			t.Errorf("1000 problems end with %.100q", message[max(0, len(message)-100):])
		}
	}
}
