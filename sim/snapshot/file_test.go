package snapshot

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func exampleFile() *File {
	return &File{Build: "v1", States: []State{
		{"a", []string{"traffic.load = 0.3", "seed = 1"}, bytes.Repeat([]byte("state"), 100)},
		{"b", []string{"traffic.load = 0.4", "seed = 1", `routing.type = "min"`}, nil},
	}}
}

// TestFile: a file comes back, and one that cannot be used says why.
func TestFile(t *testing.T) {
	whole := exampleFile().Encode()
	if !bytes.Equal(whole, exampleFile().Encode()) {
		t.Error("equal files give other bytes")
	}
	f, err := Decode(whole, "v1", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := f.Find("a", nil); err != nil || string(data[:5]) != "state" || len(data) != 500 {
		t.Errorf("%q, %v", data, err)
	}
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{[]string{"traffic.load = 0.5", "seed = 1"}, "is of other settings: traffic.load = 0.3, here 0.5"},
		{[]string{"traffic.load = 0.4", "seed = 1", `routing.type = "val"`}, `is of other settings: routing.type = "min", here "val"`},
		{[]string{"traffic.load = 0.3", "seed = 1", "x = 2"}, "is of other settings: x = 2 is not set there"},
		{[]string{"traffic.load = 0.3"}, "is of other settings: seed = 1 is not set here"},
	} {
		if _, err := f.Find("c", c.settings); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.settings, err, c.want)
		}
	}
	change := func(i int) []byte { b := slices.Clone(whole); b[i]++; return b }
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "is empty"},
		{"other", []byte("point,offered_load\n"), "is no snapshot of weft"},
		{"beginning", whole[:5], "ends in its first"},
		{"form", change(len(magic)), "is a snapshot of form 3; this weft reads form 2"},
		{"cut off", whole[:len(whole)-1], "is cut off or grown"},
		{"grown", append(slices.Clone(whole), 0), "is cut off or grown"},
		{"damaged", change(len(whole) - 1), "is damaged: its checksum does not fit"},
		{"build", (&File{Build: "v2"}).Encode(), "was written by weft v2; this is weft v1"},
	} {
		if _, err := Decode(c.b, "v1", 1<<20); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for i := range whole {
		if _, err := Decode(change(i), "v1", 1<<20); err == nil {
			t.Errorf("a change of byte %d is not noticed", i)
		}
	}
}

// FuzzFile: bytes that are no file are refused, and none ends in a panic.
func FuzzFile(f *testing.F) {
	f.Add(exampleFile().Encode())
	f.Add([]byte(magic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := Decode(b, "v1", 1<<20); err == nil && !bytes.Equal(file.Encode()[:len(magic)], []byte(magic)) {
			t.Error("a file that is read cannot be written")
		}
	})
}
