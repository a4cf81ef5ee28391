package experiments

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestIndexList(t *testing.T) {
	for text, tasks := range map[string][]int{"0": {0}, "0-2": {0, 1, 2}, "3,7-8,10": {3, 7, 8, 10}, "": nil} {
		if got := indexList(tasks); got != text {
			t.Errorf("%v written %q, want %q", tasks, got, text)
		}
	}
}

// TestQueuedTasks: of what squeue lists, the tasks of the arrays asked about count.
func TestQueuedTasks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct {
		script string
		want   map[int]bool
		err    string
	}{
		{"echo '5 1'; echo '6 7'; echo '5 9'; echo '4 N/A'", map[int]bool{1: true, 9: true}, ""},
		{"", map[int]bool{}, ""},
		{"echo '8 N/A'", nil, `its answer "8 N/A" names no task of an array`},
		{"echo 'Unable to contact the controller' >&2; exit 1", nil, "Unable to contact the controller"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		live, err := queuedTasks([]string{"5", "8"})
		if !reflect.DeepEqual(live, c.want) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v; want %v, %q", c.script, live, err, c.want, c.err)
		}
	}
}
