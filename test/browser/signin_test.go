package browser

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// companySignIn starts an OpenID Connect provider by others, with its own pages for signing
// in, whose ID tokens hold no more than they must. People come back to an address.
func companySignIn(t *testing.T, back string) (issuer string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed, and the provider needs it")
	}
	modules := filepath.Join(corpus.ModuleRoot(t), "tools", "npm", "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "oidc-provider")); err != nil {
		t.Skip("oidc-provider is not installed: run make setup")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	var complaint strings.Builder
	provider := exec.CommandContext(t.Context(), node, filepath.Join("testdata", "provider.mjs"), port, modules, back)
	provider.Stderr, provider.WaitDelay = &complaint, 5*time.Second
	out, err := provider.StdoutPipe()
	if err == nil {
		err = provider.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the provider says %q: %s", line, &complaint)
	}
	return "http://127.0.0.1:" + port
}

// signsInAs signs in on the provider's pages.
func (b *tab) signsInAs(name string) {
	b.t.Helper()
	b.click("button", "Sign in with Company")
	b.sees("h1", "Sign-in")
	b.write("input[name=login]", name)
	b.write("input[name=password]", "any")
	b.click("button", "Sign-in")
	b.sees("h1", "Authorize")
	b.click("button", "Continue")
}

// Somebody signs in at a provider, with the button of the page, comes back to the place
// that they wanted to see, works, and signs out.
func TestSomebodySignsInAtAProviderAndOut(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	r := newRelay(t, "http://127.0.0.1/") // where people reach the server, before there is one
	address := strings.TrimSuffix(r.link, "/")
	issuer := companySignIn(t, address+"/auth/callback")
	h := serve(t, project(t, map[string]string{
		".env": "SECRET=the-secret-of-the-client\n",
		"troupe.yaml": strings.Replace("model: stub/stub-1\nproviders: {stub: {base_url: URL, models: {stub-1: {}}}}\nlimits: {model_tries: 1}\nagents: {clerk: {instructions: You are the clerk., skills: false, tools: []}}\n", "URL", m.URL+"/v1", 1) +
			fmt.Sprintf("server:\n  url: %s\n  oidc: {issuer: %q, client_id: troupe, secret_env: SECRET, name: Company, scopes: [groups], groups: [staff], operator_groups: [admins]}\n", address, issuer),
	}))
	r.leadTo(t, h.listens())

	b := newTab(t) // it leaves our origin, as it must
	b.goTo(address + "/#/files")
	b.sees("h1", "Welcome to Troupe")
	b.picture("sign-in-company")
	b.signsInAs("ann")
	b.sees("h1", "Files") // where they wanted to go
	b.sees(".side .foot", "ann@example.org")
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "clerk")
	b.sees(".beginning h2", "clerk")
	b.say("Good morning")
	m.answers(t, "Good morning, Ann.")
	b.reads(answers, "Good morning, Ann.")
	value[any](b, "void (location.hash = '#/settings/people')") // which operators see
	b.sees(".set h2", "People")
	b.signsOut()
	b.sees("button", "Sign in with Company")
	b.do(chromedp.Reload())
	b.sees("h1", "Welcome to Troupe")

	// What was said is there when they come back; the provider still knows them.
	b.click("button", "Sign in with Company")
	b.click(".side .item", "Good morning")
	b.reads(answers, "Good morning, Ann.")
}

// Who is signed in at the provider is not for that reason let in.
func TestAProviderSignsInSomebodyWhoMayNotComeIn(t *testing.T) {
	t.Parallel()
	r := newRelay(t, "http://127.0.0.1/")
	address := strings.TrimSuffix(r.link, "/")
	issuer := companySignIn(t, address+"/auth/callback")
	h := serve(t, project(t, map[string]string{
		".env": "SECRET=the-secret-of-the-client\n",
		"troupe.yaml": "model: rehearsal\nagents: {clerk: {instructions: You are the clerk.}}\n" +
			fmt.Sprintf("server:\n  url: %s\n  oidc: {issuer: %q, client_id: troupe, secret_env: SECRET, name: Company, scopes: [groups], groups: [staff]}\n", address, issuer),
	}))
	r.leadTo(t, h.listens())
	for name, why := range map[string]string{"bob": "in none of the groups", "eve": "not verified"} {
		b := newTab(t)
		b.goTo(address + "/")
		b.signsInAs(name)
		b.sees("h1", "Not signed in")
		b.sees("p", why)
	}
}

// signsOut signs out on the page, and waits for the door.
func (b *tab) signsOut() {
	b.t.Helper()
	value[any](b, "void (location.hash = '#/settings/look')")
	b.click(".rows button", "Sign out")
	b.sees("h1", "Welcome to Troupe")
	if status := until[int](b, "(window.status_ ?? (fetch('api/me').then((r) => { window.status_ = r.status; }), 0))"); status != 401 {
		b.t.Errorf("somebody who has signed out is answered with %d", status)
	}
}

// Whoever came by a link signs out as well, in all tabs, in which nothing is left to be read and
// which say why; and the link lets them in again, in all tabs, where they were.
func TestWhoeverCameByALinkSignsOut(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	link := rehearse(t).link
	before := open(t, link)
	before.sees(".agent", "Mira")
	before.write(".ask textarea", "Half a thought")
	origin, _, _ := strings.Cut(link, "#")
	b := before.beside(origin)
	b.sees(".agent", "Mira")
	b.signsOut()
	before.holds("find('h1', 'Welcome to Troupe') && !document.body.textContent.includes('Mira')")
	before.sees("main .strip", "You are signed out. What you typed is kept in this tab.")
	b.lacks(".strip", "") // who did it knows
	b.write("#code", link)
	b.click("form button", "Come in")
	b.sees(".rows", "Sign out") // where they were
	before.sees(".agent", "Mira")
	before.holds("find('.ask textarea').value === 'Half a thought' && !find('.strip')")
}

// An operator lets somebody in on the page: the file says who, the page gives the link.
func TestAnOperatorLetsSomebodyIn(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	ann := strings.Repeat("a", 40)
	h := serve(t, project(t, map[string]string{
		".env":        "ANN_TOKEN=" + ann + "\n",
		"troupe.yaml": strings.Replace("# Ours.\nmodel: stub/stub-1\nproviders: {stub: {base_url: URL, models: {stub-1: {}}}}\nagents: {clerk: {instructions: You are the clerk., skills: false, tools: []}}\nserver:\n  operators: [ann]\n  users:\n    ann: ANN_TOKEN # me\n", "URL", m.URL+"/v1", 1),
	}))
	h.link = strings.Split(h.link, "#")[0] + "#token=" + ann
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	value[any](b, "void (location.hash = '#/settings/people')")
	b.sees(".rows", "ann")
	b.write("#person-name", "ann")
	b.click("form.add button", "Add")
	b.sees("form.add [role=alert]", "may come in already")
	b.write("#person-name", "Bob") // what is wrong with another name is said of that alone
	b.lacks("form.add", "may come in already")
	b.sees("form.add", "Small letters, digits, - and _")
	b.write("#person-name", "Carol Öz")
	b.click("form.add button", "Add")
	b.sees("form.add [role=alert]", "A person is called by small letters, digits, dashes and underscores")
	b.write("#person-name", "bob")
	b.click("form.add button", "Add")
	link := until[string](b, "find('[aria-label=\"Sign-in link for bob\"]').value")
	b.sees("form.add", "lasting, and is not shown again")
	b.holds("find('form.add button', 'Copy')")
	b.picture("add-somebody")
	b.sees(".set", "Each sees conversations of their own, and documents of their own.")
	b.click(".rows button", "New sign-in link")
	b.sees(".rows", "This link is for a day")
	if file := h.read(t, "troupe.yaml"); !strings.Contains(file, "bob: TROUPE_TOKEN_BOB") || !strings.Contains(file, "# Ours.") || !strings.Contains(file, "# me") {
		t.Errorf("troupe.yaml is now:\n%s", file)
	}
	// He is let in once the configuration was read again.
	bob := &house{dir: h.dir, link: link}
	eventually(t, func() error {
		if status, answer := bob.try(t, "GET", "/api/me", nil); status != 200 || !strings.Contains(answer, `"name":"bob"`) || strings.Contains(answer, `"operator":true`) {
			return fmt.Errorf("bob is answered with %d %s", status, answer)
		}
		return nil
	})
	if status, _ := bob.try(t, "POST", "/api/people", map[string]string{"name": "eve"}); status != 403 {
		t.Errorf("bob, who is no operator, may let people in: %d", status)
	}
	other := open(t, link)
	other.sees(".side .foot", "bob")
	value[any](other, "void (location.hash = '#/settings/people')") // which is not his to see
	other.sees(".set [role=status]", "People is for whoever runs Troupe")
	value[any](b, "void (location.hash = '#/settings/about')")
	b.sees(".set h2", "About")
	b.click(".set button", "Check the installation")
	b.sees(".checks", "troupe.yaml has nothing wrong with it")
	b.holds("/^(All is in order|It works)/.test(find('.set h3[role=status]').innerText)")
	if status, _ := bob.try(t, "POST", "/api/check", nil); status != 403 {
		t.Errorf("bob, who is no operator, may check the installation: %d", status)
	}
	value[any](b, "void (location.hash = '#/settings/people')")
	b.sees(".rows", "Here now")
	b.sees(".rows", "Last here ")
	for _, bad := range []string{"", "Bob", "x: {y: z}", "a.b", strings.Repeat("x", 40), "../x"} {
		if status, answer := h.try(t, "POST", "/api/people", map[string]string{"name": bad}); status != 422 {
			t.Errorf("%q: %d %s", bad, status, answer)
		}
	}
}
