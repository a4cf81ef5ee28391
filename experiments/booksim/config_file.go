package booksim

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Config is a configuration file of BookSim2. What it does not set has BookSim2's
// default.
type Config struct {
	file string
	set  map[string]setting
}

type setting struct {
	value string
	line  int
}

// ParseConfig reads a configuration file: settings "name = value;", comments from //
// to the end of the line. A later value of a name replaces an earlier one. The error
// is of type experiments.Problems and holds everything that is wrong.
func ParseConfig(file, text string) (*Config, error) {
	if err := input.CheckUTF8([]byte(text)); err != nil {
		return nil, experiments.Problems{{At: file, Message: err.Error()}}
	}
	c := &Config{file, map[string]setting{}}
	var problems experiments.Problems
	problem := func(line int, key, format string, args ...any) {
		problems = append(problems, &experiments.Problem{At: place(file, line), Key: key, Message: fmt.Sprintf(format, args...)})
	}
	var statement strings.Builder
	first := 0 // line of the statement
	end := func() {
		text := strings.TrimSpace(statement.String())
		statement.Reset()
		name, value, found := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		k, known := settings[name]
		switch {
		case text == "":
		case !found || name == "":
			problem(first, "", "%s is not a setting; want name = value;", shown(text))
		case !known:
			problem(first, name, "is not a setting of BookSim2%s", didYouMean(name))
		case value == "":
			problem(first, name, "has no value; want %s", k.kind)
		case !k.kind.allows(value):
			problem(first, name, "= %s: want %s", shown(value), k.kind)
		default:
			c.set[name] = setting{value, first}
		}
	}
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, "//")
		for {
			part, rest, closed := strings.Cut(line, ";")
			if strings.TrimSpace(statement.String()) == "" && strings.TrimSpace(part) != "" {
				first = i + 1
			}
			statement.WriteString(part + " ")
			if !closed {
				break
			}
			end()
			line = rest
		}
	}
	if rest := strings.TrimSpace(statement.String()); rest != "" {
		problem(first, "", "%s has no ; at its end", shown(rest))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return c, nil
}

func place(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// shown quotes a piece of a file for a message.
func shown(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return strconv.Quote(text)
}

func didYouMean(name string) string {
	return param.DidYouMean(name, slices.Sorted(maps.Keys(settings)))
}

// get is the value of a setting, as text.
func (c *Config) get(name string) string {
	if s, ok := c.set[name]; ok {
		return s.value
	}
	k, ok := settings[name]
	if !ok {
		panic("booksim: no setting " + name)
	}
	return k.def
}

// number is the value of a setting that is a number; ParseConfig has checked it.
func (c *Config) number(name string) float64 {
	x, err := strconv.ParseFloat(single(c.get(name)), 64)
	if err != nil {
		panic("booksim: " + name + " is no number")
	}
	return x
}

// Whole is the value of a setting that is a whole number.
func (c *Config) Whole(name string) int { return c.whole(name) }

// Text is the value of a setting.
func (c *Config) Text(name string) string { return c.get(name) }

func (c *Config) whole(name string) int { return int(c.number(name)) }

// single is the one element of a list of one, and any other value as it is.
func single(value string) string {
	if inner, ok := strings.CutPrefix(value, "{"); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); ok && !strings.Contains(inner, ",") {
			return strings.TrimSpace(inner)
		}
	}
	return value
}

// form is what a value must look like.
type form int

const (
	whole form = iota // a whole number
	decimal
	text    // a name, or a list
	numbers // a whole number, or a list with a value for each class
)

func (f form) String() string {
	return [...]string{"a whole number, at most 9 digits", "a number", "a name", "a whole number, or a list of them in braces"}[f]
}

var (
	wholeForm   = regexp.MustCompile(`^-?[0-9]{1,9}$`)
	decimalForm = regexp.MustCompile(`^-?([0-9]*\.)?[0-9]+([eE][+-]?[0-9]{1,2})?$|^-?[0-9]+\.$`)
	listForm    = regexp.MustCompile(`^\{[^{}]*\}$`)
	nameForm    = regexp.MustCompile(`^[^\s=][^=]*$`)
)

func (f form) allows(value string) bool {
	switch f {
	case whole:
		return wholeForm.MatchString(value)
	case decimal:
		return decimalForm.MatchString(value)
	case numbers:
		return wholeForm.MatchString(value) || listForm.MatchString(value)
	}
	return nameForm.MatchString(value)
}
