package experiments

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weft-sim/weft/sim/param"
)

// fault records something wrong with a dotted key.
func (d *document) fault(key, format string, args ...any) {
	at := d.originOf(key)
	d.faults = append(d.faults, &Fault{At: at.String(), Key: brief(key), Message: fmt.Sprintf(format, args...), order: at})
}

// originOf is where a key was set, or else where its table begins.
func (d *document) originOf(key string) origin {
	for k := unquoted(key); k != ""; k = parent(k) {
		if o, ok := d.swept[k]; ok {
			return o
		}
		if o, ok := d.origins[k]; ok {
			return o
		}
	}
	return origin{file: d.name}
}

// unknown records a key that no point of the sweep knows, at the place where
// it was written or is swept.
func (d *document) unknown(key, message string, sweep []axis) {
	place := key
	for _, a := range sweep {
		for i, swept := range a.keys {
			if swept == key {
				place = a.places[i]
			}
		}
	}
	at := d.originOf(place)
	d.faults = append(d.faults, &Fault{At: at.String(), Key: key, Message: message, order: at})
}

// faultFrom records an error under the key that it names. table prefixes the
// keys of *param.ParamError.
func (d *document) faultFrom(table string, err error) {
	switch e := err.(type) {
	case *param.ParamError:
		d.fault(join(table, e.Key), "= %s: want %s", showParameter(e.Value), e.Want)
	case *keyed:
		d.fault(e.key, "%v", e.err)
	default:
		d.fault(table, "%v", err)
	}
}

// showParameter prints the value of a *param.ParamError: lists as TOML has them,
// the rest as it is, for it may be a remark such as "2 cycles a flit".
func showParameter(value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice {
		return brief(fmt.Sprint(value))
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return show(list)
}

// brief cuts a value that is too long for a message.
func brief(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "..."
}

// show prints a TOML value for messages.
func show(raw any) string { return brief(showAll(raw, 0)) }

func showAll(raw any, depth int) string {
	switch x := raw.(type) {
	case map[string]any, []map[string]any:
		return "a table"
	case string:
		return fmt.Sprintf("%q", x)
	case time.Time:
		return "a date"
	case []any:
		if depth > 8 {
			return "[...]"
		}
		parts := make([]string, len(x))
		for i, element := range x {
			parts[i] = showAll(element, depth+1)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(raw)
}
