package server

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// Deliveries are what a server can do about deliveries into repositories. A delivery
// is named by its session; one that has no repository yet is fs.ErrNotExist.
type Deliveries interface {
	// Usual is how a request is delivered where nobody says otherwise.
	Usual(ctx context.Context) (UsualDelivery, error)
	// Start and Continue return what a delivery is run with: Engine.Run(ctx, step, input).
	Start(ctx context.Context, request string, options DeliveryOptions) (troupe.Step, troupe.Input, error)
	Continue(ctx context.Context, session, from, guidance string) (troupe.Step, troupe.Input, error)
	// Step returns the step of a delivery that has begun: for an answer, or to resume it.
	Step(ctx context.Context, session string) (troupe.Step, error)
	Show(ctx context.Context, session string) (DeliverySite, error)
	// Result says what was done last with what a delivery has built, as lists show it: taken,
	// partly_taken, taken_back or dropped, "" where nothing was. It is asked of each delivery of a
	// list: Show says what is in the checkout now.
	Result(ctx context.Context, info *troupe.SessionInfo) string
	// ChangePlan replaces the plan, and says what changed. A plan that makes no sense is
	// refused and the old one stays.
	ChangePlan(ctx context.Context, session string, plan *pipeline.Plan) (changes []string, err error)
	// Read returns a text: a "diff", of a step or of all; or the output of a "check", by
	// its name or by the file of one of its runs.
	Read(ctx context.Context, session, kind, name string) (string, error)
	// Act does "apply", "squash" or "revert", and says what was done. What the delivery does
	// not allow as it is by then is refused.
	Act(ctx context.Context, session, act string) (string, error)
	// Drop removes for good what a delivery has built; what was taken is to be reverted first.
	Drop(ctx context.Context, session string) error
}

// A UsualDelivery is how requests are delivered where nobody says otherwise.
type UsualDelivery struct {
	// Approve is when a person is asked, Budget what a delivery may cost in US dollars, 0 for
	// no limit of its own, and Repo the name of the directory that is read and changed, empty
	// for a new repository.
	Approve string          `json:"approve"`
	Budget  float64         `json:"budget,omitempty"`
	Repo    string          `json:"repo,omitempty"`
	Phases  []DeliveryPhase `json:"phases"`
}

// A DeliveryPhase is a phase that requests go through. Agent is empty where the pipeline's
// own does it.
type DeliveryPhase struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Agent string `json:"agent,omitempty"`
}

func (s *Server) showUsualDelivery(c *call) (UsualDelivery, error) {
	if s.config.Deliveries == nil {
		return UsualDelivery{}, absent("choice of how to deliver")
	}
	usual, err := s.config.Deliveries.Usual(c.r.Context())
	usual.Phases = listed(usual.Phases)
	return usual, err
}

// A deliveryView is a delivery as people look at it.
type deliveryView struct {
	DeliverySite
	Session string `json:"session"`
	// State is running, waiting, completed, failed or cancelled; Outcome, once it has come
	// to its end, delivered, partial or failed, for Reasons. Advice is what can be done then.
	State    string   `json:"state"`
	Outcome  string   `json:"outcome,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Advice   string   `json:"advice,omitempty"`
	Question string   `json:"question,omitempty"`
	// Runs are the checks as they were measured, the latest last.
	Runs    []checkView  `json:"runs"`
	Commits []commitView `json:"commits"`
	// Findings, Criteria and Claims are those of the latest review, also before the end;
	// Review says which one that is.
	Findings  []pipeline.Finding   `json:"findings"`
	Criteria  []pipeline.Criterion `json:"criteria"`
	Claims    []string             `json:"claims,omitempty"`
	Review    *reviewView          `json:"review,omitempty"`
	Notes     []string             `json:"notes,omitempty"`
	Documents []documentView       `json:"documents"`
	// LeftOut counts the files that were changed and not committed when it began.
	LeftOut  int      `json:"left_out,omitempty" jsonschema:"how many files were changed in the checkout and not committed when it began, and are not in it"`
	Warnings []string `json:"warnings,omitempty"`
	// Tokens, Cost, Seconds (worked) and WaitedSeconds (for a person, until now) are of all that
	// was done so far and never get less. BetweenSeconds are those worked that are no phase's.
	Tokens         int     `json:"tokens"`
	Cost           float64 `json:"cost"`
	Seconds        float64 `json:"seconds" jsonschema:"how long it was worked on so far"`
	WaitedSeconds  float64 `json:"waited_seconds,omitempty" jsonschema:"how long it has waited for a person, the open question included"`
	BetweenSeconds float64 `json:"between_seconds,omitempty" jsonschema:"what of seconds is no phase's: checks, preparing, reporting"`
	// Acts are what can be done about it now: apply, revert, drop, continue, plan.
	Acts []string `json:"acts"`
}

// A reviewView says which review findings are of.
type reviewView struct {
	// Verdict is accept or changes_required, as the reviewer said it; what it is worth is
	// decided by findings and criteria.
	Verdict string `json:"verdict,omitempty"`
	// Round counts the reviews of the delivery from 1.
	Round int       `json:"round"`
	At    time.Time `json:"at"`
	// Outdated says that something was built since.
	Outdated bool `json:"outdated,omitempty" jsonschema:"something was built since"`
}

type checkView struct {
	Label string `json:"label"`
	// Attempt counts from 1 how often that was begun; a step that is carried out again has
	// rounds of the same numbers.
	Attempt int       `json:"attempt" jsonschema:"how often the step, or the verification, was begun until then"`
	At      time.Time `json:"at"`
	Name    string    `json:"name"`
	Command string    `json:"command"`
	OK      bool      `json:"ok"`
	Exit    int       `json:"exit"`
	// Tests is how many ran, -1 where the runner does not say.
	Tests   int      `json:"tests"`
	Failing []string `json:"failing,omitempty"`
	// Flaky are tests that failed and passed when they were run again, unchanged.
	Flaky   []string `json:"flaky,omitempty"`
	Remedy  string   `json:"remedy,omitempty"`
	Seconds float64  `json:"seconds"`
	// File is what its output is asked for by.
	File string `json:"file,omitempty"`
	// Outdated says that the code was changed since.
	Outdated bool `json:"outdated,omitempty" jsonschema:"the code was changed since"`
}

type commitView struct {
	Step   string `json:"step"`
	Commit string `json:"commit"`
	Title  string `json:"title"`
}

type documentView struct {
	Phase string `json:"phase"`
	Path  string `json:"path"`
	State string `json:"state"`
	// Error is why it could not be kept, or not be put into the knowledge base.
	Error string `json:"error,omitempty"`
	// Edited says that somebody has changed it since a phase wrote it.
	Edited bool `json:"edited,omitempty" jsonschema:"whether somebody has changed it since a phase wrote it"`
}

// site finds a delivery of whoever asks.
func (s *Server) site(c *call) (troupe.SessionInfo, DeliverySite, error) {
	info, err := s.found(c)
	if err != nil {
		return info, DeliverySite{}, err
	}
	if s.config.Deliveries == nil {
		return info, DeliverySite{}, absent("deliveries")
	}
	site, err := s.config.Deliveries.Show(c.r.Context(), info.ID)
	if errors.Is(err, fs.ErrNotExist) {
		err = refuse(http.StatusNotFound, "this session has no delivery that has begun")
	}
	return info, site, err
}

func (s *Server) showDelivery(c *call) (deliveryView, error) {
	info, site, err := s.site(c)
	if err != nil {
		return deliveryView{}, err
	}
	events, err := collect(s.config.Store.Events(c.r.Context(), info.ID, 0), math.MaxInt)
	if err != nil {
		return deliveryView{}, err
	}
	summary := pipeline.Summarize(events)
	v := deliveryView{
		DeliverySite: site, Session: info.ID, State: summary.State, Question: summary.Question, Tokens: summary.Tokens, Cost: summary.Cost, Seconds: summary.Duration.Duration().Seconds(), WaitedSeconds: summary.WaitedUntil(time.Now()).Seconds(), BetweenSeconds: summary.Between.Duration().Seconds(), LeftOut: pipeline.LeftOut(events),
		Runs: []checkView{}, Commits: []commitView{}, Findings: []pipeline.Finding{}, Criteria: []pipeline.Criterion{}, Documents: []documentView{},
	}
	v.Checks, v.Files, v.Log = listed(v.Checks), listed(v.Files), listed(v.Log)
	for _, r := range pipeline.CheckRuns(events) {
		v.Runs = append(v.Runs, checkView{r.Label, r.Attempt, r.At, r.Name, r.Command, r.OK, r.Exit, r.Tests, r.Failing, r.Flaky, r.Remedy, r.Took.Seconds(), r.File, r.Outdated})
	}
	for _, d := range pipeline.Documents(events) {
		v.Documents = append(v.Documents, documentView{d.Phase, d.Path, d.State, d.Error, s.isEdited(c.r.Context(), info.ID, &d)})
	}
	for _, w := range summary.Warnings {
		v.Warnings = append(v.Warnings, w.Message)
	}
	if r := summary.Report; r != nil {
		v.Outcome, v.Reasons, v.Advice, v.Notes = r.Outcome, r.Reasons, r.Advice, r.Notes
	}
	if r := pipeline.LatestReview(events); r != nil {
		v.Findings, v.Criteria, v.Claims = append(v.Findings, r.Findings...), append(v.Criteria, r.Criteria...), r.Claims
		v.Review = &reviewView{r.Verdict, r.Round, r.At, r.Outdated}
	}
	if info.Status == "interrupted" {
		v.State = info.Status // by the log alone it runs: nobody was there to write otherwise
	}
	v.addSteps()
	v.Acts = v.acts()
	return v, nil
}

// addSteps lists the commits of the plan's steps.
func (v *deliveryView) addSteps() {
	if v.Plan == nil {
		return
	}
	for _, step := range v.Plan.Steps {
		if step.Commit != "" {
			v.Commits = append(v.Commits, commitView{step.ID, step.Commit, step.Title})
		}
	}
}

// acts are what can be done about a delivery as it is.
func (v *deliveryView) acts() []string {
	acts := []string{}
	if !v.Dropped.IsZero() {
		return acts
	}
	if v.Plan != nil && v.State != "running" {
		acts = append(acts, "plan")
	}
	if v.State == "running" || v.State == "waiting" || v.State == "interrupted" {
		return acts
	}
	if len(v.Commits) > 0 && (!v.Applied || v.Untaken) {
		acts = append(acts, "apply")
	}
	if v.Outcome != pipeline.OutcomeDelivered || len(v.Commits) > 0 { // one that is done, with something else that is wanted
		acts = append(acts, "continue")
	}
	if v.Applied {
		return append(acts, "revert")
	}
	if len(v.Elsewhere) > 0 { // where it is to be taken back first
		return acts
	}
	return append(acts, "drop")
}

func (s *Server) showPlan(c *call) (pipeline.Plan, error) {
	_, site, err := s.site(c)
	if err == nil && site.Plan == nil {
		err = refuse(http.StatusNotFound, "there is no plan yet")
	}
	if err != nil {
		return pipeline.Plan{}, err
	}
	return *site.Plan, nil
}

// A planChange says what a person changed of a plan.
type planChange struct {
	Changes []string `json:"changes"`
}

func (s *Server) changePlan(c *call, plan pipeline.Plan) (planChange, error) {
	info, _, err := s.site(c)
	if err != nil {
		return planChange{}, err
	}
	changes, err := s.config.Deliveries.ChangePlan(c.r.Context(), info.ID, &plan)
	if err != nil {
		return planChange{}, told(http.StatusUnprocessableEntity, err)
	}
	if len(changes) > 0 {
		err = s.touch(info.ID)
	}
	return planChange{listed(changes)}, err
}

// A deliveryText is a text of a delivery.
type deliveryText struct {
	Text string `json:"text"`
	// Left is how many bytes were left out.
	Left int `json:"left,omitempty"`
}

// mostOfText is how many bytes of a diff or of a check's output are sent.
const mostOfText = 1 << 20

func (s *Server) readDelivery(c *call, kind, name string) (deliveryText, error) {
	info, _, err := s.site(c)
	if err != nil {
		return deliveryText{}, err
	}
	text, err := s.config.Deliveries.Read(c.r.Context(), info.ID, kind, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = refuse(http.StatusNotFound, "%s", strings.TrimSuffix(err.Error(), ": "+fs.ErrNotExist.Error()))
	}
	if err != nil {
		return deliveryText{}, err
	}
	out := deliveryText{Text: strings.ToValidUTF8(text[:min(len(text), mostOfText)], "\ufffd")}
	out.Left = len(text) - min(len(text), mostOfText)
	return out, nil
}

func (s *Server) showDiff(c *call) (deliveryText, error) {
	return s.readDelivery(c, "diff", c.r.URL.Query().Get("step"))
}

func (s *Server) showCheck(c *call) (deliveryText, error) {
	name := c.r.PathValue("check")
	if file := c.r.URL.Query().Get("file"); file != "" {
		name = file
	}
	return s.readDelivery(c, "check", name)
}

// A deliveryAct is something to be done about a delivery.
type deliveryAct struct {
	// Act is apply, squash, or revert.
	Act string `json:"act" jsonschema:"apply, squash (apply as one commit) or revert (take back what was applied)"`
}

// A deliveryDone says what was done.
type deliveryDone struct {
	Done string `json:"done"`
}

func (s *Server) actOnDelivery(c *call, in deliveryAct) (deliveryDone, error) {
	if !slices.Contains([]string{"apply", "squash", "revert"}, in.Act) {
		return deliveryDone{}, refuse(http.StatusBadRequest, "act: %.20q is neither apply, squash nor revert", in.Act)
	}
	info, err := s.atRest(c)
	if err != nil {
		return deliveryDone{}, err
	}
	done, err := s.config.Deliveries.Act(c.r.Context(), info.ID, in.Act)
	if err != nil {
		return deliveryDone{}, told(http.StatusConflict, err)
	}
	return deliveryDone{done}, s.touch(info.ID)
}

// atRest finds a delivery of whoever asks on which nobody works.
func (s *Server) atRest(c *call) (troupe.SessionInfo, error) {
	info, _, err := s.site(c)
	if err == nil && info.Status == "running" {
		err = refuse(http.StatusConflict, "the delivery is being worked on")
	}
	return info, err
}

// dropResult drops what a delivery has built as it was seen: see deleteSession. What was dropped in
// another window meanwhile is as it was to be.
func (s *Server) dropResult(c *call) (none, error) {
	// A page asks for it when it is closed: half of it must not be left.
	c.r = c.r.WithContext(context.WithoutCancel(c.r.Context()))
	info, err := s.atRest(c)
	if err == nil && info.Status == "waiting" {
		err = errNotEnded
	}
	if err != nil {
		return none{}, err
	}
	err = s.unwritten(c, info.ID, c.r.URL.Query().Get("written"))
	if errors.Is(err, errWritten) {
		if site, err := s.config.Deliveries.Show(c.r.Context(), info.ID); err == nil && !site.Dropped.IsZero() {
			return none{}, nil
		}
		err = refuse(http.StatusConflict, "something was done with the delivery meanwhile, so what it has built is not dropped").withCode("written")
	}
	if err != nil {
		return none{}, err
	}
	switch err := s.config.Deliveries.Drop(c.r.Context(), info.ID); {
	case errors.Is(err, pipeline.ErrDropped):
		return none{}, nil
	case err != nil:
		return none{}, told(http.StatusConflict, err)
	}
	return none{}, s.touch(info.ID)
}

// touch tells whoever looks at a delivery that somebody has changed what its events do not tell of.
func (s *Server) touch(session string) error {
	defer s.hub.changed(session)
	return s.notes.change(session, func(n *notes) { n.Touched++ })
}

// Changed tells whoever looks at a session that something of it has changed of which its events do
// not tell, as where another program has taken the result of a delivery.
func (s *Server) Changed(session string) { s.hub.changed(session) }

// A continuation is how a delivery that came to its end goes on.
type continuation struct {
	Guidance string `json:"guidance,omitempty"`
	// From is the phase to run again, with all that come after it.
	From string `json:"from,omitempty"`
	// Budget is the most that it may cost from here on, in US dollars.
	Budget float64 `json:"budget,omitempty" jsonschema:"the most that it may cost from here on, in US dollars"`
}

func (s *Server) continueDelivery(c *call, in continuation) (started, error) {
	info, _, err := s.site(c)
	if err != nil {
		return started{}, err
	}
	if info.Status == "waiting" || info.Status == "running" {
		return started{}, errNotEnded
	}
	if in.Budget < 0 {
		return started{}, errBudget
	}
	key, err := c.key()
	if err != nil {
		return started{}, err
	}
	step, input, err := s.config.Deliveries.Continue(c.r.Context(), info.ID, in.From, in.Guidance)
	if err != nil {
		return started{}, told(http.StatusUnprocessableEntity, err)
	}
	if input.Limits.Cost, err = s.budgetFor(c.r.Context(), info.ID, in.Budget, input.Limits.Cost); err != nil {
		return started{}, err
	}
	input.IdempotencyKey = key
	run, err := s.begin(c, step, input)
	if err != nil {
		return started{}, err
	}
	return run.started, nil
}

// budgetFor is what a delivery that goes on may cost: what is asked for, or as much again as
// it could before, and no less than is configured.
func (s *Server) budgetFor(ctx context.Context, session string, asked, configured float64) (float64, error) {
	if asked > 0 {
		return asked, nil
	}
	before := 0.0
	for e, err := range s.config.Store.Events(ctx, session, 0) {
		if err != nil {
			return 0, err
		}
		if b, ok := e.Body.(*troupe.RunStarted); ok && e.Parent == "" {
			before = b.Limits.Cost
		}
	}
	return max(before, configured), nil
}

// errNotEnded is what is said of a delivery that somebody is to decide about first.
var errNotEnded = refuse(http.StatusConflict, "the delivery has not come to its end")

// errBudget is what is said of a budget that is none.
var errBudget = refuse(http.StatusBadRequest, "budget: it is a number of US dollars above 0")
