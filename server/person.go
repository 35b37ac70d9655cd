package server

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
)

// A hub tells the streams of people which sessions have changed.
type hub struct {
	mu   sync.Mutex
	ears map[*ear]bool
	// tidings are what was last told of sessions, to be made once however many are told.
	// changes counts, and latest is the number of a session's latest change: what was made
	// before that is out of date.
	tidings bounded[string, *tiding]
	changes atomic.Int64
	latest  bounded[string, int64]
	// recent are the sessions that have changed lately, and when.
	recent map[string]time.Time
	// gone are the sessions that were deleted lately.
	gone []departure
	// before is that of the server whose place this one's has taken: its streams go on.
	before *hub
}

// A departure is a session that was deleted.
type departure struct {
	id, user string
	at       time.Time
}

const (
	// goneFor is for how long streams that begin tell of a session that was deleted: a page
	// lists sessions first and begins its stream then, and may be slow.
	goneFor = 5 * time.Minute
	// mostGone is how many such sessions are known.
	mostGone = 200
)

// left says that a session was deleted.
func (h *hub) left(session, user string) {
	for one := h; one != nil; one = one.before {
		one.mu.Lock()
		one.gone = append(one.gone, departure{session, user, time.Now()})
		one.gone = one.gone[max(0, len(one.gone)-mostGone):]
		one.mu.Unlock()
	}
	h.changed(session)
}

// goneOf are the sessions of a user that were deleted lately, those of all for nobody's name.
func (h *hub) goneOf(user string) (list []string) {
	if h.before != nil {
		list = h.before.goneOf(user)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.gone {
		if (user == "" || user == d.user) && time.Since(d.at) < goneFor && !slices.Contains(list, d.id) {
			list = append(list, d.id)
		}
	}
	return list
}

// A tiding is how a session stands, for its owner.
type tiding struct {
	made   int64 // after so many changes
	user   string
	events int64
	data   []byte
}

// An ear collects what has changed since its stream last looked.
type ear struct {
	user     string
	mu       sync.Mutex
	sessions map[string]bool
	more     change // what is told that is of no session
	woken    chan struct{}
}

// recentFor is for how long a stream that begins tells of a change: whoever goes from one stream to
// another leaves the first perhaps before that has told it.
const recentFor = 5 * time.Second

func (h *hub) listen(user string) (*ear, func()) {
	e := &ear{user: user, sessions: map[string]bool{}, woken: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ears == nil {
		h.ears = map[*ear]bool{}
	}
	h.ears[e] = true
	for session, at := range h.recent {
		if time.Since(at) < recentFor {
			e.hear(session)
		}
	}
	return e, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.ears, e)
	}
}

// changed says that a session has changed.
func (h *hub) changed(session string) {
	h.latest.put(session, h.changes.Add(1))
	h.remember(session)
	for e := range h.all() {
		e.hear(session)
	}
	if h.before != nil {
		h.before.changed(session)
	}
}

func (h *hub) remember(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recent == nil {
		h.recent = map[string]time.Time{}
	}
	if _, isKnown := h.recent[session]; !isKnown {
		maps.DeleteFunc(h.recent, func(_ string, at time.Time) bool { return time.Since(at) >= recentFor })
	}
	h.recent[session] = time.Now()
}

// reconfigured says that the configuration has changed.
func (h *hub) reconfigured() {
	for e := range h.all() {
		e.note(func() { e.more.Reconfigured = true })
	}
	if h.before != nil {
		h.before.reconfigured()
	}
}

// saved says that there is another version of a document of a user's, of all people's for nobody's
// name.
func (h *hub) saved(user string) {
	for e := range h.all() {
		if user == "" || e.user == "" || e.user == user {
			e.note(func() { e.more.Documents = true })
		}
	}
	if h.before != nil {
		h.before.saved(user)
	}
}

// all are the ears of now.
func (h *hub) all() map[*ear]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.ears)
}

func (e *ear) hear(session string) { e.note(func() { e.sessions[session] = true }) }

// note changes what an ear has collected, and wakes its stream.
func (e *ear) note(change func()) {
	e.mu.Lock()
	change()
	e.mu.Unlock()
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// take returns what the ear has collected, and forgets it.
func (e *ear) take() (sessions []string, more change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	sessions, more = slices.Sorted(maps.Keys(e.sessions)), e.more
	clear(e.sessions)
	e.more = change{}
	return sessions, more
}

const (
	// lookEvery is how often the store is asked what other processes have done.
	lookEvery = 2 * time.Second
	// settle is how long changes are collected before they are told.
	settle = 100 * time.Millisecond
)

// A change is what a person's stream tells: a session as lists show it now, or that it
// is gone; or that the configuration has changed, and with it agents, models and settings; or
// that a document of the project was saved.
type change struct {
	Session      *sessionView `json:"session,omitempty"`
	Gone         string       `json:"gone,omitempty"`
	Reconfigured bool         `json:"reconfigured,omitempty"`
	Documents    bool         `json:"documents,omitempty"`
}

// followPerson tells of all sessions of a person how they stand, whenever that changes.
func (s *Server) followPerson(c *call) error {
	standings, deaf := s.standings(c)
	defer deaf()
	return s.stream(c, ready(standings))
}

// standings is what tells a person how all their sessions stand. It hears of changes from now on,
// before whoever asked for it knows that the stream has begun, until it is deaf.
func (s *Server) standings(c *call) (told feed, deaf func()) {
	e, deaf := s.hub.listen(c.user)
	return func(ctx context.Context, out *events) error {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		latest := time.Now()
		told := map[string]int64{}
		for _, id := range s.hub.goneOf(c.user) { // what the caller has listed before may be among them
			if err := out.sendJSON(change{Gone: id}); err != nil {
				return err
			}
		}
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-look.C:
				for info, err := range s.config.Store.Sessions(ctx, troupe.SessionFilter{User: c.user, Since: latest.Add(-lookEvery)}) {
					if err != nil {
						return err
					}
					if told[info.ID] != info.Events {
						s.hub.outdate(&info)
						e.hear(info.ID)
					}
				}
				latest = time.Now()
				continue
			case <-e.woken:
			}
			pause(ctx, settle)
			changed, more := e.take()
			for _, id := range changed {
				if err := s.tell(c, out, id, told); err != nil {
					return err
				}
			}
			if more != (change{}) {
				if err := out.sendJSON(more); err != nil {
					return err
				}
			}
		}
	}, deaf
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// outdate forgets what was told of a session that another process has changed since.
func (h *hub) outdate(info *troupe.SessionInfo) {
	if known, ok := h.tidings.get(info.ID); ok && known.events != info.Events {
		h.latest.put(info.ID, h.changes.Add(1))
	}
}

// tell sends a session as it stands, if it is one of the caller's.
func (s *Server) tell(c *call, out *events, id string, told map[string]int64) error {
	news, err := s.tidingOf(c.r.Context(), id)
	if err != nil {
		return err
	}
	if news == nil || c.user != "" && c.user != news.user {
		_, isKnown := told[id]
		delete(told, id)
		// A page may have it in its list, though this stream has not told of it.
		if isKnown || slices.Contains(s.hub.goneOf(c.user), id) {
			return out.sendJSON(change{Gone: id})
		}
		return nil
	}
	told[id] = news.events
	return out.send(news.data)
}

// tidingOf returns how a session stands, nil if it is gone.
func (s *Server) tidingOf(ctx context.Context, id string) (*tiding, error) {
	changed, _ := s.hub.latest.get(id)
	if known, ok := s.hub.tidings.get(id); ok && known.made >= changed {
		return known, nil
	}
	made := s.hub.changes.Load()
	found, err := collect(s.config.Store.Sessions(ctx, troupe.SessionFilter{ID: id}), 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	view, err := s.view(ctx, found[0])
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(change{Session: &view})
	if err != nil {
		return nil, err
	}
	news := &tiding{made, found[0].User, found[0].Events, data}
	s.hub.tidings.put(id, news)
	return news, nil
}
