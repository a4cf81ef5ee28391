//go:build !linux

package mem

// HugePages returns its argument: see the version for Linux.
func HugePages[T any](s []T) []T { return s }

// ReserveHugePages does nothing: see the version for Linux.
func ReserveHugePages(bytes int) {}
