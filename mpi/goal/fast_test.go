package goal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/weft-sim/weft/sim"
)

// Files with a few places written over, right or wrong, are read fast as they are read by
// their tokens: to the same schedule or the same words of error.
func TestFastReadsAsTokens(t *testing.T) {
	files, err := filepath.Glob("../testdata/goal/*.goal")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	pieces := []string{" ", "\t", "//", "/*", "*/", "\r", "\n", "l1", ":", " requires ", "irequires", "calc 3", "8b", "-1", "tag", " cpu 1", " nic 9", "{", "}", "99999999999999999999", "2147483648", "8", "0", "rank", "\x00"}
	numbers := regexp.MustCompile("[0-9]+")
	r, accepted := sim.NewStream(1, "goal", 0), 0
	for range 400 {
		text, err := os.ReadFile(files[r.IntN(len(files))])
		if err != nil {
			t.Fatal(err)
		}
		text = text[:min(len(text), 3000)]
		for range r.IntN(5) {
			from := r.IntN(len(text) + 1)
			to := min(len(text), from+r.IntN(4))
			if all := numbers.FindAllIndex(text, -1); len(all) > 0 && r.IntN(2) == 0 {
				at := all[r.IntN(len(all))]
				from, to = at[0], at[1]
			}
			text = append(append(text[:from:from], pieces[r.IntN(len(pieces))]...), text[to:]...)
		}
		fast, fastErr := Parse("x.goal", bytes.NewReader(text))
		plain, plainErr := parse("x.goal", bytes.NewReader(text), true)
		if fmt.Sprint(fastErr) != fmt.Sprint(plainErr) || !reflect.DeepEqual(fast, plain) {
			t.Fatalf("%q\nread fast: %v\nby tokens: %v", text, fastErr, plainErr)
		}
		if fastErr == nil {
			accepted++
		}
	}
	if accepted < 20 {
		t.Errorf("only %d of the files were right", accepted)
	}
}
