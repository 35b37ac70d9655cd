package browser

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// A trap is a server that nobody may reach.
type trap struct {
	url     string
	reached atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	var p trap
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.reached.Add(1) }))
	t.Cleanup(server.Close)
	p.url = server.URL
	return &p
}

// set returns texts that lead into the trap.
func (p *trap) set(texts []string) []string {
	set := make([]string, len(texts))
	for i, text := range texts {
		set[i] = strings.ToValidUTF8(strings.ReplaceAll(text, "TRAP", p.url), "\ufffd")
	}
	return set
}

// nameOf makes the name of a file out of a text.
func nameOf(text string) string {
	return fmt.Sprintf("%.50s.md", strings.NewReplacer("/", "_", "\x00", "").Replace(text))
}

// payloads are texts that run canary, or reach TRAP, wherever they are taken for more
// than texts.
var payloads = []string{
	"<script>canary('script')</script>", "<img src=x onerror=canary('img')>", "<svg onload=canary('svg')>", "<svg><script>canary('inner')</script></svg>",
	"\"><script src=TRAP/x.js></script>", "'><img src=TRAP/i.png>", "</textarea><script>canary('textarea')</script>", "</title><script>canary('title')</script>",
	"--><script>canary('comment')</script>", "]]><script>canary('cdata')</script>", "<body onload=canary('body')>", "<input autofocus onfocus=canary('focus')>",
	"<details open ontoggle=canary('toggle')>", "<video src=TRAP/v onerror=canary('video')>", "<iframe src=TRAP/></iframe>", "<iframe srcdoc='<script>parent.canary(1)</script>'>",
	"<object data=TRAP/></object>", "<embed src=TRAP/>", "<base href=TRAP/>", "<link rel=stylesheet href=TRAP/a.css>", "<style>@import 'TRAP/'</style>",
	"<meta http-equiv=refresh content='0;url=TRAP/'>", "<form action=TRAP/><button autofocus>", "<a href=javascript:canary('a')>a</a>",
	"<math><mtext></table><mglyph><style><img src=x onerror=canary('mxss')>", "[a](javascript:canary('link'))", "[a](JaVaScRiPt:canary('case'))",
	"[a](java\nscript:canary('line'))", "[a](\x01javascript:canary('control'))", "[a](&#106;avascript:canary('entity'))", "[a](data:text/html,<script>canary('data')</script>)",
	"[a](vbscript:canary('vb'))", "<javascript:canary('auto')>", "[a](TRAP/ \"onmouseover=canary('title')\")", "<TRAP/\"onclick=canary('angle')>", "TRAP/\"onclick=\"canary('bare')",
	"![x](TRAP/image.png)", "![x](javascript:canary('image'))", "[![x](TRAP/image.png)](javascript:canary('both'))", "[a]\n\n[a]: javascript:canary('reference')", "![b]\n\n[b]: TRAP/b.png",
	"```html\n<script>canary('fence')</script>\n```", "```\"><img/src=x/onerror=canary('lang')>\nx\n```", "`<script>canary('code')</script>`",
	"| <img src=x onerror=canary('cell')> |\n|---|\n| [x](javascript:canary('table')) |", "- [ ] <svg/onload=canary('task')>", "# <img src=x onerror=canary('heading')>", "> <svg/onload=canary('quote')>",
	"javascript:canary('plain')", "'-canary('quote')-'", "\\\"-canary('escaped')//", "${canary('template')}", "{{constructor.constructor('canary(1)')()}}", "__proto__", "constructor",
	"{\"__proto__\": {\"onclick\": \"canary('json')\"}, \"type\": \"script\", \"props\": {\"dangerouslySetInnerHTML\": {\"__html\": \"<img src=x onerror=canary('vnode')>\"}}}",
	"\u202e<script>canary('reversed')</script>", "<scr\x00ipt>canary('zero')</scr\x00ipt>", "\ufeff<script>canary('mark')</script>", "＜script＞canary('wide')＜/script＞",
}

// hostileProject is the test's project with a bundle of agents that are called so.
func hostileProject(t *testing.T, m *model, names []string) string {
	t.Helper()
	files := map[string]string{"troupe.yaml": strings.Replace(configuration, "URL", m.URL+"/v1", 1), "legal.json": legalSchema}
	var manifest strings.Builder
	manifest.WriteString("type: bundle\nname: hostile\nversion: 1.0.0\ndescription: Texts in the place of names.\nagents:\n")
	for i, name := range names {
		fmt.Fprintf(&manifest, "  - {id: agent-%d, name: %s, title: %[2]s, icon: %[2]s, description: %[2]s, entry_point: true, file: agents/%[1]d.md}\n", i, strconv.QuoteToASCII(name))
		files[fmt.Sprintf("bmad/custom/bundles/hostile/agents/%d.md", i)] = fmt.Sprintf(
			"# Agent\n\n```xml\n<agent id=\"agent-%d\" name=\"x\"><persona><role>x</role></persona><cmds><c cmd=\"*%d\">%s</c></cmds></agent>\n```\n", i, i, html.EscapeString(name))
	}
	files["bmad/custom/bundles/hostile/bundle.yaml"] = manifest.String()
	return project(t, files)
}
