package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// A meter counts what each user has used today, and turns away who has used up their
// quota. What was used is kept on the shelf: it outlives a restart, and all servers of one
// store count together.
type meter struct {
	quota config.Quota
	log   *slog.Logger
	now   func() time.Time

	shelf server.Shelf // set before the first run
	// owner says whose session it is, of a run that began in another process. It is set
	// before the first run.
	owner func(session string) (user string, err error)

	mu    sync.Mutex
	users map[string]string // by session with a run under way
	fresh map[string]used   // not on the shelf yet, by user
}

// used is what somebody has used in a day.
type used struct {
	Runs   int     `json:"runs"`
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
}

func (u used) plus(v used) used { return used{u.Runs + v.Runs, u.Tokens + v.Tokens, u.Cost + v.Cost} }

// MayBegin is an error where no run is to begin any more in this month: what
// server.month_cost allows everybody together is spent.
func (p *Project) MayBegin(ctx context.Context) error {
	s, err := p.stage(ctx)
	if err != nil {
		return err
	}
	err = server.CheckMonth(ctx, s.folders, p.config.Server.MonthCost)
	if _, isSpent := errors.AsType[*server.MonthSpent](err); isSpent { // whoever has no page has the file
		return fmt.Errorf("%w, or as server.month_cost in troupe.yaml", err)
	}
	return err
}

// shelfWait is how long the meter waits for its shelf.
const shelfWait = 10 * time.Second

func newMeter(quota config.Quota) *meter {
	return &meter{quota: quota, now: time.Now, users: map[string]string{}, fresh: map[string]used{}}
}

// Note implements [observe.Sink].
func (m *meter) Note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		if e.Parent == "" {
			m.count(e.Session, b.User, used{Runs: 1})
		}
	case *troupe.ModelReplied:
		m.count(e.Session, m.userOf(e.Session), used{Tokens: b.Usage.Input + b.Usage.Output, Cost: b.Cost})
	case *troupe.ModelFailed: // what it has used is paid for
		if b.Cost != 0 || b.Usage.Total() != 0 {
			m.count(e.Session, m.userOf(e.Session), used{Tokens: b.Usage.Total(), Cost: b.Cost})
		}
	case *troupe.RunFinished, *troupe.RunFailed, *troupe.RunCancelled:
		if e.Parent == "" {
			m.settle(e.Session)
		}
	}
}

// userOf says who uses a session. A run that is resumed has begun before anybody counted.
func (m *meter) userOf(session string) string {
	m.mu.Lock()
	user, known := m.users[session]
	m.mu.Unlock()
	if known {
		return user
	}
	user, err := m.owner(session)
	if err != nil {
		m.log.Warn("it is not known who uses a session; nobody's quota is charged", "session", session, "err", err)
	}
	return user
}

func (m *meter) count(session, user string, more used) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[session] = user
	m.fresh[user] = m.fresh[user].plus(more)
}

// settle puts what the user of a session has used on the shelf.
func (m *meter) settle(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	user := m.users[session]
	delete(m.users, session)
	fresh, ok := m.fresh[user]
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), shelfWait)
	defer cancel()
	err := m.shelf.Change(ctx, m.place(user), func(before []byte) ([]byte, error) {
		var kept used
		if before != nil {
			if err := json.Unmarshal(before, &kept); err != nil {
				return nil, err
			}
		}
		return json.Marshal(kept.plus(fresh))
	})
	if err != nil {
		m.log.Warn("what was used is not kept", "err", err) // it is counted until the server ends
		return
	}
	delete(m.fresh, user)
}

func (m *meter) place(user string) string {
	return "quota/" + m.now().UTC().Format(time.DateOnly) + "/" + user
}

// admit fails for a user who has used up today's quota.
func (m *meter) admit(ctx context.Context, user string) error {
	m.mu.Lock()
	sum := m.fresh[user]
	m.mu.Unlock()
	data, err := m.shelf.Read(ctx, m.place(user))
	if err != nil {
		return fmt.Errorf("what was used cannot be read: %w", err)
	}
	var kept used
	if data != nil {
		if err := json.Unmarshal(data, &kept); err != nil {
			return err
		}
	}
	sum = sum.plus(kept)
	q := m.quota
	switch {
	case q.Runs > 0 && sum.Runs >= q.Runs:
		return m.spent("%d runs", q.Runs)
	case q.Tokens > 0 && sum.Tokens >= q.Tokens:
		return m.spent("%d tokens", q.Tokens)
	case q.Cost > 0 && sum.Cost >= q.Cost:
		return m.spent("%s", words.Dollars(q.Cost))
	}
	return nil
}

// spent turns a user away until the next day begins.
func (m *meter) spent(format string, quota any) error {
	return &server.QuotaSpent{Quota: fmt.Sprintf(format, quota), Until: m.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)}
}

// ownerOf says whose a session is.
func (s *stage) ownerOf(session string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), shelfWait)
	defer cancel()
	for info, err := range s.engine.Sessions(ctx, troupe.SessionFilter{ID: session, Limit: 1}) {
		return info.User, err
	}
	return "", fmt.Errorf("session %s: %w", session, troupe.ErrNotFound)
}

// admission is what turns users away at the server, nil where there is no quota.
func (p *Project) admission() func(context.Context, string) error {
	if p.meter == nil {
		return nil
	}
	return p.meter.admit
}
