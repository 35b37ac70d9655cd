package outputs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// A Filter chooses sessions by their manifests. A zero field does not restrict.
type Filter struct {
	Session                 string         // its id
	Agent, Workflow         string         // the exact name
	AgentLike, WorkflowLike *regexp.Regexp // matches a part of the name
	Status                  string
	Limit                   int
	// Stored leaves folders out of sessions that the store does not know.
	Stored bool
}

func (f *Filter) matches(m *Manifest) bool {
	return (f.Session == "" || f.Session == m.SessionID) && (f.Agent == "" || f.Agent == m.Agent.Name) &&
		(f.Workflow == "" || f.Workflow == m.Workflow.Name) &&
		(f.AgentLike == nil || f.AgentLike.MatchString(m.Agent.Name)) &&
		(f.WorkflowLike == nil || f.WorkflowLike.MatchString(m.Workflow.Name)) &&
		(f.Status == "" || f.Status == m.Execution.Status)
}

// Find returns the manifests that match, the sessions used last first. Which sessions
// there are and how they stand is what the store says: a manifest that is missing, of no
// use or behind is made again. Where no limit ends it before, folders of sessions that
// the store does not know come after; what cannot be read of them is left out and logged.
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

// A finder makes manifests again.
type finder func(ctx context.Context, session string) (Manifest, error)

func (v *View) find(ctx context.Context, filter Filter, again finder) ([]Manifest, error) {
	var found []Manifest
	known := map[string]bool{}
	match := troupe.SessionFilter{ID: filter.Session, Agent: filter.Agent, Status: filter.Status}
	if match.Status == waiting {
		match.Status = "" // some of those whose runs are completed end with a question
	}
	for info, err := range v.store.Sessions(ctx, match) {
		if err != nil {
			return nil, fmt.Errorf("find outputs: %w", err)
		}
		if !hasFolder(info.ID) {
			continue
		}
		known[info.ID] = true
		m, err := v.standing(ctx, &info, again)
		if err != nil {
			v.options.Log.Warn("manifest not read", "session", info.ID, "err", err)
		} else if filter.matches(&m) {
			found = append(found, m)
		}
		if filter.Limit > 0 && len(found) == filter.Limit {
			return found, nil
		}
	}
	if filter.Stored {
		return found, nil
	}
	left, err := v.unknown(ctx, filter.Session, known)
	if err != nil {
		return nil, fmt.Errorf("find outputs: %w", err)
	}
	for _, m := range left {
		if filter.matches(&m) && (filter.Limit <= 0 || len(found) < filter.Limit) {
			found = append(found, m)
		}
	}
	return found, nil
}

// standing returns the manifest of a session that the store knows. It is made again
// unless the file says of the latest run, and of a title given since, what the store does.
func (v *View) standing(ctx context.Context, info *troupe.SessionInfo, again finder) (Manifest, error) {
	m, err := v.read(info.ID)
	status := info.Status
	if status == "interrupted" {
		status = "running" // as in the file
	}
	if err != nil || m.Execution.Status != status && !(asksOnly(&m, info) && !isOlder(&m, info)) || m.Agent.Name != info.Agent || status == "running" || m.UserSummary != info.Title && isOlder(&m, info) {
		if m, err = again(ctx, info.ID); err != nil {
			return Manifest{}, err
		}
	}
	if !asksOnly(&m, info) {
		m.Execution.Status = info.Status
	}
	return m, nil
}

// waiting is the status of a session that a person is to go on with.
const waiting = "waiting"

// isOlder says whether something was stored after the run that a manifest tells of had ended.
func isOlder(m *Manifest, info *troupe.SessionInfo) bool {
	return m.Execution.CompletedAt.Add(time.Millisecond).Before(info.Updated) // stores may round
}

// asksOnly says whether the latest run of a session is completed, and ended with a question.
func asksOnly(m *Manifest, info *troupe.SessionInfo) bool {
	return info.Status == "completed" && m.Execution.Status == waiting
}

// unknown returns the manifests in folders of sessions that the store does not know,
// or of one of them, those that were started last first.
func (v *View) unknown(ctx context.Context, only string, known map[string]bool) (found []Manifest, err error) {
	sessions := []string{only}
	if only == "" {
		if sessions, err = v.folders(ctx); err != nil {
			return nil, err
		}
	} else if there, err := v.base.Lstat(only); err != nil || !there.IsDir() {
		return nil, nil
	}
	for _, session := range sessions {
		if known[session] || v.isKnown(ctx, session) {
			continue
		}
		m, err := v.read(session)
		if err != nil {
			v.options.Log.Warn("manifest not read", "session", session, "err", err)
			continue
		}
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b Manifest) int {
		return cmp.Or(b.Execution.StartedAt.Compare(a.Execution.StartedAt), cmp.Compare(a.SessionID, b.SessionID))
	})
	return found, nil
}

// isKnown reports whether the store knows a session.
func (v *View) isKnown(ctx context.Context, session string) bool {
	for range v.store.Sessions(ctx, troupe.SessionFilter{ID: session}) {
		return true
	}
	return false
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
