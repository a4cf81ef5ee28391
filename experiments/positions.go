package experiments

import (
	"fmt"
	"strconv"
	"strings"
)

// places finds where the keys of a TOML text stand, which the TOML library
// does not tell. It maps dotted keys, table headers among them, to their first
// place and lists them in the order of the text. Elements of arrays of tables
// have their index in the key: "plot[1].x". The text must be valid TOML; on
// anything else the places are incomplete, nothing worse.
func places(file, text string) (at map[string]origin, order []string) {
	s := &placeScanner{file: file, text: text, line: 1, at: map[string]origin{}, tables: map[string]int{}}
	s.document()
	return s.at, s.order
}

type placeScanner struct {
	file, text string
	pos        int
	line       int // of pos, from 1
	lineStart  int // index of the first byte of line
	at         map[string]origin
	order      []string
	tables     map[string]int // elements so far of each array of tables
}

func (s *placeScanner) document() {
	table := ""
	for s.blank(true); s.pos < len(s.text); s.blank(true) {
		if s.text[s.pos] != '[' {
			s.assignment(table)
			s.restOfLine()
			continue
		}
		here := s.here()
		array := strings.HasPrefix(s.text[s.pos:], "[[")
		s.pos++
		if array {
			s.pos++
		}
		segments := s.key()
		table = ""
		for i, segment := range segments {
			table = join(table, segment)
			if array && i == len(segments)-1 {
				s.tables[table]++
			}
			if n := s.tables[table]; n > 0 {
				table += fmt.Sprintf("[%d]", n-1)
			}
		}
		s.note(table, here)
		s.restOfLine()
	}
}

// assignment reads "key = value" and notes the key under prefix.
func (s *placeScanner) assignment(prefix string) {
	here := s.here()
	start := s.pos
	path := prefix
	for _, segment := range s.key() {
		path = join(path, segment)
	}
	s.note(path, here)
	s.blank(false)
	if s.peek() == '=' {
		s.pos++
	}
	s.value(path)
	if s.pos == start {
		s.advance() // not TOML: go on rather than stand still
	}
}

// value skips a value, noting the keys of tables inside it.
func (s *placeScanner) value(path string) {
	s.blank(true)
	switch c := s.peek(); c {
	case '"', '\'':
		s.quoted(c)
	case '[':
		s.pos++
		for i := 0; s.untilClosed(']'); i++ {
			s.value(path + "[" + strconv.Itoa(i) + "]")
			s.separator(']')
		}
	case '{':
		s.pos++
		for s.untilClosed('}') {
			s.assignment(path)
			s.separator('}')
		}
	default:
		for s.pos < len(s.text) && !strings.ContainsRune(",]}#\r\n", rune(s.text[s.pos])) {
			s.pos++
		}
	}
}

// untilClosed tells whether a bracket has another element, and steps over the
// closing one.
func (s *placeScanner) untilClosed(closing byte) bool {
	s.blank(true)
	if s.pos >= len(s.text) {
		return false
	}
	if s.text[s.pos] == closing {
		s.pos++
		return false
	}
	return true
}

// separator steps over a comma, or over one stray byte so that every element
// consumes something.
func (s *placeScanner) separator(closing byte) {
	s.blank(true)
	if s.peek() != closing {
		s.advance()
	}
}

// key reads a dotted key.
func (s *placeScanner) key() []string {
	var segments []string
	for {
		s.blank(false)
		start := s.pos
		if c := s.peek(); c == '"' || c == '\'' {
			s.quoted(c)
			raw := s.text[start:s.pos]
			name := strings.Trim(raw, string(c))
			if unquoted, err := strconv.Unquote(raw); err == nil {
				name = unquoted
			}
			segments = append(segments, name)
		} else {
			for s.pos < len(s.text) && !strings.ContainsRune(".=]}{[ \t\r\n#,\"'", rune(s.text[s.pos])) {
				s.pos++
			}
			segments = append(segments, s.text[start:s.pos])
		}
		s.blank(false)
		if s.peek() != '.' {
			return segments
		}
		s.pos++
	}
}

// quoted skips a string of any of TOML's four forms.
func (s *placeScanner) quoted(quote byte) {
	delimiter := string(quote)
	if long := strings.Repeat(delimiter, 3); strings.HasPrefix(s.text[s.pos:], long) {
		delimiter = long
	}
	s.pos += len(delimiter)
	for s.pos < len(s.text) {
		switch {
		case strings.HasPrefix(s.text[s.pos:], delimiter):
			s.pos += len(delimiter)
			for len(delimiter) == 3 && s.peek() == quote { // """a"""" ends with a quote of its own
				s.pos++
			}
			return
		case s.text[s.pos] == '\\' && quote == '"':
			s.advance()
		case s.text[s.pos] == '\n' && len(delimiter) == 1:
			return
		}
		s.advance()
	}
}

// blank skips spaces and, if lines is set, line ends and comments.
func (s *placeScanner) blank(lines bool) {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\r' || lines && c == '\n':
			s.advance()
		case lines && c == '#':
			s.restOfLine()
		default:
			return
		}
	}
}

func (s *placeScanner) restOfLine() {
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		s.pos++
	}
}

func (s *placeScanner) advance() {
	if s.pos >= len(s.text) {
		return
	}
	if s.text[s.pos] == '\n' {
		s.line++
		s.lineStart = s.pos + 1
	}
	s.pos++
}

func (s *placeScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *placeScanner) here() origin {
	return origin{file: s.file, line: s.line, column: s.pos - s.lineStart + 1}
}

func (s *placeScanner) note(key string, here origin) {
	if _, known := s.at[key]; !known {
		s.at[key] = here
		s.order = append(s.order, key)
	}
}
