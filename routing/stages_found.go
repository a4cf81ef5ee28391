package routing

// foundHeads numbers the heads that are found on the way to a goal: 0, 1, 2, ...
type foundHeads struct {
	slots []stageSlot // by switch
	keys  []foundKey  // by number
}

// stageSlot is the last head of a switch that was found on the way to a goal.
type stageSlot struct {
	goal   int32 // + 1
	number int32
}

type foundKey struct {
	stageKey
	before int32 // head of the same switch; -1: none
}

// reset forgets all heads.
func (f *foundHeads) reset() { f.keys = f.keys[:0] }

// number is that of a head; fresh tells that it is a new one.
func (f *foundHeads) number(goal int, k stageKey) (number int32, fresh bool) {
	before := int32(-1)
	slot := &f.slots[k.at]
	if slot.goal == int32(goal)+1 {
		before = slot.number
		for n := before; n >= 0; n = f.keys[n].before {
			if f.keys[n].stageKey == k {
				return n, false
			}
		}
	}
	number = int32(len(f.keys))
	*slot = stageSlot{int32(goal) + 1, number}
	f.keys = append(f.keys, foundKey{k, before})
	return number, true
}

// apart gives the next number to a head that is not to be found.
func (f *foundHeads) apart(k stageKey) { f.keys = append(f.keys, foundKey{k, -1}) }
