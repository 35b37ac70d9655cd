package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
)

// print writes to the page, under the heading where that belongs.
func (t *transcript) print(format string, values ...any) {
	if first := t.shown == ""; t.shown != t.section {
		t.shown = t.section
		if first {
			t.heading()
		}
		t.block("%s", t.section)
	}
	fmt.Fprintf(&t.page, format, values...)
}

// block writes a block of its own.
func (t *transcript) block(format string, values ...any) { t.print(format+"\n\n", values...) }

func (t *transcript) item(name, value string) { t.print("- %s: %s\n", name, value) }

func (t *transcript) heading() {
	id := cmp.Or(t.Session.ID, t.info.ID)
	t.block("# %s", plain(cmp.Or(t.Session.Title, t.info.Title, "Session "+id)))
	t.item("Session", code(id))
	t.item("Agent", code(cmp.Or(t.Session.Agent, t.info.Agent)))
	started := t.Session.Started
	if started.IsZero() {
		started = t.info.Started
	}
	t.item("Started", started.UTC().Format(time.DateTime)+" UTC")
	if t.Session.Status != "" {
		t.item("Status", plain(string(t.Session.Status)))
	}
	t.print("\n")
}

// sectionOf is the heading of what a run does: the names that led to it.
func sectionOf(r *run) string { return "## " + strings.Join(codes(r.names), " → ") }

// say writes what a run said.
func (t *transcript) say(r *run, text string) {
	t.quote(text)
	r.said = text
}

// result writes what came of a run, or of one in it, unless that was said before.
func (t *transcript) result(r *run, text string) {
	if text != r.said {
		t.say(r, text)
	}
}

// details writes what is shown on request.
func (t *transcript) details(summary, text string) {
	if text != "" {
		t.block("<details><summary>%s</summary>", summary)
		t.quote(text)
		t.block("</details>")
	}
}

func (t *transcript) quote(text string) {
	if text != "" {
		t.block("%s", quoted(text))
	}
}

// fence writes text as it is, or its beginning. JSON is laid out.
func (t *transcript) fence(text string) {
	if text == "" {
		return
	}
	language, shown := "", clean(cut(text, t.MaxBytes))
	var laidOut bytes.Buffer
	if len(text) <= min(t.MaxBytes, 4<<10) && strings.ContainsAny(text[:1], "{[") &&
		json.Indent(&laidOut, []byte(shown), "", "  ") == nil && laidOut.Len() < 8*len(text) {
		language, shown = "json", laidOut.String()
	}
	ticks := words.Fence(shown)
	t.block("%s%s\n%s\n%s", ticks, language, strings.TrimRight(shown, "\n"), ticks)
	if len(text) > t.MaxBytes {
		t.block("The first %d of %s.", t.MaxBytes, size(len(text)))
	}
}

// end writes what is known when all is written.
func (t *transcript) end() {
	t.section = "## Files"
	for _, path := range slices.Sorted(maps.Keys(t.files)) {
		t.print("- %s: %s\n", code(path), describe(t.files[path]))
	}
	if t.shown == t.section {
		t.print("\n")
	}
	t.section = "## Totals"
	t.item("Status", plain(string(cmp.Or(t.Session.Status, t.info.Status))))
	t.item("Agents", strings.Join(codes(t.agents), ", "))
	t.item("Calls", fmt.Sprintf("%d of models, %d of tools", t.total.Turns, t.total.ToolCalls))
	u := t.total.Usage
	t.item("Tokens", fmt.Sprintf("%d in (%d cached), %d out (%d reasoning)", u.Input, u.CachedInput, u.Output, u.Reasoning))
	cost := "not known"
	if t.total.Cost > 0 {
		cost = fmt.Sprintf("$%.4f", t.total.Cost)
	}
	t.item("Cost", cost)
	var elapsed time.Duration
	for _, r := range t.runs {
		elapsed += r.elapsed
	}
	t.item("Duration", rounded(elapsed).String())
}

func describe(f *troupe.ArtifactSaved) string {
	text := size(f.Size)
	for _, more := range []string{f.Type, f.Description} {
		if more != "" {
			text += ", " + plain(more)
		}
	}
	return text
}

func size[N int | int64](n N) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}
