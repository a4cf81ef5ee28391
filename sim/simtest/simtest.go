// Package simtest chooses among a test's cases that differ little: another for each day and test,
// all in make soak.
package simtest

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Choice is the environment variable of the number by which cases are chosen, 0 unless set; the
// Makefile takes the day.
const Choice = "WEFT_TEST_CHOICE"

// Soak tells whether make soak runs the tests.
func Soak() bool { return os.Getenv("SOAK_TIME") != "" }

// Some is one of the cases, or all in make soak. The choice, the test's name and the trial's number
// in it decide, so that a run tries each case somewhere.
func Some[T any](t testing.TB, trial int, cases ...T) []T {
	t.Helper()
	if Soak() {
		return cases
	}
	number, text := uint64(0), os.Getenv(Choice)
	if text != "" {
		var err error
		if number, err = strconv.ParseUint(text, 10, 32); err != nil {
			t.Fatalf("%s = %q: want a number from 0 to 2^32-1", Choice, text)
		}
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(t.Name()))
	i := (number + uint64(name.Sum32()) + uint64(trial)) % uint64(len(cases))
	t.Logf("trial %d, %s=%d: %v of %v", trial, Choice, number, cases[i], cases)
	return cases[i : i+1]
}

// Seeds are every share-th of the numbers below n: the first ones in a short run, all in make soak.
func Seeds(t testing.TB, n, share int) []uint64 {
	t.Helper()
	var all []uint64
	first := 0
	if Soak() {
		share = 1
	} else if !testing.Short() {
		parts := make([]int, share)
		for i := range parts {
			parts[i] = i
		}
		first = Some(t, 0, parts...)[0]
	}
	for seed := first; seed < n; seed += share {
		all = append(all, uint64(seed))
	}
	if testing.Short() {
		all = all[:(len(all)+2)/3]
	}
	return all
}

// Threads are numbers of threads whose results a trial compares: one, and Some of 2, 3 and 5
// (short: two).
func Threads(t testing.TB, trial int) []int {
	t.Helper()
	if testing.Short() {
		return []int{1, 2}
	}
	return append([]int{1}, Some(t, trial, 2, 3, 5)...)
}

// mostRead is what a reader may allocate for a file of less than a megabyte, in bytes.
const mostRead = 1 << 30

// Bounded runs a reader and fails if it allocates more than it may, kept or not.
func Bounded(t testing.TB, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mostRead {
		t.Errorf("allocates %d bytes, at most %d are allowed", n, mostRead)
	}
}

// Hostile draws what files have that no writer writes.
type Hostile struct{ *rand.Rand }

// NewHostile has the draws of a seed.
func NewHostile(seed uint64) Hostile { return Hostile{rand.New(rand.NewPCG(seed, 1))} }

// Count is small, and now and then anything below most.
func (h Hostile) Count(most int) int {
	if h.IntN(40) == 0 {
		return h.IntN(most)
	}
	return h.IntN(5)
}

// Number is mostly below a small one, else one of those that readers do not expect.
func (h Hostile) Number(small int, evil ...uint64) uint64 {
	if h.IntN(3) > 0 {
		return uint64(h.IntN(small))
	}
	return evil[h.IntN(len(evil))]
}

// Must is what a call returns; an error ends the test: Must(f())(t).
func Must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Check(t, err)
		return value
	}
}

// Must2 is Must for two results.
func Must2[T, U any](x T, y U, err error) func(t testing.TB) (T, U) {
	return func(t testing.TB) (T, U) {
		t.Helper()
		Check(t, err)
		return x, y
	}
}

// Check ends the test if there is an error.
func Check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ErrorIf fails the test if something is wrong.
func ErrorIf(t testing.TB, wrong bool, format string, args ...any) {
	if wrong {
		t.Helper()
		t.Errorf(format, args...)
	}
}

// FatalIf ends the test if something is wrong.
func FatalIf(t testing.TB, wrong bool, format string, args ...any) {
	if wrong {
		t.Helper()
		t.Fatalf(format, args...)
	}
}

// Equal fails the test if a value is not the one that is wanted.
func Equal[T comparable](t testing.TB, got, want T, format string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Alike fails the test if of some pairs, each a value and the one that is wanted, one is not printed as
// the other: lists, numbers of other types and NaN compare, too.
func Alike(t testing.TB, what string, pairs ...any) {
	t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		got, want := fmt.Sprint(pair[0]), fmt.Sprint(pair[1])
		ErrorIf(t, got != want, "%s: %s, want %s", what, got, want)
	}
}

// EqualSlices is Equal for lists.
func EqualSlices[T comparable](t testing.TB, got, want []T, format string, args ...any) {
	if !slices.Equal(got, want) {
		t.Helper()
		t.Errorf("%s %v, want %v", fmt.Sprintf(format, args...), got, want)
	}
}

// Fail takes an error that says something, or several things.
func Fail(t testing.TB, err error, wants ...string) {
	t.Helper()
	for _, want := range wants {
		ErrorIf(t, err == nil || !strings.Contains(err.Error(), want), "error %v, want %q", err, want)
	}
}

// Refuse is Fail of a call.
func Refuse[T any](_ T, err error) func(t testing.TB, wants ...string) {
	return func(t testing.TB, wants ...string) {
		t.Helper()
		Fail(t, err, wants...)
	}
}

// Refuse2 is Refuse for two results.
func Refuse2[T, U any](_ T, _ U, err error) func(t testing.TB, wants ...string) {
	return Refuse(0, err)
}

// Says fails the test if a text lacks any of the words.
func Says(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		ErrorIf(t, !strings.Contains(text, word), "no %q in\n%s", word, text)
	}
}

// Panics fails the test if do does not panic with some words.
func Panics(t testing.TB, do func(), words string) {
	t.Helper()
	defer func() { Says(t, fmt.Sprint(recover()), words) }()
	do()
}

// Near fails the test if a number is farther than slack from the one that is wanted, or none.
func Near(t testing.TB, got, want, slack float64, format string, args ...any) {
	if !(math.Abs(got-want) <= slack) {
		t.Helper()
		t.Errorf("%s %v, want %v within %v", fmt.Sprintf(format, args...), got, want, slack)
	}
}

// Text is what a file holds.
func Text(t testing.TB, file string) string {
	t.Helper()
	return string(Must(os.ReadFile(file))(t))
}

// Rows are the lines of a CSV file behind its header.
func Rows(t testing.TB, file string) [][]string {
	t.Helper()
	f := Must(os.Open(file))(t)
	defer f.Close()
	rows := Must(csv.NewReader(f).ReadAll())(t)
	if len(rows) < 2 {
		t.Fatalf("%s has no rows", file)
	}
	return rows[1:]
}

// Table reads a CSV file, packed or not, each row by its columns' names. Lines that begin with
// # are left out.
func Table(t testing.TB, file string) (rows []map[string]string) {
	t.Helper()
	f := Must(os.Open(file))(t)
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		text = Must(gzip.NewReader(f))(t)
	}
	r := csv.NewReader(text)
	r.Comment = '#'
	lines := Must(r.ReadAll())(t)
	for _, cells := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = cells[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// Case is a section of a file of cases: a line "== NAME", what is given, a line "--", what is wanted.
type Case struct{ Name, Given, Want string }

// Cases reads a file of cases.
func Cases(t testing.TB, file string) (all []Case) {
	t.Helper()
	for _, section := range strings.Split("\n"+Text(t, file), "\n== ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		given, want, found := strings.Cut("\n"+body, "\n--\n")
		FatalIf(t, !found, "%s: case %q wants nothing", file, name)
		all = append(all, Case{name, strings.TrimPrefix(given, "\n") + "\n", strings.TrimSuffix(want, "\n")})
	}
	return all
}

// NeedSample skips the test if a file of the reference, kept apart from the sources, is not here.
func NeedSample(t testing.TB, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Skip("the samples are not here")
	}
}
