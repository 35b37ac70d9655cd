package web

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

func mustParse(t testing.TB, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Each file is a page, and its title and content as they should be.
func TestPagesAreReducedToTheirContent(t *testing.T) {
	t.Attr("FR", "FR-008")
	files, err := filepath.Glob("testdata/pages/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			page, want := archive.Files[0].Data, archive.Files[1].Data
			title, content, err := readPage(t.Context(), string(page), mustParse(t, "https://example.org/blog/post"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), title+"\n\n"+content+"\n"); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTextIsDecodedFromItsCharacterSet(t *testing.T) {
	late := strings.Repeat("a", 2000) + "ü"
	for name, c := range map[string]struct {
		data, contentType, want string
		cut, repaired           bool
	}{
		"utf-8":            {data: "grün", contentType: "text/plain; charset=utf-8", want: "grün"},
		"unsaid":           {data: "grün", contentType: "text/plain", want: "grün"},
		"unsaid and late":  {data: late, contentType: "text/html", want: late},
		"latin-1":          {data: "gr\xfcn", contentType: "text/plain; charset=iso-8859-1", want: "grün"},
		"latin-1, unsaid":  {data: "gr\xfcn", contentType: "text/plain", want: "grün"},
		"in the page":      {data: `<meta charset="shift_jis">` + "\x93\xfa\x96\x7b", contentType: "text/html", want: `<meta charset="shift_jis">日本`},
		"escapes":          {data: `<meta charset="iso-2022-jp">` + "\x1b$BF|K\\\x1b(B", contentType: "text/html", want: `<meta charset="iso-2022-jp">日本`},
		"utf-16":           {data: "\xff\xfeg\x00r\x00", contentType: "text/plain", want: "gr"},
		"byte order mark":  {data: "\xef\xbb\xbfgrün", contentType: "text/plain", want: "grün"},
		"broken":           {data: "gr\xfcn", contentType: "text/plain; charset=utf-8", want: "gr\ufffdn", repaired: true},
		"broken in threes": {data: "\xff\xff\xff", contentType: "text/plain; charset=utf-8", want: "\ufffd", repaired: true},
		"cut":              {data: "日本"[:5], contentType: "text/plain; charset=utf-8", cut: true, want: "日"},
	} {
		got, repaired := decode([]byte(c.data), c.cut, c.contentType)
		if got != c.want || repaired != c.repaired {
			t.Errorf("%s: %q, repaired %v; want %q, %v", name, got, repaired, c.want, c.repaired)
		}
	}
}

func TestReadingAPageEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := readPage(ctx, "<p>text", mustParse(t, "https://example.org/")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// hostile are pages that cost time out of proportion if anything does.
func hostile(size int) map[string]string {
	fill := func(start, repeat string) string { return start + strings.Repeat(repeat, size/len(repeat)) }
	return map[string]string{
		"quotes":      fill(strings.Repeat("<blockquote>a", 400), "text<br>"),
		"lists":       fill(strings.Repeat("<ul><li>a", 200), "<li>x"),
		"list heads":  fill("", "<ul><li></ul>"),
		"marks":       fill("", "*_`["),
		"wide table":  fill("<table><tr>", "<td>a"),
		"tables":      fill("", "<table><tr><td>a</table>"),
		"deep tables": fill(strings.Repeat("<table><tr><td>a", 100), "<tr><td>a"),
		"phrases":     fill(strings.Repeat("<b><i>", 200), "x <b></b>"),
		"backticks":   fill("<pre>", "`"),
		"runs":        fill("<pre>"+strings.Repeat("`", size), "```\n"),
		"code":        fill("", "<code>a`b</code>"),
		"breaks":      fill("", "<br>"),
		"links":       fill("", "<a href=x>y"),
		"headers":     fill(strings.Repeat("<div>", 400), "<header>a</header>"),
		"names":       fill("", `<p class="a-b-c-d-e">x`),
		"formatting":  fill(strings.Repeat("<b>", 200), "<p>x"),
	}
}

func TestHostilePagesTakeNoLongerThanTheirSize(t *testing.T) {
	base := mustParse(t, "https://example.org/")
	for name, page := range hostile(32 << 10) {
		began := time.Now()
		if _, _, err := readPage(t.Context(), page, base); err != nil {
			t.Logf("%s: %v", name, err)
		}
		// It takes a fraction of a second, and minutes where time grows with the square.
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: %d bytes took %s", name, len(page), took)
		}
	}
}

func FuzzReadPage(f *testing.F) {
	files, _ := filepath.Glob("testdata/pages/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	for _, page := range hostile(200) {
		f.Add(page)
	}
	f.Add(`<pre class="language-">x</pre><h1><b></b></h1><li><li>a`)
	f.Fuzz(func(t *testing.T, page string) {
		text, _ := decode([]byte(page), false, "text/html")
		title, content, err := readPage(t.Context(), text, mustParse(t, "https://example.org/"))
		if err != nil {
			return
		}
		if !utf8.ValidString(title + content) {
			t.Errorf("not UTF-8: %q %q", title, content)
		}
		if strings.Contains(content, "](javascript:") && !strings.Contains(page, "](javascript:") {
			t.Errorf("a script is linked: %q", content)
		}
	})
}
