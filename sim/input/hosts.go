package input

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// MostHosts bounds the names that a list of hosts expands to, longestHost each, in bytes: what POSIX
// guarantees (_POSIX_HOST_NAME_MAX), with numbers of longestNumber digits.
const (
	MostHosts     = 1 << 20
	longestHost   = 255
	longestNumber = 20
)

// ExpandHosts lists the names of a list with ranges as Slurm writes them: a[1-3,7]b,c.
func ExpandHosts(text string) (names []string, err error) {
	for len(text) > 0 {
		prefixes := []string{""}
		for {
			i := strings.IndexAny(text, ",[")
			if i < 0 {
				i = len(text)
			}
			if len(prefixes[0])+i > longestHost {
				return nil, fmt.Errorf("%s: want names of at most %d bytes", Quote(text), longestHost)
			}
			for k := range prefixes {
				prefixes[k] += text[:i]
			}
			if text = text[i:]; text == "" || text[0] == ',' {
				break
			}
			body, rest, closed := strings.Cut(text[1:], "]")
			if !closed {
				return nil, fmt.Errorf("%q: a bracket is not closed", text)
			}
			numbers, err := ranges(body)
			if err != nil {
				return nil, err
			}
			if len(prefixes)*len(numbers) > MostHosts {
				return nil, fmt.Errorf("more than %d hosts", MostHosts)
			}
			var longer []string
			for _, prefix := range prefixes {
				for _, number := range numbers {
					longer = append(longer, prefix+number)
				}
			}
			prefixes, text = longer, rest
		}
		for _, name := range prefixes {
			if name == "" {
				return nil, errors.New("a name is empty")
			}
		}
		if names = append(names, prefixes...); len(names) > MostHosts {
			return nil, fmt.Errorf("more than %d hosts", MostHosts)
		}
		if text != "" {
			if text = text[1:]; text == "" {
				return nil, errors.New("a name is missing after the last comma")
			}
		}
	}
	return names, nil
}

// ranges lists the numbers of a bracket, with the leading zeros of the first: 01-03,7.
func ranges(text string) (numbers []string, err error) {
	for _, part := range strings.Split(text, ",") {
		low, high, several := strings.Cut(part, "-")
		if !several {
			high = low
		}
		if len(low) > longestNumber || len(high) > longestNumber {
			return nil, fmt.Errorf("%s: want numbers of at most %d digits", Quote(part), longestNumber)
		}
		first, err := strconv.ParseUint(low, 10, 31)
		last, err2 := strconv.ParseUint(high, 10, 31)
		if err != nil || err2 != nil || last < first {
			return nil, fmt.Errorf("[%s]: want numbers and ranges of numbers, such as 1-3,7", text)
		}
		if last-first >= MostHosts || len(numbers) > MostHosts {
			return nil, fmt.Errorf("more than %d hosts", MostHosts)
		}
		for i := first; i <= last; i++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(low), i))
		}
	}
	return numbers, nil
}

// Pattern is a regular expression compiled at first use: most runs need few of a program's. A bad
// one panics.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// MaxNesting bounds lists, tables and keys of TOML within each other: its reader goes a call deeper a level.
const MaxNesting = 500

var tomlToken = Pattern(`"""(?s:\\.|[^\\])*?"""|'''(?s:.)*?'''|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|\n|#[^\n]*|[\[\]{}.]`)

// DeepTOML is the line in which a text is nested deeper than [MaxNesting], 0 if it is not.
func DeepTOML(text string) int {
	line, depth, parts := 1, 0, 0
	for at := tomlToken().FindStringIndex(text); at != nil; at = tomlToken().FindStringIndex(text) {
		switch token := text[at[0]:at[1]]; token {
		case "[", "{":
			depth++
		case "]", "}":
			depth = max(0, depth-1)
		case ".":
			parts++
		case "\n":
			parts = 0
			line++
		default:
			line += strings.Count(token, "\n")
		}
		if max(depth, parts) > MaxNesting {
			return line
		}
		text = text[at[1]:]
	}
	return 0
}
