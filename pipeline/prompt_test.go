package pipeline

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestASlugIsShortPlainASCII(t *testing.T) {
	for text, want := range map[string]string{
		"Create a simple todo app":         "create-a-simple-todo-app",
		"  Überraschung: naïve café №7!  ": "uberraschung-naive-cafe-no7",
		"日本語":                              "feature",
		"":                                 "feature",
		`{"status": "success"}`:            "feature",
		"../../etc/passwd":                 "etc-passwd",
		strings.Repeat("word ", 20):        "word-word-word-word-word-word-word-word",
		strings.Repeat("x", 99):            strings.Repeat("x", 40),
		"one two three four five six seven eight nine": "one-two-three-four-five-six-seven-eight",
	} {
		if got := slugOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Branches and files are named in the words of the request, in whatever script it is.
func TestANameKeepsItsScript(t *testing.T) {
	for text, want := range map[string]string{
		"Größe und Übersicht ändern": "grosse-und-ubersicht-andern",
		"Ajoute l'œuvre à la façade": "ajoute-l-oeuvre-a-la-facade",
		"Łódź, Ångström & Þór":       "lodz-angstrom-thor",
		"添加中位数函数":                    "添加中位数函数",
		"给 stats 包添加 median":         "给-stats-包添加-median",
		"メディアンを追加":                   "メディアンを追加",
		"중앙값 추가":                     "중앙값-추가",
		"Добавь ёлку и йод":          "добавь-ёлку-и-йод",
		"أضف الوسيط":                 "أضف-الوسيط",
		"माध्य जोड़ें":               "माध्य-जोड़ें",
		"Πρόσθεσε διάμεσο":           "πρόσθεσε-διάμεσο",
		"🚀🚀":                         "feature",
		"../日本/..~^:?*[\\ .lock":     "日本-lock",
		strings.Repeat("长", 99):      strings.Repeat("长", 13),
	} {
		if got := nameOf(text); got != norm.NFC.String(want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzSlug(f *testing.F) {
	f.Add("Create a simple todo app")
	f.Add("Überraschung ①½ ǅ İ")
	f.Fuzz(func(t *testing.T, text string) {
		slug, name := slugOf(text), nameOf(text)
		if name == "" || len(name) > maxSlug || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " ~^:?*[\\./@{") || !utf8.ValidString(name) {
			t.Errorf("%q: %q", text, name)
		}
		if slug == "" || len(slug) > maxSlug || strings.Trim(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(slug, "-") {
			t.Errorf("%q: %q", text, slug)
		}
		if _, err := cleanPath("a/" + name + ".md"); err != nil && utf8.ValidString(text) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzAttempts(f *testing.F) {
	f.Add("I have saved the file to a/b.md\n```go x.go\ny\n```\n{\"name\":\"w\",\"arguments\":{}}")
	f.Add("**a.b**\n```\n```` {")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range attempts(text) {
			if p.Act == "" || len(p.Evidence) > maxEvidence {
				t.Errorf("%q: %+v", text, p)
			}
		}
	})
}

func TestAPlaceIsFilledInWhereverItIsNamed(t *testing.T) {
	at := placeOf(time.Date(2026, 1, 2, 23, 0, 0, 0, time.FixedZone("", -7200)), "Todo app")
	for path, want := range map[string]string{
		"specs/YYYY-MM-DD-feature.md": "specs/2026-01-03-todo-app.md", "YYYY-MM-DD-feature-name.md": "2026-01-03-todo-app.md",
		"{feature}/[feature].md": "todo-app/todo-app.md", "src/feature.go": "src/feature.go",
	} {
		if got := at.fill(path); got != want {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

func TestAStepIsCutOutOfItsPlan(t *testing.T) {
	plan := "# Plan\n\n## Step 1: a\n\nA\n\n### Step 1.1 b\nB\n\n## **Step 2**: c\n\nC\n\n## Step 012: d\nD"
	if n := lastStep(plan); n != 12 {
		t.Errorf("the last step is %d", n)
	}
	for n, want := range map[int]string{1: "## Step 1: a\n\nA\n\n### Step 1.1 b\nB", 2: "## **Step 2**: c\n\nC", 12: "## Step 012: d\nD", 3: ""} {
		if got := stepOf(plan, n); got != want {
			t.Errorf("step %d is %q", n, got)
		}
	}
}
