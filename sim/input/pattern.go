package input

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression, which is compiled when it is first asked for: most runs
// need few of those that a program knows. A bad one panics.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
