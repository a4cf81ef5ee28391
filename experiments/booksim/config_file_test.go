package booksim

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim/param"
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

// mesh is a configuration that weft has a counterpart of.
const mesh = "topology = mesh; routing_function = dim_order; num_vcs = 2;"

// TestExperiment: settings carry over one to one. What is not in a file has
// BookSim2's default (routing_delay 1, credit_delay 0, vc_buf_size 8), and the
// experiments are ones that weft accepts.
func TestExperiment(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         []string
		canDeadlock  bool
	}{
		{"defaults", mesh, []string{"type = \"mesh\"\ndims = [8, 8]\n", "vcs = 2\nbuffer_flits = 8\nroute_cycles = 1\nvc_alloc_cycles = 1\nswitch_alloc_cycles = 1\ncrossbar_cycles = 1\ncredit_cycles = 0\nspeedup = 1\n",
			"type = \"dor\"\n", "pattern = \"uniform\"\npacket_flits = 1\nself = true\n", "warmup = 3000\nwindow = 7000\n", "credits_per_cycle = 1\npipeline = \"serial\"\n", "[terminal]\nbuffer_flits = 8\n", "\"traffic.load\" = [0.1, 0.25]\nseed = [1, 2]\n"}, false},
		{"stages", mesh + "vc_alloc_delay = 2; sw_alloc_delay = 3; st_prepare_delay = 4; st_final_delay = 5; credit_delay = 6; routing_delay = 0;",
			[]string{"route_cycles = 0\nvc_alloc_cycles = 2\nswitch_alloc_cycles = 3\ncrossbar_cycles = 9\ncredit_cycles = 6\n"}, false},
		{"periods", mesh + "sample_period = 400; warmup_periods = 2; max_samples = 5;", []string{"warmup = 800\nwindow = 1200\n"}, false},
		{"iterations", mesh + "sw_allocator = islip(2); vc_allocator = islip(1); alloc_iters = 7;", []string{"iterations = 2\n"}, false},
		{"alloc_iters does nothing", mesh + "alloc_iters = 7;", []string{"iterations = 1\n"}, false},
		{"speedup", mesh + "internal_speedup = 1.5; packet_size = {8};", []string{"speedup = 1.5\n", "packet_flits = 8\n"}, false},
		{"torus", "topology = torus; k = 4; n = 3; routing_function = dim_order; num_vcs = 4;", []string{"dims = [4, 4, 4]", "vc_rule = \"by-coordinates\"", "[channel.grid]\nlatency = \"2ns\"\n"}, false},
		{"torus of unit channels", "topology = torus; routing_function = dim_order; num_vcs = 4; use_noc_latency = 0;", []string{"buffer_flits = 8"}, false},
		{"fat tree", "topology = fattree; k = 4; n = 3; routing_function = nca;", []string{"m = [4, 4, 4]\nw = [1, 4, 4]\n", "type = \"nca\"\nup = \"random\"\n"}, false},
		{"dragonfly", "topology = dragonflynew; k = 2; n = 1; routing_function = min; num_vcs = 3; traffic = bad_dragon;",
			[]string{"p = 2\na = 4\nh = 2\n", "[channel.local]\nlatency = \"10ns\"", "[channel.global]\nlatency = \"100ns\"", "pattern = \"worst-case\"\npacket_flits = 1\n"}, false},
		{"UGAL", "topology = dragonflynew; k = 2; n = 1; routing_function = ugal; num_vcs = 3;", []string{"threshold = 30\nintermediate = \"any-router\"\ndetour_vc = \"booksim2\"\n"}, true},
		{"patterns", mesh + "traffic = neighbor;", []string{"pattern = \"neighbour\"\npacket_flits = 1\n\n"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, canDeadlock, err := parse(t, c.config).Experiment("test", []float64{0.1, 0.25}, 2)
			if err != nil || canDeadlock != c.canDeadlock {
				t.Fatalf("can deadlock: %v, error %v", canDeadlock, err)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if c.name == "torus of unit channels" && strings.Contains(text, "channel") {
				t.Errorf("channels of another latency than 1:\n%s", text)
			}
			file, err := experiments.Load("test.toml", text, experiments.Options{AllowDeadlock: canDeadlock})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if len(file.Points) != 4 {
				t.Errorf("%d points, want 2 loads with 2 seeds", len(file.Points))
			}
		})
	}
}

// TestPatternsAreTheSame: the patterns that are a permutation lead where BookSim2's
// definitions do, on an 8x8 mesh, whose node number is x + 8y. By hand, of node 11 =
// (3, 1) = 0b001011: bit complement 52; reversed 0b110100 = 52; rotated left 22;
// halves swapped 0b011001 = 25; ceil(8/2) - 1 = 3 on in both, (6, 4) = 38;
// one on in both, (4, 2) = 20.
func TestPatternsAreTheSame(t *testing.T) {
	for name, want := range map[string]int{"bitcomp": 52, "bitrev": 52, "shuffle": 22, "transpose": 25, "tornado": 38, "neighbor": 20} {
		grid, err := param.Make(topology.Registry, "mesh", struct{}{}, func(c *topology.GridConfig) { c.Dims = []int{8, 8} })
		if err != nil {
			t.Fatal(err)
		}
		config, err := traffic.Patterns.Config(patterns[name])
		if err != nil {
			t.Fatal(err)
		}
		pattern, err := traffic.Patterns.Build(patterns[name], config, traffic.Env{Topology: grid, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := int(pattern.Destination(11, nil)); got != want {
			t.Errorf("%s (%s here): node 11 sends to %d, want %d", name, patterns[name], got, want)
		}
	}
}

// TestNotMapped: what has no counterpart is refused by name.
func TestNotMapped(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"topology = flatfly;", "topology = flatfly: not mapped; mapped are"},
		{"topology = mesh; routing_function = romm;", "routing_function = romm on topology = mesh: not mapped"},
		{"topology = torus; routing_function = dor;", "routing_function = dor on topology = torus: not mapped"},
		{mesh + "traffic = randperm;", "traffic = randperm: not mapped"},
		{mesh + "traffic = bad_dragon;", "traffic = bad_dragon: it is for topology = dragonflynew"},
		{"topology = fattree; routing_function = nca; traffic = tornado;", "traffic = tornado: mapped on mesh and torus only"},
		{mesh + "packet_size = {1,8};", "packet_size = {1,8}: want one length"},
		{mesh + "sw_allocator = wavefront;", "sw_allocator = wavefront: not mapped"},
		{mesh + "vc_allocator = islip(2);", "vc_allocator = islip(2): weft allocates virtual channels in one iteration"},
		{mesh + "vc_alloc_delay = 0;", "vc_alloc_delay = 0: "},
		{mesh + "internal_speedup = 2.0; sw_alloc_delay = 2;", "sw_alloc_delay = 2 with internal_speedup = 2.0: a delay above 1"},
		{mesh + "wait_for_tail_credit = 1;", "wait_for_tail_credit = 1: "},
		{mesh + "output_buffer_size = 4;", "output_buffer_size = 4: "},
		{mesh + "speculative = 1;", "speculative = 1: weft does not speculate (only 0 is mapped)"},
		{mesh + "max_samples = 3;", "max_samples = 3: of these sample periods 3 warm up"},
		{"topology = dragonflynew; n = 1; routing_function = ugal; num_vcs = 4;", "num_vcs = 4: ugal wants 3"},
		{"topology = dragonflynew; n = 2; routing_function = min;", "n = 2: dragonflynew wants 1"},
		{"topology = mesh; routing_function = dor; k = 1;", "k = 1, n = 2: want"},
	} {
		_, _, err := parse(t, c.config).Experiment("test", []float64{0.1}, 1)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.config, err, c.want)
		}
	}
}
