package terminal

import (
	"strings"
	"testing"
)

func TestWhatWasSaidBeforeIsShownAsItWasThen(t *testing.T) {
	m := newModel(t.Context(), Config{Earlier: []Said{
		{User, "Which of the two would you take for our customers?"}, {Aside, "attached: plan.md"},
		{Agent, "Either will do, as far as somebody backs it up:\n\n- this\n- that"}, {Agent, "\x1b[2J"}, {Aside, "stopped"},
	}}, &history{})
	var shown strings.Builder
	m.earlier(&shown, 40)
	want := "› Which of the two would you take for\nour customers?\n  attached: plan.md\n\nEither will do, as far as somebody backs\nit up:\n\n• this\n• that\n\n\n[2J\n\n  stopped\n\n"
	if shown.String() != want {
		t.Errorf("%q,\nwant %q", shown.String(), want)
	}
}
