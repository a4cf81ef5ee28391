package opensm

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// TorusConfig is the configuration of engine torus-2QoS: the size of the torus and
// how one switch, the seed, is cabled to its neighbours.
type TorusConfig struct {
	Size  [3]int
	Wraps [3]bool // a ring along the dimension, not a line
	// Seeds lists the links given for each direction (2*dimension, +1 for minus),
	// each as the GUIDs of the seed and its neighbour.
	Links [6][][2]uint64
	// Dateline is how far the origin is from the seed, along each dimension.
	Dateline [3]int
}

// Bounds of a torus: OpenSM's coordinates have a byte, and switches a LID each.
const maxTorusSize = 255

// torusLinks are the keywords of links, by direction.
var torusLinks = []string{"xp_link", "xm_link", "yp_link", "ym_link", "zp_link", "zm_link"}

// ReadTorusConfig reads OpenSM's torus-2QoS.conf. The keywords of several seeds
// (next_seed), of host port groups and of port orders are refused: they are not
// modelled. name is the file's name for messages; problems are returned together.
func ReadTorusConfig(r io.Reader, name string) (*TorusConfig, error) {
	in := input.NewLines(r, name)
	c := &TorusConfig{}
	sized := false
	for words := in.NextWords(); words != nil; words = in.NextWords() {
		key := words[0]
		switch direction := indexOf(torusLinks, key); {
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
		return nil, fmt.Errorf("%s:%d: no size: want torus X Y Z or mesh X Y Z", name, in.Number)
	}
	if switches := c.Size[0] * c.Size[1] * c.Size[2]; switches > maxUnicastLID {
		return nil, fmt.Errorf("%s:%d: a torus of %d switches: a subnet has LIDs for %d", name, in.Number, switches, maxUnicastLID)
	}
	return c, nil
}

func indexOf(list []string, word string) int {
	for i, w := range list {
		if w == word {
			return i
		}
	}
	return -1
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
