package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

func TestALogQueryIsReadFromTheAddress(t *testing.T) {
	var asked LogQuery
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Logs = func(_ context.Context, query LogQuery) iter.Seq2[LogHit, error] {
			asked = query
			return func(func(LogHit, error) bool) {}
		}
	})
	var hits []LogHit
	w.want(http.StatusOK, &hits, "GET", "/api/logs?q=moon&session=s&agent=a&tool=t&level=warn&errors&since=2026-01-31&until=2026-02-01T12:00:00Z&before=7&limit=5", nil)
	want := LogQuery{
		Text: "moon", Session: "s", Agent: "a", Tool: "t", Level: "warn", Errors: true, Before: 7,
		Since: time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, asked); diff != "" || hits == nil {
		t.Errorf("%s, hits %v", diff, hits)
	}
	for _, bad := range []string{"level=loud", "since=soon", "until=soon", "before=x", "limit=x"} {
		w.want(http.StatusBadRequest, nil, "GET", "/api/logs?"+bad, nil)
	}
}

func TestWithoutLogsNothingCanBeSearchedFor(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Logs = nil })
	w.want(http.StatusNotImplemented, nil, "GET", "/api/logs", nil)
	w.want(http.StatusNotImplemented, nil, "GET", "/api/sessions?q=moon", nil)
}

// A fullStore stores so many events and then nothing more.
type fullStore struct {
	troupe.Store
	room int
	err  error // why, of the program's own where it is nil
}

func (s *fullStore) Append(ctx context.Context, session string, events ...troupe.Event) error {
	if s.room -= len(events); s.room < 0 {
		if s.err != nil {
			return s.err
		}
		return errors.New("the disk is full at /secret/place")
	}
	return s.Store.Append(ctx, session, events...)
}

func (s *fullStore) Sessions(ctx context.Context, match troupe.SessionFilter) iter.Seq2[troupe.SessionInfo, error] {
	if s.room < 0 {
		return func(yield func(troupe.SessionInfo, error) bool) {
			yield(troupe.SessionInfo{}, errors.New("the disk is full"))
		}
	}
	return s.Store.Sessions(ctx, match)
}

func withRoomFor(events int) option {
	return func(c *Config) {
		c.Store = &fullStore{Store: troupe.NewMemoryStore(), room: events}
		c.Engine, _ = troupe.New(troupe.Config{Store: c.Store})
	}
}

func TestWhatCannotBeStoredIsNotAcknowledged(t *testing.T) {
	w := open(t, clerk(t, echo()), withRoomFor(0))
	status, text := w.do("POST", "/api/sessions/"+w.session()+"/messages", message{Text: "hello"})
	if status != http.StatusInternalServerError || strings.Contains(text, "secret") || !strings.Contains(w.log.String(), "/secret/place") {
		t.Errorf("%d %s, and the log says %s", status, text, w.log)
	}
	w.want(http.StatusServiceUnavailable, nil, "GET", "/readyz", nil)
}

func TestARunThatCannotBeStoredToItsEndSaysSo(t *testing.T) {
	w := open(t, clerk(t, echo()), withRoomFor(3))
	_, lines := w.chat(chatMessage{AgentID: "clerk", Message: "hello"})
	if len(lines) < 2 || !strings.HasPrefix(lines[len(lines)-2], `{"type":"error"`) || strings.Contains(lines[len(lines)-2], "secret") || !strings.Contains(w.log.String(), "/secret/place") {
		t.Errorf("the stream says %v, and the log %s", lines, w.log)
	}
}
