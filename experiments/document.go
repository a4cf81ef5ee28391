package experiments

import (
	"errors"
	"fmt"
	"regexp"
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

// token is what places are found by: a string of one of TOML's four forms, a line end, a
// mark, a word, or a comment.
var tomlToken = regexp.MustCompile(`"""(?s:\\.|[^\\])*?"{3,5}|'''(?s:.)*?'{3,5}|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|\n|#[^\n]*|[\[\]{}=,.]|[^\s\[\]{}=,.#"']+`)

// places finds where the keys of a TOML text stand, which the TOML library
// does not tell. It maps dotted keys, table headers among them, to their first
// place and lists them in the order of the text. Elements of arrays of tables
// have their index in the key: "plot[1].x". The first place that is nested deeper than
// [maxDepth] is a problem, and ends the search. On a text that is not valid TOML the
// places are incomplete, nothing worse.
func places(file, text string) (at map[string]origin, order []string, deep *Problem) {
	s := &placeScanner{text: text, last: origin{file: file, line: 1}, at: map[string]origin{}, tables: map[string]int{}}
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
	at     map[string]origin
	order  []string
	deep   *Problem
	tables map[string]int // elements so far of each array of tables

	last      origin // of token
	lineStart int    // where its line begins
}

// next goes on to the next token.
func (s *placeScanner) next() {
	from := s.pos
	s.pos += len(s.token)
	s.token = ""
	if found := tomlToken.FindStringIndex(s.text[s.pos:]); found != nil {
		s.token = s.text[s.pos+found[0] : s.pos+found[1]]
		s.pos += found[0]
	}
	passed := s.text[from:s.pos]
	if n := strings.Count(passed, "\n"); n > 0 {
		s.last.line += n
		s.lineStart = from + strings.LastIndexByte(passed, '\n') + 1
	}
	s.last.column = s.pos - s.lineStart + 1
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
	here, path := s.last, prefix
	for _, name := range s.key() {
		path = join(path, name)
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

func (s *placeScanner) note(key string, here origin) {
	if _, known := s.at[key]; !known {
		s.at[key] = here
		s.order = append(s.order, key)
	}
}

func (s *placeScanner) tooDeep() {
	if s.deep == nil {
		s.deep = &Problem{At: s.last.String(), Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), order: s.last}
	}
	s.text, s.token = s.text[:s.pos], ""
}
