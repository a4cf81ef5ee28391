package core

import "github.com/weft-sim/weft/sim/snapshot"

// numbers gives records that a state names, as packets and source packets, numbers in the order in
// which they are seen. Ids follow from how the network is divided among threads, numbers
// do not; a state that has been read has the numbers for ids.
type numbers struct {
	what   string
	number []int32 // by id, + 1; where a state is written
	ids    []int32 // by number; likewise
	Count  int
}

// among prepares for ids less than n.
func (n *numbers) among(ids int) { n.number = make([]int32, ids) }

// see gives a record the next number, if it has none.
func (n *numbers) see(id int32) {
	if n.number[id] == 0 {
		n.ids = append(n.ids, id)
		n.Count = len(n.ids)
		n.number[id] = int32(n.Count)
	}
}

// table archives how many there are, and each by its id. more makes records, of the next ids,
// before the first is read and whenever those that there are are used up.
func (n *numbers) table(a *snapshot.Archive, more func(), record func(id int32)) {
	a.Mark(n.what)
	snapshot.Int(a, &n.Count)
	n.Each(a, func(id int32) {
		if a.Reading() && id%chunkPackets == 0 {
			more()
		}
		record(id)
	})
}

// Each visits the ids of all records, by number.
func (n *numbers) Each(a *snapshot.Archive, visit func(id int32)) {
	for i := 0; i < n.Count && a.Err() == nil; i++ {
		id := int32(i)
		if !a.Reading() {
			id = n.ids[i]
		}
		visit(id)
	}
}

// read tells whether a state that has been read has a record of an id.
func (n *numbers) read(id int32) bool { return int(id) < n.Count }

// id archives the number of a record in place of its id.
func (n *numbers) id(a *snapshot.Archive, id *int32) {
	number := *id
	if !a.Reading() {
		number = n.number[number] - 1
	}
	if snapshot.Int(a, &number); a.Reading() {
		*id = number
	}
}

// idOrNone is id for what may name none, -1, or one that has gone, which becomes -1.
func (n *numbers) idOrNone(a *snapshot.Archive, id *int32) {
	none := !a.Reading() && (*id < 0 || n.number[*id] == 0)
	if snapshot.Bool(a, &none); none {
		*id = -1
		return
	}
	n.id(a, id)
}

// flagged archives the id of a packet with flags in its lowest bits.
func (n *numbers) flagged(a *snapshot.Archive, p *int32) {
	id, flags := *p>>PacketBits, *p&(1<<PacketBits-1)
	n.id(a, &id)
	snapshot.Int(a, &flags)
	if a.Reading() {
		*p = id<<PacketBits | flags
	}
}
