package traffic

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzMatches holds patterns to regular expressions.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{{"switch 1", "switch 1"}, {"switch *", "switch 12"}, {"*port 1", "switch 1 port 1"}, {"a*a", "a"}, {"*b*", "abc"}, {"**", ""}, {"", "x"}, {"ab*b*b", "abb"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		expression, err := regexp.Compile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
		if err != nil {
			t.Skip(err) // it is no text
		}
		if got, want := matches(pattern, name), expression.MatchString(name); got != want {
			t.Errorf("pattern %q and %q: %v, want %v", pattern, name, got, want)
		}
	})
}
