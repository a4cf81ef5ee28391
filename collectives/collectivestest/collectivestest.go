// Package collectivestest is the conformance suite of collective algorithms: on any number of ranks
// that an algorithm accepts, every rank ends with exactly the data of its contract, whatever the
// protocols. It is for weft's own algorithms and for others:
//
//	func TestMine(t *testing.T) { collectivestest.Conform(t, "allreduce-mine") }
package collectivestest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// most is the largest number of ranks that is tried.
const most = 70

// Conform holds the registered algorithm name to its contract, by [VerifyContract]: on 1 to 70
// ranks, one a node and several; even and odd sizes, fewer bytes than ranks among them; with every
// allowed value of every setting that has a list of them; with the first rank, the last and one in
// between for a setting "root". A *param.ParamError of key "ranks" may refuse numbers of ranks, but
// not all of three, nor all above one.
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
			simtest.ErrorIf(t, accepted < 3, "%d numbers of ranks of 1 to %d are accepted", accepted, most)
		})
	}
}

// Verify builds an algorithm with its defaults as set changes them (nil: not), for all of Conform's
// roots, and checks its contract; false if it refuses the number of ranks.
func Verify(t testing.TB, name string, env collectives.Env, set func(config any)) (accepted bool) {
	t.Helper()
	for _, root := range []int{0, env.Ranks / 2, env.Ranks - 1} {
		config, err := collectives.Registry.Config(name)
		simtest.Check(t, err)
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
	param.EachSetting(config, func(f *param.Field, v reflect.Value) {
		if f.Key == "root" && v.CanInt() {
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
	simtest.Check(t, err)
	all := []variant{{"defaults", nil}}
	param.EachSetting(config, func(f *param.Field, v reflect.Value) {
		key := f.Key
		for _, value := range strings.Split(f.Tag.Get("choices"), "|") {
			if v.Kind() != reflect.String || value == "" || value == v.String() {
				continue
			}
			all = append(all, variant{key + "=" + value, func(config any) {
				param.EachSetting(config, func(f *param.Field, v reflect.Value) {
					if f.Key == key {
						v.SetString(value)
					}
				})
			}})
		}
	})
	return all
}

// VerifyContract runs a collective symbolically and checks its contract: every rank ends with exactly
// the tokens that it must have. Sends are synchronous (a round ends only when the other side of each
// of its messages has entered the round that answers it), so that a schedule that passes cannot
// deadlock under any protocol. Also checked: sizes agree on both sides and with the slots; no round
// receives into a slot that it also sends or receives; nothing empty is sent; no contribution is
// combined twice; no message is left over. Cost: proportional to the slots moved.
func VerifyContract(c collectives.Collective) error {
	v := &verifier{c: c, contract: c.Contract(), ranks: make([]verifiedRank, c.Ranks()), waiting: map[envelope][]pending{}}
	for r := range v.ranks {
		v.runnable = append(v.runnable, r)
		rank := &v.ranks[r]
		rank.slots = make([][]collectives.Token, v.contract.Slots)
		rank.round = -1
		for s := range rank.slots {
			if token, ok := v.contract.Initial(r, s); ok {
				rank.slots[s] = []collectives.Token{token}
			}
		}
	}
	for len(v.runnable) > 0 && v.err == nil {
		r := v.runnable[len(v.runnable)-1]
		v.runnable = v.runnable[:len(v.runnable)-1]
		v.enterRound(r)
	}
	if v.err != nil {
		return v.err
	}
	return v.checkEnd()
}

type envelope struct {
	from, to, tag int32
	kind          collectives.Kind
}

// pending is a send or receive whose other side has not come yet, or a receive whose data have
// come, stored when the round ends.
type pending struct {
	rank int
	op   collectives.Op
	data [][]collectives.Token // of a send, or received
}

type verifiedRank struct {
	slots    [][]collectives.Token
	round    int
	open     int // operations of the round that are under way
	arrivals []pending
}

type verifier struct {
	c        collectives.Collective
	contract collectives.Contract
	ranks    []verifiedRank
	runnable []int
	waiting  map[envelope][]pending
	ops      []collectives.Op
	err      error
}

func (v *verifier) fail(rank int, format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("rank %d of %d, round %d: %s", rank, len(v.ranks), v.ranks[rank].round, fmt.Sprintf(format, args...))
	}
}

// enterRound ends the round that rank is in and starts the next one.
func (v *verifier) enterRound(r int) {
	rank := &v.ranks[r]
	for _, a := range rank.arrivals {
		for i, tokens := range a.data {
			at := a.op.Data.At(i)
			if a.op.Combine {
				tokens = v.combine(r, rank.slots[at], tokens)
			}
			rank.slots[at] = tokens
		}
	}
	rank.arrivals = rank.arrivals[:0]
	rank.round++
	if rank.round >= v.c.Rounds(r) {
		return
	}
	v.ops = v.c.Round(r, rank.round, v.ops[:0])
	v.checkRaces(r, v.ops)
	rank.open = 1 // held until all are started
	for _, op := range slices.Clone(v.ops) {
		v.start(r, op)
	}
	v.finish(r)
}

func (v *verifier) finish(r int) {
	if v.ranks[r].open--; v.ranks[r].open == 0 {
		v.runnable = append(v.runnable, r)
	}
}

func (v *verifier) start(r int, op collectives.Op) {
	rank := &v.ranks[r]
	switch op.Kind {
	case collectives.Compute:
		return
	case collectives.Copy:
		if !v.checkSize(r, op) {
			return
		}
		if op.Into.Count != op.Data.Count {
			v.fail(r, "copies %d slots into %d", op.Data.Count, op.Into.Count)
			return
		}
		data := v.read(r, op)
		for i := range data {
			rank.slots[op.Into.At(i)] = data[i]
		}
		return
	}
	if op.Peer < 0 || int(op.Peer) >= len(v.ranks) || int(op.Peer) == r {
		v.fail(r, "message with rank %d", op.Peer)
		return
	}
	if !v.checkSize(r, op) {
		return
	}
	mine := pending{rank: r, op: op}
	key := envelope{int32(r), op.Peer, op.Tag, collectives.Send}
	wanted := envelope{int32(r), op.Peer, op.Tag, collectives.Recv}
	if op.Kind == collectives.Send {
		mine.data = v.read(r, op)
	} else {
		key = envelope{op.Peer, int32(r), op.Tag, collectives.Recv}
		wanted = envelope{op.Peer, int32(r), op.Tag, collectives.Send}
	}
	rank.open++
	queue := v.waiting[wanted]
	if len(queue) == 0 {
		v.waiting[key] = append(v.waiting[key], mine)
		return
	}
	other := queue[0]
	if len(queue) == 1 {
		delete(v.waiting, wanted)
	} else {
		v.waiting[wanted] = queue[1:]
	}
	send, recv := mine, other
	if op.Kind == collectives.Recv {
		send, recv = other, mine
	}
	if send.op.Bytes != recv.op.Bytes || send.op.Data.Count != recv.op.Data.Count {
		v.fail(recv.rank, "receives %d B in %d slots where rank %d sends %d B in %d", recv.op.Bytes, recv.op.Data.Count, send.rank, send.op.Bytes, send.op.Data.Count)
	}
	v.ranks[recv.rank].arrivals = append(v.ranks[recv.rank].arrivals, pending{recv.rank, recv.op, send.data})
	v.finish(mine.rank)
	v.finish(other.rank)
}

func (v *verifier) read(r int, op collectives.Op) [][]collectives.Token {
	data := make([][]collectives.Token, op.Data.Count)
	for i := range data {
		at := op.Data.At(i)
		if data[i] = v.ranks[r].slots[at]; data[i] == nil {
			v.fail(r, "slot %d is read but holds nothing", at)
		}
	}
	return data
}

func (v *verifier) checkSize(r int, op collectives.Op) (ok bool) {
	slots := op.Data
	sum := int64(0)
	for i := range int(slots.Count) {
		at := slots.At(i)
		if at < 0 || at >= v.contract.Slots {
			v.fail(r, "slot %d of %d", at, v.contract.Slots)
			return false
		}
		sum += v.contract.Bytes(r, at)
	}
	if sum != op.Bytes {
		v.fail(r, "an operation of %d B on slots of %d B", op.Bytes, sum)
	}
	return sum == op.Bytes
}

// checkRaces refuses a round that receives into a slot in other use. Combining goes through a
// scratch buffer and may read what is sent.
func (v *verifier) checkRaces(r int, ops []collectives.Op) {
	const sent, received = 1, 2
	use := map[int]int{}
	for _, op := range ops {
		for i := range int(op.Data.Count) {
			at := op.Data.At(i)
			switch {
			case op.Kind == collectives.Send && use[at]&received != 0, op.Kind == collectives.Recv && !op.Combine && use[at] != 0:
				v.fail(r, "slot %d is received into while it is in use", at)
			case op.Kind == collectives.Send:
				use[at] |= sent
			case op.Kind == collectives.Recv && !op.Combine:
				use[at] |= received
			}
		}
	}
}

// combine merges two ascending sets of tokens.
func (v *verifier) combine(r int, a, b []collectives.Token) []collectives.Token {
	sum := make([]collectives.Token, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			sum, a = append(sum, a[0]), a[1:]
		case a[0] > b[0]:
			sum, b = append(sum, b[0]), b[1:]
		default:
			if !v.contract.Idempotent {
				v.fail(r, "token %d is combined twice", a[0])
			}
			sum, a, b = append(sum, a[0]), a[1:], b[1:]
		}
	}
	return append(append(sum, a...), b...)
}

func (v *verifier) checkEnd() error {
	for r := range v.ranks {
		if rounds := v.c.Rounds(r); v.ranks[r].round < rounds {
			v.fail(r, "%d operations never complete: deadlock", v.ranks[r].open)
			return v.err
		}
	}
	if len(v.waiting) > 0 {
		return errors.New("messages are left over")
	}
	var want []collectives.Token
	for r := range v.ranks {
		for s, have := range v.ranks[r].slots {
			if want = v.contract.Final(r, s, want[:0]); len(want) > 0 && !slices.Equal(have, want) {
				v.fail(r, "slot %d ends with tokens %v, want %v", s, have, want)
				return v.err
			}
		}
	}
	return nil
}
