//go:build !weftcheck

// Package check is the checked build, made with -tags weftcheck: whether this is one, and
// arrays whose bounds are checked in it only. What is left out of other builds, because it
// costs a fifth of a simulator's instructions, is thus done by tests.
package check

import "unsafe"

// On tells whether this is the checked build: a constant, so that other builds pay nothing.
const On = false

// Array is a row of elements, found by number without a check of bounds.
type Array[T any] struct{ first *T }

// Of is the array of the elements of s.
func Of[T any](s []T) Array[T] { return Array[T]{unsafe.SliceData(s)} }

// At is element i, which must exist.
func (a Array[T]) At(i uint32) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(a.first), uintptr(i)*unsafe.Sizeof(*a.first)))
}

// From is the array of the elements from i on.
func (a Array[T]) From(i uint32) Array[T] { return Array[T]{a.At(i)} }

// At is element i of a slice, which must exist.
func At[T any](s []T, i uint32) *T {
	first := unsafe.SliceData(s)
	return (*T)(unsafe.Add(unsafe.Pointer(first), uintptr(i)*unsafe.Sizeof(*first)))
}
