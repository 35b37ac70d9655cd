package markup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, src := range hostile(200) {
		f.Add(src)
	}
	for _, src := range []string{
		agentSource, "<a>\n```\n</a>\n<a>```\n", "<x a=\"b\"c\" d>'</x>", "<!D [<!E ']>'>]><?x?><![CDATA[]]>", "a<b>c</B>&#65;",
		"<a><b></a></b></a>", "```xml\n<a>`<b>`</a>\n```\n</a>", "<a>\n- <a> x\n</a>",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		checkTree(t, src, Options{})
		doc := checkTree(t, src, Options{Known: IsTaskTag})
		for n := range doc.Root.Descendants() {
			if n.Kind == Element && !IsTaskTag(n.Name) {
				t.Fatalf("<%s> is not known", n.Name)
			}
		}
	})
}

// checkTree parses src and checks what every document promises. On a source over the limits it returns an empty one.
func checkTree(t *testing.T, src string, opts Options) *Document {
	t.Helper()
	doc, err := Parse([]byte(src), opts)
	if err != nil {
		if _, ok := errors.AsType[*LimitError](err); !ok || doc != nil {
			t.Fatalf("document %v, error %v", doc, err)
		}
		doc, _ = Parse(nil, opts)
		return doc
	}
	lines := 1 + strings.Count(src, "\n")
	line, start, nodes := 1, 0, 0
	for n := range doc.Root.Descendants() {
		nodes++
		if n.Line < line || n.EndLine < n.Line || n.EndLine > lines {
			t.Fatalf("node %q on lines %d to %d after line %d of %d", n.Raw(), n.Line, n.EndLine, line, lines)
		}
		if n.Start < start || n.Parent.Children[n.place] != n || len(n.Following()) != len(n.Parent.Children)-n.place-1 {
			t.Fatalf("node %q is out of order", n.Raw())
		}
		line, start = n.Line, n.Start
		checkSource(t, n, src)
	}
	checkSource(t, doc.Root, src)
	if nodes > len(src) || doc.Root.Raw() != src || doc.Root.Inner() != src && nodes > 0 {
		t.Fatalf("%d nodes of %d bytes", nodes, len(src))
	}
	if !slices.IsSortedFunc(doc.Problems, func(a, b Problem) int { return a.Line - b.Line }) {
		t.Fatalf("problems %v are not in order", doc.Problems)
	}
	for _, p := range doc.Problems {
		if p.Line < 1 || p.Line > lines {
			t.Fatalf("problem %v in %d lines", p, lines)
		}
	}
	return doc
}

// checkSource checks that a node and its children are the source they claim to be, without gaps.
func checkSource(t *testing.T, n *Node, src string) {
	t.Helper()
	var inner strings.Builder
	for _, c := range n.Children {
		inner.WriteString(c.Raw())
	}
	if inner.String() != n.Inner() || n.Raw() != src[n.Start:n.End] || !strings.Contains(n.Raw(), n.Inner()) {
		t.Fatalf("children of %q are %q", n.Raw(), inner.String())
	}
	_ = n.Text()
	for _, a := range n.Attrs {
		if !strings.Contains(n.Raw(), a.Name) || !strings.Contains(n.Raw(), a.Raw) || a.Name == "" {
			t.Fatalf("attribute %+v is not of %q", a, n.Raw())
		}
	}
}

// hostile returns sources of about n bytes on which a careless scanner would take quadratic time.
func hostile(n int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, max(1, n/len(unit))) }
	half := func(unit string) string { return strings.Repeat(unit, max(1, n/2/len(unit))) }
	var growing strings.Builder
	for run := 1; growing.Len() < n; run++ {
		growing.WriteString(strings.Repeat("`", run) + " ")
	}
	var shrinking strings.Builder
	for run := 700; run > 3 && shrinking.Len() < n/2; run-- {
		shrinking.WriteString(strings.Repeat("`", run) + "a\n")
	}
	return map[string]string{
		"angles":            fill("<"),
		"starts":            fill("<a "),
		"values":            fill("<a b=\""),
		"mixed quotes":      fill("<a b=\"<a b='"),
		"values, far quote": fill("<a b=\"") + "\" c",
		"bare words":        fill("<a b c d "),
		"long name":         "<" + fill("a") + ">",
		"opens":             fill("<a>"),
		"closes":            fill("</a>"),
		"opens and closes":  half("<a>") + half("</a>"),
		"opens, one close":  half("<a>\n") + "</b>" + half("<b>"),
		"names":             fill("<a></b>"),
		"comments":          fill("<!--"),
		"declarations":      fill("<!D ["),
		"sections":          fill("<![CDATA["),
		"instructions":      fill("<?x "),
		"fences":            fill("```\n"),
		"open fences":       fill("```a\n"),
		"shrinking fences":  shrinking.String() + half("```a\n"),
		"hidden end":        "<s>\n" + fill("```a\n") + "</s>\n```\n",
		"spans":             fill("`a"),
		"growing ticks":     growing.String()[:n],
		"entities":          fill("&#x"),
		"blanks":            "<a" + fill(" ") + "<",
		"blank lines":       fill("\n"),
		"rules":             fill("---\n"),
	}
}

func TestHostileSourcesTakeLinearTime(t *testing.T) {
	for name, src := range hostile(MaxBytes - 100) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			checkTree(t, src, Options{})
			// Linear scanning takes some 0.1 s, quadratic scanning many minutes.
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	run := func(name, src string) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				doc, err := Parse([]byte(src), Options{})
				if err == nil {
					_ = doc.Root.Text()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(src)), "ns/byte")
		})
	}
	run("agent", agentSource)
	for _, size := range []string{"64K", "1M"} {
		n := map[string]int{"64K": 1 << 16, "1M": MaxBytes - 100}[size]
		for name, src := range hostile(n) {
			run(name+"/"+size, src)
		}
	}
}
