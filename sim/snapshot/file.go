package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	Key  string // names all that it depends on
	Data []byte
}

const (
	magic     = "weft snapshot\n"
	form      = 3 // of what follows the magic
	sumLength = sha256.Size
	header    = len(magic) + 1 + 8 + sumLength
)

// Encode is the file: magic, form, length of the rest, its SHA-256, the rest: the build,
// and the states compressed by Zstandard. Equal files give equal bytes.
func (f *File) Encode() []byte {
	var b bytes.Buffer
	b.Write(make([]byte, header))
	head, err := f.encodeRest(&b, func(a *Archive, s *State) {
		for data := s.Data; len(data) > 0; {
			piece := data[:min(len(data), pieceBytes)]
			Blob(a, &piece)
			data = data[len(piece):]
		}
	})
	if err != nil {
		panic("snapshot: " + err.Error()) // a buffer takes all
	}
	copy(b.Bytes(), head)
	return b.Bytes()
}

// Write writes a file of one state, as Encode does, without holding more than a piece of it:
// state writes that. w is at its beginning, and stands behind the header when Write is
// done.
func Write(w io.WriteSeeker, build, key string, state func(*Archive) error) error {
	if _, err := w.Write(make([]byte, header)); err != nil {
		return err
	}
	f := &File{Build: build, States: []State{{Key: key}}}
	head, err := f.encodeRest(w, func(a *Archive, _ *State) {
		data := WriterTo(pieces{a})
		if err := errors.Join(state(data), data.End()); err != nil {
			a.Fail("%w", err)
		}
	})
	if err == nil {
		_, err = w.Seek(0, io.SeekStart)
	}
	if err == nil {
		_, err = w.Write(head)
	}
	return err
}

// pieces writes the data of a state, each piece with its length.
type pieces struct{ *Archive }

func (p pieces) Write(b []byte) (int, error) {
	if len(b) > 0 {
		Blob(p.Archive, &b)
	}
	return len(b), p.err
}

// encodeRest writes what follows the header, which it returns. data writes the data of a
// state in pieces.
func (f *File) encodeRest(w io.Writer, data func(*Archive, *State)) (head []byte, err error) {
	sum := sha256.New()
	count := &counter{w: io.MultiWriter(w, sum)}
	build := Writer()
	String(build, &f.Build)
	if _, err := count.Write(build.Bytes()); err != nil {
		return nil, err
	}
	encoder, err := zstd.NewWriter(count, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("snapshot: " + err.Error()) // there are no wrong options
	}
	a := WriterTo(encoder)
	List(a, &f.States, func(a *Archive, s *State) {
		String(a, &s.Key)
		data(a, s)
		var end []byte
		Blob(a, &end)
	})
	if err := errors.Join(a.End(), encoder.Close()); err != nil {
		return nil, err
	}
	head = append([]byte(magic), form)
	head = binary.LittleEndian.AppendUint64(head, uint64(count.n))
	return sum.Sum(head), nil
}

// counter counts bytes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// Decode reads a file of the program build, taking so many bytes of memory at most for its
// states. The error says why it cannot be used.
func Decode(b []byte, build string, memory int64) (*File, error) {
	a, err := open(bytes.NewReader(b), build, memory)
	if err != nil {
		return nil, err
	}
	f := &File{Build: build}
	List(a, &f.States, func(a *Archive, s *State) {
		String(a, &s.Key)
		eachPiece(a, func(piece []byte) { s.Data = append(s.Data, piece...) })
	})
	return f, a.End()
}

// eachPiece reads the data of a state.
func eachPiece(a *Archive, take func([]byte)) {
	for a.Err() == nil {
		var piece []byte
		if Blob(a, &piece); len(piece) == 0 {
			return
		}
		take(piece)
	}
}

// Open checks a file as Decode does and reads the state of a key, a piece at a time, from r,
// which stands at its beginning and is left to the state: its End closes it if it can be
// closed. After an error it is still open.
func Open(r io.ReadSeeker, build, key string, memory int64) (*Archive, error) {
	a, err := open(r, build, memory)
	if err != nil {
		return nil, err
	}
	states, closer := 0, io.Closer(io.NopCloser(nil))
	if c, ok := r.(io.Closer); ok {
		closer = c
	}
	for Int(a, &states); states > 0 && a.Err() == nil; states-- {
		var s State
		String(a, &s.Key)
		if s.Key == key && a.Err() == nil {
			return ReaderFrom(&statePieces{a: a, file: closer}, memory), nil
		}
		eachPiece(a, func([]byte) {})
	}
	if err := a.End(); err != nil {
		return nil, err
	}
	return nil, errNoState
}

// statePieces reads the data of a state.
type statePieces struct {
	a     *Archive
	piece []byte
	ended bool
	file  io.Closer
}

func (s *statePieces) Read(b []byte) (n int, err error) {
	if len(s.piece) == 0 && !s.ended {
		Blob(s.a, &s.piece)
		s.ended = len(s.piece) == 0
	}
	if n = copy(b, s.piece); n == 0 && len(b) > 0 {
		return 0, cmp.Or(s.a.Err(), io.EOF)
	}
	s.piece = s.piece[n:]
	return n, nil
}

// Close closes the file, too.
func (s *statePieces) Close() error {
	s.a.stop(errors.New("is closed"))
	return s.file.Close()
}

// open checks all that comes before the states, and the checksum, and returns the states.
func open(r io.ReadSeeker, build string, memory int64) (*Archive, error) {
	head := make([]byte, header)
	n, err := io.ReadFull(r, head)
	b := head[:n]
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	case len(b) == 0:
		return nil, errors.New("is empty")
	case !bytes.HasPrefix(b, []byte(magic)) && !strings.HasPrefix(magic, string(b)):
		return nil, errors.New("is no snapshot of weft")
	case len(b) > len(magic) && b[len(magic)] != form:
		return nil, fmt.Errorf("is a snapshot of form %d; this weft reads form %d", b[len(magic)], form)
	case len(b) < header:
		return nil, fmt.Errorf("ends in its first %d bytes", header)
	}
	sum := sha256.New()
	length, err := io.Copy(sum, r)
	if err != nil {
		return nil, err
	}
	if written := binary.LittleEndian.Uint64(b[len(magic)+1:]); uint64(length) != written {
		return nil, fmt.Errorf("is cut off or grown: it has %d bytes, and was written with %d", length+int64(header), written+uint64(header))
	}
	if !bytes.Equal(sum.Sum(nil), b[header-sumLength:]) {
		return nil, errors.New("is damaged: its checksum does not fit")
	}
	if _, err := r.Seek(int64(header), io.SeekStart); err != nil {
		return nil, err
	}
	return openStates(bufio.NewReaderSize(r, pieceBytes), build, memory)
}

// openStates reads the build and unpacks what follows.
func openStates(r *bufio.Reader, build string, memory int64) (*Archive, error) {
	length, err := binary.ReadVarint(r) // as String writes it
	if err != nil || length < 0 || length > maxBuild {
		return nil, errors.New("has no build")
	}
	wrote := make([]byte, length)
	if _, err := io.ReadFull(r, wrote); err != nil {
		return nil, errors.New("has no build")
	}
	if string(wrote) != build {
		return nil, fmt.Errorf("was written by weft %s; this is weft %s, and only the same build reads it", wrote, build)
	}
	memory = max(1<<20, memory)
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(memory)))
	if err != nil {
		return nil, err
	}
	return ReaderFrom(unpacked{decoder}, memory), nil
}

// maxBuild bounds the name of a build.
const maxBuild = 1 << 12

// unpacked are the states of a file.
type unpacked struct{ *zstd.Decoder }

func (u unpacked) Read(b []byte) (int, error) {
	n, err := u.Decoder.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("cannot be unpacked: %w", err)
	}
	return n, err
}

// Close lets go of the decoder.
func (u unpacked) Close() error {
	u.Decoder.Close()
	return nil
}

// Find is the state of a key; the error says that there is none.
func (f *File) Find(key string) ([]byte, error) {
	for i := range f.States {
		if f.States[i].Key == key {
			return f.States[i].Data, nil
		}
	}
	return nil, errNoState
}

var errNoState = errors.New("holds no such state")
