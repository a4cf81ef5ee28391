package experiments

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// embedded holds the experiment files that come with weft.
//
//go:embed examples papers
var embedded embed.FS

// embeddedName is the name under which a file comes with weft, if it does.
func embeddedName(name string) string {
	return strings.TrimSuffix(path.Clean(strings.ReplaceAll(name, `\`, "/")), ".toml") + ".toml"
}

// embeddedTitle is the title of a file that comes with weft. Reading the file in
// full builds the networks of all its points: that is done only where the title
// speaks of them.
func embeddedTitle(name string) string {
	text, err := embedded.ReadFile(name)
	if err != nil {
		panic("experiments: " + err.Error())
	}
	d, err := parseDocument(name, string(text))
	if err != nil {
		panic("experiments: " + err.Error()) // a test loads them all
	}
	title, _ := d.tree["title"].(string)
	if placeholder.MatchString(title) {
		f, err := Open(name, Options{})
		if err != nil {
			panic("experiments: " + err.Error())
		}
		return f.Title
	}
	return title
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
