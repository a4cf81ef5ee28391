package multicast

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestProf(t *testing.T) {
	g := randomNet(2048, 20, 20, 1)
	n := 256
	if os.Getenv("NET") == "taihu" {
		g = trimmedNet(160, 256, 32, 8, 40, 2)
		n = 128
	}
	groups := gridPattern(t, g, 4, 128, 32, 40)
	if os.Getenv("NET") == "torus" {
		g = gridNet(true, 2, 30, 20, 20)
		groups = gridPattern(t, g, 1, 28, 28, 28)
		n = Unlimited
	}
	env, _ := NewEnv(g, 0)
	env.Entries = n
	e, err := Registry.Build(os.Getenv("ENG"), func() any { c, _ := Registry.Config(os.Getenv("ENG")); return c }(), env)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for i, g := range groups {
		if i%250 == 0 {
			fmt.Println(i, time.Since(start), e.Forest().NumTrees())
		}
		if time.Since(start) > 25*time.Second {
			break
		}
		if err := e.Join(g); err != nil {
			t.Fatal(err)
		}
	}
}
