// Package judge is what the judgements of weft by the data of other programs share: one
// vocabulary of verdicts, how they are counted, and tables of which a row that cannot be
// read does not stop the others.
//
// What is judged has entries: a curve, a number, the tables of a run. An entry keeps the
// problems of its own files; it is [Unreadable] then, and all others are judged.
package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// Verdicts.
const (
	Agrees     = "agrees"
	Differs    = "differs"
	NotJudged  = "not-judged" // nothing to compare, or more noise than a judgement allows
	NotRun     = "not-run"    // weft has no counterpart, or its run failed
	Unreadable = "unreadable" // the data of the entry has problems
)

var verdicts = []string{Agrees, Differs, NotJudged, NotRun, Unreadable}

// Count says how often each verdict was reached.
type Count map[string]int

func (c Count) String() string {
	text := fmt.Sprintf("%d agree, %d differ, %d not judged, %d not run", c[Agrees], c[Differs], c[NotJudged], c[NotRun])
	if n := c[Unreadable]; n > 0 {
		text += fmt.Sprintf(", %d unreadable", n)
	}
	return text
}

// Add counts a verdict. One that is not of the vocabulary is a mistake of the program.
func (c Count) Add(verdict string) {
	if !slices.Contains(verdicts, verdict) {
		panic("judge: no verdict " + verdict)
	}
	c[verdict]++
}

// Note is what stands beside the verdict unreadable: the first problem.
func Note(problems experiments.Problems) string {
	text, _, _ := strings.Cut(problems[0].Error(), "\n")
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Merged are the problems of all entries, each once.
func Merged(entries ...experiments.Problems) (all experiments.Problems) {
	seen := map[string]bool{}
	for _, problems := range entries {
		for _, p := range problems {
			if text := p.Error(); !seen[text] {
				seen[text] = true
				all = append(all, p)
			}
		}
	}
	return all
}
