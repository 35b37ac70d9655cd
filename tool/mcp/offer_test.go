package mcp

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestToolsAreNamedForTheirServer(t *testing.T) {
	for tool, want := range map[string]string{
		"read_file":             "fs__read_file",
		"get-env":               "fs__get-env",
		"a.b/ü c":               "fs__a_b___c",
		"":                      "fs__",
		strings.Repeat("x", 99): "fs__" + strings.Repeat("x", 60),
	} {
		if got := toolName("fs", tool); got != want {
			t.Errorf("%q is named %s, not %s", tool, got, want)
		}
	}
}

func TestNamesOfServersLeaveNoDoubtWhoseAToolIs(t *testing.T) {
	for name, good := range map[string]bool{
		"fs": true, "my-files_2": true, "": false, "a__b": false, "a_": false, "_a": false, "a b": false, strings.Repeat("x", 33): false,
	} {
		if _, err := (Config{Name: name, Command: "x", Pins: "y"}).checked(); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAConfigThatLeavesAccessOpenIsRefused(t *testing.T) {
	for want, c := range map[string]Config{
		"Pins names no file": {Name: "x", Command: "y"},
		"either a command":   {Name: "x", Pins: "z"},
		"or a url":           {Name: "x", Pins: "z", Command: "y", URL: "http://localhost"},
		"no HTTPClient":      {Name: "x", Pins: "z", URL: "http://localhost"},
	} {
		if _, err := c.checked(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not … %s …", err, want)
		}
	}
}

func TestDescriptionsAreShortAndHideNothing(t *testing.T) {
	s := &Server{config: Config{Name: "fs"}}
	hidden := "Reads\u202e a\u200b file.\x1b[8m\U000e0041\nTwo lines."
	o, err := s.newOffer(&sdk.Tool{Name: "a", Description: hidden + strings.Repeat("ä", maxDescription), InputSchema: map[string]any{"type": "object"}})
	if err != nil {
		t.Fatal(err)
	}
	got := o.tool.Spec().Description
	if !strings.HasPrefix(got, "Reads a file.[8m\nTwo lines.ä") || len(got) > maxDescription+len("…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %.60q", len(got), got)
	}
}

func TestTheHashCoversWhatIsShownAndWhatIsCutOff(t *testing.T) {
	s := &Server{config: Config{Name: "fs"}}
	base := sdk.Tool{Name: "a", Description: strings.Repeat("x", 2*maxDescription), InputSchema: map[string]any{"type": "object"}}
	hash := func(change func(*sdk.Tool)) string {
		tool := base
		change(&tool)
		o, err := s.newOffer(&tool)
		if err != nil {
			t.Fatal(err)
		}
		return o.hash
	}
	seen := map[string]string{}
	for what, change := range map[string]func(*sdk.Tool){
		"nothing":     func(*sdk.Tool) {},
		"name":        func(tool *sdk.Tool) { tool.Name = "b" },
		"description": func(tool *sdk.Tool) { tool.Description += "y" },
		"schema":      func(tool *sdk.Tool) { tool.InputSchema = map[string]any{"type": "object", "required": []string{"x"}} },
		"hints":       func(tool *sdk.Tool) { tool.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true} },
		"other hints": func(tool *sdk.Tool) { tool.Annotations = &sdk.ToolAnnotations{IdempotentHint: true} },
	} {
		got := hash(change)
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got) || got != hash(change) {
			t.Errorf("%s: the hash %s", what, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("a change of %s has the hash of one of %s", what, other)
		}
		seen[got] = what
	}
}

func TestOnlyToolsWithTheHintRunAtTheSameTime(t *testing.T) {
	for _, c := range []struct {
		hints                *sdk.ToolAnnotations
		trusted              bool
		readOnly, repeatSafe bool
	}{
		{nil, true, false, false},
		{&sdk.ToolAnnotations{}, true, false, false},
		{&sdk.ToolAnnotations{IdempotentHint: true}, true, false, true},
		{&sdk.ToolAnnotations{ReadOnlyHint: true}, true, true, true},
		{&sdk.ToolAnnotations{ReadOnlyHint: true}, false, true, false},
	} {
		s := &Server{config: Config{Name: "fs", TrustHints: c.trusted}}
		o, err := s.newOffer(&sdk.Tool{Name: "a", InputSchema: map[string]any{"type": "object"}, Annotations: c.hints})
		if err != nil {
			t.Fatal(err)
		}
		if spec := o.tool.Spec(); spec.ReadOnly != c.readOnly || spec.RepeatSafe != c.repeatSafe {
			t.Errorf("%+v: read-only %v, safe to repeat %v", c, spec.ReadOnly, spec.RepeatSafe)
		}
	}
}
