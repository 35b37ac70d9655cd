package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func bundleVars() *Vars {
	return NewVars(map[string]string{"session-id": "3f2a", "date": "2026-11-15"}, BundleRoot, ProjectRoot, SessionFolder).
		WithConfig(map[string]string{
			"user_name":     "Ada",
			"output_folder": "{project-root}/docs",
			"nested":        "{output_folder}/deep/{user_name}",
			"blank":         "",
			"open_question": "{who_knows}/x",
		}).
		With(map[string]string{
			"installed_path": "{bundle-root}/workflows/intake",
			"instructions":   "{installed_path}/instructions.md",
			"output_folder":  "{config_source}:output_folder/intake",
			"config_source":  "{bundle-root}/config.yaml",
			"date":           "system-generated",
		})
}

func TestExpandReplacesKnownVariablesOnce(t *testing.T) {
	for text, want := range map[string]string{
		"Hello {user_name}, {{user_name}}!":         "Hello Ada, Ada!",
		"{session-id}{session_id}{{SESSION_ID}}":    "3f2a3f2a3f2a",
		"{{SESSION_FOLDER}}/x":                      "{session-folder}/x",
		"{instructions}":                            "{bundle-root}/workflows/intake/instructions.md",
		"{output_folder}":                           "{project-root}/docs/intake",
		"{nested}":                                  "{project-root}/docs/deep/Ada",
		"{config_source}:user_name":                 "Ada",
		"{config_source}: {config_source}:missing":  "{bundle-root}/config.yaml: {config_source}:missing",
		"{date} {{date}}":                           "2026-11-15 2026-11-15",
		"[{blank}]":                                 "[]",
		"{{story_key}} {{else}} {{#if x}} {{ x }}":  "{{story_key}} {{else}} {{#if x}} {{ x }}",
		"{USER_NAME} {unknown}":                     "{USER_NAME} {unknown}",
		"${user_name} ${{user_name}} `${a}{date}`":  "${user_name} ${{user_name}} `${a}2026-11-15`",
		`{"json": {"user_name": 1}} {} {{}} {} { }`: `{"json": {"user_name": 1}} {} {{}} {} { }`,
		"{{{user_name}}} {{user_name} {user_name}}": "{Ada} {Ada Ada}",
		"{user_name":                                "{user_name",
		"":                                          "",
	} {
		got, _, err := bundleVars().Expand(text)
		if err != nil || got != want {
			t.Errorf("Expand(%s) = %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestExpandListsWhatItCouldNotResolve(t *testing.T) {
	_, unresolved, err := bundleVars().Expand("{b} {a} {{placeholder}} {b} {user_name} {open_question} {config_source}:gone")
	if want := []string{"b", "a", "who_knows", "gone"}; err != nil || !slices.Equal(unresolved, want) {
		t.Errorf("unresolved is %v, %v; want %v", unresolved, err, want)
	}
}

func TestACycleIsNamed(t *testing.T) {
	vars := NewVars(nil).With(map[string]string{
		"a": "x{b}", "b": "{{c}}", "c": "{a}", "self": "{self}", "outside": "{a}", "fine": "ok",
	})
	for text, want := range map[string]string{
		"{a}":       "a -> b -> c -> a",
		"{outside}": "a -> b -> c -> a",
		"{self}":    "self -> self",
	} {
		_, _, err := vars.Expand("see " + text)
		cycle, ok := errors.AsType[*Cycle](err)
		if !ok || !strings.HasSuffix(cycle.Error(), ": "+want) {
			t.Errorf("Expand(%s): %v; want %s", text, err, want)
		}
	}
	if got, _, err := vars.Expand("{fine}"); got != "ok" || err != nil {
		t.Errorf("the others suffer: %q, %v", got, err)
	}
	long := map[string]string{}
	for i := range 50 {
		name := strings.Repeat("n", 60)
		long[fmt.Sprintf("%s%02d", name, i)] = fmt.Sprintf("{%s%02d}", name, (i+1)%50)
	}
	if _, _, err := NewVars(nil).With(long).Expand("{" + strings.Repeat("n", 60) + "00}"); err == nil || len(err.Error()) > 2048 || !strings.Contains(err.Error(), " more") {
		t.Errorf("a long cycle: %v", err)
	}
}

func TestWhatComesOutOfAValueIsNotExpandedAgain(t *testing.T) {
	vars := NewVars(map[string]string{"session-id": "3f2a", "said": "{user_name} {{session-id}}"}, BundleRoot, ProjectRoot).
		With(map[string]string{
			"user_name": "Ada",
			"open":      "{",
			"brace":     "{open}user_name}",
			"root":      "{open}bundle-root}/config.yaml",
			"colon":     "{config_source}{semi}user_name",
			"semi":      ":",
		})
	for text, want := range map[string]string{
		"{brace}":           "{user_name}",
		"{open}user_name}":  "{user_name}",
		"{said}":            "{user_name} {{session-id}}",
		"{{open}user_name}": "{{user_name}",
		"{colon}":           "{config_source}:user_name",
	} {
		if got, _, err := vars.Expand(text); err != nil || got != want {
			t.Errorf("Expand(%s) = %s, %v; want %s", text, got, err, want)
		}
	}
	pieces, err := vars.path("{root}")
	if err != nil || len(pieces) != 2 || pieces[0].kind != literal {
		t.Errorf("text that looks like a root became one: %v, %v", pieces, err)
	}
}

func TestLayersSeeWhatIsAroundThemNotWhatComesLater(t *testing.T) {
	base := NewVars(nil).WithConfig(map[string]string{"a": "{b}", "b": "config"})
	inner := base.With(map[string]string{"b": "workflow", "c": "{a} {b} {config_source}:b"})
	if got, _, _ := inner.Expand("{c}"); got != "config workflow config" {
		t.Errorf("inner sees %q", got)
	}
	if got, _, _ := base.Expand("{b} {c}"); got != "config {c}" {
		t.Errorf("extending changed what was extended: %q", got)
	}
	one, two := base.With(map[string]string{"x": "1"}), base.With(map[string]string{"x": "2"})
	if got, _, _ := one.Expand("{x}"); got != "1" {
		t.Errorf("two extensions of one base share values: %q", got)
	}
	if got, _, _ := two.Expand("{x}"); got != "2" {
		t.Errorf("two extensions of one base share values: %q", got)
	}
}

func TestNamesListsEveryVariableWithAValueOnce(t *testing.T) {
	got := bundleVars().Names()
	want := []string{"bundle-root", "config_source", "date", "installed_path", "instructions", "nested", "open_question",
		"output_folder", "project-root", "session-folder", "session-id", "user_name"}
	if !slices.Equal(got, want) {
		t.Errorf("Names() = %v", got)
	}
}

func TestValuesCannotGrowWithoutEnd(t *testing.T) {
	for what, seed := range map[string]string{"text": "xxxxxxxxxx", "nothing": "", "unknown": "{gone}"} {
		values := map[string]string{"v0": seed}
		for i := 1; i < 90; i++ {
			values[fmt.Sprintf("v%d", i)] = strings.Repeat(fmt.Sprintf("{v%d}", i-1), 10)
		}
		start := time.Now()
		vars := NewVars(nil).With(values)
		if _, _, err := vars.Expand("{v89}"); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", what, took)
		}
	}

	long := strings.Repeat("long ", 4000)
	vars := NewVars(nil).With(map[string]string{"long": long, "ref": "{long}"})
	if got, _, err := vars.Expand("{long}"); err != nil || got != long {
		t.Errorf("a long value that refers to nothing: %d bytes, %v", len(got), err)
	}
	if _, _, err := vars.Expand("{ref}"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a value that grew by reference: %v", err)
	}
	if _, err := vars.path("{long}"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long path: %v", err)
	}
	if _, err := vars.path(strings.Repeat("x", maxPath+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long path: %v", err)
	}
	if _, _, err := vars.Expand(strings.Repeat("{long}", 300)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a text that grew: %v", err)
	}
	if _, _, err := vars.Expand(strings.Repeat("x", maxText+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long text: %v", err)
	}
}

func TestAChainOfVariablesHasAnEnd(t *testing.T) {
	chain := func(n int) *Vars {
		values := map[string]string{"v0": "end"}
		for i := 1; i < n; i++ {
			values[fmt.Sprintf("v%d", i)] = fmt.Sprintf("{v%d}", i-1)
		}
		return NewVars(nil).With(values)
	}
	if got, _, err := chain(maxValues).Expand(fmt.Sprintf("{v%d}", maxValues-1)); got != "end" || err != nil {
		t.Errorf("a chain as long as allowed: %q, %v", got, err)
	}
	if _, _, err := chain(maxValues + 1).Expand("{v0}"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a longer chain: %v", err)
	}
}

func TestUnclosedBracesTakeLinearTime(t *testing.T) {
	text := strings.Repeat("{", maxText-1)
	start := time.Now()
	if got, _, err := bundleVars().Expand(text); got != text || err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestAMessageAboutManyVariablesIsShort(t *testing.T) {
	values := map[string]string{}
	for i := range 5000 {
		values[fmt.Sprintf("variable-number-%d", i)] = "x"
	}
	_, err := NewVars(nil).With(values).path("{missing}")
	if err == nil || len(err.Error()) > 2048 || !strings.Contains(err.Error(), "more") {
		t.Errorf("%v", err)
	}
}
