//go:build weftcheck

package check

// On tells whether this is the checked build.
const On = true

// Array is a row of elements, found by number.
type Array[T any] struct{ all []T }

// Of is the array of the elements of s.
func Of[T any](s []T) Array[T] { return Array[T]{s} }

// At is element i; it panics if there is none.
func (a Array[T]) At(i uint32) *T { return &a.all[i] }

// From is the array of the elements from i on.
func (a Array[T]) From(i uint32) Array[T] { return Array[T]{a.all[i:]} }

// At is element i of a slice; it panics if there is none.
func At[T any](s []T, i uint32) *T { return &s[i] }
