package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesResolveToARootAndARelativeName(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	ws = ws.With(ws.Vars().WithConfig(map[string]string{
		"output_folder": "{project-root}/docs",
		"tasks":         "{project-root}/bmad/core/tasks",
	}).With(map[string]string{
		"installed_path": "{bundle-root}/workflows/intake",
		"session_folder": "{project-root}/data/agent-outputs/two", // the engine's wins
	}))
	for name, want := range map[string]string{
		"{bundle-root}":                                    "{bundle-root}",
		"{bundle-root}/":                                   "{bundle-root}",
		"{bundle-root}/config.yaml":                        "{bundle-root}/config.yaml",
		"{bundle_root}//workflows/./x/../y":                "{bundle-root}/workflows/y",
		"{{BUNDLE_ROOT}}/config.yaml":                      "{bundle-root}/config.yaml",
		"{installed_path}/steps/step-01.md":                "{bundle-root}/workflows/intake/steps/step-01.md",
		"{installed_path}/../../config.yaml":               "{bundle-root}/config.yaml",
		"{config_source}:output_folder/x.md":               "{project-root}/docs/x.md",
		"{project-root}/docs/{date}.md":                    "{project-root}/docs/2026-11-15.md",
		"{tasks}/workflow.md":                              "{core-root}/tasks/workflow.md",
		"{project-root}/bmad/core":                         "{core-root}",
		"{project-root}/bmad/core-x/y":                     "{project-root}/bmad/core-x/y",
		"{project-root}/bmad/core/../x":                    "{project-root}/bmad/x",
		"{session_folder}/x":                               "{session-folder}/x",
		"{project-root}/data/agent-outputs/{session_id}/x": "{session-folder}/x",

		"notes.md":                        "{session-folder}/notes.md",
		"config.yaml":                     "{bundle-root}/config.yaml",
		"./workflows/intake":              "{bundle-root}/workflows/intake",
		"bmad/core/tasks/workflow.md":     "{core-root}/tasks/workflow.md",
		"data/agent-outputs/one/notes.md": "{session-folder}/notes.md",
		".":                               "{session-folder}",
	} {
		loc, err := ws.Resolve(name)
		if err != nil || loc.String() != want {
			t.Errorf("Resolve(%s) = %v, %v; want %s", name, loc, err, want)
		}
	}
	for _, name := range []string{"nowhere.md", "docs/plan.md"} {
		if _, err := ws.Resolve(name); !errors.Is(err, ErrNotFound) {
			t.Errorf("Resolve(%s): %v", name, err)
		}
	}
}

func TestAPlainNameMeansTheSessionsFileBeforeTheBundles(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.session, "config.yaml", "the session's")
	wantRead(t, ws, "config.yaml", "the session's")
	wantRead(t, ws, "{bundle-root}/config.yaml", "user_name: Ada\n")
}

func TestReferencesAreRelativeToTheFileTheyAreIn(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	from, err := ws.Resolve("{bundle-root}/workflows/intake/workflow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"./steps/step-01.md":            "{bundle-root}/workflows/intake/steps/step-01.md",
		"steps/step-01.md":              "{bundle-root}/workflows/intake/steps/step-01.md",
		"../../config.yaml":             "{bundle-root}/config.yaml",
		"{core-root}/tasks/workflow.md": "{core-root}/tasks/workflow.md",
	} {
		if loc, err := ws.ResolveFrom(from, ref); err != nil || loc.String() != want {
			t.Errorf("ResolveFrom(%s) = %v, %v; want %s", ref, loc, err, want)
		}
	}
	for _, ref := range []string{"../../../demo-evil/canary.txt", "/etc/passwd", "../../.."} {
		_, err := ws.ResolveFrom(from, ref)
		wantRefusal(t, err, ErrDenied, w.dir)
	}
	_, err = ws.ResolveFrom(Location{}, "x")
	wantRefusal(t, err, ErrDenied, w.dir)
}

func TestAnUnknownVariableInAPathIsNamedAndNothingIsOpened(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	ws = ws.With(ws.Vars().WithConfig(map[string]string{"user_name": "Ada", "nothing": "", "deep": "{bundle-root}/{gone}/x"}))
	for path, name := range map[string]string{
		"{missing}/x.md":                    "missing",
		"{bundle-root}/{{story_key}}.md":    "story_key",
		"{config_source}:invalid_var/x.md":  "invalid_var",
		"{bundle-root}/{nothing}/config.md": "nothing",
		"{deep}":                            "gone",
	} {
		for _, resolve := range []func(string) error{
			func(s string) error { _, err := ws.Resolve(s); return err },
			func(s string) error { _, _, err := ws.ResolveOutput(s); return err },
		} {
			unknown, ok := errors.AsType[*UnknownVariable](resolve(path))
			if !ok || unknown.Name != name {
				t.Errorf("%s: %v; want {%s} to be unknown", path, unknown, name)
				continue
			}
			if text := unknown.Error(); !strings.Contains(text, "{"+name+"}") || !strings.Contains(text, "user_name") || !strings.Contains(text, "bundle-root") {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
}

func TestTheProjectIsClosedUnlessGranted(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"{project-root}/docs/plan.md", "{project-root}/.env", "{project-root}/missing", "{project-root}"} {
		ws := w.open(t)
		_, err := read(ws, name)
		wantRefusal(t, err, ErrDenied, w.dir)
		loc, _ := ws.Resolve(name)
		_, err = ws.List(loc, 1)
		wantRefusal(t, err, ErrDenied, w.dir)
	}
	wantRead(t, w.open(t), "{project-root}/bmad/core/tasks/workflow.md", "the workflow engine")

	granted := w.open(t, Root{Name: ProjectRoot, Dir: w.project, Access: ReadOnly})
	wantRead(t, granted, "{project-root}/docs/plan.md", "the plan")
	wantRead(t, granted, "docs/plan.md", "the plan")
}

func TestDotFilesAndKeysStayClosedWhenTheProjectIsGranted(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{
		".env", ".ENV", ".env.local", "prod.env", ".git/config", "a/.ssh/id", "x/ID_RSA", "id_ed25519.pub", "tls.key", "Server.PEM",
		"credentials.json", "config/secrets.yaml",
	} {
		put(t, w.project, name, canary)
	}
	link(t, ".env", w.project, "harmless.txt")
	link(t, "deploy", w.project, "linked-dir")
	link(t, "data/agent-outputs", w.project, "sessions")
	ws := w.open(t,
		Root{Name: ProjectRoot, Dir: w.project, Access: ReadWrite},
		Root{Name: "data", Dir: filepath.Join(w.project, "data")})
	for _, name := range []string{
		".env", ".ENV", ".env.local", "prod.env", ".git/config", "a/.ssh/id", "x/ID_RSA", "id_ed25519.pub", "tls.key", "Server.PEM",
		"credentials.json", "config/secrets.yaml", "deploy/server.pem", "linked-dir/server.pem", "harmless.txt",
		"data/agent-outputs/two/canary.txt", "sessions/two/canary.txt", "docs/../.env",
	} {
		content, err := read(ws, "{project-root}/"+name)
		if content != "" {
			t.Errorf("%s was read", name)
		}
		wantRefusal(t, err, ErrDenied, w.dir)
	}
	for _, name := range []string{".git/hooks/pre-commit", "harmless.txt", "linked-dir/x.pem"} {
		loc, moved, err := ws.ResolveOutput("{project-root}/" + name)
		if err != nil || moved {
			t.Fatalf("%s: %v, %v", loc, moved, err)
		}
		wantRefusal(t, ws.Write(loc, nil), ErrDenied, w.dir)
	}
	wantRead(t, ws, "{project-root}/sessions/one/notes.md", "notes")
	loc, err := ws.Resolve("{project-root}")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ws.List(loc, 10)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range list.Entries {
		seen[e.Path] = true
		if IsSecret(e.Path) || strings.Contains(e.Path, "two") {
			t.Errorf("%s is listed", e.Path)
		}
	}
	if !seen["docs/plan.md"] || !seen["bmad/core/tasks/workflow.md"] {
		t.Errorf("not listed: %v", seen)
	}
}

func TestABundleThatHoldsTheProjectIsGuardedLikeIt(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{w.project, w.dir} {
		ws := w.open(t, Root{Name: BundleRoot, Dir: dir, Access: ReadOnly})
		for _, name := range []string{".env", "project/.env"} {
			if content, err := read(ws, "{bundle-root}/"+name); err == nil {
				t.Errorf("%s gives %q", name, content)
			}
		}
	}
	ws := w.open(t, Root{Name: BundleRoot, Dir: w.project, Access: ReadOnly})
	wantRead(t, ws, "{project-root}/docs/plan.md", "the plan")
	wantRead(t, ws, "{bundle-root}/docs/plan.md", "the plan")
	put(t, w.bundle, ".hidden", "the author's")
	wantRead(t, w.open(t), "{bundle-root}/.hidden", "the author's")
}

func TestALinkIntoAClosedRootIsAsClosed(t *testing.T) {
	w := newWorld(t)
	link(t, "core", filepath.Dir(w.core), "link")
	ws := openWith(t, Config{Roots: []Root{
		{Name: BundleRoot, Dir: filepath.Dir(w.core), Access: ReadOnly},
		{Name: "closed", Dir: w.core},
	}})
	for _, name := range []string{"core", "link"} {
		_, err := read(ws, "{bundle-root}/"+name+"/tasks/workflow.md")
		wantRefusal(t, err, ErrDenied, w.dir)
		loc, _ := ws.Resolve("{bundle-root}/" + name)
		_, err = ws.List(loc, 2)
		wantRefusal(t, err, ErrDenied, w.dir)
	}
	wantRead(t, ws, "{bundle-root}/custom/bundles/demo/config.yaml", "user_name: Ada\n")
}

func TestALinkedSessionIsReadOnly(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t, Root{Name: "session-two", Dir: filepath.Join(w.project, "data/agent-outputs/two"), Access: ReadOnly})
	wantRead(t, ws, "{session-two}/canary.txt", canary)
	wantRead(t, ws, "{project-root}/data/agent-outputs/two/canary.txt", canary)
	loc, moved, err := ws.ResolveOutput("{session-two}/canary.txt")
	if err != nil || !moved || loc.String() != "{session-folder}/canary.txt" {
		t.Errorf("output goes to %v, %v, %v", loc, moved, err)
	}
	direct, _ := ws.Resolve("{session-two}/canary.txt")
	wantRefusal(t, ws.Write(direct, nil), ErrDenied, w.dir)
}

func TestALocationOfAnotherWorkspaceIsRefused(t *testing.T) {
	w := newWorld(t)
	one, two := w.open(t), w.open(t)
	loc, err := one.Resolve("{bundle-root}/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, err = two.ReadFile(loc)
	wantRefusal(t, err, ErrDenied, w.dir)
	_, err = two.ReadFile(Location{})
	wantRefusal(t, err, ErrDenied, w.dir)
	if nowhere := (Location{}); nowhere.String() != "" || nowhere.Root() != "" {
		t.Error("nowhere has a name")
	}
	if loc.Root() != BundleRoot || loc.Name() != "config.yaml" {
		t.Errorf("%s has root %s and name %s", loc, loc.Root(), loc.Name())
	}
}

func TestThatOneRootLiesInAnotherIsDecidedByTheDirectoryFoundThere(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	project, core := ws.roots[ProjectRoot], *ws.roots[CoreRoot]
	if at, inside := project.contains(&core); at != "bmad/core" || !inside {
		t.Errorf("the core is at %q, %v", at, inside)
	}
	for _, elsewhere := range []string{"docs", "missing", "../outside"} {
		core.real = filepath.Join(w.project, elsewhere)
		if at, inside := project.contains(&core); inside {
			t.Errorf("the core is taken to be at %q", at)
		}
	}
}

func TestOpenRefusesBadConfigurationAndNamesTheRoot(t *testing.T) {
	w := newWorld(t)
	for want, roots := range map[string][]Root{
		"open root {core-root}: there is no such directory":             {{Name: CoreRoot, Dir: w.dir + "/missing"}},
		"open root {core-root}: not a directory":                        {{Name: CoreRoot, Dir: w.outside + "/canary.txt"}},
		"open root {core-root}: named twice":                            {{Name: CoreRoot, Dir: w.core}, {Name: "CORE_ROOT", Dir: w.core}},
		`open root {a/b}: not a name of letters, digits, _, - and dots`: {{Name: "a/b", Dir: w.core}},
	} {
		ws, err := Open(Config{Roots: roots})
		if err == nil || err.Error() != want {
			t.Errorf("Open: %v; want %s", err, want)
		}
		if ws != nil {
			t.Error("there is a workspace all the same")
		}
	}
}

func TestAClosedWorkspaceReadsNothing(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	loc, _ := ws.Resolve("{bundle-root}/config.yaml")
	if err := ws.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := ws.ReadFile(loc)
	wantRefusal(t, err, os.ErrClosed, w.dir)
}
