package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// A guest reads a file that may have an owner who writes to it.
//
// While there is something in the log file, the guest keeps to SQLite's rules for
// many processes. While there is nothing, SQLite would create the files that these
// rules need, which a guest must not do and often cannot. The file is then taken for
// one that nobody changes. That is so until an owner comes: what was read counts
// only if the file is still what it was.
type guest struct {
	path string

	mu     sync.Mutex
	now    *view // nil if there is none yet
	closed bool
}

// A view is connections to the file as it was at a moment.
type view struct {
	look
	db *sql.DB
}

// A look says what the files were at a moment.
type look struct {
	file fs.FileInfo
	log  fs.FileInfo // nil if there is nothing in it
}

// lookAt looks at the log file last: if there is nothing in it, all that ever was is
// in the file by then, and a change that was made in between shows at the next look.
func lookAt(path string) (l look, err error) {
	if l.file, err = os.Stat(path); err != nil {
		return look{}, err
	}
	if !l.file.Mode().IsRegular() {
		return look{}, fmt.Errorf("%s: not a regular file", path)
	}
	l.log, err = os.Stat(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) || err == nil && l.log.Size() == 0 {
		return look{file: l.file}, nil
	}
	return l, err
}

// holds reports whether connections made after this look are good after a later one.
func (l look) holds(later look) bool {
	if !os.SameFile(l.file, later.file) {
		return false
	}
	if l.log != nil && later.log != nil {
		return os.SameFile(l.log, later.log)
	}
	return l.log == nil && later.log == nil && l.file.Size() == later.file.Size() && l.file.ModTime().Equal(later.file.ModTime())
}

// read implements access. What was read is relied on if the file is as it was.
func (g *guest) read(ctx context.Context, act func(*sql.DB) error) error {
	for {
		v, err := g.view(ctx)
		if err != nil {
			return err
		}
		err = act(v.db)
		if ctx.Err() != nil || g.stillHas(v) {
			return err
		}
	}
}

// view returns connections to the file as it is now.
func (g *guest) view(ctx context.Context) (*view, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if g.closed {
			return nil, ErrClosed
		}
		now, err := lookAt(g.path)
		if err != nil {
			return nil, err
		}
		if g.now != nil && g.now.holds(now) {
			return g.now, nil
		}
		if err := g.leave(); err != nil {
			return nil, err
		}
		db, err := g.connect(ctx, now)
		if err == nil {
			g.now = &view{now, db}
			return g.now, nil
		}
		if later, lost := lookAt(g.path); lost != nil || now.holds(later) {
			return nil, err
		}
	}
}

func (g *guest) stillHas(v *view) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	later, err := lookAt(g.path)
	return err == nil && g.now == v && v.holds(later)
}

// connect opens the file as a look allows it, if this program can use it.
func (g *guest) connect(ctx context.Context, l look) (*sql.DB, error) {
	if l.file.Size() == 0 {
		return nil, &DamagedError{Path: g.path, Err: isEmpty}
	}
	p := forInspectingAlone
	if l.log != nil {
		if _, err := os.Stat(g.path + "-shm"); err != nil {
			return nil, fmt.Errorf("%s: its -wal file is there without the -shm file: open it for writing once", g.path)
		}
		p = forInspecting
	}
	db, conn, err := connectTo(ctx, g.path, p)
	if err != nil {
		return nil, err
	}
	if err = checkUpToDate(ctx, conn, g.path); isDamage(err) {
		err = &DamagedError{Path: g.path, Err: err}
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, errors.Join(explain(err), db.Close())
	}
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db, nil
}

// catchUp implements access. The index is the owner's: searches sift what is not
// in it.
func (g *guest) catchUp(context.Context) error { return nil }

// leave gives up the connections; g.mu is held.
func (g *guest) leave() error {
	if g.now == nil {
		return nil
	}
	v := g.now
	g.now = nil
	return v.db.Close()
}

// close implements access.
func (g *guest) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return g.leave()
}
