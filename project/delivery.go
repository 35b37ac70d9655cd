package project

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/server"
)

// Deliver is the name of the delivery, among the flows.
const Deliver = server.Pipeline

// A Delivery is how one delivery is to be done. What has a name in JSON is on record
// with the request, so that the delivery goes on as it began.
type Delivery struct {
	// Repo is in the repository that is changed; with Create it is where one is made.
	// Empty means the repository of troupe.yaml, or around the project, or a new one.
	Repo   string `json:"repo,omitempty"`
	Create bool   `json:"create,omitempty"`
	// Base is the commit or branch to begin from, IncludeChanges takes what is changed
	// and not committed in the checkout.
	Base           string `json:"base,omitempty"`
	IncludeChanges bool   `json:"include_changes,omitempty"`
	// From and To are the first and the last phase. Empty means the first, or the last,
	// of all.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Approve is auto, plan, diff, or manual to be asked after every phase. Empty means auto.
	Approve string `json:"approve,omitempty"`
	// Compensate has files written that agents claim to have written.
	Compensate bool `json:"compensate,omitempty"`
	// Unchecked counts a result as delivered although there are no checks, KeepGoing
	// carries out steps that do not depend on one that has failed.
	Unchecked bool `json:"unchecked,omitempty"`
	KeepGoing bool `json:"keep_going,omitempty"`
	// Agents are who does which phase, by the phase's name, where it is not the usual one.
	Agents map[string]string `json:"agents,omitempty"`

	// Out, where it is set, is a directory in which a repository is made.
	Out string `json:"-"`
	// Of is a delivery, by the beginning of its id, whose documents, plan and commits this
	// one begins with; With are documents that the phases get to read, by their names.
	Of   string            `json:"-"`
	With map[string]string `json:"-"`
}

// Delivery returns how troupe.yaml wants deliveries to be done.
func (p *Project) Delivery() Delivery {
	c := p.config.Pipeline
	return Delivery{Approve: c.Approve, Compensate: c.Compensate}
}

// custom is how an order travels with its request.
func (o Delivery) custom() map[string]any { return map[string]any{"delivery": o} }

// StartDelivery makes the step that takes a request to a branch, and what it is to be
// run with: Engine.Run(ctx, step, input).
func (p *Project) StartDelivery(ctx context.Context, request string, d Delivery) (step troupe.Step, input troupe.Input, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	custom, more := map[string]any{}, map[string]any{}
	if d.Of != "" {
		of, err := p.Site(d.Of)
		if err != nil {
			return nil, input, err
		}
		if !of.Dropped.IsZero() {
			return nil, input, fmt.Errorf("delivery %s: %w", of.ID, pipeline.ErrDropped)
		}
		d.Base, d.Repo, d.Create = cmp.Or(d.Base, of.Branch), of.Repo, false
		results, err := s.results(ctx, of.Session)
		if err != nil {
			return nil, input, err
		}
		more["of"], custom["phases"] = of.Session, results
	}
	if err := p.settle(ctx, &d); err != nil {
		return nil, input, err
	}
	if err := p.mayBegin(ctx, &d); err != nil {
		return nil, input, err
	}
	var given []map[string]string
	for _, name := range slices.Sorted(maps.Keys(d.With)) {
		given = append(given, map[string]string{"phase": "given", "path": name, "content": d.With[name]})
	}
	if given != nil {
		more["given"] = given
	}
	if step, err = s.delivery(ctx, d); err != nil {
		return nil, input, err
	}
	custom["delivery"], custom["extras"] = d, more
	return step, troupe.Input{Text: request, Custom: custom, Limits: p.deliveryLimits()}, nil
}

// results are what the phases of a session came to.
func (s *stage) results(ctx context.Context, session string) ([]pipeline.Result, error) {
	var events []troupe.Event
	for e, err := range s.folders.Events(ctx, session, 0) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return pipeline.Results(events), nil
}

// ContinueDelivery makes the step that goes on with a delivery that came to its end: with
// the phases from one on, or with what of the plan is not done. Guidance is for the agents.
func (p *Project) ContinueDelivery(ctx context.Context, site *pipeline.Site, from, guidance string) (step troupe.Step, input troupe.Input, err error) {
	if !site.Dropped.IsZero() {
		return nil, input, pipeline.ErrDropped
	}
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	order, err := s.orderOf(ctx, site.Session)
	if err != nil {
		return nil, input, err
	}
	results, err := s.results(ctx, site.Session)
	if err != nil {
		return nil, input, err
	}
	if order.From = from; from == "" {
		order.To = ""
	} else if i := slices.IndexFunc(results, func(r pipeline.Result) bool { return r.Phase == from }); i >= 0 {
		results = results[:i]
	}
	if err := p.reopenPlan(site); err != nil {
		return nil, input, err
	}
	if step, err = s.delivery(ctx, order); err != nil {
		return nil, input, err
	}
	custom := map[string]any{"delivery": order, "phases": results, "extras": map[string]any{"continue": true, "guidance": guidance}}
	return step, troupe.Input{Session: site.Session, Text: site.Request, Custom: custom, Limits: p.deliveryLimits()}, nil
}

// deliveryTurns is how often models are asked in a delivery where nobody says: a plan
// has up to 200 steps, and each may need a correction.
const deliveryTurns = 500

// deliveryLimits are those of a delivery, where they are not the project's.
func (p *Project) deliveryLimits() troupe.Limits {
	l := troupe.Limits{Cost: p.config.Pipeline.Cost}
	if p.models.Limits().Turns == 0 {
		l.Turns = deliveryTurns
	}
	return l
}

// RetryDelivery makes the step that processes again what a delivery could not write or
// upload, and what it is to be run with. It is given what [pipeline.Failed] finds in
// the events of the session.
func (p *Project) RetryDelivery(ctx context.Context, session string, failed []pipeline.FailedArtifact) (step troupe.Step, input troupe.Input, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, input, err
	}
	order, err := s.orderOf(ctx, session)
	if err != nil {
		return nil, input, err
	}
	base, err := s.openKnowledge(ctx)
	if err != nil {
		return nil, input, err
	}
	if step, err = pipeline.Retry(pipeline.Config{Repository: p.repository(order), KnowledgeOf: base, Guard: p.guard}); err != nil {
		return nil, input, err
	}
	custom := order.custom()
	custom["artifacts"] = failed
	return step, troupe.Input{Session: session, Text: "Process again what failed.", Custom: custom}, nil
}

// orderOf reads back the order of a session's latest run.
func (s *stage) orderOf(ctx context.Context, session string) (Delivery, error) {
	order := s.project.Delivery()
	if session == "" {
		return order, nil
	}
	for e, err := range s.folders.Events(ctx, session, 0) {
		if err != nil {
			return order, err
		}
		started, ok := e.Body.(*troupe.RunStarted)
		if !ok || e.Parent != "" || started.Input.Custom["delivery"] == nil {
			continue
		}
		order = s.project.Delivery()
		data, err := json.Marshal(started.Input.Custom["delivery"])
		if err == nil {
			err = json.Unmarshal(data, &order)
		}
		if err != nil {
			return order, err
		}
	}
	return order, nil
}
