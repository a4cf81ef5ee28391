package experiments

import (
	"errors"
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
	if err := checkDepth(name, text); err != nil {
		return nil, err
	}
	d := &document{name: name, tree: map[string]any{}, comment: leadingComment(text)}
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
	d.origins, d.order = places(name, text)
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
