package collectives

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Env is what an algorithm is built for.
type Env struct {
	Ranks   int // of the job
	PerNode int // ranks on a node, consecutive ones; for algorithms that know of nodes
	// Bytes is the size of the block of each rank for each other (alltoall), of each rank's
	// contribution (allgather), or of the vector (broadcast, reduce, allreduce).
	Bytes sim.Bytes
}

// Registry holds the algorithms. Names are operation-algorithm: "alltoall-bruck".
var Registry = param.NewRegistry[Env, Collective]("collective")

// registerSet registers an algorithm with settings.
func registerSet[C any](name, doc string, defaults C, build func(c C, e Env) (Collective, error)) {
	param.Register(Registry, name, doc, defaults, func(c C, e Env) (Collective, error) {
		if e.Ranks < 1 {
			return nil, &param.ParamError{Key: "ranks", Value: e.Ranks, Want: "at least 1"}
		}
		if rooted, ok := any(c).(interface{ check(e Env) error }); ok {
			if err := rooted.check(e); err != nil {
				return nil, err
			}
		}
		return build(c, e)
	})
}

// register registers an algorithm without settings.
func register(name, doc string, build func(e Env) Collective) {
	registerSet(name, doc, None{}, func(_ None, e Env) (Collective, error) { return build(e), nil })
}

// registerVector registers an algorithm on a vector, or a block, of so many bytes.
func registerVector(name, doc string, build func(ranks int, bytes int64) Collective) {
	register(name, doc, func(e Env) Collective { return build(e.Ranks, int64(e.Bytes)) })
}

// registerRooted registers an algorithm with a root.
func registerRooted(name, doc string, build func(ranks, root int, bytes int64) Collective) {
	registerSet(name, doc, Rooted{}, func(c Rooted, e Env) (Collective, error) {
		return build(e.Ranks, c.Root, int64(e.Bytes)), nil
	})
}

// Rooted configures an operation with a root.
type Rooted struct {
	Root int `toml:"root" doc:"the rank that has the data, or gets them" min:"0"`
}

func (c Rooted) check(e Env) error {
	if c.Root >= e.Ranks {
		return &param.ParamError{Key: "root", Value: c.Root, Want: fmt.Sprintf("a rank: 0 to %d", e.Ranks-1)}
	}
	return nil
}

// relative turns ranks so that the root is 0, absolute turns them back.
func (c Rooted) relative(rank, ranks int) int { return (rank - c.Root + ranks) % ranks }
func (c Rooted) absolute(v, ranks int) int    { return (v + c.Root) % ranks }

// None is the configuration of an algorithm without settings.
type None struct{}

// chunk is the size of chunk i of n of a vector; sizes differ by at most one byte.
func chunk(bytes int64, i, n int) int64 { return chunkStart(bytes, i+1, n) - chunkStart(bytes, i, n) }

func chunkStart(bytes int64, i, n int) int64 {
	// bytes*i/n without overflow
	return bytes/int64(n)*int64(i) + bytes%int64(n)*int64(i)/int64(n)
}

// log2Ceil is the number of doublings from 1 to at least n.
func log2Ceil(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

func mod(a, n int) int { return (a%n + n) % n }

// reduction is the contract of barrier, reduce and allreduce on a vector of so many slots: every rank
// has its contribution to each, and those that want the result (nil: all ranks) end with the
// contributions of all, each once.
func reduction(n, slots int, bytes func(slot int) int64, idempotent bool, wants func(rank int) bool) Contract {
	return Contract{
		Slots:      slots,
		Bytes:      func(_, slot int) int64 { return bytes(slot) },
		Initial:    func(rank, slot int) (Token, bool) { return Token(slot*n + rank), true },
		Idempotent: idempotent,
		Final: func(rank, slot int, dst []Token) []Token {
			if wants != nil && !wants(rank) {
				return dst
			}
			for r := range n {
				dst = append(dst, Token(slot*n+r))
			}
			return dst
		},
	}
}

// gathering is the contract of broadcast and allgather: slot i is owner(i)'s and must reach all.
func gathering(slots int, bytes func(slot int) int64, owner func(slot int) int) Contract {
	return Contract{
		Slots:   slots,
		Bytes:   func(_, slot int) int64 { return bytes(slot) },
		Initial: func(rank, slot int) (Token, bool) { return Token(slot), owner(slot) == rank },
		Final:   func(_, slot int, dst []Token) []Token { return append(dst, Token(slot)) },
	}
}

// exchange is the contract of alltoall: slots 0..n-1 are the blocks for, n..2n-1 from the ranks.
func exchange(e Env) Contract {
	n := e.Ranks
	return Contract{
		Slots:   2 * n,
		Bytes:   func(_, _ int) int64 { return int64(e.Bytes) },
		Initial: func(rank, slot int) (Token, bool) { return Token(rank*n + slot), slot < n },
		Final: func(rank, slot int, dst []Token) []Token {
			if slot < n {
				return dst
			}
			return append(dst, Token((slot-n)*n+rank))
		},
	}
}

// with is the contract with more slots, of their own sizes. They may begin and end with tokens from
// first on, one a rank: with the rank's own, if own says so, and rank ends', unless that is -1.
// Without these functions they are scratch space.
func (c Contract) with(more int, bytes func(slot int) int64, first Token, own func(rank, slot int) bool, ends func(rank, slot int) int) Contract {
	all := c
	all.Slots += more
	all.Bytes = func(rank, slot int) int64 {
		if slot < c.Slots {
			return c.Bytes(rank, slot)
		}
		return bytes(slot)
	}
	all.Initial = func(rank, slot int) (Token, bool) {
		if slot < c.Slots {
			return c.Initial(rank, slot)
		}
		return first + Token(rank), own != nil && own(rank, slot)
	}
	all.Final = func(rank, slot int, dst []Token) []Token {
		if slot < c.Slots {
			return c.Final(rank, slot, dst)
		}
		if ends != nil && ends(rank, slot) >= 0 {
			dst = append(dst, first+Token(ends(rank, slot)))
		}
		return dst
	}
	return all
}

// LibraryChoice is the message-passing library whose choice of an algorithm is followed.
type LibraryChoice struct {
	Library string `toml:"library" doc:"whose rules choose the algorithm by size and ranks: open-mpi (fixed rules of 4.1 and 5), open-mpi-4.0 (of 1.3 to 4.0), mpich (3 and 4), mvapich (1.2rc1 for alltoall, else MPICH's, from which it comes), intel-mpi (whose own are not public: MPICH's)" choices:"open-mpi|open-mpi-4.0|mpich|mvapich|intel-mpi"`
}

// LibrarySwitch is the choice for an alltoall, where what mvapich has is a setting.
type LibrarySwitch struct {
	LibraryChoice
	SwitchOver
}

// libraryRules is a line for each rule; the first one that holds decides. Ranks and bytes are below a
// limit, or any where there is none; bytes are [Env]'s, or of all ranks together. Behind a
// colon stands the segment of a broadcast; an algorithm that weft lacks is left out. The rules are
// facts of the libraries' public sources: Open MPI's ompi/mca/coll/tuned/coll_tuned_decision_fixed.c,
// of 4.0 and of 5.0.2, and the defaults of MPICH's MPIR_CVAR_*_MSG_SIZE (maint/tuning/coll/mpir/generic.json).
// Open MPI's "linear" and "linear with synchronisation" without a limit of requests are the same messages,
// as are its exchanges of two ranks. Its pipelines of 4.0 have segments of 128 KiB here, where the rules
// choose from 8 to 128 KiB. Taken for what weft lacks: on 4 to 7 ranks recursive doubling for a linear
// barrier, of some broadcasts the ring for the allgather by recursive doubling.
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

func (r *libraryRule) holds(library, operation string, e Env) bool {
	bytes := int64(e.Bytes)
	if r.of == "total" {
		bytes *= int64(e.Ranks)
	}
	return r.library == library && r.operation == operation && e.Ranks < r.ranksBelow && bytes < r.bytesBelow &&
		(r.ranksAre == "" || e.Ranks&(e.Ranks-1) == 0)
}

// Operations have an entry OPERATION-library in the registry; libraries choose for others, too.
var Operations = []string{"allgather", "allreduce", "alltoall", "barrier", "broadcast"}

// LibraryAlgorithm is what a library takes for an operation; an error says that weft lacks it.
func LibraryAlgorithm(library, operation string, e Env) (string, error) {
	others := []string{library}
	if library == "mvapich" || library == "intel-mpi" {
		others = append(others, "mpich")
	}
	for _, l := range others {
		if at := slices.IndexFunc(rules(), func(r libraryRule) bool { return r.holds(l, operation, e) }); at >= 0 && rules()[at].algorithm != "" {
			return rules()[at].algorithm, nil
		}
	}
	return "", fmt.Errorf("of the algorithm that %s takes for a %s of %v on %d ranks weft has none", library, operation, e.Bytes, e.Ranks)
}

func init() {
	for _, operation := range Operations {
		if operation == "alltoall" {
			continue
		}
		registerSet(operation+"-library", operation+": as a message-passing library chooses the algorithm by size and ranks", LibraryChoice{"open-mpi"}, func(c LibraryChoice, e Env) (Collective, error) { return c.build(operation, e) })
	}
	registerSet("alltoall-library", "alltoall: as a message-passing library chooses the algorithm by size and ranks; of mvapich Bruck's for small blocks, the ring for large ones",
		LibrarySwitch{LibraryChoice{"mvapich"}, SwitchOver{DefaultCritical}}, func(c LibrarySwitch, e Env) (Collective, error) {
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
