package experiments

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestGone: what has gone is no setting of any kind. A file that has it is refused with what is
// always so now; settings of results that are there may have it.
func TestGone(t *testing.T) {
	settings := map[string]bool{}
	for key := range everySetting {
		settings[key] = true
	}
	for key, now := range gone() {
		simtest.ErrorIf(t, settings[key], "%s is a setting", key)
		refused := false
		table, name, _ := strings.Cut(strings.ReplaceAll(key, "NAME", "one"), ".")
		if table == "job" {
			table, name = "job.one", strings.TrimPrefix(name, "one.")
		}
		for _, kind := range KindNames() {
			text := "kind = \"" + kind + "\"\n[" + table + "]\n" + name + " = 1\n"
			if _, err := Load("x.toml", text, Options{}); err != nil && strings.Contains(err.Error(), "x.toml:3:1: "+table+"."+name+" has gone: "+now+"; leave it out") {
				refused = true
				_, err := LoadFinished("x.toml", text)
				simtest.ErrorIf(t, table != "sweep" && err != nil && strings.Contains(err.Error(), "gone"),
					"settings of results: %v", err)
			}
		}
		simtest.ErrorIf(t, !refused, "%s is refused by no kind", key)
	}
}
