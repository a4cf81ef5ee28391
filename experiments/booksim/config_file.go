package booksim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/cables"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Config is a configuration file of BookSim2. What it does not set has BookSim2's
// default.
type Config struct {
	file string
	set  map[string]string
	// graph is the file that network_file names, and why it could not be read.
	graph    string
	graphErr error
}

// ParseConfig reads a configuration file: settings "name = value;", comments from //
// to the end of the line. A later value of a name replaces an earlier one. The error
// is of type document.Problems and holds everything that is wrong.
func ParseConfig(file, text string) (*Config, error) {
	if err := input.CheckUTF8([]byte(text)); err != nil {
		return nil, document.Problems{{At: file, Message: err.Error()}}
	}
	c := &Config{file: file, set: map[string]string{}}
	var problems document.Problems
	problem := func(line int, key, format string, args ...any) {
		problems = append(problems, &document.Problem{At: file + ":" + strconv.Itoa(line), Key: key, Message: fmt.Sprintf(format, args...)})
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
			c.set[name] = value
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
	if value, ok := c.set[name]; ok {
		return value
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
	listForm    = input.Pattern(`^\{([^{}]|\{[^{}]*\})*\}$`) // a matrix, too
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
	{"vc_busy_when_full", []string{"0"}, "weft gives away virtual channels without a credit"},
	{"vc_prioritize_empty", []string{"0"}, "weft does not prefer empty virtual channels"},
	{"vc_shuffle_requests", []string{"0"}, "weft does not shuffle requests"},
	{"output_speedup", []string{"1"}, "weft's crossbar has one port for each output"},
	{"priority", []string{"none"}, "weft has no priorities"},
	{"use_read_write", []string{"0"}, "requests with replies are not mapped"},
	{"injection_process", []string{"bernoulli"}, "the Bernoulli process is what is mapped"},
	{"include_queuing", []string{"1"}, "weft's latency counts from birth"},
	{"measure_stats", []string{"1"}, "nothing is measured"},
	{"sim_type", []string{"latency", "throughput"}, "a curve is of one of these"},
}

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
	return errors.New(strings.Join(reasons, "; "))
}

// checkNeeded finds the settings whose value has no counterpart.
func (c *Config) checkNeeded() error {
	var problems []error
	for _, n := range needed {
		if value := single(c.Text(n.name)); !slices.Contains(n.values, value) {
			want := cmp.Or(strings.Join(n.values, " or "), "none")
			problems = append(problems, fmt.Errorf("%s = %s: %s (only %s is mapped)", n.name, value, n.reason, want))
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
	// What the mapping and needed look at.
	add(text, `topology=torus routing_function=none router=iq channel_file buffer_policy=private vc_allocator=islip
		sw_allocator=islip network_file traffic=uniform injection_process=bernoulli priority=none sim_type=latency`)
	add(whole, `subnets=1 k=8 n=2 c=1 x=8 y=8 xr=1 yr=1 use_noc_latency=1 link_failures=0 output_delay=0 credit_delay=0 output_buffer_size=-1 noq=0
		speculative=0 num_vcs=16 vc_buf_size=8 buf_size=-1 wait_for_tail_credit=0 vc_busy_when_full=0 vc_prioritize_empty=0
		vc_shuffle_requests=0 hold_switch_for_packet=0 input_speedup=1 output_speedup=1 routing_delay=1 vc_alloc_delay=1
		sw_alloc_delay=1 st_prepare_delay=0 st_final_delay=1 classes=1 warmup_periods=3 sample_period=1000 max_samples=10
		include_queuing=1`)
	add(numbers, `packet_size=1 use_read_write=0 measure_stats=1`)
	add(decimal, `internal_speedup=1.0`)
	// What makes no difference to a curve of these routers, seeds and names of
	// files among it. alloc_iters does nothing: the allocators are made without a
	// configuration.
	add(whole, `in_ports=5 out_ports=5 spec_check_elig=1 spec_check_cred=1 spec_mask_by_reqs=0 private_bufs=-1
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
		active_packets_out used_credits_out free_credits_out max_credits_out sent_packets_out power_output_file=pwr_tmp tech_file`)
}

// mostRouters bounds the networks of anynet: the paths take time that grows with its cube.
const mostRouters = 2048

// anynet is the network of network_file, with the paths that BookSim2 finds in it.
func (c *Config) anynet(m *Counterpart) error {
	name := c.Text("network_file")
	if name == "" {
		return errors.New("network_file: is not given, and anynet wants one")
	}
	if c.graphErr != nil {
		return fmt.Errorf("network_file = %s: %v", name, c.graphErr)
	}
	network, err := cables.ReadAnynet(name, []byte(c.graph))
	if err != nil {
		return err
	}
	if doubts := network.(topology.Doubtful).Doubts(); len(doubts) > 0 {
		return errors.New(doubts[0])
	}
	g := network.Graph()
	if n := g.Switches(); n > mostRouters {
		return fmt.Errorf("network_file = %s: %d routers, want at most %d", name, n, mostRouters)
	}
	for t, p := range g.TerminalPort {
		if cycles := g.Classes[g.PortClass[p]].Latency; cycles > 1 { // it makes a channel between routers of them
			return fmt.Errorf("network_file = %s: %d cycles to node %d, which BookSim2 does not read as such: want none there", name, cycles, t)
		}
	}
	m.Topology = "type = \"anynet\"\npath = \"network.anynet\"\n"
	m.Routing = "type = \"table\"\nnext_hops = \"network.nexthop\"\nhop_vcs = \"any\"\n"
	m.Files = map[string][]byte{"network.anynet": []byte(c.graph), "network.nexthop": nextHops(g)}
	m.CanDeadlock = true
	return nil
}

// nextHops lists, for each router and destination, the router that comes next on the shortest
// path by the cycles of channels. Of paths as short it is the one that BookSim2 takes: routers
// are settled by their distance, then by their number, and the first way found stands.
func nextHops(g *topology.Graph) []byte {
	n := g.Switches()
	var table bytes.Buffer
	distance, next, settled := make([]int, n), make([]int, n), make([]bool, n)
	for from := range n {
		for s := range n {
			distance[s], next[s], settled[s] = math.MaxInt, -1, false
		}
		distance[from] = 0
		for range n {
			nearest := -1
			for s, done := range settled {
				if !done && distance[s] < math.MaxInt && (nearest < 0 || distance[s] < distance[nearest]) {
					nearest = s
				}
			}
			if nearest < 0 {
				break
			}
			settled[nearest] = true
			for p, to := range g.Links(topology.SwitchID(nearest)) {
				if d := distance[nearest] + g.Classes[g.PortClass[p]].Latency; d < distance[to] {
					distance[to], next[to] = d, next[nearest]
					if nearest == from {
						next[to] = int(to)
					}
				}
			}
		}
		for s, hop := range next {
			if s > 0 {
				table.WriteByte(' ')
			}
			fmt.Fprint(&table, hop)
		}
		table.WriteByte('\n')
	}
	return table.Bytes()
}
