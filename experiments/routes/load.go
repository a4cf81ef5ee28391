package routes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/opensm"
)

// Demand is what terminals send while the load of cables is looked at.
type Demand struct {
	Name string
	// Draws are what is looked at one by one: one matrix, or several of a pattern that is
	// drawn at random.
	Draws []Matrix
	// Jobs are the parts of the one draw of a list of jobs; nil for patterns.
	Jobs []Job
}

// Matrix is a traffic matrix: what a terminal sends to each destination, in its full
// rate.
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
	config, err := traffic.Patterns.Config(name)
	if err != nil {
		return nil, err
	}
	pattern, err := traffic.Patterns.Build(name, config, traffic.Env{Topology: network, Seed: seed})
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

// rates are the full rates of adapter ports that each direction of a cable carries: 1
// where it is as fast as the fastest adapter, or no rates are known.
func rates(s *opensm.Subnet) []float64 {
	g := s.Graph
	rate := func(p topology.PortID) float64 { return float64(g.Classes[g.PortClass[p]].Rate) }
	fastest := 0.0
	for _, p := range g.TerminalPort {
		fastest = max(fastest, rate(p))
	}
	all := make([]float64, len(s.Links))
	for i, link := range s.Links {
		all[i] = 1
		if r := rate(link.Graph); r > 0 && fastest > 0 {
			all[i] = r / fastest
		}
	}
	return all
}

// loadOf follows the packets of a matrix. Cost: switches with senders times destinations
// times the length of paths.
func loadOf(t *opensm.Tables, m Matrix, rates []float64) Load {
	s := t.Subnet
	l := make(Load, len(s.Links))
	row := make([]float64, s.Graph.Terminals())
	var path []int32
	for n := range s.Switches {
		sent := false
		for _, h := range s.Terminals(int32(n)) {
			m.Weights(h.Terminal, func(dst topology.TerminalID, weight float64) {
				row[dst] += weight
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
				l[link] += weight / rates[link]
			}
		}
	}
	return l
}

// hops is the mean number of cables between switches over all pairs of terminals that
// the tables join, and the largest.
func hops(t *opensm.Tables) (mean float64, most int) {
	sum, pairs := 0, 0
	t.Pairs(func(hosts []opensm.Host, _ topology.TerminalID, path []int32, ok bool) {
		if ok {
			sum += len(path) * len(hosts)
			pairs += len(hosts)
			most = max(most, len(path))
		}
	})
	return float64(sum) / float64(max(1, pairs)), most
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
	order := make([]int32, len(l))
	for i := range order {
		order[i] = int32(i)
	}
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
