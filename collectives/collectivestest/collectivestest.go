// Package collectivestest is the conformance suite of collective algorithms: on any
// number of ranks that an algorithm accepts, every rank ends with exactly the data
// of its contract, whatever the protocols. It is for weft's own algorithms and for
// those that others register:
//
//	func TestMine(t *testing.T) { collectivestest.Conform(t, "allreduce-mine") }
package collectivestest

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// most is the largest number of ranks that is tried.
const most = 70

// Conform holds the registered algorithm name to its contract, by
// [VerifyContract]: on 1 to 70 ranks, one a node and several; even and odd
// sizes, fewer bytes than ranks among them; with every allowed value of every
// setting that has a list of them; with the first rank, the last and one in
// between for a setting "root". A number of ranks may be refused by a
// *param.ParamError of the key "ranks"; at least three must not be, and some of them
// must be more than one.
func Conform(t *testing.T, name string) {
	for _, variant := range variants(t, name) {
		t.Run(variant.name, func(t *testing.T) {
			accepted := 0
			for n := 1; n <= most; n++ {
				for i, bytes := range []sim.Bytes{1, 13, 1021, 65536} {
					if i > 1 && n%7 != 0 && n&(n-1) != 0 {
						continue // sizes matter for the division into chunks only
					}
					for _, perNode := range []int{1, 4} {
						env := collectives.Env{Ranks: n, PerNode: perNode, Bytes: bytes}
						if n%perNode == 0 && Verify(t, name, env, variant.set) && i == 0 && perNode == 1 {
							accepted++
						}
					}
				}
			}
			if accepted < 3 {
				t.Errorf("%d numbers of ranks of 1 to %d are accepted", accepted, most)
			}
		})
	}
}

// Verify builds an algorithm with its defaults but for what set changes (nil:
// nothing), for all roots that Conform tries, and checks its contract; false if it
// refuses the number of ranks.
func Verify(t testing.TB, name string, env collectives.Env, set func(config any)) (accepted bool) {
	t.Helper()
	for _, root := range []int{0, env.Ranks / 2, env.Ranks - 1} {
		config, err := collectives.Registry.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		if set != nil {
			set(config)
		}
		if !setRoot(config, root) && root != 0 {
			continue
		}
		c, err := collectives.Registry.Build(name, config, env)
		if Refused(err) {
			return false
		}
		if err == nil && c.Ranks() != env.Ranks {
			t.Fatalf("%+v: a schedule for %d ranks", env, c.Ranks())
		}
		if err == nil {
			err = VerifyContract(c)
		}
		if err != nil {
			t.Fatalf("%d ranks, %d a node, root %d, %v: %v", env.Ranks, env.PerNode, root, env.Bytes, err)
		}
	}
	return true
}

// Refused tells whether an algorithm does not accept a number of ranks.
func Refused(err error) bool {
	var p *param.ParamError
	return errors.As(err, &p) && p.Key == "ranks"
}

// setRoot sets the setting "root"; false if there is none.
func setRoot(config any, root int) (found bool) {
	param.EachSetting(config, func(f reflect.StructField, v reflect.Value) {
		if f.Tag.Get("toml") == "root" && v.CanInt() {
			v.SetInt(int64(root))
			found = true
		}
	})
	return found
}

type variant struct {
	name string
	set  func(config any)
}

// variants are the defaults and every other allowed value of a setting.
func variants(t testing.TB, name string) []variant {
	config, err := collectives.Registry.Config(name)
	if err != nil {
		t.Fatal(err)
	}
	all := []variant{{"defaults", nil}}
	param.EachSetting(config, func(f reflect.StructField, v reflect.Value) {
		key := f.Tag.Get("toml")
		for _, value := range strings.Split(f.Tag.Get("choices"), "|") {
			if v.Kind() != reflect.String || value == "" || value == v.String() {
				continue
			}
			all = append(all, variant{key + "=" + value, func(config any) {
				param.EachSetting(config, func(f reflect.StructField, v reflect.Value) {
					if f.Tag.Get("toml") == key {
						v.SetString(value)
					}
				})
			}})
		}
	})
	return all
}
