package experiments

import (
	"fmt"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
)

// TestIdleKeys: of settings that change nothing those are named that the file, its sweep or an
// option gives, each once with the first reason; a whole table stands for those of its settings.
// Other warnings stay.
func TestIdleKeys(t *testing.T) {
	d := &document.Tree{
		Origins: map[string]document.Origin{"a.x": {}, "a.y": {}, "ab.x": {}, "b.x": {}},
		Swept:   map[string]document.Origin{"a.w": {}},
	}
	got := ""
	for _, w := range idleKeys([]Warning{
		{Key: "b.x", Message: "1", Idle: true}, {Key: "b.y", Message: "2", Idle: true}, {Key: "c.x", Message: "3"},
		{Key: "a.*", Message: "4", Idle: true}, {Key: "a.x", Message: "5", Idle: true}, {Key: "b.x", Message: "6"},
	}, d) {
		got += fmt.Sprintf("%s %s, ", w.Key, w.Message)
	}
	if want := "b.x 1, c.x 3, a.w 4, a.x 4, a.y 4, b.x 6, "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
