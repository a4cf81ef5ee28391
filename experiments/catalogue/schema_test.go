package catalogue_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments/catalogue"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestSchema: the schema accepts every experiment file of the repository and what
// every kind begins with, and refuses mistakes.
func TestSchema(t *testing.T) {
	text := simtest.Must(catalogue.Schema())(t)
	var schema map[string]any
	simtest.Check(t, json.Unmarshal(text, &schema))
	check := func(text string) error {
		var file map[string]any
		simtest.Must(toml.Decode(text, &file))(t)
		plain := simtest.Must(json.Marshal(file))(t)
		var value any
		simtest.Check(t, json.Unmarshal(plain, &value))
		return validate(schema, schema, value, "")
	}
	files := 0
	for _, pattern := range []string{"../examples/*.toml", "../papers/*/*.toml", "starts/*.toml", "../../cmd/command/testdata/*.toml"} {
		names := simtest.Must(filepath.Glob(pattern))(t)
		for _, name := range names {
			text := simtest.Must(os.ReadFile(name))(t)
			err := check(string(text))
			simtest.ErrorIf(t, err != nil, "%s: %v", name, err)
			files++
		}
	}
	simtest.ErrorIf(t, files < 80, "%d files", files)
	for _, c := range []struct{ text, want string }{
		{"[traffic]\nlaod = 0.1", "traffic.laod"},
		{"[traffic]\nload = 1.5", "traffic.load"},
		{"[traffic]\nload = \"high\"", "traffic.load"},
		{"[topology]\ntype = \"tours\"", "topology.type"},
		{"[topology]\ntype = \"torus\"\np = 2", "topology.p"},
		{"[topology]\ntype = \"torus\"\ndims = [\"a\"]", "topology.dims"},
		{"[fabric]\nclock = 5", "fabric.clock"},
		{"[fabric]\nclock = \"5 parsec\"", "fabric.clock"},
		{"kind = \"flows\"\n[transport.nscc]\nstart_window = -1", "transport.nscc.start_window"},
		{"kind = \"flows\"\n[transport.dcqcn]\nalpha = 1", "transport.dcqcn.alpha"},
		{"kind = \"trafic\"", "kind"},
		{"kind = \"mpi\"\n[traffic]\nload = 0.1", "traffic"},
		{"[job]\nranks = 4", "job"},
		{"[measure]\nfind = \"knee\"", "measure.find"},
		{"[sweep]\n\"traffic.load\" = 0.1", "sweep.traffic.load"},
		{"[sweep]\n\"traffic.load\" = { from = 0.1, to = 0.9 }", "sweep.traffic.load"},
		{"[[plot]]\nstyle = \"dots\"", "plot[0].style"},
		{"[channel.local]\nlatncy = \"1ns\"", "channel.local.latncy"},
		{"titel = \"x\"", "titel"},
	} {
		simtest.Fail(t, check(c.text), c.want+":")
	}
	for _, good := range []string{"", "[traffic]\npacket_flits = 4\n[channel.global]\nlatency = \"100 ns\"", "kind = \"mpi\"\n[job]\nranks = 4",
		"[topology]\ntype = \"torus\"\np = 2\n[sweep]\ntopology.type = [\"torus\", \"dragonfly\"]",
		"[topology]\ntype = \"torus\"\np = 2\n[[sweep.lockstep]]\n\"topology.type\" = [\"torus\", \"dragonfly\"]",
		"kind = \"multicast-routing\"\n[multicast]\nentries = 16", "kind = \"multicast-routing\"\n[multicast]\nentries = \"unlimited\""} {
		err := check(good)
		simtest.ErrorIf(t, err != nil, "%q: %v", good, err)
	}
}

// validate checks a value against the part of JSON Schema that [catalogue.Schema]
// uses; another word in a schema is an error.
func validate(root map[string]any, schema, value any, at string) error {
	if allow, is := schema.(bool); is {
		if !allow {
			return fmt.Errorf("%s: is not allowed here", at)
		}
		return nil
	}
	s := schema.(map[string]any)
	for word := range s {
		if !slices.Contains([]string{"$schema", "$ref", "title", "description", "type", "enum", "const", "pattern", "minimum", "maximum", "properties", "required",
			"additionalProperties", "propertyNames", "items", "minItems", "anyOf", "allOf", "if", "then", "not", "contains", "definitions"}, word) {
			return fmt.Errorf("%s: the schema says %q", at, word)
		}
	}
	if ref, is := s["$ref"].(string); is {
		name := strings.TrimPrefix(ref, "#/definitions/")
		return validate(root, root["definitions"].(map[string]any)[name], value, at)
	}
	if types, is := s["type"]; is && !hasType(types, value) {
		return fmt.Errorf("%s: %v is no %v", at, value, types)
	}
	if enum, is := s["enum"].([]any); is && !slices.ContainsFunc(enum, func(x any) bool { return reflect.DeepEqual(x, value) }) {
		return fmt.Errorf("%s: %v is none of %v", at, value, enum)
	}
	if want, is := s["const"]; is && !reflect.DeepEqual(want, value) {
		return fmt.Errorf("%s: %v is not %v", at, value, want)
	}
	if x, is := value.(float64); is {
		if least, is := s["minimum"].(float64); is && x < least {
			return fmt.Errorf("%s: %v < %v", at, x, least)
		}
		if most, is := s["maximum"].(float64); is && x > most {
			return fmt.Errorf("%s: %v > %v", at, x, most)
		}
	}
	if pattern, is := s["pattern"].(string); is {
		if text, is := value.(string); is && !regexp.MustCompile(pattern).MatchString(text) {
			return fmt.Errorf("%s: %q does not match %s", at, text, pattern)
		}
	}
	if err := validateParts(root, s, value, at); err != nil {
		return err
	}
	if all, is := s["allOf"].([]any); is {
		for _, part := range all {
			if err := validate(root, part, value, at); err != nil {
				return err
			}
		}
	}
	if any, is := s["anyOf"].([]any); is {
		var first error
		for _, part := range any {
			err := validate(root, part, value, at)
			if err == nil {
				first = nil
				break
			}
			if first == nil {
				first = err
			}
		}
		if first != nil {
			return first
		}
	}
	if no, is := s["not"]; is && validate(root, no, value, at) == nil {
		return fmt.Errorf("%s: is what it must not be", at)
	}
	if condition, is := s["if"]; is && validate(root, condition, value, at) == nil {
		return validate(root, s["then"], value, at)
	}
	return nil
}

// validateParts checks the members of an object and the elements of an array.
func validateParts(root, s map[string]any, value any, at string) error {
	switch v := value.(type) {
	case map[string]any:
		if required, is := s["required"].([]any); is {
			for _, name := range required {
				if _, has := v[name.(string)]; !has {
					return fmt.Errorf("%s: has no %s", at, name)
				}
			}
		}
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for name := range v {
				if !yield(name) {
					return
				}
			}
		}) {
			path := strings.TrimPrefix(at+"."+name, ".")
			if names, is := s["propertyNames"]; is {
				if err := validate(root, names, name, path); err != nil {
					return err
				}
			}
			part, known := properties[name]
			if !known {
				if part, known = s["additionalProperties"]; !known {
					continue
				}
			}
			if err := validate(root, part, v[name], path); err != nil {
				return err
			}
		}
	case []any:
		if least, is := s["minItems"].(float64); is && len(v) < int(least) {
			return fmt.Errorf("%s: %d elements", at, len(v))
		}
		if one, is := s["contains"]; is && !slices.ContainsFunc(v, func(x any) bool { return validate(root, one, x, at) == nil }) {
			return fmt.Errorf("%s: no element is as it must be", at)
		}
		if items, is := s["items"]; is {
			for i, element := range v {
				if err := validate(root, items, element, fmt.Sprintf("%s[%d]", at, i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func hasType(types, value any) bool {
	if list, is := types.([]any); is {
		return slices.ContainsFunc(list, func(t any) bool { return hasType(t, value) })
	}
	switch v := value.(type) {
	case string:
		return types == "string"
	case bool:
		return types == "boolean"
	case float64:
		return types == "number" || types == "integer" && v == float64(int64(v))
	case map[string]any:
		return types == "object"
	case []any:
		return types == "array"
	}
	return false
}
