package mpi

import "github.com/weft-sim/weft/collectives"

// Protocol is how a message travels; see the constants of package collectives.
type Protocol = collectives.Protocol
