package experiments

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CheckFolder tells whether a run may write to a result folder. One that holds
// an earlier run is left alone, unless the run resumes that or is forced to
// replace it. The error is a *FolderError.
func CheckFolder(dir string, resume, force bool) error {
	switch {
	case beingWritten(dir):
		return &FolderError{dir, "another weft process is computing in it: wait until it is done, or choose another folder with --out"}
	case resume || force:
	case exists(filepath.Join(dir, manifestFile)):
		return &FolderError{dir, "holds the results of a finished run: replace them with --force, keep the points that have not changed with --resume, or choose another folder with --out"}
	case exists(filepath.Join(dir, journalFile)):
		return &FolderError{dir, "holds the finished points of an interrupted run: go on with --resume, begin again with --force, or choose another folder with --out"}
	}
	return nil
}

// beingWritten tells whether another process has the journal of a result folder.
func beingWritten(dir string) bool {
	f, err := os.Open(filepath.Join(dir, journalFile))
	if err != nil {
		return false
	}
	defer f.Close() // and with it the lock
	return lockFile(f) != nil
}

// figures lists the pictures that a run's file asked for. The file may be of
// another version of weft, so nothing but their names is read from it.
func (m *Manifest) figures() []string {
	d, err := parseDocument(resolvedFile, m.Resolved)
	if err != nil {
		return nil
	}
	var names []string
	for _, table := range d.elements("plot") {
		file, _ := table["file"].(string)
		if file == "" {
			x, _ := table["x"].(string)
			file = figureName(textsOf(table["y"]), x)
		}
		formats := textsOf(table["formats"])
		if len(formats) == 0 {
			formats = defaultFormats
		}
		for _, format := range formats {
			if (slices.Contains(PictureFormats, format) || format == csvFormat) && !strings.ContainsAny(file, `/\`) {
				names = append(names, plotFile(file, format))
			}
		}
	}
	return names
}

// textsOf reads a string or a list of strings.
func textsOf(raw any) []string {
	list, isList := raw.([]any)
	if !isList {
		list = []any{raw}
	}
	var texts []string
	for _, one := range list {
		if text, ok := one.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
