package input

import (
	"archive/tar"
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// archive is a tar file whose members are read as files: ARCHIVE/MEMBER.
type archive struct {
	content io.ReaderAt
	members map[string]*member
	names   []string // in order
}

// member is a file of an archive.
type member struct {
	name         string
	offset, size int64
	of           *archive
}

// archives are opened once and stay open, as members are read many times; compressed ones are read
// from an unpacked copy.
var archives struct {
	sync.Mutex
	byPath map[string]*opened
}

// opened is an archive as it was at a time.
type opened struct {
	*archive
	at   time.Time
	size int64
}

// openArchive opens an archive; nil if the file is none.
func openArchive(path string) (*archive, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	archives.Lock()
	defer archives.Unlock()
	if o := archives.byPath[path]; o != nil && o.at.Equal(info.ModTime()) && o.size == info.Size() {
		return o.archive, nil
	}
	f, err := OpenInput(path, MaxStream)
	if err != nil {
		return nil, err
	}
	in := f.(*input)
	begin := make([]byte, 512)
	n, err := io.ReadFull(in, begin)
	if err != nil || string(begin[257:262]) != "ustar" {
		in.Close()
		return nil, nil
	}
	var a *archive
	if plain, ok := in.file.(*os.File); ok && in.kind == "" {
		a, err = listArchive(plain, info.Size())
	} else {
		a, err = spoolArchive(io.MultiReader(bytes.NewReader(begin[:n]), in))
		in.Close()
	}
	if err != nil {
		return nil, err
	}
	if archives.byPath == nil {
		archives.byPath = map[string]*opened{}
	}
	archives.byPath[path] = &opened{a, info.ModTime(), info.Size()}
	return a, nil
}

// spoolArchive copies an archive to a temporary file that has no name for long.
func spoolArchive(r io.Reader) (*archive, error) {
	f, err := os.CreateTemp("", "weft-*.tar")
	if err != nil {
		return nil, inputError(err)
	}
	os.Remove(f.Name()) // where the system allows it; it is read until the end
	size, err := io.Copy(f, r)
	if err != nil {
		f.Close()
		return nil, inputError(err)
	}
	return listArchive(f, size)
}

// listArchive finds the members.
func listArchive(f *os.File, size int64) (*archive, error) {
	a := &archive{content: f, members: map[string]*member{}}
	at := io.NewSectionReader(f, 0, size)
	r := tar.NewReader(at)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			f.Close()
			return nil, &InputError{"damaged tar file: " + err.Error()}
		}
		name := path.Clean(h.Name)
		offset, _ := at.Seek(0, io.SeekCurrent)
		if h.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			continue // folders, links, what is outside
		}
		if offset+h.Size > size {
			f.Close()
			return nil, &InputError{fmt.Sprintf("damaged tar file: %s ends at byte %d of %d: is it truncated?", name, offset+h.Size, size)}
		}
		a.members[name] = &member{name, offset, h.Size, a}
	}
	for name := range a.members {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	return a, nil
}

// inArchive finds the archive that a path goes into, and the member; nil if there is none.
func inArchive(file string) (*archive, string, error) {
	for dir, name := filepath.Dir(file), filepath.Base(file); ; {
		a, err := openArchive(dir)
		if a != nil || err != nil {
			return a, name, err
		}
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return nil, "", nil
		}
		dir, name = filepath.Dir(dir), path.Join(filepath.Base(dir), name)
	}
}

// openMember opens a file of an archive; nil if the path goes into none.
func openMember(file string) (fs.File, error) {
	a, name, err := inArchive(file)
	if a == nil || err != nil {
		return nil, err
	}
	m := a.members[name]
	if m == nil {
		return nil, &InputError{"no such file in the archive"}
	}
	return &memberFile{io.NewSectionReader(a.content, m.offset, m.size), m}, nil
}

// memberFile is a member being read.
type memberFile struct {
	*io.SectionReader
	*member
}

func (m *memberFile) Stat() (fs.FileInfo, error) { return m.member, nil }
func (m *memberFile) Close() error               { return nil }
func (m *memberFile) Size() int64                { return m.size }
func (m *member) Name() string                   { return path.Base(m.name) }
func (m *member) Size() int64                    { return m.size }
func (m *member) Mode() fs.FileMode              { return 0o444 }
func (m *member) ModTime() time.Time             { return time.Time{} }
func (m *member) IsDir() bool                    { return false }
func (m *member) Sys() any                       { return nil }

// Names are the files in a folder, or all of a tar file or of a folder in one, with their folders;
// none of another file.
func Names(folder string) (names []string, err error) {
	if list, err := os.ReadDir(folder); err == nil {
		for _, entry := range list {
			if !entry.IsDir() {
				names = append(names, entry.Name())
			}
		}
		return names, nil
	}
	a, prefix, err := inArchive(filepath.Join(folder, "*"))
	if a == nil || err != nil {
		return nil, err
	}
	for _, name := range a.names {
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(prefix, "*")); ok {
			names = append(names, rest)
		}
	}
	return names, nil
}

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
