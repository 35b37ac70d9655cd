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
// be read is left out and logged. A session that the store knows to be interrupted
// is so in what Find returns, and running in its file.
func (v *View) Find(ctx context.Context, filter Filter) ([]Manifest, error) {
	return v.find(ctx, filter, v.compute)
}

// Find is that of a [View], and puts right on disk what it finds to be wrong.
func (f *Folders) Find(ctx context.Context, filter Filter) ([]Manifest, error) {
	return f.find(ctx, filter, func(ctx context.Context, session string) (Manifest, error) {
		if err := f.refresh(ctx, session); err != nil {
			return Manifest{}, err
		}
		return f.read(session)
	})
}

// find finds manifests. One that is missing or of no use, or says of a session that
// it is running which is not, or the other way round, is made again.
func (v *View) find(ctx context.Context, filter Filter, again func(context.Context, string) (Manifest, error)) ([]Manifest, error) {
	unfinished, err := v.unfinished(ctx)
	if err != nil {
		return nil, fmt.Errorf("find outputs: %w", err)
	}
	sessions, err := v.folders(ctx)
	if err != nil {
		return nil, fmt.Errorf("find outputs: %w", err)
	}
	for session := range unfinished {
		if hasFolder(session) && !slices.Contains(sessions, session) {
			sessions = append(sessions, session)
		}
	}
	var found []Manifest
	for _, session := range sessions {
		m, err := v.read(session)
		if err != nil || (m.Execution.Status == troupe.SessionRunning) != (unfinished[session] != "") {
			if made, trouble := again(ctx, session); !errors.Is(trouble, troupe.ErrNotFound) {
				m, err = made, trouble
			} // else what was read first is all there is
		}
		if m.Execution.Status == troupe.SessionRunning {
			m.Execution.Status = cmp.Or(unfinished[session], troupe.SessionRunning)
		}
		if err != nil {
			v.options.Log.Warn("manifest not read", "session", session, "err", err)
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

// unfinished returns the sessions that are running or interrupted.
func (v *View) unfinished(ctx context.Context) (map[string]troupe.SessionStatus, error) {
	sessions := map[string]troupe.SessionStatus{}
	for _, status := range []troupe.SessionStatus{troupe.SessionRunning, troupe.SessionInterrupted} {
		for info, err := range v.store.Sessions(ctx, troupe.SessionFilter{Status: status}) {
			if err != nil {
				return nil, err
			}
			sessions[info.ID] = status
		}
	}
	return sessions, nil
}

// folders lists the sessions that have a folder.
func (v *View) folders(ctx context.Context) ([]string, error) {
	dir, err := v.base.Open(".")
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
