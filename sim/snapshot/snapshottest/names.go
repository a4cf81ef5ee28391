package snapshottest

import (
	"reflect"
	"slices"
	"testing"
)

// Names checks that T has the named fields and no others: for types whose archive is a
// matter of several functions. The author of a new field decides whether it is part of the
// state, and names it here.
func Names[T any](t *testing.T, names ...string) {
	t.Helper()
	var has []string
	typ := reflect.TypeFor[T]()
	for i := range typ.NumField() {
		has = append(has, typ.Field(i).Name)
	}
	for _, name := range has {
		if !slices.Contains(names, name) {
			t.Errorf("%v has a field %s that nobody has thought of: is it part of a snapshot?", typ, name)
		}
	}
	for _, name := range names {
		if !slices.Contains(has, name) {
			t.Errorf("%v has no field %s", typ, name)
		}
	}
}
