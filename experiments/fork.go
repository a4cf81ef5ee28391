package experiments

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Forks tells what a kind can do with networks that are warm.
type Forks[C any] struct {
	// Tables are those whose settings may change when the network is warm: the only
	// ones that the warm-up of a fork may set.
	Tables []string
	// Later lists the dotted settings of a configuration that count from the end of the
	// warm-up on only: points that differ in them share their warm-up.
	Later func(c *C) []string
	// Check, optional, finds what does not go with a fork; warmup tells whether the fork sets
	// a dotted setting for its warm-up. Errors as of [Kind].Check.
	Check func(c *C, warmup func(key string) bool) error
}

// forks is a Forks without its type.
type forks struct {
	tables []string
	later  func(config any) []string
	check  func(config any, warmup func(key string) bool) error
}

func (f *Forks[C]) untyped() *forks {
	if f == nil {
		return nil
	}
	return &forks{f.Tables, func(config any) []string { return f.Later(config.(*C)) }, func(config any, warmup func(key string) bool) error {
		if f.Check == nil {
			return nil
		}
		return f.Check(config.(*C), warmup)
	}}
}

// forking is [sweep] fork of a file: points warm up with some settings of their own
// replaced by those of warmup, and go on with their own, which settle, before they are
// measured.
type forking struct {
	warmup []document.Setting
	places []string
	settle sim.Time
}

// forkTable is what [sweep] fork holds beside the settings of the warm-up.
type forkTable struct {
	Settle sim.Time `toml:"settle" doc:"from the end of the common warm-up until the window opens"`
}

const forkPath = "sweep.fork"

// readFork reads [sweep] fork.
func (f *File) readFork() {
	d := f.doc
	sweep, _ := d.Root["sweep"].(map[string]any)
	raw, given := sweep["fork"]
	if !given {
		return
	}
	table, ok := raw.(map[string]any)
	if !ok {
		d.Problem(forkPath, "= %s: want a table such as { warmup = { \"traffic.load\" = 0.3 }, settle = \"20us\" }", document.Show(raw))
		return
	}
	if f.kind.forks == nil {
		d.Problem(forkPath, "cannot be had: kind %q cannot go on with other settings in a network that is warm%s; those that can: %s", f.kind.name, f.kind.whyCold(), strings.Join(forkingKinds(), ", "))
		return
	}
	fork := &forking{}
	for _, name := range results.SortedKeys(table) {
		if name != "warmup" && name != "settle" {
			d.Problem(document.Join(forkPath, document.QuoteName(name)), "%s", unknownKey(forkPath, name, []string{"warmup", "settle"}))
		}
	}
	times := forkTable{}
	dec := &decoder{doc: d, unknown: map[string]string{}}
	dec.table(forkPath, only(table, "settle"), &times)
	fork.settle = times.Settle
	if _, given := table["settle"]; !given || fork.settle < 0 {
		d.Problem(document.Join(forkPath, "settle"), "is not given: want a time such as \"20us\", in which the network becomes used to the settings of a point")
	}
	warmup, ok := table["warmup"].(map[string]any)
	if !ok || len(warmup) == 0 {
		d.Problem(document.Join(forkPath, "warmup"), "= %s: want the settings of the common warm-up, such as { \"traffic.load\" = 0.3 }", document.Show(table["warmup"]))
		return
	}
	path := document.Join(forkPath, "warmup")
	for _, s := range d.Flatten(path, warmup, func(map[string]any) bool { return false }) {
		key := document.KeyUnder(path, s.Key)
		if name := document.SplitKey(key)[0]; !slices.Contains(f.kind.forks.tables, name) {
			d.Problem(s.Key, "cannot change in a network that is warm: kind %q can change what is in %s", f.kind.name, strings.Join(f.kind.forks.tables, ", "))
			continue
		}
		fork.warmup = append(fork.warmup, document.Setting{Key: key, Value: s.Value})
		fork.places = append(fork.places, s.Key)
	}
	f.fork = fork
}

// whyCold is why a kind has no warm networks, in parentheses behind a space.
func (k *kind) whyCold() string {
	if k.cold == "" {
		return ""
	}
	return " (" + k.cold + ")"
}

// forkingKinds lists the kinds that fork.
func forkingKinds() []string {
	return slices.DeleteFunc(KindNames(), func(name string) bool { return kinds[name].forks == nil })
}

// warmup is how a point's network becomes warm.
type warmup struct {
	config any // of the kind; that of the point, unless the file forks
	key    string
	lines  []string // the settings that key stands for
}

// newWarmup names a warm-up by everything that its state depends on but the build.
func (f *File) newWarmup(p *Point, config any, settings, inputs []document.Setting) *warmup {
	w := &warmup{config: config, lines: []string{fmt.Sprintf("kind = %q", f.kind.name), fmt.Sprintf("revision = %d", f.kind.revision), fmt.Sprintf("seed = %d", p.Seed)}}
	later := f.kind.forks.later(config)
	kept := slices.DeleteFunc(append(slices.Clone(inputs), settings...), func(s document.Setting) bool { return slices.Contains(later, document.Unquoted(s.Key)) })
	for _, s := range kept {
		w.lines = append(w.lines, s.Key+" = "+document.Format(s.Value))
	}
	w.key = hashPoint(f.kind, "", p.Seed, kept)
	return w
}

// warmOf decodes the configuration in which a point of a forking file warms up, from the
// document of the point.
func (f *File) warmOf(p *Point, d *document.Tree, dec *decoder) {
	tree := &document.Tree{Name: d.Name, Root: document.Clone(d.Root), Origins: d.Origins, Swept: map[string]document.Origin{}}
	for key, at := range d.Swept {
		tree.Swept[key] = at
	}
	for i, s := range f.fork.warmup {
		tree.Swept[document.Unquoted(s.Key)] = d.OriginOf(f.fork.places[i])
		tree.Assign(s.Key, s.Value, f.fork.places[i])
	}
	warm := &decoder{doc: tree, unknown: map[string]string{}, shared: f.shared}
	config := f.kind.defaults()
	settings, inputs := f.configure(warm, tree, config)
	d.Problems = append(d.Problems, tree.Problems...)
	for key, message := range warm.unknown {
		if _, known := dec.unknown[key]; !known {
			dec.unknown[key] = message
		}
	}
	p.warmup = f.newWarmup(p, config, settings, inputs)
}

// warnOfForks tells of a fork that saves nothing.
func (f *File) warnOfForks() {
	warm := map[string]bool{}
	for _, p := range f.Points {
		if f.fork == nil || warm[p.warmup.key] {
			return
		}
		warm[p.warmup.key] = true
	}
	if len(f.Points) > 1 {
		f.Warnings = append(f.Warnings, Warning{Key: forkPath, Message: "saves nothing: no two points have the same warm-up, as they differ in settings that warmup does not set"})
	}
}

// checkFork finds what is wrong with the warm-up of a point.
func (f *File) checkFork(p *Point) error {
	if f.fork == nil {
		return nil
	}
	_, err := f.kind.check(p.warmup.config, p.Seed)
	return errors.Join(err, f.kind.forks.check(p.config, func(key string) bool {
		return slices.ContainsFunc(f.fork.warmup, func(s document.Setting) bool { return document.Unquoted(s.Key) == key })
	}))
}

// forkSettings is what a point's results depend on beside its own settings.
func (f *File) forkSettings() (all []document.Setting) {
	if f.fork == nil {
		return nil
	}
	for _, s := range f.fork.warmup {
		all = append(all, document.Setting{Key: document.Join(forkPath+".warmup", s.Key), Value: s.Value})
	}
	settle, err := f.fork.settle.MarshalText()
	if err != nil {
		panic("experiments: " + err.Error())
	}
	return append(all, document.Setting{Key: document.Join(forkPath, "settle"), Value: string(settle)})
}

// resolvedFork is [sweep] fork as a resolved file has it.
func (f *File) resolvedFork() string {
	var b strings.Builder
	b.WriteString("\n[sweep.fork]\n")
	for _, s := range f.forkSettings() {
		if key, ok := strings.CutPrefix(s.Key, forkPath+".warmup."); ok {
			fmt.Fprintf(&b, "warmup.%s = %s\n", document.Format(key), document.Format(s.Value))
		} else {
			fmt.Fprintf(&b, "settle = %s\n", document.Format(s.Value))
		}
	}
	return b.String()
}

// Warmup is a part of the warm-up of a point, such as that of a replication.
type Warmup struct {
	Part int
	// Beside names what its state depends on beside the settings of the warm-up, such as
	// "classes = 5" for something that follows from later settings; "": nothing.
	Beside string
}

// WarmStates holds the warm networks of an execution.
type WarmStates struct {
	from    *snapshot.File // they come from here; nil: are computed
	share   bool           // between the points of forks
	collect bool           // keep all of them, for a file

	states Shared // each a [snapshot.State], computed by the first that asks
	mu     sync.Mutex
	points map[string]int // by key of the warm-up: those that have not been computed
}

// WarmStates makes the store of an execution. Networks come from the file of that name; "":
// they are computed, once for the points of a fork where share says so, and collect keeps all
// of them for a file. The error is of type Problems.
func (f *File) WarmStates(from string, share, collect bool) (*WarmStates, error) {
	w := &WarmStates{share: share, collect: collect, points: map[string]int{}}
	if from != "" {
		var err error
		if w.from, err = f.readWarm(from); err != nil {
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

func (s *WarmStates) get(w *warmup, part Warmup, forks bool, compute func() ([]byte, error)) ([]byte, error) {
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
	state, err := s.states.Get(key, func() (any, error) {
		data, err := compute()
		return snapshot.State{Key: key, Settings: w.partLines(part), Data: data}, err
	})
	warm, _ := state.(snapshot.State) // none where compute has panicked
	return warm.Data, err
}

// Expect counts points that are going to be computed.
func (s *WarmStates) Expect(points []*Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range points {
		if p.warmup != nil {
			s.points[p.warmup.key]++
		}
	}
}

// Done lets go of what no other point needs, unless refinement may add some.
func (s *WarmStates) Done(p *Point, refines bool) {
	if p.warmup == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.points[p.warmup.key]--; s.points[p.warmup.key] > 0 || refines || s.collect {
		return
	}
	for key := range s.states.entries.Range {
		if p.warmup.owns(key.(string)) {
			s.states.entries.Delete(key)
		}
	}
}

// Encode is a file of all that has been collected.
func (s *WarmStates) Encode() []byte {
	f := &snapshot.File{Build: build()}
	for _, one := range s.states.entries.Range {
		b := one.(*sharedBuild)
		if state, ok := b.value.(snapshot.State); ok && b.err == nil {
			f.States = append(f.States, state)
		}
	}
	slices.SortFunc(f.States, func(a, b snapshot.State) int { return strings.Compare(a.Key, b.Key) })
	return f.Encode()
}

// readWarm reads a file of warm networks and finds out whether all points of f can go on
// from it. Errors are [Problems].
func (f *File) readWarm(path string) (*snapshot.File, error) {
	refuse := func(format string, args ...any) error {
		return document.Problems{{At: path, Message: document.Legible(fmt.Sprintf(format, args...))}}
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
