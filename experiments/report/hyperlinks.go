package report

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// file is a file of a result folder that the page links to.
type file struct{ Name, Link string }

// linker makes links from the page to files, relative to where the page stands.
type linker struct{ base string }

// newLinker is for a page at out; without one, the page has no links to files.
func newLinker(out string) linker {
	if out == "" {
		return linker{}
	}
	base, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return linker{}
	}
	return linker{base}
}

// to is the link to a file that is there; empty otherwise.
func (l linker) to(dir, name string) string {
	if l.base == "" {
		return ""
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	relative, err := filepath.Rel(l.base, path)
	if err != nil {
		return ""
	}
	link := (&url.URL{Path: filepath.ToSlash(relative)}).EscapedPath()
	if !strings.HasPrefix(link, "../") {
		link = "./" + link // no part of a name is a scheme
	}
	return link
}

// files lists those of the names that are there.
func (l linker) files(dir string, names ...string) []file {
	var all []file
	for _, name := range names {
		if link := l.to(dir, name); link != "" {
			all = append(all, file{name, link})
		}
	}
	return all
}

// ofRun lists the files of a run: tables, settings and provenance.
func (l linker) ofRun(f *experiments.Folder) []file {
	names := []string{"results.csv"}
	for _, table := range f.Manifest.Tables {
		names = append(names, filepath.Base(table)+".csv")
	}
	slices.Sort(names[1:])
	return l.files(f.Dir, append(names, "performance.csv", "failures.csv", "resolved.toml", "manifest.json")...)
}

// ofFigure lists the forms of a figure and its data.
func (l linker) ofFigure(f *experiments.Folder, p *experiments.PlotConfig) []file {
	return l.files(f.Dir, p.File+".svg", p.File+".png", p.File+".pdf", p.File+".data.csv")
}
