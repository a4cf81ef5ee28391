//go:build unix

package results

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A symbolic link and a pipe stay what they are; what cannot be written is
// named as the user named it, and nothing is left.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(at("file"), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("file", at("link")); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(at("link"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(at("link")); err != nil || to != "file" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if text, _ := os.ReadFile(at("file")); string(text) != "three" {
		t.Errorf("the file holds %q", text)
	}

	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	end, err := os.OpenFile(at("pipe"), os.O_RDWR, 0) // does not wait for the other end
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if err := WriteFile(at("pipe"), []byte("four")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(at("pipe")); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe has become %v, %v", info.Mode(), err)
	}
	text := make([]byte, 10)
	if n, _ := end.Read(text); string(text[:n]) != "four" {
		t.Errorf("the pipe held %q", text[:n])
	}

	for path, want := range map[string]string{
		at("none/file"):              "cannot be written: no such file or directory",
		dir:                          "cannot be written: is a folder",
		at(strings.Repeat("x", 300)): "cannot be written: file name too long",
	} {
		err := WriteFile(path, nil)
		if w := (*WriteError)(nil); !errors.As(err, &w) || err.Error() != path+": "+want {
			t.Errorf("%v, want %s: %s", err, path, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left %v, %v", entries, err)
	}
}
