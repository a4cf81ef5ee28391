package input

import (
	"embed"
	"io/fs"
	"path/filepath"
	"strings"
)

// Bundled begins the paths of files that come with the program.
const Bundled = "weft:"

// bundled holds those.
var bundled fs.FS = embed.FS{}

// Bundle sets them. Only from a function init.
func Bundle(files fs.FS) { bundled = files }

// In is a path as it is given in a folder: relative ones start there. "" stays.
func In(dir, path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, Bundled) {
		return path
	}
	return filepath.Join(dir, path)
}
