package transport

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// TestNSCC replays the acknowledgements of flows that another simulator has recorded: the same
// window behind each, the same averages and bases. Times are printed in ns: at ties of three
// acknowledgements the window may differ.
func TestNSCC(t *testing.T) {
	files, _ := filepath.Glob("testdata/nscc_*.csv.gz")
	if len(files) != 4 {
		t.Fatalf("%d files", len(files))
	}
	windows, differ := 0, 0
	for _, path := range files {
		rows := vectors(t, path)
		n := newNSCC(&timing{rtt: 14_022_720, packet: 4150, payload: 4086, psPerByte: 80, trims: true}, NSCCConfig{Gamma: 0.8}, 0)
		for i, r := range rows {
			now := int64(math.Round(number(t, r["time_us"]) * 1e6))
			inFlight := int64(number(t, r["in_flight_bytes"]))
			if base := int64(number(t, r["base_rtt_ps"])); r["event"] == "nack" {
				n.sample(base)
				n.refused(now, 4150, inFlight, true)
			} else {
				n.acknowledged(now, int64(number(t, r["raw_rtt_ps"])), r["ecn"] == "1", int64(number(t, r["newly_received_bytes"])), inFlight)
				windows++
				if want := int64(number(t, r["cwnd_bytes_after"])); n.window != want {
					if differ++; differ < 20 {
						t.Logf("%s, row %d %v: window %d, want %d", path, i+2, r, n.window, want)
					}
					n.window = want
				}
			}
			if want := number(t, r["avg_delay_us"]); r["avg_delay_us"] != "" && math.Abs(float64(n.average)/1e6-want) > 1e-4*want+1e-6 {
				t.Fatalf("%s, row %d: average %d, want %v us", path, i+2, n.average, want)
			}
		}
	}
	t.Logf("%d windows, %d differ", windows, differ)
	if windows != 1946 || differ > 3 {
		t.Errorf("%d windows, %d differ; want 1,946, at most 3", windows, differ)
	}
}

func vectors(t *testing.T, path string) (rows []map[string]string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		r := map[string]string{}
		for i, c := range cells {
			r[all[0][i]] = c
		}
		rows = append(rows, r)
	}
	return rows
}

func number(t *testing.T, s string) float64 {
	if s == "" {
		return 0
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
