package ib

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

// levels of pairs that no two pairs near to each other share.
func levelOf(src, dst int) int { return (3*src + 5*dst) % 16 }

// The three forms say the same of OpenSM's fat tree.
func TestReadPathLevels(t *testing.T) {
	g, lids := readFT2(t)
	names := newSubnet(strings.NewReader(""), "", g, nil).Names
	var lidOf []int // by terminal
	for lid := range lids.Highest() + 1 {
		if h, ok := lids.Terminal(lid); ok {
			if int(h) != len(lidOf) {
				t.Fatalf("LID %d is of terminal %d", lid, h)
			}
			lidOf = append(lidOf, lid)
		}
	}
	var reduced, triples, dump strings.Builder
	reduced.WriteString("# one line per source LID; the LIDs:")
	for _, lid := range lidOf {
		fmt.Fprintf(&reduced, " %d", lid)
	}
	for src, lid := range lidOf {
		fmt.Fprintf(&reduced, "\n%d ", lid)
		fmt.Fprintf(&dump, "Channel Adapter 0x%016x, base LID %d, \"%s\"\n# LID : SL\n", names.Terminals[src].PortGUID, lid, names.Terminals[src].Name)
		for dst, to := range lidOf {
			fmt.Fprintf(&reduced, "%x", levelOf(src, dst))
			fmt.Fprintf(&triples, "0x%016x %d %d\n", names.Terminals[src].PortGUID, to, levelOf(src, dst))
			fmt.Fprintf(&dump, "0x%04X : %d\n", to, levelOf(src, dst))
		}
	}
	dump.WriteString("Switch 0x0000000000200000, base LID 2, \"L0\"\n0x0001 : 4\n")
	for form, text := range map[string]string{"reduced": reduced.String(), "ibdiagnet": triples.String(), "OpenSM": dump.String()} {
		l, err := ReadPathLevels(strings.NewReader(text), "x", g, lids)
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		for src := range g.Terminals() {
			for dst := range g.Terminals() {
				if got := l.Of(topology.TerminalID(src), topology.TerminalID(dst)); got != levelOf(src, dst) {
					t.Fatalf("%s: level %d from H%d to H%d, want %d", form, got, src, dst, levelOf(src, dst))
				}
			}
		}
	}
	text := reduced.String()
	lines := strings.SplitAfter(text, "\n")
	checkProblems(t, func(text string) error {
		_, err := ReadPathLevels(strings.NewReader(text), "x", g, lids)
		return err
	}, []problem{
		{"cut", strings.Join(lines[:20], ""), "x:20: no service level from H19 to H0"},
		{"levels missing", strings.Replace(text, "\n1 0", "\n1 ", 1), "x:2: 31 levels for 32 destinations"},
		{"no such LID", strings.Replace(text, "\n1 0", "\n99 0", 1), "x:2: LID 99: no port"},
		{"no columns", strings.Join(lines[1:], ""), "x:1: levels before the line"},
		{"level 16", "0x0000000000100001 5 16\n", "x:1: service level 16: want 0 to 15"},
		{"unknown source", "0x0000000000900001 5 1\n", "x:1: GUID 0x0000000000900001 is not in the fabric"},
		{"something else", "hello\n", "x:1: \"hello\" is not a line"},
		{"row first", "0x0001 : 4\n", "x:1: row before any node"},
	})
}

func FuzzReadPathLevels(f *testing.F) {
	fuzzTables(f, func(r io.Reader, name string, g *topology.Graph, lids *LIDs) error {
		l, err := ReadPathLevels(r, name, g, lids)
		if err == nil && l.Of(0, 1) > 15 {
			return fmt.Errorf("level %d", l.Of(0, 1))
		}
		return err
	}, "# to: 1 2\n1 0f\n2 30\n", "0x0000000000100001 1 0\n",
		"Channel Adapter 0x0000000000100001, base LID 1, \"H0\"\n0x0001 : 3\n")
}
