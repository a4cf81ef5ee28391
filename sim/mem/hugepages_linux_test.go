package mem

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/weft-sim/weft/sim/simtest"
)

// After a reservation, what is allocated in small pieces lies where the operating
// system has been asked for large pages.
func TestReserveHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("the system has no large pages")
	}
	const piece, pieces = 128 << 10, 1 << 10 // twice what is reserved at a time
	ReserveHugePages(192 << 20)
	in := 0
	keep := make([][]byte, pieces)
	for i := range keep {
		keep[i] = make([]byte, piece)
	}
	asked := askedRanges(t)
	for i := range keep {
		at := uint64(uintptr(unsafe.Pointer(&keep[i][0])))
		for _, r := range asked {
			if r[0] <= at && at < r[1] {
				in++
			}
		}
	}
	simtest.ErrorIf(t, in < 3*pieces/4, "%d of %d pieces of %d bytes are in memory with large pages", in, pieces, piece) // the first fill gaps below
}

// askedRanges are the addresses for which large pages have been asked.
func askedRanges(t *testing.T) (ranges [][2]uint64) {
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	var r [2]uint64
	told := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			told = true
			if strings.Contains(flags+" ", " hg ") {
				ranges = append(ranges, r)
			}
		} else if first, _, _ := strings.Cut(line, " "); strings.Contains(first, "-") {
			simtest.Must(fmt.Sscanf(first, "%x-%x", &r[0], &r[1]))(t)
		}
	}
	if !told {
		t.Skip("the system does not tell what it has been asked for")
	}
	return ranges
}
