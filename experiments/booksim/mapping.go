package booksim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Counterpart are the tables of the experiment file that weft runs for a
// configuration, as text, beside those of its switch and its measurement.
type Counterpart struct {
	Topology, Channels, Routing, Traffic string
	CanDeadlock                          bool // as BookSim2's does
}

// Experiment is the text of the experiment file that runs the network, switch and
// traffic of a configuration at some loads, in flits per terminal and cycle, with so
// many seeds, for as long as BookSim2 measures at most. canDeadlock says that it has
// BookSim2's virtual channels, which are not free of deadlock. The error says by
// which setting weft cannot carry it over. A cycle is a nanosecond.
func (c *Config) Experiment(title string, loads []float64, seeds int) (text string, canDeadlock bool, err error) {
	if err := c.checkNeeded(); err != nil {
		return "", false, err
	}
	m, err := c.network()
	if err != nil {
		return "", false, err
	}
	if err := c.pattern(&m); err != nil {
		return "", false, err
	}
	text, err = c.ExperimentOf(title, loads, seeds, m)
	return text, m.CanDeadlock, err
}

// ExperimentOf is [Config.Experiment] for a network, routing and traffic that are known to
// be those of the configuration.
func (c *Config) ExperimentOf(title string, loads []float64, seeds int, m Counterpart) (string, error) {
	if err := c.checkNeeded(); err != nil {
		return "", err
	}
	core, err := c.core()
	if err != nil {
		return "", err
	}
	period, warmup, all := c.whole("sample_period"), c.whole("warmup_periods"), c.whole("max_samples")
	if period < 1 || warmup < 0 || all <= warmup {
		return "", refusal(fmt.Sprintf("max_samples = %d: of these sample periods %d warm up and none is measured", all, warmup))
	}
	list := make([]string, len(loads))
	for i, x := range loads {
		list[i] = strconv.FormatFloat(x, 'f', -1, 64)
	}
	numbers := make([]string, seeds)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i + 1)
	}
	return fmt.Sprintf("title = %q\nkind = \"traffic\"\n\n[topology]\n%s\n%s[switch]\n%s\n[terminal]\nbuffer_flits = %d\n\n[routing]\n%s\n[traffic]\n%s\n[measure]\nwarmup = %d\nwindow = %d\n\n[sweep]\n\"traffic.load\" = [%s]\nseed = [%s]\n",
		title, m.Topology, m.Channels, core, c.whole("vc_buf_size"), m.Routing, m.Traffic, warmup*period, (all-warmup)*period, strings.Join(list, ", "), strings.Join(numbers, ", ")), nil
}

// network is the topology with its routing and channels.
func (c *Config) network() (m Counterpart, err error) {
	topology, routing := c.get("topology"), c.get("routing_function")
	if each := c.get("c"); each != "1" {
		return m, refusal(fmt.Sprintf("c = %s: one terminal a router is what is mapped (only 1 is mapped)", each))
	}
	k, n, vcs := c.whole("k"), c.whole("n"), c.whole("num_vcs")
	if k < 2 || n < 1 || n > 16 {
		return m, refusal(fmt.Sprintf("k = %d, n = %d: want k of at least 2 and n from 1 to 16", k, n))
	}
	dims := strings.TrimSuffix(strings.Repeat(strconv.Itoa(k)+", ", n), ", ")
	switch topology + " " + routing {
	case "mesh dim_order", "mesh dor":
		m.Topology, m.Routing = fmt.Sprintf("type = \"mesh\"\ndims = [%s]\n", dims), "type = \"dor\"\n"
	case "torus dim_order":
		m.Topology, m.Routing = fmt.Sprintf("type = \"torus\"\ndims = [%s]\n", dims), "type = \"dor\"\nvc_rule = \"by-coordinates\"\n"
		if c.get("use_noc_latency") != "0" { // folded: neighbours are two tiles apart
			m.Channels = "[channel.grid]\nlatency = \"2ns\"\n\n"
		}
	case "fattree nca":
		// The k-ary n-tree: k terminals a leaf, k ports up at every level but the top.
		parents := strings.TrimSuffix("1, "+strings.Repeat(strconv.Itoa(k)+", ", n-1), ", ")
		m.Topology, m.Routing = fmt.Sprintf("type = \"xgft\"\nm = [%s]\nw = [%s]\n", dims, parents), "type = \"nca\"\nup = \"random\"\n"
	case "dragonflynew min", "dragonflynew ugal":
		if n != 1 {
			return m, refusal(fmt.Sprintf("n = %d: dragonflynew wants 1", n))
		}
		m.Topology = fmt.Sprintf("type = \"dragonfly\"\np = %d\na = %d\nh = %d\n", k, 2*k, k)
		m.Channels = "[channel.local]\nlatency = \"10ns\"\n\n[channel.global]\nlatency = \"100ns\"\n\n" // compiled in there
		m.Routing = "type = \"min\"\n"
		if routing == "ugal" {
			if vcs != 3 {
				return m, refusal(fmt.Sprintf("num_vcs = %d: ugal wants 3", vcs))
			}
			m.CanDeadlock = true
			m.Routing = "type = \"ugal-l\"\nsensing = \"credits\"\nweight = \"global-hops\"\nthreshold = 30\nintermediate = \"any-router\"\ndetour_vc = \"booksim2\"\ndecided_at = \"switch\"\n"
		}
	default:
		for _, known := range []string{"mesh", "torus", "fattree", "dragonflynew"} {
			if topology == known {
				return m, refusal(fmt.Sprintf("routing_function = %s on topology = %s: not mapped; mapped are mesh and torus with dim_order, fattree with nca, dragonflynew with min and ugal", routing, topology))
			}
		}
		return m, refusal(fmt.Sprintf("topology = %s: not mapped; mapped are mesh, torus, fattree, dragonflynew", topology))
	}
	return m, nil
}

// patterns are those of BookSim2 that weft has by another name or the same.
var patterns = map[string]string{
	"uniform":   "uniform",
	"bitcomp":   "bit-complement",
	"bitrev":    "bit-reverse",
	"shuffle":   "shuffle",
	"transpose": "transpose",
	"tornado":   "tornado",
	"neighbor":  "neighbour",
}

// pattern is the traffic.
func (c *Config) pattern(m *Counterpart) error {
	name, topology := c.get("traffic"), c.get("topology")
	pattern, ok := patterns[name]
	switch grid := topology == "mesh" || topology == "torus"; {
	case name == "bad_dragon" && topology == "dragonflynew":
		pattern = "worst-case"
	case name == "bad_dragon":
		return refusal("traffic = bad_dragon: it is for topology = dragonflynew")
	case !ok:
		return refusal(fmt.Sprintf("traffic = %s: not mapped", name))
	case (name == "tornado" || name == "neighbor") && !grid:
		return refusal(fmt.Sprintf("traffic = %s: mapped on mesh and torus only", name))
	}
	size := single(c.get("packet_size"))
	flits, err := strconv.Atoi(size)
	if err != nil || flits < 1 {
		return refusal(fmt.Sprintf("packet_size = %s: want one length of at least 1 flit", size))
	}
	m.Traffic = fmt.Sprintf("pattern = %q\npacket_flits = %d\n", pattern, flits)
	if name == "uniform" {
		m.Traffic += "self = true\n" // the sender is among the destinations
	}
	return nil
}

// islip is iSLIP with its iterations: "islip", or "islip(2)".
var islip = regexp.MustCompile(`^islip(?:\(\s*([1-9][0-9]?)\s*\))?$`)

// core is the table [switch].
func (c *Config) core() (string, error) {
	iterations := map[string]string{}
	for _, name := range []string{"vc_allocator", "sw_allocator"} {
		found := islip.FindStringSubmatch(c.get(name))
		if found == nil {
			return "", refusal(fmt.Sprintf("%s = %s: not mapped; islip and islip(N) are", name, c.get(name)))
		}
		if iterations[name] = found[1]; found[1] == "" {
			iterations[name] = "1"
		}
	}
	if iterations["vc_allocator"] != "1" {
		return "", refusal(fmt.Sprintf("vc_allocator = %s: weft allocates virtual channels in one iteration", c.get("vc_allocator")))
	}
	speedup := c.number("internal_speedup")
	stages := map[string]int{}
	for _, name := range []string{"routing_delay", "vc_alloc_delay", "sw_alloc_delay", "st_prepare_delay", "st_final_delay"} {
		if stages[name] = c.whole(name); stages[name] > 1 && speedup != 1 {
			return "", refusal(fmt.Sprintf("%s = %d with internal_speedup = %s: a delay above 1 counts cycles of the channel there, steps of the core in weft", name, stages[name], c.get("internal_speedup")))
		}
	}
	if stages["vc_alloc_delay"] < 1 {
		return "", refusal("vc_alloc_delay = 0: without that stage weft's heads take a virtual channel by winning the switch")
	}
	return fmt.Sprintf("vcs = %d\nbuffer_flits = %d\nroute_cycles = %d\nvc_alloc_cycles = %d\nswitch_alloc_cycles = %d\ncrossbar_cycles = %d\ncredit_cycles = %d\nspeedup = %s\nallocator = \"islip\"\niterations = %s\ncredits_per_cycle = 1\npipeline = \"serial\"\n",
		c.whole("num_vcs"), c.whole("vc_buf_size"), stages["routing_delay"], stages["vc_alloc_delay"], stages["sw_alloc_delay"],
		stages["st_prepare_delay"]+stages["st_final_delay"], c.whole("credit_delay"), strconv.FormatFloat(speedup, 'f', -1, 64), iterations["sw_allocator"]), nil
}
