package param

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Setting is a value for a setting, for [Registry.New].
type Setting struct {
	Key   string
	Value any
}

// Set gives the setting key a value: a number, boolean, string or list of the
// setting's type, or its text with a unit ("20ns").
func Set(key string, value any) Setting { return Setting{key, value} }

// New constructs name in env with its defaults but for the given settings: the
// short way for those who know the name and not the type of its configuration.
// Settings that name has not got, or does not use in env, are errors, and so are
// values that do not fit; all of them are reported together, each a *ParamError.
func (r *Registry[E, T]) New(name string, env E, settings ...Setting) (T, error) {
	var zero T
	config, err := r.Config(name)
	if err != nil {
		return zero, err
	}
	var problems []error
	for _, s := range settings {
		if v, known := settingOf(config, s.Key); !known {
			problems = append(problems, &ParamError{s.Key, s.Value, fmt.Sprintf("a setting of %s %q: %s", r.kind, name, keysOf(config))})
		} else if err := assign(v, s.Value); err != nil {
			problems = append(problems, &ParamError{s.Key, s.Value, err.Error()})
		}
	}
	if err := errors.Join(problems...); err != nil {
		return zero, err
	}
	built, err := r.Build(name, config, env)
	if err != nil {
		return zero, err
	}
	unused := r.Unused(name, env, built)
	for _, s := range settings {
		if slices.Contains(unused, s.Key) {
			problems = append(problems, &ParamError{s.Key, s.Value, r.LeftOut(name)})
		}
	}
	if len(problems) > 0 {
		return zero, errors.Join(problems...)
	}
	return built, nil
}

// LeftOut says of a setting that it should not be given.
func (r *Registry[E, T]) LeftOut(name string) string {
	return fmt.Sprintf("it left out: %s %q does not use it here", r.kind, name)
}

// settingOf is the setting of a configuration, or of what it has chosen, with a key.
func settingOf(config any, key string) (found reflect.Value, known bool) {
	var chosen []any
	EachSetting(config, func(f reflect.StructField, v reflect.Value) {
		if f.Tag.Get("toml") == key {
			found, known = v, true
		} else if c, ok := v.Addr().Interface().(Chooser); ok {
			if c.Config() == nil && c.Choose(c.Name()) != nil {
				return
			}
			chosen = append(chosen, c.Config())
		}
	})
	for _, config := range chosen {
		if !known {
			found, known = settingOf(config, key)
		}
	}
	return found, known
}

// keysOf lists the settings of a configuration.
func keysOf(config any) string {
	var keys []string
	EachSetting(config, func(f reflect.StructField, _ reflect.Value) { keys = append(keys, f.Tag.Get("toml")) })
	if len(keys) == 0 {
		return "it has none"
	}
	return strings.Join(keys, ", ")
}

// assign sets v to a value of its type, of a type that converts to it without a
// loss, or to text that it reads. The error says what is wanted.
func assign(v reflect.Value, value any) error {
	wanted := fmt.Errorf("a value of type %s", typeName(v))
	if c, ok := v.Addr().Interface().(Chooser); ok {
		if name, ok := value.(string); ok {
			return c.Choose(name)
		}
		return wanted
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok { // no bare numbers where there are units
		if s, ok := value.(string); ok {
			return text.UnmarshalText([]byte(s))
		}
		if reflect.TypeOf(value) != v.Type() {
			return wanted
		}
	}
	if from := reflect.ValueOf(value); from.IsValid() && from.Type().AssignableTo(v.Type()) {
		v.Set(from)
	} else if !SetScalar(v, value) {
		return wanted
	}
	return nil
}

// SetScalar assigns a number, a boolean or a string where its type fits v exactly: integers
// are numbers, too.
func SetScalar(v reflect.Value, value any) bool {
	from := reflect.ValueOf(value)
	switch {
	case !from.IsValid():
		return false
	case from.Kind() == v.Kind() && (v.Kind() == reflect.Bool || v.Kind() == reflect.String):
		v.Set(from.Convert(v.Type()))
	case from.CanInt() && v.CanInt() && !v.OverflowInt(from.Int()):
		v.SetInt(from.Int())
	case from.CanInt() && v.CanUint() && from.Int() >= 0 && !v.OverflowUint(uint64(from.Int())):
		v.SetUint(uint64(from.Int()))
	case from.CanUint() && v.CanInt() && from.Uint() <= math.MaxInt64 && !v.OverflowInt(int64(from.Uint())):
		v.SetInt(int64(from.Uint()))
	case from.CanUint() && v.CanUint() && !v.OverflowUint(from.Uint()):
		v.SetUint(from.Uint())
	case from.CanInt() && v.CanFloat():
		v.SetFloat(float64(from.Int()))
	case from.CanFloat() && v.CanFloat():
		v.SetFloat(from.Float())
	default:
		return false
	}
	return true
}
