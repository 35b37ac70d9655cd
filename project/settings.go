package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
	"github.com/troupe-dev/troupe/model/provider"
	"github.com/troupe-dev/troupe/model/rehearsal"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/server"
)

// settings are what operators see and change on the page: values of troupe.yaml, and
// keys, which go to .env. What is changed holds for runs that begin from then on.
type settings struct {
	stage *stage

	mu sync.Mutex
	// values are those of troupe.yaml that the page may change, as they are now.
	values map[string]string
	// keys are those that were set here, by their variables; those that were removed are empty.
	keys map[string]string
	// models are those that providers have offered, when they were last asked.
	models []server.Model
	asked  time.Time
}

// monthKey is the setting of what everything together may cost in a month.
const monthKey = "server.month_cost"

// limitKeys are the settings of limits that the page shows.
var limitKeys = []string{monthKey, "limits.cost", "limits.time", "limits.turns", "limits.tokens"}

func newSettings(s *stage) *settings {
	c := s.project.config
	made := &settings{stage: s, values: map[string]string{"model": strings.Join(c.Model, ", ")}, keys: map[string]string{}}
	for id, agent := range c.Agents {
		if len(agent.Model) > 0 {
			made.values["agents."+id+".model"] = strings.Join(agent.Model, ", ")
		}
	}
	made.values[monthKey] = plainNumber(c.Server.MonthCost)
	if l := c.Limits; l != (config.Limits{}) {
		for key, text := range map[string]string{"limits.cost": plainNumber(l.Cost), "limits.turns": plainNumber(float64(l.Turns)), "limits.tokens": plainNumber(float64(l.Tokens))} {
			made.values[key] = text
		}
		if l.Time != 0 {
			made.values["limits.time"] = l.Time.String()
		}
	}
	next := s.project.models.Getenv
	s.project.models.Getenv = func(name string) string {
		made.mu.Lock()
		defer made.mu.Unlock()
		if key, changed := made.keys[name]; changed {
			return key
		}
		return next(name)
	}
	return made
}

// plainNumber writes a number, and nothing for 0.
func plainNumber(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// monthBudget is [server.Config.MonthBudget], as it was set here or in troupe.yaml.
func (s *settings) monthBudget() float64 {
	budget, err := strconv.ParseFloat(s.value(monthKey), 64)
	if err != nil {
		return 0 // there is none: what is no number is refused before it gets here
	}
	return budget
}

// choose is the choice of an agent's model: as the command line says, as was set here,
// or as usual.
func (s *settings) choose(id string) models.Choice {
	chooser := &s.stage.project.models
	if chooser.Flag != "" {
		return chooser.For(id)
	}
	s.mu.Lock()
	own, everyone, all := s.values["agents."+id+".model"], s.values["agents."+config.Everyone+".model"], s.values["model"]
	s.mu.Unlock()
	if refs := cmp.Or(own, everyone, all); refs != "" {
		return models.NewChoice(refs, config.Name)
	}
	return s.unset().For(id)
}

// unset chooses where neither troupe.yaml nor the command line does.
func (s *settings) unset() *models.Chooser {
	chooser := &s.stage.project.models
	return &models.Chooser{Config: &config.Config{Providers: chooser.Configured()}, Getenv: chooser.Getenv, Client: chooser.Client, Log: chooser.Log, Local: chooser.Local}
}

// Step implements [server.Models].
func (s *settings) Step(ctx context.Context, name, model string) (troupe.Step, error) {
	return s.stage.stepWith(ctx, name, "", chosen(model))
}

// Models implements [server.Models]: those that are in use, that the configuration
// names, and that the providers which are set up have.
func (s *settings) Models(ctx context.Context) ([]server.Model, error) {
	p := s.stage.project
	usual := s.choose("").Ref
	users := map[string][]string{usual: nil}
	for _, id := range p.agentIDs() {
		if ref := s.choose(id).Ref; ref != usual {
			users[ref] = append(users[ref], id)
		}
	}
	known := []string{rehearsal.Name}
	for name, c := range p.models.Configured() {
		for model := range c.Models {
			known = append(known, name+"/"+model)
		}
	}
	for _, ref := range known {
		if _, ok := users[ref]; !ok {
			users[ref] = nil // known, and used by nobody
		}
	}
	var list []server.Model
	for _, ref := range slices.Sorted(maps.Keys(users)) {
		list = append(list, s.describe(ref, ref == usual, users[ref]))
	}
	for _, m := range s.offered(ctx) {
		if _, listed := users[m.ID]; !listed {
			list = append(list, m)
		}
	}
	return list, nil
}

const (
	// askWithin is how long the servers may take to say which models they have, and
	// knownFor how long that holds.
	askWithin = 2 * time.Second
	knownFor  = time.Minute
)

// offered lists the models of the providers that could be used as things are.
func (s *settings) offered(ctx context.Context) []server.Model {
	s.mu.Lock()
	known, at := s.models, s.asked
	s.mu.Unlock()
	if time.Since(at) < knownFor {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	chooser := &s.stage.project.models
	known = nil
	for _, l := range chooser.Offered(ctx) {
		name, _, _ := strings.Cut(l.Ref, "/")
		m := server.Model{ID: l.Ref, Provider: name, Window: l.Window, Available: l.Problem == "", Reason: withoutModel(l.Problem)}
		if l.In != nil && l.Out != nil {
			m.Price = &server.Price{Input: *l.In, Output: *l.Out}
		}
		known = append(known, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models, s.asked = known, time.Now()
	return known
}

// describe says what is known of a model.
func (s *settings) describe(ref string, usual bool, agents []string) server.Model {
	from, _, _ := strings.Cut(ref, "/")
	m := server.Model{ID: ref, Provider: from, Usual: usual, Agents: agents, Available: true}
	opened, err := s.stage.project.models.Open(models.NewChoice(ref, "the page"))
	if err != nil {
		m.Available, m.Reason = false, unavailable(err)
	}
	m.Window = opened.Window
	if opened.Price.Known() && !opened.IsAssumedFree {
		m.Price = &server.Price{Input: opened.Price.Input, CachedInput: opened.Price.CachedInput, Output: opened.Price.Output}
	}
	if ref == rehearsal.Name {
		m.Provider, m.Local, m.Price = "no model: plays workflows by rule", true, &server.Price{}
	}
	return m
}

// Settings implements [server.Settings].
func (s *settings) Settings(context.Context) ([]server.Setting, error) {
	chooser := &s.stage.project.models
	list := []server.Setting{{Key: "model", Value: s.value("model"), Usual: s.unset().For("").Ref}}
	for _, id := range s.stage.project.agentIDs() {
		key := "agents." + id + ".model"
		list = append(list, server.Setting{Key: key, Value: s.value(key)})
	}
	if chooser.Flag != "" { // for everybody, whatever the file says
		for i := range list {
			list[i].Value, list[i].Locked = chooser.Flag, "--model on the command line decides"
		}
	}
	for _, key := range limitKeys {
		list = append(list, server.Setting{Key: key, Value: s.value(key), Usual: map[string]string{"limits.turns": "50"}[key]})
	}
	return list, nil
}

func (s *settings) value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// Change implements [server.Settings]: it writes troupe.yaml, whose comments stay.
func (s *settings) Change(ctx context.Context, values map[string]string) error {
	known, err := s.Settings(ctx)
	if err != nil {
		return err
	}
	read, written := map[string]string{}, maps.Clone(values) // as they will be when the file is read again, and in the file
	for key, value := range values {
		at := slices.IndexFunc(known, func(k server.Setting) bool { return k.Key == key })
		if at < 0 {
			return fmt.Errorf("%q is no setting that the page changes", key)
		}
		if known[at].Locked != "" {
			return fmt.Errorf("this cannot be changed here: %s", known[at].Locked)
		}
		if read[key], err = limitOf(key, value); err != nil {
			return err
		}
		if key != "limits.time" { // 90m stays so; 010 is 8 in YAML
			written[key] = read[key]
		}
		if strings.HasSuffix(key, "model") && value != "" {
			if _, err := s.stage.project.models.Open(models.NewChoice(value, config.Name)); err != nil {
				return err
			}
		}
	}
	if err := s.stage.project.changeConfig(written); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.values, read)
	s.limit(read)
	return nil
}

// Providers implements [server.Settings].
func (s *settings) Providers(context.Context) ([]server.Provider, error) {
	var list []server.Provider
	for _, name := range s.stage.project.models.Providers() {
		list = append(list, s.provider(name))
	}
	return list, nil
}

// provider says what there is of a provider, without its key.
func (s *settings) provider(name string) server.Provider {
	variable := s.keyVariable(name)
	p := server.Provider{Name: name, Title: name, NeedsKey: variable != "", HasKey: variable != "" && s.stage.project.models.Getenv(variable) != ""}
	_, configured := s.stage.project.models.Configured()[name]
	p.IsSetUp = configured || p.HasKey
	if set, ok := s.keysSet()[name]; ok && p.HasKey {
		p.KeyBy, p.KeyAt = set.By, &set.At
	}
	if value, ok := s.stage.project.environment(variable); ok && value != "" && variable != "" {
		p.KeyFixed = "the environment variable " + variable + ", which was set where the server was started, decides"
	}
	at, _ := s.stage.project.models.Endpoint(models.NewChoice(name, "the page")) // without a key, the address is known too
	p.BaseURL = withoutSecrets(cmp.Or(at.BaseURL, s.stage.project.models.Configured()[name].BaseURL))
	p.KeyVariable, p.API = variable, string(at.API)
	if refused, ok := s.refusals()[name]; ok && refused.Of == keySum(at) {
		p.State, p.Detail = "key_refused", refused.Detail
	}
	if known, ok := provider.Find(name); ok {
		p.Title, p.Local, p.Known = cmp.Or(known.Title, name), known.Local, true
	}
	if p.IsSetUp {
		p.UsedBy = s.usersOf(name)
		p.Kept, p.KeyKept = s.kept(name, p.Known)
	}
	return p
}

// withoutSecrets is an address without the password and the query that may be in it.
func withoutSecrets(address string) string {
	at, err := url.Parse(address)
	if err != nil {
		return ""
	}
	at.User, at.RawQuery = nil, ""
	return at.String()
}

func (s *settings) keyVariable(name string) string {
	variable := ""
	if known, ok := provider.Find(name); ok && !known.Local && len(known.KeyEnv) > 0 {
		variable = known.KeyEnv[0]
		for _, other := range known.KeyEnv {
			if s.stage.project.models.Getenv(other) != "" {
				variable = other
				break
			}
		}
	}
	configured, ok := s.stage.project.models.Configured()[name]
	if ok && configured.KeyEnv == "" && configured.BaseURL != "" {
		return ""
	}
	return cmp.Or(configured.KeyEnv, variable)
}

// SetKey implements [server.Settings]. A key that the provider refuses does not take the place
// of another one.
func (s *settings) SetKey(ctx context.Context, name, key, by string) error {
	key = strings.TrimSpace(key)
	if variable := s.keyVariable(name); variable != "" && checkKey(key) == nil && s.stage.project.models.Getenv(variable) != "" && s.isRefused(ctx, name, key) {
		known, _ := provider.Find(name)
		return fmt.Errorf("%s does not accept this key; the one that is set stays", cmp.Or(known.Title, name))
	}
	return s.storeKey(name, key, by)
}

// storeKey puts a key into .env, which nobody but the server's user can read.
func (s *settings) storeKey(name, key, by string) error {
	variable := s.keyVariable(name)
	switch {
	case !slices.Contains(s.stage.project.models.Providers(), name):
		return gone("the provider", name)
	case variable == "":
		return fmt.Errorf("%s needs no key", name)
	}
	if err := checkKey(key); err != nil {
		return err
	}
	if value, ok := s.stage.project.environment(variable); ok && value != "" {
		return fmt.Errorf("the environment variable %s is set where the server was started, and decides", variable)
	}
	if err := config.SetVariable(s.stage.project.dir, variable, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[variable] = key
	s.asked = time.Time{} // other models may be there now
	return s.noteKey(name, by)
}

// isRefused reports whether a provider says of a key that it is none of its own. Keys that may
// not list models, and providers that are out of reach, say nothing about it.
func (s *settings) isRefused(ctx context.Context, name, key string) bool {
	endpoint, err := s.stage.project.models.Endpoint(models.NewChoice(name, "the page"))
	if err != nil {
		return false
	}
	endpoint.Model, endpoint.Key = "", wire.Secret(key)
	check := doctor.Provider(ctx, endpoint)
	return check.Key == doctor.KeyRefused
}

// checkKey refuses what cannot be a key. What else is one, the provider knows: gateways have
// short ones, such as sk-1234.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("no key was given")
	case strings.ContainsAny(key, " \t\r\n\"'"):
		return errors.New("a key has no spaces, line breaks or quotes in it: paste the key alone")
	}
	return nil
}

// A keySet says who has set a key on the page, and when.
type keySet struct {
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
}

func (s *settings) keysFile() string {
	return filepath.Join(s.stage.project.DataDir(), "page", "keys.json")
}

// keysSet are the keys that were set on the page, by provider: who and when, no more.
func (s *settings) keysSet() map[string]keySet { return readNotes[keySet](s.keysFile()) }

func (s *settings) noteKey(name, by string) error {
	known := s.keysSet()
	known[name] = keySet{by, time.Now().UTC()}
	return s.writeKeysSet(known)
}

func (s *settings) writeKeysSet(known map[string]keySet) error {
	if err := writeNotes(s.keysFile(), known); err != nil {
		return fmt.Errorf("note who set the key: %w", err)
	}
	return nil
}

// Test implements [server.Settings].
func (s *settings) Test(ctx context.Context, name string) (server.Provider, error) {
	p := s.provider(name)
	chooser := &s.stage.project.models
	if !slices.Contains(chooser.Providers(), name) {
		return p, gone("the provider", name)
	}
	endpoint, err := chooser.Endpoint(models.NewChoice(name, "the page"))
	if missing, ok := errors.AsType[*models.MissingKey](err); ok {
		return p, fmt.Errorf("%s has no key yet: set it here, or put it into .env as %s", p.Title, missing.Variable)
	}
	if err != nil {
		return p, err
	}
	endpoint.Model = "" // any of its models will do
	begun := time.Now()
	check := doctor.Provider(ctx, endpoint)
	p.Took = time.Since(begun).Milliseconds()
	p.State, p.Detail = "answers", ""
	if check.Status != doctor.OK {
		p.State, p.Detail = "provider_down", check.Message+"; "+check.Fix
	}
	switch {
	case check.Key != "":
		p.State = "key_refused"
		err = s.noteRefusal(name, &refusal{keySum(endpoint), p.Detail})
	case check.Status == doctor.OK:
		err = s.noteRefusal(name, nil)
	}
	return p, err
}
