package dswitch

import "github.com/weft-sim/weft/fabric/topology"

// sigmaSchedule is the all-to-all on PCC(N, m, sigma) with sigma > 1 in
// ceil((N-1)/m) = ceil((m-1)/sigma) sessions, fewer than which m packets a
// processor and session cannot do. The paper's outlook expects this saving
// from sigma permutations at a time; the construction is ours. In a design
// developed from the difference set D a packet that enters a switch at port i
// and leaves at port j goes from x to x + D[i] - D[j], so that one table of
// port pairs (i, j) for all switches serves every processor alike: each
// difference once, no i and no j twice in a session.
type sigmaSchedule struct {
	n      *SessionNetwork
	output [][]int // per session and input port: the output port, or -1
}

func newSigmaSchedule(n *SessionNetwork) (*sigmaSchedule, bool) {
	output, ok := sigmaSessions(n.sw.Design())
	return &sigmaSchedule{n, output}, ok
}

func (s *sigmaSchedule) Sessions() int  { return len(s.output) }
func (s *sigmaSchedule) Indirect() bool { return false }

func (s *sigmaSchedule) Fill(t int, h *Headers) {
	for x := range s.n.Processors() {
		for i, j := range s.output[t] {
			if j >= 0 {
				h.Packet(x, i)[0] = uint8(j)
			}
		}
	}
}

// sigmaSessions packs the differences of the design into sessions, by search:
// always the difference with the fewest places left, its places in order. ok
// is false if the least number of sessions is not enough or the search takes
// more than a million steps.
func sigmaSessions(d *topology.Design) (output [][]int, ok bool) {
	m, n := d.Size(), d.Points()
	type pair struct{ i, j int }
	pairs := make([][]pair, n) // per difference (as the point reached from 0)
	for i := range m {
		for j := range m {
			if g := d.Point(d.Block(0, i), j); g != 0 {
				pairs[g] = append(pairs[g], pair{i, j})
			}
		}
	}
	output = make([][]int, (n-2+m)/m)
	taken := make([][]bool, len(output)) // output ports in use
	for t := range output {
		output[t], taken[t] = make([]int, m), make([]bool, m)
		fill(output[t], -1)
	}
	placed, steps := make([]bool, n), 0
	var search func(left int) bool
	search = func(left int) bool {
		if left == 0 {
			return true
		}
		if steps++; steps > 1_000_000 {
			return false
		}
		best, fewest := 0, len(output)*m*m
		for g := 1; g < n; g++ {
			if placed[g] {
				continue
			}
			places := 0
			for t := range output {
				for _, p := range pairs[g] {
					if output[t][p.i] < 0 && !taken[t][p.j] {
						places++
					}
				}
			}
			if places < fewest {
				best, fewest = g, places
			}
		}
		placed[best] = true
		for t := range output {
			for _, p := range pairs[best] {
				if output[t][p.i] >= 0 || taken[t][p.j] {
					continue
				}
				output[t][p.i], taken[t][p.j] = p.j, true
				if search(left - 1) {
					return true
				}
				output[t][p.i], taken[t][p.j] = -1, false
			}
		}
		placed[best] = false
		return false
	}
	return output, search(n - 1)
}
