package multicast

import "encoding/binary"

// nearest fills near (len = width) with the distance from every switch to the
// nearest of the members' switches. Cost: members times switches, eight at a
// time.
func (m *MinHop) nearest(members []member, near []uint8) {
	if len(members) == 0 {
		for i := range near {
			near[i] = Unreachable
		}
		return
	}
	copy(near, m.padded(members[0].sw))
	var rows [4][]uint8
	for at := 1; at < len(members); at += len(rows) {
		for i := range rows {
			rows[i] = m.padded(members[min(at+i, len(members)-1)].sw)
		}
		if m.near {
			narrowNear(near, &rows)
			continue
		}
		for _, row := range rows {
			narrow(near, row)
		}
	}
}

// narrow lowers each byte of near to that of row.
func narrow(near, row []uint8) {
	row = row[:len(near)]
	for i := 0; i+8 <= len(near); i += 8 {
		w := minBytes(binary.LittleEndian.Uint64(near[i:i+8]), binary.LittleEndian.Uint64(row[i:i+8]))
		binary.LittleEndian.PutUint64(near[i:i+8], w)
	}
}

// narrowNear is narrow by four rows at once, all of whose distances are below
// 128; see [widenNear].
func narrowNear(near []uint8, rows *[4][]uint8) {
	n := len(near)
	a, b, c, d := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	for i := 0; i+8 <= n; i += 8 {
		ab := minNear(binary.LittleEndian.Uint64(a[i:i+8]), binary.LittleEndian.Uint64(b[i:i+8]))
		cd := minNear(binary.LittleEndian.Uint64(c[i:i+8]), binary.LittleEndian.Uint64(d[i:i+8]))
		w := minNear(binary.LittleEndian.Uint64(near[i:i+8]), minNear(ab, cd))
		binary.LittleEndian.PutUint64(near[i:i+8], w)
	}
}

// minNear is minBytes for bytes below 128.
func minNear(a, b uint64) uint64 {
	ge := ((a | highs) - b) & highs
	return a ^ (a^b)&(ge-ge>>7)
}
