package kinds

// Tests read every example and paper, and hold all kinds, routings and skeletons to their contracts:
// those of wings, too.
import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	_ "github.com/weft-sim/weft/experiments/flows"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	_ "github.com/weft-sim/weft/mpi/replay"
	_ "github.com/weft-sim/weft/routing/lft"
	_ "github.com/weft-sim/weft/routing/opensm"
	_ "github.com/weft-sim/weft/routing/opensm/mcast"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Keys are lower case, or one of the capitals by which the LogGP models name their
// parameters (L, G, O, S beside o and g).
var (
	kindName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	keyName  = regexp.MustCompile(`^([a-z][a-z0-9_]*|[A-Z])$`)
)

// TestConformance is the conformance suite of kinds: names that files and CSV can
// carry, everything documented, defaults that are valid, and no parameter of a
// choice hidden behind a key of its table or of another choice.
func TestConformance(t *testing.T) {
	for _, k := range experiments.DescribeKinds() {
		t.Run(k.Name, func(t *testing.T) {
			simtest.ErrorIf(t, !kindName.MatchString(k.Name) || k.Doc == "", "documented %q", k.Doc)
			seen := map[string]bool{"point": true, "seed": true, "replications": true}
			for _, c := range k.Columns {
				simtest.ErrorIf(t, !keyName.MatchString(c.Name) || c.Doc == "" || seen[c.Name],
					"column %q, documented %q, or twice", c.Name, c.Doc)
				seen[c.Name] = true
			}
			for _, table := range k.Tables {
				checkTable(t, &table)
			}
			f, err := experiments.Load("defaults", fmt.Sprintf("kind = %q", k.Name), experiments.Options{})
			simtest.FatalIf(t, err != nil, "the defaults are not valid: %v", err)
			simtest.Must(experiments.Load("resolved.toml", f.Resolved(), experiments.Options{}))(t)
		})
	}
}

func checkTable(t *testing.T, table *experiments.TableDescription) {
	t.Helper()
	simtest.ErrorIf(t, table.Doc == "", "table %s has no documentation", table.Name)
	own := map[string]bool{}
	for _, p := range table.Params {
		checkParam(t, table.Name, p)
		own[p.Key] = true
	}
	others := map[string]string{}
	for _, c := range table.Choices {
		for _, e := range c.Entries {
			for _, p := range e.Params {
				where := table.Name + " " + e.Name
				checkParam(t, where, p)
				simtest.ErrorIf(t, own[p.Key] || others[p.Key] != "" && others[p.Key] != c.Key,
					"%s: %s is hidden by another key of the table", where, p.Key)
				others[p.Key] = c.Key
			}
		}
	}
}

func checkParam(t *testing.T, where string, p param.Param) {
	t.Helper()
	simtest.ErrorIf(t, !keyName.MatchString(p.Key) || p.Doc == "", "%s: key %q, documented %q", where, p.Key, p.Doc)
}

// TestEveryFabricIsCertified: every kind that runs a fabric refuses the torus
// without datelines, and takes it with AllowDeadlock.
func TestEveryFabricIsCertified(t *testing.T) {
	for _, kind := range []string{"traffic", "exchange"} {
		text := "kind = \"" + kind + "\"\n[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n"
		_, err := enginetest.Load(t, text).Preflight(false)
		simtest.Fail(t, err, "can deadlock: a cycle of 4 channels (exact)")
		f := simtest.Must(experiments.Load("x", text+"[switch]\nvcs = 1\n", experiments.Options{AllowDeadlock: true}))(t)
		if report, err := f.Preflight(false); err != nil || len(report.Warnings) != 1 {
			t.Errorf("%s: %+v, %v", kind, report, err)
		}
		_, err = experiments.Load("x", strings.Replace(text, "none", "dateline", 1)+"[switch]\nvcs = 1\n", experiments.Options{})
		if err == nil || !strings.Contains(err.Error(), "switch.vcs = 1: want at least 2") || !strings.Contains(err.Error(), "a cycle of 4 channels (exact)\n  switch ") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
