package main

import (
	"encoding/csv"
	"encoding/json"
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
	"strconv"
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
	out := simtest.Must(exec.Command("go", "list", "-pgo=off", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", module+pkg).Output())(t)
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

// wing is a part of the section Wings of docs/architecture.md: its heading names what brings it, its table its packages.
type wing struct {
	name, root string
	packages   []string // with the root
}

func readWings(t *testing.T) (wings []wing) {
	t.Helper()
	_, text, _ := strings.Cut(read(t, root, "docs", "architecture.md"), "\n## Wings\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, part := range strings.Split(text, "\n### ")[1:] {
		heading, table, _ := strings.Cut(part, "\n")
		name, brings, _ := strings.Cut(heading, ": ")
		w := wing{name: name, root: strings.Trim(brings, "`")}
		for _, row := range tableRow.FindAllStringSubmatch(table, -1) {
			w.packages = append(w.packages, row[1])
		}
		wings = append(wings, w)
	}
	simtest.FatalIf(t, len(wings) < 4, "%d wings in docs/architecture.md", len(wings))
	return wings
}

// dependencies are the packages of weft that a package needs, with itself.
func dependencies(t *testing.T, name string) (list []string) {
	t.Helper()
	out := simtest.Must(exec.Command("go", "list", "-pgo=off", "-deps", module+name).Output())(t)
	for line := range strings.Lines(string(out)) {
		if own, ours := strings.CutPrefix(strings.TrimSpace(line), module); ours {
			list = append(list, own)
		}
	}
	return list
}

// TestWings: the house, which is all that cmd/command needs, has no package of a wing; the blank
// imports of main.go are the wings; each brings its own packages, of which no other wing needs one.
func TestWings(t *testing.T) {
	wings := readWings(t)
	house := dependencies(t, "cmd/command")
	needs := map[string][]string{}
	var roots []string
	for _, w := range wings {
		roots = append(roots, w.root)
		needs[w.name] = dependencies(t, w.root)
		for _, p := range w.packages {
			simtest.ErrorIf(t, slices.Contains(house, p), "the house needs %s of wing %s", p, w.name)
			simtest.ErrorIf(t, !slices.Contains(needs[w.name], p), "%s, which brings wing %s, does not bring %s", w.root, w.name, p)
		}
	}
	for _, w := range wings {
		for _, p := range needs[w.name] {
			simtest.ErrorIf(t, !slices.Contains(house, p) && !slices.Contains(w.packages, p),
				"wing %s needs %s, which belongs neither to it nor to the house", w.name, p)
		}
	}
	var blank []string
	file := simtest.Must(parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ImportsOnly))(t)
	for _, i := range file.Imports {
		if i.Name != nil && i.Name.Name == "_" {
			blank = append(blank, strings.TrimPrefix(simtest.Must(strconv.Unquote(i.Path.Value))(t), module))
		}
	}
	slices.Sort(roots)
	slices.Sort(blank)
	simtest.ErrorIf(t, !slices.Equal(blank, roots), "main.go imports %v, the wings are %v", blank, roots)
}

// TestHouse: a program of the house alone runs the quick start to the same results, and knows nothing
// of wings.
func TestHouse(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	source, house := simtest.Must(filepath.Abs(filepath.Join(root, "docs", "outside", "house", "main.go")))(t), filepath.Join(dir, "house")
	overlay := simtest.Must(json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(simtest.Must(filepath.Abs(root))(t), "cmd", "house", "main.go"): source,
	}}))(t)
	list := filepath.Join(dir, "overlay.json")
	simtest.Check(t, os.WriteFile(list, overlay, 0o644))
	build := exec.Command("go", "build", "-overlay", list, "-o", house, "./cmd/house")
	build.Dir = root
	out, err := build.CombinedOutput()
	simtest.FatalIf(t, err != nil, "%v\n%s", err, out)
	quickstart := read(t, root, "experiments", "examples", "quickstart.toml")
	inFolder(t, map[string]string{"small.toml": small, "quickstart.toml": quickstart})
	alone := func(status int, message string, args ...string) string {
		t.Helper()
		var stdout, stderr strings.Builder
		c := exec.Command(house, args...)
		c.Stdout, c.Stderr = &stdout, &stderr
		if _ = c.Run(); c.ProcessState.ExitCode() != status || !strings.Contains(stderr.String(), message) {
			t.Errorf("%v: status %d: %s\nwant %d, %s", args, c.ProcessState.ExitCode(), &stderr, status, message)
		}
		return stdout.String()
	}
	run := []string{"run", "quickstart.toml", "--quick", "--out", "-", "--quiet"}
	want, _ := succeeds(t, run...)
	got := alone(exitSuccess, "", run...)
	simtest.ErrorIf(t, got != want || strings.Count(got, "\n") < 10, "the house computes\n%s\nweft\n%s", got, want)
	simtest.Says(t, alone(exitSuccess, "", "check", "papers/mr4lms/fig7", "--quick", "--no-cache"), "\n  verdict      can run")
	for _, args := range [][2]string{{"topology small.toml --format ibsim", `unknown format "ibsim"`}, {"topology small.toml --lfts x", "no form of them"}, {"check small.toml --set routing.type=opensm-updn", "unknown routing"}, {"check small.toml --set topology.type=kautz", "unknown topology"}} {
		alone(exitUsage, args[1], strings.Fields(args[0])...)
	}
	alone(exitUsage, `unknown command "trace"`, "trace", "x.goal")
	alone(exitUsage, `unknown command "report"`, "report", "results")
	for _, kind := range []string{"cost", "flows", "jobs"} {
		alone(exitUsage, strconv.Quote(kind)+": unknown kind", "run", "small.toml", "--set", "kind="+kind)
	}
	help := alone(exitSuccess, "", "reproduce", "--help")
	simtest.ErrorIf(t, strings.Contains(help, "--data") || strings.Contains(help, "BookSim"), "the house is held against\n%s", help)
	alone(exitSuccess, "", "run", "small.toml", "--out", "o")
}
