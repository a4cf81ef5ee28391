package multicast

import (
	"fmt"
	"testing"
)

func TestDbg(t *testing.T) {
	g := trimmedNet(34, 256, 18, 16, 32, 8)
	env, _ := NewEnv(g, 0)
	groups := gridPattern(t, g, 4, 64, 16, 34)
	for _, e := range []string{"mr4lms", "mr4lms-plus"} {
		r, _ := Run(env, e, groups, Options{})
		h := map[string]map[int32]int{}
		for p, load := range r.Forest.efi {
			if g.Peer[p] > int32(p) {
				a := int(g.PortSwitch[p])
				kind := fmt.Sprint("leaf", a%31 == 14, a < 34*31)
				if a%31 >= 15 {
					kind = "mid"
				}
				if h[kind] == nil {
					h[kind] = map[int32]int{}
				}
				h[kind][load]++
			}
		}
		fmt.Println(e, h)
	}
}
