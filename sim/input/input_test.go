package input

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t *testing.T, content []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(content, nil)
}

// Files are read as what they hold, whatever their names say; several gzip members
// in one file are one text.
func TestInputByContent(t *testing.T) {
	const text = "num_ranks 2\n"
	for name, content := range map[string][]byte{
		"plain.gz":      []byte(text),
		"gzip.txt":      gzipped(t, []byte(text)),
		"members.gz":    append(gzipped(t, []byte(text[:5])), gzipped(t, []byte(text[5:]))...),
		"zstd.goal":     zstandard(t, []byte(text)),
		"frames.goal":   append(zstandard(t, []byte(text[:5])), zstandard(t, []byte(text[5:]))...),
		"empty":         nil,
		"shorter-magic": {0x28, 0xb5},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		want := text
		if len(content) < 4 {
			want = string(content)
		}
		if got, err := ReadInput(path, 1<<20); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The limit counts what a file becomes: 4 MiB of zeros are some kilobytes on disk.
// A device is read up to the limit. What is refused names no file.
func TestInputRefused(t *testing.T) {
	zeros := make([]byte, 4<<20)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content []byte
		limit   int64
		want    string
	}{
		"plain":     {zeros, 1 << 20, "more than 1 MiB"},
		"gzip bomb": {gzipped(t, zeros), 1 << 20, "more than 1 MiB"},
		"zstd bomb": {zstandard(t, zeros), 1 << 20, "more than 1 MiB"},
		"one more":  {[]byte("12345"), 4, "more than 4 bytes"},
		"cut gzip":  {gzipped(t, zeros)[:100], 1 << 30, "damaged gzip file"},
		"cut zstd":  {zstandard(t, zeros)[:100], 1 << 30, "damaged zstd file"},
		"false":     {[]byte("\x1f\x8bno"), 1 << 30, "damaged gzip file"},
		"zero\x00":  {nil, 1, "zero byte"},
		"absent/":   {nil, 1, "no such file"},
		".":         {nil, 1, "folder"},
	} {
		path := filepath.Join(dir, name)
		if c.content != nil {
			if err := os.WriteFile(path, c.content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		content, err := ReadInput(path, c.limit)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if int64(len(content)) > c.limit {
			t.Errorf("%s: %d bytes read", name, len(content))
		}
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := ReadInput("/dev/zero", MaxInput); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
			t.Errorf("a device without end: %v", err)
		}
	}
}

// A content as long as the limit is not too long.
func TestInputAtTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, gzipped(t, []byte("12345")), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadInput(path, 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
}
