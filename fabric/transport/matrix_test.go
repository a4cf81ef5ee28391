package transport

import (
	"strings"
	"testing"
)

const oneMatrix = `Nodes 16
Connections 3
Triggers 2
2->11 id 1 start 7 size 2000000 send_done_trigger 1
2->4 id 2 trigger 1 size 100 send_done_trigger 2
2->8 id 3 trigger 2 size 4086
trigger id 1 oneshot
trigger id 2 barrier 1
`

func TestMatrix(t *testing.T) {
	m, err := ReadMatrix("x.cm", []byte(oneMatrix))
	if err != nil {
		t.Fatal(err)
	}
	if m.Nodes != 16 || len(m.Flows) != 3 || m.Flows[0].Start.Microseconds() != 7 || m.Flows[1].After != 1 || m.Flows[1].Fires != 2 || m.Triggers[1] != (Trigger{2, 1}) {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct{ old, new, want string }{
		{"Nodes 16", "Nodes 8", "x.cm:4: leads from 2 to 11, and there are 8 nodes"},
		{"Connections 3", "Connections 4", "x.cm:9: Connections announces 4 flows, and 3 follow: is the file cut?"},
		{"2->8 id 3 trigger 2", "2->8 id 3 trigger 5", "x.cm:6: trigger 5 is not in the file"},
		{"start 7", "trigger 2", "never starts"},
		{"2->11", "2->2", "x.cm:4: leads from terminal 2 to itself"},
		{"size 100", "size x", `x.cm:5: size "x"`},
		{"size 100", "bytes 100", `x.cm:5: "bytes"`},
		{"oneshot", "twice", "x.cm:7: want trigger id"},
		{"Triggers 2", "Trigers 2", `x.cm:3: "Trigers"`},
	} {
		if _, err := ReadMatrix("x.cm", []byte(strings.Replace(oneMatrix, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add([]byte(oneMatrix))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = ReadMatrix("x", data) })
}
