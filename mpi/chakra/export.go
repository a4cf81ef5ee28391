package chakra

import (
	"fmt"
	"io"
	"strconv"

	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/goal"
)

// nanoseconds is the attribute that gives a computation of weft its exact length, as
// durations are in us.
const nanoseconds = "weft_duration_ns"

// Export writes a schedule as a trace, a file a rank, which create opens. Dependencies on
// starts, receives from any rank and CPUs or NICs beyond the first are refused: the format
// has no words for them.
func Export(g *goal.Schedule, create func(rank int) (io.WriteCloser, error)) error {
	for r := range g.Ranks() {
		f, err := create(r)
		if err != nil {
			return err
		}
		err = exportRank(g, r, f)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func exportRank(g *goal.Schedule, rank int, f io.Writer) error {
	w := NewWriter(f, Global{Version: "0.0.4"})
	var n Node
	err := g.Steps(rank, func(s goal.Step) error {
		n = Node{ID: uint64(s.ID) + 1, Name: s.Kind.String() + "_" + strconv.Itoa(int(s.ID)+1), Type: Compute, Data: n.Data[:0], Attr: n.Attr[:0]}
		for _, before := range s.After {
			n.Data = append(n.Data, uint64(before)+1)
		}
		switch {
		case s.Kind == mpi.Calc:
			n.Duration = uint64(s.Size / 1000)
			if s.Size%1000 != 0 {
				n.Attr = append(n.Attr, integerAttribute(nanoseconds, s.Size))
			}
		case s.Peer == mpi.Any || s.Tag == mpi.Any:
			return fmt.Errorf("%s: any rank or any tag, which the format cannot say", s.Op)
		default:
			source, destination := int64(rank), int64(s.Peer)
			n.Type = Send
			if s.Kind == mpi.Recv {
				n.Type, source, destination = Receive, destination, source
			}
			n.Attr = append(n.Attr, integerAttribute("comm_size", s.Size), integerAttribute("comm_src", source), integerAttribute("comm_dst", destination), integerAttribute("comm_tag", int64(s.Tag)))
		}
		w.Write(&n)
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}
