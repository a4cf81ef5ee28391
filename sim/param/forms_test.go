package param

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

type roundConfig struct {
	Size  int    `toml:"size" doc:"how large" min:"1" max:"9"`
	Shade string `toml:"shade" doc:"how dark" choices:"light|dark"`
}

type squareConfig struct {
	Size  int      `toml:"size" doc:"how wide" min:"2" max:"9"`
	Edge  sim.Time `toml:"edge" doc:"how long"`
	Names []string
}

// shapes is a registry of one name with two forms, for environments "round" and
// "square", and of one without a need.
func shapes() *Registry[string, string] {
	r := NewRegistry[string, string]("shape")
	need := func(what string) Need[string] {
		return Need[string]{what, func(env string) bool { return strings.Contains(env, what) }}
	}
	RegisterFor(r, need("square"), "body", "made of squares", squareConfig{Size: 3, Edge: 5}, func(c squareConfig, env string) (string, error) {
		return fmt.Sprintf("square %d %v", c.Size, c.Edge), nil
	})
	RegisterFor(r, need("round"), "body", "made of rounds", roundConfig{3, "light"}, func(c roundConfig, env string) (string, error) {
		return fmt.Sprintf("round %d %s", c.Size, c.Shade), nil
	})
	Register(r, "point", "nothing", struct{}{}, func(_ struct{}, env string) (string, error) { return "point", nil })
	return r
}

func TestForms(t *testing.T) {
	r := shapes()
	config := simtest.Must(r.Config("body"))(t)
	// "round" comes before "square": its settings are the first.
	var keys []string
	for _, p := range DescribeParams(config) {
		keys = append(keys, p.Key+" = "+p.Default)
	}
	simtest.EqualSlices(t, keys, []string{`size = 3`, `shade = "light"`, `edge = "5ps"`}, "settings")
	for env, want := range map[string]string{"round": "round 3 light", "square": "square 3 5ps", "square and round": "round 3 light"} {
		got, err := r.Build("body", config, env)
		simtest.ErrorIf(t, got != want || err != nil, "in %q: %q, %v; want %q", env, got, err, want)
	}
	// A configuration of one form asks for that form.
	if got, err := Make(r, "body", "square and round", func(c *squareConfig) { c.Size = 4 }); got != "square 4 5ps" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for want, err := range map[string]error{
		`shape "body" needs round or square`: second(r.New("body", "flat")),
		`shape "body" needs square`:          second(Make[squareConfig](r, "body", "round", nil)),
		`param: shape "body" is configured by *param.roundConfig or *param.squareConfig`: second(Make[struct{}](r, "body", "round", nil)),
		`size = 1: want 2 to 9`: second(r.New("body", "square", Set("size", 1))),
	} {
		simtest.ErrorIf(t, err == nil || !strings.HasPrefix(err.Error(), want), "error %v, want %s", err, want)
	}
	d, err := r.Describe("body")
	simtest.ErrorIf(t, err != nil || d.Doc != "with round: made of rounds; with square: made of squares", "%q, %v", d.Doc, err)
	// Bounds that differ are named with their form.
	if p := d.Params[0]; p.Doc != "with round: how large; with square: how wide" || p.Allowed != "with round: 1 to 9; with square: 2 to 9" {
		t.Errorf("size: %+v", p)
	}
	p := d.Params[1]
	simtest.ErrorIf(t, p.Doc != "with round: how dark" || p.Allowed != "light, dark", "shade: %+v", p)
}

func second[T any](_ T, err error) error { return err }

// TestFormElsewhere: a form without a need is taken where no other is, whichever was
// registered first.
func TestFormElsewhere(t *testing.T) {
	r := NewRegistry[string, string]("shape")
	round := Need[string]{"round", func(env string) bool { return env == "round" }}
	Register(r, "body", "made of dots", struct{}{}, func(struct{}, string) (string, error) { return "dots", nil })
	RegisterFor(r, round, "body", "made of rounds", roundConfig{3, "light"}, func(roundConfig, string) (string, error) { return "rounds", nil })
	for env, want := range map[string]string{"round": "rounds", "flat": "dots"} {
		got, err := r.New("body", env)
		simtest.ErrorIf(t, got != want || err != nil, "in %q: %q, %v; want %q", env, got, err, want)
	}
	d, err := r.Describe("body")
	simtest.ErrorIf(t, err != nil || d.Doc != "with round: made of rounds; elsewhere: made of dots", "%q, %v", d.Doc, err)
}

func TestNew(t *testing.T) {
	r := shapes()
	for _, c := range []struct {
		env      string
		settings []Setting
		want     string
	}{
		{"round", nil, "round 3 light"},
		{"round", []Setting{Set("size", 7), Set("shade", "dark")}, "round 7 dark"},
		{"square", []Setting{Set("edge", "2ns"), Set("size", uint8(2))}, "square 2 2ns"},
		{"square", []Setting{Set("edge", 7*sim.Nanosecond)}, "square 3 7ns"},
		{"round", []Setting{Set("size", 10)}, "size = 10: want 1 to 9"},
		{"round", []Setting{Set("edge", "2ns")}, `edge = 2ns: want it left out: shape "body" does not use it here`},
		{"round", []Setting{Set("colour", 1), Set("size", "big")},
			"colour = 1: want a setting of shape \"body\": size, shade, edge\nsize = big: want a value of type integer"},
		{"square", []Setting{Set("edge", 2)}, "edge = 2: want a value of type time"},
		{"square", []Setting{Set("edge", nil)}, "edge = <nil>: want a value of type time"},
		{"square", []Setting{Set("size", 2.5)}, "size = 2.5: want a value of type integer"},
	} {
		got, err := r.New("body", c.env, c.settings...)
		if err != nil {
			got = err.Error()
			simtest.ErrorIf(t, !errors.As(err, new(*ParamError)), "%v: %T", c.settings, err)
		}
		simtest.ErrorIf(t, got != c.want, "%v in %q: %q, want %q", c.settings, c.env, got, c.want)
	}
	_, err := r.New("bodies", "")
	simtest.ErrorIf(t, !errors.As(err, new(*UnknownNameError)), "error %v", err)
	got, err := r.New("point", "")
	simtest.ErrorIf(t, got != "point" || err != nil, "%q, %v", got, err)
}

// TestRegistrations: a name has one constructor for a need; forms agree about what they share; nothing
// is missing, and every setting can be set. What is nil is an error, but where that means nothing.
func TestRegistrations(t *testing.T) {
	build := func(roundConfig, string) (string, error) { return "", nil }
	light := roundConfig{3, "light"}
	on := func(what string) Need[string] { return Need[string]{what, func(string) bool { return true }} }
	type twice struct {
		A, B int `toml:"a" doc:"x"`
	}
	type hidden struct {
		a int `toml:"a" doc:"x"`
	}
	for want, register := range map[string]func(r *Registry[string, string]){
		`shape "body" registered twice`:  func(r *Registry[string, string]) { RegisterFor(r, on("round"), "body", "x", light, build) },
		`shape "point" registered twice`: func(r *Registry[string, string]) { Register(r, "point", "x", light, build) },
		`shape "body": setting "size" has`: func(r *Registry[string, string]) {
			RegisterFor(r, on("oval"), "body", "x", roundConfig{4, "light"}, build)
		},
		`shape "": want a name`:             func(r *Registry[string, string]) { Register(r, "", "x", light, build) },
		`shape "mute": want a name, a line`: func(r *Registry[string, string]) { Register(r, "mute", "", light, build) },
		`shape "far": want a name, a line of documentation, settings in a struct (these are a *param.roundConfig)`: func(r *Registry[string, string]) {
			Register(r, "far", "x", &light, func(*roundConfig, string) (string, error) { return "", nil })
		},
		`shape "idle": want a name`:                           func(r *Registry[string, string]) { Register[roundConfig](r, "idle", "x", light, nil) },
		`setting "a" of param.twice: want an exported field`:  func(*Registry[string, string]) { DescribeParams(&twice{}) },
		`setting "a" of param.hidden: want an exported field`: func(*Registry[string, string]) { DescribeParams(&hidden{a: 1}) },
	} {
		simtest.Panics(t, func() { register(shapes()) }, "param: "+want)
	}
	none := NewRegistry[int, error]("fault")
	Register(none, "none", "x", struct{}{}, func(struct{}, int) (error, error) { return nil, nil })
	simtest.Refuse(none.New("none", 1))(t, `fault "none" is nil`)
	simtest.Must(none.OrNil().New("none", 1))(t)
}

type seeded struct{}

func (seeded) Seeded() {}

// TestSeedFor: a configuration that draws gets the seed, by value as by pointer; another gets 0.
func TestSeedFor(t *testing.T) {
	for i, config := range []any{seeded{}, &seeded{}, struct{}{}, nil} {
		want := uint64(7)
		if i > 1 {
			want = 0
		}
		simtest.Equal(t, SeedFor(config, 7), want, "%T:", config)
	}
}
