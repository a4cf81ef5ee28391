package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// File is a set of states as they are kept on disk: compressed, with a checksum, and with
// the program that wrote them, which alone can read them.
type File struct {
	Build  string // names the program exactly
	States []State
}

// State is a state with what it belongs to.
type State struct {
	Key      string   // names all that it depends on, such as a hash of Settings
	Settings []string // "key = value", in some order of the program's
	Data     []byte
}

const (
	magic     = "weft snapshot\n"
	form      = 1 // of what follows the magic
	sumLength = sha256.Size
)

// Encode is the file: magic, form, length of the rest, its SHA-256, the rest: the build,
// and the states compressed by Zstandard. Equal files give equal bytes.
func (f *File) Encode() []byte {
	a := Writer()
	f.archiveStates(a)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("snapshot: " + err.Error()) // there are no wrong options
	}
	packed := encoder.EncodeAll(a.Bytes(), nil)
	rest := Writer()
	String(rest, &f.Build)
	Blob(rest, &packed)
	sum := sha256.Sum256(rest.Bytes())
	b := append([]byte(magic), form)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(rest.Bytes())))
	b = append(b, sum[:]...)
	return append(b, rest.Bytes()...)
}

// Decode reads a file of the program build, taking so many bytes of memory at most for its
// states. The error says why it cannot be used.
func Decode(b []byte, build string, memory int64) (*File, error) {
	const header = len(magic) + 1 + 8 + sumLength
	switch {
	case len(b) == 0:
		return nil, errors.New("is empty")
	case !bytes.HasPrefix(b, []byte(magic)) && !strings.HasPrefix(magic, string(b)):
		return nil, errors.New("is no snapshot of weft")
	case len(b) > len(magic) && b[len(magic)] != form:
		return nil, fmt.Errorf("is a snapshot of form %d; this weft reads form %d", b[len(magic)], form)
	case len(b) < header:
		return nil, fmt.Errorf("ends in its first %d bytes", header)
	}
	length, rest := binary.LittleEndian.Uint64(b[len(magic)+1:]), b[header:]
	if uint64(len(rest)) != length {
		return nil, fmt.Errorf("is cut off or grown: it has %d bytes, and was written with %d", len(b), length+uint64(header))
	}
	if sha256.Sum256(rest) != [sumLength]byte(b[header-sumLength:header]) {
		return nil, errors.New("is damaged: its checksum does not fit")
	}
	f, a := &File{}, Reader(rest)
	var packed []byte
	String(a, &f.Build)
	Blob(a, &packed)
	if err := a.End(); err != nil {
		return nil, err
	}
	if f.Build != build {
		return nil, fmt.Errorf("was written by weft %s; this is weft %s, and only the same build reads it", f.Build, build)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(1<<20, memory))))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	states, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot be unpacked: %w", err)
	}
	a = Reader(states)
	f.archiveStates(a)
	return f, a.End()
}

func (f *File) archiveStates(a *Archive) {
	List(a, &f.States, func(a *Archive, s *State) {
		String(a, &s.Key)
		List(a, &s.Settings, String)
		Blob(a, &s.Data)
	})
}

// Find is the state of a key. Without one, the error says by which settings the nearest
// differs from what is wanted.
func (f *File) Find(key string, settings []string) ([]byte, error) {
	var nearest []string
	for i := range f.States {
		s := &f.States[i]
		if s.Key == key {
			return s.Data, nil
		}
		if d := differences(s.Settings, settings); nearest == nil || len(d) < len(nearest) {
			nearest = d
		}
	}
	if len(f.States) == 0 {
		return nil, errors.New("holds no state")
	}
	const most = 4
	more := ""
	if n := len(nearest) - most; n > 0 {
		nearest, more = nearest[:most], fmt.Sprintf(" and %d more", n)
	}
	return nil, fmt.Errorf("is of other settings: %s%s", strings.Join(nearest, "; "), more)
}

// differences lists the settings in which two states differ.
func differences(has, want []string) (all []string) {
	byKey := map[string]string{}
	for _, s := range want {
		key, value, _ := strings.Cut(s, " = ")
		byKey[key] = value
	}
	for _, s := range has {
		key, value, _ := strings.Cut(s, " = ")
		switch other, ok := byKey[key]; {
		case !ok:
			all = append(all, fmt.Sprintf("%s = %s is not set here", key, value))
		case other != value:
			all = append(all, fmt.Sprintf("%s = %s, here %s", key, value, other))
		}
		delete(byKey, key)
	}
	for _, s := range want {
		key, value, _ := strings.Cut(s, " = ")
		if _, left := byKey[key]; left {
			all = append(all, fmt.Sprintf("%s = %s is not set there", key, value))
		}
	}
	return all
}
