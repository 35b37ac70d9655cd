package project

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
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
	}
	if key != "" {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	address, err := serverAddress(address, !isKnown)
	if err != nil {
		return err
	}
	values := map[string]string{"providers." + name + ".base_url": address}
	if key != "" && s.stage.project.models.Configured()[name].KeyEnv == "" {
		values["providers."+name+".key_env"] = strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_API_KEY"
	}
	if err := s.stage.project.changeConfig(values); err != nil {
		return err
	}
	if err := s.reread(); err != nil {
		return err
	}
	if key == "" {
		return nil
	}
	return s.storeKey(name, key, by)
}

// reread has models that are opened from now on be where troupe.yaml says now.
func (s *settings) reread() error {
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
	return nil
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

// RemoveProvider implements [server.Settings]: it takes the key out of .env and providers.NAME
// out of troupe.yaml, whose comments stay. The key goes first: whoever is killed in between
// can still name the provider, and removes it again.
func (s *settings) RemoveProvider(_ context.Context, name string) error {
	if !slices.Contains(s.stage.project.models.Providers(), name) {
		return gone("the provider", name)
	}
	p := s.provider(name)
	switch {
	case !p.IsSetUp:
		return gone("the provider", p.Title)
	case len(p.UsedBy) > 0:
		return fmt.Errorf("models of %s are in use: %s. Choose others there first", p.Title, usersInWords(p.UsedBy))
	case p.Kept != "":
		return fmt.Errorf("%s cannot be removed here: %s", p.Title, p.Kept)
	}
	var gone []string
	if p.KeyKept == "" {
		gone = s.keyVariables(name)
	}
	if err := s.forget(name, gone); err != nil {
		return err
	}
	if err := errors.Join(s.reread(), s.noteRefusal(name, nil)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, variable := range gone {
		s.keys[variable] = ""
	}
	known := s.keysSet()
	if _, noted := known[name]; !noted {
		return nil
	}
	delete(known, name)
	return s.writeKeysSet(known)
}

// forget changes both files or none.
func (s *settings) forget(name string, variables []string) (err error) {
	held, err := config.Hold(s.stage.project.dir, s.stage.project.lookup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	var undone []func() error
	for _, variable := range variables {
		undo, failure := held.RemoveVariable(variable)
		undone = append(undone, undo)
		err = errors.Join(err, failure)
	}
	if err == nil {
		err = inWords(held.Remove([]string{"providers", name}))
	}
	if err == nil {
		return nil
	}
	for _, undo := range slices.Backward(undone) {
		err = errors.Join(err, undo())
	}
	return err
}

// usersOf are the settings that name a model of a provider, as the configuration has them, the
// command line and the environment.
func (s *settings) usersOf(name string) (users []string) {
	s.mu.Lock()
	refs := maps.Clone(s.values)
	s.mu.Unlock()
	maps.DeleteFunc(refs, func(key, _ string) bool { return !strings.HasSuffix(key, "model") })
	refs["--model"] = s.stage.project.models.Flag
	refs["TROUPE_MODEL"] = s.stage.project.models.Getenv("TROUPE_MODEL")
	for _, key := range slices.Sorted(maps.Keys(refs)) {
		for ref := range strings.SplitSeq(refs[key], ",") {
			from, _, _ := strings.Cut(strings.TrimSpace(ref), "/")
			known, isKnown := provider.Find(from)
			if from == name || isKnown && known.Name == name {
				users = append(users, key)
				break
			}
		}
	}
	return users
}

// keyVariables are all variables that a provider's key is looked for in.
func (s *settings) keyVariables(name string) []string {
	if configured := s.stage.project.models.Configured()[name]; configured.KeyEnv != "" {
		return []string{configured.KeyEnv}
	}
	known, _ := provider.Find(name)
	return known.KeyEnv
}

// kept says why a provider cannot be removed, and why its key would stay.
func (s *settings) kept(name string, isKnown bool) (whole, key string) {
	for _, variable := range s.keyVariables(name) {
		if value, ok := s.stage.project.environment(variable); ok && value != "" {
			key = "the environment variable " + variable + " is set where the server was started"
			if isKnown { // which is all that it takes
				whole = key + ", and decides"
			}
			return whole, key
		}
		if s.isNamedElsewhere(variable, name) {
			return "", variable + " is used elsewhere in " + config.Name
		}
	}
	return "", ""
}

// isNamedElsewhere reports whether troupe.yaml names a variable outside of a provider.
func (s *settings) isNamedElsewhere(variable, name string) bool {
	inAll, err := config.Mentions(s.stage.project.dir, variable)
	if err != nil {
		return true // what cannot be read may need it
	}
	inOwn, err := config.Mentions(s.stage.project.dir, variable, "providers", name)
	return err != nil || inAll > inOwn
}
