package trace

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// Naming is how the files of the ranks of a trace are named: a pattern of three parts,
// of which the second is the rank, and the fewest digits of it.
type Naming struct {
	Pattern func() *regexp.Regexp
	Digits  int
}

// Files lists the files of the trace to which name belongs, by rank: files of the same
// name with other numbers. If numbers are missing, the list has one more file than there
// are, so that one cannot be opened. A name that does not follow the pattern names a trace
// of one rank.
func (n Naming) Files(name string) []string {
	parts := n.Pattern().FindStringSubmatch(filepath.Base(name))
	if parts == nil {
		return []string{name}
	}
	names, _ := input.Names(filepath.Dir(name))
	ranks, found := 0, 0
	for _, f := range append(names, filepath.Base(name)) {
		if p := n.Pattern().FindStringSubmatch(f); p != nil && p[1] == parts[1] && p[3] == parts[3] {
			r, _ := strconv.Atoi(p[2])
			ranks = max(ranks, r+1)
			found++
		}
	}
	var files []string
	for r := range min(ranks, found) {
		files = append(files, filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%0*d%s", parts[1], n.Digits, r, parts[3])))
	}
	return files
}

// Find is the file that a trace is told by: the name itself, or if it is a folder or a tar
// file the first one in it of the endings that name such files; or the only file.
func Find(name string, endings []string) (string, error) {
	names, err := input.Names(name)
	if err != nil || len(names) == 0 {
		return name, err
	}
	var found []string
	for _, ending := range endings {
		for _, n := range names {
			if strings.HasSuffix(n, ending) {
				found = append(found, n)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if found == nil {
		found = names
	}
	if len(found) > 1 {
		return "", fmt.Errorf("holds %d traces, as %s and %s: name one, as %s", len(found), found[0], found[1], filepath.Join(filepath.Base(name), found[0]))
	}
	return filepath.Join(name, found[0]), nil
}
