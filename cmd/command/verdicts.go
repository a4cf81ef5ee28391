package command

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/weft-sim/weft/experiments"
)

// verdictOrder is that in which verdicts are printed: what a reader has to know first.
var verdictOrder = []string{experiments.Missed, experiments.Refuted, experiments.Met, experiments.Calibrated, experiments.Reported}

// otherWidth is the number of columns where the output is no terminal.
const otherWidth = 100

// widthOf is the number of columns of what is written to.
func widthOf(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return otherWidth
}

// printVerdicts writes verdicts for a reader, misses first, each kind by paper, in lines of so many
// columns at most: without ids, which verdicts.csv has, and with five digits. What was not
// run is counted by countVerdicts only.
func printVerdicts(out io.Writer, verdicts []experiments.Verdict, width int) error {
	w := bufio.NewWriter(out)
	for _, name := range verdictOrder {
		some := slices.Clone(verdicts)
		some = slices.DeleteFunc(some, func(v experiments.Verdict) bool { return v.Verdict != name })
		slices.SortStableFunc(some, func(a, b experiments.Verdict) int { return strings.Compare(a.Target.Paper, b.Target.Paper) })
		paper := ""
		for i := range some {
			if x := some[i].Target; x.Paper != paper {
				paper = x.Paper
				fmt.Fprintf(w, "%s: %s\n", name, paper)
			}
			writeVerdict(w, &some[i], width)
		}
	}
	return w.Flush()
}

// writeVerdict writes a verdict with its note below.
func writeVerdict(w io.Writer, v *experiments.Verdict, width int) {
	x := v.Target
	bound := map[string]string{"at_least": "at least ", "at_most": "at most "}[x.ToleranceKind]
	unit := " " + x.Unit
	if x.Unit == "ratio" || x.Unit == "fraction" {
		unit = ""
	}
	measured := "none"
	if !math.IsNaN(v.Measured) {
		measured = digits(v.Measured)
		if v.Half > 0 && !math.IsInf(v.Half, 0) {
			measured += " +- " + strconv.FormatFloat(v.Half, 'g', 2, 64)
		}
		measured += unit
	}
	rests := v.RestsOn
	if v.Quick {
		rests += ", quick"
	}
	text := fmt.Sprintf("%s: %s, %s: %s of %s%s%s (%s)", x.Artifact, x.Case, strings.ReplaceAll(x.Metric, "_", " "), measured, bound, digits(x.Value), unit, rests)
	wrap(w, text, "  ", width)
	if v.Note != "" {
		wrap(w, v.Note, "      ", width)
	}
}

// digits prints a number with the digits that a reader compares.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// wrap writes text in lines of so many columns at most, words that are longer apart, all but the first
// with four more columns before them.
func wrap(w io.Writer, text, indent string, width int) {
	line := indent
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			fmt.Fprintln(w, line)
			line, empty = indent+"    ", true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(w, line)
}

// countVerdicts says how often each verdict was reached, and what the rows met rest on.
func countVerdicts(verdicts []experiments.Verdict) string {
	list := func(counts []experiments.VerdictCount) string {
		parts := make([]string, len(counts))
		for i, c := range counts {
			parts[i] = fmt.Sprintf("%d %s", c.N, c.Verdict)
		}
		return strings.Join(parts, ", ")
	}
	text := fmt.Sprintf("%d targets: %s", len(verdicts), list(experiments.CountVerdicts(verdicts)))
	if met := list(experiments.CountMet(verdicts)); met != "" {
		text += "; of those met " + met
	}
	return text
}
