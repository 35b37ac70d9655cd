package project

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/troupe-dev/troupe/pipeline"
)

// watchEvery is how often is looked whether something was done with a delivery elsewhere.
const watchEvery = 2 * time.Second

// WatchDeliveries tells of each delivery of which other programs say something new, by its
// session: with 'troupe deliveries apply' a result is taken, which its events do not tell of. It
// returns when ctx is done.
func (p *Project) WatchDeliveries(ctx context.Context, changed func(session string)) error {
	pause := time.NewTicker(watchEvery)
	defer pause.Stop()
	said := siteTimes{}
	for said.look(p.deliveriesDir()); ; {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
		for _, session := range said.look(p.deliveriesDir()) {
			changed(session)
		}
	}
}

// siteTimes are when the files of deliveries were written, by their sessions.
type siteTimes map[string]time.Time

// look returns those that were written since it looked last.
func (s siteTimes) look(dir string) (changed []string) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none yet
	}
	for _, f := range folders {
		info, err := os.Stat(filepath.Join(dir, f.Name(), pipeline.SiteFile))
		if err != nil || info.ModTime().Equal(s[f.Name()]) {
			continue
		}
		s[f.Name()] = info.ModTime()
		changed = append(changed, f.Name())
	}
	return changed
}
