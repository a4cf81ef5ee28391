package snapshot

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// Archiver is implemented by types whose state is more or less than their fields.
type Archiver interface{ Archive(a *Archive) }

// Value archives all of v by a plan that is made from its type, once: numbers, truth values
// and texts, and of structs, arrays, slices and maps each element, maps in the order of their
// keys. An [Archiver] archives itself. What is read replaces what v held; slices are new.
//
// Tags of fields say what cannot be told from the type:
//
//	snap:"-"     no part of the state: settings, what follows from the rest, what is shared
//	snap:"own"   a pointer, or a map of pointers, to what nothing else points to; may be nil
//	snap:"fixed" a slice whose length the settings give; it stays where it is
//
// It panics, whatever v holds, on a field without a tag that is a pointer, interface, function or
// channel. Cost: a call a number.
func Value[T any](a *Archive, v *T) { planOf(reflect.TypeFor[T](), "")(a, unsafe.Pointer(v)) }

// Fields is [Value] of a struct by fields and tags, for an [Archiver] that is no more.
func Fields[T any](a *Archive, v *T) { planOf(reflect.TypeFor[T](), "fields")(a, unsafe.Pointer(v)) }

type plan func(a *Archive, p unsafe.Pointer)

// plans are the plans made so far, by type and tag.
var plans sync.Map // planKey to plan

type planKey struct {
	of  reflect.Type
	tag string
}

func planOf(t reflect.Type, tag string) plan {
	key := planKey{t, tag}
	if p, ok := plans.Load(key); ok {
		return p.(plan)
	}
	p := makePlan(t, tag)
	plans.Store(key, p)
	return p
}

func makePlan(t reflect.Type, tag string) plan {
	if tag != "fields" && reflect.PointerTo(t).Implements(reflect.TypeFor[Archiver]()) {
		return func(a *Archive, p unsafe.Pointer) { reflect.NewAt(t, p).Interface().(Archiver).Archive(a) }
	}
	if p := leaves[t.Kind()]; p != nil {
		return p
	}
	switch t.Kind() {
	case reflect.Struct:
		return structPlan(t)
	case reflect.Array:
		return elements(planOf(t.Elem(), ""), t.Elem().Size(), t.Len())
	case reflect.Slice:
		return slicePlan(t, tag)
	case reflect.Map:
		return mapPlan(t, tag)
	case reflect.Pointer:
		if tag == "own" {
			return pointerPlan(t)
		}
	}
	panic(fmt.Sprintf("snapshot: no plan for %v without a tag that says whether it is part of the state", t))
}

// leaves are the plans of numbers, truth values and texts.
var leaves = map[reflect.Kind]plan{
	reflect.Bool: leaf(Bool), reflect.String: leaf(String), reflect.Float32: leaf(float), reflect.Float64: leaf(Float),
	reflect.Int: leaf(Int[int]), reflect.Int8: leaf(Int[int8]), reflect.Int16: leaf(Int[int16]), reflect.Int32: leaf(Int[int32]), reflect.Int64: leaf(Int[int64]),
	reflect.Uint: leaf(Int[uint]), reflect.Uint8: leaf(Int[uint8]), reflect.Uint16: leaf(Int[uint16]), reflect.Uint32: leaf(Int[uint32]), reflect.Uint64: leaf(Int[uint64]),
}

func leaf[T any](archive func(*Archive, *T)) plan {
	return func(a *Archive, p unsafe.Pointer) { archive(a, (*T)(p)) }
}

func float(a *Archive, p *float32) {
	bits := math.Float32bits(*p)
	Int(a, &bits)
	*p = math.Float32frombits(bits)
}

// structPlan archives field after field.
func structPlan(t reflect.Type) plan {
	type field struct {
		offset uintptr
		plan   plan
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("snap")
		if tag == "-" || f.Type.Size() == 0 || f.Name == "_" {
			continue
		}
		func() {
			defer func() {
				if why := recover(); why != nil {
					panic(fmt.Sprintf("%v (field %s of %v)", why, f.Name, t))
				}
			}()
			fields = append(fields, field{f.Offset, planOf(f.Type, tag)})
		}()
	}
	return func(a *Archive, p unsafe.Pointer) {
		for i := range fields {
			fields[i].plan(a, unsafe.Add(p, fields[i].offset))
		}
	}
}

// elements archives n values that lie one behind the other.
func elements(each plan, size uintptr, n int) plan {
	return func(a *Archive, p unsafe.Pointer) {
		for i := 0; i < n && a.err == nil; i++ {
			each(a, unsafe.Add(p, uintptr(i)*size))
		}
	}
}

func slicePlan(t reflect.Type, tag string) plan {
	each, size := planOf(t.Elem(), ""), t.Elem().Size()
	return func(a *Archive, p unsafe.Pointer) {
		s := reflect.NewAt(t, p).Elem()
		n := length(a, s.Len())
		switch {
		case tag == "fixed":
			if n != s.Len() {
				a.Check(a.err != nil, "the state has %d elements of %v, want %d", n, t, s.Len())
				return
			}
		case a.reading && n == 0:
			s.SetZero()
		case a.reading:
			s.Set(reflect.MakeSlice(t, 0, 0))
			for done := 0; done < n && a.err == nil; { // memory grows no faster than what is read
				more := min(n-done, max(1<<12, done))
				s.Grow(more)
				s.SetLen(done + more)
				elements(each, size, more)(a, unsafe.Add(s.UnsafePointer(), uintptr(done)*size))
				done += more
			}
			return
		}
		elements(each, size, n)(a, s.UnsafePointer())
	}
}

func mapPlan(t reflect.Type, tag string) plan {
	key, value := planOf(t.Key(), ""), planOf(t.Elem(), tag)
	return func(a *Archive, p unsafe.Pointer) {
		m := reflect.NewAt(t, p).Elem()
		n := length(a, m.Len())
		k, v := reflect.New(t.Key()), reflect.New(t.Elem())
		if !a.reading {
			keys := m.MapKeys()
			slices.SortFunc(keys, compareKeys)
			for _, at := range keys {
				k.Elem().Set(at)
				v.Elem().Set(m.MapIndex(at))
				key(a, k.UnsafePointer())
				value(a, v.UnsafePointer())
			}
			return
		}
		if m.SetZero(); n > 0 {
			m.Set(reflect.MakeMap(t))
		}
		for i := 0; i < n && a.err == nil; i++ {
			k.Elem().SetZero()
			v.Elem().SetZero()
			key(a, k.UnsafePointer())
			value(a, v.UnsafePointer())
			m.SetMapIndex(k.Elem(), v.Elem())
		}
	}
}

// compareKeys orders integers and texts, and structs of them.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if c := compareKeys(a.Field(i), b.Field(i)); c != 0 {
				return c
			}
		}
		return 0
	}
	panic(fmt.Sprintf("snapshot: keys of type %v have no order", a.Type()))
}

func pointerPlan(t reflect.Type) plan {
	value := planOf(t.Elem(), "")
	return func(a *Archive, p unsafe.Pointer) {
		to := reflect.NewAt(t, p).Elem()
		there := !to.IsNil()
		if Bool(a, &there); !there {
			to.SetZero()
			return
		}
		if a.reading {
			to.Set(reflect.New(t.Elem()))
		}
		value(a, to.UnsafePointer())
	}
}
