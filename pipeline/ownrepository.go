package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
	"github.com/troupe-dev/troupe/internal/git"
)

// creating is a file that names the folder in which a repository is being made for a
// delivery. Killed before that has a site, the delivery knows by it that the repository it
// finds there is its own.
func (s *workshop) creating(session string) string {
	return filepath.Join(s.folder(session), "creating")
}

// openOrCreate opens the repository of a folder, or makes one where a delivery is to have its
// own. IsOwn tells that it was made for the delivery, by this process or by one before.
func (s *workshop) openOrCreate(ctx context.Context, session, dir string) (repo *git.Repo, isOwn bool, err error) {
	if !s.Create {
		if repo, err = git.Open(ctx, dir); errors.Is(err, os.ErrNotExist) {
			err = git.ErrNone
		}
		if errors.Is(err, git.ErrNone) {
			err = fmt.Errorf("%s: %w", dir, err)
		}
		return repo, false, err
	}
	if begun, err := os.ReadFile(s.creating(session)); err != nil || string(begun) != dir {
		// The folder's own is meant, whatever repository is around it.
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			repo, err := git.Open(ctx, dir)
			return repo, false, err
		}
	}
	if err := replaceFile(s.creating(session), []byte(dir)); err != nil {
		return nil, false, err
	}
	repo, err = git.Create(ctx, dir)
	failpoint.Here(failpoint.RepositoryMade)
	return repo, true, err
}

// A publication is what became of showing the result in the checkout of a repository that was
// made for it.
type publication struct {
	Head string `json:"head,omitempty"`
	// Refused says what of a person's stands in the way.
	Refused string `json:"refused,omitempty"`
}

// publishTool shows the result in the checkout of a repository that was made for it, unless
// somebody has taken it back, or has begun to.
func (s *workshop) publishTool() troupe.Tool {
	return onSite(s, "publish", "Shows the result in a repository that was made for it.", func(ctx context.Context, o *openSite, _ struct{}) (publication, error) {
		return o.publish(ctx)
	})
}

func (o *openSite) publish(ctx context.Context) (publication, error) {
	release, err := o.Hold(ctx, o.folder)
	if err != nil {
		return publication{}, err
	}
	defer release()
	if n := len(o.Takes); !o.Own || o.Undoing != nil || n > 0 && o.Takes[n-1].Back {
		return publication{}, nil
	}
	stands, err := o.Stands(ctx, o.repo)
	if err != nil {
		return publication{}, err
	}
	if stands.WasUndone() {
		return publication{Refused: "what was there was undone by hand"}, nil
	}
	_, after, err := o.Take(ctx, o.folder, "Take the delivery", "")
	if conflict, ok := errors.AsType[*git.ConflictError](err); ok {
		return publication{Refused: conflict.Error()}, nil
	}
	return publication{Head: after}, err
}
