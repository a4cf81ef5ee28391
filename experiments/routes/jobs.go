package routes

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
)

// Job is hosts that send to each other.
type Job struct {
	Name    string
	Pattern string
	Load    float64                 // of the full rate of every terminal
	Hosts   [][]topology.TerminalID // the rails of each, in order of ranks
	rank    map[topology.TerminalID]place
	matrix  Matrix // over ranks; nil: of one host
}

type place struct{ rank, rail int }

// Weights implements [Matrix]: rails send to the rails of the same number, where a host
// has fewer to those that it has in turn.
func (j *Job) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	at, member := j.rank[src]
	if !member || j.matrix == nil {
		return
	}
	j.matrix.Weights(topology.TerminalID(at.rank), func(to topology.TerminalID, weight float64) {
		rails := j.Hosts[to]
		yield(rails[at.rail%len(rails)], j.Load*weight)
	})
}

// ReadJobs reads a list of jobs that run at the same time on a network, a line each:
//
//	NAME HOSTS [PATTERN [LOAD]]
//
// HOSTS is a list of names with ranges in brackets, as Slurm writes lists of nodes
// (n[001-016,20],login1), in the order of ranks; or a number of hosts that no job
// before has, and how they are chosen: block:16 takes the next ones in the order of the
// file, spread:16 one at each switch in turn, random:16 any. PATTERN is a pattern of
// traffic between the ranks that does without a topology, uniform (all to all) if left
// out; LOAD is the share of its full rate that each terminal sends, 1 if left out. A job of
// one host sends nothing. squeue's line of columns, and its jobs that wait, are passed over. What follows a "#" is a comment.
//
// name is the file's name for messages; problems are returned together with their lines.
func ReadJobs(r io.Reader, name string, network topology.Topology, seed uint64) ([]Job, error) {
	g := network.Graph()
	p := &jobParser{Lines: input.NewLines(r, name), graph: g, hosts: g.Hosts(), names: topology.NamesOf(g).Terminals, random: sim.NewStream(seed, "routes.jobs", 0)}
	p.byName, p.taken = g.ByName(p.hosts), make([]string, len(p.hosts))
	for words := p.NextWords(); words != nil; words = p.NextWords() {
		p.parse(words)
	}
	err := p.Finish()
	if len(p.jobs) == 0 && err == nil {
		err = fmt.Errorf("%s: no jobs", name)
	}
	return p.jobs, err
}

// ReadJobsFile is [ReadJobs] for a file.
func ReadJobsFile(path string, network topology.Topology, seed uint64) ([]Job, error) {
	return readWith(path, input.MaxSettings, func(r io.Reader) ([]Job, error) { return ReadJobs(r, path, network, seed) })
}

type jobParser struct {
	*input.Lines
	graph  *topology.Graph
	jobs   []Job
	hosts  [][]topology.TerminalID
	names  []topology.AdapterPort // by terminal
	byName map[string]int         // as Graph.ByName has it
	taken  []string               // by host: job that has it
	random sim.Stream
	wrong  bool // the job at hand has a problem
	squeue bool // the first line is squeue's, of columns
}

func (p *jobParser) problem(format string, args ...any) {
	p.Problem(format, args...)
	p.wrong = true
}

func (p *jobParser) parse(words []string) {
	switch {
	case len(words) == 2 && words[0] == "JOBID" && strings.HasPrefix(words[1], "NODELIST"):
		p.squeue = true
		return
	case p.squeue && (len(words) == 1 || words[1][0] == '('): // it waits, perhaps with a reason
		return
	}
	job := Job{Name: words[0], Pattern: "uniform", Load: 1, rank: map[topology.TerminalID]place{}}
	if len(words) < 2 || len(words) > 4 {
		p.problem("%d words: want NAME HOSTS [PATTERN [LOAD]]", len(words))
		return
	}
	if slices.ContainsFunc(p.jobs, func(j Job) bool { return j.Name == job.Name }) {
		p.problem("job %s is a duplicate", job.Name)
	}
	p.wrong = false
	list := p.choose(words[1])
	for _, h := range list {
		if p.taken[h] != "" {
			p.problem("host %s is in job %s already", p.names[p.hosts[h][0]].Name, p.taken[h])
			continue
		}
		p.taken[h] = job.Name
		for rail, t := range p.hosts[h] {
			job.rank[t] = place{len(job.Hosts), rail}
		}
		job.Hosts = append(job.Hosts, p.hosts[h])
	}
	if len(words) > 2 {
		job.Pattern = words[2]
	}
	if len(words) > 3 {
		load, err := strconv.ParseFloat(words[3], 64)
		if err != nil || !(load > 0 && load <= 1) {
			p.problem("load %s: want a number above 0, at most 1", words[3])
		}
		job.Load = load
	}
	if p.wrong {
		return
	}
	if len(job.Hosts) != 1 {
		matrix, err := patternMatrix(ranks(len(job.Hosts)), job.Pattern, uint64(len(p.jobs)+1))
		if err != nil {
			p.problem("job %s of %d hosts: %w", job.Name, len(job.Hosts), err)
			return
		}
		job.matrix = matrix
	}
	p.jobs = append(p.jobs, job)
}

// ranks is what patterns see of a job: as many terminals at one switch.
func ranks(n int) topology.Topology {
	b := topology.NewBuilder(1, topology.Class{Name: "rank", Latency: 1})
	for range n {
		b.AddTerminal(0, 0)
	}
	return topology.NewFileNetwork(b.Freeze())
}

// choose lists the hosts that a job asks for.
func (p *jobParser) choose(text string) []int {
	rule, number, counted := strings.Cut(text, ":")
	if !counted {
		return p.listed(text)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		p.problem("%s: want a number of hosts, at least 1, after the colon", text)
		return nil
	}
	free := lists.Places(len(p.hosts), func(h int) bool { return p.taken[h] == "" })
	if n > len(free) {
		p.problem("%s: %d of the %d hosts are free", text, len(free), len(p.hosts))
		return nil
	}
	switch rule {
	case "block":
	case "random":
		sim.Shuffle(&p.random, free)
	case "spread":
		free = p.spread(free)
	default:
		p.problem("%s: want block, spread or random before the colon", text)
		return nil
	}
	return free[:n]
}

// spread puts hosts in an order that takes one at each switch, then the next ones.
func (p *jobParser) spread(hosts []int) []int {
	before := map[topology.SwitchID]int{}
	round := make(map[int]int, len(hosts))
	for _, h := range hosts {
		s := p.graph.TerminalSwitch(p.hosts[h][0])
		round[h] = before[s]
		before[s]++
	}
	slices.SortStableFunc(hosts, func(a, b int) int { return cmp.Compare(round[a], round[b]) })
	return hosts
}

func (p *jobParser) listed(text string) (list []int) {
	names, err := input.ExpandHosts(text)
	if err != nil {
		p.problem("%w", err)
		return nil
	}
	for _, name := range names {
		h, known := p.byName[name]
		switch {
		case !known:
			p.problem("no host %q in the network: want names such as %q", name, p.names[p.hosts[0][0]].Name)
		case h == topology.Ambiguous:
			p.problem("several hosts are called %q", name)
		default:
			list = append(list, h)
		}
	}
	return list
}
