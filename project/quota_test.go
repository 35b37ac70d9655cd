package project

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/internal/config"
)

const quotaSession = "6f8a1fd0-0000-4000-8000-000000000001"

// newTestMeter makes a meter over a shelf of its own. Sessions that it does not know belong
// to ada.
func newTestMeter(dir string, quota config.Quota) *meter {
	m := newMeter(quota)
	m.log, m.shelf = slog.New(slog.DiscardHandler), &folderShelf{dir: dir}
	m.owner = func(string) (string, error) { return "ada", nil }
	m.now = func() time.Time { return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC) }
	return m
}

func replied(tokens int, cost float64) *troupe.Event {
	return &troupe.Event{Session: quotaSession, Body: &troupe.ModelReplied{Usage: troupe.Usage{Input: tokens / 2, Output: tokens - tokens/2}, Cost: cost}}
}

// Tokens and money are counted for whoever began the run, and turned away beyond the
// quota: at once, after a restart, and until the day is over.
func TestAQuotaOfTokensAndOfMoney(t *testing.T) {
	for _, of := range []struct {
		quota config.Quota
		says  string
	}{
		{config.Quota{Tokens: 1000}, "quota of 1000 tokens is used up"},
		{config.Quota{Cost: 0.5}, "quota of $0.50 is used up"},
		{config.Quota{Cost: 0.405}, "quota of $0.405 is used up"},
	} {
		dir := t.TempDir()
		m := newTestMeter(dir, of.quota)
		m.Note(&troupe.Event{Session: quotaSession, Body: &troupe.RunStarted{User: "ada"}})
		m.Note(replied(600, 0.3))
		if err := m.admit(t.Context(), "ada"); err != nil {
			t.Errorf("within the quota: %v", err)
		}
		m.Note(replied(400, 0.2))
		beyond := func(m *meter, when string) {
			if err := m.admit(t.Context(), "ada"); err == nil || !strings.Contains(err.Error(), of.says) {
				t.Errorf("%s: %v", when, err)
			}
			if err := m.admit(t.Context(), "bo"); err != nil {
				t.Errorf("%s, somebody else: %v", when, err)
			}
		}
		beyond(m, "while it runs")
		m.Note(&troupe.Event{Session: quotaSession, Body: &troupe.RunFinished{}})
		again := newTestMeter(dir, of.quota)
		beyond(again, "after a restart")
		again.now = func() time.Time { return time.Date(2026, 11, 16, 0, 0, 1, 0, time.UTC) }
		if err := again.admit(t.Context(), "ada"); err != nil {
			t.Errorf("the day after: %v", err)
		}
	}
}

// A run that a server goes on with after a restart is counted for whose session it is.
func TestAResumedRunIsCountedForItsUser(t *testing.T) {
	m := newTestMeter(t.TempDir(), config.Quota{Tokens: 1000})
	m.Note(replied(1000, 0))
	m.Note(&troupe.Event{Session: quotaSession, Body: &troupe.RunFinished{}})
	if err := m.admit(t.Context(), "ada"); err == nil {
		t.Error("nobody was charged")
	}
	if err := m.admit(t.Context(), ""); err != nil {
		t.Errorf("somebody without a name was charged: %v", err)
	}
}
