package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-dev/troupe/internal/suggest"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// patience is how long a provider may take to answer.
const patience = 3 * time.Second

// maxList bounds the list of models that a provider sends, in bytes.
const maxList = 4 << 20

// Provider asks a model server for its models. Messages name its host and nothing
// else of its address, which may hold a key.
func Provider(ctx context.Context, e models.Endpoint) Check {
	name := "provider " + e.Provider
	broken := func(message, fix string) Check { return Check{Name: name, Status: Broken, Message: message, Fix: fix} }
	address, err := url.Parse(e.BaseURL)
	if err != nil {
		return broken("its base URL is not a URL", "set providers."+e.Provider+".base_url in troupe.yaml")
	}
	host := address.Host
	resp, err := ask(ctx, e)
	if err != nil {
		message, fix := explain(err, host, e)
		return broken(message, fix)
	}
	defer resp.Body.Close()
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusBadRequest && e.API == provider.Gemini: // Google's status for a wrong key
		refused := func(state KeyState, message, fix string) Check {
			return Check{Name: name, Status: Broken, Message: message, Fix: fix, Key: state}
		}
		if e.KeyEnv == "" {
			return refused(KeyWanted, fmt.Sprintf("%s wants a key (%d)", host, status), "set providers."+e.Provider+".key_env in troupe.yaml to the variable that holds it")
		}
		state := KeyDenied
		if status == http.StatusUnauthorized {
			state = KeyRefused
		}
		return refused(state, fmt.Sprintf("%s refuses the key in %s (%d)", host, e.KeyEnv, status), "put a valid key into "+e.KeyEnv)
	case status >= 500:
		return Check{Name: name, Status: Warning, Message: fmt.Sprintf("%s answers with an error of its own (%d)", host, status), Fix: "try again later"}
	case status == http.StatusNotFound && hasModelsBelow(ctx, e, address):
		return broken(fmt.Sprintf("there is nothing at %s, and models at %s", host+address.Path, host+strings.TrimRight(address.Path, "/")+"/v1"), "add /v1 to "+addressOf(e))
	case status >= 300:
		// Not every server lists its models; that it answers is enough.
		return Check{Name: name, Status: OK, Message: fmt.Sprintf("%s answers, and lists no models (%d)", host, status)}
	}
	body := bufio.NewReader(io.LimitReader(resp.Body, maxList))
	if isPage(body) {
		return Check{Name: name, Status: Warning, Message: host + " answers with a web page, not as an API does", Fix: "check " + addressOf(e) + ": most end in /v1"}
	}
	return hasModel(Check{Name: name, Status: OK, Message: host + " answers"}, &e, body)
}

// isPage reports whether an answer is a page for people.
func isPage(body *bufio.Reader) bool {
	begun, _ := body.Peek(512) // of a shorter one, what there is
	return bytes.HasPrefix(bytes.TrimSpace(begun), []byte("<"))
}

func ask(ctx context.Context, e models.Endpoint) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	resp, err := e.Get(ctx, "/models", nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &released{resp.Body, cancel}
	return resp, nil
}

// released is a body whose closing also ends the request's context.
type released struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (r *released) Close() error {
	defer r.cancel()
	return r.ReadCloser.Close()
}

// addressOf says where the address of a provider is set.
func addressOf(e models.Endpoint) string {
	return cmp.Or(e.URLEnv, "providers."+e.Provider+".base_url in troupe.yaml")
}

// hasModelsBelow reports whether /v1 is missing at the end of the address, as it often is.
func hasModelsBelow(ctx context.Context, e models.Endpoint, address *url.URL) bool {
	if strings.HasSuffix(strings.TrimRight(address.Path, "/"), "/v1") {
		return false
	}
	below := *address
	below.Path = strings.TrimRight(address.Path, "/") + "/v1"
	e.BaseURL = below.String()
	resp, err := ask(ctx, e)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// explain says what a request failed of, in words that lead somewhere.
func explain(err error, host string, e models.Endpoint) (message, fix string) {
	address := addressOf(e)
	local := "is the server running? Otherwise check " + address
	if e.Provider == "ollama" {
		local = "is the server running? 'ollama serve' starts it. Otherwise check " + cmp.Or(e.URLEnv, "OLLAMA_HOST")
	}
	isHTTP := strings.HasPrefix(e.BaseURL, "http://")
	_, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + host, local
	case errors.Is(err, context.DeadlineExceeded) && e.IsLocal():
		return fmt.Sprintf("nothing answered at %s within %s", host, patience), local
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%s did not answer within %s", host, patience), "are you offline, or behind a proxy (HTTPS_PROXY)?"
	case isDNS:
		return host + " is not known", "are you offline? Otherwise check the address"
	case wire.IsPlain(err):
		return host + " speaks http, not https", "write http:// in place of https:// in " + address
	case isHTTP && wire.IsTLS(err):
		return host + " speaks https, not http", "write https:// in place of http:// in " + address
	case isHTTP && wire.HungUp(err):
		return host + " closed the connection without an answer", "if it speaks https, write https:// in place of http:// in " + address + "; otherwise its log says more"
	case strings.Contains(err.Error(), "certificate"):
		return "the certificate of " + host + " is not trusted", "check the address, and whether a proxy replaces certificates"
	}
	return host + " cannot be reached", "are you offline? Otherwise check the address"
}

// hasModel adds a warning where the server lists models and the chosen one is not
// among them.
func hasModel(c Check, e *models.Endpoint, body io.Reader) Check {
	model := e.Model
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil || len(list.Data) == 0 {
		return c
	}
	var names []string
	if model == "" {
		c.Message += fmt.Sprintf(" and has %d models", len(list.Data))
		return c
	}
	for _, m := range list.Data {
		if m.ID == model || strings.TrimSuffix(m.ID, ":latest") == model || strings.HasPrefix(m.ID, model+"-20") { // a name without its date
			c.Message += " and has " + model
			return c
		}
		names = append(names, m.ID)
	}
	c.Status = Warning
	c.Message += fmt.Sprintf(" and does not list %s among its %d models", model, len(names))
	c.Fix = "choose another model" + suggest.Hint(model, names)
	if e.Provider == "ollama" {
		c.Fix = "'ollama pull " + model + "' gets it; or " + c.Fix
	}
	return c
}
