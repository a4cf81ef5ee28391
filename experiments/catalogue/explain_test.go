package catalogue_test

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/catalogue"
	"github.com/weft-sim/weft/experiments/engine"
	_ "github.com/weft-sim/weft/experiments/flows" // tests read experiment files
	_ "github.com/weft-sim/weft/experiments/kinds"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/measure"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	_ "github.com/weft-sim/weft/mpi/replay"
	_ "github.com/weft-sim/weft/routing/lft"
	_ "github.com/weft-sim/weft/routing/opensm"
	_ "github.com/weft-sim/weft/routing/opensm/mcast"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestExplain: keys, columns, names and verdicts have their meaning, unit, bounds and
// where they are used.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		word string
		want []string
	}{
		{"traffic.load", []string{"traffic.load: a setting\n  Offered load.", "unit      flits per terminal and cycle", "allowed   0 to 1", "default   0.1", "kinds     traffic", "used      in examples/"}},
		{"load", []string{"traffic.load: a setting"}},
		{"traffic.pattern", []string{"values    bit-complement, ", "uniform, worst-case\n"}},
		{"measure.warmup", []string{"unit      cycles; or a time, such as \"2us\""}},
		{"hca.preset", []string{"values    edr, fdr, hdr, ndr, qdr\n"}},
		{"transport.nscc.start_window", []string{"transport.nscc.start_window: a setting\n  Window of a flow that starts", "unit      packets", "kinds     flows"}},
		{"transport.dcqcn", []string{"transport.dcqcn: a table of experiment files"}},
		{"switch.allocator", []string{"values    age, input-first, input-first-output, islip, matrix, wavefront\n"}},
		{"workload.algorithm", []string{"alltoall-direct-eager, alltoall-library"}},
		{"[measure]", []string{"measure: a table of experiment files", "kinds     multicast-latency, multicast-routing\n"}},
		{"sweep.topology.dims", []string{`topology.dims: a setting of topology "torus"`, "type      list of integer"}},
		{`routing.type = "val"`, []string{"routing.type: a setting", "val: a routing"}},
		{"val", []string{"val: a routing", `written   routing.type = "val"`}},
		{"plot.y_max", []string{"plot.y_max: a key of [[plot]]"}},
		{"latency_p99_ns", []string{"a column of results.csv\n  99th percentile of packet latency.", "unit      nanoseconds"}},
		{"busbw_bytes_per_s", []string{"unit      bytes per second"}},
		{"credit_stall_ns", []string{"a column of blame.csv"}},
		{"links.csv", []string{"links.csv: a table of results", "measure.links asks for it"}},
		{"saturated", []string{"saturated: a verdict on a point", "saturated: a column of results.csv"}},
		{"undecided", []string{"A longer measure.window"}},
		{"missed", []string{"a verdict on a target of a paper"}},
		{"MLID", []string{"MLID: a term\n  Multicast local identifier"}},
		{"mlid", []string{"MLID: a term"}},
		{"CTS", []string{"CTS: a term"}},
		{"islip", []string{"islip: an allocator", `written   switch.allocator = "islip"`}},
		{"mpi", []string{"mpi: a kind of experiment", "begin     weft init mpi"}},
	} {
		var b strings.Builder
		err := catalogue.Explain(&b, c.word)
		simtest.ErrorIf(t, err != nil, "%s: %v", c.word, err)
		for _, want := range c.want {
			simtest.ErrorIf(t, !strings.Contains(b.String(), want), "%s: no %q in\n%s", c.word, want, b.String())
		}
	}
	simtest.Fail(t, catalogue.Explain(&strings.Builder{}, "latency_p99"), `did you mean "latency_p99_ns"?`)
	for _, word := range []string{"", ".", "[]", "=", "no such word"} {
		err := catalogue.Explain(&strings.Builder{}, word)
		simtest.ErrorIf(t, err == nil, "%q has a meaning", word)
	}
}

// leaning is a description that says something only behind another.
var leaning = regexp.MustCompile(`^(the same|and |of |its |their |that |those |mean of those|median$|mean$|largest$|the largest$|[0-9]+th percentile$)|(median|percentile) of it$`)

// TestEverythingIsExplained: every word that a kind declares, every verdict, and every
// reason of a verdict has a meaning, and no column one that leans on the column before.
func TestEverythingIsExplained(t *testing.T) {
	words := map[string]bool{}
	for _, w := range catalogue.Words() {
		words[w] = true
		simtest.ErrorIf(t, strings.TrimSpace(w) == "", "an empty word")
	}
	want := append(verdict.Names(), measure.Steady.String(), measure.Saturated.String(), measure.Undecided.String(),
		measure.ByBound, measure.ByGrowth, measure.ByDrain, measure.ByTests, measure.ByPackets, measure.ByWindow, measure.ByBacklog, measure.ByLatency, measure.ByAccepting,
		results.Higher, results.Lower, results.Unclear, results.Equal, results.NoInterval, results.Best, results.Tie, results.Behind, results.Foremost)
	for _, k := range experiments.DescribeKinds() {
		want = append(want, k.Name)
		columns := slices.Clone(k.Columns)
		for _, f := range k.Further {
			want = append(want, f.Name+".csv")
			columns = append(columns, f.Columns...)
		}
		for _, c := range k.Columns {
			want = append(want, c.Name)
		}
		for _, c := range columns {
			simtest.ErrorIf(t, leaning.MatchString(c.Doc), "kind %s: column %s is %q", k.Name, c.Name, c.Doc)
		}
		for _, table := range k.Tables {
			for _, p := range table.Params {
				want = append(want, table.Header()+"."+p.Key)
			}
		}
	}
	for _, w := range want {
		simtest.ErrorIf(t, !words[w], "%q is not explained", w)
	}
}

// TestStart: what a kind begins with is valid and runs, has no warning, and shows every setting of
// the kind; with the comments taken off the settings, it is the same experiment.
func TestStart(t *testing.T) {
	files, err := os.ReadDir("starts")
	simtest.FatalIf(t, err != nil || len(files) < 7, "%d files in starts (%v)", len(files), err)
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".toml")
		text := simtest.Must(catalogue.Start(name))(t)
		f, err := experiments.Load(name+".toml", text, experiments.Options{Quick: true})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		report, err := f.Preflight(false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		simtest.ErrorIf(t, len(f.Warnings)+len(report.Warnings) > 0, "%s: warnings %v %v", name, f.Warnings, report.Warnings)
		outcome, err := engine.Execute(t.Context(), f, engine.Execution{Dir: t.TempDir()})
		simtest.ErrorIf(t, err != nil || len(outcome.Failures) > 0 || len(outcome.Figures) == 0,
			"%s: %v, failures %v, figures %v", name, err, outcome.Failures, outcome.Figures)
		var all strings.Builder
		mark := false // of a table with a name of the user's
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "\n") {
				mark = false
			}
			mark = mark || strings.HasPrefix(line, "#[")
			if rest, is := strings.CutPrefix(line, "#"); is && rest[0] >= 'a' && rest[0] <= 'z' && !mark {
				line = rest
			}
			all.WriteString(line)
		}
		_, err = experiments.Load(name+".toml", text, experiments.Options{})
		simtest.ErrorIf(t, err != nil, "%s in full: %v", name, err)
		spelt, err := experiments.Load(name+".toml", all.String(), experiments.Options{Quick: true})
		if err != nil {
			t.Errorf("%s with all settings: %v\n%s", name, err, all.String())
			continue
		}
		for i, p := range f.Points {
			if p.Hash != spelt.Points[i].Hash {
				t.Errorf("%s with all settings is another experiment:\n%s\nand without\n%s", name, spelt.Resolved(), f.Resolved())
				break
			}
		}
	}
	simtest.Refuse(catalogue.Start("traffik"))(t, `did you mean "traffic"?`)
	for _, name := range experiments.KindNames() {
		_, err := catalogue.Start(name)
		simtest.ErrorIf(t, err != nil, "%v", err)
	}
}

// TestGlossary: terms are in alphabetical order, each once.
func TestGlossary(t *testing.T) {
	var b strings.Builder
	simtest.Check(t, catalogue.Page(&b))
	_, glossary, _ := strings.Cut(b.String(), `id="glossary"`)
	last, terms := "", 0
	for _, row := range regexp.MustCompile(`<tr><td>([^<]*)</td>`).FindAllStringSubmatch(glossary, -1) {
		word := strings.ToLower(row[1])
		simtest.ErrorIf(t, word <= last, "%q behind %q", word, last)
		last = word
		terms++
	}
	simtest.ErrorIf(t, terms < 50, "%d terms", terms)
}

// TestListIsCheap: the list does not expand the sweeps of the files that come with weft,
// which takes several times as much.
func TestListIsCheap(t *testing.T) {
	allocations := testing.AllocsPerRun(1, func() {
		err := catalogue.List(io.Discard)
		simtest.ErrorIf(t, err != nil, "%v", err)
	})
	simtest.ErrorIf(t, allocations > 200_000, "%v allocations", allocations)
}

// TestReferenceIsWhole: the page and the manual have every setting, and the tables of every
// kind, among them those without settings of their own. No key stands twice among the settings of one thing.
func TestReferenceIsWhole(t *testing.T) {
	var page strings.Builder
	simtest.Check(t, catalogue.Page(&page))
	manual := catalogue.Manual()
	settings := catalogue.Settings()
	simtest.ErrorIf(t, len(settings) < 300, "%d settings", len(settings))
	type place struct{ kind, table, choice, entry, key string }
	seen := map[place]bool{}
	for _, s := range settings {
		at := place{s.Kind, s.Table, s.Choice, s.Entry, s.Key}
		simtest.ErrorIf(t, seen[at], "%s of kind %q is there twice", s.Path(), s.Kind)
		seen[at] = true
		if !strings.Contains(page.String(), "<td><code>"+s.Key+"</code></td>") || !strings.Contains(manual, "\n**"+s.Key+"**\n") {
			t.Errorf("%s of kind %q is missing", s.Path(), s.Kind)
		}
	}
	for _, title := range []string{"[[plot.reference]]", "[sweep]", "[quick]"} {
		simtest.ErrorIf(t, !strings.Contains(page.String(), ">"+title+"</h") || !strings.Contains(manual, "# "+title+"\n"), "%s is missing", title)
	}
}

// TestCompletions: keys of a kind with what they can be; those under names of users, and of
// other kinds, are left out.
func TestCompletions(t *testing.T) {
	keys := catalogue.Completions("traffic")
	for key, value := range map[string]string{"topology.type": "dragonfly", "topology.p": "", "fabric.unit": "packet", "seed": ""} {
		values, known := keys[key]
		simtest.ErrorIf(t, !known || value != "" && !slices.Contains(values, value), "%s: %v, %v", key, values, known)
	}
	for _, key := range []string{"channel.CLASS.latency", "channel.latency", "job.ranks", "plot.x", "title"} {
		_, known := keys[key]
		simtest.ErrorIf(t, known, "%s is completed", key)
	}
}

// TestMentions: a word that stands only in texts leads to what they are about; a table under names of the user's
// own is found without NAME.
func TestMentions(t *testing.T) {
	for word, want := range map[string]string{"osu_bw": `"osu_bw" stands in what weft explain says of osu-bandwidth`, "traffic.phase": `"phase" stands in what weft explain says of phase.NAME, `} {
		err := catalogue.Explain(io.Discard, word)
		simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), want), "%s: %v; want %s", word, err, want)
	}
	err := catalogue.Explain(io.Discard, "xyzzy")
	simtest.ErrorIf(t, err == nil || strings.Contains(err.Error(), "stands in"), "xyzzy: %v", err)
	var text strings.Builder
	for word, want := range map[string]string{"G": "loggops.gap_per_byte: ", "osu_bcast": "see skeleton osu-alltoall"} {
		var text strings.Builder
		err := catalogue.Explain(&text, word)
		simtest.ErrorIf(t, err != nil || !strings.Contains(text.String(), want), "%s: %v, %s", word, err, text.String())
	}
	err = catalogue.Explain(&text, "phase")
	simtest.ErrorIf(t, err != nil || !strings.HasPrefix(text.String(), "phase.NAME: a table"), "phase: %v, %s", err, text.String())
}
