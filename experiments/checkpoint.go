package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/snapshot"
)

// keptFolder is where a result folder has the snapshots of points that are being
// computed.
const keptFolder = "snapshots"

// Checkpoint is the last snapshot of a part of a point that takes long: what the part goes on
// from when the process has been killed and the run is resumed.
type Checkpoint struct {
	dir   string
	name  string // of the file, without its extension
	every time.Duration
	began time.Time // when the last snapshot was written, or the part began
	long  bool      // one has been written
}

// Checkpoint is the snapshot of the next part of the point: the first call is about the first
// part, such as a replication, and so on. Call it for all of them, in the same order each
// time.
func (r *Run) Checkpoint() *Checkpoint {
	r.parts++
	return r.keeping(fmt.Sprintf("%s.%d", r.hash, r.parts-1))
}

// WarmCheckpoint is the snapshot of the warm-up that [Run.Warm] has computed for a part.
func (r *Run) WarmCheckpoint(w Warmup) *Checkpoint {
	return r.keeping("warm-" + r.warmup.partKey(w))
}

func (r *Run) keeping(name string) *Checkpoint {
	if r.keep.dir == "" || r.keep.every <= 0 {
		return nil
	}
	k := r.keep
	k.name, k.began = name, time.Now()
	return &k
}

// State is the last snapshot; nil: there is none. One that is damaged, or of another
// build, counts as none: the part begins again.
func (k *Checkpoint) State() []byte {
	if k == nil {
		return nil
	}
	text, err := input.ReadInput(filepath.Join(k.dir, k.file()), input.MaxStream)
	if err != nil {
		return nil
	}
	file, err := snapshot.Decode(text, build(), input.Memory()/2)
	if err != nil {
		return nil
	}
	data, err := file.Find(k.name, nil)
	k.long = err == nil
	return data
}

// Save is called now and then while the part is computed; state writes it. A snapshot is
// kept every so often, and of parts that took so long for one that it is not lost when
// they are done.
func (k *Checkpoint) Save(done bool, state func() ([]byte, error)) error {
	if k == nil || time.Since(k.began) < k.every && !(done && k.long) {
		return nil
	}
	data, err := state()
	if err != nil {
		return err
	}
	f := &snapshot.File{Build: build(), States: []snapshot.State{{Key: k.name, Data: data}}}
	if err := writeInside(k.dir, k.file(), f.Encode()); err != nil {
		return err
	}
	k.began, k.long = time.Now(), true
	return nil
}

func (k *Checkpoint) file() string { return keptFolder + "/" + k.name + ".weft" }

// forgetKept removes the snapshots of a point that is finished.
func (r *runner) forgetKept(p *Point) {
	if r.execution.Dir == "" {
		return
	}
	dir := filepath.Join(r.execution.Dir, keptFolder)
	entries, err := os.ReadDir(dir)
	if err != nil || insideOnly(r.execution.Dir, keptFolder) != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), p.Hash+".") {
			_ = os.Remove(filepath.Join(dir, e.Name())) // it hurts nobody if it stays
		}
	}
}

// removeKept removes all snapshots of a result folder.
func removeKept(dir string) { _ = os.RemoveAll(filepath.Join(dir, keptFolder)) }
