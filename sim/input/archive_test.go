package input

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tarred is an archive of files, by name and content.
func tarred(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Members of archives are read as files are, packed ones too, whatever packs the archive.
func TestArchive(t *testing.T) {
	content := tarred(t, "./run/a.txt", "one", "run/b", string(gzipped(t, []byte("two"))), "../out", "no", "c", "")
	for name, packed := range map[string][]byte{"x.tar": content, "x.tar.gz": gzipped(t, content), "x.tar.zst": zstandard(t, content)} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, packed, 0o666); err != nil {
			t.Fatal(err)
		}
		for member, want := range map[string]string{"run/a.txt": "one", "run/b": "two", "c": ""} {
			if got, err := ReadInput(filepath.Join(file, member), 1<<20); err != nil || string(got) != want {
				t.Errorf("%s/%s: %q, %v", name, member, got, err)
			}
		}
		for folder, want := range map[string]string{"": "[c run/a.txt run/b]", "run": "[a.txt b]", "c": "[]"} {
			if got, err := Names(filepath.Join(file, folder)); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s/%s: %v, %v", name, folder, got, err)
			}
		}
		if _, err := ReadInput(filepath.Join(file, "run"), 1<<20); err == nil || err.Error() != "no such file in the archive" {
			t.Error(err)
		}
		if _, err := ReadInput(filepath.Join(file, "run/a.txt"), 2); err == nil || !strings.Contains(err.Error(), "more than 2 bytes") {
			t.Error(err)
		}
		// One that is written again is read again.
		if err := os.WriteFile(file, tarred(t, "d", "other"), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadInput(filepath.Join(file, "d"), 1<<20); err != nil || string(got) != "other" {
			t.Errorf("%q, %v", got, err)
		}
	}
	file := filepath.Join(t.TempDir(), "cut.tar")
	for n, want := range map[int]string{1000: "is it truncated?", 700: "damaged tar file", 100: "not a directory"} {
		if err := os.WriteFile(file, tarred(t, "a", strings.Repeat("x", 600))[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadInput(filepath.Join(file, "a"), 1<<20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %s", n, err, want)
		}
	}
}

// FuzzArchive: whatever a file holds, what is in it is read or refused.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 600)))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, content, 0o666); err != nil {
			t.Fatal(err)
		}
		names, _ := Names(file)
		for _, name := range names {
			if _, err := OpenInput(filepath.Join(file, name), 1<<20); err != nil {
				continue
			}
		}
	})
}
