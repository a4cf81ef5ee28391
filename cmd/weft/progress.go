package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/weft-sim/weft/experiments"
)

// progress shows how far a sweep has come: a bar on a terminal, a line now and
// then elsewhere.
type progress struct {
	w       io.Writer
	name    string
	bar     *progressbar.ProgressBar // nil where there is no terminal
	quiet   bool
	printed time.Duration // when the last line was printed
	done    int
	points  int // of the bar
}

// lineEvery is the time between progress lines that announce no milestone.
const lineEvery = 10 * time.Second

// newProgress shows the progress of a file on standard error; messages is the same
// for lines of text.
func newProgress(stderr, messages io.Writer, f *experiments.File, quiet bool) *progress {
	p := &progress{w: messages, name: f.Name, quiet: quiet}
	if !quiet && isTerminal(stderr) {
		p.w = stderr
		p.newBar(len(f.Points), experiments.Legible(f.Title))
	}
	return p
}

// newBar begins a bar of so many points.
func (p *progress) newBar(points int, description string) {
	p.points = points
	p.bar = progressbar.NewOptions(points,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(description),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond))
}

// isTerminal tells whether someone is likely to look at w.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) update(now experiments.Progress) {
	switch {
	case p.quiet:
	case p.bar != nil:
		if now.Points != p.points { // refinement has added some
			p.newBar(now.Points, rate(now))
		}
		p.bar.Describe(rate(now))
		if err := p.bar.Set(now.Done); err != nil {
			p.bar = nil // a terminal that cannot show a bar gets none
		}
	case now.Done > p.done && (now.Done == now.Points || now.Elapsed-p.printed >= lineEvery) || now.Elapsed-p.printed >= 6*lineEvery:
		left := ""
		if fresh := now.Done - now.Reused; fresh > 0 && now.Done < now.Points {
			estimate := time.Duration(float64(now.Elapsed) / float64(fresh) * float64(now.Points-now.Done))
			left = fmt.Sprintf(", about %v left", estimate.Round(time.Second))
		}
		fmt.Fprintf(p.w, "%s: %d of %d points, %s%s\n", p.name, now.Done, now.Points, rate(now), left)
		p.printed, p.done = now.Elapsed, now.Done
	}
}

func rate(now experiments.Progress) string {
	return fmt.Sprintf("%.1f M events/s", float64(now.Events)/max(now.Elapsed.Seconds(), 1e-3)/1e6)
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Clear() // the terminal's loss
	}
}
