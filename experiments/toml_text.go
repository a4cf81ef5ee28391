package experiments

import (
	"fmt"
	"strconv"
	"strings"
)

// tomlValue writes a value as TOML.
func tomlValue(value any) string {
	switch x := value.(type) {
	case string:
		return quoteTOML(x)
	case float64:
		s := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eEn") {
			s += ".0"
		}
		return s
	case []any:
		parts := make([]string, len(x))
		for i, element := range x {
			parts[i] = tomlValue(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []map[string]any:
		parts := make([]string, len(x))
		for i, element := range x {
			parts[i] = tomlValue(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(x))
		for _, name := range sortedKeys(x) {
			parts = append(parts, tomlKey(name)+" = "+tomlValue(x[name]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case fmt.Stringer: // a number with names for some values
		if s := x.String(); strings.Trim(s, "0123456789") != "" {
			return quoteTOML(s)
		}
	}
	return fmt.Sprint(value)
}

// tomlKey writes one segment of a key, quoted where it must be.
func tomlKey(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return quoteTOML(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// quoteTOML writes a basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
