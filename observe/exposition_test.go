package observe_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-z_]+) [^\\]+$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-z_]+) (counter|gauge|histogram)$`)
	sampleLine = regexp.MustCompile(`^([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)$`)
	leLabel    = regexp.MustCompile(`,le="([^"]+)"$`)
)

// A bucket is one line of a histogram.
type bucket struct {
	labels       string
	bound, value float64
}

// exposition reads Prometheus' text format and fails if it is not as strict readers
// want it: HELP and TYPE once, before the samples of a family and nowhere else; no
// sample twice; counters named _total; histograms with buckets that grow up to +Inf,
// which is the count, and a sum.
func exposition(t *testing.T, text string) map[string]float64 {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Fatal("the last line has no end")
	}
	samples, seen := map[string]float64{}, map[string]bool{}
	var family, kind string
	var last bucket
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if family, kind, last = m[1], "", (bucket{}); seen[family] {
				t.Errorf("%s comes twice", family)
			}
			seen[family] = true
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if kind = m[2]; m[1] != family || (kind == "counter") != strings.HasSuffix(family, "_total") {
				t.Errorf("%q after the help of %s", line, family)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("not a line of the format: %q", line)
		}
		suffix, ok := strings.CutPrefix(m[1], family)
		if !ok || kind == "" || (kind == "histogram") != (suffix == "_bucket" || suffix == "_sum" || suffix == "_count") || kind != "histogram" && suffix != "" {
			t.Errorf("%q among the samples of %s %s", line, kind, family)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		name := m[1] + "{" + m[2] + "}"
		if _, twice := samples[name]; err != nil || twice || kind != "gauge" && value < 0 || math.IsNaN(value) {
			t.Errorf("%q: %v, twice: %v", line, err, twice)
		}
		if suffix == "_bucket" {
			le := leLabel.FindStringSubmatch(m[2])
			if le == nil {
				t.Fatalf("%q has no bound", line)
			}
			next := bucket{strings.TrimSuffix(m[2], le[0]), 0, value}
			if next.bound, err = strconv.ParseFloat(le[1], 64); err != nil || last.labels == next.labels && (last.bound >= next.bound || last.value > value) {
				t.Errorf("%q: %v, after %v", line, err, last)
			}
			last = next
		}
		if suffix == "_count" && samples[family+"_bucket{"+m[2]+`,le="+Inf"}`] != value {
			t.Errorf("%q is not the last bucket", line)
		}
		samples[name] = value
	}
	return samples
}
