package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

var roomsOf = flag.String("rooms", "", "print the arrows between the files of this package, such as fabric/core, which TestRooms then need not know")

// uses is what the files of a package use of each other: by file and file, the names.
type uses map[string]map[string]map[string]bool

// readUses finds the identifiers, methods and fields that the files of a package, without
// tests, use of others.
func readUses(t *testing.T, pkg string) (uses, []string) {
	t.Helper()
	exports, files := map[string]string{}, []string(nil)
	out := simtest.Must(exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", module+pkg).Output())(t)
	dir := ""
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[cells[0]] = cells[1]
		dir, files = cells[2], strings.Fields(cells[3]) // of the package in the end: it comes behind all that it imports
	}
	set, parsed := token.NewFileSet(), []*ast.File(nil)
	for _, name := range files {
		parsed = append(parsed, simtest.Must(parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution))(t))
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	checked := simtest.Must(config.Check(module+pkg, set, parsed, &info))(t)
	all, file := uses{}, func(at token.Pos) string { return filepath.Base(set.Position(at).Filename) }
	for _, name := range files {
		all[name] = map[string]map[string]bool{}
	}
	for used, object := range info.Uses {
		if object.Pkg() != checked {
			continue
		}
		if from, to := file(used.Pos()), file(object.Pos()); from != to {
			if all[from][to] == nil {
				all[from][to] = map[string]bool{}
			}
			all[from][to][object.Name()] = true
		}
	}
	return all, files
}

// sorted moves files of an order, one at a time, until no move leaves fewer arrows that run up.
func (u uses) sorted(order []string) []string {
	for better := true; better; {
		better = false
		for _, file := range slices.Clone(order) {
			at := slices.Index(order, file)
			best, gain := at, 0
			for _, step := range []int{-1, 1} {
				sum := 0
				for to := at + step; to >= 0 && to < len(order); to += step {
					passed := order[to] // the file is put beyond this one
					if u[file][passed] != nil {
						sum += step
					}
					if u[passed][file] != nil {
						sum -= step
					}
					if sum > gain {
						best, gain = to, sum
					}
				}
			}
			if gain > 0 {
				better = true
				order = slices.Insert(slices.Delete(order, at, at+1), best, file)
			}
		}
	}
	return order
}

// room is files of a package, in their order: a file uses those before it.
type room struct {
	name  string
	files []string
}

// TestRooms holds the files of packages to docs/rooms.csv, which has them from the lowest up, by
// room: how many arrows there are from each to others, and how many of them run up, within its
// room and to rooms above. An arrow is a file's use of an identifier, a method or a field that
// another one declares. A room has a dozen files at most; within one a tenth of the arrows run up at
// most, and none to rooms above. With -update it counts again, and puts the files of a room into the
// order in which as few arrows run up as it finds; -rooms shows any package.
func TestRooms(t *testing.T) {
	if *roomsOf != "" {
		u, files := readUses(t, *roomsOf)
		u.table(t, *roomsOf, []room{{"all", u.sorted(files)}})
		return
	}
	path := filepath.Join(root, "docs", "rooms.csv")
	rows := simtest.Must(csv.NewReader(strings.NewReader(read(t, path))).ReadAll())(t)
	packages := map[string][]room{}
	for _, r := range rows[1:] {
		rooms := packages[r[0]]
		if len(rooms) == 0 || rooms[len(rooms)-1].name != r[1] {
			rooms = append(rooms, room{name: r[1]})
		}
		last := &rooms[len(rooms)-1]
		last.files = append(last.files, r[2])
		packages[r[0]] = rooms
	}
	table := "package,room,file,arrows,up_in_room,up_between_rooms\n"
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		u, files := readUses(t, pkg)
		rooms := packages[pkg]
		if *update {
			rooms = u.update(rooms, files)
		}
		for _, r := range rooms {
			for _, f := range r.files {
				simtest.ErrorIf(t, u[f] == nil, "docs/rooms.csv has %s/%s, which is not there", pkg, f)
			}
		}
		table += u.table(t, pkg, rooms)
	}
	golden(t, path, []byte(table))
}

// update takes files that are not there out of rooms, puts new ones into the last, and sorts all.
func (u uses) update(rooms []room, files []string) []room {
	known := map[string]bool{}
	for i := range rooms {
		r := &rooms[i]
		r.files = slices.DeleteFunc(r.files, func(f string) bool { known[f] = true; return u[f] == nil })
	}
	last := &rooms[len(rooms)-1]
	last.files = append(last.files, slices.DeleteFunc(slices.Clone(files), func(f string) bool { return known[f] })...)
	for i := range rooms {
		rooms[i].files = u.sorted(rooms[i].files)
	}
	return slices.DeleteFunc(rooms, func(r room) bool { return len(r.files) == 0 })
}

// table is the rows of a package. It logs the arrows that run up, with the names that are used, and
// fails where there are too many.
func (u uses) table(t *testing.T, pkg string, rooms []room) string {
	var b strings.Builder
	order, above := []string(nil), 0 // arrows to rooms above
	for _, r := range rooms {
		order = append(order, r.files...)
	}
	start, arrows := 0, 0
	for _, r := range rooms {
		end := start + len(r.files)
		inside, up := 0, 0
		for i := start; i < end; i++ {
			f, within, beyond := order[i], 0, 0
			for _, to := range slices.Sorted(maps.Keys(u[f])) {
				at := slices.Index(order, to)
				if start <= at && at < end {
					inside++
				}
				if at < i {
					continue
				}
				t.Logf("%s: %s up to %s: %s", pkg, f, to, strings.Join(slices.Sorted(maps.Keys(u[f][to])), ", "))
				if at < end {
					within++
				} else {
					beyond++
				}
			}
			fmt.Fprintf(&b, "%s,%s,%s,%d,%d,%d\n", pkg, r.name, f, len(u[f]), within, beyond)
			arrows, up, above = arrows+len(u[f]), up+within, above+beyond
		}
		t.Logf("%s, room %s: %d files, %d arrows within, %d up", pkg, r.name, len(r.files), inside, up)
		simtest.ErrorIf(t, *roomsOf == "" && (len(r.files) > 12 || 10*up > inside),
			"%s, room %s: at most 12 files and a tenth of the arrows up are allowed", pkg, r.name)
		start = end
	}
	t.Logf("%s: %d files, %d arrows, %d up between rooms", pkg, len(order), arrows, above)
	simtest.ErrorIf(t, above > 0, "%s: arrows run up between rooms", pkg)
	return b.String()
}
