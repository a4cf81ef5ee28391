package trace

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
)

// Naming is how the files of the ranks of a trace are named: a pattern of three parts,
// of which the second is the rank, and the fewest digits of it.
type Naming struct {
	Pattern *regexp.Regexp
	Digits  int
}

// Files are the files of the trace to which one of them belongs, by rank: those of the
// same name with other numbers, or one more than are there, as it is missing. A name
// that does not follow the pattern is that of a trace of one rank.
func (n Naming) Files(name string) []string {
	parts := n.Pattern.FindStringSubmatch(filepath.Base(name))
	if parts == nil {
		return []string{name}
	}
	found, _ := filepath.Glob(filepath.Join(globbed(filepath.Dir(name)), globbed(parts[1])+"*"+parts[3]))
	ranks := 0
	for _, f := range append(found, name) {
		if p := n.Pattern.FindStringSubmatch(filepath.Base(f)); p != nil && p[1] == parts[1] && p[3] == parts[3] {
			r, _ := strconv.Atoi(p[2])
			ranks = max(ranks, r+1)
		}
	}
	var files []string
	for r := range min(ranks, len(found)+1) {
		files = append(files, filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%0*d%s", parts[1], n.Digits, r, parts[3])))
	}
	return files
}

var special = regexp.MustCompile(`[*?\[\\]`)

// globbed is a name as a pattern that only it matches.
func globbed(name string) string { return special.ReplaceAllString(name, `\$0`) }
