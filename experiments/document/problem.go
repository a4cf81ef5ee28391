package document

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Origin is where a setting was made: a place in a file, or an option of the command line.
type Origin struct {
	file   string
	Line   int // from 1; 0: the file as a whole; of options, their rank
	Column int // from 1
	option string
}

func (o Origin) String() string {
	switch {
	case o.option != "":
		return o.option
	case o.Line == 0:
		return o.file
	}
	return fmt.Sprintf("%s:%d:%d", o.file, o.Line, o.Column)
}

// Problem is one thing wrong with an experiment file: where, which key, what is
// there, and what would be allowed.
type Problem struct {
	At      string // "dragonfly.toml:7:1", or "--set topology.p=0"; empty where Message names the place
	Key     string // dotted; empty for problems of the whole file
	Message string
	Order   Origin
	more    int // problems that it stands for beside itself
}

func (f *Problem) Error() string {
	text := f.Message
	if f.Key != "" {
		text = f.Key + " " + text
	}
	text = cut(text, longestProblem)
	if f.At != "" {
		text = cut(f.At, longestPlace) + ": " + text
	}
	return Legible(text)
}

// Bounds on what is said about an input, however large it is: bytes of a place,
// bytes of a problem, problems of a file, bytes of a message altogether.
const (
	longestPlace   = 1000
	longestProblem = 8 << 10
	mostProblems   = 20
	longestMessage = 64 << 10
)

// Legible is a message as it may be shown on a terminal: control characters spelt
// out, and cut if it is very long.
func Legible(message string) string { return input.Printable(cut(message, longestMessage)) }

// cut shortens a text to so many bytes and says how long it was.
func cut(s string, longest int) string {
	if len(s) <= longest {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(s[:longest], ""), len(s))
}

// Problems is all that is wrong with a file, in the order of the file.
type Problems []*Problem

func (fs Problems) Error() string {
	lines := lists.Make(min(len(fs), mostProblems), func(i int) string { return fs[i].Error() })
	if more := len(fs) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more problems", more))
	}
	return strings.Join(lines, "\n")
}

// Count is the number of problems, with those of input files that are counted only.
func (fs Problems) Count() int {
	return len(fs) + lists.Sum(fs, func(f *Problem) int { return f.more })
}

// Err sorts the problems, drops repetitions (the points of a sweep share most
// settings) and returns them as an error, nil if there are none.
func (fs Problems) Err() error {
	if len(fs) == 0 {
		return nil
	}
	sorted := slices.Clone(fs)
	slices.SortStableFunc(sorted, func(a, b *Problem) int {
		if (a.Order.option == "") != (b.Order.option == "") {
			return strings.Compare(a.Order.option, b.Order.option) // the file first
		}
		return cmp.Or(a.Order.Line-b.Order.Line, a.Order.Column-b.Order.Column)
	})
	seen := map[string]bool{}
	sorted = slices.DeleteFunc(sorted, func(f *Problem) bool {
		text := f.Error()
		defer func() { seen[text] = true }()
		return seen[text]
	})
	return sorted
}

// keyed says that an error belongs to a dotted key of the file.
type keyed struct {
	key string
	err error
}

func (k *keyed) Error() string {
	if text := k.err.Error(); strings.HasPrefix(text, "= ") {
		return k.key + " " + text
	}
	return k.key + ": " + k.err.Error()
}
func (k *keyed) Unwrap() error { return k.err }

// At attaches err, found by other means than a setting's bounds, to the dotted key that the user
// would change to mend it: At("routing.type", err). A nil error stays nil.
func At(key string, err error) error {
	if err == nil {
		return nil
	}
	return &keyed{key, err}
}

// Under prefixes the keys of all *param.ParamError in err with a table's name: what a constructor
// calls "p" the file calls "topology.p". Keys with a dot belong to another table already and stay.
// Errors without a key are attached to fallback.
func Under(table, fallback string, err error) error {
	var out []error
	for _, e := range param.Errors(err) {
		var p *param.ParamError
		if errors.As(e, &p) {
			q := *p
			if !strings.Contains(p.Key, ".") {
				q.Key = Join(table, p.Key)
			}
			out = append(out, &q)
		} else {
			out = append(out, At(fallback, e))
		}
	}
	return errors.Join(out...)
}

// Problem records something wrong with a dotted key.
func (d *Tree) Problem(key, format string, args ...any) {
	at := d.OriginOf(key)
	d.Problems = append(d.Problems, &Problem{At: at.String(), Key: brief(key), Message: fmt.Sprintf(format, args...), Order: at})
}

// OriginOf is where a key was set, or else where its table begins.
func (d *Tree) OriginOf(key string) Origin {
	for k := Unquoted(key); k != ""; k = Parent(k) {
		if o, ok := d.Swept[k]; ok {
			return o
		}
		if o, ok := d.Origins[k]; ok {
			return o
		}
	}
	return Origin{file: d.Name}
}

// Sets tells whether the file or the command line sets a key, or sweeps it.
func (d *Tree) Sets(key string) bool {
	_, set := d.Origins[key]
	_, swept := d.Swept[key]
	return set || swept
}

// Chosen tells whether somebody sets a key: a resolved file has all, those of options and sweeps are chosen.
func (d *Tree) Chosen(key string) bool {
	_, swept := d.Swept[key]
	return d.Sets(key) && (swept || !d.Resolved || d.Origins[key].option != "")
}

// SetUnder lists in order the settings whose keys begin so that the file, its sweep or an option
// gives.
func (d *Tree) SetUnder(prefix string) (keys []string) {
	for _, places := range []map[string]Origin{d.Origins, d.Swept} {
		for key := range places {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// ProblemsFrom records the errors that validation or a constructor has joined, each under the key
// that it names. table prefixes the keys of *param.ParamError.
func (d *Tree) ProblemsFrom(table string, err error) {
	for _, err := range param.Errors(err) {
		switch e := err.(type) {
		case *param.ParamError:
			d.Problem(Join(table, e.Key), "= %s: want %s", showParameter(e.Value), e.Want)
		case *keyed:
			d.Problem(e.key, "%v", e.err)
		default:
			d.Problem(table, "%v", err)
		}
		var more *input.More
		if errors.As(err, &more) {
			d.Problems[len(d.Problems)-1].more = more.Problems - 1
		}
	}
}

// showParameter prints the value of a *param.ParamError: lists as TOML has them,
// the rest as it is, for it may be a remark such as "2 cycles a flit".
func showParameter(value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice {
		return brief(fmt.Sprint(value))
	}
	return Show(lists.Make(v.Len(), func(i int) any { return v.Index(i).Interface() }))
}

// brief cuts a value that is too long for a message.
func brief(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "..."
}

// Show prints a TOML value for messages.
func Show(raw any) string { return brief(showAll(raw, 0)) }

func showAll(raw any, depth int) string {
	switch x := raw.(type) {
	case map[string]any, []map[string]any:
		return "a table"
	case string:
		return fmt.Sprintf("%q", x)
	case time.Time:
		return "a date"
	case []any:
		if depth > 8 {
			return "[...]"
		}
		return "[" + lists.Join(x, ", ", func(element any) string { return showAll(element, depth+1) }) + "]"
	}
	return fmt.Sprint(raw)
}
