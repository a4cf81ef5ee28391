// Package must ends tests on errors: of steps that they take for granted.
package must

import (
	"strings"
	"testing"
)

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

// Fail takes an error that says something.
func Fail(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Refuse is Fail of a call.
func Refuse[T any](_ T, err error) func(t testing.TB, want string) {
	return func(t testing.TB, want string) {
		t.Helper()
		Fail(t, err, want)
	}
}
