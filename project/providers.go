package project

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/project/internal/config"
)

// providerName is what a server that somebody adds may be called.
var providerName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// SetAddress implements [server.Settings]: it writes providers.NAME of troupe.yaml, whose
// comments stay, and the key to .env. Models that are opened from then on are there.
func (s *settings) SetAddress(_ context.Context, name, address, key, by string) error {
	known, isKnown := provider.Find(name)
	key = strings.TrimSpace(key)
	switch {
	case !providerName.MatchString(name):
		return errors.New("a name has small letters, digits, - and _, and begins with a letter")
	case isKnown && !known.Local:
		return fmt.Errorf("%s is known, and its address too; give this server another name", known.Title)
	case key != "" && !looksLikeKey(key):
		return errNoKey
	}
	address, err := serverAddress(address, !isKnown)
	if err != nil {
		return err
	}
	values := map[string]string{"providers." + name + ".base_url": address}
	if key != "" && s.stage.project.models.Configured()[name].KeyEnv == "" {
		values["providers."+name+".key_env"] = strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_API_KEY"
	}
	if err := config.Change(s.stage.project.dir, values, s.stage.project.lookup); err != nil {
		return err
	}
	now, err := config.Load(s.stage.project.dir, s.stage.project.lookup)
	if err != nil {
		return err
	}
	s.stage.project.models.Configure(now.Providers)
	s.stage.mu.Lock()
	clear(s.stage.agents) // who knows the address of before
	s.stage.mu.Unlock()
	s.mu.Lock()
	s.asked = time.Time{} // other models may be there now
	s.mu.Unlock()
	if key == "" {
		return nil
	}
	return s.storeKey(name, key, by)
}

// serverAddress is an address as people write it, with what they leave out: http://, and
// the /v1 of servers that speak OpenAI's API.
func serverAddress(text string, isOpenAI bool) (string, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" {
		return "", errors.New("this is no address of a server; one looks like http://localhost:8000/v1")
	}
	if at.User != nil || at.RawQuery != "" {
		return "", errors.New("an address has no password and no query; a key has a field of its own")
	}
	at.Path = strings.TrimSuffix(strings.TrimSuffix(at.Path, "/"), "/chat/completions")
	if at.Path == "" && isOpenAI {
		at.Path = "/v1"
	}
	return at.String(), nil
}
