package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/checks"
)

func TestWhatFailedBeforeMayFailNow(t *testing.T) {
	green, red := checks.Outcome{Name: "test", OK: true, Tests: 3}, checks.Outcome{Name: "test", Exit: 1, Failing: []string{"TestA"}, Tests: 3}
	withFlaky := checks.Outcome{Name: "test", OK: true, Flaky: []string{"TestA"}, Tests: 3}
	other := checks.Outcome{Name: "test", Exit: 1, Failing: []string{"TestA", "TestB"}, Tests: 3}
	fewer, none, unknown := checks.Outcome{Name: "test", OK: true, Tests: 2}, checks.Outcome{Name: "test", OK: true}, checks.Outcome{Name: "test", OK: true, Tests: -1}
	const failed, lost = "Your change was applied, and a check fails.", "tests ran in \"test\", and 3 did before"
	for name, c := range map[string]struct {
		now  checks.Outcome
		was  *checks.Outcome
		want string
	}{
		"it passes":                          {green, &green, ""},
		"it passes and nothing is known":     {green, nil, ""},
		"it fails and nothing is known":      {red, nil, failed},
		"it fails and did not":               {red, &green, failed},
		"it fails as before":                 {red, &red, ""},
		"it fails where it did now and then": {red, &withFlaky, ""},
		"more fails":                         {other, &red, "what passed before fails now: TestB."},
		"a test is gone":                     {fewer, &green, "Only 2 " + lost},
		"all tests are gone":                 {none, &green, "Only 0 " + lost},
		"nobody counts any more":             {unknown, &green, ""},
		"nobody counted":                     {none, &unknown, ""},
		"there were none":                    {unknown, &none, ""},
		"a test is new":                      {green, &fewer, ""},
	} {
		got := verdictOn(c.now, c.was)
		if (c.want == "") != (got == nil) || got != nil && (!strings.Contains(got.agent, c.want) || got.person == "" || forAgents.MatchString(got.person)) {
			t.Errorf("%s: got %+v, want %q", name, got, c.want)
		}
	}
}

// A builder that gets nowhere is stopped by the number of its rounds, or because the same
// failure comes again.
func TestRoundsThatFailAreCounted(t *testing.T) {
	broken := func(messages ...string) *checks.Outcome {
		o := &checks.Outcome{Name: "test", Exit: 1, Excerpt: "the excerpt"}
		for _, m := range messages {
			o.Diagnostics = append(o.Diagnostics, checks.Diagnostic{Path: "a.go", Line: 1, Message: m})
		}
		return o
	}
	for name, c := range map[string]struct {
		outcomes []*checks.Outcome
		whys     []string // "" goes on
	}{
		"other failures":        {[]*checks.Outcome{broken("a"), broken("b"), broken("c")}, []string{"", "", "the check “test” still failed after 3 rounds, final"}},
		"the same failure":      {[]*checks.Outcome{broken("a"), broken("a")}, []string{"", "the builder did not get past the check “test”"}},
		"the formatter":         {[]*checks.Outcome{nil, nil, nil}, []string{"", "", "the formatter still failed after 3 rounds, final"}},
		"not the same in a row": {[]*checks.Outcome{broken("a"), broken("b"), broken("b")}, []string{"", "", "the check “test” still failed after 3 rounds, final"}},
	} {
		b := &builder{work: &work{delivery: &delivery{Config: Config{Repository: &Repository{Rounds: 3}}}}}
		for i, o := range c.outcomes {
			f := formatterFailed("the excerpt")
			if o != nil {
				f = checkFailed(o)
			}
			feedback, done, why, err := b.failed("feedback", f)
			if inShort(why) != c.whys[i] || done || err != nil || (feedback == "feedback") != (why == nil) || b.rounds != i+1 {
				t.Errorf("%s, round %d: %q, %t, %+v, %v", name, i+1, feedback, done, why, err)
			}
			if why != nil && (why.detail != "the excerpt" || !strings.HasSuffix(why.agent, "\nthe excerpt") || why.cause != causeChecks) {
				t.Errorf("%s: %+v", name, why)
			}
		}
	}
}

// What has got less is no longer the same failure.
func TestAFailureThatShrinksIsNotTheSame(t *testing.T) {
	b := &builder{work: &work{delivery: &delivery{Config: Config{Repository: &Repository{Rounds: 9}}}}, lastSignature: "test\nTestA", lastErrors: 2}
	if _, _, why, _ := b.failed("feedback", checkFailed(&checks.Outcome{Name: "test", Failing: []string{"TestA"}})); why != nil || b.same != 0 || b.lastErrors != 1 {
		t.Errorf("%+v, %d, %d", why, b.same, b.lastErrors)
	}
	if _, _, why, _ := b.failed("feedback", checkFailed(&checks.Outcome{Name: "test", Failing: []string{"TestA"}})); why == nil || b.same != 1 {
		t.Errorf("the same failure again is none: %+v, %d", why, b.same)
	}
}

func TestTheChecksOfAStepAreThoseItNames(t *testing.T) {
	b := &builder{work: &work{site: prepared{Checks: []checks.Check{{Name: "build"}, {Name: "lint", When: "**/*.go"}, {Name: "test"}, {Name: "web", Dir: "web"}}}}}
	for _, c := range []struct{ names, changed, want []string }{
		{nil, []string{"a.go"}, []string{"build", "lint", "test"}},
		{nil, []string{"web/a.js"}, []string{"build", "test", "web"}},
		{nil, nil, nil},
		{[]string{"test"}, []string{"a.go"}, []string{"build", "test"}},
		{[]string{"nothing"}, []string{"a.md"}, []string{"build", "test"}},
	} {
		b.step.Checks = c.names
		var got []string
		for _, check := range b.checksToRun(c.changed) {
			got = append(got, check.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %q for %q: got %q, want %q", c.names, c.changed, got, c.want)
		}
	}
}

// What looks like the environment's fault is the builder's where it came with the change.
func TestADependencyThatIsMissingIsTheChangesFault(t *testing.T) {
	const missing = "what it depends on is not here"
	for _, c := range []struct {
		baseline []checks.Outcome
		isNew    bool
		remedy   string
		want     bool
	}{
		{[]checks.Outcome{{Name: "test", OK: true}}, false, missing, true},
		{[]checks.Outcome{{Name: "test", OK: true}}, false, "it took longer than it may", true},
		{[]checks.Outcome{{Name: "test", OK: true}}, false, "the disk is full", false},
		{[]checks.Outcome{{Name: "test"}}, false, missing, false},
		{[]checks.Outcome{{Name: "lint", OK: true}}, false, missing, false},
		{nil, true, missing, true},
		{nil, true, "the disk is full", false},
	} {
		b := &builder{work: &work{site: prepared{New: c.isNew}}, baseline: c.baseline}
		if got := b.isOurs(&checks.Outcome{Name: "test", Remedy: c.remedy}); got != c.want {
			t.Errorf("%+v: got %t", c, got)
		}
	}
}

func TestABuilderIsToldWhyADependencyIsMissing(t *testing.T) {
	for _, c := range []struct {
		cause, remedy string
		setup         []string
		want          string
	}{
		{checks.CauseEnvironment, "what it depends on is not here", nil, "no command fetches dependencies here"},
		{checks.CauseEnvironment, "what it depends on is not here", []string{"npm ci"}, "the setup was not run again for it"},
		{checks.CauseChange, "what it depends on is not here", nil, ""},
		{checks.CauseEnvironment, "the disk is full", nil, ""},
	} {
		b := &builder{work: &work{delivery: &delivery{Config: Config{Repository: &Repository{Setup: c.setup}}}}}
		if got := b.notInstalled(&checks.Outcome{Cause: c.cause, Remedy: c.remedy}); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestWhatIsKnownOfTheBaseIsThatOfTheSameCheck(t *testing.T) {
	baseline := []checks.Outcome{{Name: "build", OK: true}, {Name: "test", Exit: 2, Failing: []string{"TestA"}, Flaky: []string{"TestB"}, Tests: 4, Excerpt: "long"}}
	if got := before(baseline, "test"); got != &baseline[1] {
		t.Errorf("got %+v", got)
	}
	if got := slimBefore(baseline, "test"); got == nil || got.Name != "test" || got.OK || got.Exit != 2 || len(got.Failing) != 1 || len(got.Flaky) != 1 || got.Tests != 4 || got.Excerpt != "" {
		t.Errorf("got %+v", got)
	}
	if before(baseline, "lint") != nil || slimBefore(baseline, "lint") != nil {
		t.Error("something is known of a check that was not run")
	}
}

func TestAFlakyTestIsNamed(t *testing.T) {
	if got, want := flakyNote(&checks.Outcome{Name: "test", Flaky: []string{"TestA", "TestB"}}), "test: failed and passed when it was run again, unchanged: TestA, TestB"; got != want {
		t.Errorf("got %q", got)
	}
}

// The checks of a round share its time.
func TestACheckKeepsToWhatIsLeftOfItsRound(t *testing.T) {
	for _, c := range []struct{ own, spent, want time.Duration }{
		{0, 0, 10 * time.Minute},
		{time.Minute, 0, time.Minute},
		{time.Hour, 0, 30 * time.Minute},
		{0, 25 * time.Minute, 5 * time.Minute},
		{time.Minute, 29 * time.Minute, time.Minute},
		{5 * time.Minute, 29 * time.Minute, time.Minute},
		{time.Minute, time.Hour, time.Second},
	} {
		if got := within(checks.Check{Timeout: c.own}, c.spent).Timeout; got != c.want {
			t.Errorf("%s after %s: got %s, want %s", c.own, c.spent, got, c.want)
		}
	}
}

func TestATextIsClippedWhereACharacterEnds(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd…", "abcéf": "abc…"} {
		if got := clipText(text, 4); got != want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	if long := strings.Repeat("x", maxQuoted); clipped(long) != long || clipped(long+"x") != long+"\n[cut here]" {
		t.Error("an answer is cut at another place")
	}
}

func TestACheckIsRunAgainAsItIsAskedTo(t *testing.T) {
	restored := false
	in := checkRequest{Retry: 2, Before: &checks.Outcome{Name: "test"}}
	got := in.retry(func() error { restored = true; return nil })
	if got.Restore == nil || got.Restore() != nil || !restored || got.Times != 2 || got.Before != in.Before {
		t.Errorf("got %+v", got)
	}
}
