// Package document reads experiment files as they are written: a tree of TOML values, the
// place of each key, what --set and [quick] lay over it, and problems, which name place, key
// and value. It knows no kind of experiment.
package document

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/sim/input"
)

// Tree is an experiment file as written: a tree of TOML values and where each of its keys stands.
type Tree struct {
	Name     string            // of the file, in messages
	Root     map[string]any    // tables by name
	Origins  map[string]Origin // by key without quotes
	Swept    map[string]Origin // of keys that a sweep sets: they go before Origins
	Order    []string          // keys in the order of the file
	Comment  []string          // lines at the top of the file
	Problems Problems          // so far
	Resolved bool              // weft has spelt every setting out
}

// Parse reads TOML. name stands in messages. Errors of syntax are
// returned as the only problem: TOML's parser stops at the first.
func Parse(name, text string) (*Tree, error) {
	if err := input.CheckUTF8([]byte(text[:min(len(text), 2)])); err != nil {
		return nil, Problems{{At: name, Message: err.Error(), Order: Origin{file: name}}}
	}
	d := &Tree{Name: name, Root: map[string]any{}, Comment: leadingComment(text), Resolved: strings.HasPrefix(text, "# "+ResolvedBy)}
	var deep *Problem
	if d.Origins, d.Order, deep = places(name, text); deep != nil {
		return nil, Problems{deep}
	}
	if _, err := toml.Decode(text, &d.Root); err != nil {
		at := Origin{file: name}
		message := err.Error()
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			before := text[:min(max(syntax.Position.Start, 0), len(text))]
			at.Line = 1 + strings.Count(before, "\n")
			at.Column = len(before) - strings.LastIndexByte(before, '\n')
			message = "not valid TOML: " + syntax.Message
			if syntax.Message == "" {
				message = "not valid TOML: " + trimPosition(syntax.Error())
			}
		}
		return nil, Problems{{At: at.String(), Message: message, Order: at}}
	}
	return d, nil
}

// ResolvedBy begins the first line of resolved files.
const ResolvedBy = "Resolved by weft "

// leadingComment is the comment at the top of a file, line by line without its marks: where authors
// state the question. A resolved file carries the comment of the file that it stands for.
func leadingComment(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !is {
			break
		}
		lines = append(lines, strings.TrimSpace(comment))
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], ResolvedBy) {
		lines = lines[1:]
	}
	return lines
}

// trimPosition takes the "toml: line 1 (last key "x"): " off a message of the
// TOML library, whose facts the caller states in weft's own form.
func trimPosition(message string) string {
	message = strings.TrimPrefix(message, "toml: ")
	if strings.HasPrefix(message, "line ") {
		if _, rest, ok := strings.Cut(message, ": "); ok {
			return rest
		}
	}
	return message
}

// maxDepth bounds the nesting of an experiment file: arrays, inline tables and
// dotted keys within each other. The deepest key that anything reads has five
// levels; the TOML library, and what walks its trees, go a call deeper a level, and
// the time of the former grows with the square of the depth.
const maxDepth = input.MaxNesting

// token is what places are found by: a string of one of TOML's four forms, a line end, a
// mark, a word, or a comment.
var tomlToken = input.Pattern(`"""(?s:\\.|[^\\])*?"{3,5}|'''(?s:.)*?'{3,5}|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|\n|#[^\n]*|[\[\]{}=,.]|[^\s\[\]{}=,.#"']+`)

// places finds where the keys of a TOML text stand, which the TOML library does not tell. It maps
// dotted keys, table headers among them, to their first place and lists them in the order of the
// text. Elements of arrays of tables have their index in the key: "plot[1].x". The first place that
// is nested deeper than [maxDepth] is a problem, and ends the search. On a text that is not valid
// TOML the places are incomplete, nothing worse.
func places(file, text string) (at map[string]Origin, order []string, deep *Problem) {
	s := &placeScanner{text: text, last: Origin{file: file, Line: 1}, at: map[string]Origin{}, tables: map[string]int{}}
	table := ""
	s.next()
	for s.skipLines(); s.token != ""; s.skipLines() {
		if s.token == "[" {
			table = s.header()
		} else {
			s.assignment(table)
		}
		for s.token != "" && s.token != "\n" {
			s.next()
		}
	}
	return s.at, s.order, s.deep
}

type placeScanner struct {
	text   string
	token  string // "": at the end
	pos    int    // of token
	depth  int    // of arrays and inline tables at pos
	at     map[string]Origin
	order  []string
	deep   *Problem
	tables map[string]int // elements so far of each array of tables

	last      Origin // of token
	lineStart int    // where its line begins
}

// next goes on to the next token.
func (s *placeScanner) next() {
	from := s.pos
	s.pos += len(s.token)
	s.token = ""
	if found := tomlToken().FindStringIndex(s.text[s.pos:]); found != nil {
		s.token = s.text[s.pos+found[0] : s.pos+found[1]]
		s.pos += found[0]
	}
	passed := s.text[from:s.pos]
	if n := strings.Count(passed, "\n"); n > 0 {
		s.last.Line += n
		s.lineStart = from + strings.LastIndexByte(passed, '\n') + 1
	}
	s.last.Column = s.pos - s.lineStart + 1
}

// skipLines goes on to the next token that is no line end and no comment.
func (s *placeScanner) skipLines() {
	for s.token == "\n" || strings.HasPrefix(s.token, "#") {
		s.next()
	}
}

// header reads a table's header and notes the table.
func (s *placeScanner) header() (table string) {
	here := s.last
	s.next()
	array := s.token == "["
	if array {
		s.next()
	}
	names := s.key()
	for i, name := range names {
		table = Join(table, name)
		if array && i == len(names)-1 {
			s.tables[table]++
		}
		if n := s.tables[table]; n > 0 {
			table += fmt.Sprintf("[%d]", n-1)
		}
	}
	s.note(table, here)
	return table
}

// assignment reads "key = value" and notes the key under prefix.
func (s *placeScanner) assignment(prefix string) {
	here, path := s.last, prefix
	for _, name := range s.key() {
		path = Join(path, name)
	}
	s.note(path, here)
	if s.token == "=" {
		s.next()
	}
	s.value(path)
}

// value skips a value, noting the keys of tables inside it.
func (s *placeScanner) value(path string) {
	switch s.skipLines(); s.token {
	case "[":
		s.elements("]", func(i int) { s.value(path + "[" + strconv.Itoa(i) + "]") })
	case "{":
		s.elements("}", func(int) { s.assignment(path) })
	default:
		for s.token != "" && !strings.Contains(",]}\n", s.token) {
			s.next()
		}
	}
}

// elements reads what stands between brackets, up to the closing one.
func (s *placeScanner) elements(closing string, read func(i int)) {
	if s.depth++; s.depth > maxDepth {
		s.tooDeep()
		return
	}
	s.next()
	for i := 0; ; i++ {
		if s.skipLines(); s.token == "" || s.token == closing {
			break
		}
		read(i)
		if s.skipLines(); s.token != closing {
			s.next() // a comma, or what is not TOML
		}
	}
	s.next()
	s.depth--
}

// key reads the names of a dotted key.
func (s *placeScanner) key() (names []string) {
	for {
		name, rest := firstName(s.token)
		names = append(names, name+rest)
		s.next()
		if s.token != "." {
			return names
		}
		if len(names) > maxDepth {
			s.tooDeep()
			return names
		}
		s.next()
	}
}

func (s *placeScanner) note(key string, here Origin) {
	if _, known := s.at[key]; !known {
		s.at[key] = here
		s.order = append(s.order, key)
	}
}

func (s *placeScanner) tooDeep() {
	if s.deep == nil {
		s.deep = &Problem{At: s.last.String(), Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), Order: s.last}
	}
	s.text, s.token = s.text[:s.pos], ""
}

// ApplyQuick lays the [quick] table over the document.
func (d *Tree) ApplyQuick() {
	quick, _ := d.Root["quick"].(map[string]any)
	for _, s := range d.Flatten("quick", quick, IsSweepValue) {
		d.set(KeyUnder("quick", s.Key), s.Value, d.OriginOf(s.Key))
	}
}

// ApplySettings lays the --set options over the document in their order.
func (d *Tree) ApplySettings(settings []string) {
	for i, s := range settings {
		at := Origin{option: "--set " + s, Line: i + 1}
		key, value, err := ParseSetting(s)
		if err != nil {
			d.Problems = append(d.Problems, &Problem{At: at.String(), Message: err.Error(), Order: at})
			continue
		}
		d.set(key, value, at)
	}
}

// ParseSetting splits KEY=VALUE. The value is read as TOML; what is not TOML is a string, alone or
// in a list, so that quotes are needed only where a string looks like something else.
func ParseSetting(s string) (key string, value any, err error) {
	key, text, ok := cutAssignment(s)
	names := SplitKey(strings.TrimSpace(key))
	for i, name := range names {
		switch {
		case name == "" && len(names) > 1:
			return "", nil, errors.New("the key has an empty part")
		case !ok || name == "" || !strings.ContainsAny(key, `"'`) && strings.ContainsAny(name, " \t\n\"'[]"):
			return "", nil, errors.New("write KEY=VALUE with a dotted key, for example --set traffic.load=0.3")
		}
		names[i] = QuoteName(name)
	}
	key = strings.Join(names, ".")
	text = strings.TrimSpace(text)
	if _, _, deep := places("", "V = "+text); deep != nil || len(names) > maxDepth {
		return "", nil, fmt.Errorf("the key or value is nested deeper than %d levels", maxDepth)
	}
	return key, settingValue(text), nil
}

// settingValue reads a value as TOML, or as a string. The words of a list need no quotes
// either: shells take the quotes of ["nca", "min"] away.
func settingValue(text string) any {
	var wrapper struct{ V any }
	if _, err := toml.Decode("V = "+text, &wrapper); err == nil && !strings.ContainsAny(text, "\n") {
		return wrapper.V
	}
	inside, isList := strings.CutPrefix(text, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !isList || !closed || strings.ContainsAny(inside, "[]{}\"'\n") {
		return text
	}
	var list []any
	for word := range strings.SplitSeq(inside, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return text
		}
		list = append(list, settingValue(word))
	}
	return list
}

// cutAssignment divides KEY=VALUE at the first = outside quotes in the key.
func cutAssignment(s string) (key, text string, ok bool) {
	for i := 0; i < len(s); i++ {
		if i == 0 || s[i-1] == '.' {
			i += quotedEnd(s[i:])
		}
		if i < len(s) && s[i] == '=' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// set lays one setting over the document, as --set and [quick] do. A key that
// the file sweeps is pinned: its axis keeps that one value, so that the columns
// of the results stay. A key under "sweep." replaces or adds an axis.
func (d *Tree) set(key string, value any, at Origin) {
	if axis, ok := strings.CutPrefix(key, "sweep."); ok && !strings.HasPrefix(axis, "lockstep") && !strings.HasPrefix(axis, "one_at_a_time") {
		axis = KeyUnder("sweep", key)
		sweep, _ := d.Root["sweep"].(map[string]any)
		if sweep == nil {
			sweep = map[string]any{}
			d.Root["sweep"] = sweep
		}
		d.unsweep(sweep, axis)
		sweep[axis] = value
		d.note(key, at)
		return
	}
	if sweep, ok := d.Root["sweep"].(map[string]any); ok {
		if d.unsweep(sweep, key) {
			sweep[key] = []any{value}
			d.note("sweep."+key, at)
			return
		}
	}
	d.note(key, at)
	d.Assign(key, value, key)
}

// Assign gives a dotted key a value, making the tables on the way. Something else in the way
// is a problem of the key place.
func (d *Tree) Assign(key string, value any, place string) {
	tree, segments := d.Root, SplitKey(key)
	last := len(segments) - 1
	for i, segment := range segments[:last] {
		if _, ok := tree[segment]; !ok {
			tree[segment] = map[string]any{}
		}
		inner, ok := tree[segment].(map[string]any)
		if !ok {
			d.Problem(place, "cannot be set: %s is not a table", JoinNames(segments[:i+1]))
			return
		}
		tree = inner
	}
	tree[segments[last]] = value
}

func (d *Tree) note(key string, at Origin) {
	key = Unquoted(key)
	if _, known := d.Origins[key]; !known {
		d.Order = append(d.Order, key)
	}
	d.Origins[key] = at
}

// unsweep takes a key out of a sweep and its groups of lists and tells whether it was there. Groups
// that are left without lists do nothing: the others keep their numbers.
func (d *Tree) unsweep(sweep map[string]any, key string) bool {
	found := removeKey(sweep, key)
	for _, name := range []string{"lockstep", "one_at_a_time"} {
		groups, _ := Tables(sweep[name])
		left := 0
		for _, group := range groups {
			found = removeKey(group, key) || found
			left += len(group)
		}
		if left == 0 {
			delete(sweep, name)
		}
	}
	return found
}

// removeKey deletes a dotted key from a table whose keys may be dotted themselves ("traffic.load" =
// ...) or nested (traffic.load = ...), and tells whether it was there.
func removeKey(table map[string]any, key string) bool {
	found := false
	for name, value := range table {
		if KeyUnder("", QuoteName(name)) == key {
			found = true
			delete(table, name)
			continue
		}
		rest, ok := strings.CutPrefix(key, KeyUnder("", QuoteName(name))+".")
		inner, nested := value.(map[string]any)
		if ok && nested && !IsSweepValue(inner) && removeKey(inner, rest) {
			found = true
			if len(inner) == 0 {
				delete(table, name)
			}
		}
	}
	return found
}
