package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/git"
)

// builderWith is a builder whose tools say what they are told.
func builderWith(run *troupe.Run, applied *[]applyRequest, checked *[]checkRequest, results []applyResult, outs ...checks.Outcome) *builder {
	var changed []diffRequest
	d := &delivery{Config: Config{Repository: &Repository{Rounds: 4}}, tools: siteTools{
		apply: inTurn(toolApply, applied, results...), stat: inTurn("count_changes", &changed, diffResult{Files: []git.Stat{{Path: "a.go"}}}), check: inTurn(toolCheck, checked, outcomes(outs...)...),
	}}
	b := &builder{work: &work{delivery: d, run: run, now: state{Head: "h", Tree: "t"}}, step: PlanStep{ID: "1"}, start: state{Head: "h", Tree: "t"}}
	b.site.Checks = []checks.Check{{Name: "build"}, {Name: "test"}}
	return b
}

// What does not fit is asked for again, with what fits held until it does.
func TestWhatFitsIsHeldUntilAllDoes(t *testing.T) {
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		var applied []applyRequest
		var checked []checkRequest
		b := builderWith(run, &applied, &checked, []applyResult{
			{state: state{Head: "h", Tree: "t"}, Problems: []edit.Problem{{Path: "b.go", Message: "no such text"}}, Fits: []string{"a.go"}, Notes: []string{"a space"}},
			{state: state{Head: "h", Tree: "u", ByHand: []string{"c.go"}}, Files: []git.Stat{{Path: "a.go"}}, Made: []string{"a.go"}, Sensitive: []string{"s"}},
		}, checks.Outcome{Name: "build", OK: true})
		b.misses = 1
		feedback, done, why, err := b.applyAndCheck(ctx, []edit.Change{{Path: "a.go"}, {Path: "b.go"}}, false)
		if err != nil || done || why != nil || !strings.Contains(feedback, "b.go, no such text") || !strings.Contains(feedback, "are held; send them again only to replace them: a.go.") || b.misses != 2 || len(checked) != 0 {
			t.Errorf("%q, %t, %+v, %v", feedback, done, why, err)
		}
		if got := pathsIn(b.held); !slices.Equal(got, []string{"a.go"}) || len(b.Warnings) != 1 {
			t.Errorf("held are %q, warnings %q", got, b.Warnings)
		}
		feedback, done, why, err = b.applyAndCheck(ctx, []edit.Change{{Path: "b.go"}}, false)
		if err != nil || !done || why != nil || feedback != "" || b.misses != 0 || b.held != nil || b.now.Tree != "t" || len(checked) != 2 {
			t.Errorf("%q, %t, %+v, %v, %+v", feedback, done, why, err, b.now)
		}
		if got := fmt.Sprint(pathsIn(applied[1].Changes), b.own, b.made, b.sensitive, len(b.Warnings), b.now.ByHand); got != "[a.go b.go] [a.go b.go] [a.go] [s] 2 []" {
			t.Errorf("got %s", got)
		}
		return nil
	})
}

// Edits of a later part or answer come to a rename that is held; whatever else has its path replaces it.
func TestEditsDoNotReplaceARenameThatIsHeld(t *testing.T) {
	rename := edit.Change{Path: "a.go", Type: edit.TypeRename, To: "b.go"}
	edits := edit.Change{Path: "a.go", Type: edit.TypeEdit, Edits: []edit.Edit{{Search: "a", Replace: "b"}}}
	for _, c := range []struct {
		held, fresh []edit.Change
		want        string
	}{
		{[]edit.Change{rename}, []edit.Change{edits}, "rename edit"},
		{[]edit.Change{rename, edits}, []edit.Change{edits}, "rename edit"},
		{[]edit.Change{rename, edits}, []edit.Change{rename}, "rename"},
		{[]edit.Change{rename, edits}, []edit.Change{rename, edits}, "rename edit"},
		{[]edit.Change{rename}, []edit.Change{{Path: "a.go", Type: edit.TypeDelete}}, "delete"},
	} {
		b := &builder{held: slices.Clone(c.held)}
		b.hold(c.fresh)
		var got []string
		for _, held := range b.held {
			got = append(got, held.Type)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v and then %v: held are %q", c.held, c.fresh, got)
		}
	}
}

// Parts of a change are held; too many are refused.
func TestPartsAreHeldUntilTheLast(t *testing.T) {
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		var applied []applyRequest
		b := builderWith(run, &applied, new([]checkRequest), []applyResult{{}})
		for n := range maxParts {
			feedback, done, why, err := b.applyAndCheck(ctx, []edit.Change{{Path: fmt.Sprint(n)}}, true)
			if want := fmt.Sprintf("Part %d is held: 0", n+1); err != nil || done || why != nil || !strings.HasPrefix(feedback, want) || len(b.held) != n+1 {
				t.Errorf("part %d: %q, %t, %+v, %v", n, feedback, done, why, err)
			}
		}
		if _, _, why, err := b.applyAndCheck(ctx, nil, true); err != nil || inShort(why) != "the builder did not come to an end: it sent more than 8 parts" || len(applied) != 0 {
			t.Errorf("%+v, %v", why, err)
		}
		return nil
	})
}

// An answer that changes nothing is told so once, before and after something was applied.
func TestAnAnswerThatChangesNothingIsToldOnce(t *testing.T) {
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		var checked []checkRequest
		b := builderWith(run, new([]applyRequest), &checked, []applyResult{{state: state{Head: "h", Tree: "u"}}}, checks.Outcome{Name: "build", OK: true})
		if feedback, _, why, err := b.applyAndCheck(ctx, nil, false); err != nil || why != nil || !strings.HasPrefix(feedback, "Your answer changes nothing: it has no artifacts.") {
			t.Errorf("%q, %+v, %v", feedback, why, err)
		}
		if _, _, why, err := b.applyAndCheck(ctx, nil, false); err != nil || inShort(why) != "the builder's answers change nothing" {
			t.Errorf("%+v, %v", why, err)
		}
		b.same, b.last, b.lastFeedback, b.now.Tree = 0, &checks.Outcome{Name: "test"}, "It fails.", "u"
		if feedback, _, why, err := b.applyAndCheck(ctx, nil, false); err != nil || why != nil || feedback != "Your answer changes nothing in the files. It fails." {
			t.Errorf("%q, %+v, %v", feedback, why, err)
		}
		if _, _, why, err := b.applyAndCheck(ctx, nil, false); err != nil || inShort(why) != "the builder's answers change nothing any more, and the check “test” still fails" || len(checked) != 0 {
			t.Errorf("%+v, %v", why, err)
		}
		b.last = nil // nothing has failed yet: what is there is checked
		if _, done, _, err := b.applyAndCheck(ctx, nil, false); err != nil || !done || len(checked) != 2 {
			t.Errorf("%t, %v, %d checks", done, err, len(checked))
		}
		return nil
	})
}

// The first check that fails ends the round, and is what the builder is told.
func TestTheFirstCheckThatFailsEndsTheRound(t *testing.T) {
	inRun(t, func(ctx context.Context, run *troupe.Run) error {
		var checked []checkRequest
		b := builderWith(run, new([]applyRequest), &checked, nil, checks.Outcome{Name: "build", OK: true, Took: 7}, checks.Outcome{Name: "test", Exit: 1, Excerpt: "broken", Cause: checks.CauseChange, Took: 5})
		b.site.Checks = append(b.site.Checks, checks.Check{Name: "late"})
		feedback, done, why, err := b.checkAll(ctx, "Notes. ")
		if err != nil || done || why != nil || !strings.HasPrefix(feedback, "Notes. Your change was applied, and a check fails.\n") || b.lastFeedback != feedback || b.last == nil || b.last.Name != "test" || b.rounds != 1 {
			t.Errorf("%q, %t, %+v, %v", feedback, done, why, err)
		}
		if len(checked) != 2 || checked[0].Spent != 0 || checked[1].Spent != 7 || checked[1].Check != "test" {
			t.Errorf("checked %+v", checked)
		}
		b.baseline = []checks.Outcome{{Name: "build", OK: true, Tests: 3}}
		b.site.Checks, b.Warnings = b.site.Checks[:1], nil
		b.delivery.tools.check = inTurn(toolCheck, new([]checkRequest), outcomes(checks.Outcome{Name: "build", OK: true, Tests: 2})...)
		if feedback, done, _, err := b.checkAll(ctx, ""); err != nil || done || !strings.HasPrefix(feedback, "Only 2 tests ran") || len(b.Warnings) != 1 || !strings.HasPrefix(b.Warnings[0], "tests_missing: only 2 tests ran") || strings.Contains(b.Warnings[0], "Bring them back") {
			t.Errorf("%q, %t, %v, %q", feedback, done, err, b.Warnings)
		}
		return nil
	})
}
