package experiments

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnusedSettings: a parameter that no point of a file makes use of is refused
// at its place; one that some point of a sweep uses is not.
func TestUnusedSettings(t *testing.T) {
	const head = "kind = \"traffic\"\n"
	for _, c := range []struct{ name, text, want string }{
		{"a form of another topology",
			"[topology]\ntype = \"dragonfly\"\n[routing]\ntype = \"val\"\nvc_rule = \"dateline\"\n",
			"x.toml:6:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"the other way round",
			"[topology]\ntype = \"torus\"\n[routing]\ntype = \"val\"\nintermediate = \"group\"\nspread_vcs = true\n",
			"x.toml:6:1: routing.intermediate is not used by what it stands with: leave it out\n" +
				"x.toml:7:1: routing.spread_vcs is not used by what it stands with: leave it out"},
		{"no rings", "[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\nvc_rule = \"none\"\n",
			"x.toml:6:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"rings", "[topology]\ntype = \"torus\"\n[routing]\ntype = \"dor\"\nvc_rule = \"by-coordinates\"\n", "<nil>"},
		{"other settings", "[topology]\ntype = \"torus\"\n[routing]\ntype = \"adaptive-escape\"\nescape = \"up-down\"\nvc_rule = \"dateline\"\n",
			"x.toml:7:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"swept", "[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\n[sweep]\n\"routing.vc_rule\" = [\"dateline\", \"by-coordinates\"]\n",
			"x.toml:7:1: routing.vc_rule is not used by what it stands with: leave it out"},
		{"used by some points",
			"[topology]\ntype = \"mesh\"\n[routing]\ntype = \"val\"\nvc_rule = \"by-coordinates\"\n[sweep]\n\"topology.type\" = [\"mesh\", \"torus\", \"dragonfly\"]\n", "<nil>"},
		{"held slots", "[topology]\ntype = \"dragonfly\"\n[routing]\ntype = \"ugal-l-cr\"\nsensing = \"credits\"\nheld_slots = \"counted\"\n",
			"x.toml:7:1: routing.held_slots is not used by what it stands with: leave it out"},
		{"weight", "[topology]\ntype = \"dragonfly\"\n[routing]\ntype = \"ugal-g\"\nestimate = \"path-queues\"\nweight = \"hops\"\n",
			"x.toml:7:1: routing.weight is not used by what it stands with: leave it out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Load("x.toml", head+c.text, Options{}); fmt.Sprint(err) != c.want {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestResolvedWithoutUnused: the resolved file leaves out what no point uses, so
// that it can be run; results of earlier versions, whose files have it, are read.
func TestResolvedWithoutUnused(t *testing.T) {
	f, err := Load("x.toml", "kind = \"traffic\"\n[topology]\ntype = \"mesh\"\n[routing]\ntype = \"dor\"\n", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.Resolved(), "vc_rule") {
		t.Errorf("the resolved file has vc_rule:\n%s", f.Resolved())
	}
	again, err := Load("resolved.toml", f.Resolved(), Options{})
	if err != nil || hashOf(again.Points) != hashOf(f.Points) {
		t.Errorf("another experiment: %v", err)
	}
	before := strings.Replace(f.Resolved(), "[routing]\n", "[routing]\nvc_rule = \"dateline\"\n", 1)
	if _, err := Load("resolved.toml", before, Options{}); err == nil {
		t.Error("vc_rule is not refused")
	}
	if again, err = Load("resolved.toml", before, Options{finished: true}); err != nil || hashOf(again.Points) != hashOf(f.Points) {
		t.Errorf("of an earlier version: %v", err)
	}
}
