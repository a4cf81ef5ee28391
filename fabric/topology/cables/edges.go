package cables

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// EdgesConfig configures the topology "edges": any network, from a list of cables, with the same
// number of terminals at each switch. Lines are
//
//	u v            a cable between switches u and v
//	u v class      and its channel class; "link" if there is none
//	u p v q        a cable between port p of u and port q of v, whether it stands there from one end or from both
//
// with commas, semicolons or | for spaces, and perhaps -- or -> between the ends; empty lines and what follows #, % or // mean nothing. If all names
// of switches are numbers they are the switches' numbers, from 0 or 1 without gaps; otherwise switches are
// numbered in the order of their first appearance. A cable that stands in the list twice
// is two parallel cables, unless all stand in both orders: then they are taken once. Numbers
// (weights) and attributes in braces in the place of classes are passed over, and so is a first
// line that counts switches or names columns: where it does, further columns are passed over, too, and those of the
// switches and their ports may stand anywhere (id,src,srcport,dst,dstport). A line with a switch and its neighbours for every switch is an
// adjacency list, as networkx's write_adjlist writes it; METIS's graphs and matrices are read, too. Or the file is Cray's list of
// links (rtr --interconnect, for Gemini and Aries), which names a tile of a router at
// each end,
//
//	c0-0c0s0a0l00(0:0:0) green -> c0-0c0s6a0l10(0:0:6)
//
// and the cable by each of its two tiles; "unused" tiles and tiles of processors are passed
// over. Its classes are the colours of Aries, and the dimensions x, y and z of Gemini. A
// router is a switch, in the order of first appearance.
//
// The file may be packed by gzip or zstd. Terminals t*terminals to t*terminals +
// terminals-1 hang from switch t. Ports: terminals, then cables in the order of the file.
type EdgesConfig struct {
	Path      string `toml:"path" doc:"file of cables: a line with two switches for each, or Cray's list of links; relative to the experiment file" file:"read"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
}

func init() {
	topology.RegisterFormat(topology.Format{Name: "edges", Called: "a list of cables", Is: isList, Loose: true,
		Read: func(path string, data []byte) (topology.Topology, error) {
			return EdgesConfig{Path: path, Terminals: 1}.network(data)
		}})
	topology.RegisterFile("edges", "a network from a list of its cables, or from Cray's list of links", EdgesConfig{Terminals: 1}, input.MaxInput,
		func(c EdgesConfig) string { return c.Path },
		EdgesConfig.network)
}

func (c EdgesConfig) network(data []byte) (topology.Topology, error) {
	g, doubts, err := ReadEdges(c.Path, data, c.Terminals)
	if err != nil {
		return nil, topology.OtherFormat(err, c.Path, "edges", data)
	}
	return topology.NewFileNetwork(g, doubts...), nil
}

// isList tells whether the first line with words starts a list of cables: two or three words with
// letters or digits, Cray's, an adjacency list's, or columns of which the first is a source.
func isList(data []byte) bool {
	for line := range bytes.Lines(data[:min(len(data), topology.ForeignBytes)]) {
		fields, attributes := words(string(line))
		if len(fields) == 0 || len(fields) == 1 && counts(fields) {
			continue
		}
		if endColumns(string(line)) != nil {
			return true
		}
		plain := (attributes == "" || strings.HasSuffix(attributes, "}")) && !slices.ContainsFunc(fields, func(w string) bool { return strings.ContainsAny(w, `"'=<>[]();`) && !tuple().MatchString(w) })
		if isCray(fields) || !plain || len(fields) == 2 || len(fields) == 3 || withPorts(fields) {
			return plain || isCray(fields)
		}
		is := survey(string(data))
		_, form := rowsOf(string(data))
		return form != "" || is.adjacency
	}
	return false
}

func (c *EdgesConfig) Validate() error { return topology.CheckPath(c.Path, "a list of cables") }

// ReadEdges reads a list of cables in the format of [EdgesConfig]. name stands for the file in
// errors, which are joined, each with its line. doubts say what may have been meant in another way.
func ReadEdges(name string, data []byte, terminals int) (g *topology.Graph, doubts []string, err error) {
	if err := topology.CheckForeign(name, data); err != nil {
		return nil, nil, err
	}
	r := &edgeReader{Problems: input.Problems{Name: name}, number: map[string]int{}, class: map[string]topology.ClassID{}, tiles: map[string]tile{}}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if list := trivial(text); list != "" {
		text = list
		r.doubt("taken as a graph in the Trivial Graph Format")
	} else if rows, form := rowsOf(text); form != "" {
		text = rows
		r.doubt("taken as %s", form)
	}
	r.is = survey(text)
	line := 0
	for whole := range strings.Lines(text) {
		line++
		r.read(line, whole)
	}
	if r.weights > 0 {
		r.doubt("%d cables have numbers or attributes behind them, such as weights: passed over", r.weights)
	}
	if !r.is.cray && !r.Any() {
		r.fold()
	}
	if !r.Any() {
		if g = r.graph(terminals); !r.Any() {
			return g, r.doubts, nil
		}
	}
	return nil, nil, r.Err()
}

// edgeReader collects cables.
type edgeReader struct {
	input.Problems
	names      []string
	number     map[string]int // switch of a name
	classNames []string
	class      map[string]topology.ClassID
	cables     []edge
	tiles      map[string]tile
	is         listing
	weights    int // cables with a number or attributes in the place of a class
	doubts     []string
}

type edge struct {
	ends  [2]int32
	class topology.ClassID
}

// tile is one end of a cable in Cray's list.
type tile struct {
	line   int
	peer   string
	stated bool // by a line of its own
}

func (r *edgeReader) read(line int, text string) {
	fields, attributes := words(text)
	if r.is.ends != nil && len(fields) > 0 {
		if row := cells(text); len(row) == r.is.columns {
			fields = row
		}
	}
	switch {
	case len(fields) == 0:
	case line == r.is.counts && r.is.unclear:
		r.ProblemAt(line, "%q may be a cable, or count the %s switches and %s cables that follow: put # before it, or move it down", strings.Join(fields, " "), fields[0], fields[1])
	case line == r.is.counts:
		r.doubt("line %d, %s, counts the switches that follow: it is no cable", line, input.Quote(strings.Join(fields, " ")))
	case line == r.is.header:
		r.doubt("line %d, %s, names no switch of a further line: taken as names of columns", line, input.Quote(strings.Join(fields, " ")))
	case r.is.ends != nil && len(fields) != r.is.columns:
		r.ProblemAt(line, "%d words: want %d, as line %d names columns", len(fields), r.is.columns, r.is.header)
	case len(r.is.ends) == 2:
		r.cable(line, fields[r.is.ends[0]], fields[r.is.ends[1]], "link")
	case len(r.is.ends) == 4:
		a, p, b, q := fields[r.is.ends[0]], fields[r.is.ends[1]], fields[r.is.ends[2]], fields[r.is.ends[3]]
		r.joined(line, [2]string{a + " " + p, b + " " + q}, [2]string{a, b}, "link")
	case r.is.adjacency:
		for _, peer := range fields[1:] {
			r.cable(line, strings.TrimSuffix(fields[0], ":"), peer, "link")
		}
	case isCray(fields):
		r.is.cray = true
		r.cray(line, fields[0], fields[1], fields[3])
	case withPorts(fields) && r.is.header == 0:
		r.joined(line, [2]string{fields[0] + " " + fields[1], fields[2] + " " + fields[3]}, [2]string{fields[0], fields[2]}, "link")
	case len(fields) == 3 && number(strings.TrimRight(fields[2], "kcmnus")) || len(fields) > 3 && r.is.header > 0 || len(fields) == 2 && len(attributes) > len("{}"):
		r.weights++
		r.cable(line, fields[0], fields[1], "link")
	case len(fields) == 2:
		r.cable(line, fields[0], fields[1], "link")
	case len(fields) == 3:
		r.cable(line, fields[0], fields[1], fields[2])
	default:
		r.ProblemAt(line, "%d words: want two switches and perhaps a class, two switches each with its port, or a line of Cray's list, tile kind -> tile", len(fields))
	}
}

func (r *edgeReader) cray(line int, from, kind, to string) {
	if to == "unused" || to == "processor" {
		return
	}
	var router [2]string
	ends := [2]string{from, to}
	for i, end := range ends {
		at, _, _ := strings.Cut(end, "(")
		at, _, _ = strings.Cut(at, "[")
		l := strings.LastIndexByte(at, 'l')
		if l <= 0 || l == len(at)-1 || !strings.HasPrefix(at, "c") {
			r.ProblemAt(line, "%q: want a tile such as c0-0c0s0a0l00, unused or processor", end)
			return
		}
		ends[i], router[i] = at, at[:l]
	}
	if slices.Contains([]string{"X+", "X-", "Y+", "Y-", "Z+", "Z-"}, kind) { // each end has its sign
		kind = strings.ToLower(kind[:1])
	}
	r.joined(line, ends, router, kind)
}

// joined adds a cable between tiles, or ports, of two routers, unless its other end has.
func (r *edgeReader) joined(line int, ends, router [2]string, kind string) {
	switch here, known := r.tiles[ends[0]]; {
	case known && here.stated:
		r.ProblemAt(line, "%s stands in line %d already", input.Quote(ends[0]), here.line)
		return
	case known && here.peer != ends[1]:
		r.ProblemAt(line, "%s leads to %s; by line %d its cable is that of %s", input.Quote(ends[0]), input.Quote(ends[1]), here.line, input.Quote(here.peer))
		return
	case known: // the cable is known from the other end
		r.tiles[ends[0]] = tile{line, ends[1], true}
		return
	}
	if there, known := r.tiles[ends[1]]; known {
		r.ProblemAt(line, "%s leads to %s; by line %d that has the cable of %s", input.Quote(ends[0]), input.Quote(ends[1]), there.line, input.Quote(there.peer))
		return
	}
	r.tiles[ends[0]], r.tiles[ends[1]] = tile{line, ends[1], true}, tile{line, ends[0], false}
	r.cable(line, router[0], router[1], kind)
}

func (r *edgeReader) cable(line int, a, b, class string) {
	if a == b {
		r.ProblemAt(line, "a cable from %q to itself", a)
		return
	}
	for _, name := range [2]string{a, b} {
		if strings.HasSuffix(name, ":") || !strings.ContainsFunc(name, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			r.ProblemAt(line, "%s is no name of a switch: want two switches and perhaps a class, such as 0 1", input.Quote(name))
			return
		}
	}
	id, known := r.class[class]
	if !known {
		if class == "terminal" || input.HasControl(class) || len(r.classNames) == topology.MaxClasses-1 {
			r.ProblemAt(line, "class %q: want a name other than \"terminal\", of at most %d different ones", class, topology.MaxClasses-1)
			return
		}
		r.classNames = append(r.classNames, class)
		id = topology.ClassID(len(r.classNames))
		r.class[class] = id
	}
	var ends [2]int32
	for i, name := range [2]string{a, b} {
		n, known := r.number[name]
		if !known {
			n = len(r.names)
			r.names, r.number[name] = append(r.names, name), n
		}
		ends[i] = int32(n)
	}
	if len(r.cables) == mostCables {
		r.ProblemAt(line, "more than %d cables", mostCables)
		return
	}
	r.cables = append(r.cables, edge{ends, id})
}

// numbers gives the switches the numbers that they are named by, if all are.
func (r *edgeReader) numbers() (own []int, all bool) {
	for _, name := range r.names {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || n > math.MaxInt32 {
			return nil, false
		}
		own = append(own, n)
	}
	return own, true
}

// graph makes the graph, or records why it cannot.
func (r *edgeReader) graph(terminals int) *topology.Graph {
	if len(r.cables) == 0 {
		r.ProblemAt(1, "no cables: want a line with two switches for each")
		return nil
	}
	own, numbered := r.numbers()
	least := 0 // the first number
	if numbered {
		seen := map[int]string{}
		for i, n := range own {
			if before, twice := seen[n]; twice {
				r.ProblemAt(1, "switches %q and %q have one number", before, r.names[i])
			}
			seen[n] = r.names[i]
		}
		if seen[0] == "" {
			least = 1
		}
		if most := slices.Max(slices.Collect(maps.Keys(seen))); most >= len(own)+least && !r.Any() {
			missing := least
			for seen[missing] != "" {
				missing++
			}
			r.ProblemAt(1, "switches are numbered to %d, and none has number %d: want numbers from 0 or 1 without gaps", most, missing)
		}
		if r.Any() {
			return nil
		}
	}
	if err := topology.CheckPorts("terminals", terminals, len(r.names)*terminals+2*len(r.cables)); err != nil {
		r.Add(err)
		return nil
	}
	at := func(i int32) topology.SwitchID {
		if numbered {
			return topology.SwitchID(own[i] - least)
		}
		return topology.SwitchID(i)
	}
	b := topology.WithTerminals(len(r.names), terminals, topology.Classes(r.classNames...)...)
	for _, c := range r.cables {
		b.AddLink(at(c.ends[0]), at(c.ends[1]), c.class)
	}
	g := b.Freeze()
	if !numbered || least > 0 {
		names := &topology.Names{Switches: make([]topology.SwitchName, len(r.names))}
		for i, name := range r.names {
			names.Switches[at(int32(i))].Name = name
		}
		g.SetNames(names)
	}
	if _, err := g.CheckReach(); err != nil {
		r.ProblemAt(1, "%v", err)
	}
	return g
}
