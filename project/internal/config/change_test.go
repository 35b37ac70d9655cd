package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const commented = `# The project of the library.
model: openai/gpt-4.1 # dear, but good

providers: {stub: {base_url: "http://127.0.0.1:1/v1"}}

# Who works here.
agents:
  # Mary writes.
  mary: {model: "stub/a"}
  john:
    description: Asks.
limits: {turns: 7}
`

func none(string) (string, bool) { return "", false }

func TestChangingAValueLeavesTheRestOfTheFile(t *testing.T) {
	for name, test := range map[string]struct {
		values map[string]string
		want   string
	}{
		"a value in its place": {map[string]string{"model": "stub/b"}, `# The project of the library.
model: stub/b # dear, but good

providers: {stub: {base_url: "http://127.0.0.1:1/v1"}}

# Who works here.
agents:
  # Mary writes.
  mary: {model: "stub/a"}
  john:
    description: Asks.
limits: {turns: 7}
`},
		"a quoted one in braces, and a new one in a block": {map[string]string{"agents.mary.model": "stub/c", "agents.john.model": "stub/d"}, `# The project of the library.
model: openai/gpt-4.1 # dear, but good

providers: {stub: {base_url: "http://127.0.0.1:1/v1"}}

# Who works here.
agents:
  # Mary writes.
  mary: {model: stub/c}
  john:
    model: stub/d
    description: Asks.
limits: {turns: 7}
`},
		"new ones in braces, and in a mapping that is empty": {map[string]string{"limits.cost": "0.5", "agents.mary.description": "a, b", "server.users.ann": "TROUPE_TOKEN_ANN", "providers.stub.key_env": "STUB_KEY"}, `# The project of the library.
model: openai/gpt-4.1 # dear, but good

providers: {stub: {key_env: STUB_KEY, base_url: "http://127.0.0.1:1/v1"}}

# Who works here.
agents:
  # Mary writes.
  mary: {description: "a, b", model: "stub/a"}
  john:
    description: Asks.
limits: {cost: 0.5, turns: 7}
server:
  users:
    ann: TROUPE_TOKEN_ANN
`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, Name)
			if err := os.WriteFile(file, []byte(commented), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Change(dir, test.values, none); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(file); string(got) != test.want {
				t.Errorf("it is now\n%s\nwant\n%s", got, test.want)
			}
			if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
				t.Errorf("it can be read by others now: %v", info.Mode())
			}
		})
	}
}

func TestChangingAddsAndTakesAway(t *testing.T) {
	dir := t.TempDir()
	load := func() *Config {
		t.Helper()
		c, err := Load(dir, none)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := Change(dir, map[string]string{"limits.cost": "0.5", "limits.time": "15m", "model": "ollama/qwen3:14b"}, none); err != nil {
		t.Fatal(err)
	}
	if c := load(); c.Limits.Cost != 0.5 || c.Limits.Time.Minutes() != 15 || len(c.Model) != 1 || c.Model[0] != "ollama/qwen3:14b" {
		t.Errorf("%+v", c)
	}
	if err := Change(dir, map[string]string{"limits.cost": "", "model": ""}, none); err != nil {
		t.Fatal(err)
	}
	if c := load(); c.Limits.Cost != 0 || c.Limits.Time.Minutes() != 15 || len(c.Model) != 0 {
		t.Errorf("%+v", c)
	}
	before, _ := os.ReadFile(filepath.Join(dir, Name))
	if err := Change(dir, map[string]string{"limits.cost": "much"}, none); err == nil {
		t.Error("a value of the wrong kind was written")
	}
	if after, _ := os.ReadFile(filepath.Join(dir, Name)); string(after) != string(before) {
		t.Errorf("a refused change has changed the file:\n%s", after)
	}
}

// What is removed takes its own lines along, and no comment of anything else.
func TestRemovingLeavesTheRestOfTheFile(t *testing.T) {
	const file = `# Ours.
model: rehearsal # for now

providers:
  # The office, ask Bob.
  office: # in the cellar
    base_url: http://127.0.0.1:1/v1
    # inside
    models:
      big: {window: 8000}

  # At home.
  home: {base_url: "http://127.0.0.1:2/v1"} # mine

# Who works here.

agents:
  mary:
    instructions: |
      You write.
      # not a comment
`
	for name, test := range map[string]struct {
		path []string
		src  string
		want string
	}{
		"a block": {[]string{"providers", "office"}, file, `# Ours.
model: rehearsal # for now

providers:
  # The office, ask Bob.

  # At home.
  home: {base_url: "http://127.0.0.1:2/v1"} # mine

# Who works here.

agents:
  mary:
    instructions: |
      You write.
      # not a comment
`},
		"all of a mapping": {[]string{"providers"}, file, `# Ours.
model: rehearsal # for now


# Who works here.

agents:
  mary:
    instructions: |
      You write.
      # not a comment
`},
		"the only one":        {[]string{"providers", "stub"}, "providers: # those\n  stub:\n    base_url: http://127.0.0.1:1/v1\n# the end\n", "providers: {} # those\n# the end\n"},
		"a long text":         {[]string{"agents", "mary", "instructions"}, "agents:\n  mary:\n    instructions: |\n      You write.\n      # not a comment\n    description: Writes.\n", "agents:\n  mary:\n    description: Writes.\n"},
		"a list":              {[]string{"agents", "mary", "tools"}, "agents:\n  mary:\n    instructions: x\n    tools:\n    - calculate\n    - bundle\nlimits: {turns: 7}\n", "agents:\n  mary:\n    instructions: x\nlimits: {turns: 7}\n"},
		"in braces":           {[]string{"providers", "a"}, "# ours\nproviders: {a: {base_url: \"http://127.0.0.1:1/v1\"}, b: {base_url: \"http://127.0.0.1:2/v1\"}} # two\n# the end\nmodel: rehearsal\n", "# ours\nproviders: {b: {base_url: \"http://127.0.0.1:2/v1\"}} # two\n# the end\nmodel: rehearsal\n"},
		"the last in braces":  {[]string{"agents", "mary", "model"}, "agents:\n  mary: {instructions: \"a, } b\", tools: [a, b], model: [x/y, \"z/}\"]} # last\n\n# end\n", "agents:\n  mary: {instructions: \"a, } b\", tools: [a, b]} # last\n\n# end\n"},
		"the first in braces": {[]string{"agents", "mary", "instructions"}, "agents:\n  mary: {instructions: \"it's, } b\", tools: [a, b]} # last\n\n# end\n", "agents:\n  mary: {tools: [a, b]} # last\n\n# end\n"},
		"the only in braces":  {[]string{"agents", "mary", "model"}, "agents:\n  mary: {model: stub/a}\n\n# end\n", "agents:\n  mary: {}\n\n# end\n"},
		"letters of others":   {[]string{"agents", "mary", "model"}, "agents:\n  mary: {description: Größe 宏, model: stub/a, tools: []}\n\n# end\n", "agents:\n  mary: {description: Größe 宏, tools: []}\n\n# end\n"},
		"a name with a dot":   {[]string{"providers", "a.b"}, "providers:\n  a.b:\n    base_url: http://127.0.0.1:1/v1\n  a:\n    base_url: http://127.0.0.1:2/v1\n", "providers:\n  a:\n    base_url: http://127.0.0.1:2/v1\n"},
		"what is not there":   {[]string{"providers", "c"}, file, file},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := filepath.Join(dir, Name)
			if err := os.WriteFile(at, []byte(test.src), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Remove(dir, test.path, none); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(at); string(got) != test.want {
				t.Errorf("it is now\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// What is added goes above the first entry, and that entry's comment stays with it.
func TestAddingLeavesCommentsWhereTheyBelong(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, Name)
	if err := os.WriteFile(file, []byte("providers:\n  # the machine in the cellar\n  office: {base_url: \"http://127.0.0.1:1/v1\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Change(dir, map[string]string{"providers.attic.base_url": "http://127.0.0.1:2/v1"}, none); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "providers:\n  attic:\n    base_url: http://127.0.0.1:2/v1\n  # the machine in the cellar\n  office: {base_url: \"http://127.0.0.1:1/v1\"}\n"
	if string(got) != want {
		t.Errorf("it is now\n%s", got)
	}
}

// Blank lines, and comments that are aligned, stay as they are wherever something is added.
func TestAddingKeepsHowTheFileLooks(t *testing.T) {
	for before, want := range map[string]struct{ path, value, text string }{
		"limits: {}        # none\n\n\nmodel: a/b         # dear\n":                   {"limits.cost", "1", "limits: {cost: 1}        # none\n\n\nmodel: a/b         # dear\n"},
		"limits:           # none\n\nmodel: a/b         # dear\n":                     {"limits.cost", "1", "limits:           # none\n  cost: 1\n\nmodel: a/b         # dear\n"},
		"# größe\nagents: {\"größe\": {title: x},   ann: {model: a/b}} # é\n\nx: 1\n": {"agents.ann.title", "It's, well", "# größe\nagents: {\"größe\": {title: x},   ann: {title: \"It's, well\", model: a/b}} # é\n\nx: 1\n"},
		"a: {ü: {model: 'it''s'}}   # é\n\nx: 1\n":                                    {"a.ü.model", "c/d", "a: {ü: {model: c/d}}   # é\n\nx: 1\n"},
		"server: {users: {ann: A}}   # us\n\nx: 1\n":                                  {"server.limits.cost", "2", "server: {limits: {cost: 2}, users: {ann: A}}   # us\n\nx: 1\n"},
		"x: 1\n\nmodel: a/b\n":                   {"limits.cost", "1", "x: 1\n\nmodel: a/b\n\nlimits:\n  cost: 1\n"},
		"x: 1\n\n# dear\n# very\nmodel: a/b":     {"limits.cost", "1", "x: 1\n\n# dear\n# very\nmodel: a/b\n\nlimits:\n  cost: 1\n"},
		"x: 1\n\nagents:\n  ann: {title: x}\n\n": {"limits.cost", "1", "x: 1\n\nagents:\n  ann: {title: x}\n\nlimits:\n  cost: 1\n"},
		"x: 1\nmodel: a/b\n":                     {"limits.cost", "1", "x: 1\nmodel: a/b\nlimits:\n  cost: 1\n"},
		"# mine\n\nmodel: a/b\n":                 {"limits.cost", "1", "# mine\n\nmodel: a/b\nlimits:\n  cost: 1\n"},
		"x: 1   # one\n\nlimits:":                {"limits.cost", "1", "x: 1   # one\n\nlimits:\n  cost: 1\n"},
	} {
		got, err := set([]byte(before), strings.Split(want.path, "."), want.value)
		if err != nil {
			t.Errorf("%q: %v", before, err)
		} else if string(got) != want.text {
			t.Errorf("%q is now\n%s\nwant\n%s", before, got, want.text)
		}
	}
}

// A number is written as one: in quotes it would be a text to every other reader of the file.
func TestANumberIsWrittenAsANumber(t *testing.T) {
	for value, want := range map[string]string{"-3": "turns: -3", "12": "turns: 12"} {
		for _, src := range []string{"", "limits:\n  depth: 2\n", "limits: {turns: 7}\n"} {
			got, err := set([]byte(src), []string{"limits", "turns"}, value)
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s in %q: %v\n%s", value, src, err, got)
			}
		}
	}
	for value, want := range map[string]string{"-0.5": "-0.5", ".5": ".5", "2.": "2.", "-": `'-'`, "-a": `-a`, "1 2": "1 2"} {
		if got := scalar(value); got != want {
			t.Errorf("%q is written as %s, not as %s", value, got, want)
		}
	}
}
