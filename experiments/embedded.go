package experiments

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/sim/input"
)

// embedded holds the experiment files that come with weft.
//
//go:embed examples papers
var embedded embed.FS

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
	if !placeholder.MatchString(header.Title) {
		return header.Title
	}
	d, err := parseDocument(name, string(text))
	if err != nil {
		panic("experiments: " + err.Error())
	}
	f := &File{Name: name, doc: d, shared: &Shared{}}
	if f.header() {
		f.readSweep()
		for i := range f.sweep {
			if a := &f.sweep[i]; !slices.ContainsFunc(a.keys, func(key string) bool { return shownIn(header.Title, key) }) {
				a.values = a.values[:1]
			}
		}
		f.expand()
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
	text, err := embedded.ReadFile(name)
	if err != nil {
		return nil
	}
	d, err := parseDocument(name, string(text))
	if err != nil {
		return nil
	}
	var keys []string
	for _, key := range d.order {
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

// KindOf is the kind of an experiment file, or of one that comes with weft; "" where
// there is no such file, or it is no TOML.
func KindOf(name string) string {
	text, err := input.ReadInput(name, input.MaxSettings)
	if err != nil {
		if text, err = embedded.ReadFile(embeddedName(name)); err != nil {
			return ""
		}
	}
	d, err := parseDocument(name, string(text))
	if err != nil {
		return ""
	}
	if kind, given := d.tree["kind"].(string); given {
		return kind
	}
	return DefaultKind
}
