package document

import (
	"testing"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestPlaces: the scanner knows exactly the keys that the TOML library finds.
func TestPlaces(t *testing.T) {
	text := `# comment with [brackets] and key = value
title = "a # no comment"   # comment
"quoted.key" = 1
a.b . c = [ # list
  1, "]", { x = 1, y = { z = 2 } },
]
long = """
not = "a key"
""quoted""""
raw = 'c:\dir'
[table."odd name"]
k = 1.5
  indented = { from = 0.1,
  to = 2 }
[[array]]
v = 1
[[array]]
v = 2
[array.sub]
w = 3
`
	at, _, _ := places("f", text)
	want := map[string]string{
		"title": "f:2:1", "quoted.key": "f:3:1", "a.b.c": "f:4:1", "a.b.c[2].x": "f:5:13", "a.b.c[2].y": "f:5:20",
		"a.b.c[2].y.z": "f:5:26", "long": "f:7:1", "raw": "f:10:1", "table.odd name": "f:11:1", "table.odd name.k": "f:12:1",
		"table.odd name.indented": "f:13:3", "table.odd name.indented.from": "f:13:16", "table.odd name.indented.to": "f:14:3",
		"array[0]": "f:15:1", "array[0].v": "f:16:1", "array[1]": "f:17:1", "array[1].v": "f:18:1",
		"array[1].sub": "f:19:1", "array[1].sub.w": "f:20:1",
	}
	for key, place := range want {
		simtest.ErrorIf(t, at[key].String() != place, "%s at %v, want %s", key, at[key], place)
	}
	simtest.ErrorIf(t, len(at) != len(want), "found %v", results.SortedKeys(at))
}

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
		simtest.EqualSlices(t, SplitKey(c.key), c.names, "%s: names", c.key)
		simtest.Equal(t, Parent(c.key), c.parent, "%s: parent", c.key)
	}
	for _, names := range [][]string{{"a", "b.c", ""}, {`"`, `'`, `\`}, {"x y", "\t\x01", "µ"}} {
		simtest.EqualSlices(t, SplitKey(JoinNames(names)), names, "the parts of %q:", JoinNames(names))
	}
	for _, key := range []string{`sweep."traffic.load"`, "sweep.traffic.load"} {
		simtest.Equal(t, KeyUnder("sweep", key), "traffic.load", "%s is about", key)
	}
	for setting, want := range map[string]string{
		`fault."rack = 1".fraction=0.5`: `fault."rack = 1".fraction`,
		`fault.'a.b'.fraction = 0.5`:    `fault."a.b".fraction`,
		`traffic.load=a=b`:              "traffic.load",
	} {
		key, _, err := ParseSetting(setting)
		simtest.ErrorIf(t, err != nil || key != want, "%s: %s, %v; want %s", setting, key, err, want)
	}
}
