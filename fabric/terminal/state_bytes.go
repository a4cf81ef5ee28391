package terminal

import (
	"encoding/binary"
	"errors"
)

// AppendUint64 appends a number to a state.
func AppendUint64(b []byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(b, x) }

// TakeUint64 takes a number from the front of a state.
func TakeUint64(b []byte) (x uint64, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, errors.New("it ends too soon")
	}
	return binary.LittleEndian.Uint64(b), b[8:], nil
}
