//go:build !amd64

package fabric

import "unsafe"

const prefetching = false

func prefetchEach(*int32, int, uintptr, unsafe.Pointer, uintptr) {}

func prefetchSet(uint64, unsafe.Pointer, uintptr) {}
