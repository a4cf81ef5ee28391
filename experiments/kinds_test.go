package experiments

import (
	"regexp"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

// TestKinds is the conformance suite of kinds: names that files and CSV can
// carry, everything documented, defaults that are valid, and no parameter of a
// choice hidden behind a key of its table or of another choice.
func TestKinds(t *testing.T) {
	// Lower case, or one of the capitals by which the LogGP models name
	// their parameters (L, G, O, S beside o and g).
	key := regexp.MustCompile(`^([a-z][a-z0-9_]*|[A-Z])$`)
	for _, name := range KindNames() {
		k := kinds[name]
		if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(name) || k.doc == "" {
			t.Errorf("kind %q, %q", name, k.doc)
		}
		seen := map[string]bool{"point": true, "seed": true, "replications": true}
		for _, c := range k.columns {
			if !key.MatchString(c.Name) || c.Doc == "" || seen[c.Name] {
				t.Errorf("%s: column %q, documented %q, or twice", name, c.Name, c.Doc)
			}
			seen[c.Name] = true
		}
		for _, table := range k.settings() {
			if table.Doc == "" {
				t.Errorf("%s: table %s has no documentation", name, table.Name)
			}
			own := map[string]bool{}
			for _, p := range table.Params {
				checkParam(t, name+" "+table.Name, key, p)
				own[p.Key] = true
			}
			others := map[string]string{}
			for _, c := range table.Choices {
				for _, e := range c.Entries {
					for _, p := range e.Params {
						where := name + " " + table.Name + " " + e.Name
						checkParam(t, where, key, p)
						if own[p.Key] || others[p.Key] != "" && others[p.Key] != c.Key {
							t.Errorf("%s: %s is hidden by another key of the table", where, p.Key)
						}
						others[p.Key] = c.Key
					}
				}
			}
		}
		f, err := Load("defaults", "kind = "+tomlValue(name), Options{})
		if err != nil {
			t.Errorf("%s: the defaults are not valid: %v", name, err)
			continue
		}
		if _, err := Load("resolved.toml", f.Resolved(), Options{}); err != nil {
			t.Errorf("%s: the defaults spelt out cannot be read again: %v", name, err)
		}
	}
}

func checkParam(t *testing.T, where string, key *regexp.Regexp, p param.Param) {
	t.Helper()
	if !key.MatchString(p.Key) || p.Doc == "" {
		t.Errorf("%s: key %q, documented %q", where, p.Key, p.Doc)
	}
}
