package knowledge

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A planted passage comes first among a thousand documents, however it is asked for.
func TestThePassageThatAnswersComesFirst(t *testing.T) {
	base, _ := newBase(t)
	findWhatAnswers(t, base)
}

func findWhatAnswers(t *testing.T, base *Base) {
	fill(t, base, 1000, 1)
	mustUpload(t, base,
		Document{Name: "login-plan.md", Description: "Implementation plan for the login feature", Content: "# Login plan\n\n" +
			"## Step 1: Schema\n\nCreate a table of accounts with a unique address.\n\n" +
			"## Step 2: Sessions\n\nIssue a cookie after the password was verified.\n\n" +
			"## Step 3: Rate limits\n\nLock an account for a minute after five failures.\n"},
		Document{Name: "zh.md", Content: "# 数据库\n\n用户的密码必须经过散列处理。\n"})
	for question, want := range map[string]string{
		"What is step 2 of the login plan?":                  "Issue a cookie",
		"when do we lock accounts, and for how long?":        "Lock an account",
		"WHICH TABLE HAS A UNIQUE ADDRESS":                   "table of accounts",
		"the of and with from when that for cookies":         "Issue a cookie",
		"密码如何处理？":                                            "散列",
		`"rate limits" AND (login NOT "") OR text:* ^ NEAR(`: "Lock an account",
	} {
		found := mustQuery(t, base, question)
		if len(found) == 0 || len(found) > defaultLimit || !strings.Contains(found[0].Text, want) {
			t.Errorf("%s\nfound %d, first %+v", question, len(found), found[:min(1, len(found))])
		}
		if !slices.IsSortedFunc(found, func(a, b Passage) int { return int(b.Score*1e9 - a.Score*1e9) }) {
			t.Errorf("%s: not in order: %+v", question, found)
		}
	}
	if found := mustQuery(t, base, "Who is it, and what are you?"); len(found) == 0 {
		t.Error("nothing is found by words that are everywhere")
	}
	hits, err := base.Search(t.Context(), "login cookie system", 3)
	if err != nil || len(hits) != 3 || hits[0].Name != "login-plan.md" || !strings.Contains(hits[0].Preview, "Issue a cookie") {
		t.Errorf("documents found are %+v, %v", hits, err)
	}
	if hits, err := base.Search(t.Context(), hits[0].SHA256, 3); err != nil || len(hits) != 1 || hits[0].Name != "login-plan.md" {
		t.Errorf("by the hash are found %+v, %v", hits, err)
	}
	for _, nothing := range []string{"", " \t", `"*()^:-`, "\x00\xff", "xyzzy"} {
		if found := mustQuery(t, base, nothing); len(found) != 0 {
			t.Errorf("%q finds %+v", nothing, found)
		}
	}
}

func FuzzNoQuestionIsSyntax(f *testing.F) {
	base, _ := newBase(f)
	mustUpload(f, base, Document{Name: "a.md", Content: "alpha beta gamma"})
	for _, seed := range []string{`alpha`, `"`, `alpha" OR "beta`, `NEAR(alpha beta, 2)`, `text:alpha`, `alpha*`, `^alpha`, `a AND NOT b`, `{a b}: c`, "\x00", "नमस्ते", "ﬁ\u0301 \u0301", `' ; DROP TABLE words; --`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, question string) {
		found, err := base.Query(t.Context(), question, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := base.Search(t.Context(), question, 3); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(words(question), "alpha") && len(found) != 1 {
			t.Errorf("%q has the word and finds %d", question, len(found))
		}
	})
}

func TestPassagesFollowHeadingsAndParagraphs(t *testing.T) {
	long := strings.Repeat("A sentence of some length. ", 40) // 1080 bytes
	for _, c := range []struct{ text, want string }{
		{"", "||"},
		{"just text\n", "|just text|"},
		{"# A\n\none\n\n## B\ntwo\n# C #\n", "A|# A\n\none|A > B|## B\ntwo|C|# C #|"},
		{"# A\n## B\ntext\n### C\nmore\n## D\nlast", "A > B|# A\n## B\ntext|A > B > C|### C\nmore|A > D|## D\nlast|"},
		{"# A\n```sh\n# no heading\n\n```\n~~~\n# nor this\n```\n~~~\n#hashtag\n####### seven\n", "A|# A\n```sh\n# no heading\n\n```\n~~~\n# nor this\n```\n~~~\n#hashtag\n####### seven|"},
		{"# A\n" + long + "\n\n" + long + "\n", "A|# A\n" + strings.TrimSpace(long) + "|A|" + strings.TrimSpace(long) + "|"},
	} {
		var got strings.Builder
		for _, p := range split(c.text) {
			got.WriteString(p.heading + "|" + p.text + "|")
		}
		if got.String() != c.want {
			t.Errorf("%.60q: split as\n%s\nnot\n%s", c.text, got.String(), c.want)
		}
	}
}

// Passages are all of a document, in order, and none is too long.
func FuzzPassagesAreTheWholeDocument(f *testing.F) {
	f.Add("# A\n\ntext\n\n```\n# code\n```\n## B\n" + strings.Repeat("wörter ", 500))
	f.Add(strings.Repeat("ä", 3000))
	f.Add("\n\n#\n# \n######\tx\n~~~~\n```")
	f.Fuzz(func(t *testing.T, content string) {
		if !utf8.ValidString(content) {
			return
		}
		var all strings.Builder
		for _, p := range split(content) {
			if len(p.text) > maxPassage || !utf8.ValidString(p.text) || !utf8.ValidString(p.heading) {
				t.Errorf("a passage of %d bytes: %.80q", len(p.text), p.text)
			}
			all.WriteString(p.text)
		}
		if got, want := strings.Join(strings.Fields(all.String()), ""), strings.Join(strings.Fields(content), ""); got != want {
			t.Errorf("%q became %q", want, got)
		}
	})
}
