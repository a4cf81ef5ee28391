package experiments

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim"
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
	warmup []setting
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
	sweep, _ := d.tree["sweep"].(map[string]any)
	raw, given := sweep["fork"]
	if !given {
		return
	}
	table, ok := raw.(map[string]any)
	if !ok {
		d.problem(forkPath, "= %s: want a table such as { warmup = { \"traffic.load\" = 0.3 }, settle = \"20us\" }", show(raw))
		return
	}
	if f.kind.forks == nil {
		d.problem(forkPath, "cannot be had: kind %q cannot go on with other settings in a network that is warm%s; those that can: %s", f.kind.name, f.kind.whyCold(), strings.Join(forkingKinds(), ", "))
		return
	}
	fork := &forking{}
	for _, name := range sortedKeys(table) {
		if name != "warmup" && name != "settle" {
			d.problem(join(forkPath, tomlKey(name)), "%s", unknownKey(forkPath, name, []string{"warmup", "settle"}))
		}
	}
	times := forkTable{}
	dec := &decoder{doc: d, unknown: map[string]string{}}
	dec.table(forkPath, only(table, "settle"), &times)
	fork.settle = times.Settle
	if _, given := table["settle"]; !given || fork.settle < 0 {
		d.problem(join(forkPath, "settle"), "is not given: want a time such as \"20us\", in which the network becomes used to the settings of a point")
	}
	warmup, ok := table["warmup"].(map[string]any)
	if !ok || len(warmup) == 0 {
		d.problem(join(forkPath, "warmup"), "= %s: want the settings of the common warm-up, such as { \"traffic.load\" = 0.3 }", show(table["warmup"]))
		return
	}
	path := join(forkPath, "warmup")
	for _, s := range d.flatten(path, warmup, func(map[string]any) bool { return false }) {
		key := keyUnder(path, s.key)
		if name := splitKey(key)[0]; !slices.Contains(f.kind.forks.tables, name) {
			d.problem(s.key, "cannot change in a network that is warm: kind %q can change what is in %s", f.kind.name, strings.Join(f.kind.forks.tables, ", "))
			continue
		}
		fork.warmup = append(fork.warmup, setting{key, s.value})
		fork.places = append(fork.places, s.key)
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
func forkingKinds() (names []string) {
	for _, name := range KindNames() {
		if kinds[name].forks != nil {
			names = append(names, name)
		}
	}
	return names
}

// warmup is how a point's network becomes warm.
type warmup struct {
	config any // of the kind; that of the point, unless the file forks
	key    string
	lines  []string // the settings that key stands for
}

// newWarmup names a warm-up by everything that its state depends on but the build.
func (f *File) newWarmup(p *Point, config any, settings, inputs []setting) *warmup {
	w := &warmup{config: config, lines: []string{fmt.Sprintf("kind = %q", f.kind.name), fmt.Sprintf("revision = %d", f.kind.revision), fmt.Sprintf("seed = %d", p.Seed)}}
	later := f.kind.forks.later(config)
	kept := slices.DeleteFunc(append(slices.Clone(inputs), settings...), func(s setting) bool { return slices.Contains(later, unquoted(s.key)) })
	for _, s := range kept {
		w.lines = append(w.lines, s.key+" = "+tomlValue(s.value))
	}
	w.key = hashPoint(f.kind, "", p.Seed, kept)
	return w
}

// warmOf decodes the configuration in which a point of a forking file warms up, from the
// document of the point.
func (f *File) warmOf(p *Point, d *document, dec *decoder) {
	tree := &document{name: d.name, tree: cloneTable(d.tree), origins: d.origins, swept: map[string]origin{}}
	for key, at := range d.swept {
		tree.swept[key] = at
	}
	for i, s := range f.fork.warmup {
		tree.swept[unquoted(s.key)] = d.originOf(f.fork.places[i])
		if inside, err := setKey(tree.tree, s.key, s.value); err != nil {
			d.problem(f.fork.places[i], "cannot be set: %s is not a table", inside)
		}
	}
	warm := &decoder{doc: tree, unknown: map[string]string{}, shared: f.shared}
	config := f.kind.defaults()
	settings, inputs := f.configure(warm, tree, config)
	d.problems = append(d.problems, tree.problems...)
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
		return slices.ContainsFunc(f.fork.warmup, func(s setting) bool { return unquoted(s.key) == key })
	}))
}

// forkSettings is what a point's results depend on beside its own settings.
func (f *File) forkSettings() (all []setting) {
	if f.fork == nil {
		return nil
	}
	for _, s := range f.fork.warmup {
		all = append(all, setting{join(forkPath+".warmup", s.key), s.value})
	}
	settle, err := f.fork.settle.MarshalText()
	if err != nil {
		panic("experiments: " + err.Error())
	}
	return append(all, setting{join(forkPath, "settle"), string(settle)})
}

// resolvedFork is [sweep] fork as a resolved file has it.
func (f *File) resolvedFork() string {
	var b strings.Builder
	b.WriteString("\n[sweep.fork]\n")
	for _, s := range f.forkSettings() {
		if key, ok := strings.CutPrefix(s.key, forkPath+".warmup."); ok {
			fmt.Fprintf(&b, "warmup.%s = %s\n", tomlValue(key), tomlValue(s.value))
		} else {
			fmt.Fprintf(&b, "settle = %s\n", tomlValue(s.value))
		}
	}
	return b.String()
}
