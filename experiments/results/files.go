package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteError says that a file cannot be written. Before is true if that was
// known before anything was written: there is no such folder, or it is closed
// to the user.
type WriteError struct {
	Path, Reason string
	Before       bool
}

func (e *WriteError) Error() string { return e.Path + ": cannot be written: " + e.Reason }

// WriteFile writes a file that is complete or absent: to a temporary name
// beside it, to disk, then renamed. A symbolic link stays, what it leads to is
// written; devices and pipes (/dev/stdout, /dev/null) are written into. The
// error is a *WriteError.
func WriteFile(path string, content []byte) error {
	target := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		target = resolved
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return &WriteError{path, "is a folder", true}
	case err == nil && !info.Mode().IsRegular():
		return writeInto(path, content)
	}
	return replaceFile(path, target, whole(content))
}

// WriteInside writes a file of a result folder: name is relative to it, and no link
// in the folder is followed. The error is a *WriteError.
func WriteInside(dir, name string, content []byte) error {
	return StreamInside(dir, name, whole(content))
}

// StreamInside is WriteInside of what write writes.
func StreamInside(dir, name string, write func(*os.File) error) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	below := filepath.Dir(filepath.FromSlash(name))
	if err := InsideOnly(dir, below); err != nil {
		return &WriteError{path, err.Error(), true}
	}
	if err := os.MkdirAll(filepath.Join(dir, below), 0o777); err != nil {
		return &WriteError{path, Reason(err), true}
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return &WriteError{path, "is a folder", true}
	}
	return replaceFile(path, path, write)
}

// InsideOnly refuses a folder below dir whose way is through a link, or that is no
// folder.
func InsideOnly(dir, below string) error {
	if !filepath.IsLocal(below) {
		return errors.New("leads out of the result folder")
	}
	at := dir
	for part := range strings.SplitSeq(below, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return errors.New(Reason(err))
		case part != "." && !info.IsDir():
			return fmt.Errorf("%s is not a folder", at)
		}
	}
	return nil
}

// temporaryFiles is the pattern of files that are being written. A process that is
// killed leaves them; RemoveTemporary takes them away.
const temporaryFiles = ".weft-*"

// RemoveTemporary removes what a killed process has left in a result folder and the
// folders of points in it. The caller holds the folder's journal.
func RemoveTemporary(dir string) {
	for _, pattern := range []string{temporaryFiles, filepath.Join("*", temporaryFiles)} {
		left, _ := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
		for _, name := range left {
			path := filepath.Join(dir, filepath.FromSlash(name))
			info, err := os.Lstat(path)
			if err == nil && info.Mode().IsRegular() && InsideOnly(dir, filepath.Dir(filepath.FromSlash(name))) == nil {
				_ = os.Remove(path) // it hurts nobody if it stays
			}
		}
	}
}

// WriteBelow is [WriteFile], and makes the folder of the file.
func WriteBelow(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return WriteFile(path, content)
}

// whole writes a content that is there.
func whole(content []byte) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.Write(content)
		return err
	}
}

// replaceFile writes target, which messages call path.
func replaceFile(path, target string, write func(*os.File) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(target), temporaryFiles)
	if err != nil {
		return &WriteError{path, Reason(err), true}
	}
	err = errors.Join(write(temporary), temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), target)
	}
	if err != nil {
		os.Remove(temporary.Name())
		return &WriteError{path, Reason(err), false}
	}
	return nil
}

// writeInto writes to what is no regular file and must not be replaced by one.
func writeInto(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return &WriteError{path, Reason(err), true}
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return &WriteError{path, Reason(err), false}
	}
	return nil
}

// Reason is the cause of a file error without the path, which messages have
// already, and without the name of a temporary file.
func Reason(err error) string {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return err.Error()
}
