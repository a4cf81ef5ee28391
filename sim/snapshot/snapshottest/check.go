// Package snapshottest finds fields that a state's Archive method has forgotten.
package snapshottest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/weft-sim/weft/sim/snapshot"
)

// Problems gives every field of a T a value of its own, writes it and reads it back into
// another T: each field must come back, but for those named in except, which must not.
// So a new field fails the test until somebody has decided which of the two it is. fresh
// makes a T whose slices have the lengths that archive expects; slices that are nil there
// are given elements. Pointers, interfaces, maps and functions belong into except.
func Problems[T any](fresh func() *T, archive func(*snapshot.Archive, *T), except ...string) (problems []string) {
	x, y := fresh(), fresh()
	next := 0
	full := reflect.ValueOf(x).Elem()
	for i := range full.NumField() {
		name := full.Type().Field(i).Name
		if !fill(open(full.Field(i)), &next) && !slices.Contains(except, name) {
			problems = append(problems, "field "+name+" is of a type that cannot be written: name it as an exception")
		}
	}
	w := snapshot.Writer()
	archive(w, x)
	r := snapshot.Reader(w.Bytes())
	archive(r, y)
	if err := r.End(); err != nil {
		return append(problems, "what is written cannot be read: "+err.Error())
	}
	read := reflect.ValueOf(y).Elem()
	for i := range full.NumField() {
		name := full.Type().Field(i).Name
		same := reflect.DeepEqual(open(full.Field(i)).Interface(), open(read.Field(i)).Interface())
		switch excepted := slices.Contains(except, name); {
		case !same && !excepted:
			problems = append(problems, "field "+name+" is not in the state: archive it, or name it as an exception")
		case same && excepted && fillable(full.Field(i).Type()):
			problems = append(problems, "field "+name+" is in the state, and named as an exception")
		}
	}
	for _, name := range except {
		if _, ok := full.Type().FieldByName(name); !ok {
			problems = append(problems, "there is no field "+name)
		}
	}
	return problems
}

// open is a field that may be read and written although it is not exported.
func open(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

func fillable(t reflect.Type) bool { return fill(reflect.New(t).Elem(), new(int)) }

// fill gives v, and all in it, a small number that is not zero; false if it cannot.
func fill(v reflect.Value, next *int) bool {
	*next++
	small := *next%50 + 1
	switch {
	case v.CanInt():
		v.SetInt(int64(small))
	case v.CanUint():
		v.SetUint(uint64(small))
	case v.CanFloat():
		v.SetFloat(float64(small) + 0.5)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.String:
		v.SetString("text")
	case v.Kind() == reflect.Struct:
		all := true
		for i := range v.NumField() {
			all = fill(open(v.Field(i)), next) && all
		}
		return all
	case v.Kind() == reflect.Array:
		return fillEach(v, next)
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		return fillEach(v, next)
	default:
		return false
	}
	return true
}

func fillEach(v reflect.Value, next *int) bool {
	all := true
	for i := range v.Len() {
		all = fill(v.Index(i), next) && all
	}
	return all
}

// Encode is a state that is written all at once.
func Encode(state func(*snapshot.Archive) error) ([]byte, error) {
	a := snapshot.Writer()
	err := errors.Join(state(a), a.End())
	return a.Bytes(), err
}

// State is what x archives.
func State(x snapshot.Archiver) []byte {
	a := snapshot.Writer()
	x.Archive(a)
	return a.Bytes()
}

// Restore has x read a state, all of it.
func Restore(x snapshot.Archiver, state []byte) error {
	a := snapshot.Reader(state)
	x.Archive(a)
	return a.End()
}

// Copy is a value that went through an archive, by [snapshot.Value].
func Copy[T any](t *testing.T, x *T) (back T) {
	t.Helper()
	a := snapshot.Writer()
	snapshot.Value(a, x)
	r := snapshot.Reader(a.Bytes())
	snapshot.Value(r, &back)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return back
}

// Names checks that T has the named fields and no others, for types that several functions archive:
// who adds a field decides whether it is state, and names it here.
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
