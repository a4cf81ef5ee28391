package experiments

import (
	"fmt"
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
