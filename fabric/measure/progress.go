package measure

// progress keeps how a run went from the first cycle of its workload on, in slices: what the
// verdict on it is found from. It keeps between half of mostSlices and
// mostSlices; when they are full, neighbours are joined, and slices are twice as
// long from then on.
type progress struct {
	slices []progressSlice
	each   int64 // cycles of a slice
	open   progressSlice
}

// progressSlice is what happened in the cycles up to end. Slices are joined by
// adding them up.
type progressSlice struct {
	end       int64   // cycle, from the workload's first one on
	cycles    int64   // in it
	latency   int64   // of the packets delivered in it
	packets   int64   // delivered in it
	delivered int64   // flits that were worth it, or have been given up
	entered   int64   // flits that entered the network
	behind    float64 // sum over its cycles of how far sources are behind: see [fabric.Workload.BehindBy]
}

const mostSlices = 128

func newProgress() *progress { return &progress{each: sliceCycles} }

// add enters what happened since the last call.
func (p *progress) add(s progressSlice) {
	p.open.join(s)
	if p.open.cycles < p.each {
		return
	}
	if len(p.slices) == mostSlices {
		for i := range mostSlices / 2 {
			p.slices[i] = p.slices[2*i]
			p.slices[i].join(p.slices[2*i+1])
		}
		p.slices = p.slices[:mostSlices/2]
		p.each *= 2
	}
	if p.open.cycles >= p.each { // otherwise the first half of a longer one
		p.slices = append(p.slices, p.open)
		p.open = progressSlice{}
	}
}

func (s *progressSlice) join(o progressSlice) {
	s.end = o.end
	s.cycles += o.cycles
	s.latency += o.latency
	s.packets += o.packets
	s.delivered += o.delivered
	s.entered += o.entered
	s.behind += o.behind
}

// since lists the whole slices that begin at a cycle or later.
func (p *progress) since(cycle int64) []progressSlice {
	for i, s := range p.slices {
		if s.end-s.cycles >= cycle {
			return p.slices[i:]
		}
	}
	return nil
}
