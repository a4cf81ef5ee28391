// Package opensmruns holds weft's engines of OpenSM against tables that OpenSM computed. It reads a
// folder of fabrics and runs, repeats each run by the options that it was made with, and says
// whether forwarding tables, service levels and lanes are equal, entry by entry.
//
// The folder has index.tsv, one line for each fabric and run; in nets the fabrics (FABRIC.net, an
// ibsim netlist or ibnetdiscover's output, compressed or not) and the files that options name; and
// in runs/FABRIC, as far as they were kept, ports.tsv (LIDs), RUN.lft, RUN.sl and RUN.sl2vl in the
// reduced forms of [opensm.Tables]. A fabric without a file in nets is looked for as
// ../opensm/real/FABRIC-*.txt beside the folder.
package opensmruns

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/input"
)

func init() {
	judge.Register(judge.Source{
		Name: "opensm", Example: "weft reproduce opensm --data tables/", Needs: "tables that OpenSM computed", Open: Open,
		Help: `opensm, opensm/FABRIC or opensm/FABRIC/RUN, with --data, holds weft's routing
engines of OpenSM against tables that OpenSM computed. There, index.tsv lists the
runs (fabric, variant, engine, options as in opensm.conf, joined by " ; ", status,
hashes of the tables), nets/FABRIC.net is a netlist, and runs/FABRIC/RUN.lft, .sl
and .sl2vl hold the tables.`,
	})
}

// Open is the reference of a folder of runs.
func Open(data string) (*judge.Reference, error) {
	f, err := ReadFolder(data)
	if err != nil {
		return nil, err
	}
	section := &judge.Section{File: "verdicts.csv", Columns: []string{"fabric", "run", "engine", "options", "entries"}}
	for i := range f.Runs {
		r := &f.Runs[i]
		section.Entries = append(section.Entries, &judge.Entry{Name: r.Fabric + "/" + r.Variant, Listed: r.Fabric, Faults: &r.Faults,
			Judge: func(s *judge.Session) ([]judge.Row, bool, error) {
				row, err := experiments.Interruptible(s.Context, func() (judge.Row, error) { return f.Judge(r), nil })
				return []judge.Row{row}, false, err
			}})
	}
	return &judge.Reference{Name: "opensm", Place: f.path, Entry: "run", Sections: []*judge.Section{section}}, nil
}

// Judge repeats a run. It agrees if every entry is equal, or if weft refuses for the reason for
// which OpenSM did; the note says what differs first, what is not compared, or the reason. It is
// unreadable where a fabric, a table or a file of options is.
func (f *Folder) Judge(r *Run) judge.Row {
	verdict := judge.Row{Cells: []string{r.Fabric, r.Variant, r.Engine, r.Options, strconv.Itoa(r.Entries)}, Verdict: judge.Unreadable}
	if len(r.Faults) > 0 {
		verdict.Note = judge.Note(r.Faults)
		return verdict
	}
	differs, note, err := f.repeat(r)
	switch {
	case err != nil:
		if !errors.As(err, &r.Faults) {
			r.fault("", "%v", err)
		}
		verdict.Note = judge.Note(r.Faults)
	case differs != "":
		verdict.Verdict, verdict.Note = judge.Differs, differs
	default:
		verdict.Verdict, verdict.Note = judge.Agrees, note
	}
	return verdict
}

// repeat says what differs first, "" if nothing does, with a note then. The error is one of
// the folder.
func (f *Folder) repeat(r *Run) (differs, note string, err error) {
	ports, err := f.ports(r)
	if err != nil {
		return "", "", err
	}
	s, c, err := f.subnet(r, ports)
	if err != nil {
		return "", "", err
	}
	engine, err := opensm.EngineOf(r.Engine)
	if err != nil {
		return err.Error(), "", nil
	}
	if differs := compareLIDs(ports, s); differs != "" {
		return differs, "", nil
	}
	tables, err := engine.Route(s, &c.Options)
	var refusal *opensm.Refusal
	switch {
	case errors.As(err, &refusal) && r.Refused && refusal.Reason == r.Reason:
		return "", "refused, as by OpenSM: " + r.Reason, nil
	case errors.As(err, &refusal) && r.Refused:
		return fmt.Sprintf("refused for another reason: %s; OpenSM: %s", refusal.Reason, r.Reason), "", nil
	case err != nil:
		return err.Error(), "", nil
	case r.Refused:
		return "OpenSM refuses: " + r.Reason, "", nil
	}
	return f.compareTables(r, tables, &c.Options)
}

// subnet is the fabric of a run under its options.
func (f *Folder) subnet(r *Run, ports []portLine) (*opensm.Subnet, *opensm.Config, error) {
	network, err := topology.ReadFile(f.net(r.Fabric))
	if err != nil {
		return nil, nil, err
	}
	conf := strings.ReplaceAll(r.Options, " ; ", "\n")
	c, err := opensm.ReadConfig(strings.NewReader(conf), r.at+": options", f.path, r.Engine)
	if err != nil {
		return nil, nil, err
	}
	if len(c.Warnings) > 0 {
		return nil, nil, &document.Problem{At: r.at, Message: strings.Join(c.Warnings, "; ")}
	}
	s, err := opensm.NewSubnet(network.Graph(), managerOf(ports, network.Graph()), c.LMC)
	if err != nil {
		return nil, nil, &document.Problem{At: r.at, Message: err.Error()}
	}
	return s, c, nil
}

type portLine struct {
	lid  int
	kind string
	guid uint64
}

// ports reads the end ports of a run's fabric; nil where they were not kept.
func (f *Folder) ports(r *Run) ([]portLine, error) {
	name := "ports"
	if i := strings.Index(r.Options, "lmc "); i >= 0 && (i == 0 || r.Options[i-1] == ' ') {
		digit, _, _ := strings.Cut(r.Options[i+len("lmc "):], " ")
		name += ".lmc" + digit
	}
	file := find(f.file("runs", r.Fabric, name+".tsv"))
	if file == "" {
		return nil, nil
	}
	_, in := openTable(file)
	var list []portLine
	for in.Next() {
		if in.Text == "" || in.Text[0] == '#' {
			continue
		}
		cells := strings.Split(in.Text, "\t")
		if len(cells) < 6 {
			in.Problem("%d cells, want at least 6: LID, kind, ports, node GUID, port GUID, port", len(cells))
			continue
		}
		lid, errLID := strconv.Atoi(cells[0])
		guid, errGUID := strconv.ParseUint(cells[4], 16, 64)
		if errLID != nil || errGUID != nil || !slices.Contains([]string{"SW", "CA", "CA-SM", "SW-SM"}, cells[1]) {
			in.Problem("LID %q, kind %q, port GUID %q: want a number, SW, CA or CA-SM, and 16 hexadecimal digits", cells[0], cells[1], cells[4])
			continue
		}
		list = append(list, portLine{lid, cells[1], guid})
	}
	if problems := problemsOf(in.Finish()); len(problems) > 0 {
		return nil, problems
	}
	return list, nil
}

// managerOf is the port of the subnet manager: the one marked in ports.tsv, else
// host H0, else the first.
func managerOf(ports []portLine, g *topology.Graph) topology.TerminalID {
	ids := ib.NewIdentities(topology.NamesOf(g))
	for _, p := range ports {
		if t, known := ids.Terminals[topology.GUID(p.guid)]; known && p.kind == "CA-SM" {
			return t
		}
	}
	return opensm.DefaultManager(g)
}

// compareLIDs says which LID differs first, "" if none.
func compareLIDs(ports []portLine, s *opensm.Subnet) string {
	ids := ib.NewIdentities(s.Names)
	for _, p := range ports {
		own := int32(0)
		if t, known := ids.Terminals[topology.GUID(p.guid)]; known {
			own = s.TerminalLID[t]
		} else if n, known := ids.Switches[topology.GUID(p.guid)]; known {
			own = s.SwitchLID[s.Node[n]]
		}
		if int(own) != p.lid {
			return fmt.Sprintf("port %016x has LID %d, in OpenSM %d", p.guid, own, p.lid)
		}
	}
	return ""
}

// compareTables says what differs first, "" if nothing does, with what could not be compared then.
func (f *Folder) compareTables(r *Run, t *opensm.Tables, o *opensm.Options) (differs, note string, err error) {
	var b strings.Builder
	if err := t.WriteLFT(&b); err != nil {
		return "", "", err
	}
	if sum(b.String()) != r.LFT {
		differs, err := f.explainLFT(r, t, b.String())
		return differs, "", err
	}
	switch {
	case !t.HasLevels() && r.SL != "":
		return "weft has no service levels, OpenSM has", "", nil
	case t.HasLevels() && r.SL == "" && r.Levels != "":
		return "", "", &document.Problem{At: r.at, Message: fmt.Sprintf("SLs_used %q without sl_sha256", r.Levels)}
	case t.HasLevels() && r.SL == "":
		note = "the service levels were not kept"
	case r.SL != "":
		b.Reset()
		if err := t.WriteSL(&b); err != nil {
			return "", "", err
		}
		if r.Random {
			note = "service levels are random draws there: each is one of its layer's"
		}
		if sum(withoutComments(b.String())) != r.SL {
			differs, held, err := f.explainSL(r, t, b.String())
			if differs != "" || err != nil {
				return differs, "", err
			}
			if held != "" {
				note = strings.TrimPrefix(note+"; "+held, "; ")
			}
		}
	}
	peer := cmp.Or(r.SL2VL, "-")
	if own := t.SL2VL(o); own != peer {
		return fmt.Sprintf("SL2VL %s, OpenSM has %s", own, peer), "", nil
	}
	if peer == "file" {
		differs, err = f.compareSL2VL(r, t, o)
	}
	return differs, note, err
}

// explainLFT names the first entry that differs.
func (f *Folder) explainLFT(r *Run, t *opensm.Tables, own string) (string, error) {
	path := f.kept(r, ".lft")
	if path == "" {
		return fmt.Sprintf("forwarding tables: SHA-256 %s with %d entries, OpenSM %s with %d; its table was not kept", sum(own), t.Entries(), r.LFT, r.Entries), nil
	}
	peer, problems := readLFT(path)
	if len(problems) > 0 {
		return "", problems
	}
	d := compare(parseLFT(input.NewLines(strings.NewReader(own), "weft")), peer)
	if d.shape != "" {
		return "forwarding tables: " + d.shape, nil
	}
	return fmt.Sprintf("%d of %d entries; first: switch %s, LID %d: port %s, OpenSM %s", d.cells, r.Entries, d.of, d.column+1, d.own, d.peer), nil
}

// explainSL names the first service level that differs of those that were kept, which may be
// of some sources; where OpenSM drew them, the first that is none of its layer's. held says
// how many sources there are, where they are not all.
func (f *Folder) explainSL(r *Run, t *opensm.Tables, own string) (differs, held string, err error) {
	path := f.kept(r, ".sl")
	if path == "" {
		return fmt.Sprintf("service levels: rows of SHA-256 %s, OpenSM %s; its rows were not kept", sum(withoutComments(own)), r.SL), "", nil
	}
	peer, problems := readSL(path)
	if len(problems) > 0 {
		return "", "", problems
	}
	all := parseSL(input.NewLines(strings.NewReader(own), "weft"))
	mine, unknown := all.of(peer)
	if unknown != "" {
		return "service levels: " + unknown, "", nil
	}
	if r.Random {
		for i, row := range peer.rows {
			for c := range row.cells {
				if t.Drawn(mine.rows[i].cells[c], row.cells[c]) {
					row.cells[c] = mine.rows[i].cells[c]
				}
			}
		}
	}
	switch d := compare(mine, peer); {
	case d.shape != "":
		return "service levels: " + d.shape, "", nil
	case d.cells > 0:
		return fmt.Sprintf("%d of %d service levels; first: from LID %s to LID %s: %s, OpenSM %s", d.cells, len(peer.rows)*len(peer.columns), d.of, peer.columns[d.column], d.own, d.peer), "", nil
	}
	if len(peer.rows) < len(all.rows) || len(peer.columns) < len(all.columns) {
		held = fmt.Sprintf("service levels were kept of %d of %d sources to %d of %d destinations", len(peer.rows), len(all.rows), len(peer.columns), len(all.columns))
	}
	return "", held, nil
}

func (f *Folder) compareSL2VL(r *Run, t *opensm.Tables, o *opensm.Options) (string, error) {
	path := f.kept(r, ".sl2vl")
	if path == "" {
		return "the SL2VL tables were not kept", nil
	}
	peer, err := input.ReadInput(path, input.MaxInput)
	if err != nil {
		return "", &document.Problem{At: path, Message: "cannot be read: " + err.Error()}
	}
	var b strings.Builder
	if err := t.WriteSL2VL(&b, o); err != nil {
		return "", err
	}
	own, theirs := strings.Split(b.String(), "\n"), strings.Split(string(peer), "\n")
	for i := range max(len(own), len(theirs)) {
		if i >= len(own) || i >= len(theirs) || own[i] != theirs[i] {
			return fmt.Sprintf("SL2VL differs in %s:%d", path, i+1), nil
		}
	}
	return "", nil
}
