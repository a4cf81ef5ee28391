package kinds

import (
	"fmt"
	"math"
	"regexp"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/param"
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
			if !kindName.MatchString(k.Name) || k.Doc == "" {
				t.Errorf("documented %q", k.Doc)
			}
			seen := map[string]bool{"point": true, "seed": true, "replications": true}
			for _, c := range k.Columns {
				if !keyName.MatchString(c.Name) || c.Doc == "" || seen[c.Name] {
					t.Errorf("column %q, documented %q, or twice", c.Name, c.Doc)
				}
				seen[c.Name] = true
			}
			for _, table := range k.Tables {
				checkTable(t, &table)
			}
			f, err := experiments.Load("defaults", fmt.Sprintf("kind = %q", k.Name), experiments.Options{})
			if err != nil {
				t.Fatalf("the defaults are not valid: %v", err)
			}
			if _, err := experiments.Load("resolved.toml", f.Resolved(), experiments.Options{}); err != nil {
				t.Errorf("the defaults spelt out cannot be read again: %v", err)
			}
		})
	}
}

func checkTable(t *testing.T, table *experiments.TableDescription) {
	t.Helper()
	if table.Doc == "" {
		t.Errorf("table %s has no documentation", table.Name)
	}
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
				if own[p.Key] || others[p.Key] != "" && others[p.Key] != c.Key {
					t.Errorf("%s: %s is hidden by another key of the table", where, p.Key)
				}
				others[p.Key] = c.Key
			}
		}
	}
}

func checkParam(t *testing.T, where string, p param.Param) {
	t.Helper()
	if !keyName.MatchString(p.Key) || p.Doc == "" {
		t.Errorf("%s: key %q, documented %q", where, p.Key, p.Doc)
	}
}

// A terminal that sends packets of D flits to one other through an otherwise
// idle switch is a queue with one server: its channel, which takes D cycles a
// packet. Packets are born with probability p a cycle.
//
// Exact mean wait (Geo/D/1). Let V be the work, in cycles, found by a packet
// born in a cycle; with A = 1 if one is born in the cycle (probability p) and
// U = V + D A, the next cycle finds V' = max(U - 1, 0). The channel is busy
// for a share rho = pD of the cycles, so P(U = 0) = 1 - rho. V' differs from
// U - 1 only there, where it is 0 and not -1:
//
//	E V'^2 = E (U-1)^2 - P(U = 0) = E U^2 - 2 E U + rho.
//
// In the steady state E V'^2 = E V^2. With E U = E V + rho and, A being
// independent of V, E U^2 = E V^2 + 2 rho E V + D rho, this leaves
//
//	0 = 2 rho E V + D rho - 2 E V - 2 rho + rho,  E V = rho (D-1) / (2 (1-rho)).
//
// A birth is independent of V in its cycle, so that E V is the mean wait. The
// rest is the latency without a wait: 1 cycle of injection, 1 for each of the
// two channels, 1 in the switch, and D-1 for the flits behind the head.
func exactLatency(load, flits float64) float64 {
	return load*(flits-1)/(2*(1-load)) + 4 + flits - 1
}

// TestCoverage: in 200 runs with seeds of their own, the 95 % confidence
// interval of the mean latency contains the exact mean in 90 to 98 % of them.
// (With exact coverage that share leaves 90 to 98 % in about one set of
// 200 runs in 40; the seeds are fixed.) A window that ends as soon as its
// interval is narrow enough does so early where chance has made both the
// interval and the mean small: with precision = 0.04 here, 177 of 200 intervals
// contain the exact mean, and with precision = 0.01, which exhausts the budget,
// 188.
func TestCoverage(t *testing.T) {
	const runs = 200
	for _, c := range []struct{ name, text string }{
		{"window", "warmup = 1000\nwindow = 20000\n"},
		{"replications", "warmup = 500\nwindow = 2000\nreplications = 5\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := load(t, `
[topology]
type = "single-switch"
terminals = 2
[routing]
type = "table"
[traffic]
pattern = "neighbour"
load = 0.6
packet_flits = 8
[measure]
`+c.text+`
[sweep]
seed = { from = 1, to = 200, step = 1 }
`, experiments.Options{})
			o := execute(t, f, experiments.Execution{})
			mean, half := numbers(t, o.Results, "latency_mean_ns"), numbers(t, o.Results, "latency_ci95_ns")
			exact := exactLatency(0.6, 8)
			inside, sum, width := 0, 0.0, 0.0
			for i := range mean {
				sum += mean[i] / runs
				width += half[i] / runs
				if math.Abs(mean[i]-exact) <= half[i] {
					inside++
				}
			}
			t.Logf("mean %v, exact %v, half-width %v, %d of %d inside", sum, exact, width, inside, runs)
			if inside < 0.90*runs || inside > 0.98*runs {
				t.Errorf("%d of %d intervals contain the exact mean %v", inside, runs, exact)
			}
			// The mean of all runs has a standard error of about
			// width/1.96/sqrt(runs).
			if slack := 4 * width / 1.96 / math.Sqrt(runs); math.Abs(sum-exact) > slack {
				t.Errorf("the mean of all runs is %v, want %v within %v", sum, exact, slack)
			}
		})
	}
}
