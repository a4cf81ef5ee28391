package booksim

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
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

// Config is a configuration file of BookSim2. What it does not set has BookSim2's default.
type Config struct {
	set map[string]string
	// graph is the file that network_file names, and why it could not be read.
	graph    string
	graphErr error
}

// ParseConfig reads a configuration file: settings "name = value;", comments from // to the line's
// end. Later values of a name replace earlier ones. The error is of type document.Problems and
// holds everything wrong.
func ParseConfig(file, text string) (*Config, error) {
	if err := input.CheckUTF8([]byte(text)); err != nil {
		return nil, document.Problems{{At: file, Message: err.Error()}}
	}
	c := &Config{set: map[string]string{}}
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

// forms are their names in the table of settings.
var forms = []string{"whole", "decimal", "text", "numbers"}

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
	name, def string // its value where a file does not give one
	kind      form
	mapped    []string // values that have the meaning that weft's model has
	reason    string   // why the others do not; "": all do, or the mapping looks
}

//go:embed settings.csv
var settingsText string

// settings are BookSim2's settings by name, and needed those with a reason, in the file's order.
var settings, needed = func() (all map[string]known, some []known) {
	r := csv.NewReader(strings.NewReader(settingsText))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		panic("booksim: " + err.Error())
	}
	all = map[string]known{}
	for _, row := range rows[1:] {
		k := known{row[0], row[2], form(slices.Index(forms, row[1])), strings.Split(row[3], "|"), row[4]}
		if all[k.name] = k; k.reason != "" {
			some = append(some, k)
		}
	}
	return all, some
}()

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
		if value := single(c.Text(n.name)); !slices.Contains(n.mapped, value) {
			want := cmp.Or(strings.Join(n.mapped, " or "), "none")
			problems = append(problems, fmt.Errorf("%s = %s: %s (only %s is mapped)", n.name, value, n.reason, want))
		}
	}
	return together(problems...)
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

// nextHops lists, for each router and destination, the next router on the shortest path by
// channels' cycles, with BookSim2's ties: routers are settled by distance, then number, and the
// first way found stands.
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
