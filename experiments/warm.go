package experiments

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Fork tells, where points of a sweep go on from a common warm-up, how this one became
// warm: config, a pointer to the kind's configuration, and how long its own settings take
// to settle. ok is false where the point warms up as it goes on.
func (r *Run) Fork() (config any, settle sim.Time, ok bool) {
	if r.fork == nil {
		return nil, 0, false
	}
	return r.warmup.config, r.fork.settle, true
}

// Warmup is a part of the warm-up of a point, such as that of a replication.
type Warmup struct {
	Part int
	// Beside names what its state depends on beside the settings of the warm-up, such as
	// "classes = 5" for something that follows from later settings; "": nothing.
	Beside string
}

// Warm is the state of the warm network that a part of the point goes on from: nil if it
// has to warm up by itself. Where several points share it, or a file is to have it, compute
// is called once and simulates the warm-up.
func (r *Run) Warm(w Warmup, compute func() ([]byte, error)) ([]byte, error) {
	if r.warm == nil || r.warmup == nil {
		return nil, nil
	}
	return r.warm.get(r.warmup, w, r.fork != nil, compute)
}

// warmStates holds the warm networks of an execution.
type warmStates struct {
	from    *snapshot.File // they come from here; nil: are computed
	share   bool           // between the points of forks
	collect bool           // keep all of them, for a file

	mu     sync.Mutex
	states map[string]*warmState
	points map[string]int // by key of the warm-up: those that have not been computed
}

// warmState is one, computed by the first that asks.
type warmState struct {
	once  sync.Once
	data  []byte
	err   error
	lines []string
}

// warmStates makes the store of an execution.
func (e *Execution) warmStates(f *File) (*warmStates, error) {
	w := &warmStates{share: !e.NoFork, collect: e.SaveWarm != "", states: map[string]*warmState{}, points: map[string]int{}}
	if e.FromWarm != "" {
		var err error
		if w.from, err = f.readWarm(e.FromWarm); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// partKey and partLines name a part of a warm-up.
func (w *warmup) partKey(part Warmup) string {
	if part.Beside == "" {
		return fmt.Sprintf("%s.%d", w.key, part.Part)
	}
	return fmt.Sprintf("%s.%d.%.16x", w.key, part.Part, sha256.Sum256([]byte(part.Beside)))
}

func (w *warmup) partLines(part Warmup) []string {
	lines := append(slices.Clone(w.lines), fmt.Sprintf("part = %d", part.Part))
	if part.Beside != "" {
		lines = append(lines, part.Beside)
	}
	return lines
}

// owns tells whether a key is that of a part.
func (w *warmup) owns(key string) bool { return strings.HasPrefix(key, w.key+".") }

func (s *warmStates) get(w *warmup, part Warmup, forks bool, compute func() ([]byte, error)) ([]byte, error) {
	key := w.partKey(part)
	if s.from != nil {
		data, err := s.from.Find(key, w.partLines(part))
		if err != nil {
			return nil, fmt.Errorf("the file of warm networks %w", err)
		}
		return data, nil
	}
	if !s.collect && !(s.share && forks) {
		return nil, nil
	}
	s.mu.Lock()
	state := s.states[key]
	if state == nil {
		state = &warmState{lines: w.partLines(part)}
		s.states[key] = state
	}
	s.mu.Unlock()
	state.once.Do(func() { state.data, state.err = compute() })
	return state.data, state.err
}

// expect counts points that are going to be computed.
func (s *warmStates) expect(points []*Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range points {
		if p.warmup != nil {
			s.points[p.warmup.key]++
		}
	}
}

// done lets go of what no other point needs, keep unless refinement may add some.
func (s *warmStates) done(p *Point, keep bool) {
	if p.warmup == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.points[p.warmup.key]--; s.points[p.warmup.key] > 0 || keep || s.collect {
		return
	}
	maps.DeleteFunc(s.states, func(key string, _ *warmState) bool { return p.warmup.owns(key) })
}

// file is what has been collected.
func (s *warmStates) file() *snapshot.File {
	f := &snapshot.File{Build: build()}
	for _, key := range sortedKeys(s.states) {
		if state := s.states[key]; state.err == nil {
			f.States = append(f.States, snapshot.State{Key: key, Settings: state.lines, Data: state.data})
		}
	}
	return f
}

// readWarm reads a file of warm networks and finds out whether all points of f can go on
// from it. Errors are [Problems].
func (f *File) readWarm(path string) (*snapshot.File, error) {
	refuse := func(format string, args ...any) error {
		return Problems{{At: path, Message: Legible(fmt.Sprintf(format, args...))}}
	}
	text, err := input.ReadInput(path, input.MaxStream)
	if err != nil {
		return nil, refuse("cannot be read: %v", err)
	}
	file, err := snapshot.Decode(text, build(), input.Memory()/2)
	if err != nil {
		return nil, refuse("%v", err)
	}
	for _, p := range f.Points {
		if p.warmup == nil {
			return nil, refuse("cannot be used: kind %q has no warm networks%s; those that have: %v", f.kind.name, f.kind.whyCold(), forkingKinds())
		}
		if slices.ContainsFunc(file.States, func(s snapshot.State) bool { return p.warmup.owns(s.Key) }) {
			continue
		}
		if _, err := file.Find(p.warmup.partKey(Warmup{}), p.warmup.partLines(Warmup{})); err != nil {
			return nil, refuse("%v (point %d, %s)", err, p.Index, f.Describe(p))
		}
	}
	return file, nil
}

// CheckWarm finds out, before anything runs, whether all points can go on from the warm
// networks in a file. Errors are [Problems].
func (f *File) CheckWarm(path string) error {
	_, err := f.readWarm(path)
	return err
}

// Warms tells whether the kind can write and read warm networks.
func (f *File) Warms() bool { return f.kind.forks != nil }

// NoWarmup is why the kind cannot, in parentheses behind a space; "" where nobody would
// expect it to.
func (f *File) NoWarmup() string { return f.kind.whyCold() }

// BeginsAgain is why a point begins again when it is killed; "": it goes on from its last
// snapshot.
func (f *File) BeginsAgain(p *Point) string {
	return cmp.Or(f.kind.again, f.kind.pointAgain(p.config))
}

// writeWarm writes the warm networks of an execution.
func (r *runner) writeWarm() error {
	if r.execution.SaveWarm == "" {
		return nil
	}
	return WriteFile(r.execution.SaveWarm, r.warm.file().Encode())
}
