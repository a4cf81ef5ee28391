package traffic

import (
	"math/bits"

	"github.com/weft-sim/weft/sim/param"
)

// The bit permutations (Dally and Towles 2004, table 3.1): the destination's
// number is the source's with its b bits rearranged. They need 2^b terminals.
func init() {
	registerBits("bit-complement", "every bit of the terminal's number inverted", func(src, width int) int {
		return src ^ (1<<width - 1)
	})
	registerBits("bit-reverse", "the bits of the terminal's number in reverse order", func(src, width int) int {
		return int(bits.Reverse64(uint64(src)) >> (64 - width))
	})
	registerBits("shuffle", "the bits of the terminal's number rotated left by one (perfect shuffle)", func(src, width int) int {
		return src<<1&(1<<width-1) | src>>(width-1)
	})
}

func registerBits(name, doc string, permute func(src, width int) int) {
	param.Register(Patterns, name, doc, struct{}{}, func(_ struct{}, env Env) (Pattern, error) {
		n, width, err := addressBits(name, env)
		if err != nil {
			return nil, err
		}
		return tabulate(n, func(src int) int { return permute(src, width) }), nil
	})
}
