package knowledge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also a server on its standard streams, and a process that
// uploads documents.
func TestMain(m *testing.M) {
	path := os.Getenv("KNOWLEDGE_FILE")
	if path == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(context.Background(), path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(ctx context.Context, path string) error {
	base, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer base.Close()
	if writer := os.Getenv("KNOWLEDGE_WRITER"); writer != "" {
		return uploadMany(ctx, base, writer)
	}
	return Serve(ctx, base, ServerOptions{User: os.Getenv("KNOWLEDGE_USER")}, os.Stdin, os.Stdout)
}

const many = 20

// uploadMany uploads documents of its own, and one that others upload too.
func uploadMany(ctx context.Context, base *Base, writer string) error {
	for i := range many {
		for _, d := range []Document{
			{Name: fmt.Sprintf("%s-%d.md", writer, i), Content: "written by " + writer},
			{Name: "shared.md", Content: "written by everybody", Key: "shared"},
		} {
			if err := base.Upload(ctx, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// childEnv is the environment of the test binary as a child. Without the rest of it
// the child would take a second to exit with the race detector, and complain when
// coverage is measured.
func childEnv(tb testing.TB, path string) map[string]string {
	return map[string]string{"KNOWLEDGE_FILE": path, "GORACE": "atexit_sleep_ms=0", "GOCOVERDIR": tb.TempDir()}
}

func newBase(tb testing.TB) (*Base, string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "knowledge.db")
	base := openAt(tb, path)
	base.rounds = 10
	return base, path
}

func openAt(tb testing.TB, path string) *Base {
	tb.Helper()
	base, err := Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { base.Close() })
	return base
}

func mustUpload(tb testing.TB, k Keeper, documents ...Document) {
	tb.Helper()
	for _, d := range documents {
		if err := k.Upload(tb.Context(), d); err != nil {
			tb.Fatal(err)
		}
	}
}

func mustQuery(tb testing.TB, f Finder, question string) []Passage {
	tb.Helper()
	list, err := f.Query(tb.Context(), question, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func documentsOf(tb testing.TB, base *Base) []Info {
	tb.Helper()
	list, err := base.Documents(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// filler is text about nothing in particular, which differs by number.
func filler(number, paragraphs int) string {
	vocabulary := strings.Fields("the of system and user data with request from service model when that page file error value index table query for cache")
	var b strings.Builder
	for p := range paragraphs {
		fmt.Fprintf(&b, "## Section %d\n\n", p)
		for w := range 40 {
			b.WriteString(vocabulary[(number*7+p*13+w*w)%len(vocabulary)] + " ")
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

const canary Secret = "canary-5up3r-s3cret"

// fill adds documents in one transaction, which is faster than uploading them.
func fill(tb testing.TB, base *Base, documents, paragraphs int) {
	tb.Helper()
	tx, err := base.db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range documents {
		content := filler(i, paragraphs)
		info := Info{Name: fmt.Sprintf("filler-%d.md", i), SHA256: hash(content)}
		if _, err := base.insert(tb.Context(), tx, info, content, split(content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}
