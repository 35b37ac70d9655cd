package outputs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/workspace"
)

// Copy copies files, named relative to the folder, from one session's folder into
// another's, which is created if need be. It returns those that are not there.
// manifest.json is passed over: each session has its own. A link is no file of the
// session, and refused.
func (f *Folders) Copy(ctx context.Context, from, to string, files []string) (missing []string, err error) {
	if !hasFolder(from) || !hasFolder(to) {
		return nil, fmt.Errorf("copy files from session %.64q to %.64q: %w", from, to, troupe.ErrNotFound)
	}
	missing, err = f.copyAll(ctx, from, to, files)
	if err != nil {
		return missing, fmt.Errorf("copy files from session %s to %s: %w", from, to, err)
	}
	return missing, nil
}

func (f *Folders) copyAll(ctx context.Context, from, to string, files []string) (missing []string, err error) {
	if err := f.makeFolder(to); err != nil {
		return nil, err
	}
	if there, err := f.isThere(from); err != nil || !there {
		return files, err
	}
	missing, err = f.copyInto(ctx, from, filepath.Join(f.dir, to), files)
	return missing, errors.Join(err, f.settle())
}

// copyInto copies files of a session's folder into a directory.
func (f *Folders) copyInto(ctx context.Context, from, dir string, files []string) (missing []string, err error) {
	source, err := openFiles(filepath.Join(f.dir, from), workspace.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	target, err := openFiles(dir, workspace.ReadWrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	for _, file := range files {
		if strings.EqualFold(path.Clean(file), manifestFile) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return missing, err
		}
		if !filepath.IsLocal(file) {
			return missing, fmt.Errorf("%.200q: not the name of a file in its folder", file)
		}
		if info, err := f.base.Lstat(path.Join(from, file)); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return missing, fmt.Errorf("%.200q: it is a link", file)
		}
		err := copyFile(source, target, file)
		if errors.Is(err, workspace.ErrNotFound) {
			missing = append(missing, file)
		} else if err != nil {
			return missing, err
		}
	}
	return missing, nil
}

// openFiles opens a folder as an agent's workspace has it.
func openFiles(dir string, access workspace.Access) (*workspace.Workspace, error) {
	return workspace.Open(workspace.Config{
		Roots: []workspace.Root{{Name: workspace.SessionFolder, Dir: dir, Access: access}},
	})
}

func copyFile(source, target *workspace.Workspace, file string) error {
	name := "{" + workspace.SessionFolder + "}/" + file
	loc, err := source.Resolve(name)
	if err != nil {
		return err
	}
	content, err := source.ReadFile(loc)
	if err != nil {
		return err
	}
	if loc, _, err = target.ResolveOutput(name); err != nil {
		return err
	}
	return target.Write(loc, []byte(content))
}
