package goal

// list is a sequence that grows without being copied, in pieces, so that no memory is
// taken twice.
type list[T any] struct {
	pieces []*[pieceItems]T
	n      int
}

const (
	pieceBits  = 12
	pieceItems = 1 << pieceBits
)

func (l *list[T]) len() int { return l.n }

// at is the address of item i.
func (l *list[T]) at(i int32) *T { return &l.pieces[uint32(i)>>pieceBits][uint32(i)%pieceItems] }

// add appends an item.
func (l *list[T]) add(item T) {
	if l.n>>pieceBits == len(l.pieces) {
		l.pieces = append(l.pieces, new([pieceItems]T))
	}
	l.pieces[l.n>>pieceBits][l.n%pieceItems] = item
	l.n++
}

// all yields the addresses of all items.
func (l *list[T]) all(yield func(int32, *T) bool) {
	for i := range int32(l.n) {
		if !yield(i, l.at(i)) {
			return
		}
	}
}
