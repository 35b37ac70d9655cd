package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
)

// Models are what can answer, for a server whose sessions may choose.
type Models interface {
	Models(ctx context.Context) ([]Model, error)
	// Step is [Cast]'s with a model in place of the usual one.
	Step(ctx context.Context, name, model string) (troupe.Step, error)
}

// A Model is how a model is listed.
type Model struct {
	// ID is provider/name, or rehearsal.
	ID       string `json:"id"`
	Provider string `json:"provider"`
	// Window is how many tokens it holds, 0 where that is not known.
	Window int `json:"window,omitempty"`
	// Price is in US dollars for a million tokens, nil where it is not known.
	Price *Price `json:"price,omitempty"`
	// Local models run on this machine.
	Local     bool `json:"local,omitempty"`
	Available bool `json:"available"`
	// Reason says why it is not available.
	Reason string `json:"reason,omitempty"`
	// Usual is the model of agents that have none of their own.
	Usual bool `json:"usual,omitempty"`
	// Agents are those that have it as their own.
	Agents []string `json:"agents,omitempty"`
}

// A Price is what a million tokens cost, in US dollars.
type Price struct {
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input,omitempty"`
	Output      float64 `json:"output"`
}

// Settings are what an operator may look at and change. What is changed holds for what
// begins from then on.
type Settings interface {
	Settings(ctx context.Context) ([]Setting, error)
	// Change sets values by their keys. It changes all or none, and keeps what else is
	// in the file. Its error says what is wrong in words for the operator.
	Change(ctx context.Context, values map[string]string) error
	Providers(ctx context.Context) ([]Provider, error)
	// SetKey keeps the key of a provider, which is never shown again, and who set it.
	SetKey(ctx context.Context, provider, key, by string) error
	// SetAddress adds a server that speaks OpenAI's API, or changes the address of one that
	// runs here; key may be empty. Its error says what is wrong in words for the operator.
	SetAddress(ctx context.Context, provider, address, key, by string) error
	// RemoveProvider forgets a provider and its key. It refuses one that a setting names, and
	// one that the server's environment sets up; what is under way goes on. It changes all or
	// nothing, and its error says what is wrong in words for the operator.
	RemoveProvider(ctx context.Context, provider string) error
	// Test asks the provider something that costs nothing.
	Test(ctx context.Context, provider string) (Provider, error)
}

// A Setting is a value of the configuration.
type Setting struct {
	// Key is its place, as in limits.cost.
	Key   string `json:"key"`
	Value string `json:"value"`
	// Usual is what holds where there is no value.
	Usual string `json:"usual,omitempty"`
	// Locked says why it cannot be changed here: a flag or a variable decides.
	Locked string `json:"locked,omitempty"`
}

// A Provider is where models are, as an operator sees it.
type Provider struct {
	Name string `json:"name"`
	// Title is what people call it.
	Title   string `json:"title,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	// IsSetUp says that it can be used as things are; Local, that it runs here; Known, that
	// Troupe knows the name.
	IsSetUp bool `json:"set_up"`
	Local   bool `json:"local,omitempty"`
	Known   bool `json:"known,omitempty"`
	// NeedsKey and HasKey say what there is to set. The key itself is never shown.
	NeedsKey bool `json:"needs_key"`
	HasKey   bool `json:"has_key"`
	// KeyVariable is the environment variable that its key is in, and API the protocol that
	// it speaks, as in providers.NAME.api of troupe.yaml.
	KeyVariable string `json:"key_variable,omitempty"`
	API         string `json:"api,omitempty"`
	// KeyBy and KeyAt say who set the key and when, where that was done on the page, and
	// KeyFixed that the server's environment has it.
	KeyBy    string     `json:"key_by,omitempty"`
	KeyAt    *time.Time `json:"key_at,omitempty"`
	KeyFixed string     `json:"key_fixed,omitempty"`
	// UsedBy are the settings that name one of its models, as in agents.mary.model, and Kept
	// says what else keeps it from being removed. KeyKept says why its key would stay where it
	// is, though the provider is removed.
	UsedBy  []string `json:"used_by,omitempty"`
	Kept    string   `json:"kept,omitempty"`
	KeyKept string   `json:"key_kept,omitempty"`
	// State is empty where it was not tried, else answers or the code of what is
	// wrong; Detail is what the provider said.
	State  string `json:"state,omitempty"`
	Detail string `json:"detail,omitempty"`
	Models int    `json:"models,omitempty"`
	Took   int64  `json:"took_ms,omitempty"`
}

// Roles. Whoever is no operator sees and changes what is their own.
const (
	RoleOperator = "operator"
	RoleUser     = "user"
)

// A person is who asks, and what they may change.
type person struct {
	Name     string `json:"name"`
	Operator bool   `json:"operator"`
	Version  string `json:"version,omitempty"`
	// Can says which parts this server has.
	Can []string `json:"can"`
	// Started is when the server began: a page that sees another knows of a restart.
	Started time.Time `json:"started"`
	// SignOut is where the page posts to sign this person out, empty where that is nothing
	// of ours, as behind a proxy.
	SignOut string `json:"sign_out,omitempty"`
	// ModelTries is how often a model call is tried that fails for a passing reason.
	ModelTries int `json:"model_tries,omitempty"`
	// SharedDocuments says that all people see the same documents of the project.
	SharedDocuments bool `json:"shared_documents,omitempty"`
	// Mistake is, for an operator, why a change of the configuration is not in use.
	Mistake string `json:"mistake,omitempty"`
}

func (s *Server) showMe(c *call) (person, error) {
	me := person{Name: c.user, Operator: c.role == RoleOperator, Version: s.config.Version, Can: []string{}, Started: s.started.UTC(), SignOut: s.config.SignOut, ModelTries: s.config.ModelTries, SharedDocuments: s.config.SharedDocuments}
	if s.config.Auth == nil {
		me.SignOut = "api/logout"
	}
	if me.Name == "" {
		me.Name = s.config.UserName
	}
	if why := s.mistake.Load(); why != nil && me.Operator {
		me.Mistake = *why
	}
	for name, has := range map[string]bool{
		"models": s.config.Models != nil, "settings": s.config.Settings != nil, "logs": s.config.Logs != nil, "files": s.config.Folders != nil,
		"documents": s.config.Documents != nil, "mcp": s.config.ToolServers != nil, "skills": s.config.Skills != nil, "greet": s.config.Greeter != nil,
		"switch_skills": s.config.SwitchSkill != nil, "people": s.config.AddPerson != nil && c.role == RoleOperator, "examples": s.config.AddExamples != nil && c.role == RoleOperator,
		"check": s.config.Diagnose != nil && c.role == RoleOperator, "flows": s.hasFlows(), "deliveries": s.hasDeliveries(c.r.Context()),
	} {
		if has {
			me.Can = append(me.Can, name)
		}
	}
	slices.Sort(me.Can)
	return me, nil
}

// hasFlows says whether flows are a part of this server: there are some, or the configuration may
// have some.
func (s *Server) hasFlows() bool {
	return s.config.Settings != nil || slices.ContainsFunc(s.config.Cast.Flows(), func(f Flow) bool { return f.Name != Pipeline })
}

// hasDeliveries says whether deliveries can be begun, or something be done about them.
func (s *Server) hasDeliveries(ctx context.Context) bool {
	if s.config.Deliveries != nil {
		return true
	}
	_, err := s.config.Cast.Step(ctx, Pipeline)
	return !errors.Is(err, ErrUnknown)
}

// ErrStale is in errors of [Settings], [ToolServers] and their like that refuse something because
// the configuration is not what the operator was shown: somebody else has changed it. What stands
// beside it says what is different now, in words for the operator.
var ErrStale = errors.New("somebody has changed this meanwhile")

// ErrMistake is in errors of [Settings] and their like that refuse something because the
// configuration is wrong as it is: see [Server.Misconfigured]. Once it is mended, the same is not
// refused any more.
var ErrMistake = errors.New("the configuration is wrong as it is")

// refuseChange refuses a change of the configuration, with why.
func refuseChange(err error) error {
	if errors.Is(err, ErrMistake) {
		return refuse(http.StatusUnprocessableEntity, "%v", err).withCode("mistake")
	}
	if errors.Is(err, ErrStale) {
		return refuse(http.StatusConflict, "%v", err).withCode("stale")
	}
	return told(http.StatusUnprocessableEntity, err)
}

// reconfigured tells all who look at the page that the configuration has changed, unless it has
// not.
func (s *Server) reconfigured(err error) error {
	if err != nil {
		return refuseChange(err)
	}
	s.hub.reconfigured()
	return nil
}

func absent(what string) *problem {
	return refuse(http.StatusNotImplemented, "this server has no %s", what).withCode("absent")
}

func (s *Server) listModelsOfSession(c *call) ([]Model, error) {
	if s.config.Models == nil {
		return []Model{}, nil
	}
	list, err := s.config.Models.Models(c.r.Context())
	return listed(list), err
}

// checkModel says whether a step can be made with a model.
func (s *Server) checkModel(ctx context.Context, name, model string) error {
	if s.config.Models == nil {
		return absent("choice of models")
	}
	if _, err := s.config.Models.Step(ctx, name, model); errors.Is(err, ErrUnknown) {
		return refuse(http.StatusNotFound, "there is no agent or flow named %.64q", name)
	} else if err != nil {
		return refuse(http.StatusBadRequest, "the model %.100q cannot be used: %v", model, err).withCode("model_unknown")
	}
	return nil
}

// settingsView is all that an operator sees of the configuration.
type settingsView struct {
	Settings  []Setting  `json:"settings"`
	Providers []Provider `json:"providers"`
}

func (s *Server) showSettings(c *call) (settingsView, error) {
	if s.config.Settings == nil {
		return settingsView{}, absent("settings")
	}
	values, err := s.config.Settings.Settings(c.r.Context())
	if err != nil {
		return settingsView{}, err
	}
	providers, err := s.config.Settings.Providers(c.r.Context())
	return settingsView{listed(values), listed(providers)}, err
}

// settingValues are values of settings by their keys.
type settingValues struct {
	Values map[string]string `json:"values" jsonschema:"by key; an empty value takes the key away"`
	Was    map[string]string `json:"was,omitempty" jsonschema:"what the values were when they were looked at, by key: where one is another now, nothing is changed"`
}

// checkWas refuses to change settings that are not what whoever changes them has seen.
func (s *Server) checkWas(ctx context.Context, in settingValues) error {
	if len(in.Was) == 0 {
		return nil
	}
	now, err := s.config.Settings.Settings(ctx)
	if err != nil {
		return err
	}
	for _, setting := range now {
		if seen, ok := in.Was[setting.Key]; ok && seen != setting.Value && in.Values[setting.Key] != setting.Value {
			return fmt.Errorf("%w: it is %s now. Look at it, and change it again if you still want to", ErrStale, cmp.Or(setting.Value, "not set"))
		}
	}
	return nil
}

func (s *Server) changeSettings(c *call, in settingValues) (settingsView, error) {
	if s.config.Settings == nil {
		return settingsView{}, absent("settings")
	}
	if err := s.reconfigured(s.setValues(c.r.Context(), in)); err != nil {
		return settingsView{}, err
	}
	return s.showSettings(c)
}

// setValues changes settings that are what whoever changes them has seen.
func (s *Server) setValues(ctx context.Context, in settingValues) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if err := s.checkWas(ctx, in); err != nil {
		return err
	}
	return s.config.Settings.Change(ctx, in.Values)
}

// A providerKey is a key that is set and never read.
type providerKey struct {
	Key string `json:"key"`
}

func (s *Server) setProviderKey(c *call, in providerKey) (none, error) {
	if s.config.Settings == nil {
		return none{}, absent("settings")
	}
	return none{}, s.reconfigured(s.config.Settings.SetKey(c.r.Context(), c.r.PathValue("name"), in.Key, cmp.Or(c.user, s.config.UserName)))
}

// A providerAddress is where a server with models is.
type providerAddress struct {
	BaseURL string `json:"base_url" jsonschema:"its address, such as http://localhost:8000/v1"`
	Key     string `json:"key,omitempty" jsonschema:"its key, which is never shown again; left out where none is needed or it stays"`
}

// setProvider adds a server with models, or changes its address, and tries it.
func (s *Server) setProvider(c *call, in providerAddress) (Provider, error) {
	if s.config.Settings == nil {
		return Provider{}, absent("settings")
	}
	if err := s.reconfigured(s.config.Settings.SetAddress(c.r.Context(), c.r.PathValue("name"), in.BaseURL, in.Key, cmp.Or(c.user, s.config.UserName))); err != nil {
		return Provider{}, err
	}
	return s.testProvider(c)
}

func (s *Server) removeProvider(c *call) (none, error) {
	if s.config.Settings == nil {
		return none{}, absent("settings")
	}
	return none{}, s.reconfigured(s.config.Settings.RemoveProvider(c.r.Context(), c.r.PathValue("name")))
}

func (s *Server) testProvider(c *call) (Provider, error) {
	if s.config.Settings == nil {
		return Provider{}, absent("settings")
	}
	found, err := s.config.Settings.Test(c.r.Context(), c.r.PathValue("name"))
	if err != nil {
		return Provider{}, refuseChange(err)
	}
	return found, nil
}

// storeView is what the store holds.
type storeView struct {
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes,omitempty"`
}

func (s *Server) showStore(c *call) (storeView, error) {
	if s.config.StoreSize == nil {
		return storeView{}, absent("store whose size is known")
	}
	sessions, bytes, err := s.config.StoreSize(c.r.Context())
	return storeView{sessions, bytes}, err
}

// A Check is what was found out about one thing that the server needs.
type Check struct {
	Name string `json:"name"`
	// Status is "ok", "warning" or "broken".
	Status  string `json:"status"`
	Message string `json:"message"`
	// Fix says what to do, where something is to be done.
	Fix string `json:"fix,omitempty"`
}

func (s *Server) check(c *call) ([]Check, error) {
	if s.config.Diagnose == nil {
		return nil, absent("installation that can be checked")
	}
	return s.config.Diagnose(c.r.Context()), nil
}

// addExamples writes the example agents.
func (s *Server) addExamples(c *call) (none, error) {
	if s.config.AddExamples == nil {
		return none{}, absent("examples")
	}
	return none{}, s.reconfigured(s.config.AddExamples(c.r.Context()))
}
