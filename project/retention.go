package project

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
	"github.com/troupe-dev/troupe/store/postgres"
)

// retentionPause is how often a server looks for what is kept for too long.
const retentionPause = time.Hour

// RunRetention deletes the sessions in which nothing has happened for as long as retention in
// troupe.yaml says, now and every hour until ctx is done. It returns at once where that
// says nothing.
func (p *Project) RunRetention(ctx context.Context) error {
	if p.config.Retention == 0 {
		return nil
	}
	pause := time.NewTicker(retentionPause)
	defer pause.Stop()
	for {
		deleted, err := p.Prune(ctx, time.Now().Add(-p.config.Retention))
		switch {
		case err != nil && ctx.Err() == nil:
			p.log.Warn("old sessions not deleted", "err", err)
		case deleted > 0:
			p.log.Info("old sessions deleted", "sessions", deleted)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Prune deletes the sessions that nothing has happened in since a time and that have no run under
// way, with the files on this machine, and returns how many.
func (p *Project) Prune(ctx context.Context, before time.Time) (deleted int64, err error) {
	s, err := p.stage(ctx)
	if err != nil {
		return 0, err
	}
	if shared, ok := s.store.(*postgres.Store); ok {
		if deleted, err = shared.Prune(ctx, before); err != nil {
			return deleted, err
		}
		return deleted, s.pruneFolders(ctx, before)
	}
	var old []string
	for info, err := range s.store.Sessions(ctx, troupe.SessionFilter{}) {
		if err != nil {
			return 0, err
		}
		if info.Updated.Before(before) && info.Owner == (troupe.Owner{}) {
			old = append(old, info.ID)
		}
	}
	for _, id := range old {
		err := s.engine.Delete(ctx, id)
		if errors.Is(err, troupe.ErrBusy) || errors.Is(err, troupe.ErrNotFound) {
			continue // somebody was faster
		}
		if err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// pruneFolders removes the folders of sessions that the database has no more.
func (s *stage) pruneFolders(ctx context.Context, before time.Time) error {
	entries, err := os.ReadDir(s.project.outputsDir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !sessionid.Is(e.Name()) || info.ModTime().After(before) {
			continue
		}
		if _, _, err := s.store.Ask(ctx, e.Name(), troupe.SessionRequest{}); !errors.Is(err, troupe.ErrNotFound) {
			continue // it is there, or nobody knows
		}
		path, err := s.folders.Path(e.Name())
		if err == nil {
			err = os.RemoveAll(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
