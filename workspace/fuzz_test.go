package workspace

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		"", ".", "..", "/", "config.yaml", "{bundle-root}/config.yaml", "{project-root}/bmad/core/tasks/workflow.md", "{bundle_root}/../x",
		"{{SESSION_FOLDER}}/a/b.md", "{config_source}:output_folder/x", "{dotdot}/{dotdot}/outside/canary.txt", "{outside}/canary.txt",
		"link-out/canary.txt", "{bundle-root}/\x00", "re\u0301.md", "{project-root}/.env", "\xff{", "a//b/./c/../d",
	} {
		f.Add(seed)
	}
	w := newWorld(f)
	link(f, w.outside, w.bundle, "link-out")
	ws := w.open(f, Root{Name: ProjectRoot, Dir: w.project, Access: ReadOnly}, Root{Name: "data", Dir: filepath.Join(w.project, "data")})
	ws = ws.With(ws.Vars().WithConfig(map[string]string{"dotdot": "..", "outside": w.outside, "output_folder": "{project-root}/docs"}))
	from, err := ws.Resolve("{bundle-root}/workflows/intake/workflow.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		relative, relativeErr := ws.ResolveFrom(from, name)
		output, _, outputErr := ws.ResolveOutput(name)
		read, readErr := ws.Resolve(name)
		for loc, err := range map[Location]error{relative: relativeErr, output: outputErr, read: readErr} {
			if err != nil {
				if len(err.Error()) > 2048 || !utf8.ValidString(err.Error()) {
					t.Errorf("error reads %q", err)
				}
				continue
			}
			if !filepath.IsLocal(loc.name) || loc.name != filepath.Clean(loc.name) {
				t.Errorf("%q resolves to %q", name, loc.name)
			}
			if content, err := ws.ReadFile(loc); err == nil && strings.Contains(content, canary) {
				t.Errorf("%q reads %q", name, content)
			}
		}
		if outputErr == nil && output.root.Access != ReadWrite {
			t.Errorf("%q is written to %s", name, output)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, seed := range [][3]string{
		{"Hello {user_name}", "{b}", "x"}, {"{a}{b}", "{b}", "{a}"}, {"{{a}} ${a} {a", "{", "}"}, {"{config_source}:a", "{bundle-root}/x", ""},
		{"{a}", "{b}{b}{b}", "{c}{c}"}, {"{\"json\": {a}}", "{{a}}", "{config_source}:b"}, {"\xff{a}\x00", "{A}", "{session_id}"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	engine := NewVars(map[string]string{"session-id": "{a}"}, BundleRoot)
	f.Fuzz(func(t *testing.T, text, a, b string) {
		vars := engine.WithConfig(map[string]string{"a": a, "b": b}).With(map[string]string{"c": a + "{b}"})
		expanded, unresolved, err := vars.Expand(text)
		if err != nil {
			if len(err.Error()) > 2048 {
				t.Errorf("error has %d bytes", len(err.Error()))
			}
			return
		}
		if len(expanded) > maxText {
			t.Errorf("expanded to %d bytes", len(expanded))
		}
		if !strings.Contains(text, "{") && expanded != text {
			t.Errorf("%q became %q", text, expanded)
		}
		for _, name := range unresolved {
			if !isName(name) && leadingWord(name) != name {
				t.Errorf("%q is unresolved", name)
			}
		}
		if pieces, err := vars.path(text); err == nil {
			size := 0
			for _, p := range pieces {
				size += len(p.text)
				if p.kind != literal && p.kind != rootName {
					t.Errorf("a path holds %+v", p)
				}
			}
			if size > maxPath {
				t.Errorf("a path of %d bytes", size)
			}
		}
	})
}
