package input

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-sim/weft/sim/simtest"
)

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	simtest.Must(w.Write(content))(t)
	simtest.Check(t, w.Close())
	return b.Bytes()
}

func zstandard(t *testing.T, content []byte) []byte {
	t.Helper()
	w := simtest.Must(zstd.NewWriter(nil))(t)
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
		simtest.Check(t, os.WriteFile(path, content, 0o666))
		want := text
		if len(content) < 4 {
			want = string(content)
		}
		got, err := ReadInput(path, 1<<20)
		simtest.ErrorIf(t, err != nil || string(got) != want, "%s: %q, %v", name, got, err)
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
		"xz":        {[]byte("\xfd7zXZ\x00"), 1 << 30, "packed by xz, bzip2 or zip"},
		"bzip2":     {[]byte("BZh91AY&SY"), 1 << 30, "packed by xz, bzip2 or zip"},
		"zip":       {[]byte("PK\x03\x04\x14"), 1 << 30, "packed by xz, bzip2 or zip"},
		"false":     {[]byte("\x1f\x8bno"), 1 << 30, "damaged gzip file"},
		"zero\x00":  {nil, 1, "zero byte"},
		"absent/":   {nil, 1, "no such file"},
		".":         {nil, 1, "folder"},
	} {
		path := filepath.Join(dir, name)
		if c.content != nil {
			simtest.Check(t, os.WriteFile(path, c.content, 0o666))
		}
		content, err := ReadInput(path, c.limit)
		var input *InputError
		simtest.ErrorIf(t, !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), dir),
			"%s: %v, want %q", name, err, c.want)
		simtest.ErrorIf(t, int64(len(content)) > c.limit, "%s: %d bytes read", name, len(content))
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		simtest.Refuse(ReadInput("/dev/zero", MaxInput))(t, "more than 16 MiB")
	}
}

// A packed file that holds more than packing saves is refused, for readers that hold it and for
// readers of streams: 34 and 64 MiB of zeros are 34 and 64 KiB of gzip, and may be 32 MiB more than 32 or
// 128 times that, 33 and 40 MiB. What a sparse file is said to have is not believed.
func TestSwollen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct {
		mebibytes int
		limit     int64
	}{{34, MaxInput}, {64, MaxStream}} {
		simtest.Check(t, os.WriteFile(path, gzipped(t, make([]byte, c.mebibytes<<20)), 0o666))
		in := simtest.Must(OpenInput(path, c.limit))(t)
		n, err := io.Copy(io.Discard, in)
		if err == nil || !strings.Contains(err.Error(), "times the packed size") || n > int64(c.mebibytes)<<20 {
			t.Errorf("%d MiB: %d bytes, %v", c.mebibytes, n, err)
		}
	}
	simtest.Check(t, os.WriteFile(path, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"), 0o666))
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip(err) // no such files here
	}
	simtest.Refuse(ReadInput(path, MaxInput))(t, "damaged gzip file")
}

// A content as long as the limit is not too long.
func TestInputAtTheLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	simtest.Check(t, os.WriteFile(path, gzipped(t, []byte("12345")), 0o666))
	text, err := ReadInput(path, 5)
	simtest.ErrorIf(t, err != nil || string(text) != "12345", "%q, %v", text, err)
}

// tarred is an archive of files, by name and content.
func tarred(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		simtest.Check(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: files[i], Size: int64(len(files[i+1])), Mode: 0o644}))
		simtest.Must(w.Write([]byte(files[i+1])))(t)
	}
	simtest.Check(t, w.Close())
	return b.Bytes()
}

// Members of archives are read as files are, packed ones too, whatever packs the archive.
func TestArchive(t *testing.T) {
	content := tarred(t, "./run/a.txt", "one", "run/b", string(gzipped(t, []byte("two"))), "../out", "no", "c", "")
	for name, packed := range map[string][]byte{"x.tar": content, "x.tar.gz": gzipped(t, content), "x.tar.zst": zstandard(t, content)} {
		file := filepath.Join(t.TempDir(), name)
		simtest.Check(t, os.WriteFile(file, packed, 0o666))
		for member, want := range map[string]string{"run/a.txt": "one", "run/b": "two", "c": ""} {
			got, err := ReadInput(filepath.Join(file, member), 1<<20)
			simtest.ErrorIf(t, err != nil || string(got) != want, "%s/%s: %q, %v", name, member, got, err)
		}
		for folder, want := range map[string]string{"": "[c run/a.txt run/b]", "run": "[a.txt b]", "c": "[]"} {
			got, err := Names(filepath.Join(file, folder))
			simtest.ErrorIf(t, err != nil || fmt.Sprint(got) != want, "%s/%s: %v, %v", name, folder, got, err)
		}
		_, err := ReadInput(filepath.Join(file, "run"), 1<<20)
		simtest.ErrorIf(t, err == nil || err.Error() != "no such file in the archive", "%v", err)
		simtest.Refuse(ReadInput(filepath.Join(file, "run/a.txt"), 2))(t, "more than 2 bytes")
		// One that is written again is read again.
		simtest.Check(t, os.WriteFile(file, tarred(t, "d", "other"), 0o666))
		got, err := ReadInput(filepath.Join(file, "d"), 1<<20)
		simtest.ErrorIf(t, err != nil || string(got) != "other", "%q, %v", got, err)
	}
	file := filepath.Join(t.TempDir(), "cut.tar")
	for n, want := range map[int]string{1000: "is it truncated?", 700: "damaged tar file", 100: "not a directory"} {
		simtest.Check(t, os.WriteFile(file, tarred(t, "a", strings.Repeat("x", 600))[:n], 0o666))
		simtest.Refuse(ReadInput(filepath.Join(file, "a"), 1<<20))(t, want)
	}
}

// FuzzArchive: whatever a file holds, what is in it is read or refused.
func FuzzArchive(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 600)))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "x")
		simtest.Check(t, os.WriteFile(file, content, 0o666))
		names, _ := Names(file)
		for _, name := range names {
			if _, err := OpenInput(filepath.Join(file, name), 1<<20); err != nil {
				continue
			}
		}
	})
}

// Line ends, tabs and letters stay; what steers a terminal or turns the direction
// of writing is spelt out; what is no UTF-8 is replaced.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc µ 漢":         "a\tb\nc µ 漢",
		"\x1b[31mred\x00\x7f": `\u001b[31mred\u0000\u007f`,
		"\u0085\u009b":        `\u0085\u009b`,
		"\u202eabc\u2066":     `\u202eabc\u2066`,
		"a\xffb":              "a\ufffdb",
	} {
		simtest.Equal(t, Printable(in), want, "%q:", in)
		simtest.ErrorIf(t, HasControl(in) != HasControl(want) && HasControl(want), "%q still steers", want)
	}
}
