package allocator_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric/allocator"
)

// ask is a request of a packet without an age.
func ask(input, vc, output uint16) allocator.Request {
	return allocator.Request{Input: input, VC: vc, Output: output}
}

// An input with three virtual channels, of which the first two want output 0 and the
// third output 1. Output 0 grants the virtual channel next in the input's round robin.
// In iSLIP the input accepts the outputs in turn. Virtual channel 0 crosses, then 2,
// behind which 0 is next: 1 starves, as the documentation says.
func TestISLIPSharesTheRoundRobin(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(0, 1, 0), ask(0, 2, 1)}
	first, third := [][3]int{{0, 0, 0}}, [][3]int{{0, 2, 1}}
	steps(t, build(t, "islip", 2, 3, 1), requests, first, third, first, third, first, third)
}

// As above, input-first: virtual channels have their turns, whatever they want.
func TestInputFirst(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(0, 1, 0), ask(0, 2, 1)}
	first, second, third := [][3]int{{0, 0, 0}}, [][3]int{{0, 1, 0}}, [][3]int{{0, 2, 1}}
	steps(t, build(t, "input-first", 2, 3, 1), requests, first, second, third, first, second, third)
}

// Inputs 0 and 1 put forward a flit for output 0 each; only a second iteration finds
// that input 1 has one for output 1, too. It does not move the round robins: input 1 is
// next at output 0, with virtual channel 0 still in turn. Input 0 has nothing else.
func TestIterations(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(1, 1, 1)}
	for _, name := range []string{"input-first", "matrix"} {
		steps(t, build(t, name, 2, 2, 1), requests, [][3]int{{0, 0, 0}}, [][3]int{{1, 0, 0}})
	}
	steps(t, build(t, "input-first", 2, 2, 2), requests, [][3]int{{0, 0, 0}, {1, 1, 1}}, [][3]int{{1, 0, 0}})
}

// Three inputs, each with a flit for each output: the crosspoints on the diagonal
// (input + output) mod 3 = s cross in step s, and no others are left with free ports.
func TestWavefrontDiagonals(t *testing.T) {
	var requests []allocator.Request
	for input := range uint16(3) {
		for output := range uint16(3) {
			requests = append(requests, ask(input, output, output))
		}
	}
	steps(t, build(t, "wavefront", 3, 3, 1), requests,
		[][3]int{{0, 0, 0}, {1, 2, 2}, {2, 1, 1}},
		[][3]int{{0, 1, 1}, {1, 0, 0}, {2, 2, 2}},
		[][3]int{{0, 2, 2}, {1, 1, 1}, {2, 0, 0}},
		[][3]int{{0, 0, 0}, {1, 2, 2}, {2, 1, 1}})
}

// Behind the first diagonal come the others: in step 0, of 0 -> 1 and 1 -> 1 the one on
// diagonal 1 crosses, and 1 -> 0, which is on diagonal 1, too, does. In step 1 these two
// are on the first diagonal. The virtual channels of crosspoint 0 -> 1 take turns.
func TestWavefrontTurns(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 1), ask(0, 1, 1), ask(1, 0, 0), ask(1, 1, 1)}
	steps(t, build(t, "wavefront", 3, 2, 1), requests,
		[][3]int{{0, 0, 1}, {1, 0, 0}},
		[][3]int{{0, 1, 1}, {1, 0, 0}},
		[][3]int{{1, 1, 1}}) // diagonal 2
}

// The packet born in cycle 3 is the oldest. The one born in 4 shares its input, the one
// born in 5 its output; the one born in 6 shares neither. Of equal ages the lower input
// goes first.
func TestAge(t *testing.T) {
	requests := []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(1, 1, 1), ask(2, 0, 1)}
	for i, born := range []int64{5, 3, 4, 6} {
		requests[i].Born = born
	}
	steps(t, build(t, "age", 3, 2, 1), requests, [][3]int{{1, 0, 0}, {2, 0, 1}})
	steps(t, build(t, "age", 3, 1, 1), []allocator.Request{ask(0, 0, 2), ask(1, 0, 2)}, [][3]int{{0, 0, 2}})
}

// Inputs 0 and 2 have been served in this order when all three ask for an output: 1,
// which has never been, goes first, then 0, then 2. A round robin would stand behind 2.
func TestMatrix(t *testing.T) {
	a := build(t, "matrix", 3, 1, 1)
	steps(t, a, []allocator.Request{ask(0, 0, 0), ask(2, 0, 0)}, [][3]int{{0, 0, 0}}, [][3]int{{2, 0, 0}})
	steps(t, a, []allocator.Request{ask(0, 0, 0), ask(1, 0, 0), ask(2, 0, 0)}, [][3]int{{1, 0, 0}}, [][3]int{{0, 0, 0}}, [][3]int{{2, 0, 0}})
}
