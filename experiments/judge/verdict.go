// Package judge holds weft against data: the numbers of papers, and curves, numbers and tables
// of other programs. All are a [Reference] of named entries, whose rows of verdicts a [Session]
// selects, runs, writes and counts.
//
// An entry keeps the problems of its own files; it is [Unreadable] then, and all others are
// judged.
package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// Verdicts on the data of other programs; those on papers are [experiments.VerdictNames].
const (
	Agrees     = "agrees"
	Differs    = "differs"
	NotJudged  = "not-judged"       // nothing to compare, or more noise than a judgement allows
	NotRun     = experiments.NotRun // weft has no counterpart, or its run failed
	Unreadable = "unreadable"       // the data of the entry has problems
)

var verdicts = append([]string{Agrees, Differs, NotJudged, Unreadable}, experiments.VerdictNames()...)

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
