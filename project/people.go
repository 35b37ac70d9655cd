package project

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/server"
)

// personName is what somebody whom the page adds may be called: the name stands in
// troupe.yaml, in the name of a variable, and in the log.
var personName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// addPerson is [server.Config.AddPerson]: it names the person in troupe.yaml and puts a
// token for them into .env, which nobody but the server's user can read. The server that
// runs knows them once it has read both again.
func (s *settings) addPerson(_ context.Context, name string) (token string, err error) {
	p := s.stage.project
	if len(p.config.Server.Users) == 0 {
		return "", fmt.Errorf("this server has one person, whose conversations would be nobody's if there were several: name yourself under server.users in %s first, and start it anew", config.Name)
	}
	if !personName.MatchString(name) {
		return "", errors.New("a person is called by small letters, digits, dashes and underscores, such as ann")
	}
	if _, known := p.config.Server.Users[name]; known {
		return "", fmt.Errorf("%s may come in already: make a sign-in link for them in the list", name)
	}
	variable := "TROUPE_TOKEN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if value, ok := p.environment(variable); ok && value != "" {
		return "", fmt.Errorf("the environment variable %s is set where the server was started, and decides: name the person in %s", variable, config.Name)
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	token = hex.EncodeToString(secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := config.Hold(p.dir, p.lookup)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	now, err := held.Load() // somebody may have been faster, who has given them another token
	if err != nil {
		return "", inWords(fmt.Errorf("%w: %w", config.ErrWrongBefore, err))
	}
	if _, known := now.Server.Users[name]; known {
		return "", fmt.Errorf("%w: %s may come in already. Make a sign-in link for them in the list", server.ErrStale, name)
	}
	// The token first: a person without one would keep the server from reading its
	// configuration again.
	if err := held.SetVariable(variable, token); err != nil {
		return "", err
	}
	s.keys[variable] = token
	return token, inWords(held.Change(map[string]string{"server.users." + name: variable}))
}

// removePerson is [server.Config.RemovePerson]: it takes the person out of troupe.yaml and their
// token out of .env. The line goes first: with it alone, the server could not read its
// configuration again.
func (s *settings) removePerson(_ context.Context, name string) (err error) {
	p := s.stage.project
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := config.Hold(p.dir, p.lookup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	now, err := held.Load()
	if err != nil {
		return inWords(fmt.Errorf("%w: %w", config.ErrWrongBefore, err))
	}
	variable, known := now.Server.Users[name]
	if !known {
		return gone("the person", name)
	}
	delete(now.Server.Users, name)
	if !slices.ContainsFunc(now.Server.Operators, func(one string) bool { return now.Server.Users[one] != "" }) {
		return fmt.Errorf("without %s nobody could change settings any more: name another operator under server.operators in %s first", name, config.Name)
	}
	for _, q := range now.Queues {
		if slices.Contains(q.Users, name) {
			return fmt.Errorf("the queue %s in %s is for %s: take the name out of its users there first", q.Name, config.Name, name)
		}
	}
	if err := inWords(held.RemoveUser(name)); err != nil {
		return err
	}
	if n, err := config.Mentions(p.dir, variable); err != nil || n > 0 {
		return err // it is used for something else
	}
	if _, err := held.RemoveVariable(variable); err != nil {
		return fmt.Errorf("%s may not come in any more, but the token is still in .env as %s: %w", name, variable, err)
	}
	s.keys[variable] = ""
	return nil
}

// addExamples is [server.Config.AddExamples]: it writes what [Init] does.
func (s *settings) addExamples(context.Context) error {
	p := s.stage.project
	if len(p.agentIDs()) > 0 {
		return errors.New("there are agents already: the examples are for a project that has none")
	}
	made, _, err := Init(p.dir)
	if err == nil && len(made) == 0 {
		err = errors.New("the files of the examples are there already, and yet there are no agents: 'troupe lint' says what is wrong with them")
	}
	return err
}
