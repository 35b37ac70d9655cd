package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockFile is beside the folders of deliveries. Whoever takes, reverts or drops a delivery holds its
// lock, and whoever changes what is on file of one.
const lockFile = "lock"

// updateSite changes what is on file of where a delivery works, and returns it. The change is made to
// what others have left there: a command may take or revert the delivery while a tool is at work.
func updateSite(folder string, change func(*Site)) (*Site, error) {
	lock := flock.New(filepath.Join(filepath.Dir(folder), lockFile))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer lock.Close()
	site, err := ReadSite(folder)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("there is no delivery %s any more", filepath.Base(folder))
	}
	if err != nil {
		return nil, err
	}
	change(site)
	return site, site.Save(folder)
}

// update changes what is on file of the site, and has it here as it is there then.
func (o *openSite) update(change func(*Site)) error {
	now, err := updateSite(o.folder, change)
	if err == nil {
		*o.Site = *now
	}
	return err
}
