package experiments

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
)

// embedded holds the experiment files that come with weft.
//
//go:embed examples papers
var embedded embed.FS

func init() { input.Bundle(embedded) } // which files of their own and of users may read

// embeddedName is the name under which a file comes with weft, if it does.
func embeddedName(name string) string {
	return strings.TrimSuffix(path.Clean(strings.ReplaceAll(name, `\`, "/")), ".toml") + ".toml"
}

// EmbeddedTitle is the title of a file that comes with weft. Only the keys in front of its
// tables are read, and where the title speaks of its points, those in which they differ.
func EmbeddedTitle(name string) string {
	text, err := embedded.ReadFile(name)
	if err != nil {
		panic("experiments: " + err.Error())
	}
	keys, _, _ := strings.Cut("\n"+string(text), "\n[")
	var header struct{ Title string }
	if _, err := toml.Decode(keys, &header); err != nil {
		panic("experiments: " + err.Error()) // a test loads them all
	}
	if !placeholder().MatchString(header.Title) {
		return header.Title
	}
	f := &File{Name: name, doc: asWritten(name), shared: &Shared{}}
	if f.header() {
		f.readSweep()
		for i := range f.sweep {
			if a := &f.sweep[i]; !slices.ContainsFunc(a.keys, func(key string) bool { return shownIn(header.Title, key) }) {
				a.values = a.values[:1]
			}
		}
		f.expand(false)
	}
	f.fillTitles(nil)
	return f.Title
}

// shownIn tells whether what a title shows may change with a setting.
func shownIn(title, key string) bool {
	ofNetwork := strings.Contains(title, "{terminals}") || strings.Contains(title, "{switches}")
	return strings.Contains(title, "{"+key+"}") || ofNetwork && strings.HasPrefix(key, "topology.")
}

// Embedded lists the experiment files that come with weft under a folder
// ("examples", "papers/dragonfly"; "" for all), in alphabetical order.
func Embedded(folder string) []string {
	root := "."
	if folder != "" {
		root = folder
	}
	var names []string
	err := fs.WalkDir(embedded, root, func(p string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(p, ".toml") {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		return nil // no such folder
	}
	slices.Sort(names)
	return names
}

// EmbeddedKeys lists the dotted keys that a file that comes with weft sets or
// sweeps, in the order of the file.
func EmbeddedKeys(name string) []string {
	d := asWritten(name)
	if d == nil {
		return nil
	}
	var keys []string
	for _, key := range d.Order {
		for _, lead := range []string{"quick.", "sweep.lockstep.", "sweep."} {
			key = strings.TrimPrefix(key, lead)
		}
		key = strings.ReplaceAll(key, `"`, "")
		if strings.Contains(key, ".") && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// StandsBeside tells whether a file that comes with weft is one of those that a report of several
// lists after the others: trials, of which no row is judged.
func StandsBeside(name string) bool {
	d := asWritten(name)
	return d != nil && d.Root["beside"] == true
}

// asWritten is a file that comes with weft; nil: there is none of that name.
func asWritten(name string) *document.Tree {
	text, err := embedded.ReadFile(name)
	if err != nil {
		return nil
	}
	d, err := document.Parse(name, string(text))
	if err != nil {
		panic("experiments: " + err.Error()) // a test loads them all
	}
	return d
}

// KindOf is the kind of an experiment file, or of one that comes with weft; "" where
// there is no such file, or it is no TOML.
func KindOf(name string) string {
	text, err := input.ReadInput(name, input.MaxSettings)
	if err != nil {
		if text, err = embedded.ReadFile(embeddedName(name)); err != nil {
			return ""
		}
	}
	d, err := document.Parse(name, string(text))
	if err != nil {
		return ""
	}
	if kind, given := d.Root["kind"].(string); given {
		return kind
	}
	return DefaultKind
}

// reproductionTimesCSV says what the experiments of each paper took, whole and in their quick
// variants, without those that stand beside them: seconds of one core of weft's own machine.
//
//go:embed papers/times.csv
var reproductionTimesCSV string

var reproductionTimes = sync.OnceValue(func() map[string][2]float64 {
	t, err := results.ReadTable("times.csv", strings.NewReader(reproductionTimesCSV))
	if err != nil {
		panic("experiments: " + err.Error())
	}
	all := map[string][2]float64{}
	for _, r := range t.Rows {
		all[r[0]] = [2]float64{results.Number(r[1]), results.Number(r[2])}
	}
	return all
})

// ReproductionTime says how long some of the files of papers take, or their quick variants, on
// so many processors: of whole papers together, and for others what all of their paper takes. What
// stands beside them is not counted.
func ReproductionTime(paths []string, quick bool, processors int) string {
	all, some, beside := map[string]int{}, map[string]int{}, 0
	for _, path := range Embedded("papers") {
		if !StandsBeside(path) {
			all[paperOf(path)]++
		}
	}
	for _, path := range paths {
		if StandsBeside(path) {
			beside++
		} else {
			some[paperOf(path)]++
		}
	}
	column := 0
	if quick {
		column = 1
	}
	whole, seconds := 0, 0.0
	var parts []string
	for _, paper := range results.SortedKeys(some) {
		took, known := reproductionTimes()[paper]
		if !known {
			panic("experiments: papers/times.csv lacks " + paper)
		}
		if some[paper] == all[paper] {
			whole += some[paper]
			seconds += took[column]
			continue
		}
		parts = append(parts, fmt.Sprintf("%d of the %d experiments of %s, all of which take %s", some[paper], all[paper], paper, processorTime(took[column], processors)))
	}
	if whole > 0 {
		parts = append([]string{fmt.Sprintf("%d experiments: %s", whole, processorTime(seconds, processors))}, parts...)
	}
	if beside > 0 {
		parts = append(parts, fmt.Sprintf("%d beside them", beside))
	}
	return strings.Join(parts, "; ") + " (on weft's own machine)"
}

// paperOf is the paper that a file such as papers/dragonfly/fig9.toml is of.
func paperOf(path string) string {
	paper, _, _ := strings.Cut(strings.TrimPrefix(path, "papers/"), "/")
	return paper
}

// processorTime says what some seconds of one processor are on several.
func processorTime(seconds float64, processors int) string {
	text := func(seconds float64) string {
		if seconds < 100 {
			return fmt.Sprintf("%.0f s", seconds)
		}
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("roughly %s of processor time, %s on %d idle processors", text(seconds), text(seconds/float64(processors)), processors)
}
