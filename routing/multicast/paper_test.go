package multicast

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weft-sim/weft/fabric/topology"
)

func TestScratch(t *testing.T) {
	only := os.Getenv("NET")
	engines := strings.Split(os.Getenv("ENG"), ",")
	type pat struct {
		ranks int
		dims  []int
		n     int
	}
	cases := []struct {
		name string
		g    func() *topology.Graph
		pats []pat
	}{
		{"bluelight", func() *topology.Graph { return trimmedNet(34, 256, 18, 16, 32, 8) }, []pat{{1, []int{256, 34}, 128}, {1, []int{90, 90}, 128}, {4, []int{64, 16, 34}, 128}}},
		{"taihu", func() *topology.Graph { return trimmedNet(160, 256, 32, 8, 40, 2) }, []pat{{1, []int{34, 34, 34}, 128}, {4, []int{128, 32, 40}, 128}}},
		{"torus", func() *topology.Graph { return gridNet(true, 2, 30, 20, 20) }, []pat{{1, []int{240, 100}, 256}, {1, []int{60, 20, 20}, 256}, {1, []int{28, 28, 28}, 256}}},
		{"random", func() *topology.Graph { return randomNet(2048, 20, 20, 1) }, []pat{{1, []int{256, 160}, 256}, {1, []int{32, 32, 40}, 256}, {4, []int{128, 32, 40}, 256}}},
		{"dragonfly", func() *topology.Graph { return dragonflyNet(18, 9, 9) }, []pat{{1, []int{29, 29, 29}, 256}, {1, []int{160, 160}, 256}}},
		{"fattree", func() *topology.Graph { return fatTreeNet(40) }, []pat{{1, []int{25, 25, 25}, 128}, {4, []int{40, 40, 40}, 128}}},
	}
	for _, c := range cases {
		if only != "" && !strings.Contains(only, c.name) {
			continue
		}
		g := c.g()
		start := time.Now()
		env, err := NewEnv(g, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(c.name, g.Switches(), g.Terminals(), "minhop", time.Since(start), "far", env.Hops.Farthest())
		for _, p := range c.pats {
			groups := gridPattern(t, g, p.ranks, p.dims...)
			for _, eng := range engines {
				for _, entries := range []int{Unlimited, p.n} {
					if entries > 0 && os.Getenv("LIM") == "" {
						continue
					}
					env.Entries = entries
					r, err := Run(env, eng, groups, Options{Check: os.Getenv("CHECK") != ""})
					if err != nil {
						fmt.Println(err)
						continue
					}
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					fmt.Printf("  %v x%d %s N=%d: groups %d colours %d (>=%d) trees %d maxEFI %d meanEFI %.2f TFI %d/%.2f height %d/%.2f links %d  %.3f ms/group heap %d MB\n",
						p.dims, p.ranks, eng, entries, r.Groups, r.Colours, r.ColourBound, r.Trees, r.MaxEFI, r.MeanEFI, r.MaxTFI, r.MeanTFI, r.MaxHeight, r.MeanHeight, r.TreeLinks,
						float64(r.Time.Microseconds())/1000/float64(r.Groups), m.HeapAlloc>>20)
				}
			}
		}
	}
}
