// Package must ends tests on errors: of steps that they take for granted.
package must

import "testing"

// Get is the value of a call.
func Get[T any](x T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return x
	}
}

// Do takes the error of a call.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
