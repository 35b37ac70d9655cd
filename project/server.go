package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/signin"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/web"
	"github.com/troupe-dev/troupe/workspace"
)

// usualTries is how often the engine tries a model call where nobody says.
const usualTries = 4

// usualAddress is where the server listens where nobody says.
const usualAddress = "127.0.0.1:7717"

// Addr returns the address to listen on, as troupe.yaml says.
func (p *Project) Addr() string { return cmp.Or(p.config.Server.Addr, usualAddress) }

// Server returns the project's HTTP server: the API, the endpoint that speaks OpenAI's
// and the page. Its Handler goes into a program's own mux, and its Serve listens by
// itself. Whoever has one of the tokens of troupe.yaml's users is let in, or, where
// there are none, whoever has its Token; where [Options.Auth] is set, that decides in
// place of both. Each call makes another.
func (p *Project) Server(ctx context.Context) (*server.Server, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	settings := newSettings(s)
	way, err := p.signIn()
	if err != nil {
		return nil, err
	}
	runs, err := p.Runs(ctx)
	if err != nil {
		return nil, err
	}
	audit, err := s.openAudit()
	if err != nil {
		return nil, err
	}
	c := server.Config{
		Auth: way.who, IsProxy: way.isProxy, StoreTrouble: s.trouble(), Admit: p.admission(), Audit: audit, Runs: runs, MonthBudget: settings.monthBudget, UsualModel: func(agent string) string { return settings.choose(agent).String() }, StoreSize: s.storeSize, Diagnose: p.diagnose,
		Engine: s.engine, Store: s.folders, Cast: cast{p, settings}, StepIn: cast{p, settings}.stepIn, Folders: sharedFolders{s.folders, s.files}, FileChanged: s.fileChanged, Logs: s.searchLogs, Metrics: p.metrics,
		Hosts: p.config.Server.Hosts, Prefix: p.prefix, Page: web.Page(), Log: p.log,
		Dir: p.notesDir(), Shelf: s.shelf(), Places: s.places(), Limits: p.serverLimits(), Version: builtVersion(), Models: settings, Settings: settings, Skills: s.listSkills, SwitchSkill: s.switchSkill, Instructions: p.instructions, Made: made{s}, Granted: p.readGranted,
		Explain: p.ExplainOptions(), Deliveries: deliveries{s},
		Documents: newLibrary(s), SharedDocuments: p.config.Documents == "shared" || p.config.Documents == "in-place", ToolServers: &toolServers{stage: s}, UserName: p.userName(),
		ModelTries: cmp.Or(p.config.Limits.ModelTries, usualTries), AddExamples: settings.addExamples,
		Greeter: func(agent string) (troupe.Input, bool) {
			text, ok := p.Opening(agent)
			return troupe.Input{Text: text, Hidden: true}, ok
		},
	}
	way.tell(&c)
	if p.auth == nil {
		if c.Users, err = p.users(); err != nil {
			return nil, err
		}
		c.Operators, c.AddPerson, c.RemovePerson = p.config.Server.Operators, settings.addPerson, settings.removePerson
	}
	web, err := server.New(c)
	if err != nil || way.desk == nil {
		return web, err
	}
	web.MountOpen(signin.Path+"{path...}", way.desk.Handler(p.log, func(r *http.Request, person signin.Person, status int) {
		if audit == nil {
			return
		}
		a := server.Audited{User: person.User, Act: "sign in", Path: r.URL.Path, From: web.From(r), Status: status, OK: status < http.StatusBadRequest}
		if a.OK {
			a.Role = way.roleOf(person.User, person.Groups)
		}
		audit(a)
	}))
	return web, nil
}

// MovedFrom names what is elsewhere than in another opening of the same project, so that
// one cannot take over from the other: empty for nothing.
func (p *Project) MovedFrom(other *Project) string {
	switch {
	case p.DataDir() != other.DataDir():
		return "data"
	case p.config.Store != other.config.Store:
		return "store"
	case p.Addr() != other.Addr():
		return "server.addr"
	case p.config.Log != other.config.Log:
		return "log"
	}
	return ""
}

// serverLimits are what troupe.yaml allows each user at the same time.
func (p *Project) serverLimits() server.Limits {
	return server.Limits{RunsPerUser: p.config.Server.RunsPerUser, ReadersPerUser: p.config.Server.ReadersPerUser}
}

// URL is where people and other programs reach the server, empty where nobody says.
func (p *Project) URL() string { return p.config.Server.URL }

// builtVersion is the version of the module that the program was built from.
func builtVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}

// diagnose is [server.Config.Diagnose]: what 'troupe doctor' says.
func (p *Project) diagnose(ctx context.Context) (found []server.Check) {
	for _, c := range Diagnose(ctx, p.dir, Options{LookupEnv: p.lookup, SandboxHelper: p.helper, Model: p.models.Flag}) {
		found = append(found, server.Check{Name: c.Name, Status: string(c.Status), Message: c.Message, Fix: c.Fix})
	}
	return found
}

// instructions are what an agent's model is told before anybody speaks, for the page.
func (p *Project) instructions(_ context.Context, agent string) ([]server.Instruction, error) {
	if p.isPlain(agent) {
		return []server.Instruction{{Name: "instructions", Origin: config.Name, Text: p.config.Agents[agent].Instructions}}, nil
	}
	d, err := p.catalog().Definition(agent)
	if err != nil {
		return nil, server.ErrUnknown
	}
	parts, err := p.catalog().Prompt(agent)
	if err != nil {
		return nil, err
	}
	list := make([]server.Instruction, 0, len(parts))
	for _, part := range parts {
		told := server.Instruction{Name: part.Name, Origin: part.Source, Tokens: part.Tokens, Text: part.Text}
		if told.Origin == "" && p.lineWith(d.File, tags[part.Name]...) > 0 {
			told.Origin = d.File
		}
		list = append(list, told)
	}
	return list, nil
}

// readGranted reads a file in a directory that an agent may write, by its name there:
// {docs}/a.md.
func (p *Project) readGranted(_ context.Context, agent, name string) (string, error) {
	root, _, _ := strings.Cut(strings.TrimPrefix(name, "{"), "}")
	roots := slices.DeleteFunc(p.rootsOf(agent), func(r workspace.Root) bool { return r.Name != root || r.Access != workspace.ReadWrite })
	return readNamed(workspace.Config{Roots: roots, Closed: p.walls}, name)
}

// readNamed reads a file by its name in a workspace.
func readNamed(c workspace.Config, name string) (string, error) {
	ws, err := workspace.Open(c)
	if err != nil {
		return "", err
	}
	defer ws.Close()
	place, err := ws.Resolve(name)
	if err != nil {
		return "", err
	}
	return ws.ReadFile(place)
}

// users are the tokens of the configuration, by user, from the environment.
func (p *Project) users() (map[string]string, error) {
	users := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.config.Server.Users)) {
		variable := p.config.Server.Users[name]
		if users[name] = p.models.Getenv(variable); users[name] == "" {
			return nil, fmt.Errorf("server.users.%s in %s: the environment variable %s, which holds the user's token, is not set; 'openssl rand -hex 32' makes a token", name, config.Name, variable)
		}
		if n := len(users[name]); n < server.MinToken {
			return nil, fmt.Errorf("server.users.%s in %s: the token of user %q has %d characters, and %d are the least: 'openssl rand -hex 32' makes one", name, config.Name, name, n, server.MinToken)
		}
	}
	return users, nil
}

// TokenVariables returns the environment variables that hold the tokens of the server's
// users, by user. There are none where whoever has the printed link is let in.
func (p *Project) TokenVariables() map[string]string { return maps.Clone(p.config.Server.Users) }

// A cast is what the server can run: what the project has, each agent with the model
// that the settings have for it.
type cast struct {
	*Project
	settings *settings
}

// Agents implements [server.Cast].
func (c cast) Agents() []server.Agent {
	list := c.Project.Agents()
	for i := range list {
		list[i].Model = c.settings.choose(list[i].ID).Ref
	}
	return list
}

// Step implements [server.Cast].
func (c cast) Step(ctx context.Context, name string) (troupe.Step, error) {
	return c.settings.stage.stepWith(ctx, name, "", c.settings.choose)
}

// stepIn is [server.Config.StepIn].
func (c cast) stepIn(ctx context.Context, name, model, session string) (troupe.Step, error) {
	choose := c.settings.choose
	if model != "" {
		choose = chosen(model)
	}
	return c.settings.stage.stepWith(ctx, name, session, choose)
}

// chosen is the choice of a model by a person for all agents of a session.
func chosen(model string) func(string) models.Choice {
	choice := models.NewChoice(model, "you, for this conversation")
	return func(string) models.Choice { return choice }
}

// stepWith makes the step of a name with a choice of models.
func (s *stage) stepWith(ctx context.Context, name, session string, choose func(id string) models.Choice) (troupe.Step, error) {
	player, err := s.findWith(ctx, name, session, casting{choose: choose})
	if errors.Is(err, bundle.ErrNoAgent) {
		return nil, fmt.Errorf("%.64q: %w", name, server.ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	return player.Step, nil
}

// searchLogs finds events for the server, as 'troupe logs' does.
func (s *stage) searchLogs(ctx context.Context, q server.LogQuery) iter.Seq2[server.LogHit, error] {
	query := store.Query{
		Text: q.Text, Session: q.Session, Agent: q.Agent, Tool: q.Tool, Errors: q.Errors, Since: q.Since, Until: q.Until, Before: q.Before,
	}
	if level, err := observe.ParseLevel(q.Level); err == nil && q.Level != "" {
		query.Kinds, query.OrErrors = observe.KindsAtLeast(level)
	}
	return func(yield func(server.LogHit, error) bool) {
		for hit, err := range s.store.Search(ctx, query) {
			if err == nil && hit.Err != nil {
				continue // what cannot be read is of no use to a page
			}
			if !yield(server.LogHit{Number: hit.Number, Event: hit.Event}, err) {
				return
			}
		}
	}
}
