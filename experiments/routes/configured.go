// Package routes computes and compares the routes of a fabric by OpenSM's engines:
// what one configured OpenSM would write into the switches ([Configured]), and
// what each engine makes of the load of a traffic pattern ([Compare]).
package routes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/routing/opensm/mcast"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Engines lists the engines in alphabetical order.
func Engines() []string { return opensm.Engines() }

// ReadConfig reads a configuration file of OpenSM for engines, by default for the engines of the file's list;
// OpenSM's defaults for "".
func ReadConfig(path string, engines ...string) (*opensm.Config, error) {
	if path == "" {
		return opensm.DefaultConfig(), nil
	}
	return readWith(path, input.MaxSettings, func(r io.Reader) (*opensm.Config, error) {
		return opensm.ReadConfig(r, path, filepath.Dir(path), engines...)
	})
}

// readWith opens a file for a reader.
func readWith[T any](path string, limit int64, read func(io.Reader) (T, error)) (what T, err error) {
	f, err := input.OpenInput(path, limit)
	if err != nil {
		return what, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer f.Close()
	return read(f)
}

// Request is a fabric and how OpenSM is configured on it.
type Request struct {
	Network topology.Topology
	Config  *opensm.Config
	Manager string // name of the subnet manager's terminal; "": see opensm.FindManager
	Lanes   int    // data virtual lanes of the ports
}

// DefaultEngine is what OpenSM takes where routing_engine is not set.
const DefaultEngine = "minhop"

func (r *Request) subnet() (*opensm.Subnet, error) {
	return r.Config.Subnet(r.Network, r.Manager, r.Lanes)
}

// Configured is the outcome of a configuration.
type Configured struct {
	Subnet   *opensm.Subnet
	Tables   *opensm.Tables // nil: all engines refused
	Refusals []*opensm.Refusal
	options  *opensm.Options
}

// Configure routes the fabric by the first engine of the configuration's list that
// does not refuse it. The engine minhop, which OpenSM takes without a word where all
// of them refuse, is only taken where it is listed. An error is one of the input.
func (r *Request) Configure() (*Configured, error) {
	s, err := r.subnet()
	if err != nil {
		return nil, err
	}
	c := &Configured{Subnet: s, options: &r.Config.Options}
	engines := r.Config.Engines
	if len(engines) == 0 {
		engines = []string{DefaultEngine}
	}
	for _, name := range engines {
		tables, refusal, err := route(s, name, c.options)
		if err != nil {
			return nil, err
		}
		if refusal == nil {
			c.Tables = tables
			return c, nil
		}
		c.Refusals = append(c.Refusals, refusal)
	}
	return c, nil
}

func route(s *opensm.Subnet, name string, o *opensm.Options) (*opensm.Tables, *opensm.Refusal, error) {
	engine, err := opensm.EngineOf(name)
	if err != nil {
		return nil, nil, err
	}
	tables, err := engine.Route(s, o)
	var refusal *opensm.Refusal
	if errors.As(err, &refusal) {
		return nil, refusal, nil
	}
	return tables, nil, err
}

// Refused says why there are no tables, and what OpenSM itself would do.
func (c *Configured) Refused() error {
	if c.Tables != nil {
		return nil
	}
	lines := lists.Join(c.Refusals, "\n", (*opensm.Refusal).Error)
	return fmt.Errorf("%s\nno engine of the list is left: OpenSM would take minhop as its last resort, weft writes no table", lines)
}

// Files are the tables by the names of their files: lft, sl and sl2vl; with dumps,
// also OpenSM's own forms of the first and the last.
func (c *Configured) Files(dumps bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	var problem error
	write := func(name string, to func(io.Writer) error) {
		var b bytes.Buffer
		if err := to(&b); err != nil {
			problem = err
		}
		files[name] = b.Bytes()
	}
	write("lft", c.Tables.WriteLFT)
	write("sl", c.Tables.WriteSL)
	write("sl2vl", func(w io.Writer) error {
		one := c.Tables.SL2VL(c.options)
		if one == "file" {
			return c.Tables.WriteSL2VL(w, c.options)
		}
		_, err := fmt.Fprintln(w, one)
		return err
	})
	if dumps {
		write("opensm-lfts.dump", c.Tables.WriteLFTDump)
		write("opensm-sl2vl.dump", func(w io.Writer) error { return c.Tables.WriteSL2VL(w, c.options) })
	}
	return files, problem
}

// FileNames are all names that [Configured.Files] can give.
var FileNames = []string{"lft", "sl", "sl2vl", "opensm-lfts.dump", "opensm-sl2vl.dump"}

// Describe tells what the tables are like.
func (c *Configured) Describe(w io.Writer) {
	t := c.Tables
	s := c.Subnet
	for _, r := range c.Refusals {
		fmt.Fprintf(w, "refused    %s: %s\n", r.Engine, r.Reason)
	}
	fmt.Fprintf(w, "engine     %s\nmanager    %s, LID %d\nLIDs       1 to %d%s\nentries    %d in %d switches\n", t.Engine,
		s.Graph.TerminalName(s.Manager), s.TerminalLID[s.Manager], s.MaxLID, moved(s), t.Entries(), len(s.Switches))
	if t.HasLevels() {
		levels := strings.Trim(fmt.Sprint(t.LevelsInUse()), "[]")
		fmt.Fprintf(w, "levels     %s: %d lanes\n", strings.ReplaceAll(levels, " ", ", "), t.VCs())
	} else {
		fmt.Fprintf(w, "levels     0: the engine assigns none\n")
	}
	if pairs, first := t.Unreachable(); pairs > 0 {
		fmt.Fprintf(w, "no path    %d pairs of adapter ports, the first from %s\n", pairs, first)
	}
	fmt.Fprintf(w, "deadlock   %s\n", certificate(t).Describe(s.Graph))
}

// moved says how many adapter ports have other LIDs than the fabric states, which the rows of lft
// then cannot be found by.
func moved(s *opensm.Subnet) string {
	ports := 0
	if s.Graph.Names != nil {
		for t, x := range s.Graph.Names.Terminals {
			if x.LID > 0 && (x.LID != s.TerminalLID[t] || int(x.LMC) != s.LMC) {
				ports++
			}
		}
	}
	if ports == 0 {
		return ""
	}
	return fmt.Sprintf(", %d adapter ports with others than stated: routing lft reads opensm-lfts.dump (--dumps) then, not lft", ports)
}

// Demand is what terminals send while the load of cables is looked at.
type Demand struct {
	Name string
	// Draws are what is looked at one by one: one matrix, or several of a pattern that is
	// drawn at random.
	Draws []Matrix
	// Jobs are the parts of the one draw of a list of jobs; nil for patterns.
	Jobs []Job
}

// Matrix is a traffic matrix: what a terminal sends to each destination, in its full rate.
type Matrix interface {
	Weights(src topology.TerminalID, yield func(dst topology.TerminalID, weight float64))
}

// PatternDemand is a registered pattern with its defaults, every terminal sending at its
// full rate, drawn so many times.
func PatternDemand(network topology.Topology, name string, draws int) (*Demand, error) {
	d := &Demand{Name: name}
	for seed := range draws {
		matrix, err := patternMatrix(network, name, uint64(seed+1))
		if err != nil {
			return nil, fmt.Errorf("--pattern %s: %w", name, err)
		}
		d.Draws = append(d.Draws, matrix)
	}
	return d, nil
}

func patternMatrix(network topology.Topology, name string, seed uint64) (Matrix, error) {
	pattern, err := traffic.Patterns.New(name, traffic.Env{Topology: network, Seed: seed})
	if err != nil {
		return nil, err
	}
	matrix, ok := pattern.(traffic.Matrix)
	if !ok {
		return nil, fmt.Errorf("its traffic matrix is not known")
	}
	return matrix, nil
}

// JobDemand is a list of jobs that run at the same time.
func JobDemand(jobs []Job) *Demand {
	return &Demand{Name: "jobs", Draws: []Matrix{together(jobs)}, Jobs: jobs}
}

// together is the traffic of several jobs.
type together []Job

func (t together) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	for i := range t {
		t[i].Weights(src, yield)
	}
}

// Patterns lists the patterns of traffic in alphabetical order.
func Patterns() []string { return traffic.Patterns.Names() }

// Load is what a demand puts on the directions of cables between switches (len =
// len(Subnet.Links)), in units of what a cable carries: 1 is full.
type Load []float64

// rates are what cables carry, in full rates of the fastest adapter port: 1 where no rates are known.
type rates struct {
	links     []float64 // directions of the cables between switches
	terminals []float64 // the full rates of the others
}

func ratesOf(s *opensm.Subnet) rates {
	g := s.Graph
	rate := func(p topology.PortID) float64 { return float64(g.Classes[g.PortClass[p]].Rate) }
	fastest := lists.Most(0.0, g.TerminalPort, func(p topology.PortID) float64 { return rate(p) })
	share := func(p topology.PortID) float64 {
		if r := rate(p); r > 0 && fastest > 0 {
			return r / fastest
		}
		return 1
	}
	return rates{lists.Make(len(s.Links), func(i int) float64 { return share(s.Links[i].Graph) }),
		lists.Make(len(g.TerminalPort), func(t int) float64 { return share(g.TerminalPort[t]) })}
}

// loadOf follows the packets of a matrix. Cost: switches with senders times destinations
// times the length of paths.
func loadOf(t *opensm.Tables, m Matrix, r rates) Load {
	s := t.Subnet
	l := make(Load, len(s.Links))
	row := make([]float64, s.Graph.Terminals())
	var path []int32
	for n := range s.Switches {
		sent := false
		for _, h := range s.Terminals(int32(n)) {
			m.Weights(h.Terminal, func(dst topology.TerminalID, weight float64) {
				row[dst] += weight * r.terminals[h.Terminal]
				sent = true
			})
		}
		if !sent {
			continue
		}
		for to, weight := range row {
			if weight == 0 {
				continue
			}
			row[to] = 0
			var ok bool
			if path, ok = t.Path(int32(n), int(s.TerminalLID[to]), path); !ok {
				continue
			}
			for _, link := range path {
				l[link] += weight / r.links[link]
			}
		}
	}
	return l
}

// Throughput is the share of what they want to send that terminals can send at most, all
// the same, before the first cable between switches is full.
func (l Load) Throughput() float64 {
	if len(l) == 0 {
		return 1
	}
	return 1 / max(1, slices.Max(l))
}

// throughputOf is the share that those can send whose packets take some of the cables:
// the fullest of these decides. hottest is that cable; -1: they take none.
func (l Load) throughputOf(own Load) (share float64, hottest int32) {
	most, hottest := 1.0, int32(-1)
	for i, x := range own {
		if x > 0 && (hottest < 0 || l[i] > l[hottest]) {
			hottest = int32(i)
			most = max(1, l[i])
		}
	}
	return 1 / most, hottest
}

// Hottest lists the n directions of cables with the highest load, equals in the order of
// the subnet's links.
func (l Load) Hottest(n int) []int32 {
	order := topology.Numbers[int32](len(l))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(l[b], l[a]) })
	return order[:min(n, len(order))]
}

// cableName is a direction of a cable in words.
func cableName(s *opensm.Subnet, link int32) string {
	l := s.Links[link]
	back := s.Links[l.Back]
	return fmt.Sprintf("%s to %s", s.Graph.PortName(l.Graph), s.Graph.PortName(back.Graph))
}

// certificate looks for cycles of channels that wait for each other.
func certificate(t *opensm.Tables) certify.Certificate {
	g := certify.New(t.VCs())
	t.Dependencies(g.Add)
	return g.Certify(1, 1)
}

// MulticastFiles is multicast routing on the files of a real subnet: its fabric
// and its groups, as its subnet manager wrote them.
type MulticastFiles struct {
	Topology string // ibnetdiscover output, ibsim netlist, or weft's JSON form
	Groups   string // OpenSM SA dump
	MinHops  string // OpenSM min-hop ("lid matrix") dump for minhop-mc; "" for shortest paths
	Tables   string // forwarding tables that the subnet has, as OpenSM dumps them (opensm.mcfdbs); "" if not known
	Engine   string // whose forwarding tables are wanted
	Entries  int    // forwarding-table entries of every switch; 0: as many as it takes
}

// MulticastOutcome is what the engines made of the files.
type MulticastOutcome struct {
	Warnings []string // what was strange but could be read
	*mcast.JobReport
}

// Run reads the files, routes the groups with every engine and compares them.
// Every error is one of the input.
func (m MulticastFiles) Run() (*MulticastOutcome, error) {
	entries := cmp.Or(m.Entries, multicast.Unlimited)
	if _, err := multicast.Registry.Config(m.Engine); err != nil {
		return nil, fmt.Errorf("--engine: %w", err)
	}
	network, err := network.Import(m.Topology)
	if err != nil {
		return nil, err
	}
	job := mcast.Job{Graph: network.Graph(), GroupsName: m.Groups, Engine: m.Engine, Entries: entries}
	var problems [3]error
	job.Groups, problems[0] = readWith(m.Groups, input.MaxStream, func(r io.Reader) ([]mcast.SAGroup, error) { return mcast.ReadSADump(r, m.Groups, job.Graph) })
	if m.MinHops != "" {
		job.Matrix, problems[1] = readWith(m.MinHops, input.MaxStream, func(r io.Reader) (*mcast.LIDMatrix, error) { return mcast.ReadLIDMatrix(r, m.MinHops, job.Graph) })
	}
	if m.Tables != "" {
		job.Tables, problems[2] = readWith(m.Tables, input.MaxStream, func(r io.Reader) (mcast.MFTs, error) { return mcast.ReadMCFDBs(r, m.Tables, job.Graph) })
	}
	if err := errors.Join(problems[:]...); err != nil {
		return nil, err
	}
	report, err := job.Run()
	if err != nil {
		return nil, err
	}
	return &MulticastOutcome{network.Warnings, report}, nil
}

// Summary describes what was routed in a line.
func (o *MulticastOutcome) Summary() string {
	g := o.Graph
	return fmt.Sprintf("%d switches, %d terminals, %d switch cables; %d groups routed, %d with fewer than two members left out",
		g.Switches(), g.Terminals(), g.SwitchLinks(), len(o.Routed), o.Small)
}

// MulticastFileNames are all names that [mcast.JobReport.Files] can give.
func MulticastFileNames() []string { return mcast.FileNames() }
