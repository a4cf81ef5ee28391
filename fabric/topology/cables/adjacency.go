package cables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-sim/weft/sim/input"
)

// listing is what a list of cables is found to be, before it is read.
type listing struct {
	cray      bool  // lines so far are Cray's, or have ports: each end of a cable may have one
	adjacency bool  // rows of neighbours, as networkx writes them
	counts    int   // the line that counts switches and cables; 0: none
	unclear   bool  // that line may be a cable, too
	header    int   // the line that names the columns; 0: none
	ends      []int // columns of the two switches, each with its port behind it if there are; nil: the first two
	columns   int   // of every line, where ends tells them
}

// tuple matches a name of a switch that is one of Python's tuples, as those of networkx's grids are.
var tuple = input.Pattern(`\([\w'. -]+(, *[\w'. -]+)+,?\)`)

// words divides a line into its words, between spaces, commas and semicolons, without a comment or
// an arrow. Attributes behind an edge (networkx: a dictionary in braces) are cut off and returned.
func words(line string) (fields []string, attributes string) {
	if strings.Contains(line, "(") {
		line = tuple().ReplaceAllStringFunc(line, func(name string) string { return strings.Join(strings.Fields(name), "") })
	}
	fields = strings.Fields(line)
	if at := slices.IndexFunc(fields, func(w string) bool { return w[0] == '#' || w[0] == '%' || strings.HasPrefix(w, "//") }); at >= 0 {
		fields = fields[:at]
	}
	if at := slices.IndexFunc(fields, func(w string) bool { return w[0] == '{' }); at >= 0 {
		fields, attributes = fields[:at], strings.Join(fields[at:], " ")
	}
	if text := strings.Join(fields, " "); strings.ContainsAny(text, ",;|") && !strings.ContainsAny(text, "([") {
		fields = nil
		for _, cell := range cells(text) {
			if inside := strings.Fields(cell); several(inside) || strings.Trim(text, ",;| ") == cell {
				fields = append(fields, inside...)
			} else if cell != "" {
				fields = append(fields, cell)
			}
		}
	}
	if at := len(fields) / 2; (at == 1 || at == 2) && len(fields)%2 == 1 && isArrow(fields[at]) {
		fields = slices.Delete(fields, at, at+1)
	}
	return fields, attributes
}

// withPorts tells whether words are two switches, each with a port behind its name, as in lists
// made from neighbours (LLDP): leaf1 eth1/1 spine1 eth1/2.
func withPorts(fields []string) bool {
	return len(fields) == 4 && fields[2] != "->" && !number(fields[0]) && !number(fields[2]) && strings.ContainsAny(fields[1], digits) && strings.ContainsAny(fields[3], digits)
}

// isCray tells whether the words of a line are of Cray's list.
func isCray(fields []string) bool { return len(fields) >= 4 && fields[2] == "->" }

// survey finds out what a list is. Adjacency lists (networkx, write_adjlist: "The first label in a
// line is the source node. Further labels in the line are considered target nodes") have a row for
// every switch, whose further words are switches with rows; in an undirected graph's list either
// the last row has no neighbours, or every cable is in two rows. Lines of lists of cables have two
// or three words.
func survey(text string) listing {
	var l listing
	var first []string // the first line
	line, firstLine, cables, single := 0, 0, 0, false
	row := map[string]bool{}   // switches that have a row
	degree := map[string]int{} // of switches, but for the first line
	a := arcs{number: map[string]uint32{}}
	distinct, heads, named := true, false, false
	for whole := range strings.Lines(text) {
		line++
		fields, _ := words(whole)
		if len(fields) == 0 {
			continue
		}
		if isCray(fields) || withPorts(fields) {
			return listing{cray: true}
		}
		if first == nil {
			first, firstLine = fields, line
			heads = counts(first) || len(first) >= 2 && !strings.ContainsAny(first[0]+first[1], digits)
			ends := endColumns(whole)
			if named = ends != nil; named && !slices.Equal(ends, []int{0, 1}) {
				return listing{cray: len(ends) > 2, header: line, ends: ends, columns: len(headings(whole))}
			}
			heads = heads || named
		} else if cables++; heads && len(fields) >= 2 {
			degree[fields[0]]++
			degree[fields[1]]++
			switch stem := strings.ToLower(first[0][:len(first[0])-1]); {
			case number(first[0]):
			case named && (alike(fields[0], stem) || alike(fields[1], stem)): // node1 and node2 are switches, as node3 is
				heads, named = false, false
			case named:
				heads = !slices.Contains(first[:2], fields[0]) && !slices.Contains(first[:2], fields[1])
			default:
				heads = strings.ContainsAny(fields[0], digits) && strings.ContainsAny(fields[1], digits)
			}
		}
		single = len(fields) == 1
		from := strings.TrimSuffix(fields[0], ":")
		if distinct = distinct && !row[from] && len(a.up)+len(a.down) <= 2*mostCables; !distinct && !heads {
			return l // cables, whatever follows
		} else if !distinct {
			continue
		}
		row[from] = true
		for _, peer := range fields[1:] {
			a.add(from, peer)
		}
	}
	closed := distinct && len(a.up)+len(a.down) > 0 && len(a.number) == len(row)
	for name := range a.number { // in any order
		closed = closed && row[name]
	}
	if l.adjacency = closed && (single || a.symmetric()); l.adjacency {
		return l
	}
	switch {
	case heads && number(first[0]):
		l.countsIn(first, firstLine, cables, degree)
	case heads && cables > 0: // a cable between switches that no other line has
		l.header = firstLine
	}
	return l
}

// trivial writes a graph in the Trivial Graph Format, a line with number and name for each node, # alone, a line for
// each edge, as a list of cables with the same lines; "" of what is none, such as cables around an empty comment.
func trivial(text string) string {
	nodes, edges, found := strings.Cut("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n#\n")
	known, cables := map[string]bool{}, 0
	var names []string
	var list strings.Builder
	list.WriteString(strings.Repeat("\n", strings.Count(nodes, "\n")+1))
	for line := range strings.Lines(nodes) {
		if fields := strings.Fields(line); len(fields) > 0 {
			found = found && !known[fields[0]]
			known[fields[0]] = true
			names = append(names, strings.Join(fields[1:], " "))
		}
	}
	if !found || slices.ContainsFunc(names, func(name string) bool { return known[name] }) {
		return ""
	}
	for line := range strings.Lines(edges) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !known[fields[0]] || !known[fields[1]] {
			return ""
		}
		list.WriteString(fields[0] + " " + fields[1] + "\n")
		cables++
	}
	if cables == 0 {
		return ""
	}
	return list.String()
}

// rowsOf writes a graph in METIS's form ("n m fmt", then for each vertex, from 1 on, its neighbours, with the
// weights that fmt tells), or a matrix that is not 0 where two of four or more switches are joined, perhaps with the
// names of all in its first line and column, as an adjacency list with the same lines. form is "" of what is neither.
func rowsOf(text string) (list, form string) {
	var head []string
	total := 0
	for line := range strings.Lines(text) {
		if fields, _ := words(line); len(fields) > 0 {
			total++
			if total == 1 {
				head = fields
			}
		}
	}
	counted := total > 3 && len(head) <= 3 && head[0] == strconv.Itoa(total-1)
	labelled := !counted && total > 4 && len(head) == total-1
	if !counted && !labelled && (total < 4 || len(head) != total) {
		return "", ""
	}
	lines := strings.SplitAfter(text, "\n")
	var rows [][]string
	var at []int
	for i, line := range lines {
		if fields, _ := words(line); len(fields) > 0 {
			rows, at = append(rows, fields), append(at, i)
		}
		lines[i] = "\n"
	}
	metis := counted && len(head) > 1
	before, each := 0, 1 // words of a vertex that are no neighbour, and of a neighbour
	if counted || labelled {
		rows, at = rows[1:], at[1:]
	}
	name := func(i int) string { return strconv.Itoa(i + 1) }
	if labelled {
		name = func(i int) string { return head[i] }
		for i, row := range rows {
			if row[0] != head[i] {
				return "", ""
			}
			rows[i] = row[1:]
		}
	}
	if form = "a matrix of cables"; metis {
		flags := fmt.Sprintf("%03s", strings.Join(head[2:], ""))
		form, before, each = "a graph in METIS's form", strings.Count(flags[:2], "1"), 1+strings.Count(flags[2:], "1")
	}
	a := arcs{number: map[string]uint32{}}
	for i, row := range rows {
		own := []string{name(i)}
		for j := before; j < len(row); j += each {
			peer, err := strconv.ParseFloat(row[j], 64)
			if !metis && peer != 0 {
				peer = float64(j + 1)
			}
			switch {
			case err != nil || !metis && len(row) != len(rows) || peer == float64(i+1) || peer > float64(len(rows)) || metis && peer < 1:
				return "", ""
			case peer != 0:
				own = append(own, name(int(peer)-1))
				a.add(own[0], own[len(own)-1])
			}
		}
		lines[at[i]] = strings.Join(own, " ") + "\n"
	}
	if !a.symmetric() || metis && strconv.Itoa(len(a.up)) != head[1] {
		return "", ""
	}
	return strings.Join(lines, ""), form
}

// arcs are cables as rows have them, from a switch to one with a higher number and the other way.
type arcs struct {
	number   map[string]uint32 // of switches, in any order
	up, down []uint64          // the lower number, then the higher one
}

func (a *arcs) add(from, to string) {
	f, t := a.of(from), a.of(to)
	if f < t {
		a.up = append(a.up, uint64(f)<<32|uint64(t))
	} else {
		a.down = append(a.down, uint64(t)<<32|uint64(f))
	}
}

func (a *arcs) of(name string) uint32 {
	n, known := a.number[name]
	if !known {
		n = uint32(len(a.number))
		a.number[name] = n
	}
	return n
}

// symmetric tells whether every cable stands in both orders.
func (a *arcs) symmetric() bool {
	slices.Sort(a.up)
	slices.Sort(a.down)
	return slices.Equal(a.up, a.down)
}

// counts tells whether a first line may count switches, and perhaps cables; a matrix (Matrix
// Market) counts switches twice.
func counts(first []string) bool {
	return !slices.ContainsFunc(first, func(w string) bool { return !number(w) }) && (len(first) < 3 || len(first) == 3 && first[0] == first[1])
}

// countsIn tells whether the first line, with numbers, counts the switches that the others have,
// and perhaps their cables: as a cable it would lead to a switch of no other line, or to itself. It
// is unclear if both are switches, and the network is a tree of so many cables or is numbered from
// 1.
func (l *listing) countsIn(first []string, line, cables int, degree map[string]int) {
	switches, err := strconv.Atoi(first[0])
	stated, err2 := strconv.Atoi(first[len(first)-1])
	if err != nil || err2 != nil || cables == 0 || switches != len(degree) {
		return
	}
	if len(first) == 1 {
		l.counts = line
		return
	}
	leaves := degree[first[0]] > 0
	for _, n := range degree {
		leaves = leaves || n < 2
	}
	if !leaves || stated == cables {
		l.counts, l.unclear = line, leaves && first[0] != first[1] && (degree[first[0]] > 0 || degree[first[1]] > 0)
	}
}

// separators stand between the cells of a table.
const separators = ",;|\t"

// several tells whether the words of a cell are not one name: numbers, ends of an arrow, or a switch and its port, which
// is no bare number behind a name without one (Leaf 1).
func several(inside []string) bool {
	return slices.ContainsFunc(inside, isArrow) || !slices.ContainsFunc(inside, func(w string) bool { return !number(w) }) ||
		len(inside) == 2 && strings.ContainsAny(inside[1], digits) && (!number(inside[1]) || strings.ContainsAny(inside[0], digits))
}

func isArrow(word string) bool { return slices.Contains([]string{"->", "--", "-", "<->", "=>"}, word) }

// cells are those of a line of a table, empty ones, too; words where it has no separators.
func cells(line string) []string {
	if !strings.ContainsAny(line, separators) {
		return strings.Fields(line)
	}
	quoted := false
	list := strings.Split(strings.Map(func(r rune) rune {
		quoted = quoted != (r == '"')
		if !quoted && strings.ContainsRune(separators, r) {
			return 0
		}
		return r
	}, line), "\x00")
	for i, cell := range list {
		list[i] = strings.Trim(strings.TrimSpace(cell), `"`)
	}
	return list
}

// headings are the cells of a line that names columns, in small letters and digits.
func headings(line string) []string {
	names := cells(line)
	for i, name := range names {
		names[i] = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, name)
	}
	return names
}

// endNames are names of the columns of the two switches, apart from what kind of thing they are.
var endNames = map[string]string{"source": "target destination dest", "src": "dst dest target", "from": "to", "1": "2", "a": "b", "local": "remote"}

// endColumns finds the columns of the two switches, and of their ports, by what a line that names columns usually
// calls them: "id,src,dst", "node1 node2 length", "Switch A;Port A;Switch B;Port B"; nil if it names none.
func endColumns(line string) []int {
	names := headings(line)
	var ends, ports []int
	first := ""
	for i, name := range names {
		bare, kind := name, false
		for _, word := range []string{"switch", "node", "device", "router", "host", "name"} {
			if rest := strings.Replace(bare, word, "", 1); rest != "" && rest != bare {
				bare, kind = rest, true
			}
		}
		switch other, known := endNames[bare]; {
		case strings.Contains(name, "port") || strings.Contains(name, "interface"):
			ports = append(ports, i)
		case len(ends) == 0 && known && (kind || len(bare) > 1):
			ends, first = append(ends, i), other
		case len(ends) == 1 && slices.Contains(strings.Fields(first), bare):
			ends = append(ends, i)
		}
	}
	switch {
	case len(ends) < 2:
		return nil
	case len(ports) == 2:
		return []int{ends[0], ports[0], ends[1], ports[1]}
	}
	return ends
}

// alike tells whether a switch is called as the heading of a column, but for what follows its stem.
func alike(name, stem string) bool { return strings.HasPrefix(strings.ToLower(name), stem) }

// digits are in all names of switches behind a line that names columns of another name, and in none of its words.
const digits = "0123456789"

// number tells whether a word is a number, as weights and lengths are.
func number(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// turned is the cable in the other order.
func (c edge) turned() edge { return edge{[2]int32{c.ends[1], c.ends[0]}, c.class} }

func (c edge) compare(o edge) int {
	return cmp.Or(cmp.Compare(c.ends[0], o.ends[0]), cmp.Compare(c.ends[1], o.ends[1]), cmp.Compare(c.class, o.class))
}

// The most cables of a list, and between two switches.
const (
	mostCables   = 1 << 22
	mostParallel = 1 << 12
)

// fold merges cables that stand in the list in both orders, if all do, and says so; otherwise lists
// stay. Cables between two switches in one order are parallel.
func (r *edgeReader) fold() {
	distinct := slices.Clone(r.cables)
	slices.SortFunc(distinct, edge.compare)
	count := make([]int, 0, len(distinct)) // how often each stands in the list
	for i := range distinct {
		if i > 0 && distinct[i] == distinct[i-1] {
			count[len(count)-1]++
		} else {
			count = append(count, 1)
		}
	}
	distinct = slices.Compact(distinct)
	both, parallel := 0, 0
	for i, c := range distinct {
		if back, ok := slices.BinarySearchFunc(distinct, c.turned(), edge.compare); ok {
			both += min(count[i], count[back])
		}
		parallel += count[i] - 1
		if count[i] > mostParallel {
			r.ProblemAt(1, "%d cables between two switches: want at most %d", count[i], mostParallel)
			return
		}
	}
	switch {
	case both == len(r.cables):
		first := make([]bool, len(distinct)) // the order that stands first
		r.cables = slices.DeleteFunc(r.cables, func(c edge) bool {
			back, _ := slices.BinarySearchFunc(distinct, c.turned(), edge.compare)
			own, _ := slices.BinarySearchFunc(distinct, c, edge.compare)
			first[own] = !first[back]
			return first[back]
		})
		r.doubt("all %d cables stand in the list in both directions: taken once each", both/2)
	case both > 0:
		r.doubt("%d of %d cables stand in the list in both directions, and the others do not: taken as two parallel cables each", both/2, len(r.cables)-both/2)
	case parallel > 0:
		r.doubt("%d cables stand in the list again: taken as parallel cables", parallel)
	}
}

// doubt notes what of the list was taken in one way, and may have been meant in another.
func (r *edgeReader) doubt(format string, args ...any) {
	r.doubts = append(r.doubts, fmt.Sprintf("%s: "+format, append([]any{r.Name}, args...)...))
}
