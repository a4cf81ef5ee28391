package opensm

import "testing"

// Characteristic polynomials that OpenSM 3.3.23 logs: of a switch in a torus of 5 x 5 x 3
// switches and in a mesh of 5 x 5 or more, -225-672x-733x^2-352x^3-67x^4+x^6 and
// -128x-48x^2+x^4. One of two switches is -x; in a ring of 5, whose neighbours are 3 hops
// apart without the switch, x^2-9.
func TestTorusShape(t *testing.T) {
	for _, c := range []struct {
		across []int32
		want   meshShape
	}{
		{[]int32{0}, meshShape{1, 0}},
		{[]int32{3}, meshShape{2, -9, 0}},
		{[]int32{4, 4}, meshShape{4, 0, -128, -48, 0}},
		{[]int32{1, 3, 3}, meshShape{6, -225, -672, -733, -352, -67, 0}},
	} {
		got, ok := torusShape(c.across)
		if !ok || got != c.want {
			t.Errorf("%v: %v, want %v", c.across, got, c.want)
		}
		if d := meshDimensions()[got]; d != len(c.across) {
			t.Errorf("%v: %d dimensions", c.across, d)
		}
	}
	if _, ok := torusShape([]int32{4, 4, 4, 4, 0}); ok {
		t.Error("nine links are analysed")
	}
	// Of 1 to 8 dimensions 4, 10, 20, 35, 20, 10, 4 and 1 have up to eight links; five of
	// the four-dimensional ones are not known, and one mesh with a corner missing is.
	if n := len(meshDimensions()); n != 100 {
		t.Errorf("%d shapes, want 100", n)
	}
}
