package dswitch

// digitSchedule is the all-to-all of m^k sessions (Podlazov 2012, section 2).
// The number of a session, written to base m, steers the stages: with t from 1,
// t-1 = a_k*m^(k-1) + ... + a_2*m + a_1. Every processor sends its packet
// through all its m ports. The splitters of stage r, 2 <= r <= k, pass what they
// get to port a_r + 1. A spine switch passes what came on port j to port (a + 1
// + j) mod m + 1, where a is a_1 (see digitVariant). Ports count from 1 as in
// the paper.
//
// Section 3 writes c_r = (a_r + 1 + j) mod m + 1 for the splitters, too, where j
// is the port that they receive on. On the way up a splitter receives on one
// port only, so that this gives the same sessions in another order; the form of
// section 2 is used.
//
// Theorem 2 says that this serves all pairs. It does for one cascade and for
// two: in a session all splitters of the last stage use the same port, so that
// each spine switch gets one packet, and no two packets ever meet. With three
// cascades two packets may come down to one joiner of stage 2, which passes one
// and drops the other. The proof (lemma 2) takes them for copies of one packet;
// they are packets of different processors, and the loser may have no other
// path.
//
// Whether they meet depends on how the ports of the PK_1 are dealt out to the
// joiners of stage 2. If PK_2 consists of whole groups (R_2 = N(m-1)), the
// joiner of an element of group g has the ports g*m + 1 to g*m + m, one in each
// of its m copies of PK_1, while the packets of a session leave the PK_1 by
// ports that differ by multiples of m: a joiner gets one packet at most. With a
// partial group (R_2 = N(m-1) + 1) the last port of a PK_1 breaks this order, as
// a fourth cascade does in any case: 84 of 1,190 pairs of PK_3(35, 3, 1|9) are
// never served. [accelerated] serves all pairs everywhere, in fewer sessions.
type digitSchedule struct {
	m, k, processors int
	variant          digitVariant
	indirect         bool
}

type digitVariant uint8

const (
	// digitsPrinted takes the text at its word: spine switches use a_k, as
	// the last splitters do, so that a_1 steers nothing. With k > 1 each
	// inner input then reaches only m of the m^2 routes.
	digitsPrinted digitVariant = iota
	// digitsCorrected lets the spine switches use a_1.
	digitsCorrected
	// digitsShort leaves out the sessions in which the spine switches return
	// every packet on the port that it came from (a_1 = m-2).
	digitsShort
)

func (d *digitSchedule) Indirect() bool { return d.indirect }

func (d *digitSchedule) Sessions() int {
	n := d.m
	if d.variant == digitsShort {
		n--
	}
	for range d.k - 1 {
		n *= d.m
	}
	return n
}

func (d *digitSchedule) Fill(t int, h *Headers) {
	digits := make([]int, d.k+1) // digits[r] = a_r
	for r := 1; r <= d.k; r++ {
		base := d.m
		if r == 1 && d.variant == digitsShort {
			base--
		}
		digits[r] = t % base
		t /= base
	}
	steer := digits[1]
	if d.variant == digitsPrinted {
		steer = digits[d.k]
	}
	if d.variant == digitsShort && steer >= d.m-2 {
		steer++
	}
	offset := (steer + 2) % d.m // from port 0: ((a+1+j+1) mod m)
	for x := range d.processors {
		for j := range d.m {
			route := h.Packet(x, j)
			last := j // the port on which the spine switch will receive
			for i := range d.k - 1 {
				last = digits[i+2]
				route[i] = uint8(last)
			}
			b := offset
			if !d.indirect {
				b = (offset + last) % d.m
			}
			route[d.k-1] = uint8(b)
		}
	}
}
