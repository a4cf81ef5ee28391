//go:build !linux

package sim

// HugePages returns its argument: see the version for Linux.
func HugePages[T any](s []T) []T { return s }

// ReserveHugePages does nothing: see the version for Linux.
func ReserveHugePages(bytes int) {}
