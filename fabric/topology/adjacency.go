package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// listing is what a list of cables is found to be, before it is read.
type listing struct {
	cray      bool // lines so far are Cray's
	adjacency bool // rows of neighbours, as networkx writes them
	counts    int  // the line that counts switches and cables; 0: none
	unclear   bool // that line may be a cable, too
}

// words are those of a line of a list, without a comment; attributes that networkx writes behind an
// edge, a dictionary in braces, are cut off and returned.
func words(line string) (fields []string, attributes string) {
	fields = strings.Fields(line)
	if at := slices.IndexFunc(fields, func(w string) bool { return w[0] == '#' }); at >= 0 {
		fields = fields[:at]
	}
	if at := slices.IndexFunc(fields, func(w string) bool { return w[0] == '{' }); at >= 0 {
		fields, attributes = fields[:at], strings.Join(fields[at:], " ")
	}
	return fields, attributes
}

// isCray tells whether the words of a line are of Cray's list.
func isCray(fields []string) bool { return len(fields) >= 4 && fields[2] == "->" }

// survey finds out what a list is. Adjacency lists (networkx, write_adjlist: "The first label in a
// line is the source node. Further labels in the line are considered target nodes") have a row for
// every switch, whose further words are switches with rows; of an undirected graph the last row has no
// neighbours left, and else every cable stands in two rows. That is no list of cables: there a line has
// two or three words.
func survey(text string) listing {
	var l listing
	var first []string // the first line
	line, firstLine, cables, single := 0, 0, 0, false
	rows := map[string]int{}    // switches by their line
	degree := map[string]int{}  // of switches, but for the first line
	arcs := map[[2]string]int{} // cables in rows, in one order minus the other
	distinct, counts := true, false
	for whole := range strings.Lines(text) {
		line++
		fields, _ := words(whole)
		if len(fields) == 0 {
			continue
		}
		if isCray(fields) {
			return listing{cray: true}
		}
		if first == nil {
			first, firstLine = fields, line
			counts = len(first) == 2 && number(first[0]) && number(first[1])
		} else if cables++; counts && len(fields) >= 2 {
			degree[fields[0]]++
			degree[fields[1]]++
			counts = degree[first[0]] == 0
		}
		single = len(fields) == 1
		if distinct = distinct && rows[fields[0]] == 0; !distinct && !counts {
			return l // cables, whatever follows
		} else if !distinct {
			continue
		}
		rows[fields[0]] = line
		for _, peer := range fields[1:] {
			if fields[0] < peer {
				arcs[[2]string{fields[0], peer}]++
			} else {
				arcs[[2]string{peer, fields[0]}]--
			}
		}
	}
	closed, symmetric := distinct && len(arcs) > 0, true
	for pair, orders := range arcs { // in any order
		closed = closed && rows[pair[0]] > 0 && rows[pair[1]] > 0
		symmetric = symmetric && orders == 0
	}
	if l.adjacency = closed && (single || symmetric); l.adjacency {
		return l
	}
	if counts {
		l.countsIn(first, firstLine, cables, degree)
	}
	return l
}

// countsIn tells whether the first line, with two numbers, counts the switches that the others have,
// and perhaps their cables: as a cable it would lead to a switch that no other line has, alone. It is
// unclear where the network is a tree of so many cables, which has such switches.
func (l *listing) countsIn(first []string, line, cables int, degree map[string]int) {
	switches, err := strconv.Atoi(first[0])
	stated, err2 := strconv.Atoi(first[1])
	if err != nil || err2 != nil || switches != len(degree) || degree[first[0]] > 0 {
		return
	}
	leaves := false
	for _, n := range degree {
		leaves = leaves || n < 2
	}
	if !leaves || stated == cables {
		l.counts, l.unclear = line, leaves && degree[first[1]] > 0
	}
}

// number tells whether a word is a number, as weights and lengths are.
func number(word string) bool {
	_, err := strconv.ParseFloat(word, 64)
	return err == nil
}

// turned is the cable in the other order.
func (c edge) turned() edge { return edge{[2]int32{c.ends[1], c.ends[0]}, c.class} }

// mostParallel bounds the cables between two switches.
const mostParallel = 1 << 12

// fold makes one cable of two that stand in the list in both orders, if all do, and says so; lists
// of which only some do are left as they are. Cables between two switches in one order are parallel.
func (r *edgeReader) fold() {
	both, parallel := 0, 0
	for c, n := range r.count { // in any order
		back := r.count[c.turned()]
		both += min(n, back)
		parallel += n - 1
	}
	switch {
	case both == len(r.cables):
		first := map[edge]bool{} // the order that stands first
		r.cables = slices.DeleteFunc(r.cables, func(c edge) bool {
			first[c] = !first[c.turned()]
			return !first[c]
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
