package experiments

import (
	"slices"
	"testing"
)

// TestKeys: names in quotes may hold dots, brackets and quotes; what needs quotes and
// has none ends at the next dot.
func TestKeys(t *testing.T) {
	for _, c := range []struct {
		key    string
		names  []string
		parent string
	}{
		{"traffic.load", []string{"traffic", "load"}, "traffic"},
		{"seed", []string{"seed"}, ""},
		{`fault."rack 1".fraction`, []string{"fault", "rack 1", "fraction"}, `fault."rack 1"`},
		{`fault."a.b[0]"`, []string{"fault", "a.b[0]"}, "fault"},
		{`fault."a\"b\\".x`, []string{"fault", `a"b\`, "x"}, `fault."a\"b\\"`},
		{`fault.'a."b'.x`, []string{"fault", `a."b`, "x"}, `fault.'a."b'`},
		{"fault.rack 1.fraction", []string{"fault", "rack 1", "fraction"}, "fault.rack 1"},
		{"plot[0].x", []string{"plot[0]", "x"}, "plot[0]"},
		{"plot[0]", []string{"plot[0]"}, "plot"},
		{`a."b`, []string{"a", `"b`}, "a"},
	} {
		if names := splitKey(c.key); !slices.Equal(names, c.names) {
			t.Errorf("%s: names %q, want %q", c.key, names, c.names)
		}
		if p := parent(c.key); p != c.parent {
			t.Errorf("%s: parent %s, want %s", c.key, p, c.parent)
		}
	}
	for _, names := range [][]string{{"a", "b.c", ""}, {`"`, `'`, `\`}, {"x y", "\t\x01", "µ"}} {
		if back := splitKey(joinNames(names)); !slices.Equal(back, names) {
			t.Errorf("%q became %q", names, back)
		}
	}
	for _, key := range []string{`sweep."traffic.load"`, "sweep.traffic.load"} {
		if got := keyUnder("sweep", key); got != "traffic.load" {
			t.Errorf("%s is about %s", key, got)
		}
	}
	for setting, want := range map[string]string{
		`fault."rack = 1".fraction=0.5`: `fault."rack = 1".fraction`,
		`fault.'a.b'.fraction = 0.5`:    `fault."a.b".fraction`,
		`traffic.load=a=b`:              "traffic.load",
	} {
		if key, _, err := ParseSetting(setting); err != nil || key != want {
			t.Errorf("%s: %s, %v; want %s", setting, key, err, want)
		}
	}
}
