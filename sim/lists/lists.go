// Package lists makes lists, and numbers, from others, which package slices does not.
package lists

import (
	"cmp"
	"strings"
)

// Map lists what a function gives for each element.
func Map[A, B any](list []A, of func(A) B) []B {
	return Make(len(list), func(i int) B { return of(list[i]) })
}

// Make lists what a function gives for 0 to n-1.
func Make[B any](n int, of func(i int) B) []B {
	all := make([]B, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

// Filter lists the elements that a condition holds for; nil where it holds for none.
func Filter[A any](list []A, is func(A) bool) (some []A) {
	for _, x := range list {
		if is(x) {
			some = append(some, x)
		}
	}
	return some
}

// Places lists the numbers from 0 to n-1 that a condition holds for; nil where it holds for none.
func Places(n int, is func(i int) bool) []int {
	return Filter(Make(n, func(i int) int { return i }), is)
}

// Join is the texts of all elements, with a separator between them.
func Join[A any](list []A, separator string, text func(A) string) string {
	return strings.Join(Map(list, text), separator)
}

// Sum is the sum of what a function gives for each element, in their order.
func Sum[A any, N int | int64 | uint64 | float64](list []A, of func(A) N) (sum N) {
	for _, x := range list {
		sum += of(x)
	}
	return sum
}

// Total is the sum of the elements, in their order.
func Total[N int | int64 | uint64 | float64](list []N) (sum N) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// Most is the largest of a least value and what a function gives for each element.
func Most[A any, N cmp.Ordered](least N, list []A, of func(A) N) N {
	for _, x := range list {
		least = max(least, of(x))
	}
	return least
}

// Table is a map of what a function gives for each element; of equal keys the last counts.
func Table[A any, K comparable, V any](list []A, of func(A) (K, V)) map[K]V {
	table := make(map[K]V, len(list))
	for _, x := range list {
		key, value := of(x)
		table[key] = value
	}
	return table
}

// Set has what a function gives for each element.
func Set[A any, K comparable](list []A, of func(A) K) map[K]bool {
	return Table(list, func(x A) (K, bool) { return of(x), true })
}
