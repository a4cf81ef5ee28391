// Package mcast holds OpenSM's multicast engines, as of version 3.3.23, for the registry of
// package multicast: the rule of minhop, which most of its unicast engines use, and sssp's
// rule. Beside them stand the files in which OpenSM keeps groups, min-hop tables and
// multicast forwarding tables, and jobs: the groups of such files, routed by any engines and
// compared with the tables that the subnet has. Readers of files take their name, and return all
// problems together, each with file and line.
//
// Terms: an MLID is the multicast LID of a group, an MFT a switch's multicast forwarding table.
package mcast

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
)

// Job is the multicast routing of one subnet: its fabric and its groups, as read from a subnet
// manager's files, routed by several engines to compare, and by one whose tables are wanted.
type Job struct {
	Graph *topology.Graph
	// Groups are groups that [ReadSADump] has read; GroupsName is their file's name for
	// messages. Groups of fewer than two members get no tree, as in OpenSM.
	Groups     []SAGroup
	GroupsName string
	// Engine is the engine whose tables [JobReport.Files] has; empty for none.
	Engine string
	// Engines are compared; nil for all that are registered.
	Engines []string
	// Entries is the number of MFT entries of each switch for these groups, or Unlimited. (OpenSM
	// adds one for the broadcast group.)
	Entries int
	// Matrix replaces shortest paths for minhop-mc; may be nil.
	Matrix *LIDMatrix
	// Tables are the forwarding tables that the subnet has, as of [ReadMCFDBs]; nil: not known.
	Tables  MFTs
	Threads int
	Seed    uint64
}

// EngineReport is what one engine made of a job.
type EngineReport struct {
	Engine string
	// Unlimited are the figures without a limit of entries: Colours is how many the engine needs.
	Unlimited multicast.Metrics
	// Limited are the figures with Job.Entries; the same as Unlimited if these entries are enough.
	Limited multicast.Metrics
	// Refused is the number of groups that got no entry.
	Refused int
	// Err says why the engine cannot route this subnet; then there are no figures.
	Err error

	forest *multicast.Forest // of Limited
}

// JobReport is the result of [Job.Run].
type JobReport struct {
	Job
	// Routed are the groups that got trees; Small is the number of others.
	Routed []SAGroup
	Small  int
	// ColourBound is a lower bound on the entries needed without merging.
	ColourBound int
	Reports     []EngineReport // in the order of Job.Engines, Job.Engine first
	Installed   *Installed     // what Job.Tables make of Routed; nil without them
}

// Run routes the job's groups with every engine. Groups whose members are not connected, settings
// out of range and nothing to route are errors; an engine that cannot do the subnet is one only if
// it is Job.Engine. All but run times is reproducible.
func (j Job) Run() (*JobReport, error) {
	env, err := multicast.NewEnv(j.Graph, j.Threads)
	if err != nil {
		return nil, err
	}
	env.Seed, env.Entries = j.Seed, j.Entries
	first, err := multicast.NewForest(env)
	if err != nil {
		return nil, err
	}
	r := &JobReport{Job: j}
	var problems []error
	var groups []multicast.Group
	for _, g := range j.Groups {
		if g.Size() < 2 {
			r.Small++
			continue
		}
		if err := first.Admissible(&g.Group); err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: MLID %#x: %w", j.GroupsName, g.Line, g.MLID, err))
		}
		r.Routed = append(r.Routed, g)
		groups = append(groups, g.Group)
	}
	if len(r.Routed) == 0 {
		problems = append(problems, fmt.Errorf("%s: none of its %d groups has two members or more, so there is nothing to route", j.GroupsName, len(j.Groups)))
	}
	names := j.Engines
	if names == nil {
		names = multicast.Registry.Names()
	}
	if j.Engine != "" {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == j.Engine })
		names = slices.Insert(names, 0, j.Engine)
	}
	for _, name := range names {
		if _, err := multicast.Registry.Config(name); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	r.ColourBound = multicast.ColourBound(env, groups)
	if j.Tables != nil {
		r.Installed = inspect(j.Graph, j.Tables, r.Routed)
	}
	for _, name := range names {
		report := j.route(env, name, groups)
		if report.Err != nil && name == j.Engine {
			return nil, report.Err
		}
		r.Reports = append(r.Reports, report)
	}
	return r, nil
}

// route runs one engine without limit, then, if that needs too many entries, with the limit.
func (j Job) route(env multicast.Env, name string, groups []multicast.Group) EngineReport {
	r := EngineReport{Engine: name}
	limit := env.Entries
	env.Entries = multicast.Unlimited
	e, err := j.engine(env, name)
	join := func() (m multicast.Metrics, refused int) {
		if err == nil {
			refused, err = multicast.JoinAll(e, groups, nil)
		}
		if err != nil {
			r.Err = fmt.Errorf("multicast engine %q: %w", name, j.located(err))
			return m, 0
		}
		r.forest = e.Forest()
		return r.forest.Measure(), refused
	}
	r.Unlimited, _ = join()
	r.Limited = r.Unlimited
	if r.Err != nil || limit == multicast.Unlimited || r.Unlimited.Colours <= limit {
		return r
	}
	env.Entries = limit
	if again, ok := multicast.Limited(e, env); ok {
		e = again
	} else {
		e, err = j.engine(env, name)
	}
	r.Limited, r.Refused = join()
	return r
}

// engine makes the named engine with its defaults.
func (j Job) engine(env multicast.Env, name string) (multicast.Engine, error) {
	if j.Matrix != nil && name == "minhop-mc" {
		return NewMinHopMCFrom(env, j.Matrix)
	}
	return multicast.Registry.New(name, env)
}

// located puts the place of the group that an error is about, if known, before an error.
func (j Job) located(err error) error {
	var join *multicast.JoinError
	if errors.As(err, &join) {
		for i := range j.Groups {
			if g := &j.Groups[i]; g.ID == join.Group {
				return fmt.Errorf("%s:%d: MLID %#x: %w", j.GroupsName, g.Line, g.MLID, err)
			}
		}
	}
	return err
}

func (r *JobReport) columns() [][]string {
	head := []string{"engine", "entries_needed", "entries_bound", "max_efi", "mean_efi", "max_height"}
	limited := r.Entries != multicast.Unlimited
	if limited {
		head = append(head, "entries_limit", "limited_entries", "limited_trees", "limited_max_efi", "limited_max_tfi", "refused")
	}
	rows := [][]string{append(head, "note")}
	if x := r.Installed; x != nil { // the tables that the subnet has
		row := make([]string, len(rows[0]))
		copy(row, []string{"installed", strconv.Itoa(x.Entries), strconv.Itoa(r.ColourBound), strconv.Itoa(x.MaxEFI), strconv.FormatFloat(x.MeanEFI, 'f', 2, 64)})
		if n := len(x.Problems); n > 0 {
			row[len(row)-1] = fmt.Sprintf("%d of %d groups do not reach just their members; %s", n, len(r.Routed), x.Problems[0])
		}
		rows = append(rows, row)
	}
	for i := range r.Reports {
		e := &r.Reports[i]
		if e.Err != nil {
			row := make([]string, len(rows[0]))
			row[0], row[len(row)-1] = e.Engine, strings.ReplaceAll(e.Err.Error(), "\n", "; ")
			rows = append(rows, row)
			continue
		}
		u, l := &e.Unlimited, &e.Limited
		row := []string{e.Engine, strconv.Itoa(u.Colours), strconv.Itoa(r.ColourBound), strconv.Itoa(u.MaxEFI), strconv.FormatFloat(u.MeanEFI, 'f', 2, 64), strconv.Itoa(u.MaxHeight)}
		if limited {
			for _, n := range []int{r.Entries, l.Colours, l.Trees, l.MaxEFI, l.MaxTFI, e.Refused} {
				row = append(row, strconv.Itoa(n))
			}
		}
		rows = append(rows, append(row, ""))
	}
	return rows
}

// WriteCSV writes the table of engines.
func (r *JobReport) WriteCSV(w io.Writer) error { return csv.NewWriter(w).WriteAll(r.columns()) }

// WriteTable writes the table of engines for people.
func (r *JobReport) WriteTable(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range r.columns() {
		fmt.Fprintln(out, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return out.Flush()
}

// mlids assigns MLIDs to the colours of a forest. While every entry serves one group, it has the
// group's MLID, so that the tables fit the subnet; else entries are numbered from [FirstMLID].
func (r *JobReport) mlids(f *multicast.Forest) func(multicast.Colour) (uint16, error) {
	own := map[multicast.Colour]uint16{}
	for _, g := range r.Routed {
		p, err := f.Planted(g.ID)
		if err != nil {
			continue // refused
		}
		if _, shared := own[p.Colour]; shared {
			return func(c multicast.Colour) (uint16, error) { return mlidOf(int(c)) }
		}
		own[p.Colour] = g.MLID
	}
	return func(c multicast.Colour) (uint16, error) { return own[c], nil }
}

// Files are by name: engines.csv, the table of engines; and for Job.Engine ENGINE.mcfdbs, the
// forwarding tables, and ENGINE.sa, the groups with the MLIDs that the tables use. OpenSM cannot
// restore groups that share an MLID; refused groups are not in the file.
func (r *JobReport) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	add := func(name string, write func(w io.Writer) error) error {
		var b bytes.Buffer
		err := write(&b)
		files[name] = b.Bytes()
		return err
	}
	if err := add("engines.csv", r.WriteCSV); err != nil || r.Engine == "" {
		return files, err
	}
	f := r.Reports[0].forest
	mlid := r.mlids(f)
	tables, err := TablesOf(f, mlid)
	if err != nil {
		return nil, fmt.Errorf("multicast engine %q: %w", r.Engine, err)
	}
	var groups []SAGroup
	for _, g := range r.Routed {
		p, err := f.Planted(g.ID)
		if err != nil {
			continue
		}
		if g.MLID, err = mlid(p.Colour); err != nil {
			return nil, err
		}
		groups = append(groups, g)
	}
	return files, errors.Join(
		add(r.Engine+".mcfdbs", func(w io.Writer) error { return WriteMCFDBs(w, r.Graph, tables) }),
		add(r.Engine+".sa", func(w io.Writer) error { return WriteSADump(w, r.Graph, groups) }))
}

// FileNames are all names of [JobReport.Files]: others in a folder may be of other groups.
func FileNames() []string {
	names := []string{"engines.csv"}
	for _, engine := range multicast.Registry.Names() {
		names = append(names, engine+".mcfdbs", engine+".sa")
	}
	return names
}
