package collectives

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// LibraryChoice is the message-passing library whose choice of an algorithm is followed.
type LibraryChoice struct {
	Library string `toml:"library" doc:"whose rules choose the algorithm by size and ranks: open-mpi (fixed rules of 4.1 and 5), open-mpi-4.0 (of 1.3 to 4.0), mpich (3 and 4), mvapich (1.2rc1 for alltoall, else MPICH's, from which it comes), intel-mpi (whose own are not public: MPICH's)" choices:"open-mpi|open-mpi-4.0|mpich|mvapich|intel-mpi"`
}

// LibrarySwitch is that of an alltoall, where what mvapich has is a setting.
type LibrarySwitch struct {
	LibraryChoice
	SwitchOver
}

// libraryRules is a line for each rule; the first one that holds decides. Ranks and bytes are below a
// limit, or any where there is none; bytes are those of [Env], or of all ranks together. Behind a
// colon stands the segment of a broadcast. The rules are
// facts of the libraries' public sources: Open MPI's ompi/mca/coll/tuned/coll_tuned_decision_fixed.c,
// of 4.0 and of 5.0, and the defaults of MPICH's MPIR_CVAR_*_MSG_SIZE. Open MPI's "linear" and "linear
// with synchronisation" without a limit of requests are the same messages, as are its exchanges of two
// ranks. Its pipelines of 4.0 have segments of 128 KiB here, where the rules choose from 8 to 128 KiB.
//
//go:embed libraries.csv
var libraryRules string

// libraryRule is a line of it.
type libraryRule struct {
	library, operation, ranksAre, of string
	ranksBelow                       int
	bytesBelow                       int64
	algorithm                        string
}

var rules = sync.OnceValue(func() (all []libraryRule) {
	lines, err := csv.NewReader(strings.NewReader(libraryRules)).ReadAll()
	if err != nil {
		panic("collectives: libraries.csv: " + err.Error())
	}
	for _, l := range lines[1:] {
		all = append(all, libraryRule{library: l[0], operation: l[1], ranksBelow: int(limit(l[2])), ranksAre: l[3], of: l[4], bytesBelow: limit(l[5]), algorithm: l[6]})
	}
	return all
})

// limit reads a number of the rules; without one there is none.
func limit(text string) int64 {
	if text == "" {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("collectives: libraries.csv: " + err.Error())
	}
	return n
}

// holds tells whether a rule decides.
func (r *libraryRule) holds(library, operation string, e Env) bool {
	bytes := int64(e.Bytes)
	if r.of == "total" {
		bytes *= int64(e.Ranks)
	}
	return r.library == library && r.operation == operation && e.Ranks < r.ranksBelow && bytes < r.bytesBelow &&
		(r.ranksAre == "" || e.Ranks&(e.Ranks-1) == 0)
}

// Operations are those for which libraries choose an algorithm: OPERATION-library.
var Operations = []string{"allgather", "allreduce", "alltoall", "barrier", "broadcast"}

// LibraryAlgorithm is what a library takes for an operation. The error says that weft has it not.
func LibraryAlgorithm(library, operation string, e Env) (string, error) {
	others := []string{library}
	if library == "mvapich" || library == "intel-mpi" {
		others = append(others, "mpich")
	}
	for _, l := range others {
		if at := slices.IndexFunc(rules(), func(r libraryRule) bool { return r.holds(l, operation, e) }); at >= 0 {
			return rules()[at].algorithm, nil
		}
	}
	return "", fmt.Errorf("of the algorithm that %s takes for a %s of %v on %d ranks weft has none", library, operation, e.Bytes, e.Ranks)
}

func init() {
	for _, operation := range Operations {
		name, doc := operation+"-library", operation+": as a message-passing library chooses the algorithm by size and ranks"
		if operation == "alltoall" {
			continue
		}
		param.Register(Registry, name, doc, LibraryChoice{"open-mpi"}, func(c LibraryChoice, e Env) (Collective, error) { return c.build(operation, e) })
	}
	param.Register(Registry, "alltoall-library", "alltoall: as a message-passing library chooses the algorithm by size and ranks; of mvapich Bruck's for small blocks, the ring for large ones",
		LibrarySwitch{LibraryChoice{"mvapich"}, SwitchOver{DefaultCritical}}, func(c LibrarySwitch, e Env) (Collective, error) {
			if err := e.uniform("alltoall-library"); err != nil {
				return nil, err
			}
			if c.Library == "mvapich" {
				if e.Bytes <= c.Critical {
					return AlltoallBruck(e), nil
				}
				return AlltoallRing(e), nil
			}
			return c.build("alltoall", e)
		})
}

func (c *LibraryChoice) build(operation string, e Env) (Collective, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	name, err := LibraryAlgorithm(c.Library, operation, e)
	if err != nil {
		return nil, err
	}
	if name == "allreduce-reduce-broadcast" {
		down, err := c.build("broadcast", e)
		if err != nil {
			return nil, err
		}
		return AllreduceReduceBroadcast(int64(e.Bytes), down), nil
	}
	name, segment, segmented := strings.Cut(name, ":")
	if !segmented {
		return Registry.New(name, e)
	}
	return param.Make(Registry, name, e, func(t *TreeSettings) { t.Segment = sim.Bytes(limit(segment)) })
}
