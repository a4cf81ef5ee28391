package experiments

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/param"
)

// resolve lists every setting of a configuration with the value that it has
// come to, defaults included, in the order of the declarations.
func resolve(config any) []document.Setting {
	var all []document.Setting
	for _, f := range fieldsOf(reflect.ValueOf(config).Elem()) {
		all = appendResolved(all, f.name, f.value)
	}
	return all
}

func appendResolved(all []document.Setting, path string, v reflect.Value) []document.Setting {
	if c, ok := v.Addr().Interface().(param.Chooser); ok {
		all = append(all, document.Setting{Key: path, Value: c.Name()})
		if c.Config() != nil {
			for _, f := range fieldsOf(reflect.ValueOf(c.Config()).Elem()) {
				all = appendResolved(all, document.Join(document.Parent(path), f.name), f.value)
			}
		}
		return all
	}
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		b, err := text.MarshalText()
		if err != nil || v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(b) != nil {
			return all // not set: a zero rate has no text
		}
		return append(all, document.Setting{Key: path, Value: string(b)})
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v) {
			all = appendResolved(all, document.Join(path, f.name), f.value)
		}
	case reflect.Map:
		for _, element := range elementsOf(v) {
			all = appendResolved(all, document.Join(path, document.QuoteName(element.name)), element.value)
		}
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			one := appendResolved(nil, "", v.Index(i))
			if len(one) == 1 && one[0].Key == "" {
				list[i] = one[0].Value
			}
		}
		all = append(all, document.Setting{Key: path, Value: list})
	default:
		all = append(all, document.Setting{Key: path, Value: v.Interface()})
	}
	return all
}

// elementsOf lists copies of the elements of a map by name, in order.
func elementsOf(v reflect.Value) (all []field) {
	for _, key := range v.MapKeys() {
		element := reflect.New(v.Type().Elem()).Elem()
		element.Set(v.MapIndex(key))
		all = append(all, field{name: key.String(), value: element})
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

// hashPoint names a point by everything that its results depend on.
func hashPoint(k *kind, version string, seed uint64, settings []document.Setting) string {
	h := sha256.New()
	fmt.Fprintf(h, "weft %s\nkind %s revision %d\nseed %d\n", version, k.name, k.revision, seed)
	for _, s := range settings {
		fmt.Fprintf(h, "%s = %s\n", s.Key, document.Format(s.Value))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
