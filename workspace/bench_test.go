package workspace

import (
	"strings"
	"testing"
	"time"
)

func benchWorkspace(b *testing.B) (*Workspace, world) {
	w := newWorld(b)
	ws := w.open(b)
	ws.cache.now = func() time.Time { return time.Now().Add(time.Hour) }
	put(b, w.bundle, "workflows/intake/instructions.md", strings.Repeat("0123456789abcde\n", 1024))
	return ws.With(ws.Vars().With(map[string]string{"installed_path": "{bundle-root}/workflows/intake"})), w
}

func BenchmarkResolve(b *testing.B) {
	ws, _ := benchWorkspace(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ws.Resolve("{installed_path}/instructions.md"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolvePlain(b *testing.B) {
	ws, _ := benchWorkspace(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ws.Resolve("workflows/intake/instructions.md"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadCached(b *testing.B) {
	ws, _ := benchWorkspace(b)
	benchmarkRead(b, ws)
}

func BenchmarkReadUncached(b *testing.B) {
	ws, _ := benchWorkspace(b)
	ws.cache.max = 0
	benchmarkRead(b, ws)
}

func benchmarkRead(b *testing.B, ws *Workspace) {
	loc, err := ws.Resolve("{installed_path}/instructions.md")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if content, err := ws.ReadFile(loc); err != nil || len(content) != 16<<10 {
			b.Fatal(len(content), err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	ws, _ := benchWorkspace(b)
	loc, _, err := ws.ResolveOutput("docs/report.md")
	if err != nil {
		b.Fatal(err)
	}
	content := []byte(strings.Repeat("0123456789abcde\n", 1024))
	b.ReportAllocs()
	for b.Loop() {
		if err := ws.Write(loc, content); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	vars := bundleVars()
	text := strings.Repeat("Hello {user_name}, your files are in {output_folder}; {{story_key}} stays as it is.\n", 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := vars.Expand(text); err != nil {
			b.Fatal(err)
		}
	}
}
