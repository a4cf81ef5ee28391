package experiments

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/input"
)

// Preflight gathers what a kind finds out about a point before it runs.
type Preflight struct {
	Seed uint64
	// Thorough asks for all that can be predicted, as weft check does;
	// without it only for what may forbid the run or needs a warning.
	Thorough bool

	shared    *Shared
	notes     []Note
	warnings  []Warning
	cyclic    []string // networks that can deadlock and may
	curves    []curve
	crossings float64 // of switches, by flits
	messages  effort
	most      float64 // the same if nothing ends the point before its budget
	flits     float64 // of a packet, where these are simulated as one; 0: where flits are
	times     float64 // as long for each as usual; 0: once
	bytes     float64
	programs  map[string]float64 // as of Later
	lack      string
	rest      func(most float64) error
}

// mostWalked bounds the operations of all programs of a check together, of so many points or fewer: some seconds. Larger
// sweeps take them for the points themselves: a tenth is left.
var mostWalked, pointsWalked = 1e8, 10_000

// Note is something found out about some points of a file.
type Note struct {
	Topic string // such as "deadlock"
	Where string // the points that it is about, by their swept settings; empty: all points
	Text  string // the first line, and further ones indented
}

// topics lists the topics of notes in the order of a report.
var topics = []string{"faults", "deadlock", "channels", "throughput", "latency", "cost"}

// Report is what preflight says about a file.
type Report struct {
	Notes    []Note
	Warnings []Warning
	Refined  int // points that refinement adds at most
	Beyond   int // points that offer more than the channels can carry
}

// curve is a point's place on a curve of rising load.
type curve struct {
	name        string // equal for the points of a curve
	load, bound float64
}

// Note keeps a finding about the point.
func (p *Preflight) Note(topic, format string, args ...any) {
	p.notes = append(p.notes, Note{Topic: topic, Text: fmt.Sprintf(format, args...)})
}

// Warn keeps a warning about the setting key.
func (p *Preflight) Warn(key, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{Key: key, Message: fmt.Sprintf(format, args...)})
}

// WarnOf keeps warnings, such as those of [IdleOf].
func (p *Preflight) WarnOf(list []Warning) { p.warnings = append(p.warnings, list...) }

// Work adds the expected number of flits crossing a switch, and the bytes of memory, to what the
// file will take: the number to be expected and the most, which are equal where the length of the run is fixed.
func (p *Preflight) Work(likely, most, bytes float64) {
	p.crossings += likely
	p.most += most
	p.bytes = max(p.bytes, bytes)
}

// Messages adds messages that pass through no network of flits, and the time that they all take.
func (p *Preflight) Messages(number float64, takes time.Duration, bytes float64) {
	p.messages.messages += number
	p.messages.nanoseconds += float64(takes)
	p.bytes = max(p.bytes, bytes)
}

// Shared is what the points of the file share.
func (p *Preflight) Shared() *Shared { return p.shared }

// MayDeadlock notes a network that can deadlock and is allowed to.
func (p *Preflight) MayDeadlock(text string) { p.cyclic = append(p.cyclic, text) }

// Load says where the point stands on a curve of rising load: its load, and the bound that
// the channels put on it: what fills the first of them. Points of the same curve have the same name.
func (p *Preflight) Load(curveName string, load, bound float64) {
	p.curves = append(p.curves, curve{curveName, load, bound})
}

// Later puts off the rest of a thorough preflight until it is known whether a check can go through the programs of the
// point, given by name with roughly the number of their operations: where it cannot, the rest is left out. The
// note that says so goes on with what points lack then. most is what a check has for a program of the file, in operations.
func (p *Preflight) Later(programs map[string]float64, lack string, rest func(most float64) error) {
	p.programs, p.lack, p.rest = programs, lack, rest
}

// afford leaves out the rest of the preflights of the longest programs, if all have more operations than a check goes
// through. of has the number of each point among those examined.
func afford(examined []*Preflight, of []int) (most float64) {
	walked, programs := mostWalked, map[string]float64{}
	if len(of) > pointsWalked {
		walked /= 10
	}
	for _, p := range examined {
		maps.Copy(programs, p.programs)
	}
	all, beyond := 0.0, math.Inf(1)
	for i, n := range slices.Sorted(maps.Values(programs)) {
		if all += n; all > walked && i > 0 {
			beyond = min(beyond, n)
		}
	}
	var left []*Preflight // by point
	for _, i := range of {
		for _, n := range examined[i].programs {
			if n >= beyond {
				left = append(left, examined[i])
				break
			}
		}
	}
	for _, p := range left {
		if p.rest != nil {
			p.Note("cost", "%d points "+p.lack+": a check goes through %.2g operations of programs, the shortest first; weft check of fewer points has them", len(left), walked)
		}
		p.rest = nil
	}
	return walked / float64(max(1, len(programs)))
}

// Packets says that packets of so many flits are simulated as one.
func (p *Preflight) Packets(flits float64) { p.flits = flits }

// Slower says that the work takes so many times as long as usual.
func (p *Preflight) Slower(times float64) { p.times = times }

// work is what points take: as is to be expected, and at most where a run ends when it has
// seen enough.
type work struct{ likely, most effort }

type effort struct{ crossings, messages, nanoseconds float64 }

func (e *effort) add(times float64, other effort) {
	e.crossings += times * other.crossings
	e.messages += times * other.messages
	e.nanoseconds += times * other.nanoseconds
}

func (w *work) add(times float64, other work) {
	w.likely.add(times, other.likely)
	w.most.add(times, other.most)
}

func (w work) String() string {
	said := func(e effort) string {
		var what string
		if e.messages > 0 {
			what = fmt.Sprintf("%.2g messages, ", e.messages)
		}
		if e.crossings > 0 || e.messages == 0 {
			what += fmt.Sprintf("%.2g flit-hops, ", e.crossings)
		}
		return fmt.Sprintf("%s%v of one core", what, time.Duration(e.nanoseconds).Round(100*time.Millisecond))
	}
	if w.likely == w.most {
		return said(w.likely)
	}
	return said(w.likely) + " (at most " + said(w.most) + ")"
}

func (p *Preflight) work() work {
	one := nanosecondsPerFlitHop * max(1, p.times)
	if p.flits > 0 {
		one *= packetHop / p.flits
	}
	w := work{effort{p.crossings, 0, p.crossings * one}, effort{p.most, 0, p.most * one}}
	w.add(1, work{p.messages, p.messages})
	return w
}

// Rough figures of what a flit that crosses a switch takes on one core, and the program without a
// network: of whole runs with terminals and statistics, of 16 to 1,056 terminals: 50 to 125 ns, by machine.
const (
	nanosecondsPerFlitHop = 80
	packetHop             = 4 // times as long as a flit: 250 to 510 ns; up to 6 times with 131,072 terminals
	programBytes          = 16e6
)

// Preflight examines every distinct point of the file without running any. The error is of type
// Problems: what must not run, such as a routing that can deadlock.
func (f *File) Preflight(thorough bool) (*Report, error) { return f.preflight(thorough, nil) }

// PreflightRest is Preflight, not thorough, of what resuming a run leaves to compute: points
// that are finished have passed before. Those that may deadlock are looked at all the same,
// for the manifest.
func (f *File) PreflightRest(finished map[string]*Record) (*Report, error) {
	return f.preflight(false, finished)
}

func (f *File) preflight(thorough bool, finished map[string]*Record) (*Report, error) {
	firsts, of := f.alike(f.Points)
	rest := make([]bool, len(firsts)) // some point is not finished
	for i, point := range f.Points {
		rest[of[i]] = rest[of[i]] || finished[point.Hash] == nil
	}
	examined, found, errs := make([]*Preflight, len(firsts)), make([]document.Problems, len(firsts)), make([]error, len(firsts))
	sideBySide(len(firsts), func(i int) {
		point := firsts[i]
		examined[i] = &Preflight{Seed: point.Seed, Thorough: thorough, shared: f.shared}
		if unsafe, ok := point.config.(deadlockSetting); rest[i] || ok && *unsafe.AllowDeadlock() {
			errs[i] = f.kind.preflight(point.config, examined[i])
		}
	})
	most := afford(examined, of)
	sideBySide(len(firsts), func(i int) {
		d := f.pointDocument()
		if examined[i].rest != nil {
			errs[i] = examined[i].rest(most)
		}
		d.ProblemsFrom("", errs[i])
		if rest[i] {
			found[i] = d.Problems
		}
		examined[i].warnings = slices.DeleteFunc(idleKeys(examined[i].warnings, d), func(w Warning) bool { // the file says so already
			return w.Idle && slices.ContainsFunc(f.Warnings, func(k Warning) bool { return k.Idle && k.Key == w.Key })
		})
	})
	byHash := map[string]*Preflight{}
	problems := document.Problems(slices.Concat(found...))
	merged := merger{file: f, lowest: map[string]curve{}, points: map[string][]*Point{}}
	byPoint := make([][]Warning, len(f.Points))
	all, bytes := work{}, 0.0
	for i, point := range f.Points {
		p := examined[of[i]]
		if finished[point.Hash] != nil {
			merged.allow(p.cyclic)
			continue
		}
		merged.add(p, point)
		byPoint[i] = p.warnings
		if byHash[point.Hash] == nil {
			byHash[point.Hash] = p
			all.add(1, p.work())
			bytes = max(bytes, p.bytes)
		}
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	merged.warnings = f.reallyIdle(byPoint)
	report := merged.report()
	if has := float64(input.Memory()); bytes+programBytes > has {
		report.Warnings = append(report.Warnings, Warning{Message: fmt.Sprintf("a point may take %s of memory, by a rough estimate, and this machine has %s", input.Gibibytes(bytes+programBytes), input.Gibibytes(has))})
	}
	var more work
	if f.refine != nil {
		report.Refined, more = f.refine.most(f, func(p *Point) work { return examined[of[p.Index]].work() })
	}
	if all.most.nanoseconds > 0 {
		report.Notes = append(report.Notes, Note{Topic: "cost", Text: fmt.Sprintf("roughly %v, %.0f MB", all, (bytes+programBytes)/1e6)})
		if report.Refined > 0 {
			report.Notes = append(report.Notes, Note{Topic: "cost", Text: fmt.Sprintf("and %v for up to %d points that refinement adds", more, report.Refined)})
		}
	}
	f.Cyclic = merged.cyclic
	return report, nil
}

// most is the number of points that bisection adds at most, and what they take if each takes what
// the larger of its neighbours does, of which cost tells: in each variant the knee lies between two
// values that follow each other. Points that fail can leave a wider gap, and a step more. Variants
// whose points come down to the same settings are computed once.
func (r *refinement) most(f *File, cost func(*Point) work) (points int, more work) {
	computed := map[string]bool{}
	for _, list := range r.variants(f.Points) {
		slices.SortStableFunc(list, func(a, b *Point) int { return cmp.Compare(r.position(f, a), r.position(f, b)) })
		steps, dearest, hashes := 0, work{}, list[0].Hash
		for i, p := range list[1:] {
			hashes += p.Hash
			k := 0
			for gaps := r.gaps(r.position(f, list[i]), r.position(f, p)); gaps > 1; gaps = math.Ceil(gaps / 2) {
				k++
			}
			steps = max(steps, k)
			var w work
			w.add(float64(k), cost(list[i]))
			if high := cost(p); high.most.nanoseconds*float64(k) > w.most.nanoseconds {
				w = work{}
				w.add(float64(k), high)
			}
			if w.most.nanoseconds > dearest.most.nanoseconds {
				dearest = w
			}
		}
		points += steps
		if !computed[hashes] {
			computed[hashes] = true
			more.add(1, dearest)
		}
	}
	return points, more
}
