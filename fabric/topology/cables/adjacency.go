package cables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// listing is what a list of cables is found to be, before it is read.
type listing struct {
	cray      bool // lines so far are Cray's, or have ports: each end of a cable may have one
	adjacency bool // rows of neighbours, as networkx writes them
	counts    int  // the line that counts switches and cables; 0: none
	unclear   bool // that line may be a cable, too
	header    int  // the line that names the columns; 0: none
}

// words divides a line into its words, between spaces, commas and semicolons, without a comment or
// an arrow. Attributes behind an edge (networkx: a dictionary in braces) are cut off and returned.
func words(line string) (fields []string, attributes string) {
	fields = strings.Fields(line)
	if at := slices.IndexFunc(fields, func(w string) bool { return w[0] == '#' || w[0] == '%' || strings.HasPrefix(w, "//") }); at >= 0 {
		fields = fields[:at]
	}
	if at := slices.IndexFunc(fields, func(w string) bool { return w[0] == '{' }); at >= 0 {
		fields, attributes = fields[:at], strings.Join(fields[at:], " ")
	}
	if text := strings.Join(fields, " "); strings.ContainsAny(text, ",;|") && !strings.ContainsAny(text, "([") {
		quoted := false // where spaces belong to names
		fields = strings.FieldsFunc(text, func(r rune) bool {
			quoted = quoted != (r == '"')
			return !quoted && strings.ContainsRune(",;| ", r)
		})
		for i, w := range fields {
			fields[i] = strings.Trim(w, `"`)
		}
	}
	if at := len(fields) / 2; (at == 1 || at == 2) && len(fields)%2 == 1 && slices.Contains([]string{"->", "--", "-", "<->", "=>"}, fields[at]) {
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
			named = namesColumns(first)
		} else if cables++; heads && len(fields) >= 2 {
			degree[fields[0]]++
			degree[fields[1]]++
			heads = number(first[0]) || named && !slices.Contains(first[:2], fields[0]) && !slices.Contains(first[:2], fields[1]) || strings.ContainsAny(fields[0], digits) && strings.ContainsAny(fields[1], digits)
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

// rowsOf rewrites a graph in METIS's form ("n m fmt", then each vertex's neighbours, from vertex 1,
// with fmt's weights), or a matrix (not 0 where two of four or more switches are joined), as an
// adjacency list with the same lines. form is "" for neither.
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
	if !counted && (total < 4 || len(head) != total) {
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
	if counted {
		rows, at = rows[1:], at[1:]
	}
	if form = "a matrix of cables"; metis {
		flags := fmt.Sprintf("%03s", strings.Join(head[2:], ""))
		form, before, each = "a graph in METIS's form", strings.Count(flags[:2], "1"), 1+strings.Count(flags[2:], "1")
	}
	a := arcs{number: map[string]uint32{}}
	for i, row := range rows {
		own := []string{strconv.Itoa(i + 1)}
		for j := before; j < len(row); j += each {
			peer, err := strconv.ParseFloat(row[j], 64)
			if !metis && peer != 0 {
				peer = float64(j + 1)
			}
			switch {
			case err != nil || !metis && len(row) != len(rows) || peer == float64(i+1) || peer > float64(len(rows)) || metis && peer < 1:
				return "", ""
			case peer != 0:
				own = append(own, strconv.Itoa(int(peer)))
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
	if err != nil || err2 != nil || switches != len(degree) {
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

// namesColumns tells whether a line has the names that columns of cables usually have.
func namesColumns(fields []string) bool {
	return len(fields) >= 2 && slices.Contains([]string{"source", "from", "src"}, strings.ToLower(fields[0])) &&
		slices.Contains([]string{"target", "to", "dst", "dest", "destination"}, strings.ToLower(fields[1]))
}

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
