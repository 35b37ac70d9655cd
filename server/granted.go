package server

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// savedName is what a file that an agent has saved is called among the files of its session: by
// its path in the session's folder, or as it was saved, {docs}/a.md, in a directory that the agent
// was granted, or in the output of a delivery: {output}/a.md. It reports false for what is kept
// elsewhere: documents of the project.
func (s *Server) savedName(agent, saved string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(saved, "{"+workspace.SessionFolder+"}/"); ok {
		return name, true
	}
	if s.config.Made != nil && strings.HasPrefix(saved, madeIn) {
		return saved, true
	}
	return saved, s.config.Granted != nil && agent != Pipeline && isGranted(saved) && !strings.HasPrefix(saved, "{"+workspace.ProjectRoot+"}")
}

// isGranted says whether a file of a session is in a directory that an agent was granted, or in the
// output of a delivery: others may write there as well.
func isGranted(name string) bool {
	return strings.HasPrefix(name, "{")
}

// readGranted reads a file that an agent of the session has saved in a directory which it was
// granted. Nothing else of that directory can be read.
func (s *Server) readGranted(ctx context.Context, session, name string) (string, error) {
	if made, ok, err := s.made(ctx, session, name); err != nil {
		return "", err
	} else if ok {
		return s.config.Made.Read(ctx, session, made)
	}
	known, err := s.summaryOf(ctx, &troupe.SessionInfo{ID: session, Events: math.MaxInt64}) // whatever there is by now
	if err != nil {
		return "", err
	}
	known.mu.Lock()
	f, agent := known.files[name], ""
	if f != nil {
		agent = f.Agent
	}
	known.mu.Unlock()
	if f == nil {
		return "", errNoFile
	}
	return s.config.Granted(ctx, agent, name)
}

// listGranted are the files that agents of a session have saved in directories which they were
// granted.
func (s *Server) listGranted(ctx context.Context, info *troupe.SessionInfo) (list []file, err error) {
	known, err := s.summaryOf(ctx, info)
	if err != nil {
		return nil, err
	}
	n, err := s.notes.of(info.ID)
	if err != nil {
		return nil, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	for _, f := range known.files {
		if isGranted(f.Path) {
			latest := n.listed(f, info)
			list = append(list, file{f.Path, latest.Size, latest.Changed.UTC()})
		}
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}
