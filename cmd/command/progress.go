package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/engine"
)

// progress shows how far a sweep has come: on a terminal a bar, and a line for each
// point that is being computed; a line now and then elsewhere.
type progress struct {
	w       io.Writer
	name    string
	bar     *progressbar.ProgressBar // nil where there is no terminal
	drawn   bytes.Buffer             // what the bar writes
	lines   int                      // below the bar, on the terminal
	quiet   bool
	printed time.Duration // when the last line was printed
	done    int
	points  int // of the bar
}

const (
	lineEvery = 10 * time.Second // between progress lines that announce no milestone
	mostLines = 16               // of points side by side on a terminal
	mostNamed = 4                // points in a line elsewhere
)

// newProgress shows the progress of a file on standard error; messages is the same
// for lines of text.
func newProgress(stderr, messages io.Writer, f *experiments.File, quiet bool) *progress {
	p := &progress{w: messages, name: f.Name, quiet: quiet}
	if file, ok := stderr.(*os.File); ok && !quiet && term.IsTerminal(int(file.Fd())) {
		p.w = stderr
		p.newBar(len(f.Points), document.Legible(f.Title))
	}
	return p
}

func (p *progress) newBar(points int, description string) {
	p.points = points
	p.bar = progressbar.NewOptions(points,
		progressbar.OptionSetWriter(&p.drawn),
		progressbar.OptionSetDescription(description),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionFullWidth())
}

func (p *progress) update(now engine.Progress) {
	switch {
	case p.quiet:
	case p.bar != nil:
		p.draw(now)
	case now.Done > p.done && (now.Done == now.Points || now.Elapsed-p.printed >= lineEvery) || now.Elapsed-p.printed >= 6*lineEvery:
		var inside []string
		for i, x := range now.Running {
			if i == mostNamed {
				inside = append(inside, fmt.Sprintf("and %d more", len(now.Running)-i))
				break
			}
			inside = append(inside, fmt.Sprintf("point %d: %s", x.Point, way(x)))
		}
		text := fmt.Sprintf("%s: %d of %d points, %s%s", p.name, now.Done, now.Points, rate(now), timeLeft(now))
		if len(inside) > 0 {
			text += "; " + strings.Join(inside, "; ")
		}
		fmt.Fprintln(p.w, text)
		p.printed, p.done = now.Elapsed, now.Done
	}
}

// Sequences of a terminal: clear from here to the end; do not go on in the next line
// at the right edge; do.
const (
	clearRest = "\x1b[J"
	cutLines  = "\x1b[?7l"
	wrapLines = "\x1b[?7h"
)

// draw puts the bar and the lines below it in the place of the last ones.
func (p *progress) draw(now engine.Progress) {
	if now.Points != p.points { // refinement has added some
		p.newBar(now.Points, rate(now))
	}
	p.drawn.Reset()
	p.bar.Describe(rate(now) + timeLeft(now))
	_ = p.bar.Set(now.Done) // it writes into memory
	var frame strings.Builder
	frame.WriteString(cutLines)
	frame.WriteString(p.back())
	frame.WriteString(strings.Trim(p.bar.String(), "\r\n") + "\n")
	p.lines = 1
	for i, x := range now.Running {
		if i == mostLines {
			fmt.Fprintf(&frame, "  and %d more points\n", len(now.Running)-i)
			p.lines++
			break
		}
		fmt.Fprintf(&frame, "  point %-5d %s %s; %s\n", x.Point, gauge(x), way(x), document.Legible(x.Name))
		p.lines++
	}
	frame.WriteString(wrapLines)
	if _, err := io.WriteString(p.w, frame.String()); err != nil {
		p.quiet = true // a terminal that is gone
	}
}

// back leads to where the last drawing began, and clears it.
func (p *progress) back() string {
	if p.lines == 0 {
		return "\r" + clearRest
	}
	return fmt.Sprintf("\r\x1b[%dA%s", p.lines, clearRest)
}

// gauge is a small bar for a point; one of unknown length has an empty one.
func gauge(x experiments.PointProgress) string {
	const width = 20
	full := 0
	if x.Total > 0 {
		full = int(min(width, width*x.Done/x.Total))
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

// way says how far a point has come, how fast, and how long it will take.
func way(x experiments.PointProgress) string {
	if x.Done == 0 {
		return "begins"
	}
	perSecond := float64(x.Done) / max(x.Elapsed.Seconds(), 1e-3)
	text := fmt.Sprintf("%d %s", x.Done, x.Unit)
	if x.Total > 0 {
		bound := "of"
		if x.AtMost {
			bound = "of at most"
		}
		text = fmt.Sprintf("%d %s %d %s", x.Done, bound, x.Total, x.Unit)
	}
	digits := 0
	if perSecond < 10 {
		digits = 2
	}
	text += fmt.Sprintf(", %.*f/s", digits, perSecond)
	if rest := x.Total - x.Done; rest > 0 {
		bound := "about"
		if x.AtMost {
			bound = "at most"
		}
		text += fmt.Sprintf(", %s %v left", bound, seconds(float64(rest)/perSecond))
	}
	return text
}

func rate(now engine.Progress) string {
	return fmt.Sprintf("%.1f M events/s", float64(now.Events)/max(now.Elapsed.Seconds(), 1e-3)/1e6)
}

// timeLeft estimates the time to the end of the sweep from the points that are done and
// what is known of those under way.
func timeLeft(now engine.Progress) string {
	fresh := float64(now.Done - now.Reused)
	for _, x := range now.Running {
		if x.Total > 0 && !x.AtMost {
			fresh += float64(x.Done) / float64(x.Total)
		}
	}
	rest := float64(now.Points-now.Reused) - fresh
	if fresh < 0.01 || now.Done == now.Points || rest <= 0 {
		return ""
	}
	return fmt.Sprintf(", about %v left", seconds(now.Elapsed.Seconds()/fresh*rest))
}

// seconds is a duration as people read it.
func seconds(s float64) time.Duration {
	const longest = 100 * 365 * 24 * 3600 // a hundred years
	return time.Duration(min(s, longest) * float64(time.Second)).Round(time.Second)
}

func (p *progress) finish() {
	if p.bar != nil && !p.quiet {
		_, _ = io.WriteString(p.w, p.back()) // the terminal's loss
		p.lines = 0
	}
}
