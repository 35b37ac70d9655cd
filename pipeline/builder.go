package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
)

// What a step may use up before it counts as failed.
const (
	maxMisses = 3 // answers in a row that do not fit, are cut off or cannot be read
	maxParts  = 8 // parts of one change
)

// stepRun carries out one step of the plan as a run of its own: it asks the builder,
// applies what it answers, checks it and commits it.
type stepRun struct {
	*phaseStep
	id string
}

func (s *stepRun) Name() string { return "step " + s.id }

// Definition implements [troupe.Step].
func (s *stepRun) Definition() *troupe.Definition {
	return &troupe.Definition{Kind: "plan step", Name: s.Name()}
}

// Do implements [troupe.Step].
func (s *stepRun) Do(ctx context.Context, run *troupe.Run, in troupe.Handoff) (out troupe.Handoff, err error) {
	defer passQuestion(&out, &err)
	if err := room(run, "step "+s.id); err != nil {
		return troupe.Handoff{}, err
	}
	w, err := s.begin(run, in)
	if err != nil {
		return troupe.Handoff{}, err
	}
	b := &builder{work: w}
	for key, into := range map[string]any{"step": &b.step, "plan": &b.plan, "baseline": &b.baseline, "passage": &b.passage} {
		if err := redecode(in.Custom[key], into); err != nil {
			return troupe.Handoff{}, fmt.Errorf("step %s: %s: %w", s.id, key, err)
		}
	}
	b.start = b.now
	record, err := b.carryOut(ctx)
	if err != nil {
		return troupe.Handoff{}, err
	}
	return troupe.Handoff{
		Task: in.Task, Summary: record.State + ": " + record.Title,
		Outputs: map[string]any{"record": record, "now": b.now, "json": b.JSON, "warnings": b.Warnings, "proposals": b.Proposals, "sensitive": b.sensitive, "errors": b.Errors, "checks": slim(b.passed)},
		Meta:    troupe.HandoffMeta{Status: "success"},
	}, nil
}

// A builder is a step in the making.
type builder struct {
	*work
	step     PlanStep
	plan     Plan
	passage  planStep
	baseline []checks.Outcome
	start    state
	talk     conversation
	held     []edit.Change // changes that fit, or parts, that are not applied yet
	own      []string      // what the agent itself wrote in this step
	made     []string      // what of it was not there before
	rounds   int           // checks that failed
	misses   int           // answers in a row that could not be used
	asked    int           // answers, in all conversations
	unusable []string      // why answers could not be used, for people, in all conversations
	parts    int
	tries    int // conversations
	last     *checks.Outcome
	passed   []checks.Outcome // what the latest round of checks said, until one failed
	same     int              // failures in a row that are the same
	// lastFeedback, lastSignature and lastErrors are of the failure before.
	lastFeedback, lastSignature string
	lastErrors                  int
	blocks                      bool
	// attempts are what was tried, for a fresh conversation.
	attempts  []string
	sensitive []string
	summary   string
}

// carryOut works on the step until it is a commit, or has failed.
func (b *builder) carryOut(ctx context.Context) (StepRecord, error) {
	record := StepRecord{ID: b.step.ID, Title: b.step.Title, State: StepFailed}
	b.blocks = b.delivery.Repository.Edits == editsBlocks
	var last *setback
	for b.tries = 1; b.tries <= 2; b.tries++ {
		if err := b.open(ctx); err != nil {
			return record, err
		}
		done, why, err := b.converseUntilDone(ctx)
		if err != nil {
			return record, err
		}
		if done {
			return b.commit(ctx, record)
		}
		last = why
		b.attempts = append(b.attempts, why.agent)
		reset, err := call[resetResult](ctx, b.run, b.delivery.tools.reset, resetRequest{state: b.now, At: b.run.Now(), Step: b.step.ID, Try: b.tries})
		if err != nil {
			return record, err
		}
		b.now = reset.state
		b.now.Setup = b.start.Setup // with the attempt go its dependencies
		if err := b.noteByHand(ctx); err != nil {
			return record, err
		}
		if why.final {
			break
		}
	}
	record.Rounds, record.Reason, record.Cause, record.Detail = b.rounds, last.person, last.cause, last.detail
	return record, nil
}

// open begins a conversation: the first, or a fresh one that knows what was tried.
func (b *builder) open(ctx context.Context) error {
	b.held, b.own, b.made, b.misses, b.parts, b.last, b.same, b.lastSignature = nil, nil, nil, 0, 0, nil, 0, ""
	b.talk = conversation{}
	look, err := call[lookResult](ctx, b.run, b.delivery.tools.look, lookRequest{state: b.now, Paths: b.step.Files, Run: b.run.ID(), Since: b.site.Base})
	if err != nil {
		return err
	}
	n := slices.IndexFunc(b.plan.Steps, func(s PlanStep) bool { return s.ID == b.step.ID }) + 1
	b.in.Step = &planStep{Step: n, Passage: b.passage.Passage, Found: b.passage.Found, Source: b.passage.Source, Note: b.passage.Note}
	b.in.PlanStep = &b.step
	b.in.Plan = nil
	for _, s := range b.plan.Steps {
		b.in.Plan = append(b.in.Plan, s.ID+": "+s.Title+" ("+s.Status+")")
	}
	b.in.Sections = nil
	b.in.add("FILES OF THIS STEP (as they are now, with line numbers that are not part of them)", look.Files)
	if len(look.Missing) > 0 {
		b.in.add("FILES THAT THE STEP NAMES AND THAT ARE NOT THERE YET", strings.Join(look.Missing, "\n"))
	}
	b.in.add("WHAT WAS CHANGED SO FAR", look.Diff)
	b.in.add("WHAT WAS TRIED BEFORE AND DID NOT WORK", strings.Join(b.attempts, "\n\n"))
	b.in.Blocks = b.blocks
	b.talk.opening, err = b.phase.prompt(b.in, b.at)
	return err
}

// converseUntilDone goes through rounds of asking, applying and checking. Why says
// what the conversation failed at.
func (b *builder) converseUntilDone(ctx context.Context) (done bool, why *setback, err error) {
	for {
		if err := room(b.run, "another round of step "+b.step.ID); err != nil {
			return false, nil, err
		}
		a, err := b.converse(ctx, &b.talk)
		if err != nil {
			return false, nil, err
		}
		b.asked++
		if isLimit(a.stop) {
			return false, nil, cmp.Or(room(b.run, "another round of step "+b.step.ID), fmt.Errorf("step %s: %s", b.step.ID, limitText(a.stop)))
		}
		feedback, done, why, err := b.take(ctx, a)
		if done || why != nil || err != nil {
			return done, why, err
		}
		b.talk.add(a.text, feedback)
	}
}

// take uses one answer: feedback is what the agent is told next, why is set where
// nothing more is to be expected of this conversation.
func (b *builder) take(ctx context.Context, a answered) (feedback string, done bool, why *setback, err error) {
	switch {
	case a.cut:
		if err := b.warn(ctx, "reply_cut", "the answer was cut off; nothing of it was used"); err != nil {
			return "", false, nil, err
		}
		return b.missed(cutText(a.text), setback{agent: "its answers were cut off again and again", person: "they were cut off, because they are longer than the model can write", cause: causeTooLong})
	case a.idle:
		return "", false, byBoth(causeNoAnswer, idleText), b.warn(ctx, "reply_missing", idleText)
	case a.parsed.Correction != "" || a.parsed.Level == LevelMarkdown || a.parsed.Level == LevelRaw:
		b.Corrections++
		if b.delivery.Repository.Edits == editsAuto {
			b.blocks = true
		}
		if err := b.warn(ctx, codeCorrection, a.parsed.forPeople()); err != nil {
			return "", false, nil, err
		}
		return b.missed(a.parsed.Correction+blocksHint(b.blocks), setback{
			agent:  "its answers were no JSON that could be read; it said: " + clipText(strings.Join(strings.Fields(a.text), " "), 200),
			person: "they were not in the form that was asked for" + quotedAnswer(a.text), cause: causeOfText(a.text),
		})
	}
	if a.parsed.Level == LevelRepaired && b.delivery.Repository.Edits == editsAuto {
		b.blocks = true
	}
	if err := b.judge(ctx, a.text, &a.parsed); err != nil {
		return "", false, nil, err
	}
	out := &a.parsed.Output
	if len(out.NextPhase.Blockers) > 0 || out.Status == "failed" {
		reasons := append(texts(out.NextPhase.Blockers), texts(out.Errors)...)
		why := byBoth(causeBlocked, "the builder says that it cannot be done: "+strings.Join(reasons, "; "))
		why.final = true
		return "", false, why, nil
	}
	var outputs struct {
		More    bool   `json:"more"`
		Summary string `json:"summary"`
	}
	_ = redecode(out.Outputs, &outputs) // fields of another kind are as good as none
	b.summary = outputs.Summary
	return b.applyAndCheck(ctx, changesOf(&a.parsed), outputs.More)
}

func blocksHint(blocks bool) string {
	if !blocks {
		return ""
	}
	return "\n" + blocksText
}

// missed counts answers in a row that could not be used.
func (b *builder) missed(feedback string, why setback) (string, bool, *setback, error) {
	b.unusable = append(b.unusable, why.person)
	if b.misses++; b.misses > maxMisses {
		why.person = unusableText(max(b.asked, len(b.unusable)), b.unusable)
		return "", false, &why, nil
	}
	return feedback, false, nil, nil
}

// mostReasons is how many different reasons people are told.
const mostReasons = 4

// unusableText says how often a builder was asked and why its answers came to nothing:
// each reason once, with how often it was the reason where there were others.
func unusableText(asked int, why []string) string {
	var reasons []string
	for _, reason := range why {
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	none := "none of its answers could be used"
	if len(why) < asked {
		none = fmt.Sprintf("%d of its answers could not be used", len(why))
	}
	more := ""
	if left := len(reasons) - mostReasons; left > 0 {
		more = "; and " + counted(left, "other reason", "other reasons")
		reasons = reasons[:mostReasons]
	}
	if len(reasons) > 1 {
		for i, reason := range reasons {
			n := 0
			for _, other := range why {
				n += oneIf(other == reason)
			}
			reasons[i] = fmt.Sprintf("%s (%s)", reason, counted(n, "time", "times"))
		}
	}
	return fmt.Sprintf("the builder was asked %s, and %s: %s%s", counted(asked, "time", "times"), none, strings.Join(reasons, "; "), more)
}

// changesOf are the artifacts of an answer as changes.
func changesOf(p *Parsed) (changes []edit.Change) {
	var raw struct {
		Artifacts []edit.Change `json:"artifacts"`
	}
	_ = json.Unmarshal(p.JSON, &raw) // what is no list has no artifacts
	changes = raw.Artifacts
	for _, a := range p.Output.Artifacts[min(len(changes), len(p.Output.Artifacts)):] { // those that compensation made
		changes = append(changes, edit.Change{Path: a.Path, Type: edit.TypeFile, Content: a.Content})
	}
	for i := range changes {
		c := &changes[i]
		if c.Type == ArtifactKnowledge {
			c.Type = edit.TypeFile
		}
		c.Path = cmp.Or(c.Path, c.Name)
	}
	return together(changes)
}

// together puts the edits of a file into one change, where they are in several.
func together(changes []edit.Change) (list []edit.Change) {
	for _, c := range changes {
		i := slices.IndexFunc(list, func(other edit.Change) bool {
			return other.Path == c.Path && other.Type == edit.TypeEdit && c.Type == edit.TypeEdit
		})
		if i < 0 {
			list = append(list, c)
			continue
		}
		list[i].Edits = append(list[i].Edits, c.Edits...)
		list[i].Reason, list[i].Broken = cmp.Or(list[i].Reason, c.Reason), cmp.Or(list[i].Broken, c.Broken)
	}
	return list
}

// applyAndCheck applies what an answer wants done, with what was held before.
func (b *builder) applyAndCheck(ctx context.Context, changes []edit.Change, more bool) (feedback string, done bool, why *setback, err error) {
	b.hold(changes)
	if len(b.held) == 0 && b.now.Tree == b.start.Tree {
		b.same++
		if b.same >= 2 {
			return "", false, &setback{agent: "its answers change nothing", person: "the builder's answers change nothing", cause: causeUnchanged}, nil
		}
		if err := b.warn(ctx, codeUnused, "its answer changes nothing and is asked for again"); err != nil {
			return "", false, nil, err
		}
		return "Your answer changes nothing: it has no artifacts. Send the changes of this step as artifacts.", false, nil, nil
	}
	if more {
		if b.parts++; b.parts > maxParts {
			return "", false, &setback{agent: fmt.Sprintf("it sent more than %d parts", maxParts), person: fmt.Sprintf("the builder did not come to an end: it sent more than %d parts", maxParts), cause: causeTooLong}, nil
		}
		return fmt.Sprintf("Part %d is held: %s. Send the next part.", b.parts, strings.Join(pathsIn(b.held), ", ")), false, nil, nil
	}
	r, err := call[applyResult](ctx, b.run, b.delivery.tools.apply, applyRequest{
		state: b.now, At: b.run.Now(), Step: b.step.ID, Changes: b.held, Runs: []string{b.run.ID()}, Own: b.own, Made: b.made,
	})
	if err != nil {
		return "", false, nil, err
	}
	b.now = r.state
	if err := b.noteByHand(ctx); err != nil {
		return "", false, nil, err
	}
	for _, note := range r.Notes {
		if err := b.warn(ctx, "edit_inexact", note); err != nil {
			return "", false, nil, err
		}
	}
	if len(r.Problems) > 0 {
		b.held = slices.DeleteFunc(b.held, func(c edit.Change) bool { return !slices.Contains(r.Fits, c.Path) })
		return b.missed(problemText(&r, b.held), setback{agent: "its edits did not fit: " + r.Problems[0].String(), person: r.Problems[0].ForPeople(), cause: causeEdits})
	}
	b.own, b.made = append(b.own, pathsIn(b.held)...), append(b.made, r.Made...)
	b.held, b.misses = nil, 0
	b.sensitive = append(b.sensitive, r.Sensitive...)
	if len(r.Files) == 0 && b.last != nil {
		if b.same++; b.same >= 2 {
			return "", false, &setback{
				agent:  "its answers change nothing, and the check still fails: " + b.last.Mark(),
				person: "the builder's answers change nothing any more, and " + b.last.ForPeople() + " still fails", cause: causeChecks, detail: clipText(b.last.Excerpt, 1500),
			}, nil
		}
		return "Your answer changes nothing in the files. " + b.lastFeedback, false, nil, nil
	}
	return b.checkAll(ctx, notesText(r.Notes))
}

func notesText(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return "Your edits were made, but not exactly as you wrote them:\n- " + strings.Join(notes, "\n- ") + "\n\n"
}

// hold adds changes to those that are held: one replaces what an earlier answer had for
// its path. A rename stays where edits come to it, which are made in the renamed file.
func (b *builder) hold(changes []edit.Change) {
	b.held = slices.DeleteFunc(b.held, func(c edit.Change) bool {
		return slices.ContainsFunc(changes, func(fresh edit.Change) bool {
			return fresh.Path == c.Path && (c.Type != edit.TypeRename || fresh.Type != edit.TypeEdit)
		})
	})
	b.held = append(b.held, changes...)
}

func pathsIn(changes []edit.Change) (list []string) {
	for _, c := range changes {
		list = append(list, c.Path)
	}
	return list
}

// problemText says what does not fit, and what need not be sent again.
func problemText(r *applyResult, held []edit.Change) string {
	var t strings.Builder
	t.WriteString("Nothing was written, because not everything fits:\n")
	for _, p := range r.Problems {
		fmt.Fprintf(&t, "\n%s\n", p)
	}
	if len(held) > 0 {
		fmt.Fprintf(&t, "\nThese fit and are held; send them again only to replace them: %s.\n", strings.Join(pathsIn(held), ", "))
	}
	t.WriteString("\nSend the artifacts that did not fit, corrected.")
	return t.String()
}

// noteByHand warns of what a person changed in the meantime.
func (w *work) noteByHand(ctx context.Context) error {
	if len(w.now.ByHand) == 0 {
		return nil
	}
	files := strings.Join(w.now.ByHand, ", ")
	w.now.ByHand = nil
	return w.warn(ctx, "by_hand", "changed by hand in the worktree, and kept: "+files)
}

// commit makes a commit of what was checked.
func (b *builder) commit(ctx context.Context, record StepRecord) (StepRecord, error) {
	message := b.step.Title
	if b.summary != "" {
		message += "\n\n" + clipText(strings.TrimSpace(b.summary), 1000)
	}
	r, err := call[commitResult](ctx, b.run, b.delivery.tools.commit, commitRequest{state: b.now, At: b.run.Now(), Step: b.step.ID, Message: message})
	if err != nil {
		return record, err
	}
	b.now = r.state
	record.State, record.Commit, record.Rounds = StepDone, r.Commit, b.rounds+1
	for _, f := range r.Files {
		record.Files = append(record.Files, f.Path)
	}
	return record, nil
}
