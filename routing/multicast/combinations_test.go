package multicast

import (
	"reflect"
	"strings"
	"testing"
)

// combinations returns one setter for every combination of a configuration's
// choices and booleans; numbers keep their defaults.
func combinations(t *testing.T, config any) []func(any) {
	t.Helper()
	sets := []func(any){func(any) {}}
	typ := reflect.TypeOf(config).Elem()
	for i := range typ.NumField() {
		var values []any
		switch f := typ.Field(i); {
		case f.Type.Kind() == reflect.Bool:
			values = []any{false, true}
		case f.Tag.Get("choices") != "":
			for _, c := range strings.Split(f.Tag.Get("choices"), "|") {
				values = append(values, c)
			}
		default:
			continue
		}
		var more []func(any)
		for _, set := range sets {
			for _, v := range values {
				more = append(more, func(c any) {
					set(c)
					reflect.ValueOf(c).Elem().Field(i).Set(reflect.ValueOf(v))
				})
			}
		}
		sets = more
	}
	return sets
}
