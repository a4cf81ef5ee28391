package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
)

// routeTorus is torus-2QoS: dimension order in tori and meshes of up to three dimensions. Bit d of
// a packet's service level says whether its path crosses the dateline of dimension d, which makes
// two lanes of each ring; turns against dimension order, which paths around a missing switch make,
// change to two further lanes. Eight data lanes serve two levels of quality of service.
//
// Deviations: no parallel cables between switches, several seeds or checks of arbitration tables.
// Where a torus_config is given, the first two are errors.
func routeTorus(s *Subnet, o *Options) (*Tables, error) {
	grid := o.grid
	if o.Torus != nil {
		var err error
		if grid, err = s.place(o.Torus); errors.Is(err, errNotModelled) {
			return nil, fmt.Errorf("torus-2QoS: %w", err)
		} else if err != nil {
			return nil, &Refusal{"torus-2QoS", err.Error()}
		}
	}
	if grid == nil {
		return nil, fmt.Errorf("torus-2QoS needs a torus or mesh of at most three dimensions, or the file torus_config")
	}
	switch {
	case o.OperationalVLs < 2:
		return nil, &Refusal{"torus-2QoS", fmt.Sprintf("verify_setup: ERR 4E48: Too few data VLs to support torus routing without credit loops (have switchport %d need 2)", o.OperationalVLs)}
	case o.OperationalVLs < 8:
		return nil, fmt.Errorf("torus-2QoS: %w: %d data virtual lanes; two levels of service on a torus need 8", errNotModelled, o.OperationalVLs)
	}
	if o.Torus != nil && !o.QoS {
		return nil, &Refusal{"torus-2QoS", "torus_build_lfts: ERR 4E44: Routing engine list contains torus-2QoS. Enable QoS for correct operation (-Q or 'qos TRUE' in opensm.conf)."}
	}
	w := newTorusRoutes(s, grid)
	if n := w.alone(); n >= 0 && o.Torus != nil {
		return nil, fmt.Errorf("torus-2QoS: %w: switch %s without a cable along a dimension, which OpenSM may leave out", errNotModelled, s.Graph.SwitchName(s.Switches[n]))
	}
	if reason := w.broken(); reason != "" {
		return nil, &Refusal{"torus-2QoS", reason}
	}
	t := newTables("torus-2QoS", s)
	t.Lanes = 4
	t.fill(w.port)
	t.level = func(n int32, lid int) uint8 { return grid.level(grid.at[n], grid.at[s.Ends[lid].Node]) }
	t.lanes = w.lanes
	return t, nil
}

// level has bit d set if the complete ring of dimension d takes the path between the last
// coordinate and 0. Meshes count as tori here.
func (g *torusGrid) level(from, to point) uint8 {
	bits := uint8(0)
	for d := range 3 {
		ahead := modulo(to[d]-from[d], g.size[d])
		if wrapped := to[d] < from[d]; ahead != 0 && (2*ahead < g.size[d] && wrapped || 2*ahead > g.size[d] && !wrapped) {
			bits |= 1 << d
		}
	}
	return bits
}

// torusRoutes knows the first cable in every direction.
type torusRoutes struct {
	grid *torusGrid
	out  [][6]uint8   // by node: port in direction 2*d (up) or 2*d+1 (down), 0 none
	of   [][256]uint8 // by node and port: 1 + dimension that it points along, 0 for hosts
}

func newTorusRoutes(s *Subnet, grid *torusGrid) *torusRoutes {
	w := &torusRoutes{grid, make([][6]uint8, len(s.Switches)), make([][256]uint8, len(s.Switches))}
	for n := range s.nodes() {
		for direction, at := range grid.around(grid.at[n]) {
			for _, l := range s.links(n) {
				if grid.at[l.Peer] != at {
					continue
				}
				w.out[n][direction] = cmp.Or(w.out[n][direction], l.Port)
				w.of[n][l.Port] = uint8(1 + direction/2)
			}
		}
	}
	return w
}

// alone is a switch without a cable along a dimension, -1 if there is none.
func (w *torusRoutes) alone() int {
	return slices.IndexFunc(w.out, func(out [6]uint8) bool {
		for d, size := range w.grid.size {
			if size > 1 && out[2*d] == 0 && out[2*d+1] == 0 {
				return true
			}
		}
		return false
	})
}

// broken is OpenSM's reason to refuse a torus that its rules cannot route, or "": a ring in several
// parts, or switches missing that are not one above the other in the third dimension.
func (w *torusRoutes) broken() string {
	g := w.grid
	edges, columns, alone := map[string]int{}, map[[2]int]bool{}, false
	for index, n := range g.node {
		at := point{index / (g.size[1] * g.size[2]), index / g.size[2] % g.size[1], index % g.size[2]}
		for d := range 3 {
			if n >= 0 && w.out[n][2*d+1] == 0 {
				a, b := (d+1)%3, (d+2)%3
				a, b = min(a, b), max(a, b)
				ring := fmt.Sprintf("%d: disjoint failures in %c ring at %c=%d  %c=%d", 3+2*d, 'x'+d, 'x'+a, at[a], 'x'+b, at[b])
				if edges[ring]++; edges[ring] > 1 {
					return "routable_torus: ERR 4E3" + ring
				}
			}
		}
		if n < 0 {
			columns[[2]int{at[0], at[1]}] = true
			up, down := at, at
			up[2], down[2] = (at[2]+1)%g.size[2], modulo(at[2]-1, g.size[2])
			alone = alone || g.node[g.index(up)] >= 0 && g.node[g.index(down)] >= 0
		}
	}
	if missing := len(g.node) - len(g.at); len(columns) > 1 || missing > 1 && alone {
		return "routable_torus: ERR 4E38: missing switch topology ==> message deadlock!"
	}
	return ""
}

// port is the next step from one switch to another.
func (w *torusRoutes) port(from, to int32) uint8 {
	at, end := w.grid.at[from], w.grid.at[to]
	for d := range 3 {
		if at[d] == end[d] {
			continue
		}
		first := w.preferred(d, at[d], end[d])
		for _, direction := range []int{first, first ^ 1} {
			if w.intact(at, direction, end[d]) {
				return w.out[from][direction]
			}
		}
		// The corner is missing: on towards it while there are switches, then turn.
		corner := at
		corner[d] = end[d]
		if w.grid.node[w.grid.index(corner)] < 0 {
			if port := w.out[from][first]; port != 0 {
				return port
			}
		}
	}
	return noPath
}

// preferred is the direction of the shorter way round, of equals the one that does not wrap.
func (w *torusRoutes) preferred(d, from, to int) int {
	ahead := modulo(to-from, w.grid.size[d])
	up := to > from
	if w.grid.wraps[d] && 2*ahead != w.grid.size[d] {
		up = 2*ahead < w.grid.size[d]
	}
	if up {
		return 2 * d
	}
	return 2*d + 1
}

// intact tells whether all switches and cables are there from at in a direction up to coordinate
// to.
func (w *torusRoutes) intact(at point, direction, to int) bool {
	for at[direction/2] != to {
		n := w.grid.node[w.grid.index(at)]
		if n < 0 || w.out[n][direction] == 0 {
			return false
		}
		at = w.grid.near(at, direction)
	}
	return w.grid.node[w.grid.index(at)] >= 0
}

// lanes is the virtual lane between two ports: towards another switch, the service level's bit of
// the dimension, 4 for the second level of service, and 2 more after a turn that dimension order
// forbids; to hosts and into the switch the level of service alone.
func (w *torusRoutes) lanes(n int32, in, out, sl uint8) uint8 {
	dimension, quality := w.of[n][out], sl>>3
	if dimension == 0 {
		return quality
	}
	lane := sl>>(dimension-1)&1 | quality<<2
	if w.of[n][in] > dimension {
		lane |= 2
	}
	return lane
}

// TorusConfig is torus-2QoS's configuration: the torus's size, and how one switch, the seed, is
// cabled.
type TorusConfig struct {
	Size  [3]int
	Wraps [3]bool // a ring along the dimension, not a line
	// Links are, for each direction (2*dimension, +1 for minus), each as the GUIDs of the seed and
	// its neighbour.
	Links [6][][2]uint64
	// Dateline is how far the origin is from the seed, along each dimension.
	Dateline [3]int
}

// Bounds of a torus: OpenSM's coordinates have a byte, and switches a LID each.
const maxTorusSize = 255

// torusLinks are the keywords of links, by direction.
var torusLinks = []string{"xp_link", "xm_link", "yp_link", "ym_link", "zp_link", "zm_link"}

// ReadTorusConfig reads OpenSM's torus-2QoS.conf. The keywords of several seeds (next_seed), of
// host port groups and of port orders are refused: they are not modelled.
func ReadTorusConfig(r io.Reader, name string) (*TorusConfig, error) {
	in := input.NewLines(r, name)
	c := &TorusConfig{}
	sized := false
	for words := in.NextWords(); words != nil; words = in.NextWords() {
		key := words[0]
		switch direction := slices.Index(torusLinks, key); {
		case key == "torus" || key == "mesh":
			if sized {
				in.Problem("%s: the size is given twice", key)
			}
			sized = true
			c.readSize(in, words)
		case direction >= 0:
			c.readLink(in, direction, words)
		case strings.HasSuffix(key, "_dateline") && len(key) == len("x_dateline") && key[0] >= 'x' && key[0] <= 'z':
			if v, err := strconv.Atoi(strings.Join(words[1:], " ")); err != nil || v < -maxTorusSize || v > maxTorusSize {
				in.Problem("%s: want a number of switches, not %s", key, input.Quote(strings.Join(words[1:], " ")))
			} else {
				c.Dateline[key[0]-'x'] = v
			}
		case key == "next_seed" || key == "portgroup_max_ports" || key == "port_order" || key == "max_changes":
			in.Problem("%s is not modelled", key)
		default:
			in.Problem("%s: want torus, mesh, %s, x_dateline, y_dateline or z_dateline", input.Quote(key), strings.Join(torusLinks, ", "))
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	if !sized {
		return nil, fmt.Errorf("%s:%d: no size: want torus X Y Z or mesh X Y Z", name, max(1, in.Number))
	}
	for d, size := range c.Size {
		if c.Dateline[d] <= -size || c.Dateline[d] >= size {
			return nil, fmt.Errorf("%s: %c_dateline %d: want %d to %d", name, 'x'+d, c.Dateline[d], 1-size, size-1)
		}
	}
	if switches := c.Size[0] * c.Size[1] * c.Size[2]; switches > ib.MaxUnicastLID {
		return nil, fmt.Errorf("%s:%d: a torus of %d switches: a subnet has LIDs for %d", name, in.Number, switches, ib.MaxUnicastLID)
	}
	return c, nil
}

// readSize reads "torus 4 4m 3": a letter makes one dimension a mesh or a torus.
func (c *TorusConfig) readSize(in *input.Lines, words []string) {
	if len(words) != 4 {
		in.Problem("%s: want three sizes", words[0])
		return
	}
	for d, word := range words[1:] {
		c.Wraps[d] = words[0] == "torus"
		digits := strings.TrimRight(word, "mMtT")
		switch suffix := word[len(digits):]; strings.ToLower(suffix) {
		case "":
		case "m":
			c.Wraps[d] = false
		case "t":
			c.Wraps[d] = true
		default:
			digits = ""
		}
		v, err := strconv.Atoi(digits)
		if err != nil || v < 1 || v > maxTorusSize {
			in.Problem("size %s: want 1 to %d switches, perhaps with m (mesh) or t (torus) behind", input.Quote(word), maxTorusSize)
			continue
		}
		c.Size[d] = v
		c.Wraps[d] = c.Wraps[d] || v == 2 // a ring of two has neighbours on both sides
	}
}

func (c *TorusConfig) readLink(in *input.Lines, direction int, words []string) {
	if len(words) != 3 {
		in.Problem("%s: want the GUIDs of two switches", words[0])
		return
	}
	var link [2]uint64
	for i, word := range words[1:] {
		guid, err := parseGUID(word)
		if err != nil {
			in.Problem("%s: %s is no GUID", words[0], input.Quote(word))
			return
		}
		link[i] = guid
	}
	c.Links[direction] = append(c.Links[direction], link)
}
