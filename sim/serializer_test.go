package sim

import "testing"

func TestSerializerCarriesRemainders(t *testing.T) {
	var s Serializer
	d := NewDivider(3e9)
	total := Time(0)
	for range 3000 {
		total += s.Time(1, &d) // 8000/3 ps
	}
	if total != 8*Microsecond {
		t.Errorf("3000 B at 3 Gb/s take %v, want 8us", total)
	}
	// More sizes than the divider remembers: 0 to 99 B are 4950 B, ten times
	// 13.2 us.
	for i := range int64(1000) {
		total += s.Time(i%100, &d)
	}
	if total != 140*Microsecond {
		t.Errorf("another 49500 B end at %v, want 140us", total)
	}
}
