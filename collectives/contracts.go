package collectives

// reduction is the contract of barrier, reduce and allreduce on a vector of so
// many slots: every rank has its contribution to each, and those that want the
// result (nil: all ranks) end with the contributions of all, each once.
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
