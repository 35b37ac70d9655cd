package observe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/troupetest"
)

type sinkFunc func(*troupe.Event)

func (f sinkFunc) Note(e *troupe.Event) { f(e) }

func TestAWatchedStoreIsAStore(t *testing.T) {
	troupetest.TestStore(t, func(testing.TB) troupe.Store {
		return observe.Watch(troupe.NewMemoryStore(), observe.NewMetrics(), observe.Log(slog.DiscardHandler))
	})
}

func TestSinksAreToldWhatWasStoredInOrder(t *testing.T) {
	var told []troupe.Event
	_, stored := play(t, slog.LevelInfo, sinkFunc(func(e *troupe.Event) { told = append(told, *e) }))
	if len(told) != len(stored) {
		t.Fatalf("told of %d events, %d are stored", len(told), len(stored))
	}
	for i := range stored {
		if told[i].Epoch = 0; told[i] != stored[i] {
			t.Errorf("event %d: told of %+v", stored[i].Seq, told[i])
		}
	}
}

func TestSinksAreNotToldWhatWasNotStored(t *testing.T) {
	told := 0
	store := observe.Watch(troupe.NewMemoryStore(), sinkFunc(func(*troupe.Event) { told++ }))
	err := store.Append(t.Context(), "s", troupe.Event{Seq: 7, Session: "s", Body: &troupe.Warned{}})
	if !errors.Is(err, troupe.ErrConflict) || told != 0 {
		t.Errorf("err = %v, told %d times", err, told)
	}
}

func TestASinkThatPanicsHarmsNobody(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	told := 0
	store := observe.Watch(troupe.NewMemoryStore(),
		sinkFunc(func(e *troupe.Event) { panic(e.Body.(*troupe.Warned).Message) }),
		sinkFunc(func(*troupe.Event) { told++ }))
	err := store.Append(t.Context(), "s", eventsOf("s", "r", "mira", &troupe.Warned{Message: "hush"}, &troupe.Warned{})...)
	if err != nil || told != 2 {
		t.Errorf("err = %v, the other sink was told %d times", err, told)
	}
	if text := log.String(); !strings.Contains(text, "TestASinkThatPanics") || strings.Contains(text, "hush") {
		t.Errorf("logged: %s", text)
	}
}

func TestAForkIsNotToldAgain(t *testing.T) {
	var told []string
	metrics := observe.NewMetrics()
	store := observe.Watch(troupe.NewMemoryStore(), metrics, sinkFunc(func(e *troupe.Event) { told = append(told, e.Kind()) }))
	engine, err := troupe.New(troupe.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "mira", Model: troupetest.NewScript(t, troupetest.Say("Hi."))})
	if err != nil {
		t.Fatal(err)
	}
	var session string
	for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "Hello"}) {
		if err != nil {
			t.Fatal(err)
		}
		session = e.Session
	}
	for _, after := range []int64{int64(len(told)), 2} {
		told = nil
		fork, err := engine.Fork(t.Context(), session, after, troupe.Input{})
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || told[0] != "session_forked" {
			t.Errorf("fork after %d: told of %v", after, told)
		}
		if own := observe.Own(logOf(t, store, fork)); len(own) != 1 || own[0].Kind() != "session_forked" {
			t.Errorf("fork after %d: its own are %v", after, own)
		}
	}
	if runs := metrics.Summary().Runs; runs.Started != 1 || runs.Success != 1 || runs.Cancelled != 0 {
		t.Errorf("runs = %+v", runs)
	}
}

func logOf(t *testing.T, store troupe.Store, session string) []troupe.Event {
	t.Helper()
	var events []troupe.Event
	for e, err := range store.Events(context.Background(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
