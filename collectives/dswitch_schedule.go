package collectives

// digitSchedule is the all-to-all of sessions whose number, written to base
// m, steers the stages (Podlazov 2012, section 2): session number t-1 =
// a_k*m^(k-1) + ... + a_2*m + a_1. Every processor broadcasts its packet to
// the m inner switches; splitters of stage r pass it to port a_r + 1; spine
// switches pass what came on port j to port (a + 1 + j) mod m + 1, ports
// numbered from 1, where a is a_1 (see digitVariant).
//
// Section 3 writes c_r = (a_r + 1 + j) mod m + 1 for the splitters, too, j the
// receiving port. On the way up a splitter has one receiving port, so that
// this only renames the sessions; the form of section 2 is used.
//
// Deviation from theorem 2: with up to two cascades no two packets ever meet,
// because the last stage's splitters all use one port and each spine switch
// gets one packet. With three cascades the splitters of stage 2 use port a_2 of
// every group, and packets may meet at a joiner of stage 2, which the proof
// (lemma 2) takes for duplicates; they have different sources. If PK_1's ports
// are split into whole groups (R_2 = N(m-1)), port g*m + j, the ports of one
// session differ by multiples of m, those of one joiner by less than m, and
// they do not meet. With a partial group (R_2 = N(m-1) + 1), and with four
// cascades, they do, and packets are lost: 84 of 1,190 on PK_3(35, 3, 1|9).
// [accelerated] is complete everywhere, in fewer sessions.
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
