package collectives

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Env is what an algorithm is built for.
type Env struct {
	Ranks   int // of the job
	PerNode int // ranks on a node, consecutive ones; for algorithms that know of nodes
	// Bytes is the size of the block that each rank has for each other
	// (alltoall), of each rank's contribution (allgather), of the whole vector
	// (broadcast, reduce, allreduce).
	Bytes sim.Bytes
	// Sizes gives the blocks of an alltoall sizes of their own (alltoallv);
	// nil: all are Bytes.
	Sizes func(from, to int) int64
}

// Registry holds the algorithms. Names are operation-algorithm:
// "alltoall-bruck".
var Registry = param.NewRegistry[Env, Collective]("collective")

// check refuses environments in which no algorithm makes sense.
func (e Env) check() error {
	if e.Ranks < 1 {
		return &param.ParamError{Key: "ranks", Value: e.Ranks, Want: "at least 1"}
	}
	return nil
}

// uniform is check for an algorithm that refuses block sizes of their own.
func (e Env) uniform(algorithm string) error {
	err := e.check()
	if err == nil && e.Sizes != nil {
		err = fmt.Errorf("collective %q needs blocks of equal size", algorithm)
	}
	return err
}

// register registers an algorithm without settings.
func register(name, doc string, build func(e Env) Collective) {
	param.Register(Registry, name, doc, None{}, func(_ None, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		return build(e), nil
	})
}

// registerVector registers an algorithm on a vector, or a block, of so many bytes.
func registerVector(name, doc string, build func(ranks int, bytes int64) Collective) {
	register(name, doc, func(e Env) Collective { return build(e.Ranks, int64(e.Bytes)) })
}

// registerRooted registers an algorithm with a root.
func registerRooted(name, doc string, build func(ranks, root int, bytes int64) Collective) {
	param.Register(Registry, name, doc, Rooted{}, func(c Rooted, e Env) (Collective, error) {
		if err := c.check(e); err != nil {
			return nil, err
		}
		return build(e.Ranks, c.Root, int64(e.Bytes)), nil
	})
}

// size is the size of the block from one rank to another.
func (e Env) size(from, to int) int64 {
	if e.Sizes != nil {
		return e.Sizes(from, to)
	}
	return int64(e.Bytes)
}

// Rooted configures an operation with a root.
type Rooted struct {
	Root int `toml:"root" doc:"the rank that has the data, or gets them" min:"0"`
}

func (c Rooted) check(e Env) error {
	if err := e.check(); err != nil {
		return err
	}
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

// chunk is the size of chunk i of n of a vector; sizes differ by at most one
// byte.
func chunk(bytes int64, i, n int) int64 {
	return chunkStart(bytes, i+1, n) - chunkStart(bytes, i, n)
}

// chunkStart is where chunk i of n begins.
func chunkStart(bytes int64, i, n int) int64 {
	// bytes*i/n without overflow
	return bytes/int64(n)*int64(i) + bytes%int64(n)*int64(i)/int64(n)
}

// log2Ceil is the number of doublings from 1 to at least n.
func log2Ceil(n int) int {
	k := 0
	for 1<<k < n {
		k++
	}
	return k
}

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

// gathering is the contract of broadcast and allgather: slot i is known to
// rank owner(i) and must reach all.
func gathering(slots int, bytes func(slot int) int64, owner func(slot int) int) Contract {
	return Contract{
		Slots:   slots,
		Bytes:   func(_, slot int) int64 { return bytes(slot) },
		Initial: func(rank, slot int) (Token, bool) { return Token(slot), owner(slot) == rank },
		Final:   func(_, slot int, dst []Token) []Token { return append(dst, Token(slot)) },
	}
}

// exchange is the contract of alltoall: slots 0..n-1 are the blocks for ranks
// 0..n-1, slots n..2n-1 the blocks from them.
func exchange(e Env) Contract {
	n := e.Ranks
	return Contract{
		Slots: 2 * n,
		Bytes: func(rank, slot int) int64 {
			if slot < n {
				return e.size(rank, slot)
			}
			return e.size(slot-n, rank)
		},
		Initial: func(rank, slot int) (Token, bool) { return Token(rank*n + slot), slot < n },
		Final: func(rank, slot int, dst []Token) []Token {
			if slot < n || slot >= 2*n {
				return dst
			}
			return append(dst, Token((slot-n)*n+rank))
		},
	}
}
