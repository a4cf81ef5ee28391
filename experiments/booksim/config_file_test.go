package booksim

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := ParseConfig("a.cfg", text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestParseConfig: comments, several settings on a line, one over two lines, a later
// value, lists of one, defaults.
func TestParseConfig(t *testing.T) {
	c := parse(t, "\ufeff// a comment; with = in it\nk = 4; n=1;  // the size; of it\nnum_vcs\n =\n 3 ;\r\nk = 16;\npacket_size = { 8 };\ninternal_speedup = 2.0;\ninjection_rate = {0.1,0.2};")
	for name, want := range map[string]float64{"k": 16, "n": 1, "num_vcs": 3, "packet_size": 8, "internal_speedup": 2, "vc_buf_size": 8, "routing_delay": 1} {
		if got := c.number(name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if got := c.get("topology"); got != "torus" {
		t.Errorf("topology = %s, want the default", got)
	}
}

func TestParseConfigProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"k = 8;\nvc_buffers = 4;", `a.cfg:2: vc_buffers is not a setting of BookSim2`},
		{"num_vc = 4;", `a.cfg:1: num_vc is not a setting of BookSim2 (did you mean "num_vcs"?)`},
		{"num_vcs = many;", `a.cfg:1: num_vcs = "many": want a whole number`},
		{"num_vcs = 1e99;", `a.cfg:1: num_vcs = "1e99": want a whole number, at most 9 digits`},
		{"internal_speedup = fast;", `a.cfg:1: internal_speedup = "fast": want a number`},
		{"packet_size = {1;", `a.cfg:1: packet_size = "{1": want a whole number, or a list of them in braces`},
		{"\nk = ;", `a.cfg:2: k has no value; want a whole number`},
		{"\n\nrouting delay;", `a.cfg:3: "routing delay" is not a setting; want name = value;`},
		{"k = 8;\nn = 2", `a.cfg:2: "n = 2" has no ; at its end`},
		{"topology = a = b;", `a.cfg:1: topology = "a = b": want a name`},
		{"k\x00 = 8\x00;\x00", "a.cfg: the file is UTF-16"},
	} {
		_, err := ParseConfig("a.cfg", c.text)
		if _, ok := err.(experiments.Problems); !ok || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := ParseConfig("a.cfg", "x_y = 1;\nnum_vcs = z;"); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all problems together: %v", err)
	}
}

// FuzzParseConfig: any text is a configuration or problems that name the file, and a
// configuration is carried over or refused.
func FuzzParseConfig(f *testing.F) {
	for _, text := range []string{"k = 8;", "topology = mesh;\nrouting_function = dim_order;\nk = 4; // c", "sw_allocator = islip(2);", "packet_size={8};x", "\ufeffk=1;"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseConfig("a.cfg", text)
		if err != nil {
			for _, problem := range err.(experiments.Problems) {
				if !strings.HasPrefix(problem.At, "a.cfg") {
					t.Errorf("problem %v names no place", problem)
				}
			}
			return
		}
		if _, _, err := c.Experiment("a", []float64{0.1}, 1); err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
	})
}
