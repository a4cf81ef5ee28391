package booksim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Counterpart are the tables of weft's experiment file for a configuration, as text, without those
// of its switch and measurement.
type Counterpart struct {
	Topology, Channels, Routing, Traffic string
	Files                                map[string][]byte // that these name
	CanDeadlock                          bool              // as BookSim2's does
}

// Experiment is the text of the experiment file that runs the network, switch and traffic of a
// configuration at some loads, in flits per terminal and cycle, with so many seeds, for as long as
// BookSim2 measures at most. canDeadlock: it has BookSim2's virtual channels, which are not free of
// deadlock. files are those that it reads, by name. The error names the settings that weft cannot
// carry over. A cycle is a nanosecond.
func (c *Config) Experiment(title string, loads []float64, seeds int) (text string, files map[string][]byte, canDeadlock bool, err error) {
	m, err := c.network()
	err = together(err, c.traffic(&m))
	text, err2 := c.ExperimentOf(title, loads, seeds, m)
	if err = together(err2, err); err != nil {
		return "", nil, false, err
	}
	return text, m.Files, m.CanDeadlock, nil
}

// ExperimentOf is [Config.Experiment] for a network, routing and traffic known to be the
// configuration's.
func (c *Config) ExperimentOf(title string, loads []float64, seeds int, m Counterpart) (string, error) {
	core, err := c.core()
	period, warmup, all := c.Whole("sample_period"), c.Whole("warmup_periods"), c.Whole("max_samples")
	if period < 1 || warmup < 0 || all <= warmup {
		err = together(err, fmt.Errorf("max_samples = %d: of these sample periods %d warm up and none is measured", all, warmup))
	}
	if err = together(c.checkNeeded(), err); err != nil {
		return "", err
	}
	list := lists.Make(len(loads), func(i int) string { return strconv.FormatFloat(loads[i], 'f', -1, 64) })
	numbers := lists.Make(seeds, func(i int) string { return strconv.Itoa(i + 1) })
	return fmt.Sprintf("title = %q\nkind = \"traffic\"\n\n[topology]\n%s\n%s[switch]\n%s\n[terminal]\nbuffer_flits = %d\n\n[routing]\n%s\n[traffic]\n%s\n[measure]\nwarmup = %d\nwindow = %d\n\n[sweep]\n\"traffic.load\" = [%s]\nseed = [%s]\n",
		title, m.Topology, m.Channels, core, c.Whole("vc_buf_size"), m.Routing, m.Traffic, warmup*period, (all-warmup)*period, strings.Join(list, ", "), strings.Join(numbers, ", ")), nil
}

// network is the topology with its routing and channels.
func (c *Config) network() (m Counterpart, err error) {
	topology, routing := c.Text("topology"), c.Text("routing_function")
	k, n, vcs := c.Whole("k"), c.Whole("n"), c.Whole("num_vcs")
	if (k < 2 || n < 1 || n > 16) && topology != "anynet" {
		return m, fmt.Errorf("k = %d, n = %d: want k of at least 2 and n from 1 to 16", k, n)
	}
	dims := strings.TrimSuffix(strings.Repeat(strconv.Itoa(k)+", ", n), ", ")
	noc := c.Text("use_noc_latency") == "1" // channels as long as they are on a chip
	switch topology + " " + routing {
	case "mesh dim_order", "mesh dor":
		m.Topology, m.Routing = fmt.Sprintf("type = \"mesh\"\ndims = [%s]\n", dims), "type = \"dor\"\n"
	case "torus dim_order":
		if k == 2 {
			return m, errors.New("k = 2: BookSim2 has two channels between the routers of a ring of two, weft one (from 3 on torus is mapped)")
		}
		m.Topology, m.Routing = fmt.Sprintf("type = \"torus\"\ndims = [%s]\n", dims), "type = \"dor\"\nvc_rule = \"by-coordinates\"\n"
		if noc { // folded: neighbours are two tiles apart
			m.Channels = "[channel.grid]\nlatency = \"2ns\"\n\n"
		}
	case "cmesh dor_no_express": // two by two terminals a router, which are two tiles apart
		if err := c.checkChip("4 terminals a router", func(n, _, each int) bool { return n == 2 && each == 2 }); err != nil {
			return m, err
		}
		m.Topology, m.Routing = fmt.Sprintf("type = \"mesh\"\ndims = [%s]\nterminals = 4\n", dims), "type = \"dor\"\n"
		if noc {
			m.Channels = "[channel.grid]\nlatency = \"2ns\"\n\n"
		}
	case "flatfly ran_min": // in the order of dimensions, whatever its name
		// From 4 on channels of terminals differ in length.
		if err := c.checkChip("xr and yr below 4 and, with use_noc_latency, two dimensions", func(n, x, each int) bool { return !noc || n == 2 && x == k && each < 4 }); err != nil {
			return m, err
		}
		m.Topology, m.Routing = fmt.Sprintf("type = \"hyperx\"\ndims = [%s]\nterminals = %d\n", dims, c.Whole("c")), "type = \"dor\"\n"
		if noc {
			m.Topology += fmt.Sprintf("row_cycles = %d\n", c.Whole("xr"))
		}
	case "fly dest_tag":
		if n != 1 {
			return m, fmt.Errorf("n = %d: of fly one stage is mapped, a single switch (only 1 is mapped)", n)
		}
		m.Topology, m.Routing = fmt.Sprintf("type = \"single-switch\"\nterminals = %d\n", k), "type = \"table\"\n"
	case "anynet min":
		if err := c.anynet(&m); err != nil {
			return m, err
		}
	case "fattree nca":
		// The k-ary n-tree: k terminals a leaf, k ports up at every level but the top.
		parents := strings.TrimSuffix("1, "+strings.Repeat(strconv.Itoa(k)+", ", n-1), ", ")
		m.Topology, m.Routing = fmt.Sprintf("type = \"xgft\"\nm = [%s]\nw = [%s]\n", dims, parents), "type = \"nca\"\nup = \"random\"\n"
	case "dragonflynew min", "dragonflynew ugal":
		if n != 1 {
			return m, fmt.Errorf("n = %d: dragonflynew wants 1", n)
		}
		m.Topology = fmt.Sprintf("type = \"dragonfly\"\np = %d\na = %d\nh = %d\n", k, 2*k, k)
		m.Channels = "[channel.local]\nlatency = \"10ns\"\n\n[channel.global]\nlatency = \"100ns\"\n\n" // compiled in there
		m.Routing = "type = \"min\"\n"
		if routing == "ugal" {
			if vcs != 3 {
				return m, fmt.Errorf("num_vcs = %d: ugal wants 3", vcs)
			}
			m.CanDeadlock = true
			m.Routing = "type = \"ugal-l\"\nsensing = \"credits\"\nweight = \"global-hops\"\nthreshold = 30\nintermediate = \"any-router\"\ndetour_vc = \"booksim2\"\ndecided_at = \"switch\"\n"
		}
	default:
		if slices.ContainsFunc(mapped, func(pair string) bool { return strings.HasPrefix(pair, topology+" ") }) {
			return m, fmt.Errorf("routing_function = %s on topology = %s: not mapped; mapped are %s", routing, topology, strings.Join(mapped, ", "))
		}
		return m, fmt.Errorf("topology = %s: not mapped; mapped are %s", topology, strings.Join(mapped, ", "))
	}
	return m, nil
}

// mapped are the topologies, each with its routings.
var mapped = []string{"mesh with dim_order", "torus with dim_order", "cmesh with dor_no_express", "flatfly with ran_min", "fly with dest_tag", "anynet with min", "fattree with nca", "dragonflynew with min and ugal"}

// checkChip checks the floor plan of a network with several terminals a router, by a rule for the
// numbers of dimensions, and of routers along one and terminals along one at each.
func (c *Config) checkChip(want string, allows func(n, x, each int) bool) error {
	x, y, xr, yr, each := c.Whole("x"), c.Whole("y"), c.Whole("xr"), c.Whole("yr"), c.Whole("c")
	if x != y || xr != yr || xr < 1 || each != xr*yr || each > 1<<12 || !allows(c.Whole("n"), x, xr) {
		return fmt.Errorf("c = %d, x = %d, y = %d, xr = %d, yr = %d: BookSim2 takes x = y, xr = yr and c = xr * yr, and mapped are %s", each, x, y, xr, yr, want)
	}
	return nil
}

// patterns are the patterns of BookSim2 that weft has, by another name or the same.
var patterns = map[string]string{
	"uniform":   "uniform",
	"bitcomp":   "bit-complement",
	"bitrev":    "bit-reverse",
	"shuffle":   "shuffle",
	"transpose": "transpose",
	"tornado":   "tornado",
	"neighbor":  "neighbour",
}

// traffic is the pattern and the packets.
func (c *Config) traffic(m *Counterpart) error {
	pattern, err := c.pattern()
	size := single(c.Text("packet_size"))
	flits, notOne := strconv.Atoi(size)
	if notOne != nil || flits < 1 {
		err = together(err, fmt.Errorf("packet_size = %s: want one length of at least 1 flit", size))
	} else if hold := c.Text("hold_switch_for_packet"); flits > 1 && hold != "0" {
		err = together(err, fmt.Errorf("hold_switch_for_packet = %s: weft's switch allocation is flit by flit (only 0 is mapped, or packet_size = 1)", hold))
	}
	m.Traffic = fmt.Sprintf("pattern = %q\npacket_flits = %d\n", pattern, flits)
	if pattern == "uniform" {
		m.Traffic += "self = true\n" // the sender is among the destinations
	}
	return err
}

func (c *Config) pattern() (string, error) {
	name, topology := c.Text("traffic"), c.Text("topology")
	pattern, ok := patterns[name]
	switch grid := topology == "mesh" || topology == "torus"; {
	case name == "bad_dragon" && topology == "dragonflynew":
		return "worst-case", nil
	case name == "bad_dragon":
		return "", errors.New("traffic = bad_dragon: it is for topology = dragonflynew")
	case !ok:
		return "", fmt.Errorf("traffic = %s: not mapped", name)
	case (name == "tornado" || name == "neighbor") && !grid:
		return "", fmt.Errorf("traffic = %s: mapped on mesh and torus only", name)
	case (topology == "cmesh" || topology == "flatfly") && name != "uniform" && name != "bitcomp":
		// Their terminals are numbered across the chip, weft's switch by switch.
		return "", fmt.Errorf("traffic = %s: on %s mapped are uniform and bitcomp", name, topology)
	}
	return pattern, nil
}

// allocators are BookSim2's as weft's, of virtual channels and switch; "": none. One iteration of
// iSLIP is separable_output_first.
var allocators = map[string][2]string{
	"islip":                  {"output-first", "islip"},
	"separable_output_first": {"output-first", "islip"},
	"separable_input_first":  {"input-first", "input-first-output"},
	"wavefront":              {"", "wavefront"},
}

// allocatorForm is an allocator with its iterations, if any, or the default arbiters.
var allocatorForm = input.Pattern(`^(islip)(?:\(\s*([1-9][0-9]?)\s*\))?$|^(separable_(?:input|output)_first)(?:\(\s*round_robin\s*\))?$|^(wavefront)$`)

func (c *Config) allocator(name string) (of [2]string, iterations string, err error) {
	found := allocatorForm().FindStringSubmatch(c.Text(name))
	if found == nil {
		return of, "", fmt.Errorf("%s = %s: not mapped; mapped are islip, islip(N), separable_input_first, separable_output_first and, of the switch, wavefront", name, c.Text(name))
	}
	return allocators[found[1]+found[3]+found[4]], cmp.Or(found[2], "1"), nil
}

// core is the table [switch].
func (c *Config) core() (string, error) {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	vcAllocator, n, err := c.allocator("vc_allocator")
	problems = append(problems, err)
	if err == nil && (n != "1" || vcAllocator[0] == "") {
		refuse("vc_allocator = %s: weft allocates virtual channels in one iteration of round robins", c.Text("vc_allocator"))
	}
	swAllocator, iterations, err := c.allocator("sw_allocator")
	problems = append(problems, err)
	speedup := c.number("internal_speedup")
	stages := map[string]int{}
	for _, name := range []string{"routing_delay", "vc_alloc_delay", "sw_alloc_delay", "st_prepare_delay", "st_final_delay"} {
		if stages[name] = c.Whole(name); stages[name] > 1 {
			refuse("%s = %d: a stage of BookSim2's takes nothing in until it is done, one of weft's does in every step (1 is mapped)", name, stages[name])
		}
	}
	if stages["st_prepare_delay"]+stages["st_final_delay"] > 1 {
		refuse("st_prepare_delay = 1 with st_final_delay = 1: a crossbar of BookSim2's takes nothing in until it is done (1 is mapped of one of them)")
	}
	if stages["vc_alloc_delay"] < 1 {
		refuse("vc_alloc_delay = 0: without that stage weft's heads take a virtual channel by winning the switch")
	}
	// A credit tells of the slots that an input has freed in a step, on any virtual channel.
	inputs, credits := c.Whole("input_speedup"), 1
	if inputs > 1 {
		credits = 0
	}
	if inputs < 1 || inputs > 16 || inputs > 1 && speedup != 1 {
		refuse("input_speedup = %d with internal_speedup = %s: 1 is mapped, and up to 16 with internal_speedup = 1", inputs, c.Text("internal_speedup"))
	}
	reuse := "tail-sent"
	if c.Text("wait_for_tail_credit") != "0" {
		reuse = "credits-back"
	}
	if err := together(problems...); err != nil {
		return "", err
	}
	return fmt.Sprintf("vcs = %d\nbuffer_flits = %d\nroute_cycles = %d\nvc_alloc_cycles = %d\nswitch_alloc_cycles = %d\ncrossbar_cycles = %d\ncredit_cycles = %d\nspeedup = %s\nallocator = %q\niterations = %s\nvc_allocator = %q\nvc_reuse = %q\ninput_speedup = %d\ncredits_per_cycle = %d\npipeline = \"serial\"\n",
		c.Whole("num_vcs"), c.Whole("vc_buf_size"), stages["routing_delay"], stages["vc_alloc_delay"], stages["sw_alloc_delay"],
		stages["st_prepare_delay"]+stages["st_final_delay"], c.Whole("credit_delay"), strconv.FormatFloat(speedup, 'f', -1, 64), swAllocator[1], iterations, vcAllocator[0], reuse, inputs, credits), nil
}
