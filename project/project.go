package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/observe/otel"
	"github.com/troupe-dev/troupe/outputs"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/skill"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/tool/a2a"
	"github.com/troupe-dev/troupe/tool/approve"
	"github.com/troupe-dev/troupe/tool/mcp"
	"github.com/troupe-dev/troupe/workspace"
)

// Name is the name of the file that describes a project. A directory without one is
// a project too: everything has its default then.
const Name = config.Name

// Schema returns the JSON schema of troupe.yaml, for editors.
func Schema() string { return config.Schema }

// Options are what a program says about a project beside what its files say. The zero
// value is a good one.
type Options struct {
	// Model is the model of all agents, as provider/name or rehearsal, whatever
	// troupe.yaml and the environment say. Empty means that those decide, and that
	// agents rehearse where nobody has chosen a model and no provider's key is there.
	Model string
	// LookForOllama has agents use the Ollama that runs on this machine, if one does,
	// where they would rehearse because nobody has chosen a model. The variable
	// TROUPE_LOOK_FOR_OLLAMA=no keeps them from it.
	LookForOllama bool
	// LookupEnv finds environment variables. Nil means [os.LookupEnv]. What it does not
	// find is looked for in .env.local and .env beside troupe.yaml.
	LookupEnv func(name string) (value string, ok bool)
	// Log makes what the project's log goes to, beside the file that troupe.yaml may
	// name. It is given the level that troupe.yaml asks for, warn by default. What
	// agents do is logged too where the handler takes [slog.LevelInfo]. Nil means that
	// nothing is logged. The keys that the project knows of are left out of it.
	Log func(level slog.Level) slog.Handler
	// Observers are told of everything that agents do, once it is stored.
	Observers []observe.Sink
	// Data, where it is set, takes the place of the data directory of troupe.yaml. The
	// store, the knowledge base and documents are there, too, so that nothing of the project
	// is touched.
	Data string
	// WrapModel, where set, returns what is asked in place of each model that the project
	// opens, by its name: to record it, or to play a recording. It is called once for
	// each agent and model.
	WrapModel func(ref string, m troupe.Model) (troupe.Model, error)
	// InPlace is for programs that work in the project of whoever started them, such as an
	// editor: agents may read the project's files and, where troupe.yaml does not say
	// where documents are, those are the project's own files.
	InPlace bool
	// SandboxHelper is the command line that becomes the sandbox of checks and commands:
	// as a rule the program itself and [pipeline.SandboxArgument], if its main function
	// calls [pipeline.SandboxMain]. Without it nothing is run in a sandbox.
	SandboxHelper []string
	// Tools are tools of the program. Agents have those that their tools in troupe.yaml
	// name, as they have the tools that come with Troupe; the rules under approve decide on
	// their calls too. Their names must not be those of other tools.
	Tools []troupe.Tool
	// AllowUnknownTools has Open accept agents with tools which neither the project nor this
	// program has, and rules for those tools: [Project.Warnings] has them, the agents are
	// listed as broken, and making one fails. It is for programs that open projects of
	// other programs, as troupe does: those may have [Options.Tools]. Default: it is a mistake,
	// which Open reports. A rule for a tool that no agent is given, or for an argument that
	// a tool does not have, is one in any case.
	AllowUnknownTools bool
	// Auth is [server.Config.Auth] of the project's server, for a program that knows its users
	// itself. Users, operators, proxy and oidc of troupe.yaml then count for nothing there, but
	// for the addresses of proxies. Nil means that those decide.
	Auth func(*http.Request) (user, role string, err error)
	// SignIn and SignOut are those of [server.Config], beside Auth.
	SignIn, SignOut string
	// Prefix is [server.Config.Prefix] of the project's server: the path under which the program
	// mounts its handler, as in "/troupe". Empty means at the root.
	Prefix string

	// isExamined is for looking at a project whatever is wrong with its tools.
	isExamined bool
}

// A Project is a directory with its configuration and the agents found in it. It may
// be used concurrently.
//
// Opening one reads files and writes none. The store is opened by the first call that
// needs it: Engine, Store, Server, or one that makes an agent.
type Project struct {
	dir     string
	helper  []string // see Options.SandboxHelper
	inPlace bool     // see Options.InPlace
	// auth is Options.Auth.
	auth func(*http.Request) (user, role string, err error)
	// programSignIn and programSignOut are Options.SignIn and Options.SignOut.
	programSignIn, programSignOut string
	prefix                        string // see Options.Prefix

	config *config.Config
	mcp    atomic.Pointer[map[string]config.MCPServer] // where the page has added one
	// skillsOff are the skills that nobody hears of: troupe.yaml's, and the page's since.
	skillsOff atomic.Pointer[map[string]bool]
	models    models.Chooser
	bundles   *bundle.Live
	skills    *skill.Library
	approve   approve.Policy
	tools     map[string]troupe.Tool // see Options.Tools
	unknown   unknownTools           // see Options.AllowUnknownTools
	walls     []workspace.Closed     // what no grant opens
	log       *slog.Logger
	logFile   io.Closer // nil where there is none
	// sinks are told of everything that agents do.
	sinks   []observe.Sink
	meter   *meter // nil where there is no quota
	metrics *observe.Metrics
	// environment is that of the process, without what .env adds, and lookup with it.
	environment, lookup func(string) (string, bool)

	// planning is held while somebody changes the plan of a delivery.
	opening, planning sync.Mutex
	opened            *stage // nil until it is needed
	closed            bool
}

// Open reads the configuration of the project in a directory and finds its agents. It
// fails if troupe.yaml has a mistake: the error has a line for each, with its place in
// the file.
func Open(dir string, o Options) (*Project, error) {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	environment := o.LookupEnv
	absolute, err := directory(dir)
	if err != nil {
		return nil, err
	}
	if o.LookupEnv, err = config.Environment(dir, o.LookupEnv); err != nil {
		return nil, err
	}
	c, err := config.Load(dir, o.LookupEnv)
	if err != nil {
		return nil, err
	}
	if o.Data != "" {
		c.Data, c.Store, c.Knowledge = o.Data, "", config.Knowledge{}
		if c.Documents == "in-place" {
			c.Documents = ""
		}
	}
	bundles, err := bundle.Open(absolute, bundle.Config{Core: c.Core, Bundles: c.Bundles})
	if err != nil {
		return nil, err
	}
	p := &Project{
		dir: absolute, config: c, bundles: bundles, helper: o.SandboxHelper, inPlace: o.InPlace, auth: o.Auth, programSignIn: o.SignIn, programSignOut: o.SignOut, prefix: o.Prefix, metrics: observe.NewMetrics(), environment: environment, lookup: o.LookupEnv,
		models: models.Chooser{Config: c, Flag: o.Model, Getenv: o.getenv, Client: models.NewClient(), Wrap: o.WrapModel, Local: o.local()},
	}
	p.sinks = append(slices.Clone(o.Observers), p.metrics)
	if c.Server.Quota != (config.Quota{}) {
		p.meter = newMeter(c.Server.Quota)
		p.sinks = append(p.sinks, p.meter)
	}
	if err = p.openLog(o.Log); err == nil {
		if p.meter != nil {
			p.meter.log = p.log
		}
		p.models.Log = p.log
		if err = p.complete(); err == nil {
			err = p.addTools(&o)
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// local finds a model of this machine, if that is wanted.
func (o *Options) local() *models.Local {
	if !o.LookForOllama || o.getenv("TROUPE_LOOK_FOR_OLLAMA") == "no" {
		return nil
	}
	return new(models.Local)
}

func (o *Options) getenv(name string) string {
	if value, ok := o.LookupEnv(name); ok {
		return unquoted(value)
	}
	return ""
}

// unquoted is a variable's value without the quotes around it: docker --env-file, systemd's
// older releases and CI systems pass on those that a .env file has. No key, address or model
// begins and ends with one.
func unquoted(value string) string {
	trimmed := strings.TrimSpace(value)
	if n := len(trimmed); n >= 2 && trimmed[0] == trimmed[n-1] && (trimmed[0] == '"' || trimmed[0] == '\'') {
		return trimmed[1 : n-1]
	}
	return value
}

// complete adds what depends on the agents that were found.
func (p *Project) complete() (err error) {
	for _, e := range p.catalog().Entries() {
		if p.isPlain(e.ID) {
			return fmt.Errorf("agents.%s in %s has instructions, but there is an agent of that name in bundle %s", e.ID, config.Name, e.Bundle)
		}
	}
	p.recogniseAgents()
	if _, ok := p.config.Flows[Deliver]; ok || p.isPlain(Deliver) {
		return fmt.Errorf("%s: the name %s is taken", config.Name, Deliver)
	}
	for _, rule := range p.config.Approve {
		p.approve = append(p.approve, approve.Rule{Tool: rule.Tool, Where: rule.Where, Do: approve.Decision(rule.Do)})
	}
	if err := p.approve.Check(); err != nil {
		return fmt.Errorf("approve in %s: %w", config.Name, err)
	}
	p.skillsOff.Store(&p.config.SkillsOff)
	var roots []string
	for _, dir := range p.config.Skills {
		roots = append(roots, within(p.dir, dir))
	}
	if p.skills, err = skill.Open(skill.Config{Roots: roots, IsOff: p.isSkillOff, Log: p.log}); err != nil {
		return err
	}
	p.walls = p.closedPlaces()
	return p.maker(nil).Check()
}

// recogniseAgents has the entries of agents hold for whom people mean: they write dev for
// bmad-agent-dev, or the name of a persona, as they do when they talk to them.
func (p *Project) recogniseAgents() {
	catalog := p.catalog()
	known := map[string]bool{config.Everyone: true}
	for _, e := range catalog.Entries() {
		known[e.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(p.config.Agents)) {
		if known[id] || p.isPlain(id) {
			continue
		}
		d, err := catalog.Definition(id)
		if err != nil {
			continue
		}
		if _, taken := p.config.Agents[d.ID]; !taken {
			p.config.Agents[d.ID] = p.config.Agents[id]
			delete(p.config.Agents, id)
		}
	}
}

// directory returns the absolute path of an existing directory.
func directory(dir string) (string, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("project %s: there is no such directory", dir)
	case err != nil:
		return "", fmt.Errorf("project: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("project %s: it is not a directory", dir)
	}
	return filepath.Abs(dir)
}

// Dir returns the project's directory, as an absolute path.
func (p *Project) Dir() string { return p.dir }

// DataDir returns where the project keeps what it makes: sessions, their files, and
// documents. It need not exist yet.
func (p *Project) DataDir() string { return within(p.dir, p.config.Data) }

func (p *Project) outputsDir() string { return filepath.Join(p.DataDir(), outputsName) }

// outputsName is the directory of the sessions' folders in the data directory.
const outputsName = "agent-outputs"

// within returns a directory that is relative to another, unless it is absolute.
func within(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// shown returns a path of the host as a person in the project would write it.
func (p *Project) shown(path string) string {
	if relative, err := filepath.Rel(p.dir, path); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return path
}

// Close ends every run and waits for it, and then gives up all that the project holds
// open. A run that it ends is resumed by Engine.Resume. Closing again does nothing.
func (p *Project) Close() error {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	var errs []error
	if p.opened != nil {
		errs = append(errs, p.opened.close())
		p.opened = nil
	}
	errs = append(errs, p.bundles.Close())
	if p.logFile != nil {
		errs = append(errs, p.logFile.Close())
	}
	return errors.Join(errs...)
}

// Engine returns what runs the project's agents and flows. Events go to the project's
// store, into the manifest of the session's folder, and to the log.
func (p *Project) Engine(ctx context.Context) (*troupe.Engine, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	return s.engine, nil
}

// Store returns the store of the engine, with the folders of its sessions.
func (p *Project) Store(ctx context.Context) (*outputs.Folders, error) {
	s, err := p.stage(ctx)
	if err != nil {
		return nil, err
	}
	return s.folders, nil
}

// HasEngine reports whether the engine was opened, so that there may be something new in the
// store.
func (p *Project) HasEngine() bool {
	p.opening.Lock()
	defer p.opening.Unlock()
	return p.opened != nil
}

// errClosed reports a project that was closed.
var errClosed = errors.New("the project is closed")

// stage opens the engine, once.
func (p *Project) stage(ctx context.Context) (*stage, error) {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if p.opened == nil {
		s, err := p.openStage(ctx)
		if err != nil {
			return nil, err
		}
		p.opened = s
	}
	return p.opened, nil
}

// A stage is where agents run: an engine, the store behind it, and the agents.
type stage struct {
	project *Project
	engine  *troupe.Engine
	folders *outputs.Folders // around the store
	store   store.Log
	files   *sharedFiles  // nil where files are on this machine alone
	watched troupe.Store  // the engine's own: what is stored in it is observed
	tracer  *otel.Tracer  // nil where nobody asks for traces
	limits  troupe.Limits // the engine's

	mu      sync.Mutex
	agents  map[playerKey]*player
	pinned  map[string]*bundle.Catalog // by session: see catalogOf
	servers map[string]*mcp.Server     // nil for those that cannot be reached
	kept    []io.Closer                // what else is closed with the stage
	// rehearses says that an agent has no model because nobody has chosen one.
	rehearses bool
	// found is the model that an agent has because it was found, though nobody has chosen it.
	found string

	searchMu  sync.Mutex
	search    func(user string) pipeline.Knowledge // nil until somebody searches
	remotesMu sync.Mutex
	remotes   map[string]*a2a.Agent // agents elsewhere, by name
}

// openStage wires an engine: events go to the store, from it into the manifest of
// the session's folder, and then to the log and to whoever collects traces.
func (p *Project) openStage(ctx context.Context) (*stage, error) {
	if err := p.checkEngine(); err != nil {
		return nil, err
	}
	if err := p.checkQueues(); err != nil {
		return nil, err
	}
	if _, err := p.bucket(); err != nil {
		return nil, err
	}
	store, err := p.openStore(ctx)
	if err != nil {
		return nil, err
	}
	kept, files := p.withFiles(store)
	deliveries := &deliveryLog{Log: kept, project: p}
	folders, err := outputs.Keep(deliveries, p.outputsDir(), outputs.Options{Describe: p.describe, Log: p.log})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	tracer, err := p.openTracer(ctx)
	if err != nil {
		return nil, errors.Join(err, folders.Close(), store.Close())
	}
	limits := p.limits()
	sinks, config := p.sinks, troupe.Config{Limits: limits}
	if tracer != nil {
		sinks, config.Tracing = append(slices.Clone(sinks), tracer), tracer
	}
	config.Store = observe.Watch(sharedFolders{folders, files}, sinks...)
	engine, err := troupe.New(config)
	if err != nil {
		return nil, errors.Join(err, folders.Close(), store.Close())
	}
	s := &stage{project: p, engine: engine, folders: folders, store: store, watched: config.Store, files: files, tracer: tracer, limits: limits, agents: map[playerKey]*player{}, pinned: map[string]*bundle.Catalog{}, servers: map[string]*mcp.Server{}}
	deliveries.finish(ctx, folders)
	p.noteTakes(ctx)
	if p.meter != nil {
		p.meter.shelf, p.meter.owner = s.anyShelf(), s.ownerOf
	}
	if err := p.sweepDocuments(time.Now().Add(-sweepAge)); err != nil {
		p.log.Warn("documents not swept", "err", err)
	}
	return s, nil
}

// close stops every run, waits for it, and only then gives up what runs use.
func (s *stage) close() error {
	err := s.engine.Close()
	for _, server := range s.servers {
		if server != nil {
			server.Close()
		}
	}
	for _, kept := range s.kept {
		err = errors.Join(err, kept.Close())
	}
	if s.tracer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), traceGrace)
		defer cancel()
		if err := s.tracer.Shutdown(ctx); err != nil {
			s.project.log.Warn("traces not sent", "err", err)
		}
	}
	return errors.Join(err, s.folders.Close(), s.store.Close())
}

// traceGrace is how long the program stays to send its last traces.
const traceGrace = 5 * time.Second

// openTracer sends traces where the standard environment variables say so.
func (p *Project) openTracer(ctx context.Context) (*otel.Tracer, error) {
	if !otel.Wanted(p.models.Getenv) {
		return nil, nil
	}
	return otel.New(ctx, otel.Options{Logger: p.log})
}

// describe tells manifests an agent's title and bundle.
func (p *Project) describe(agent string) (title, bundle string) {
	d, err := p.catalog().Definition(agent)
	if err != nil {
		return "", ""
	}
	return d.Title, d.Bundle
}
