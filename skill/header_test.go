package skill

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/troupe-dev/troupe/markup"
)

func codes(findings []Finding) string {
	var list []string
	for _, f := range findings {
		list = append(list, f.Code)
	}
	return strings.Join(list, " ")
}

func TestAHeaderIsReadInAllItsForms(t *testing.T) {
	t.Attr("FR", "FR-012a")
	const want = "pdf|Fills forms: all of them.|office"
	for name, src := range map[string]string{
		"label in front matter": "---\nlabel: pdf\ndescription: 'Fills forms: all of them.'\ncategory: office\n---\nBODY",
		"name in front matter":  "---\nname: pdf\ndescription: 'Fills forms: all of them.'\ncategory: Office\n---\nBODY",
		"category in metadata":  "---\nname: pdf\ndescription: 'Fills forms: all of them.'\nmetadata:\n  category: office\n---\nBODY",
		"folded":                "\ufeff---\r\nname: pdf\r\ndescription: >\r\n  Fills forms:\r\n  all of them.\r\ncategory: office\r\n---\r\nBODY",
		"unquoted colon":        "---\nname: pdf\ndescription: Fills forms: all of them.\ncategory: office\n---\nBODY",
		"plain lines":           "label: pdf\ndescription: Fills forms:\n  all of them.\ncategory: office\n\nBODY",
		"under a title":         "# The title\n\n**Label:** pdf\n**Description**: Fills forms: all of them.\n\n- Category: office\n\nBODY",
		"as headings":           "# Label: pdf\n## Description: Fills forms: all of them.\n## Category: office\nBODY",
	} {
		h, found := parseHeader("f", "", []byte(src))
		if h == nil {
			t.Errorf("%s: %v", name, found)
			continue
		}
		if got := h.name + "|" + h.description + "|" + h.category; got != want {
			t.Errorf("%s: got %s", name, got)
		}
		if body := strings.TrimSpace(src[h.length:]); body != "BODY" {
			t.Errorf("%s: the body is %q", name, body)
		}
		if line := strings.Count(src[:strings.Index(src, "BODY")], "\n"); h.line > line+1 {
			t.Errorf("%s: the body begins on line %d, not %d", name, line+1, h.line)
		}
	}
}

func TestAHeaderThatCannotBeUsedSaysWhy(t *testing.T) {
	t.Attr("FR", "FR-012a")
	for src, want := range map[string]string{
		"":                                        CodeFrontMatter,
		"Just some text.\n":                       CodeFrontMatter,
		"# A title\n\n## Purpose\nText\n":         CodeFrontMatter,
		"---\nname: x\ndescription: y\n":          CodeFrontMatter,
		"---\n---\nText":                          CodeFrontMatter,
		"---\n- a\n- b\n---\n":                    CodeFrontMatter,
		"---\nname: x\n---\n":                     CodeDescription,
		"---\ndescription: x\n---\n":              CodeName,
		"label: x\n\nText":                        CodeDescription,
		"---\nname: \"x\ndescription: y\n---\n":   CodeYAML,
		"---\nname: x\n...\nname: y\n---\n":       CodeYAML,
		"---\nname: &a x\ndescription: *a\n---\n": CodeRefusedYAML,
		"---\na: &a [x]\nb: *a\n---\n":            CodeRefusedYAML,
		"---\n<<: {a: b}\n---\n":                  CodeRefusedYAML,
		"---\nname: !mine x\n---\n":               CodeRefusedYAML,
		"---\nx: " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "\n---\n": CodeRefusedYAML,
		"---\n" + strings.Repeat("x: {}\n", 201) + "---\n":                         CodeRefusedYAML,
	} {
		h, found := parseHeader("f", "", []byte(src))
		if got := codes(found); h != nil || got != want {
			t.Errorf("%.40q: header %v, findings %q, want %s", src, h, got, want)
		}
	}
}

func TestFindingsPointToTheirLines(t *testing.T) {
	src := "---\nname: x\nname: Not-Good\ndescription: a: b\nversion: 1\nmetadata:\n  requires: [one,\n    two]\nallowed-tools: Bash(git add:*), Read\n---\n"
	h, found := parseHeader("f", "x", []byte(src))
	for i, want := range []struct {
		code string
		line int
	}{{CodeUnquoted, 4}, {CodeDuplicateKey, 3}, {CodeKey, 5}, {CodeName, 3}} {
		if i >= len(found) || found[i].Code != want.code || found[i].Line != want.line {
			t.Fatalf("finding %d is not %v: %v", i, want, found)
		}
	}
	if h.requires[0] != (mention{"one", 7}) || h.requires[1] != (mention{"two", 8}) {
		t.Errorf("requires %v", h.requires)
	}
	if h.allowed[0] != (mention{"Bash(git add:*)", 9}) || h.allowed[1] != (mention{"Read", 9}) {
		t.Errorf("allows %v", h.allowed)
	}
}

// A counter counts the bytes that are read through it.
type counter struct {
	io.Reader
	read int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

func TestOnlyTheHeaderIsRead(t *testing.T) {
	t.Attr("FR", "FR-012b")
	long := strings.Repeat("The body goes on and on.\n", 1<<20)
	for name, c := range map[string]struct {
		src  string
		most int
	}{
		"front matter": {text("x", "y", long), 4 << 10},
		"long matter":  {text("x", "y\nmetadata:\n  note: "+strings.Repeat("z", 5000), long), 16 << 10},
		"plain":        {"label: x\ndescription: y\n\n" + long, 4 << 10},
		"no header":    {long, 4 << 10},
	} {
		r := &counter{Reader: strings.NewReader(c.src)}
		if _, err := readTop(r); err != nil || r.read > c.most {
			t.Errorf("%s: %d bytes read, %v", name, r.read, err)
		}
	}
	r := &counter{Reader: strings.NewReader("---\n" + long)}
	if _, err := readTop(r); !errors.Is(err, errLongHeader) || r.read > maxHeader {
		t.Errorf("without end: %d bytes read, %v", r.read, err)
	}
}

func TestALineAtTheEdgeOfWhatIsReadIsNotCut(t *testing.T) {
	src := "---\n#"
	src += strings.Repeat("x", 4<<10-len(src)-4) + "\n---"
	if len(src) != 4<<10 {
		t.Fatal(len(src))
	}
	top, err := readTop(strings.NewReader(src + " goes on\n---\nBODY" + strings.Repeat("\n", 16<<10)))
	if err != nil {
		t.Fatal(err)
	}
	if _, body, _ := markup.FrontMatter(top); !bytes.HasPrefix(body, []byte("BODY")) {
		t.Errorf("the front matter ends before %.20q", body)
	}
}

func FuzzHeader(f *testing.F) {
	for _, src := range []string{
		text("x", "y", "z"), text("x", "a: b", ""), "label: x\ndescription: y\n\nz", "# t\n- **Name**: x\n", "---\nname: [x\n---", "---\na: &a\n- *a\n---\n",
		"---\nname: x\ndescription: |\n y\nmetadata: {requires: [a, b(c)]}\nallowed-tools: a b(\n---\n", "\ufeff---\r\nlabel: 'x'\r\n---\r\n",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		top, err := readTop(strings.NewReader(src))
		if err != nil {
			return
		}
		lines := strings.Count(src, "\n") + 2 // YAML tells of an unexpected end after it
		for _, folder := range []string{"", "x"} {
			h, found := parseHeader("f", folder, top)
			for _, f := range found {
				if f.Line < 1 || f.Line > lines || f.Code == "" || f.Message == "" {
					t.Errorf("%+v", f)
				}
			}
			if h == nil {
				if len(found) == 0 {
					t.Error("no header and no finding")
				}
				continue
			}
			if h.name == "" || h.description == "" || strings.ContainsFunc(h.name+h.description+h.category, unicode.IsControl) {
				t.Errorf("%+v", h)
			}
			if h.length < 0 || h.length > len(top) || h.line < 1 || h.line > lines || !bytes.HasSuffix([]byte(src), []byte(src[h.length:])) {
				t.Errorf("%+v", h)
			}
		}
	})
}
