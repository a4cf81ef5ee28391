package command

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`!?\[[^\]]*\]\(([^()\s]*)\)`)
	punctuation  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	inlineCode   = regexp.MustCompile("`[^`]*`")
)

// TestLinks: every link of the documentation leads to a file of the repository, and
// every anchor to a heading; every page but the README is linked to.
func TestLinks(t *testing.T) {
	pages := map[string][]string{} // lines without blocks of code
	for _, pattern := range []string{"README.md", "docs/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.Clean(name)] = prose(string(text))
		}
	}
	headings := map[string]map[string]bool{}
	for name, lines := range pages {
		headings[name] = anchors(lines)
	}
	linked := map[string]bool{}
	for name, lines := range pages {
		for _, line := range lines {
			for _, m := range markdownLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
				target, fragment, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				file := name
				if target != "" {
					file = filepath.Join(filepath.Dir(name), filepath.FromSlash(target))
				}
				if file != name {
					linked[file] = true
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s: %s leads nowhere", name, m[1])
				} else if fragment != "" && !headings[file][fragment] && !hasID(file, fragment) {
					t.Errorf("%s: %s has no heading for #%s", name, file, fragment)
				}
			}
		}
	}
	for name := range pages {
		if filepath.Base(name) != "README.md" && !linked[name] {
			t.Errorf("no page leads to %s", name)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if path = filepath.Clean(path); err == nil && !entry.IsDir() && strings.HasSuffix(path, ".png") && !linked[path] {
			t.Errorf("no page shows %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// prose is a page without its blocks of code.
func prose(page string) (lines []string) {
	inside := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		} else if !inside && !strings.HasPrefix(line, "    ") {
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
	}
	return lines
}

// anchors are the names of a page's headings, as forges make them; the second of the
// same name has -1 behind it.
func anchors(lines []string) map[string]bool {
	all := map[string]bool{}
	for _, line := range lines {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := strings.ToLower(strings.TrimSpace(heading))
		name = strings.ReplaceAll(punctuation.ReplaceAllString(name, ""), " ", "-")
		for i := 0; all[name]; i++ {
			name = strings.TrimSuffix(name, "-"+string(rune('0'+i))) + "-" + string(rune('1'+i))
		}
		all[name] = true
	}
	return all
}

// TestAnchors: the rule for names of headings.
func TestAnchors(t *testing.T) {
	got := anchors([]string{"# A `b`, [c]", "## group patterns", "## group patterns", "#no", "text"})
	for _, want := range []string{"a-b-c", "group-patterns", "group-patterns-1"} {
		if !got[want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// hasID tells whether a page of HTML has an element of that name.
func hasID(file, name string) bool {
	text, err := os.ReadFile(file)
	return err == nil && strings.HasSuffix(file, ".html") && strings.Contains(string(text), ` id="`+name+`"`)
}
