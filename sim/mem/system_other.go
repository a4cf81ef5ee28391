//go:build !linux

package mem

import (
	"errors"
)

// HugePages returns its argument: see the version for Linux.
func HugePages[T any](s []T) []T { return s }

// ReserveHugePages does nothing: see the version for Linux.
func ReserveHugePages(bytes int) {}

// spillFile is the file of a [Spill], which other systems have not got.
type spillFile struct{}

func (*spillFile) grow(int) ([]byte, error) { return nil, errors.ErrUnsupported }
func (*spillFile) forget([][]byte)          {}
func (*spillFile) release([][]byte)         {}
