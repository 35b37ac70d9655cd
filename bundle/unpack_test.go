package bundle

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// entry is one file of an archive.
type packed struct {
	name, content string
	mode          fs.FileMode
	stored        bool
}

func pack(t testing.TB, entries ...packed) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.stored {
			header.Method = zip.Store
		}
		if e.mode != 0 {
			header.SetMode(e.mode)
		}
		out, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bundle.zip")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

const tinyManifest = "type: standalone\nname: tiny-one\nversion: 1.0.0\nagent: {id: tim, name: Tim, title: T, file: agent.md}\n"

func TestABundleIsUnpackedAndFound(t *testing.T) {
	agent := "<agent id=\"tim\" name=\"Tim\" title=\"T\"><persona><role>r</role></persona></agent>"
	for name, entries := range map[string][]packed{
		"at the top":     {{name: "bundle.yaml", content: tinyManifest}, {name: "agent.md", content: agent}},
		"in a directory": {{name: "tiny/"}, {name: "tiny/bundle.yaml", content: tinyManifest}, {name: "tiny/agent.md", content: agent}, {name: "__MACOSX/x", content: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			project := t.TempDir()
			bundles := filepath.Join(project, "bmad", "custom", "bundles")
			got, err := Unpack(pack(t, entries...), bundles)
			if err != nil || got != "tiny-one" {
				t.Fatalf("%q, %v", got, err)
			}
			if d := define(t, find(t, project, Config{}), "tim"); d.Persona.Role != "r" {
				t.Errorf("it holds %+v", d)
			}
			if _, err := Unpack(pack(t, entries...), bundles); err == nil || !strings.Contains(err.Error(), "already") {
				t.Errorf("a second time: %v", err)
			}
			if left, err := os.ReadDir(bundles); err != nil || len(left) != 1 {
				t.Errorf("%d directories, %v", len(left), err)
			}
		})
	}
}

// An archive that is refused leaves nothing behind, and nothing outside.
func TestAnArchiveThatIsNoBundleIsRefusedWhole(t *testing.T) {
	manifest := packed{name: "bundle.yaml", content: tinyManifest}
	many := []packed{manifest}
	for i := range maxArchiveFiles {
		many = append(many, packed{name: "f" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)[:min(i/26, 60)] + "/" + strings.Repeat("z", i%97)})
	}
	for says, entries := range map[string][]packed{
		"leads elsewhere":   {manifest, {name: "../evil.md", content: "x"}},
		"leads elsewhere ":  {manifest, {name: "/etc/evil", content: "x"}},
		"leads elsewhere  ": {manifest, {name: "a/../../evil", content: "x"}},
		"not portable":      {manifest, {name: `..\evil`, content: "x"}},
		"neither a file":    {manifest, {name: "link", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777}},
		"neither a file ":   {manifest, {name: "pipe", mode: fs.ModeNamedPipe | 0o666}},
		"times its size":    {manifest, {name: "bomb", content: strings.Repeat("\x00", 8<<20)}},
		"more than 6710886": {manifest, {name: "big", content: strings.Repeat("x", maxArchiveBytes+1), stored: true}},
		"there twice":       {manifest, {name: "A.md"}, {name: "a.md"}},
		"no bundle.yaml":    {{name: "agent.md", content: "x"}},
		"beside the bundle": {{name: "one/bundle.yaml", content: tinyManifest}, {name: "two/agent.md"}},
		"my-bundle":         {{name: "bundle.yaml", content: "type: bundle\nname: ../../evil\n"}},
		"aliases":           {{name: "bundle.yaml", content: "name: &a [*a]\n"}},
		"files; a bundle":   many,
		"deeper":            {manifest, {name: strings.Repeat("d/", 40) + "x"}},
	} {
		t.Run(strings.TrimSpace(says), func(t *testing.T) {
			world := t.TempDir()
			bundles := filepath.Join(world, "a", "b", "bundles")
			if err := os.MkdirAll(bundles, 0o755); err != nil {
				t.Fatal(err)
			}
			before := corpus.Snapshot(t, world, bundles)
			_, err := Unpack(pack(t, entries...), bundles)
			if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(says)) && says != "aliases" {
				t.Errorf("got %v", err)
			}
			if left, err := os.ReadDir(bundles); err != nil || len(left) != 0 {
				t.Errorf("%v was left behind, %v", left, err)
			}
			if after := corpus.Snapshot(t, world, bundles); len(after) != len(before) {
				t.Errorf("%d files became %d", len(before), len(after))
			}
		})
	}
}

func TestArchivesThatAttackAreRefused(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "attacks/zip-traversal"), "*.zip"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		world := t.TempDir()
		bundles := filepath.Join(world, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")
		if _, err := Unpack(file, bundles); err == nil {
			t.Errorf("%s was unpacked", file)
		}
		for path := range corpus.Snapshot(t, world) {
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				t.Errorf("%s wrote %s", file, path)
			}
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, e := range [][]packed{{{name: "bundle.yaml", content: tinyManifest}}, {{name: "../x", content: "x"}}} {
		data, err := os.ReadFile(pack(f, e...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		world := t.TempDir()
		file := filepath.Join(world, "x.zip")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		bundles := filepath.Join(world, "in", "bundles")
		name, err := Unpack(file, bundles)
		left, readErr := os.ReadDir(bundles)
		if err == nil && (len(left) != 1 || left[0].Name() != name) || err != nil && readErr == nil && len(left) != 0 {
			t.Fatalf("%q, %v: %v is there", name, err, left)
		}
		if beside, err := os.ReadDir(world); err != nil || len(beside) > 2 {
			t.Fatalf("%v, %v", beside, err)
		}
	})
}

func TestLinesOfAWebBundleAreThoseOfItsFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "team.txt", "# Web Bundle\n\n==================== START: .bmad-core/agents/h.md ====================\n# h\n\n```yaml\nagent:\n  name: Hedy\n  id: h\n  title: T\npersona:\n  role: r\ncommands:\n  - help: Show\n  - go: Go\n```\n==================== END: .bmad-core/agents/h.md ====================\n")
	d := define(t, find(t, dir, Config{}), "h")
	if len(d.Commands) != 2 || d.Commands[1].Line != 15 {
		t.Errorf("commands are %+v, want the last on line 15", d.Commands)
	}
}
