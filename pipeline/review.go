package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
)

// The states of a criterion and the severities of a finding.
const (
	criterionMet      = "met"
	criterionNotMet   = "not_met"
	criterionUnproven = "unproven"

	severityBlocker = "blocker"
	severityMajor   = "major"
	severityMinor   = "minor"
)

// A review is what QA came to, set beside what was measured.
type review struct {
	Verdict  string      `json:"verdict"`
	Criteria []judgement `json:"criteria,omitempty"`
	Findings []finding   `json:"findings,omitempty"`
	// Claims are where the reviewer says otherwise than what was measured.
	Claims []string `json:"claims,omitempty"`
}

// claims are those of the review, and that it wants something and does not say what.
func (r *review) claims() []string {
	if r.Verdict == "changes_required" && len(r.fixes(0)) == 0 {
		return append(slices.Clone(r.Claims), "the review requires changes and names none")
	}
	return r.Claims
}

// A judgement is what became of an acceptance criterion.
type judgement struct {
	ID       string `json:"id"`
	Text     string `json:"text,omitempty"`
	State    string `json:"state"`
	Evidence string `json:"evidence,omitempty"`
}

// A finding is something that the reviewer holds against the change.
type finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Path     string `json:"path,omitempty"`
	Line     int    `json:"line,omitempty"`
	Problem  string `json:"problem"`
	Fix      string `json:"fix,omitempty"`
	// Proven says that a test shows it, Fell that its own test did not.
	Proven bool `json:"proven,omitempty"`
	Fell   bool `json:"fell,omitempty"`

	Reproduce []edit.Change `json:"reproduce,omitempty"`
}

// blocks reports whether a finding keeps the change from being delivered.
func (f *finding) blocks() bool { return !f.Fell && f.Severity != severityMinor }

// fixes are steps for what is to be put right; n of them were made before.
func (r *review) fixes(n int) (steps []PlanStep) {
	add := func(title, goal string, files []string, acceptance []string) {
		n++
		steps = append(steps, PlanStep{ID: fmt.Sprintf("fix-%d", n), Title: title, Goal: goal, Files: files, Acceptance: acceptance, Status: StepTodo})
	}
	for _, f := range r.Findings {
		if !f.blocks() {
			continue
		}
		goal := fmt.Sprintf("A review found (%s, %s): %s", f.ID, f.Severity, f.Problem)
		if f.Fix != "" {
			goal += "\nProposed: " + f.Fix
		}
		if f.Proven {
			goal += "\nThis test fails and proves it; make it part of the fix:\n" + changesText(f.Reproduce)
		}
		var files []string
		if f.Path != "" {
			files = []string{f.Path}
		}
		for _, c := range f.Reproduce {
			if !slices.Contains(files, c.Path) {
				files = append(files, c.Path)
			}
		}
		add(clipText(cmp.Or(f.Fix, f.Problem), 70), goal, files, nil)
	}
	for _, c := range r.Criteria {
		if c.State == criterionNotMet && len(steps) == 0 {
			add("Meet "+c.ID, fmt.Sprintf("A review found that the criterion %s is not met: %s\n%s", c.ID, c.Text, c.Evidence), nil, []string{c.ID})
		}
	}
	return steps
}

// changesText is what changes do to files, as a reader would write it down.
func changesText(changes []edit.Change) string {
	var b strings.Builder
	for _, c := range changes {
		switch c.Type {
		case edit.TypeEdit:
			for _, e := range c.Edits {
				fmt.Fprintf(&b, "\nIn %s, replace\n%s\nby\n%s\n", c.Path, fenced("", e.Search), fenced("", e.Replace))
			}
		case edit.TypeDelete:
			fmt.Fprintf(&b, "\nRemove %s.\n", c.Path)
		case edit.TypeRename:
			fmt.Fprintf(&b, "\nRename %s to %s.\n", c.Path, c.To)
		default:
			fmt.Fprintf(&b, "\nThe file %s:\n%s\n", c.Path, fenced("", strings.TrimSuffix(c.Content, "\n")))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// comesBack names a finding that was there before, too.
func (r *review) comesBack(before *review) string {
	if before == nil {
		return ""
	}
	for _, f := range r.Findings {
		if f.blocks() && slices.ContainsFunc(before.Findings, func(old finding) bool {
			return old.blocks() && old.Path == f.Path && plainly(old.Problem) == plainly(f.Problem)
		}) {
			return f.ID
		}
	}
	return ""
}

var notLetters = regexp.MustCompile(`[^\pL]+`)

func plainly(text string) string { return notLetters.ReplaceAllString(strings.ToLower(text), " ") }

// lines says what the review came to.
func (r *review) lines() string {
	var b strings.Builder
	for _, c := range r.Criteria {
		fmt.Fprintf(&b, "- %s %s: %s\n", c.ID, strings.ReplaceAll(c.State, "_", " "), cmp.Or(c.Evidence, "no evidence"))
	}
	for _, f := range r.Findings {
		if !f.Fell {
			fmt.Fprintf(&b, "- %s %s %s:%d %s\n", f.ID, f.Severity, f.Path, f.Line, f.Problem)
		}
	}
	return b.String()
}

// forPeople is the same for whoever decides about it.
func (r *review) forPeople() string {
	var b strings.Builder
	for _, c := range r.Criteria {
		fmt.Fprintf(&b, "- %s\n", c.forPeople())
	}
	for _, f := range r.Findings {
		if !f.Fell {
			fmt.Fprintf(&b, "- %s\n", f.forPeople())
		}
	}
	return b.String()
}

// forPeople says of a criterion what became of it.
func (c *judgement) forPeople() string {
	state := cmp.Or(map[string]string{criterionMet: "met", criterionNotMet: "not met", criterionUnproven: "not proven"}[c.State], c.State)
	return strings.TrimSuffix(c.ID+" "+clipText(c.Text, 200), " ") + ": " + strings.TrimSuffix(state+", "+c.Evidence, ", ")
}

// standing says what a finding asks for, in the same words wherever people read of it.
func (f *finding) standing() string {
	switch f.Severity {
	case severityBlocker:
		return "must be put right"
	case severityMinor:
		return "small"
	}
	return "should be put right"
}

// forPeople says of a finding how bad it is, where it is, and what is to be done.
func (f *finding) forPeople() string {
	place := f.Path
	if place != "" && f.Line > 0 {
		place = fmt.Sprintf("%s, line %d", place, f.Line)
	}
	standing := f.standing()
	standing = strings.ToUpper(standing[:1]) + standing[1:]
	text := standing + ": " + f.Problem
	if place != "" {
		text = fmt.Sprintf("%s, in %s: %s", standing, place, f.Problem)
	}
	if f.Proven {
		text += " (a test proves it)"
	}
	if f.Fix != "" {
		text += "\n  What to do: " + f.Fix
	}
	return text
}

// question shows what was found before it is put right.
func (r *review) question(fixes, rounds int, warnings []string) string {
	text := fmt.Sprintf("The review found %s to put right:\n\n%s%s\nAnswer \"go on\" to have that put right, \"stop\" to end here", counted(fixes, "thing", "things"), r.forPeople(), awareText(warnings))
	if rounds <= 0 {
		return text + "; anything else ends it, too."
	}
	return text + ", or say what the review gets wrong: it is then done once more."
}

// qaTask is what a reviewer is to do in a repository.
const qaTask = `Review the change below against the acceptance criteria. You see the whole change and what the checks really said; do not take anybody's word for anything. Look at the code with your tools. "outputs" has:
- "verdict": "accept" or "changes_required".
- "criteria": [{"id": "AC1", "state": "met", "not_met" or "unproven", "evidence": "file:line, or the name of a test"}], one for each criterion.
- "findings": [{"id": "F1", "severity": "blocker", "major" or "minor", "path", "line", "problem", "fix", "reproduce": [artifact]}]. "reproduce" is a test that fails because of the problem, as an artifact like a builder's; it is tried, and a finding whose test passes falls.
- "tests_passed": what the checks said, and "code_quality", "security_issues", "performance_concerns", "recommendations".
Return the report as one markdown artifact of type "file".`

// inspect has the change reviewed.
func (w *work) inspect(ctx context.Context, in troupe.Handoff) error {
	var baseline, verified []checks.Outcome
	for key, into := range map[string]*[]checks.Outcome{"baseline": &baseline, "verified": &verified} {
		if err := redecode(in.Custom[key], into); err != nil {
			return fmt.Errorf("phase %s: %s: %w", w.phase.Name, key, err)
		}
	}
	change, err := call[diffResult](ctx, w.run, w.delivery.tools.diff, diffRequest{From: w.site.Base, To: w.now.Head})
	if err != nil {
		return err
	}
	if err := w.informOfRepository(ctx); err != nil {
		return err
	}
	w.in.add("WHAT THE CHECKS SAID (measured)", measured(baseline, verified))
	for _, r := range w.earlier {
		if r.Phase == phaseImplementation && len(r.Sensitive) > 0 {
			w.in.add("TESTS AND CHECKS THAT THE CHANGE TOUCHES, WITH THE BUILDER'S REASONS", strings.Join(r.Sensitive, "\n"))
		}
		if r.Phase == phaseQA && r.Review != nil {
			w.in.add("YOUR LAST REVIEW", r.Review.lines()+fellText(r.Review))
		}
	}
	w.in.add("THE WHOLE CHANGE", change.Diff)
	w.in.Task = qaTask
	out, err := w.ask(ctx)
	if err != nil {
		return err
	}
	w.Status, w.Outputs, w.NextPhase = out.Status, out.Outputs, out.NextPhase
	if out.Status != "failed" {
		w.Review = readReview(out.Outputs, w.in.Criteria)
		if err := w.holdAgainstFacts(ctx, w.Review, baseline, verified); err != nil {
			return err
		}
	}
	at := w.now
	w.Site = &at
	return w.save(ctx, out.Artifacts)
}

func fellText(r *review) string {
	text := ""
	for _, f := range r.Findings {
		if f.Fell {
			text += fmt.Sprintf("- %s fell: its own test passes\n", f.ID)
		}
	}
	return text
}

// measured says what the checks said of the base and of the change.
func measured(baseline, verified []checks.Outcome) string {
	if len(verified) == 0 {
		return "nothing was checked"
	}
	var b strings.Builder
	for _, o := range verified {
		fmt.Fprintf(&b, "%s (%s): exit code %d", o.Mark(), o.Command, o.Exit)
		if was := before(baseline, o.Name); was != nil {
			fmt.Fprintf(&b, "; before the change: %s", was.Mark())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// readReview reads what QA answered, forgivingly: what it is worth is decided by facts.
func readReview(outputs json.RawMessage, criteria []criterion) *review {
	var raw struct {
		Verdict  string            `json:"verdict"`
		Criteria Items             `json:"criteria"`
		Findings []json.RawMessage `json:"findings"`
	}
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(outputs, &fields)
	for name, into := range map[string]any{"verdict": &raw.Verdict, "criteria": &raw.Criteria, "findings": &raw.Findings} {
		_ = json.Unmarshal(fields[name], into) // a field of another kind stays empty
	}
	r := &review{Verdict: verdictOf(raw.Verdict)}
	for i, data := range raw.Findings {
		var f finding
		if json.Unmarshal(data, &f) != nil {
			var item Item
			_ = item.UnmarshalJSON(data)
			f = finding{Problem: item.String(), Severity: severityMajor}
		}
		f.ID = cmp.Or(f.ID, fmt.Sprintf("F%d", i+1))
		f.Severity = severityOf(f.Severity)
		if f.Problem != "" {
			r.Findings = append(r.Findings, f)
		}
	}
	for _, c := range criteria {
		j := judgement{ID: c.ID, Text: c.Text, State: criterionUnproven}
		for _, item := range raw.Criteria {
			if sameID(item.Field("id"), c.ID) {
				j.Evidence = item.Field("evidence")
				if state := strings.ReplaceAll(strings.ToLower(item.Field("state")), " ", "_"); state == criterionMet || state == criterionNotMet {
					j.State = state
				}
			}
		}
		r.Criteria = append(r.Criteria, j)
	}
	for _, item := range raw.Criteria {
		id := item.Field("id")
		if id != "" && len(criteria) > 0 && !slices.ContainsFunc(criteria, func(c criterion) bool { return sameID(c.ID, id) }) {
			r.Claims = append(r.Claims, fmt.Sprintf("the review speaks of %.40s, and there is no such criterion", id))
		}
	}
	// What the published contract has counts, too, where there is nothing else.
	if raw.Verdict == "" && fields["findings"] == nil {
		var old QA
		_ = json.Unmarshal(outputs, &old)
		for i, issue := range old.SecurityIssues {
			r.Findings = append(r.Findings, finding{ID: fmt.Sprintf("F%d", i+1), Severity: severityMajor, Problem: issue.String(), Path: issue.Field("path")})
		}
		r.Verdict = "accept"
		if len(r.Findings) > 0 || old.TestsPassed.String() == "false" {
			r.Verdict = "changes_required"
		}
	}
	return r
}

// verdictOf reads a verdict. Words that have one meaning are read as such; what follows of a
// review is decided by its findings and criteria alone.
func verdictOf(word string) string {
	switch plain := strings.Trim(notLetters.ReplaceAllString(strings.ToLower(word), "_"), "_"); plain {
	case "accept", "accepted", "approve", "approved":
		return "accept"
	case "changes_required", "changes_requested", "request_changes", "reject", "rejected":
		return "changes_required"
	}
	return word
}

// severityOf reads a severity. One that nobody knows is not taken lightly.
func severityOf(word string) string {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case severityBlocker, severityMajor, severityMinor:
		return word
	case "critical":
		return severityBlocker
	case "low", "info", "nit", "trivial", "suggestion":
		return severityMinor
	}
	return severityMajor
}

var (
	evidencePlace = regexp.MustCompile(`([\w@+./-]+\.\w{1,10})(?::(\d+))?`)
	// evidenceTest is the name of a test, in the languages where it is one word.
	evidenceTest = regexp.MustCompile(`(?:[\w./-]+\.)?\b((?:Test|Fuzz|Example|Benchmark)[A-Z_]\w*|test_\w+)(\.\w+)?`)
)

// evidenceIn takes apart what a reviewer names as evidence: a file, and names of tests.
func evidenceIn(text string) (file string, tests []string) {
	text = evidenceTest.ReplaceAllStringFunc(text, func(found string) string {
		m := evidenceTest.FindStringSubmatch(found)
		if m[2] != "" && !strings.Contains(m[2], "_") && strings.HasPrefix(m[1], "test_") { // a file is called so
			return found
		}
		tests = append(tests, m[1])
		return " "
	})
	if m := evidencePlace.FindStringSubmatch(text); m != nil {
		file = m[1]
	}
	return file, tests
}

// holdEvidence has criteria unproven whose evidence is not there.
func (w *work) holdEvidence(ctx context.Context, r *review) error {
	request := lookRequest{state: w.now, OnlyMissing: true, ByName: true}
	for _, c := range r.Criteria {
		file, tests := evidenceIn(c.Evidence)
		if file != "" {
			request.Paths = append(request.Paths, file)
		}
		request.Tests = append(request.Tests, tests...)
	}
	if len(request.Paths)+len(request.Tests) == 0 {
		return nil
	}
	look, err := call[lookResult](ctx, w.run, w.delivery.tools.look, request)
	if err != nil {
		return err
	}
	for i := range r.Criteria {
		c := &r.Criteria[i]
		file, tests := evidenceIn(c.Evidence)
		isMissing := slices.Contains(look.Missing, file) || slices.ContainsFunc(tests, func(name string) bool { return slices.Contains(look.MissingTests, name) })
		if c.State == criterionMet && isMissing {
			c.State = criterionUnproven
			r.Claims = append(r.Claims, fmt.Sprintf("%s: the evidence %q is not there", c.ID, c.Evidence))
		}
	}
	return nil
}

// holdAgainstFacts sets claims beside what is known, and tries the tests of findings.
func (w *work) holdAgainstFacts(ctx context.Context, r *review, baseline, verified []checks.Outcome) error {
	passed := len(verified) > 0
	for _, o := range verified {
		passed = passed && (o.OK || verdictOn(o, before(baseline, o.Name)) == nil)
	}
	var claim struct {
		TestsPassed Item `json:"tests_passed"`
	}
	_ = json.Unmarshal(w.Outputs, &claim)
	if said := claim.TestsPassed.String(); said != "" && (said == "true") != passed {
		claimed, fact := map[string]string{"true": "that the tests pass", "false": "that the tests do not pass"}[said], "it was measured that they do not"
		switch {
		case len(verified) == 0:
			fact = "nothing was measured"
		case passed:
			fact = "it was measured that they do"
		}
		r.Claims = append(r.Claims, fmt.Sprintf("the review says %s, and %s", cmp.Or(claimed, fmt.Sprintf("of the tests: %q", said)), fact))
	}
	w.setTestsPassed(passed)
	if err := w.holdEvidence(ctx, r); err != nil {
		return err
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if len(f.Reproduce) == 0 || f.Severity == severityMinor {
			continue
		}
		t, err := call[trial](ctx, w.run, w.delivery.tools.try, tryRequest{state: w.now, Changes: f.Reproduce, Finding: f.ID, Red: redOnes(verified)})
		if err != nil {
			return err
		}
		f.Proven, f.Fell = t.Proven, t.Fell
	}
	for _, c := range r.Claims {
		if err := w.warn(ctx, "claim", c); err != nil {
			return err
		}
	}
	return nil
}

// setTestsPassed puts the fact in the place of the claim.
func (w *work) setTestsPassed(passed bool) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(w.Outputs, &fields) != nil {
		return
	}
	fields["tests_passed"] = json.RawMessage(fmt.Sprint(passed))
	if data, err := json.Marshal(fields); err == nil {
		w.Outputs = data
	}
}
