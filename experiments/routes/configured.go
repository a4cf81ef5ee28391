// Package routes computes and compares the routes of a fabric by OpenSM's engines:
// what one configured OpenSM would write into the switches ([Configured]), and
// what each engine makes of the load of a traffic pattern ([Compare]).
package routes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/input"
)

// Engines lists the engines in alphabetical order.
func Engines() []string { return opensm.Engines() }

// ReadConfig reads a configuration file of OpenSM; OpenSM's defaults for "".
func ReadConfig(path string) (*opensm.Config, error) {
	if path == "" {
		return opensm.DefaultConfig(), nil
	}
	return readWith(path, input.MaxSettings, func(r io.Reader) (*opensm.Config, error) { return opensm.ReadConfig(r, path, filepath.Dir(path)) })
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

// subnet looks at the fabric as OpenSM does.
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

// route runs an engine.
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
	var lines []string
	for _, r := range c.Refusals {
		lines = append(lines, r.Error())
	}
	return fmt.Errorf("%s\nno engine of the list is left: OpenSM would take minhop as its last resort, weft writes no table", strings.Join(lines, "\n"))
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
	fmt.Fprintf(w, "engine     %s\nmanager    %s, LID %d\nLIDs       1 to %d\nentries    %d in %d switches\n", t.Engine,
		s.Graph.TerminalName(s.Manager), s.TerminalLID[s.Manager], s.MaxLID, t.Entries(), len(s.Switches))
	if t.HasLevels() {
		fmt.Fprintf(w, "levels     %s: %d lanes\n", levelList(t), t.VCs())
	} else {
		fmt.Fprintf(w, "levels     0: the engine assigns none\n")
	}
	if pairs, first := t.Unreachable(); pairs > 0 {
		fmt.Fprintf(w, "no path    %d pairs of adapter ports, the first from %s\n", pairs, first)
	}
	fmt.Fprintf(w, "deadlock   %s\n", certificate(t).Describe(s.Graph))
}

// levelList is the service levels in use, "0, 5, 7".
func levelList(t *opensm.Tables) string {
	var words []string
	for _, level := range t.LevelsInUse() {
		words = append(words, fmt.Sprint(level))
	}
	return strings.Join(words, ", ")
}
