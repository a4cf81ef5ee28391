package judge

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// TestTable: a row that is cut, or no row at all, leaves those after it.
func TestTable(t *testing.T) {
	table, err := Open("\ufeffa, b\n1,2\n3\n4,\"5\"x\n 6 ,7\n8,\"9")
	if err != nil {
		t.Fatal(err)
	}
	if missing := table.Missing("b", "c"); len(missing) != 1 || missing[0] != "c" {
		t.Errorf("missing %v", missing)
	}
	var got []string
	for {
		problem, more := table.Next()
		if !more {
			break
		}
		got = append(got, fmt.Sprintf("%d %s %s %t", table.Line, table.Cell("a"), table.Cell("b"), problem == ""))
	}
	if want := []string{"2 1 2 true", "3 3  false", "4   false", "5 6 7 true", "6   false"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := Open(""); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := Open("\xff\xfea\x00"); err == nil {
		t.Error("UTF-16 is read")
	}
}

func TestCount(t *testing.T) {
	c := Count{}
	for _, v := range []string{Agrees, Agrees, NotJudged} {
		c.Add(v)
	}
	if c.String() != "2 agree, 0 differ, 1 not judged, 0 not run" {
		t.Error(c)
	}
	if c.Add(Unreadable); c.String() != "2 agree, 0 differ, 1 not judged, 0 not run, 1 unreadable" {
		t.Error(c)
	}
	p := &experiments.Problem{At: "a.csv:2", Message: "is cut"}
	if all := Merged(experiments.Problems{p}, experiments.Problems{p, {Message: "other"}}); len(all) != 2 || Note(all) != "a.csv:2: is cut (and 1 more)" {
		t.Errorf("%v", all)
	}
}
