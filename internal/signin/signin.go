// Package signin signs people in with OpenID Connect: at a provider such as Keycloak,
// Entra ID, Google or Okta, by the authorization code flow with PKCE. Who is signed in
// is in a sealed cookie, so that every server with the same client secret knows them.
package signin

import (
	"cmp"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// The paths that [Desk.Handler] serves.
const (
	Path         = "/auth/"
	LoginPath    = "/auth/login"
	callbackPath = "/auth/callback"
	LogoutPath   = "/auth/logout"
)

// A Config says where people sign in, and who they are then.
type Config struct {
	// Issuer is the provider's address, and ClientID and Secret what it knows us by.
	Issuer, ClientID, Secret string
	// URL is where people reach the server.
	URL string
	// Name is what people call the provider. Default: the issuer's host.
	Name string
	// UserClaim has the user's name. Default: email.
	UserClaim string
	// GroupsClaim has the groups. Default: groups.
	GroupsClaim string
	// Groups may use the server. Default: whoever the provider signs in.
	Groups []string
	// Scopes are asked for beside openid, profile and email.
	Scopes []string
	// Session is how long somebody stays signed in. Default: 12 hours.
	Session time.Duration
	// Client asks the provider. Default: one with a limit in time.
	Client *http.Client
	// Now is the time. Default: time.Now.
	Now func() time.Time
}

// A Person is somebody who is signed in.
type Person struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
	// Until is when they have to sign in again.
	Until time.Time `json:"until"`
}

// A Desk signs people in. It may be used concurrently.
type Desk struct {
	config Config
	base   *url.URL
	seal   cipher.AEAD

	mu       sync.Mutex
	provider *oidc.Provider
}

const (
	usualSession = 12 * time.Hour
	askTimeout   = 10 * time.Second
)

// New returns a desk. The provider is asked when the first one signs in.
func New(c Config) (*Desk, error) {
	for name, value := range map[string]string{"issuer": c.Issuer, "client_id": c.ClientID, "the client's secret": c.Secret, "server.url": c.URL} {
		if value == "" {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	base, err := url.Parse(strings.TrimSuffix(c.URL, "/"))
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("server.url: %q is no address such as https://troupe.example.org", c.URL)
	}
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Host == "" {
		return nil, fmt.Errorf("issuer: %q is no address such as https://login.example.org/realms/company", c.Issuer)
	}
	c.UserClaim, c.GroupsClaim, c.Name = cmp.Or(c.UserClaim, "email"), cmp.Or(c.GroupsClaim, "groups"), cmp.Or(c.Name, issuer.Hostname())
	c.Session = cmp.Or(c.Session, usualSession)
	if c.Client == nil {
		c.Client = &http.Client{Timeout: askTimeout}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	seal, err := newSeal(c.Secret)
	if err != nil {
		return nil, err
	}
	return &Desk{config: c, base: base, seal: seal}, nil
}

// Name is what people call the provider.
func (d *Desk) Name() string { return d.config.Name }

// ask returns the provider, which is looked up once it can be.
func (d *Desk) ask(ctx context.Context) (*oidc.Provider, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.provider != nil {
		return d.provider, nil
	}
	// The keys are fetched later, too, when this request has ended.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), d.config.Client), d.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the provider at %s cannot be asked: %w", d.config.Issuer, err)
	}
	d.provider = found
	return found, nil
}

func (d *Desk) client(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: d.config.ClientID, ClientSecret: d.config.Secret, Endpoint: p.Endpoint(),
		RedirectURL: d.base.String() + callbackPath, Scopes: append([]string{oidc.ScopeOpenID, "profile", "email"}, d.config.Scopes...),
	}
}

var (
	errNobody  = errors.New("nobody is signed in")
	errExpired = errors.New("the sign-in has run out")
)

// Who says who sends a request: by the cookie, or by an ID token of the provider's for
// this server, which programs may send as a bearer token.
func (d *Desk) Who(r *http.Request) (Person, error) {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") && strings.Count(token, ".") == 2 {
		claims, err := d.verify(r.Context(), token, "")
		if err != nil {
			return Person{}, err
		}
		person, err := d.personOf(claims)
		if err != nil {
			return Person{}, err
		}
		return person, nil
	}
	cookie, err := r.Cookie(d.cookieName())
	if err != nil {
		return Person{}, errNobody
	}
	var person Person
	if err := d.open(cookie.Value, "session", &person); err != nil {
		return Person{}, errNobody
	}
	if d.config.Now().After(person.Until) {
		return Person{}, errExpired
	}
	return person, nil
}

// verify reads an ID token: signed by the provider, for us, not run out, and, where a
// nonce is given, made for it.
func (d *Desk) verify(ctx context.Context, raw, nonce string) (claims map[string]any, err error) {
	provider, err := d.ask(ctx)
	if err != nil {
		return nil, err
	}
	token, err := provider.Verifier(&oidc.Config{ClientID: d.config.ClientID, Now: d.config.Now}).Verify(oidc.ClientContext(ctx, d.config.Client), raw)
	if err != nil {
		return nil, fmt.Errorf("the provider's token is not right: %w", err)
	}
	if nonce != "" && token.Nonce != nonce {
		return nil, errors.New("the provider's token was made for another sign-in")
	}
	if err := token.Claims(&claims); err != nil {
		return nil, fmt.Errorf("the provider's token cannot be read: %w", err)
	}
	return claims, nil
}

// complete adds what the provider says of somebody only where it is asked: many have
// little more than a number in their ID tokens. What is in the token stands.
func (d *Desk) complete(ctx context.Context, provider *oidc.Provider, token *oauth2.Token, claims map[string]any) error {
	_, hasUser := claims[d.config.UserClaim]
	_, hasGroups := claims[d.config.GroupsClaim]
	if hasUser && hasGroups || provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := provider.UserInfo(oidc.ClientContext(ctx, d.config.Client), oauth2.StaticTokenSource(token))
	var more map[string]any
	if err == nil {
		err = info.Claims(&more)
	}
	switch {
	case err != nil && hasUser:
		return nil // it is known who they are, and without groups they may do no more
	case err != nil:
		return fmt.Errorf("the provider does not say who you are: its token has no %s, and its userinfo endpoint cannot be asked: %w", d.config.UserClaim, err)
	case info.Subject != claims["sub"]:
		return errors.New("the provider speaks of somebody else than its token does")
	}
	for name, value := range more {
		if _, said := claims[name]; !said {
			claims[name] = value
		}
	}
	return nil
}

// personOf says who somebody is, by what the provider says of them: with an error, too, that
// keeps them out.
func (d *Desk) personOf(claims map[string]any) (Person, error) {
	user, _ := claims[d.config.UserClaim].(string)
	if user = strings.TrimSpace(user); user == "" {
		return Person{}, fmt.Errorf("the provider does not say who you are: it has no %s; set user_claim to a claim that it has, or scopes to what it takes to have it", d.config.UserClaim)
	}
	if verified, said := claims["email_verified"].(bool); d.config.UserClaim == "email" && said && !verified {
		return Person{User: user}, errors.New("your e-mail address is not verified at the provider")
	}
	person := Person{User: user, Until: d.config.Now().Add(d.config.Session)}
	switch groups := claims[d.config.GroupsClaim].(type) {
	case string:
		person.Groups = []string{groups}
	case []any:
		for _, group := range groups {
			if name, ok := group.(string); ok {
				person.Groups = append(person.Groups, name)
			}
		}
	}
	if len(d.config.Groups) > 0 && !slices.ContainsFunc(person.Groups, func(g string) bool { return slices.Contains(d.config.Groups, g) }) {
		return Person{User: user}, fmt.Errorf("%s is in none of the groups that may use this server; ask whoever runs it", user)
	}
	return person, nil
}
