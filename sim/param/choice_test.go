package param

import (
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

type seeded struct{}

func (seeded) Seeded() {}

// TestSeedFor: a configuration that draws gets the seed, by value as by pointer; another gets 0.
func TestSeedFor(t *testing.T) {
	for i, config := range []any{seeded{}, &seeded{}, struct{}{}, nil} {
		want := uint64(7)
		if i > 1 {
			want = 0
		}
		simtest.Equal(t, SeedFor(config, 7), want, "%T:", config)
	}
}
