package routes

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/routing/opensm/mcast"
	"github.com/weft-sim/weft/sim/input"
)

// MulticastFiles is multicast routing on the files of a real subnet: its fabric
// and its groups, as its subnet manager wrote them.
type MulticastFiles struct {
	Topology string // ibnetdiscover output, ibsim netlist, or weft's JSON form
	Groups   string // OpenSM SA dump
	MinHops  string // OpenSM min-hop ("lid matrix") dump for minhop-mc; "" for shortest paths
	Tables   string // forwarding tables that the subnet has, as OpenSM dumps them (opensm.mcfdbs); "" if not known
	Engine   string // whose forwarding tables are wanted
	Entries  int    // forwarding-table entries of every switch; 0: as many as it takes
	Threads  int
}

// MulticastOutcome is what the engines made of the files.
type MulticastOutcome struct {
	Warnings []string // what was strange but could be read
	report   *mcast.JobReport
}

// Run reads the files, routes the groups with every engine and compares them.
// Every error is one of the input.
func (m MulticastFiles) Run() (*MulticastOutcome, error) {
	entries := m.Entries
	if entries == 0 {
		entries = multicast.Unlimited
	}
	if _, err := multicast.Registry.Config(m.Engine); err != nil {
		return nil, fmt.Errorf("--engine: %w", err)
	}
	network, err := network.Import(m.Topology)
	if err != nil {
		return nil, err
	}
	job := mcast.Job{Graph: network.Graph(), GroupsName: m.Groups, Engine: m.Engine, Entries: entries, Threads: m.Threads}
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
	return &MulticastOutcome{Warnings: network.Warnings, report: report}, nil
}

// Summary describes what was routed in a line.
func (o *MulticastOutcome) Summary() string {
	g := o.report.Graph
	return fmt.Sprintf("%d switches, %d terminals, %d switch cables; %d groups routed, %d with fewer than two members left out",
		g.Switches(), g.Terminals(), g.SwitchLinks(), len(o.report.Routed), o.report.Small)
}

// WriteTable writes the comparison of the engines for people.
func (o *MulticastOutcome) WriteTable(w io.Writer) error { return o.report.WriteTable(w) }

// Files are the comparison as CSV and the forwarding tables and groups of the wanted
// engine, by the names of their files.
func (o *MulticastOutcome) Files() (map[string][]byte, error) { return o.report.Files() }

// MulticastFileNames are all names that [MulticastOutcome.Files] can give.
func MulticastFileNames() []string { return mcast.FileNames() }
