package outputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/troupe-dev/troupe"
)

// A Filter chooses sessions by their manifests. A zero field does not restrict.
type Filter struct {
	Agent, Workflow         string         // the exact name
	AgentLike, WorkflowLike *regexp.Regexp // matches a part of the name
	Status                  troupe.SessionStatus
	Limit                   int
}

func (f *Filter) matches(m *Manifest) bool {
	return (f.Agent == "" || f.Agent == m.Agent.Name) &&
		(f.Workflow == "" || f.Workflow == m.Workflow.Name) &&
		(f.AgentLike == nil || f.AgentLike.MatchString(m.Agent.Name)) &&
		(f.WorkflowLike == nil || f.WorkflowLike.MatchString(m.Workflow.Name)) &&
		(f.Status == "" || f.Status == m.Execution.Status)
}

// Find returns the manifests that match, the sessions started last first. It reads
// every folder, also those of sessions that the store does not know; what cannot
// be read is left out and logged.
func (f *Folders) Find(ctx context.Context, filter Filter) ([]Manifest, error) {
	running := map[string]bool{}
	for info, err := range f.store.Sessions(ctx, troupe.SessionFilter{Status: troupe.SessionRunning}) {
		if err != nil {
			return nil, fmt.Errorf("find outputs: %w", err)
		}
		running[info.ID] = true
	}
	sessions, err := f.folders(ctx)
	if err != nil {
		return nil, fmt.Errorf("find outputs: %w", err)
	}
	var found []Manifest
	for _, session := range sessions {
		m, err := f.read(session)
		if err != nil || m.Execution.Status == troupe.SessionRunning && !running[session] {
			m, err = f.readAgain(ctx, session, m, err)
		}
		if err != nil {
			f.options.Log.Warn("manifest not read", "session", session, "err", err)
		} else if filter.matches(&m) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b Manifest) int {
		return cmp.Or(b.Execution.StartedAt.Compare(a.Execution.StartedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	if filter.Limit > 0 && len(found) > filter.Limit {
		found = found[:filter.Limit]
	}
	return found, nil
}

// readAgain reads a manifest after it was brought up to date. Of a session that
// the store does not know, what was read first is all there is.
func (f *Folders) readAgain(ctx context.Context, session string, m Manifest, err error) (Manifest, error) {
	switch trouble := f.refresh(ctx, session); {
	case errors.Is(trouble, troupe.ErrNotFound):
		return m, err
	case trouble != nil:
		return Manifest{}, trouble
	}
	return f.read(session)
}

// folders lists the sessions that have a folder.
func (f *Folders) folders(ctx context.Context) ([]string, error) {
	dir, err := f.base.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var sessions []string
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			if e.IsDir() && hasFolder(e.Name()) {
				sessions = append(sessions, e.Name())
			}
		}
		if errors.Is(err, io.EOF) {
			return sessions, nil
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}
