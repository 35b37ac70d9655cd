package skill

import (
	"fmt"
	"strings"
	"testing"
)

func TestSearchRanksByNameThenCategoryThenDescription(t *testing.T) {
	t.Attr("FR", "FR-014 FR-015")
	dir := t.TempDir()
	put(t, dir, "testing/flaky/SKILL.md", text("flaky", "Finds out why a test fails now and then.", ""))
	put(t, dir, "testing/go/race-hunt/SKILL.md", text("race-hunt", "Data races.", ""))
	put(t, dir, "debugging/SKILL.md", text("debugging", "Systematic search for the cause of a failure.", ""))
	put(t, dir, "writing/adr/SKILL.md", text("adr", "Decision records, also of TESTING and debugging.", ""))
	l := open(t, dir)
	for _, c := range []struct{ query, category, want string }{
		{"", "", "adr debugging flaky race-hunt"},
		{"", "testing", "flaky race-hunt"},
		{"", "Testing/go", "race-hunt"},
		{"", "test", ""},
		{"debug", "", "debugging adr"},
		{"testing", "", "flaky race-hunt adr"},
		{"DEBUGGING testing", "", "adr debugging flaky race-hunt"},
		{"debugging", "writing", "adr"},
		{"race-hunt", "", "race-hunt"},
		{"ad", "", ""},
		{"cooking", "", ""},
	} {
		if got := names(l.Search(c.query, c.category)); got != c.want {
			t.Errorf("%q in %q finds %q, want %q", c.query, c.category, got, c.want)
		}
	}
}

func TestAnOverviewFits(t *testing.T) {
	t.Attr("FR", "FR-012b")
	dir := t.TempDir()
	if o := open(t, dir).Overview(0); o != (Overview{}) {
		t.Errorf("of nothing: %+v", o)
	}
	for i := range 50 {
		name := fmt.Sprintf("skill-%02d", i)
		put(t, dir, name+"/SKILL.md", text(name, "What it does. "+strings.Repeat("And when to use it. ", 20), "BODY"))
	}
	l := open(t, dir)
	for _, c := range []struct {
		room, listed int
		has          string
	}{
		{100_000, 50, "- skill-49: What it does. " + strings.Repeat("And when to use it. ", 19) + "And when to use it.\n"},
		{0, 50, "- skill-49: What it does. And when to use it."},
		{4000, 50, "- skill-49: What it does. And when to use…\n"},
		{1000, 50, "- skill-49\n"},
		{400, 19, "- and 31 more; search_skills finds them\n"},
	} {
		o := l.Overview(c.room)
		if o.Total != 50 || o.Listed != c.listed || c.room > 0 && len(o.Text) > c.room || !strings.Contains(o.Text, c.has) {
			t.Errorf("in %d bytes: %d of %d in %d bytes\n%s", c.room, o.Listed, o.Total, len(o.Text), o.Text)
		}
		if o.Tokens < len(o.Text)/5 || o.Tokens > len(o.Text)/3 || strings.Contains(o.Text, "BODY") || strings.Index(o.Text, "skill-00") > strings.Index(o.Text, "skill-01") {
			t.Errorf("%+v", o)
		}
	}
}

func TestACutDescriptionIsWholeCharacters(t *testing.T) {
	for _, description := range []string{strings.Repeat("技能", 100), strings.Repeat("word ", 100)} {
		for most := 30; most < 40; most++ {
			line := outline(Skill{Name: "x", Description: description}, most)
			if len(line) > most+len("- x: …\n") || len(line) < most/2 || strings.ContainsRune(line, '\ufffd') || strings.Contains(line, "wor…") {
				t.Errorf("%d: %q", most, line)
			}
		}
	}
}
