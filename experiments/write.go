package experiments

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	temporary, err := os.CreateTemp(filepath.Dir(target), ".weft-*")
	if err != nil {
		return &WriteError{path, reason(err), true}
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), target)
	}
	if err != nil {
		os.Remove(temporary.Name())
		return &WriteError{path, reason(err), false}
	}
	return nil
}

// writeInto writes to what is no regular file and must not be replaced by one.
func writeInto(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return &WriteError{path, reason(err), true}
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return &WriteError{path, reason(err), false}
	}
	return nil
}

// reason is the cause of a file error without the path, which messages have
// already, and without the name of a temporary file.
func reason(err error) string {
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
