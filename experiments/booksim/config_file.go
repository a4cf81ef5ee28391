package booksim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Config is a configuration file of BookSim2. What it does not set has BookSim2's
// default.
type Config struct {
	file string
	set  map[string]setting
}

type setting struct {
	value string
	line  int
}

// ParseConfig reads a configuration file: settings "name = value;", comments from //
// to the end of the line. A later value of a name replaces an earlier one. The error
// is of type document.Problems and holds everything that is wrong.
func ParseConfig(file, text string) (*Config, error) {
	if err := input.CheckUTF8([]byte(text)); err != nil {
		return nil, document.Problems{{At: file, Message: err.Error()}}
	}
	c := &Config{file, map[string]setting{}}
	var problems document.Problems
	problem := func(line int, key, format string, args ...any) {
		problems = append(problems, &document.Problem{At: place(file, line), Key: key, Message: fmt.Sprintf(format, args...)})
	}
	var statement strings.Builder
	first := 0 // line of the statement
	end := func() {
		text := strings.TrimSpace(statement.String())
		statement.Reset()
		name, value, found := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		k, known := settings[name]
		switch {
		case text == "":
		case !found || name == "":
			problem(first, "", "%s is not a setting; want name = value;", shown(text))
		case !known:
			problem(first, name, "is not a setting of BookSim2%s", param.DidYouMean(name, slices.Sorted(maps.Keys(settings))))
		case value == "":
			problem(first, name, "has no value; want %s", k.kind)
		case !k.kind.allows(value):
			problem(first, name, "= %s: want %s", shown(value), k.kind)
		default:
			c.set[name] = setting{value, first}
		}
	}
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, "//")
		for {
			part, rest, closed := strings.Cut(line, ";")
			if strings.TrimSpace(statement.String()) == "" && strings.TrimSpace(part) != "" {
				first = i + 1
			}
			statement.WriteString(part + " ")
			if !closed {
				break
			}
			end()
			line = rest
		}
	}
	if rest := strings.TrimSpace(statement.String()); rest != "" {
		problem(first, "", "%s has no ; at its end", shown(rest))
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return c, nil
}

func place(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// shown quotes a piece of a file for a message.
func shown(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return strconv.Quote(text)
}

// Text is the value of a setting, as text.
func (c *Config) Text(name string) string {
	if s, ok := c.set[name]; ok {
		return s.value
	}
	k, ok := settings[name]
	if !ok {
		panic("booksim: no setting " + name)
	}
	return k.def
}

// number is the value of a setting that is a number; ParseConfig has checked it.
func (c *Config) number(name string) float64 {
	x, err := strconv.ParseFloat(single(c.Text(name)), 64)
	if err != nil {
		panic("booksim: " + name + " is no number")
	}
	return x
}

// Whole is the value of a setting that is a whole number.
func (c *Config) Whole(name string) int { return int(c.number(name)) }

// single is the one element of a list of one, and any other value as it is.
func single(value string) string {
	if inner, ok := strings.CutPrefix(value, "{"); ok {
		if inner, ok = strings.CutSuffix(inner, "}"); ok && !strings.Contains(inner, ",") {
			return strings.TrimSpace(inner)
		}
	}
	return value
}

// form is what a value must look like.
type form int

const (
	whole form = iota // a whole number
	decimal
	text    // a name, or a list
	numbers // a whole number, or a list with a value for each class
)

func (f form) String() string {
	return [...]string{"a whole number, at most 9 digits", "a number", "a name", "a whole number, or a list of them in braces"}[f]
}

var (
	wholeForm   = input.Pattern(`^-?[0-9]{1,9}$`)
	decimalForm = input.Pattern(`^-?([0-9]*\.)?[0-9]+([eE][+-]?[0-9]{1,2})?$|^-?[0-9]+\.$`)
	listForm    = input.Pattern(`^\{[^{}]*\}$`)
	nameForm    = input.Pattern(`^[^\s=][^=]*$`)
)

func (f form) allows(value string) bool {
	switch f {
	case whole:
		return wholeForm().MatchString(value)
	case decimal:
		return decimalForm().MatchString(value)
	case numbers:
		return wholeForm().MatchString(value) || listForm().MatchString(value)
	}
	return nameForm().MatchString(value)
}

// known is a setting of BookSim2.
type known struct {
	def  string // its value where a file does not give one
	kind form
}

// settings are the settings of BookSim2.
var settings = map[string]known{}

// needed are settings of which one value, or some, have the meaning that weft's
// model has; and why the others do not.
var needed = []struct {
	name   string
	values []string
	reason string
}{
	{"router", []string{"iq"}, "weft's switch is the input-queued one"},
	{"subnets", []string{"1"}, "weft simulates one network"},
	{"classes", []string{"1"}, "weft has one class of traffic"},
	{"link_failures", []string{"0"}, "its links that fail are not weft's"},
	{"channel_file", []string{""}, "channel lengths from a file are not mapped"},
	{"output_delay", []string{"0"}, "weft has no such stage"},
	{"output_buffer_size", []string{"-1"}, "a bound there counts the flits in the queue, weft's counts from their grant"},
	{"noq", []string{"0"}, "weft has no next-hop-output queueing"},
	{"speculative", []string{"0"}, "weft does not speculate"},
	{"buffer_policy", []string{"private"}, "weft's virtual channels have buffers of their own"},
	{"buf_size", []string{"-1"}, "weft's virtual channels have buffers of their own, vc_buf_size each"},
	{"wait_for_tail_credit", []string{"0"}, "weft gives a virtual channel away when the tail has won the switch"},
	{"vc_busy_when_full", []string{"0"}, "weft gives away virtual channels without a credit"},
	{"vc_prioritize_empty", []string{"0"}, "weft does not prefer empty virtual channels"},
	{"vc_shuffle_requests", []string{"0"}, "weft does not shuffle requests"},
	{"hold_switch_for_packet", []string{"0"}, "weft's switch allocation is flit by flit"},
	{"input_speedup", []string{"1"}, "weft's crossbar has one port for each input"},
	{"output_speedup", []string{"1"}, "weft's crossbar has one port for each output"},
	{"priority", []string{"none"}, "weft has no priorities"},
	{"use_read_write", []string{"0"}, "requests with replies are not mapped"},
	{"injection_process", []string{"bernoulli"}, "the Bernoulli process is what is mapped"},
	{"include_queuing", []string{"1"}, "weft's latency counts from birth"},
	{"measure_stats", []string{"1"}, "nothing is measured"},
	{"sim_type", []string{"latency", "throughput"}, "a curve is of one of these"},
}

// refusal is why a configuration cannot be carried over.
type refusal string

func (r refusal) Error() string { return string(r) }

// together is one error of all that keep a configuration from being carried over; nil if none does.
func together(problems ...error) error {
	var reasons []string
	for _, err := range problems {
		if err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	if reasons == nil {
		return nil
	}
	return refusal(strings.Join(reasons, "; "))
}

// checkNeeded finds the settings whose value has no counterpart.
func (c *Config) checkNeeded() error {
	var problems []error
	for _, n := range needed {
		if value := single(c.Text(n.name)); !slices.Contains(n.values, value) {
			want := cmp.Or(strings.Join(n.values, " or "), "none")
			problems = append(problems, refusal(fmt.Sprintf("%s = %s: %s (only %s is mapped)", n.name, value, n.reason, want)))
		}
	}
	return together(problems...)
}

func init() {
	add := func(kind form, list string) {
		for _, field := range strings.Fields(list) {
			name, def, _ := strings.Cut(field, "=")
			settings[name] = known{def, kind}
		}
	}
	// What mapping.go and needed look at.
	add(text, `topology=torus routing_function=none router=iq channel_file buffer_policy=private vc_allocator=islip
		sw_allocator=islip traffic=uniform injection_process=bernoulli priority=none sim_type=latency`)
	add(whole, `subnets=1 k=8 n=2 c=1 use_noc_latency=1 link_failures=0 output_delay=0 credit_delay=0 output_buffer_size=-1 noq=0
		speculative=0 num_vcs=16 vc_buf_size=8 buf_size=-1 wait_for_tail_credit=0 vc_busy_when_full=0 vc_prioritize_empty=0
		vc_shuffle_requests=0 hold_switch_for_packet=0 input_speedup=1 output_speedup=1 routing_delay=1 vc_alloc_delay=1
		sw_alloc_delay=1 st_prepare_delay=0 st_final_delay=1 classes=1 warmup_periods=3 sample_period=1000 max_samples=10
		include_queuing=1`)
	add(numbers, `packet_size=1 use_read_write=0 measure_stats=1`)
	add(decimal, `internal_speedup=1.0`)
	// What makes no difference to a curve of these routers, seeds and names of
	// files among it. alloc_iters does nothing: the allocators are made without a
	// configuration.
	add(whole, `x=8 y=8 xr=1 yr=1 in_ports=5 out_ports=5 spec_check_elig=1 spec_check_cred=1 spec_mask_by_reqs=0 private_bufs=-1
		max_held_slots=-1 feedback_aging_scale=1 feedback_offset=0 vc_priority_donation=0 vct=0 alloc_iters=1
		injection_rate_uses_flits=0 batch_size=1000 batch_count=1 max_outstanding_requests=0 read_request_begin_vc=0
		read_request_end_vc=5 write_request_begin_vc=2 write_request_end_vc=7 read_reply_begin_vc=8 read_reply_end_vc=13
		write_reply_begin_vc=10 write_reply_end_vc=15 read_request_subnet=0 read_reply_subnet=0 write_request_subnet=0
		write_reply_subnet=0 synthetic_nodes=0 pair_stats=0 sim_count=1 print_activity=0 print_csv_results=0
		deadlock_warn_timeout=256 viewer_trace=0 sim_power=0 channel_width=128 channel_sweep=0`)
	add(decimal, `burst_alpha=0.5 burst_beta=0.5 burst_r1=-1.0`)
	add(text, `fail_seed=0 spec_sw_allocator=prio private_buf_size=1 private_buf_start_vc=-1 private_buf_end_vc=-1 arb_type=round_robin
		class_priority=0 perm_seed=0 injection_rate=0.1 packet_size_rate=1 write_fraction=0.5 read_request_size=1
		write_request_size=1 read_reply_size=1 write_reply_size=1 latency_thres=500.0 warmup_thres=0.05 acc_warmup_thres=0.05
		stopping_thres=0.05 acc_stopping_thres=0.05 seed=0 watch_file watch_flits watch_packets watch_transactions watch_out
		stats_out injected_flits_out received_flits_out stored_flits_out sent_flits_out outstanding_credits_out ejected_flits_out
		active_packets_out used_credits_out free_credits_out max_credits_out sent_packets_out power_output_file=pwr_tmp tech_file
		network_file`)
}

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
// which settings weft cannot carry it over. A cycle is a nanosecond.
func (c *Config) Experiment(title string, loads []float64, seeds int) (text string, canDeadlock bool, err error) {
	m, err := c.network()
	err = together(err, c.pattern(&m))
	text, err2 := c.ExperimentOf(title, loads, seeds, m)
	if err = together(err2, err); err != nil {
		return "", false, err
	}
	return text, m.CanDeadlock, nil
}

// ExperimentOf is [Config.Experiment] for a network, routing and traffic that are known to
// be those of the configuration.
func (c *Config) ExperimentOf(title string, loads []float64, seeds int, m Counterpart) (string, error) {
	core, err := c.core()
	period, warmup, all := c.Whole("sample_period"), c.Whole("warmup_periods"), c.Whole("max_samples")
	if period < 1 || warmup < 0 || all <= warmup {
		err = together(err, refusal(fmt.Sprintf("max_samples = %d: of these sample periods %d warm up and none is measured", all, warmup)))
	}
	if err = together(c.checkNeeded(), err); err != nil {
		return "", err
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
		title, m.Topology, m.Channels, core, c.Whole("vc_buf_size"), m.Routing, m.Traffic, warmup*period, (all-warmup)*period, strings.Join(list, ", "), strings.Join(numbers, ", ")), nil
}

// network is the topology with its routing and channels.
func (c *Config) network() (m Counterpart, err error) {
	topology, routing := c.Text("topology"), c.Text("routing_function")
	if each := c.Text("c"); each != "1" {
		return m, refusal(fmt.Sprintf("c = %s: one terminal a router is what is mapped (only 1 is mapped)", each))
	}
	k, n, vcs := c.Whole("k"), c.Whole("n"), c.Whole("num_vcs")
	if k < 2 || n < 1 || n > 16 {
		return m, refusal(fmt.Sprintf("k = %d, n = %d: want k of at least 2 and n from 1 to 16", k, n))
	}
	dims := strings.TrimSuffix(strings.Repeat(strconv.Itoa(k)+", ", n), ", ")
	switch topology + " " + routing {
	case "mesh dim_order", "mesh dor":
		m.Topology, m.Routing = fmt.Sprintf("type = \"mesh\"\ndims = [%s]\n", dims), "type = \"dor\"\n"
	case "torus dim_order":
		m.Topology, m.Routing = fmt.Sprintf("type = \"torus\"\ndims = [%s]\n", dims), "type = \"dor\"\nvc_rule = \"by-coordinates\"\n"
		if c.Text("use_noc_latency") != "0" { // folded: neighbours are two tiles apart
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
		if slices.Contains([]string{"mesh", "torus", "fattree", "dragonflynew"}, topology) {
			return m, refusal(fmt.Sprintf("routing_function = %s on topology = %s: not mapped; mapped are mesh and torus with dim_order, fattree with nca, dragonflynew with min and ugal", routing, topology))
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
	name, topology := c.Text("traffic"), c.Text("topology")
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
	size := single(c.Text("packet_size"))
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
var islip = input.Pattern(`^islip(?:\(\s*([1-9][0-9]?)\s*\))?$`)

// core is the table [switch].
func (c *Config) core() (string, error) {
	iterations := map[string]string{}
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, refusal(fmt.Sprintf(format, args...))) }
	for _, name := range []string{"vc_allocator", "sw_allocator"} {
		found := islip().FindStringSubmatch(c.Text(name))
		if found == nil {
			refuse("%s = %s: not mapped; islip and islip(N) are", name, c.Text(name))
		} else if iterations[name] = found[1]; found[1] == "" {
			iterations[name] = "1"
		}
	}
	if n := iterations["vc_allocator"]; n != "" && n != "1" {
		refuse("vc_allocator = %s: weft allocates virtual channels in one iteration", c.Text("vc_allocator"))
	}
	speedup := c.number("internal_speedup")
	stages := map[string]int{}
	for _, name := range []string{"routing_delay", "vc_alloc_delay", "sw_alloc_delay", "st_prepare_delay", "st_final_delay"} {
		if stages[name] = c.Whole(name); stages[name] > 1 && speedup != 1 {
			refuse("%s = %d with internal_speedup = %s: a delay above 1 counts cycles of the channel there, steps of the core in weft", name, stages[name], c.Text("internal_speedup"))
		}
	}
	if stages["vc_alloc_delay"] < 1 {
		refuse("vc_alloc_delay = 0: without that stage weft's heads take a virtual channel by winning the switch")
	}
	if problems != nil {
		return "", together(problems...)
	}
	return fmt.Sprintf("vcs = %d\nbuffer_flits = %d\nroute_cycles = %d\nvc_alloc_cycles = %d\nswitch_alloc_cycles = %d\ncrossbar_cycles = %d\ncredit_cycles = %d\nspeedup = %s\nallocator = \"islip\"\niterations = %s\ncredits_per_cycle = 1\npipeline = \"serial\"\n",
		c.Whole("num_vcs"), c.Whole("vc_buf_size"), stages["routing_delay"], stages["vc_alloc_delay"], stages["sw_alloc_delay"],
		stages["st_prepare_delay"]+stages["st_final_delay"], c.Whole("credit_delay"), strconv.FormatFloat(speedup, 'f', -1, 64), iterations["sw_allocator"]), nil
}
