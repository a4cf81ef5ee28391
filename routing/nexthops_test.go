package routing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/input"
)

// A file of three switches in a row: 0 - 1 - 2.
const row3 = "# row r, column d\n-1 1 1\n0 -1 2\n\n1 1 -1\n"

func TestReadNextHops(t *testing.T) {
	next, err := readNextHops("row.txt", []byte(row3), 3)
	if want := []int32{-1, 1, 1, 0, -1, 2, 1, 1, -1}; err != nil || fmt.Sprint(next) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", next, err, want)
	}
	for text, want := range map[string]string{
		"-1 1 1\n0 -1 2\n":             "row.txt:2: 2 rows, want 3, one for each switch",
		"-1 1 1\n0 -1\n1 1 -1\n":       "row.txt:2: 2 columns, want 3, one for each switch",
		"-1 1 1\n0 -1 3\n1 x -1\n":     "row.txt:2: column 3: \"3\", want a switch, 0 to 2, or -1\nrow.txt:3: column 2: \"x\", want a switch, 0 to 2, or -1",
		row3 + "0 0 0\n":               "row.txt:6: 4 rows, want 3, one for each switch",
		"":                             "row.txt:0: 0 rows, want 3, one for each switch",
		"-1 1 1\n0 -1 \x1b\n1 1 -1 \n": `row.txt:2: column 3: "\\u001b", want a switch, 0 to 2, or -1`,
	} {
		if _, err := readNextHops("row.txt", []byte(text), 3); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	many := strings.Repeat("x\n", 100) // after the last problem that is listed comes the remark that there may be more
	if _, err := readNextHops("row.txt", []byte(many), 100); strings.Count(fmt.Sprint(err), "\n") != input.MostProblems {
		t.Errorf("%d problems listed, want %d", strings.Count(fmt.Sprint(err), "\n"), input.MostProblems)
	}
}

// What is read without a problem is a table of switches.
func FuzzReadNextHops(f *testing.F) {
	f.Add([]byte(row3), uint8(3))
	f.Add([]byte("-1"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, switches uint8) {
		next, err := readNextHops("x", data, int(switches))
		if err != nil {
			return
		}
		if len(next) != int(switches)*int(switches) {
			t.Fatalf("%d entries for %d switches", len(next), switches)
		}
		for _, n := range next {
			if n < -1 || n >= int32(switches) {
				t.Fatalf("entry %d", n)
			}
		}
	})
}
