package browser

import (
	"encoding/json"
	"strings"
	"testing"
)

// gallerySite is a repository whose deliveries come to a plan, to a failed step, and to
// their end.
func gallerySite(t *testing.T) string {
	t.Helper()
	m := newModel(t)
	said := func(text string) reply { return reply{text: text} }
	built := func(path, content string) reply {
		return said(phaseSays("implementation", fields{"summary": "Did it.", "done": true, "files_changed": []string{}, "steps_completed": []string{}, "steps_remaining": []string{}, "notes": []string{}}, fileArtifact(path, content)))
	}
	phases := []reply{
		said(phaseSays("requirements", fields{"user_stories": []string{"As a reader I return a book at night"}, "acceptance_criteria": []fields{{"id": "AC1", "text": "A return that is kept while the line is down is settled later", "how": "test"}}, "scope": "MVP", "constraints": []string{}}, fields{"name": "stories.md", "type": "file", "content": "# User stories\n\nAs a reader I return a book at night.\n"})),
		said(phaseSays("architecture", fields{"components": []string{"lockers"}, "technologies": []string{"sh"}, "patterns": []string{}, "decisions": []string{}}, fields{"name": "architecture.md", "type": "file", "content": "# Architecture\n\nOne bank.\n"})),
		said(phaseSays("discovery", fields{"relevant_files": []fields{{"path": "base.ok", "relevance": "x", "priority": "high"}}, "gkchatty_context": []string{}, "entry_points": []string{}, "dependencies": []string{}}, fields{"name": "files.json", "type": "file", "content": "{}"})),
		said(phaseSays("planning", fields{"total_steps": 3, "estimated_time": "1h", "complexity": "low", "risk_level": "low", "steps": []fields{{"id": "1", "title": "Card reader interface", "goal": "Read cards."}, {"id": "2", "title": "List of cards in the bank", "goal": "Keep the list."}, {"id": "3", "title": "When the line is down", "goal": "Keep returns."}}})),
	}
	checked := said(phaseSays("qa", fields{
		"tests_passed": true, "code_quality": "A", "security_issues": []string{}, "performance_concerns": []string{}, "recommendations": []string{}, "verdict": "accept",
		"criteria": []fields{{"id": "AC1", "state": "met", "evidence": "line.ok:1"}}, "findings": []fields{{"id": "F1", "severity": "minor", "path": "line.ok", "line": 1, "problem": "The name of the file could say more"}},
	}))
	done := append(append([]reply{}, phases...), built("cards.ok", "bad\n"), built("cards.ok", "good\n"), built("list.ok", "good\n"), built("line.ok", "good\n"), checked)
	failed := append([]reply{}, phases...)
	for n := range 8 {
		failed = append(failed, built("cards.ok", strings.Repeat("bad ", n+1)+"\n"))
	}
	m.directed(t, script{"release one", append([]reply{}, phases...)}, script{"release two", failed}, script{"release three", done})
	return repository(t, m)
}

// deliveries has a delivery wait with its plan, one fail and one be done.
func (h *house) deliveries(t *testing.T) (views []view) {
	t.Helper()
	for _, d := range []struct {
		name, request, approve, seen string
		act                          func(*tab)
	}{
		{"06c-delivery-plan", "Return lockers, release one", "plan", "[aria-label=Gate]", nil},
		{"06d-delivery-failed", "Return lockers, release two", "", "[data-outcome=failed]", nil},
		{"06e-delivery-done", "Return lockers, release three", "", "[data-outcome=delivered]", func(b *tab) {
			b.presses("[aria-label='The change'] button", "Show it")
			b.holds("find('.change .diff .a')")
		}},
	} {
		order := map[string]any{"request": d.request, "project": "."}
		if d.approve != "" {
			order["approve"] = d.approve
		}
		var made struct{ Session string }
		if err := json.Unmarshal([]byte(h.post(t, "/api/deliveries", order)), &made); err != nil {
			t.Fatal(err)
		}
		views = append(views, view{d.name, "#/s/" + made.Session + "/delivery", d.seen, d.act})
	}
	return views
}
