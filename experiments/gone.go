package experiments

import (
	"fmt"

	"github.com/weft-sim/weft/experiments/document"
)

// gone holds, by its dotted key, what files could say once, and what is always so now. A table
// that has its name from the user is NAME here.
var gone = map[string]string{
	"connections.ud_address": `it is always "128B"`,
	"connections.ud_buffers": "it is always 1024",
	"connections.ud_mtu":     `it is always "2088B"`,
	"floor.cabinet_width_m":  "it is always 0.6",
	"floor.inside_m":         "it is always 1.5",
	"floor.row_pitch_m":      "it is always 2.4",
	"floor.slack_m":          "it is always 2",
	"floor.switch_units":     "it is always 1",
	"job.NAME.corners":       "it is always true",
	"job.NAME.direct_from":   `it is always "8KiB"`,
	"job.NAME.stream_bytes":  `it is always "64KiB"`,
	"multicast.stretch":      "it is always 0",
	"multicast.subset":       "it is always false",
	"price.terminal_cables":  "it is always true",
	"protocol.control_bytes": `it is always "64B"`,
	"routing.ends_early":     "it is always true",
	"sweep.fork":             "points warm up one by one",
	"switch.degraded_rate":   "it is always 0.25",
	"switch.mark_every":      "it is always 1",
	"switch.mark_roots":      "it is always false",
	"workload.corners":       "it is always true",
	"workload.direct_from":   `it is always "8KiB"`,
	"workload.stream_bytes":  `it is always "64KiB"`,
}

// hasGone says of a dotted key that files could have it once; "": they never could.
func hasGone(key string) string {
	now := gone[key]
	if names := document.SplitKey(key); now == "" && len(names) > 2 {
		names[1] = "NAME"
		now = gone[document.JoinNames(names)]
	}
	if now == "" {
		return ""
	}
	return fmt.Sprintf("has gone: %s; leave it out", now)
}
