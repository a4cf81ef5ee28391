package topology

import (
	"slices"
	"testing"
)

// The way round: 2a steps along dimension 1 come back to the start, half way they are a
// further along dimension 0. Without a twist it is the torus.
func TestTwistedTorus(t *testing.T) {
	g := build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{10, 5}, []int{0, 5}, 1} }).Graph()
	at := SwitchID(3)
	for i := range 10 {
		if i == 5 && at != 8 {
			t.Errorf("after 5 steps at %d, want 3 + 5", at)
		}
		peer, _ := g.PeerPort(g.PortStart[at] + 3)
		at = g.PortSwitch[peer]
	}
	if at != 3 {
		t.Errorf("after 10 steps at %d", at)
	}
	plain := build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{4, 3, 5}, []int{0, 0, 0}, 2} }).Graph()
	torus := build(t, "torus", func(c *GridConfig) { *c = GridConfig{[]int{4, 3, 5}, 2} }).Graph()
	if !slices.Equal(plain.Peer, torus.Peer) {
		t.Error("without a twist it is not the torus")
	}
	// Cámara et al.: the doubly twisted 2a x a x a torus has a smaller diameter than the
	// torus, 2a: here a = 4.
	prism := build(t, "twisted-torus", func(c *TwistedTorusConfig) { *c = TwistedTorusConfig{[]int{8, 4, 4}, []int{0, 4, 4}, 1} }).Graph()
	if d := Measure(prism).Diameter(); d != 6 {
		t.Errorf("diameter %d", d)
	}
}
