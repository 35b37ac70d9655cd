package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe/mcpserver"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/server"
)

// A generation is a project as it is served with one configuration.
type generation struct {
	project *project.Project
	web     *server.Server
	clients *mcpserver.Server
	// rest ends what is done by the clock, and waits for it. It may be called again.
	rest func() error
}

// newGeneration makes a project ready to be served, and begins what it does by the clock. Where
// its store takes nothing more, it has all end.
func newGeneration(ctx context.Context, opened *project.Project, end context.CancelCauseFunc) (*generation, error) {
	web, err := opened.Server(ctx)
	if err != nil {
		return nil, err
	}
	clients, err := mountMCP(ctx, opened, web)
	if err != nil {
		return nil, err
	}
	if err := mountA2A(ctx, opened, web); err != nil {
		return nil, errors.Join(err, clients.Close())
	}
	watch := func(ctx context.Context) error {
		if err := opened.StoreStopped(ctx); err != nil {
			end(&storeStopped{err})
		}
		return nil
	}
	deliveries := func(ctx context.Context) error { return opened.WatchDeliveries(ctx, web.Changed) }
	rest := sync.OnceValue(beside(ctx, opened.RunSchedules, opened.RunRetention, opened.RunSweep, counting(opened), watch, deliveries))
	return &generation{project: opened, web: web, clients: clients, rest: rest}, nil
}

// close gives up all but the project.
func (g *generation) close() error { return errors.Join(g.rest(), g.clients.Close()) }

// lookEvery is how often is looked whether the configuration has changed.
const lookEvery = time.Second

// hangups has SIGHUP no longer end the program until ctx is done, but ask for the configuration to
// be read again, as services are asked to. Where it comes because the terminal that the server was
// started in is gone, it ends the server.
func (p *program) hangups(ctx context.Context, end func(error)) (asked <-chan struct{}) {
	signals, reads := make(chan os.Signal, 1), make(chan struct{}, 1)
	isAttended := p.isTerminal(p.in)
	signal.Ignore(syscall.SIGHUP) // takes it from whoever had it before
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if isAttended && !p.isTerminal(p.in) {
				end(errInterrupted)
				return
			}
			select {
			case reads <- struct{}{}:
			default: // which is asked for already
			}
		}
	}()
	return reads
}

// reload looks for changes of the configuration until ctx is done, at once when it is asked to, and
// has each be served by a generation of its own. What is under way goes on as it began. A
// configuration that is wrong is reported, and the one before stays.
func (p *program) reload(ctx context.Context, now *generation, asked <-chan struct{}, end context.CancelCauseFunc) (err error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var later []*generation
	defer func() {
		for _, g := range later {
			err = errors.Join(err, g.close(), g.project.Close())
		}
	}()
	used := configured(now.project.Dir())
	seen := used
	for isAsked := false; ; {
		if !isAsked {
			select {
			case <-ctx.Done():
				return nil
			case <-asked:
				isAsked = true
			case <-look.C:
			}
		}
		before := seen
		seen = configured(now.project.Dir())
		if !isAsked && (seen == used || seen != before) { // whoever writes it may not be done
			continue
		}
		changed := used.changed(seen)
		// What is saved on the page while the file is read must not be undone by what was read.
		isAsRead := func() bool { return configured(now.project.Dir()) == seen }
		next, err := p.replace(ctx, now, isAsRead, end)
		if isAsked = false; errors.Is(err, errChangedMeanwhile) {
			continue // it is looked at again
		}
		used = seen
		if err != nil {
			p.complain(err)
			p.tell("The configuration from before stays in use.")
			now.web.Misconfigured(now.project.Mistake(err))
			continue
		}
		p.tell("%s was read again.", strings.Join(changed, " and "))
		later, now = append(later, next), next
		isAsked = ctx.Err() == nil && !isAsRead() // something was saved since
	}
}

// errChangedMeanwhile reports a configuration that was changed while it was read.
var errChangedMeanwhile = errors.New("the configuration was changed while it was read")

// replace has a generation with the configuration as it is now answer in place of another. It fails
// with errChangedMeanwhile, and changes nothing, where that is not what it was by the end.
func (p *program) replace(ctx context.Context, now *generation, isAsRead func() bool, end context.CancelCauseFunc) (*generation, error) {
	opened, err := project.Open(p.flags.dir, p.options())
	if err != nil {
		return nil, err
	}
	if place := opened.MovedFrom(now.project); place != "" {
		return nil, errors.Join(errors.New(place+" in "+project.Name+" has changed: that takes a restart"), opened.Close())
	}
	next, err := newGeneration(ctx, opened, end)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	if !isAsRead() {
		return nil, errors.Join(errChangedMeanwhile, next.close(), opened.Close())
	}
	if err := now.rest(); err != nil {
		p.complain(err)
	}
	now.web.HandOver(next.web)
	return next, nil
}

// sums are those of the files that the configuration is in, in the order of configFiles.
type sums [3][sha256.Size]byte

var configFiles = [len(sums{})]string{project.Name, ".env", ".env.local"}

// configured sums up the files that the configuration is in.
func configured(dir string) (all sums) {
	for i, name := range configFiles {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			all[i] = sha256.Sum256(data)
		}
	}
	return all
}

// changed names the files that are not what they were: all of it where none is, for somebody
// who asks that it be read again.
func (s sums) changed(now sums) (names []string) {
	for i, name := range configFiles {
		if s[i] != now[i] {
			names = append(names, name)
		}
	}
	if names == nil {
		names = []string{project.Name}
	}
	return names
}
