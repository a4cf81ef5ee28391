package chakra

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-sim/weft/mpi/trace"
	"github.com/weft-sim/weft/sim/simtest"
)

// hostile makes traces whose messages are well formed, and whose numbers, counts and nesting are
// what no writer writes.
type hostile struct{ simtest.Hostile }

// number is often one that readers do not expect.
func (h hostile) number() uint64 {
	return h.Number(8, 0, 1, 2, 7, 127, 128, 1<<15, 1<<20, 1<<30-1, 1<<30, math.MaxInt32, 1<<31, math.MaxUint32, 1<<40, 1<<62, math.MaxInt64, 1<<63, math.MaxUint64)
}

// value is that of a field of some wire type.
func (h hostile) value(kind protowire.Type, depth int) []byte {
	switch kind {
	case protowire.VarintType:
		return protowire.AppendVarint(nil, h.number())
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(nil, uint32(h.number()))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(nil, h.number())
	case protowire.BytesType:
		if depth > 0 && h.IntN(2) == 0 {
			return protowire.AppendBytes(nil, h.message(depth-1))
		}
		return protowire.AppendBytes(nil, bytes.Repeat([]byte{byte(h.IntN(256))}, h.Count(1<<12)))
	}
	return nil
}

// message is any fields.
func (h hostile) message(depth int) (m []byte) {
	for range h.Count(200) {
		kind := []protowire.Type{protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type, protowire.BytesType}[h.IntN(4)]
		m = append(protowire.AppendTag(m, protowire.Number(1+h.IntN(34)), kind), h.value(kind, depth)...)
	}
	if h.IntN(30) == 0 { // groups, one in another
		n := 1 + h.IntN(20_000)
		for range n {
			m = protowire.AppendTag(m, 12, protowire.StartGroupType)
		}
		for range n {
			m = protowire.AppendTag(m, 12, protowire.EndGroupType)
		}
	}
	return m
}

// attribute is one that is read, mostly of the kind that it should be.
func (h hostile) attribute() (m []byte) {
	names := []string{nanoseconds, "comm_dst", "comm_src", "comm_size", "comm_tag", "comm_type", "root", "involved_dim", "pg_name", "other", ""}
	m = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte(names[h.IntN(len(names))]))
	for range 1 + h.IntN(40)/39 {
		field := protowire.Number(fieldInt64)
		if h.IntN(4) == 0 {
			field = protowire.Number(3 + h.IntN(lastField-2))
		}
		m = append(protowire.AppendTag(m, field, wireType(field)), h.value(wireType(field), 2)...)
	}
	return m
}

// node is an operation.
func (h hostile) node(id int) (m []byte) {
	field := func(number protowire.Number, kind protowire.Type, value []byte) {
		m = append(protowire.AppendTag(m, number, kind), value...)
	}
	number := uint64(id)
	if h.IntN(100) == 0 {
		number = h.number()
	}
	field(1, protowire.VarintType, protowire.AppendVarint(nil, number))
	kind := uint64(1 + h.IntN(7))
	if h.IntN(50) == 0 {
		kind = h.number()
	}
	field(3, protowire.VarintType, protowire.AppendVarint(nil, kind))
	for of := protowire.Number(4); of <= 5; of++ {
		var list []byte
		for range h.Count(1 << 14) {
			before := uint64(h.IntN(id + 1))
			if h.IntN(60) == 0 {
				before = h.number()
			}
			list = protowire.AppendVarint(list, before)
		}
		field(of, protowire.BytesType, protowire.AppendBytes(nil, list))
	}
	field(7, protowire.VarintType, protowire.AppendVarint(nil, h.number()))
	for range h.Count(1000) + 2 {
		field(10, protowire.BytesType, protowire.AppendBytes(nil, h.attribute()))
	}
	if h.IntN(60) == 0 {
		m = append(m, h.message(3)...)
	}
	return m
}

// trace is the file of a rank, of less than a megabyte.
func (h hostile) trace() []byte {
	file := protowire.AppendBytes(nil, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "v"))
	for id := range h.Count(2000) {
		node := h.node(id)
		if len(file)+len(node) > 1<<20 {
			break
		}
		if h.IntN(400) == 0 { // a length that lies
			file = protowire.AppendVarint(file, h.number())
		}
		file = protowire.AppendBytes(file, node)
	}
	return file
}

// TestHostile: 100,000 traces are schedules or errors that name a file, with bounded memory.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	read := 0
	for _, seed := range simtest.Seeds(t, 100_000, 400) {
		h := hostile{simtest.NewHostile(seed)}
		ranks := 1 + h.IntN(4)
		for r := range 4 {
			file := filepath.Join(dir, fmt.Sprintf("t.%d.et", r))
			if r < ranks {
				simtest.Check(t, os.WriteFile(file, h.trace(), 0o666))
			} else {
				_ = os.Remove(file)
			}
		}
		s := trace.Default()
		s.Drop = h.IntN(4) > 0
		simtest.Bounded(t, func() {
			g, _, err := Import(filepath.Join(dir, "t.0.et"), "", s)
			if err == nil {
				read++
			}
			simtest.ErrorIf(t, err == nil && g.Ranks() != ranks || err != nil && !strings.Contains(err.Error(), "t."),
				"ranks %d, error %v", ranks, err)
		})
		simtest.FatalIf(t, t.Failed(), "seed %d", seed)
	}
	simtest.ErrorIf(t, read == 0, "none is read")
}

// TestHostilePacked: packed files of some kilobytes, of a node that repeats what it may: one
// dependency eight million times, and attributes without an end; and of nodes without a number.
func TestHostilePacked(t *testing.T) {
	dependencies := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), bytes.Repeat([]byte{1}, 1<<23))
	attributes := bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, 10, protowire.BytesType), attributeOf("comm_size", 8)), 1<<19)
	for what, node := range map[string][]byte{"dependencies": dependencies, "attributes": attributes, "nodes": nil} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		description := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "v")
		simtest.Must(w.Write(protowire.AppendBytes(nil, description)))(t)
		for id := range uint64(12) {
			message := append(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id+1), node...)
			message = append(message, protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(compute))...)
			simtest.Must(w.Write(protowire.AppendBytes(nil, message)))(t)
		}
		simtest.Check(t, w.Close())
		file := filepath.Join(t.TempDir(), "t.0.et.gz")
		simtest.Check(t, os.WriteFile(file, b.Bytes(), 0o666))
		simtest.Bounded(t, func() {
			_, _, err := Import(file, "", trace.Default())
			simtest.ErrorIf(t, err != nil && !strings.Contains(err.Error(), "t.0.et.gz"), "%s: %v", what, err)
		})
	}
}

// attributeOf is the message of an attribute.
func attributeOf(name string, value uint64) []byte {
	m := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
	return protowire.AppendVarint(protowire.AppendTag(m, fieldInt64, protowire.VarintType), value)
}
