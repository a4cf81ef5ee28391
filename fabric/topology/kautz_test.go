package topology

import (
	"fmt"
	"testing"
)

func init() {
	for _, c := range []KautzConfig{{2, 1, 1}, {2, 2, 2}, {2, 3, 1}, {3, 1, 1}, {3, 2, 1}, {3, 3, 1}, {4, 2, 2}} {
		addSample("kautz", fmt.Sprintf("%+v", c), false, func(d *KautzConfig) { *d = c })
	}
}

// First principles: the words are listed, and each is joined to those that drop its
// first letter and add one.
func TestKautzWords(t *testing.T) {
	for _, c := range []KautzConfig{{2, 1, 1}, {2, 2, 1}, {2, 4, 1}, {3, 3, 1}, {4, 3, 1}} {
		words := []string{}
		var grow func(word string)
		grow = func(word string) {
			if len(word) == c.N {
				words = append(words, word)
				return
			}
			for a := range c.D + 1 {
				if letter := string(rune('a' + a)); word == "" || word[len(word)-1:] != letter {
					grow(word + letter)
				}
			}
		}
		grow("")
		number := map[string]SwitchID{}
		for i, word := range words { // in lexicographic order: that of the numbers
			number[word] = SwitchID(i)
		}
		g := build(t, "kautz", func(d *KautzConfig) { *d = c }).Graph()
		if g.Switches() != len(words) {
			t.Fatalf("%+v: %d switches, %d words", c, g.Switches(), len(words))
		}
		for s, word := range words {
			at := g.PortStart[s] + 1
			for a := range c.D + 1 {
				to, ok := number[word[1:]+string(rune('a'+a))]
				if letter := byte('a' + a); !ok || word[len(word)-1] == letter {
					continue
				}
				if peer, _ := g.PeerPort(at); g.PortSwitch[peer] != to {
					t.Fatalf("%+v: port %d of %s leads to %s, want %s", c, at-g.PortStart[s], word, words[g.PortSwitch[peer]], words[to])
				}
				at++
			}
		}
	}
}

// SiCortex's size: 972 switches of 3 + 3 arcs, 6 hops.
func TestKautzSiCortex(t *testing.T) {
	x := build(t, "kautz", func(c *KautzConfig) { *c = KautzConfig{3, 6, 1} })
	if got, want := x.Facts(), (Facts{972, 972, 2916, 6, -1}); got != want || Diameter(x.Graph()) != 6 {
		t.Errorf("%+v, diameter %d", got, Diameter(x.Graph()))
	}
}

func TestKautzRefuses(t *testing.T) {
	refuses(t, "kautz", "d", func(c *KautzConfig) { c.D = 1 })
	refuses(t, "kautz", "n", func(c *KautzConfig) { c.D, c.N = 1024, 20 })
}
