//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/failpoint"
)

const (
	// servers is how many serve one data directory, and clients how many talk to them.
	servers, clients = 2, 5
	// serveTasks are numbers of tasks that no lane has.
	serveTasks = diskTasks + 5<<20
)

// servePoints are those that servers are killed at.
var servePoints = []failpoint.Point{
	failpoint.FeedBeforeAppend, failpoint.FeedAfterAppend, failpoint.ModelReplied, failpoint.CallsRecorded, failpoint.AnswerRecorded, failpoint.ToolReturned,
	failpoint.StoreBeforeCommit, failpoint.StoreAfterCommit, failpoint.StoreBeforeAcknowledging, failpoint.ManifestBehind, failpoint.FileBeforeRename,
}

// A house is servers on one data directory that are killed while clients talk to them.
type house struct {
	*project
	random *rand.Rand
	mu     sync.Mutex
	all    [servers]*served
	kills  int
}

// A served process answers requests until it is killed.
type served struct {
	url, token string
	cmd        *exec.Cmd
	done       chan struct{}
}

// killServers has clients talk to servers which are killed again and again, and cuts
// the clients' connections. Whatever a client was told is on record once, and whatever
// it asked for is done once.
func (w *world) killServers(ctx context.Context) error {
	p, err := w.newProject(ctx, "serve")
	if err != nil {
		return err
	}
	h := &house{project: p, random: rand.New(rand.NewPCG(w.Seed, lanes+3))}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer h.close()
	for i := range h.all {
		if err := h.start(ctx, i, ""); err != nil {
			return err
		}
	}
	wanted := max(w.Kills/8, 6)
	talking := make([]*client, clients)
	var wg sync.WaitGroup
	for i := range talking {
		talking[i] = &client{house: h, number: i, random: rand.New(rand.NewPCG(w.Seed, uint64(100+i))), talks: map[string]*talk{}}
		wg.Go(func() { talking[i].run(ctx, func() bool { return h.killed() < wanted }) })
	}
	talked := make(chan struct{})
	go func() { wg.Wait(); close(talked) }()
	err = h.killAround(ctx, wanted, talked)
	if err != nil {
		cancel()
	}
	<-talked
	h.close()
	if err != nil {
		return err
	}
	return h.checkTalks(ctx, talking)
}

func (h *house) killed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kills
}

// killAround kills servers in turn until the clients are done, and starts others.
func (h *house) killAround(ctx context.Context, wanted int, talked <-chan struct{}) error {
	for n := 0; ; n++ {
		i := n % servers
		h.mu.Lock()
		victim := h.all[i]
		h.mu.Unlock()
		if h.killed() >= wanted {
			return h.keepUp(ctx, talked)
		}
		select {
		case <-victim.done: // at its point
		case <-time.After(time.Duration(200+h.random.IntN(1500)) * time.Millisecond):
			victim.cmd.Process.Kill()
			<-victim.done
		case <-talked:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		h.mu.Lock()
		h.kills++
		h.mu.Unlock()
		h.world.report.add(serverKills, 1)
		point := ""
		if h.random.IntN(2) == 0 {
			point = fmt.Sprintf("%s:%d", servePoints[h.random.IntN(len(servePoints))], 1+h.random.IntN(12))
		}
		if err := h.start(ctx, i, point); err != nil {
			return err
		}
	}
}

// keepUp starts servers in the place of those that have still come to their points, until
// the clients are done.
func (h *house) keepUp(ctx context.Context, talked <-chan struct{}) error {
	for {
		for i, s := range h.all { // which nobody else changes now
			select {
			case <-s.done:
				if err := h.start(ctx, i, ""); err != nil {
					return err
				}
			default:
			}
		}
		select {
		case <-h.all[0].done:
		case <-h.all[1].done:
		case <-talked:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var serveLink = regexp.MustCompile(`^(http://[^/]+)/#token=(\S+)`)

// start starts a server, which is to kill itself at a point if that is not empty.
func (h *house) start(ctx context.Context, i int, point string) error {
	for range 5 {
		cmd := exec.CommandContext(ctx, h.world.program, "-q", "serve", "--addr", "127.0.0.1:0")
		cmd.Dir, cmd.WaitDelay = h.dir, patience
		cmd.Env = []string{"HOME=" + h.dir, "TMPDIR=" + filepath.Join(h.world.dir, "tmp"), "PATH=/usr/bin:/bin", "TROUPE_LOOK_FOR_OLLAMA=no"}
		if point != "" {
			cmd.Env = append(cmd.Env, failpoint.Variable+"="+point)
		}
		var trouble strings.Builder
		cmd.Stderr = &trouble
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		s := &served{cmd: cmd, done: make(chan struct{})}
		go func() {
			cmd.Wait() // how it ended is no matter
			close(s.done)
		}()
		if found := serveLink.FindStringSubmatch(line); found != nil {
			s.url, s.token = found[1], found[2]
			h.mu.Lock()
			h.all[i] = s
			h.mu.Unlock()
			return nil
		}
		<-s.done
		if point == "" {
			return fmt.Errorf("troupe serve printed %q and no link: %s", line, &trouble)
		}
		point = "" // it was killed before it served
	}
	return errNotReached
}

// close ends the servers.
func (h *house) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.all {
		if s != nil {
			s.cmd.Process.Kill()
			<-s.done
		}
	}
}

// any returns one of the servers.
func (h *house) any(random *rand.Rand) *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[random.IntN(servers)]
}

// checkTalks compares what is on record with what clients asked for and were shown.
func (h *house) checkTalks(ctx context.Context, all []*client) error {
	known := 0
	for _, c := range all {
		for id, t := range c.talks {
			known++
			s, err := h.show(ctx, id, t.shown)
			if err != nil {
				return err
			}
			h.world.report.add(sessions, 1)
			h.checkTalk(id, t, s)
		}
	}
	list, err := h.list(ctx)
	if err != nil {
		return err
	}
	if len(list) != known {
		h.problem("there are %d sessions, and clients made %d", len(list), known)
	}
	lines, err := entries(h.ledger())
	for line, n := range lines {
		if n > 1 {
			h.problem("the ledger has %s %d times", line, n)
		}
	}
	return err
}

// checkTalk looks for requests that were done twice, or not.
func (h *house) checkTalk(id string, t *talk, s *session) {
	said, begun := map[string]int{}, 0
	for i := range s.events {
		e := &s.events[i]
		switch b := e.Body.(type) {
		case *troupe.UserSaid:
			said[b.Text]++
		case *troupe.RunStarted:
			if e.Parent == "" {
				begun++
			}
		}
	}
	if begun != t.runs {
		h.problem("session %s has %d runs, of %d that were asked for", id, begun, t.runs)
	}
	for text, n := range t.said {
		if said[text] != n {
			h.problem("session %s has %d times %q, which was said %d times", id, said[text], text, n)
		}
	}
	if !t.isDone {
		h.problem("session %s did not come to its end: it is %s", id, s.info.Status)
	}
}
