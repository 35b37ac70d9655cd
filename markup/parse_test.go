package markup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sketch draws the tree below n: elements as name[attrs](children), ! unclosed, / self-closing; texts in quotes;
// asides not at all.
func sketch(n *Node) string {
	var parts []string
	for _, c := range n.Children {
		switch c.Kind {
		case Text, CData:
			if s := c.Text(); s != "" {
				parts = append(parts, fmt.Sprintf("%q", s))
			}
		case Element:
			parts = append(parts, sketchElement(c))
		}
	}
	return strings.Join(parts, " ")
}

func sketchElement(n *Node) string {
	var b strings.Builder
	b.WriteString(n.Name)
	if len(n.Attrs) > 0 {
		var attrs []string
		for _, a := range n.Attrs {
			attrs = append(attrs, a.Name+"="+a.Value)
		}
		fmt.Fprintf(&b, "[%s]", strings.Join(attrs, ","))
	}
	switch {
	case n.Unclosed:
		b.WriteString("!")
	case n.SelfClosing:
		b.WriteString("/")
	default:
		fmt.Fprintf(&b, "(%s)", sketch(n))
	}
	return b.String()
}

func problems(d *Document) string {
	var all []string
	for _, p := range d.Problems {
		all = append(all, fmt.Sprintf("%d %s", p.Line, p.Code))
	}
	return strings.Join(all, ", ")
}

func mustParse(t *testing.T, src string, opts Options) *Document {
	t.Helper()
	doc, err := Parse([]byte(src), opts)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

type reading struct{ name, src, want, problems string }

func checkReadings(t *testing.T, opts Options, cases []reading) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc := mustParse(t, c.src, opts)
			if got := sketch(doc.Root); got != c.want {
				t.Errorf("tree of %q:\n got %s\nwant %s", c.src, got, c.want)
			}
			if got := problems(doc); got != c.problems {
				t.Errorf("problems of %q:\n got %s\nwant %s", c.src, got, c.problems)
			}
		})
	}
}

func TestTagsBecomeElements(t *testing.T) {
	checkReadings(t, Options{}, []reading{
		{"nested with text between", "a <x>b <y>c</y> d</x> e", `"a" x("b" y("c") "d") "e"`, ""},
		{"self-closing", "<x><elicit-required/><br /></x>", `x(elicit-required/ br/)`, ""},
		{"two roots", "<agent>1</agent>\n<agent>2</agent>", `agent("1") agent("2")`, ""},
		{"names of every case and dash", "<Web_Search-2 n='1a'>q</WEB_search-2>", `Web_Search-2[n=1a]("q")`, ""},
		{"tag over several lines", "<if\n  response=\"a\"\n>x</if\n>", `if[response=a]("x")`, ""},
		{"html that has no end", "one<br>two<hr>", `"one" br/ "two" hr/`, ""},
		{"markdown between tags", "# Title\n\n- item\n\n<x>\n## Sub\n1. one\n</x>", `"# Title\n\n- item" x("## Sub\n1. one")`, ""},
		{"comment", "a<!-- <x> & -- > -->b", `"a" "b"`, ""},
		{"cdata", "<p><![CDATA[ <x> &amp; ]] ]]></p>", `p("<x> &amp; ]]")`, ""},
		{"processing instruction", "<?xml version=\"1.0\"?><x/>", `x/`, ""},
		{"entities", "<x a=\"&lt;b&gt; &#39;q&#x22;\">R&amp;D &quot;&apos;&#128640;&rarr;</x>", `x[a=<b> 'q"]("R&D \"'🚀→")`, ""},
		{"front matter", "---\na: <x>\n---\n<y/>", `y/`, ""},
		{"windows line ends", "---\r\na: <x>\r\n---\r\n<y n=\"1\">\r\nz\r\n</y>\r\n", `y[n=1]("z")`, ""},
	})
}

func TestProseStaysText(t *testing.T) {
	for _, src := range []string{
		"a < b && c > d & e", "under <5 minutes", "mail <name@host.org>", "see <https://example.org/a?b=c>",
		"<the project name>", "<", "<<<<", "a <", "</", "</ x>", "< x>", "</5>", "<x", "<x a", "<x a=", "<x =1>",
		"<!-", "<!>", "<!5>", "<? >", "R&D &&lt &unknown; ?a=1&copy=2; &;&#;", "x <y, z>", "<é>",
	} {
		doc := mustParse(t, src, Options{})
		if want := fmt.Sprintf("%q", strings.ReplaceAll(src, "&lt;", "<")); sketch(doc.Root) != want {
			t.Errorf("%q became %s", src, sketch(doc.Root))
		}
	}
}

func TestUnknownNamesStayText(t *testing.T) {
	checkReadings(t, Options{Known: IsInstructionTag}, []reading{
		{"placeholder in an action", "<action>Save <epic>.<story>.md</action>", `action("Save <epic>.<story>.md")`, ""},
		{"unknown pair", "<note>use <kbd>x</kbd></note>", `note("use <kbd>x</kbd>")`, ""},
		{"known tag in an unknown value", "<x y=\"<ask>q</ask>\">", `"<x y=\"" ask("q") "\">"`, ""},
		{"any case", "<WebSearch>q</WebSearch>", `WebSearch("q")`, ""},
	})
}

func TestAttributesAreReadAsMeant(t *testing.T) {
	checkReadings(t, Options{}, []reading{
		{"greater-than", `<x if="a > b && c < d">y</x>`, `x[if=a > b && c < d]("y")`, ""},
		{"newline", "<x desc=\"one\n  two\"/>", "x[desc=one\n  two]/", ""},
		{"other quote", `<x a="it's" b='say "hi"'/>`, `x[a=it's,b=say "hi"]/`, ""},
		{"same quote inside", `<x goal="Say "hello" now" n="1">y</x>`, `x[goal=Say "hello" now,n=1]("y")`, ""},
		{"quotes and greater-than inside", `<x if="a > 5" and "b > 3">y</x>`, `x[if=a > 5" and "b > 3]("y")`, ""},
		{"apostrophe inside", `<x goal='it's time'/>`, `x[goal=it's time]/`, ""},
		{"no blank between", `<x a="1"b="2"/>`, `x[a=1,b=2]/`, ""},
		{"blanks around =", `<x a = "1" />`, `x[a=1]/`, ""},
		{"no quotes", `<x n=1 m=a/b/>`, `x[n=1,m=a/b]/`, "1 unquoted-attribute, 1 unquoted-attribute"},
		{"no value", `<x n="1" optional repeat="3">y</x>`, `x[n=1,optional=,repeat=3]("y")`, "1 bare-attribute"},
		{"twice", "\n<x a='1' A='2'/>", `x[a=1,A=2]/`, "2 duplicate-attribute"},
		{"quote never closed", "<x a=\"one\n<y n=\"1\">two</y>", `"<x a=\"one" y[n=1]("two")`, "1 unterminated"},
	})
}

func TestMistakesAreReportedWhereTheyAre(t *testing.T) {
	checkReadings(t, Options{}, []reading{
		{"never closed", "<a>\n<b>one\n<c>two</c>\n</a>", `a(b! "one" c("two"))`, "2 unclosed-element"},
		{"stray end", "<a>\n</b>x</a>\n</a>", `a("x")`, "2 stray-end-tag, 3 stray-end-tag"},
		{"crossed", "<a><b></a></b>", `a(b!)`, "1 unclosed-element, 1 stray-end-tag"},
		{"comment without end", "<x>1</x>\n<!-- <y>2</y>", `x("1") "<!--" y("2")`, "2 unterminated"},
		{"cdata without end", "<![CDATA[<y>2</y>", `"<![CDATA[" y("2")`, "1 unterminated"},
		{"doctype", "<!DOCTYPE x [<!ENTITY e \"<x>\">]>\n<x>&e;</x>", `"\">]>" x("&e;")`, "1 refused-declaration"},
	})
}

func TestMentionsDoNotSwallowTheStep(t *testing.T) {
	checkReadings(t, Options{}, []reading{
		{"list of tag names", "<step>\nUse <action>, <step> or <ask>.\n<ask>q</ask>\n</step>\n<step>2</step>",
			`step("Use" action! "," step! "or" ask! "." ask("q")) step("2")`,
			"2 unclosed-element, 2 unclosed-element, 2 unclosed-element"},
		{"name within its own element", "<action>Explain:\n- uses <action> tags\n</action>\n<action>x</action>",
			`action("Explain:\n- uses" action! "tags") action("x")`, "2 unclosed-element"},
		{"nested on one line", "<action>Find <action>x</action> and\n</action>", `action("Find" action("x") "and")`, ""},
		{"text before a real element", "<x>so: <ask>one\ntwo</ask></x>", `x("so:" ask("one\ntwo"))`, ""},
		{"attributes make it real", "<if a=\"1\">\n<p>w <if b=\"2\">\nz\n</if></p>\n</if>", `if[a=1](p("w" if[b=2]("z")))`, ""},
		{"after another tag", "<x><y>\n<y>1</y>\n</y></x>", `x(y(y("1")))`, ""},
	})
}

func TestCodeIsNotMarkup(t *testing.T) {
	checkReadings(t, Options{}, []reading{
		{"span", "<x>Use `<y>` and ``<z>`</z>``.</x>", "x(\"Use `<y>` and ``<z>`</z>``.\")", ""},
		{"lone backtick", "<x>a ` b</x>\n`<y/>", "x(\"a ` b\") \"`\" y/", ""},
		{"fence in an element", "<x>\n```xml\n<y>\n```\n<z/></x>", "x(\"```xml\\n<y>\\n```\" z/)", ""},
		{"indented fence of tildes", "<x>\n   ~~~ a\n   <x></x></x>\n   ```\n   ~~~~\n<y/></x>",
			"x(\"~~~ a\\n   <x></x></x>\\n   ```\\n   ~~~~\" y/)", ""},
		{"fence around a root", "# T\n```xml\n<agent>\n```yaml\na: <b>\n```\n</agent>\n```\n<c/>",
			"\"# T\" agent(\"```yaml\\na: <b>\\n```\") c/", ""},
		{"fence without language around a root", "```\n<task>x</task>\n```", `task("x")`, ""},
		{"longer fence around shorter", "````xml\n<a>\n```\n<b>\n```\n</a>\n````", "a(\"```\\n<b>\\n```\")", ""},
		{"fence outside, other language", "```yaml\na: <b>\n```\n<c/>", "\"```yaml\\na: <b>\\n```\" c/", ""},
		{"fence outside, no tag first", "```\nls <b>\n```", "\"```\\nls <b>\\n```\"", ""},
		{"mention before the wrapped root", "Use <step> here.\n```xml\n<agent><step>1</step></agent>\n```",
			`"Use" step! "here." agent(step("1"))`, "1 unclosed-element"},
		{"example after the wrapped root", "```xml\n<a/>\n```yaml\nk: <b>\n```\n<c/>", "a/ \"```yaml\\nk: <b>\\n```\" c/", ""},
		{"fence after an unclosed element", "<a>\n<b>\n<b></b>\n```\n<c/>\n```\n</a>", "a(b! b() \"```\\n<c/>\\n```\")", "2 unclosed-element"},
		{"wrapper without end", "```xml\n<agent>1</agent>", `agent("1")`, ""},
		{"fence without end", "<x>\n```\n<y/></x>", "x(\"```\" y/)", "2 unclosed-fence"},
		{"fence that would hide the end", "<s>\n```\n<t/></s>\n<s>\n```md\nx\n```\n</s>",
			"s(\"```\" t/) s(\"```md\\nx\\n```\")", "2 unclosed-fence"},
	})
}

func TestLimitsAreErrorsWithLines(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("<a>\n", n) + strings.Repeat("</a>", n) }
	attrs := func(n int) string { return "\n<a" + strings.Repeat(" b='1'", n) + "/>" }
	for name, c := range map[string]struct {
		within, beyond string
		line           int
	}{
		"bytes": {strings.Repeat("x", MaxBytes), "\n\n" + strings.Repeat("x", MaxBytes-1), 3},
		"depth": {nested(MaxDepth), nested(MaxDepth + 1), MaxDepth + 1},
		"attrs": {attrs(MaxAttrs), attrs(MaxAttrs + 1), 2},
		"nodes": {strings.Repeat("<a/>\n", MaxNodes/2), strings.Repeat("<a/>\n", MaxNodes/2+1), MaxNodes/2 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			mustParse(t, c.within, Options{})
			_, err := Parse([]byte(c.beyond), Options{})
			limit, ok := errors.AsType[*LimitError](err)
			if !ok || limit.Line != c.line {
				t.Errorf("got %v, want a limit on line %d", err, c.line)
			}
		})
	}
	mustParse(t, "<b "+strings.Repeat("and ", 3*MaxAttrs), Options{}) // prose, whatever its length
	if doc := mustParse(t, strings.Repeat("<a b=\"", 2*maxProblems), Options{}); len(doc.Problems) != maxProblems {
		t.Errorf("%d problems kept, want %d", len(doc.Problems), maxProblems)
	}
}

const agentSource = `---
name: pm
---
` + "```xml" + `
<agent id="a" name="Ann">
  <handlers>
    When a command has: run-workflow="path/to/x.yaml" do it.
  </handlers>
  <persona><role>Lead &amp; <b>guide</b></role></persona>
  <cmds>
    <c cmd="*help">Help</c>
    <c cmd="*go" run-workflow="go.yaml">Go, {name} of <team></c>
  </cmds>
</agent>
` + "```\n"

func TestLookups(t *testing.T) {
	doc := mustParse(t, agentSource, Options{})
	agent := doc.Root.Find("agent")
	if v, ok := agent.Attr("NAME"); v != "Ann" || !ok {
		t.Errorf("Attr = %q, %v", v, ok)
	}
	if _, ok := agent.Attr("icon"); ok {
		t.Error("an attribute that is not there was found")
	}
	if got := agent.Find("Persona", "role").Text(); got != "Lead & guide" {
		t.Errorf("Text = %q", got)
	}
	commands := agent.All("cmds", "c")
	if len(commands) != 2 || len(doc.Root.Named("c", "role")) != 3 || len(agent.All("c")) != 0 {
		t.Errorf("found %d commands", len(commands))
	}
	if last := commands[1]; last.Text() != "Go, {name} of <team>" || last.Inner() != "Go, {name} of <team>" || last.Line != 12 {
		t.Errorf("Text = %q, Inner = %q, line %d", last.Text(), last.Inner(), last.Line)
	}
	if agent.Line != 5 || agent.EndLine != 14 || agent.Find("cmds").InnerLine() != 10 || doc.LineAt(agent.Start) != 5 {
		t.Errorf("agent on lines %d to %d", agent.Line, agent.EndLine)
	}
}

func TestLookupsOnNothingFindNothing(t *testing.T) {
	var none *Node
	if none.Find("a") != nil || none.Text() != "" || none.Inner() != "" || none.Is("") || none.Named("a") != nil {
		t.Error("a nil node has something")
	}
	if _, ok := none.Attr("a"); ok {
		t.Error("a nil node has an attribute")
	}
}

func TestOnlyElementsCountAsCommands(t *testing.T) {
	doc := mustParse(t, agentSource, Options{Known: IsAgentTag})
	var workflows []string
	for _, c := range doc.Root.Named("c", "item") {
		if w, ok := c.Attr("run-workflow"); ok {
			workflows = append(workflows, w)
		}
	}
	if !slices.Equal(workflows, []string{"go.yaml"}) {
		t.Errorf("workflows %q: the handlers only mention one", workflows)
	}
}

func TestFollowingIsWhatACheckAppliesTo(t *testing.T) {
	doc := mustParse(t, "<step><check>If yes:</check> <ask>a</ask><goto step='2'/></step><step/>", Options{})
	var names []string
	for _, n := range doc.Root.Find("step", "check").Following() {
		if n.Kind == Element {
			names = append(names, n.Name)
		}
	}
	if !slices.Equal(names, []string{"ask", "goto"}) {
		t.Errorf("following %q", names)
	}
}

func TestRawKeepsWhatTextUnescapes(t *testing.T) {
	doc := mustParse(t, `<x a="&lt;">1 &lt; 2<br/>3<![CDATA[&lt;]]><!--4--></x>`, Options{})
	x := doc.Root.Find("x")
	if got, want := x.Text(), "1 < 2\n3&lt;"; got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
	if got, want := x.Inner(), "1 &lt; 2<br/>3<![CDATA[&lt;]]><!--4-->"; got != want {
		t.Errorf("Inner = %q, want %q", got, want)
	}
	if x.Attrs[0].Raw != "&lt;" || x.Attrs[0].Value != "<" {
		t.Errorf("Attr = %+v", x.Attrs[0])
	}
}
