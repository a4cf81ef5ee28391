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

const (
	magic     = "weft snapshot\n"
	form      = 4 // of what follows the magic
	sumLength = sha256.Size
	header    = len(magic) + 1 + 8 + sumLength
)

// Write writes a state as it is kept on disk: magic, form, length of the rest, its SHA-256, the
// rest: the build, which names the program that alone can read it, and compressed by Zstandard
// the key, which names all that the state depends on, and what state writes. Equal states give
// equal bytes. No more than a piece of the state is held. w is at its beginning, and stands behind
// the header when Write is done.
func Write(w io.WriteSeeker, build, key string, state func(*Archive) error) error {
	if _, err := w.Write(make([]byte, header)); err != nil {
		return err
	}
	sum := sha256.New()
	rest := io.MultiWriter(w, sum)
	wrote := Writer()
	String(wrote, &build)
	if _, err := rest.Write(wrote.Bytes()); err != nil {
		return err
	}
	encoder, err := zstd.NewWriter(rest, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("snapshot: " + err.Error()) // there are no wrong options
	}
	a := writerTo(encoder)
	String(a, &key)
	if err := cmp.Or(state(a), a.End(), encoder.Close()); err != nil {
		return err
	}
	end, err := w.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = w.Seek(0, io.SeekStart)
	}
	if err == nil {
		head := binary.LittleEndian.AppendUint64(append([]byte(magic), form), uint64(end)-uint64(header))
		_, err = w.Write(sum.Sum(head))
	}
	return err
}

// Open checks a file of program build and reads a key's state, a piece at a time, in at most so
// many bytes of memory. The state's End closes the file, which stands at its beginning, or Open if
// it cannot be used: the error says why.
func Open(file io.ReadSeekCloser, build, key string, memory int64) (*Archive, error) {
	a, err := open(file, build, max(1<<20, memory))
	if err != nil {
		file.Close()
		return nil, err
	}
	var found string
	if String(a, &found); a.err == nil && found != key {
		a.Fail("holds no such state")
	}
	if a.err != nil {
		return nil, a.err
	}
	return a, nil
}

// open checks all that comes before what is compressed, and the checksum.
func open(file io.ReadSeekCloser, build string, memory int64) (*Archive, error) {
	head := make([]byte, header)
	n, err := io.ReadFull(file, head)
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
	length, err := io.Copy(sum, file)
	if err != nil {
		return nil, err
	}
	if written := binary.LittleEndian.Uint64(b[len(magic)+1:]); uint64(length) != written {
		return nil, fmt.Errorf("is cut off or grown: it has %d bytes, and was written with %d", length+int64(header), written+uint64(header))
	}
	if !bytes.Equal(sum.Sum(nil), b[header-sumLength:]) {
		return nil, errors.New("is damaged: its checksum does not fit")
	}
	if _, err := file.Seek(int64(header), io.SeekStart); err != nil {
		return nil, err
	}
	rest := bufio.NewReaderSize(file, pieceBytes)
	named, err := binary.ReadVarint(rest) // as String writes it
	if err != nil || named < 0 || named > maxBuild {
		return nil, errors.New("has no build")
	}
	wrote := make([]byte, named)
	if _, err := io.ReadFull(rest, wrote); err != nil {
		return nil, errors.New("has no build")
	}
	if string(wrote) != build {
		return nil, fmt.Errorf("was written by weft %s; this is weft %s, and only the same build reads it", wrote, build)
	}
	decoder, err := zstd.NewReader(rest, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(memory)))
	if err != nil {
		return nil, err
	}
	return readerFrom(&unpacked{decoder, file}, memory), nil
}

// maxBuild bounds the name of a build.
const maxBuild = 1 << 12

// unpacked is what a file has compressed.
type unpacked struct {
	*zstd.Decoder
	file io.Closer
}

func (u *unpacked) Read(b []byte) (int, error) {
	n, err := u.Decoder.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("cannot be unpacked: %w", err)
	}
	return n, err
}

// Close lets go of the decoder and of the file.
func (u *unpacked) Close() error {
	u.Decoder.Close()
	return u.file.Close()
}
