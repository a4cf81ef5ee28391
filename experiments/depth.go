package experiments

import "fmt"

// maxDepth bounds the nesting of an experiment file: arrays, inline tables and
// dotted keys within each other. The deepest key that anything reads has five
// levels; the TOML library, and what walks its trees, go a call deeper a level, and
// the time of the former grows with the square of the depth.
const maxDepth = 500

// tooDeep finds the first place at which a TOML text is nested deeper than
// [maxDepth], without building anything. It errs on neither side for valid TOML;
// what is not valid the parser refuses.
func tooDeep(file, text string) (at origin, found bool) {
	s := &placeScanner{file: file, text: text, line: 1}
	depth, dots := 0, 0
	for s.pos < len(s.text) {
		switch c := s.peek(); c {
		case '"', '\'':
			s.quoted(c)
			continue
		case '#':
			s.restOfLine()
			continue
		case '[', '{':
			depth++
			dots = 0
		case ']', '}':
			depth = max(depth-1, 0)
			dots = 0
		case '\n', ',', '=':
			dots = 0
		case '.':
			dots++
		}
		if depth > maxDepth || dots > maxDepth {
			return s.here(), true
		}
		s.advance()
	}
	return origin{}, false
}

// checkDepth returns the problem of a text that is nested too deep.
func checkDepth(name, text string) error {
	at, found := tooDeep(name, text)
	if !found {
		return nil
	}
	return Problems{{At: at.String(), Message: fmt.Sprintf("nested deeper than %d levels", maxDepth), order: at}}
}
