package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lockFile is beside the folders of deliveries.
const lockFile = "lock"

// Hold keeps others, of this process and of others, from taking, reverting or dropping deliveries, and
// from changing what is on file of one, until release is called. The site is read anew: it is as they
// have left it.
func (s *Site) Hold(ctx context.Context, folder string) (release func(), err error) {
	lock := flock.New(filepath.Join(filepath.Dir(folder), lockFile))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return nil, fmt.Errorf("wait for whoever takes a delivery, or takes one back: %w", err)
	}
	release = func() { _ = lock.Close() }
	now, err := ReadSite(folder)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("there is no delivery %s any more", s.ID)
	}
	if err != nil {
		release()
		return nil, err
	}
	*s = *now
	return release, nil
}

// update changes what is on file of the site, and has it here as it is there then. The change is made
// to what others have left there: a command may take or revert the delivery while a tool is at work.
func (o *openSite) update(change func(*Site)) error {
	now := *o.Site
	release, err := now.Hold(context.Background(), o.folder) // what a tool has done is put down, though it is told to stop
	if err != nil {
		return err
	}
	defer release()
	change(&now)
	if err := now.Save(o.folder); err != nil {
		return err
	}
	*o.Site = now
	return nil
}
