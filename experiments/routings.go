package experiments

// Routings that are packages of their own register themselves.
import _ "github.com/weft-sim/weft/routing/opensm"
