package main

import (
	"slices"
	"testing"
)

func TestWhatFailedIsTriedOnceMoreOnlyWhereTheMachineMayBeToBlame(t *testing.T) {
	const browser, server = "example.com/troupe/test/browser", "example.com/troupe/server"
	for name, c := range map[string]struct {
		failures []failure
		passes   bool
		asked    []string
		failed   int
	}{
		"passes alone":      {[]failure{{browser, "TestA/light", ""}, {browser, "TestA", ""}, {browser, "", ""}}, true, []string{"TestA"}, 0},
		"fails again":       {[]failure{{browser, "TestA", ""}, {browser, "", ""}}, false, []string{"TestA"}, 2},
		"another package":   {[]failure{{browser, "TestA", ""}, {browser, "", ""}, {server, "TestB", ""}, {server, "", ""}}, true, nil, 4},
		"a data race":       {[]failure{{browser, "TestA", "WARNING: DATA RACE"}, {browser, "", ""}}, true, nil, 2},
		"a panic":           {[]failure{{browser, "TestA", "panic: oh"}, {browser, "", ""}}, true, nil, 2},
		"a broken build":    {[]failure{{browser, "", ""}}, true, nil, 1},
		"more than a few":   {[]failure{{browser, "A", ""}, {browser, "B", ""}, {browser, "C", ""}, {browser, "D", ""}, {browser, "", ""}}, true, nil, 5},
		"one build, one of": {[]failure{{browser, "A", ""}, {browser, "", ""}, {"x/test/browser", "", ""}}, true, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			r := report{failures: c.failures, failed: len(c.failures)}
			r.secondTry([]string{"test/browser"}, func(_, test string) bool {
				asked = append(asked, test)
				return c.passes
			})
			if !slices.Equal(asked, c.asked) || r.failed != c.failed || (len(r.flaky) > 0) != (c.failed == 0) {
				t.Errorf("asked %v, %d failed, flaky %v; want %v and %d", asked, r.failed, r.flaky, c.asked, c.failed)
			}
		})
	}
}
