package hca

// Buffers is a stock of pre-posted receive buffers: the receive queue of one QP
// or a shared receive queue (SRQ).
type Buffers struct{ posted, used int }

// NewBuffers posts n buffers; 0 means that there are always enough.
func NewBuffers(n int) Buffers { return Buffers{posted: n} }

// Take uses a buffer for an arriving message; false if there is none: the
// sender gets a receiver-not-ready NAK.
func (b *Buffers) Take() bool {
	if b.posted > 0 && b.used == b.posted {
		return false
	}
	b.used++
	return true
}

// Put posts a buffer again after its message was taken out.
func (b *Buffers) Put() {
	if b.used == 0 {
		panic("hca: a buffer posted that was not taken")
	}
	b.used--
}
