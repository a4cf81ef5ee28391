package figure

import (
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

const (
	titleSize    = 11.5
	smallestSize = 7 // of text that has to shrink
)

// fit breaks a text into lines no wider than room, and makes it smaller where it
// takes more lines than are wanted.
func fit(style text.Style, s string, room vg.Length, lines int) (string, text.Style) {
	for {
		broken := wrap(style, s, room)
		if strings.Count(broken, "\n") < lines || style.Font.Size-0.5 < smallestSize {
			return broken, style
		}
		style.Font.Size -= 0.5
	}
}

// wrap breaks a text between words, or within words wider than room.
func wrap(style text.Style, s string, room vg.Length) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if joined := strings.TrimSpace(line + " " + word); style.Width(joined) <= room {
			line = joined
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for style.Width(word) > room {
			head := strings.TrimSuffix(elide(style, word, room), ellipsis)
			if head == "" {
				break // not even a letter
			}
			lines = append(lines, head)
			word = word[len(head):]
		}
		line = word
	}
	return strings.Join(append(lines, line), "\n")
}

const ellipsis = "…"

// elide cuts the end off a text that is wider than room.
func elide(style text.Style, s string, room vg.Length) string {
	if style.Width(s) <= room {
		return s
	}
	letters := []rune(s)
	for len(letters) > 0 && style.Width(string(letters)+ellipsis) > room {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + ellipsis
}
