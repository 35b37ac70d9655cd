package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/store/postgres"
	"github.com/troupe-dev/troupe/store/sqlite"
)

// sharesStore reports whether the store is a database that others use, too.
func (p *Project) sharesStore() bool { return postgres.IsAddress(p.config.Store) }

// storeFile is the file of the store, where it is one.
func (p *Project) storeFile() string {
	if p.config.Store == "" || p.sharesStore() {
		return filepath.Join(p.DataDir(), "troupe.db")
	}
	return within(p.dir, p.config.Store)
}

// openStore opens the store for writing.
func (p *Project) openStore(ctx context.Context) (store.Log, error) {
	if p.sharesStore() {
		return p.openShared(ctx, p.config.Store, false)
	}
	p.hideOwnData()
	return sqlite.Open(ctx, p.storeFile(), sqlite.Options{})
}

// shelf is what the servers of a shared store keep small things on, nil where there is one
// server.
func (s *stage) shelf() server.Shelf {
	if shared, ok := s.store.(*postgres.Store); ok {
		return shared
	}
	return nil
}

// places are where servers that share a store count together what users have at the same
// time, nil where there is one server.
func (s *stage) places() server.Places {
	if shared, ok := s.store.(*postgres.Store); ok {
		return shared
	}
	return nil
}

// trouble is [server.Config.StoreTrouble]: nil where nobody knows, as of a database that
// others run.
func (s *stage) trouble() func() error {
	if file, ok := s.store.(*sqlite.Store); ok {
		return file.Trouble
	}
	return nil
}

// StoreStopped waits until the store takes nothing more and opening it again may help, and
// returns why. It returns nil when ctx is done.
func (p *Project) StoreStopped(ctx context.Context) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	file, ok := s.store.(*sqlite.Store)
	if !ok {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-file.Stopped():
		return file.Trouble()
	}
}

// storeSize is [server.Config.StoreSize].
func (s *stage) storeSize(ctx context.Context) (sessions int, bytes int64, err error) {
	for _, err := range s.store.Sessions(ctx, troupe.SessionFilter{}) {
		if err != nil {
			return 0, 0, err
		}
		sessions++
	}
	if s.project.sharesStore() {
		return sessions, 0, nil
	}
	for _, end := range []string{"", "-wal"} {
		if info, err := os.Stat(s.project.storeFile() + end); err == nil {
			bytes += info.Size()
		}
	}
	return sessions, bytes, nil
}

// OpenReader opens the store for reading, beside whoever writes to it. It fails with
// [ErrNoSessions] where nothing has run yet, and makes no file. Whoever opens it
// closes it.
func (p *Project) OpenReader(ctx context.Context) (store.Log, error) {
	if p.sharesStore() {
		reader, err := postgres.Open(ctx, p.config.Store, postgres.Options{ReadOnly: true})
		if errors.Is(err, postgres.ErrNoStore) {
			return nil, fmt.Errorf("%w: the database is empty", ErrNoSessions)
		}
		if err != nil {
			return nil, err
		}
		return reader, nil
	}
	reader, err := sqlite.OpenReadOnly(ctx, p.storeFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s", ErrNoSessions, p.shown(p.storeFile()))
	}
	if err != nil {
		return nil, err
	}
	return reader, nil
}

// OpenPlace opens a store by its name for as long as somebody copies it: sqlite: and a
// file's name, or none for the project's usual one; or the address of a PostgreSQL
// database, or postgres: for that of troupe.yaml. One that is only read must be there.
func (p *Project) OpenPlace(ctx context.Context, name string, readOnly bool) (store.Log, error) {
	file, isFile := cutScheme(name, "sqlite:")
	_, isOwn := cutScheme(name, "postgres:")
	switch {
	case name == "postgres:" && !p.sharesStore():
		return nil, errors.New("store in troupe.yaml is no PostgreSQL database: name one, as in postgres://user:password@host/database")
	case name == "postgres:":
		return p.openShared(ctx, p.config.Store, readOnly)
	case postgres.IsAddress(name):
		return p.openShared(ctx, name, readOnly)
	case isOwn || !isFile:
		shown := "this"
		if !strings.ContainsAny(name, ":@") { // or it may have a password in it
			shown = fmt.Sprintf("%.64q", name)
		}
		return nil, errors.New(shown + " is no store: name sqlite:FILE, sqlite: for this project's own file, or postgres://user:password@host/database")
	}
	path := filepath.Join(p.DataDir(), "troupe.db")
	if file != "" {
		path = within(p.dir, file)
	}
	if readOnly {
		return sqlite.OpenReadOnly(ctx, path)
	}
	return sqlite.Open(ctx, path, sqlite.Options{})
}

// cutScheme returns what follows a scheme.
func cutScheme(name, scheme string) (rest string, ok bool) {
	if len(name) < len(scheme) || name[:len(scheme)] != scheme {
		return "", false
	}
	return name[len(scheme):], true
}

// examineStore looks at the database, where there is one: whether it can be used, and what
// it would lose.
func (p *Project) examineStore(ctx context.Context) []doctor.Check {
	if !p.sharesStore() {
		return nil
	}
	const name = "store"
	d, err := postgres.Examine(ctx, p.config.Store)
	if err != nil {
		checks := []doctor.Check{{Name: name, Status: doctor.Broken, Message: err.Error(), Fix: "correct store in troupe.yaml, or the database"}}
		return append(checks, p.examineBucket(ctx)...)
	}
	d.Queues = append([]string{}, p.Queues()...)
	checks := []doctor.Check{{Name: name, Status: doctor.OK, Message: fmt.Sprintf("PostgreSQL %s at %s", d.Server, d.Place)}}
	for _, problem := range d.Problems() {
		checks = append(checks, doctor.Check{Name: name, Status: doctor.Warning, Message: problem.What, Fix: problem.Fix})
	}
	checks = append(checks, p.examineWorkers(d.Workers)...)
	return append(checks, p.examineBucket(ctx)...)
}

// examineWorkers says which queues have workers, given how many each has, where it is workers
// that carry out runs and that is known.
func (p *Project) examineWorkers(there map[string]int) (checks []doctor.Check) {
	if kind := p.EngineKind(); kind != EngineWorkers && kind != EngineTemporal || there == nil {
		return nil
	}
	for _, queue := range append([]string{""}, p.Queues()...) {
		of, command := "", "troupe worker"
		switch {
		case queue != "":
			of, command = " of queue "+queue, "troupe worker --queue "+queue
		case len(p.Queues()) > 0:
			of = " that fit no queue"
		}
		check := doctor.Check{Name: "workers", Status: doctor.OK, Message: words.Counted(there[queue], "worker") + " for runs" + of}
		if there[queue] == 0 {
			check.Status, check.Message, check.Fix = doctor.Warning, "no worker is there for runs"+of+": they wait, and those that have waited for a minute are reported here", "start '"+command+"'"
		}
		checks = append(checks, check)
	}
	return checks
}

// examineFile looks whether the file of the store can be read, where it is one.
func (p *Project) examineFile(ctx context.Context) []doctor.Check {
	if p.sharesStore() {
		return nil // which was looked at already
	}
	reader, err := p.OpenReader(ctx)
	if err == nil {
		err = reader.Close()
	}
	if err == nil || errors.Is(err, ErrNoSessions) {
		return nil
	}
	fix := "correct store in " + config.Name + ", or the file"
	if _, ok := errors.AsType[*sqlite.DamagedError](err); ok {
		fix = "'troupe doctor --verify' says more; a backup can be put in its place"
	}
	return []doctor.Check{{Name: "store", Status: doctor.Broken, Message: err.Error(), Fix: fix}}
}
