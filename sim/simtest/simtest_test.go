package simtest

import (
	"fmt"
	"slices"
	"testing"
)

// TestSome: three numbers that follow each other choose each of three cases once; a test of
// another name begins elsewhere; make soak has them all.
func TestSome(t *testing.T) {
	t.Setenv("SOAK_TIME", "")
	var seen, first []int
	for number := range 3 {
		t.Setenv(Choice, fmt.Sprint(number))
		seen = append(seen, Some(t, 0, 2, 3, 5)...)
	}
	if slices.Sort(seen); !slices.Equal(seen, []int{2, 3, 5}) {
		t.Errorf("three choices are %v", seen)
	}
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { first = append(first, Some(t, 0, 2, 3, 5)...) })
	}
	for _, n := range seen {
		if !slices.Contains(first, n) {
			t.Errorf("20 tests choose %v, and never %d", first, n)
		}
	}
	if got := append(Some(t, 0, 2, 3, 5), Some(t, 1, 2, 3, 5)...); got[0] == got[1] {
		t.Errorf("two trials choose %v", got)
	}
	t.Setenv("SOAK_TIME", "1s")
	if got := Some(t, 0, 2, 3, 5); !slices.Equal(got, []int{2, 3, 5}) {
		t.Errorf("make soak has %v", got)
	}
}

// TestSeeds: choices that follow each other have all seeds between them, each once.
func TestSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("a short run has fewer")
	}
	t.Setenv("SOAK_TIME", "")
	var seen []uint64
	for number := range 4 {
		t.Setenv(Choice, fmt.Sprint(number))
		seen = append(seen, Seeds(t, 10, 4)...)
	}
	slices.Sort(seen)
	if want := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(seen, want) {
		t.Errorf("seeds %v, want %v", seen, want)
	}
}
