package experiments

import (
	"os"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// Open loads an experiment file from disk or, where there is none of that
// name, from those that come with weft: "examples/quickstart".
func Open(name string, options Options) (*File, error) {
	if name == "" {
		return nil, document.Problems{{At: `""`, Message: "cannot be read: the name is empty"}}
	}
	if _, err := os.Stat(name); err == nil {
		return ReadFile(name, options)
	}
	inside := embeddedName(name)
	if text, err := embedded.ReadFile(inside); err == nil {
		return Load(inside, string(text), options)
	}
	_, err := ReadFile(name, options)
	if problems, ok := err.(document.Problems); ok {
		known := Embedded("")
		for i, k := range known {
			known[i] = strings.TrimSuffix(k, ".toml")
		}
		problems[0].Message += param.DidYouMean(strings.TrimSuffix(name, ".toml"), known) + "; weft list experiments names the files that come with weft"
	}
	return nil, err
}

// ReadFile loads an experiment file from disk. Failures to read are problems of
// the file too.
func ReadFile(path string, options Options) (*File, error) {
	text, err := input.ReadInput(path, input.MaxSettings)
	if err != nil {
		return nil, document.Problems{{At: path, Message: "cannot be read: " + err.Error()}}
	}
	return Load(path, string(text), options)
}

// Load reads an experiment file from its text. The error is of type Problems and
// holds everything that is wrong: first of the values, and if those are good
// of what they describe together (a topology that cannot be built, a routing
// that it cannot carry).
func Load(name, text string, options Options) (*File, error) {
	return loadText(name, text, options, false)
}

// LoadFinished is Load of the settings of results that are there: parameters that nothing
// uses, and those that have gone, are passed over, and files of figures may be gone.
func LoadFinished(name, text string) (*File, error) { return loadText(name, text, Options{}, true) }

func loadText(name, text string, options Options, finished bool) (*File, error) {
	d, err := document.Parse(name, text)
	if err != nil {
		return nil, err
	}
	quick := options.Quick && d.Root["quick"] != nil
	if options.Quick {
		d.ApplyQuick()
	}
	d.ApplySettings(options.Set)
	f := &File{Name: name, Set: options.Set, Quick: quick, doc: d, shared: &Shared{cache: options.Cache}, unsafe: options.AllowDeadlock}
	f.readAll(options, finished)
	if err := d.Problems.Err(); err != nil {
		return nil, err
	}
	if options.CheckQuick && !options.Quick && d.Root["quick"] != nil {
		options.Quick = true
		if _, err := Load(name, text, options); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// readAll goes through the document once, from the keys outside tables to what the points
// come to. Each step needs what those before it have made.
func (f *File) readAll(options Options, finished bool) {
	d := f.doc
	if len(d.Root) == 0 && len(d.Problems) == 0 {
		d.Problem("", "the file is empty: name at least a kind or a [topology]")
		return
	}
	if !f.header() {
		return // the meaning of the rest is unknown
	}
	f.readSweep()
	f.expand(finished)
	f.figures(finished)
	if len(d.Problems) > 0 {
		return
	}
	f.check()
	if !finished {
		for _, key := range f.shared.unused() { // such as a rule for rings beside topologies without any
			f.unknown(key, "is not used by what it stands with: leave it out")
		}
	}
	if len(d.Problems) == 0 && !finished {
		f.rehearse()
	}
	if len(d.Problems) == 0 {
		f.fillTitles(options.Set)
		if finished {
			d.Problems = nil // titles stand as they were
		}
	}
}
