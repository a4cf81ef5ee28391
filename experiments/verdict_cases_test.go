package experiments

import "testing"

// TestCasesText: twelve cases are listed, of thirteen the smallest and the
// largest are told.
func TestCasesText(t *testing.T) {
	var cases []measured
	for _, label := range []string{"m", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"} {
		cases = append(cases, measured{value: float64(label[0] - 'a'), label: label})
	}
	want := "mean of m: 12, a: 0, b: 1, c: 2, d: 3, e: 4, f: 5, g: 6, h: 7, i: 8, j: 9, k: 10"
	if got := casesText("mean", cases); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cases = append(cases, measured{value: 11, label: "l"})
	if got, want := casesText("mean", cases), "mean of 13, from a: 0 to m: 12"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
