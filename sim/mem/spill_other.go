//go:build !linux

package mem

import "errors"

// spillFile is the file of a [Spill], which other systems have not got.
type spillFile struct{}

func (*spillFile) grow(int) ([]byte, error) { return nil, errors.ErrUnsupported }
func (*spillFile) forget([][]byte)          {}
func (*spillFile) release([][]byte)         {}
