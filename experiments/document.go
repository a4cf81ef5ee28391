package experiments

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/sim/input"
)

// document is an experiment file as written: a tree of TOML values and where
// each of its keys stands.
type document struct {
	name     string
	tree     map[string]any
	origins  map[string]origin
	swept    map[string]origin // of keys that a sweep sets, before origins
	order    []string          // keys in the order of the file
	comment  []string          // lines at the top of the file
	problems Problems
}

// parseDocument reads TOML. name stands in messages. Errors of syntax are
// returned as the only problem: TOML's parser stops at the first.
func parseDocument(name, text string) (*document, error) {
	if err := input.CheckUTF8([]byte(text[:min(len(text), 2)])); err != nil {
		return nil, Problems{{At: name, Message: err.Error(), order: origin{file: name}}}
	}
	d := &document{name: name, tree: map[string]any{}, comment: leadingComment(text)}
	var deep *Problem
	if d.origins, d.order, deep = places(name, text); deep != nil {
		return nil, Problems{deep}
	}
	if _, err := toml.Decode(text, &d.tree); err != nil {
		at := origin{file: name}
		message := err.Error()
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			before := text[:min(max(syntax.Position.Start, 0), len(text))]
			at.line = 1 + strings.Count(before, "\n")
			at.column = len(before) - strings.LastIndexByte(before, '\n')
			message = "not valid TOML: " + syntax.Message
			if syntax.Message == "" {
				message = "not valid TOML: " + trimPosition(syntax.Error())
			}
		}
		return nil, Problems{{At: at.String(), Message: message, order: at}}
	}
	return d, nil
}

// resolvedBy begins the first line of resolved files.
const resolvedBy = "Resolved by weft "

// leadingComment is the comment at the top of a file, line by line without its
// marks: where authors state the question. A resolved file carries that of the
// file that it stands for.
func leadingComment(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !is {
			break
		}
		lines = append(lines, strings.TrimSpace(comment))
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], resolvedBy) {
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
const maxDepth = 500

// places finds where the keys of a TOML text stand, which the TOML library
// does not tell. It maps dotted keys, table headers among them, to their first
// place and lists them in the order of the text. Elements of arrays of tables
// have their index in the key: "plot[1].x". The first place that is nested deeper than
// [maxDepth] is a problem, and ends the search. On a text that is not valid TOML the
// places are incomplete, nothing worse.
func places(file, text string) (at map[string]origin, order []string, deep *Problem) {
	s := &placeScanner{text: text, last: origin{file: file, line: 1}, at: map[string]origin{}, tables: map[string]int{}}
	table := ""
	for s.blank(true); s.pos < len(s.text); s.blank(true) {
		if s.text[s.pos] == '[' {
			table = s.header()
		} else {
			s.assignment(table)
		}
		s.skipTo("\n")
	}
	return s.at, s.order, s.deep
}

type placeScanner struct {
	text   string
	pos    int
	depth  int // of arrays and inline tables at pos
	at     map[string]origin
	order  []string
	deep   *Problem
	tables map[string]int // elements so far of each array of tables

	last               origin // that was asked for
	counted, lineStart int    // where that was, and where its line begins
}

// header reads a table's header and notes the table.
func (s *placeScanner) header() (table string) {
	here := s.here()
	array := strings.HasPrefix(s.text[s.pos:], "[[")
	s.pos++
	if array {
		s.pos++
	}
	names := s.key()
	for i, name := range names {
		table = join(table, name)
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
	here, start := s.here(), s.pos
	path := prefix
	for _, name := range s.key() {
		path = join(path, name)
	}
	s.note(path, here)
	s.blank(false)
	if s.peek() == '=' {
		s.pos++
	}
	s.value(path)
	if s.pos == start {
		s.pos++ // not TOML: go on rather than stand still
	}
}

// value skips a value, noting the keys of tables inside it.
func (s *placeScanner) value(path string) {
	s.blank(true)
	switch s.peek() {
	case '"', '\'':
		s.quoted()
	case '[':
		s.elements("]", func(i int) { s.value(path + "[" + strconv.Itoa(i) + "]") })
	case '{':
		s.elements("}", func(int) { s.assignment(path) })
	default:
		s.skipTo(",]}#\r\n")
	}
}

// elements reads what stands between brackets, up to the closing one.
func (s *placeScanner) elements(closing string, read func(i int)) {
	if s.depth++; s.depth > maxDepth {
		s.tooDeep()
		return
	}
	s.pos++
	for i := 0; ; i++ {
		if s.blank(true); s.pos >= len(s.text) || s.text[s.pos] == closing[0] {
			break
		}
		read(i)
		if s.blank(true); s.peek() != closing[0] {
			s.pos++ // a comma, or a stray byte so that every element consumes something
		}
	}
	s.pos++
	s.depth--
}

// key reads the names of a dotted key.
func (s *placeScanner) key() (names []string) {
	for {
		s.blank(false)
		start := s.pos
		if c := s.peek(); c == '"' || c == '\'' {
			s.quoted()
		} else {
			s.skipTo(".=]}{[ \t\r\n#,\"'")
		}
		name, rest := firstName(s.text[start:s.pos])
		names = append(names, name+rest)
		s.blank(false)
		if s.peek() != '.' {
			return names
		}
		if len(names) > maxDepth {
			s.tooDeep()
			return names
		}
		s.pos++
	}
}

// quoted skips a string of any of TOML's four forms.
func (s *placeScanner) quoted() {
	quote := s.text[s.pos]
	delimiter := s.text[s.pos : s.pos+1]
	if long := strings.Repeat(delimiter, 3); strings.HasPrefix(s.text[s.pos:], long) {
		delimiter = long
	}
	for s.pos += len(delimiter); s.pos < len(s.text); s.pos++ {
		switch {
		case strings.HasPrefix(s.text[s.pos:], delimiter):
			s.pos += len(delimiter)
			for len(delimiter) == 3 && s.peek() == quote { // """a"""" ends with a quote of its own
				s.pos++
			}
			return
		case s.text[s.pos] == '\\' && quote == '"':
			s.pos++
		case s.text[s.pos] == '\n' && len(delimiter) == 1:
			return
		}
	}
	s.pos = len(s.text)
}

// blank skips spaces and, if lines is set, line ends and comments.
func (s *placeScanner) blank(lines bool) {
	for ; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
		case lines && c == '#':
			s.skipTo("\n")
		default:
			return
		}
	}
}

// skipTo goes on to the first of some characters.
func (s *placeScanner) skipTo(stop string) {
	if i := strings.IndexAny(s.text[min(s.pos, len(s.text)):], stop); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.text)
	}
}

func (s *placeScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

// here is the place of pos, which never goes back.
func (s *placeScanner) here() origin {
	since := s.text[s.counted:s.pos]
	if n := strings.Count(since, "\n"); n > 0 {
		s.last.line += n
		s.lineStart = s.counted + strings.LastIndexByte(since, '\n') + 1
	}
	s.counted = s.pos
	s.last.column = s.pos - s.lineStart + 1
	return s.last
}

func (s *placeScanner) note(key string, here origin) {
	if _, known := s.at[key]; !known {
		s.at[key] = here
		s.order = append(s.order, key)
	}
}

func (s *placeScanner) tooDeep() {
	if s.deep == nil {
		at := s.here()
		s.deep = &Problem{At: at.String(), Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), order: at}
	}
	s.pos = len(s.text)
}
