package project

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/workspace"
)

// made are the files of deliveries: documents of their phases, and what they have built.
type made struct{ *stage }

// Read implements [server.Made]. A document is as the phases read it.
func (m made) Read(ctx context.Context, session, name string) (string, error) {
	order, err := m.orderOf(ctx, session)
	if err != nil {
		return "", err
	}
	dirs := []string{m.documents(session)}
	if site, err := pipeline.ReadSite(filepath.Join(m.project.deliveriesDir(), session)); err == nil {
		dirs = append(dirs, site.Worktree, site.Repo)
	}
	err = fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	for _, dir := range append(dirs, within(m.project.dir, order.Out)) {
		if dir == "" {
			continue
		}
		text, failure := readWithin(dir, name)
		if failure == nil {
			return text, nil
		}
		err = failure
	}
	return "", err
}

// Write implements [server.Made].
func (m made) Write(_ context.Context, session, name, text string) error {
	dir := m.documents(session)
	if _, err := readWithin(dir, name); err != nil {
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return writeWithin(dir, name, text)
}

// documents is where the phases of a delivery write their documents.
func (m made) documents(session string) string {
	return filepath.Join(m.project.deliveriesDir(), session, pipeline.DocumentsDir)
}

// readWithin reads a file of a directory, and nothing else.
func readWithin(dir, name string) (string, error) {
	return readNamed(outputOf(dir, workspace.ReadOnly), "{"+pipeline.OutputRoot+"}/"+name)
}

func writeWithin(dir, name, text string) error {
	ws, err := workspace.Open(outputOf(dir, workspace.ReadWrite))
	if err != nil {
		return err
	}
	defer ws.Close()
	place, err := ws.Resolve("{" + pipeline.OutputRoot + "}/" + name)
	if err != nil {
		return err
	}
	return ws.Write(place, []byte(text))
}

func outputOf(dir string, access workspace.Access) workspace.Config {
	return workspace.Config{Roots: []workspace.Root{{Name: pipeline.OutputRoot, Dir: dir, Access: access}}}
}
