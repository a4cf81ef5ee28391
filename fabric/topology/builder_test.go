package topology

import "testing"

// Gaps between explicit ports close in order, on both ends: switch 0 has
// cables in ports 1, 4 and 6, switch 1 in ports 0, 2 and 5, crossed.
func TestBuilderClosesGaps(t *testing.T) {
	b := NewBuilder(2, Class{Name: "terminal"}, Class{Name: "wire"})
	b.AddLinkAt(0, 6, 1, 0, 1)
	b.AddLinkAt(0, 1, 1, 5, 1)
	b.AddTerminalAt(0, 4, 0)
	b.AddTerminalAt(1, 2, 0)
	g := b.Freeze()
	// Ports 0, 1, 2 of switch 0 are its 1, 4, 6; ports 3, 4, 5 are switch 1's 0, 2, 5.
	want := []int32{5, ^int32(0), 3, 2, ^int32(1), 0}
	for p, peer := range want {
		if g.Peer[p] != peer {
			t.Errorf("peer of port %d is %d, want %d", p, g.Peer[p], peer)
		}
	}
	if g.TerminalPort[0] != 1 || g.TerminalPort[1] != 4 {
		t.Errorf("terminals at %v, want [1 4]", g.TerminalPort)
	}
}

func TestBuilderRefusesMisuse(t *testing.T) {
	for name, f := range map[string]func(*Builder){
		"self":     func(b *Builder) { b.AddLink(1, 1, 0) },
		"occupied": func(b *Builder) { b.AddTerminalAt(0, 3, 0); b.AddLinkAt(0, 3, 1, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(NewBuilder(2, Class{Name: "wire"}))
		})
	}
}
