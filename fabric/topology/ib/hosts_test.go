package ib

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
)

func TestHostsOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		nodes []int32
		want  []int32
	}{
		{"a port each", []string{"a mlx5_0", "b mlx5_0", "c HCA-1"}, []int32{0, 1, 2}, nil},
		{"two adapters", []string{"a mlx5_0", "b mlx5_0", "a mlx5_1"}, []int32{0, 1, 2}, []int32{0, 1, 0}},
		{"two ports of one", []string{"a mlx5_0", "a mlx5_0", "b mlx5_0"}, []int32{0, 0, 1}, []int32{0, 0, 1}},
		{"both", []string{"a HCA-1", "a HCA-2", "a HCA-2"}, []int32{0, 1, 1}, []int32{0, 0, 0}},
		{"nobody set a name", []string{"localhost mlx5_0", "localhost mlx5_1", "localhost mlx5_0"}, []int32{0, 1, 2}, nil},
		{"no device", []string{"gateway one", "gateway two", ""}, []int32{0, 1, 2}, nil},
		{"unnamed with two ports", []string{"", ""}, []int32{4, 4}, []int32{0, 0}},
	} {
		if got := hostsOf(&topology.Names{Terminal: c.names, TerminalNode: c.nodes}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
