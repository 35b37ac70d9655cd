// Package server offers agents over HTTP: sessions and their events, an endpoint
// that speaks OpenAI's API, and the page.
//
// Every route is a row of one table, from which the mux, the OpenAPI document and
// the tests of the security rules are made. A run belongs to nobody's connection:
// it goes on when its reader leaves, and whoever comes back with the number of the
// last event it saw misses nothing and gets nothing twice.
package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/explain"
	"github.com/troupe-dev/troupe/observe"
)

// A Config says what a server offers and to whom.
type Config struct {
	// Engine runs what requests ask for. The server does not close it.
	Engine *troupe.Engine
	// Runs carries out what requests ask for, where others than the engine are to do so:
	// see package work. Nil means the engine.
	Runs Runs
	// Store is the engine's own, for listing and reading.
	Store troupe.Store
	// Cast is what can run.
	Cast Cast
	// Folders are where sessions keep their files. Nil means that they have none.
	Folders Folders
	// FileChanged, where set, is told that a person has changed a file of a session, before
	// that is acknowledged: for folders that are on many machines.
	FileChanged func(ctx context.Context, session string) error
	// Logs finds events of all sessions, the latest first. Nil means that nothing
	// can be searched for.
	Logs func(ctx context.Context, query LogQuery) iter.Seq2[LogHit, error]
	// Metrics are shown at /metrics, beside the server's own.
	Metrics *observe.Metrics
	// Users are the tokens of users, by name. By default there is one user, whose
	// name is empty, who sees the sessions of all, and whose token is made at random.
	Users map[string]string
	// Hosts are the values of Host, beside those of this machine, that requests may
	// have, as in "troupe.example.org". Without any, only this machine is served.
	Hosts  []string
	Limits Limits
	// Auth says who sends a request and what they may do ([RoleOperator] or [RoleUser]),
	// for a program that knows its users itself. Users and the server's own tokens then
	// count for nothing. An error refuses the request with 401, and so does an empty user or
	// another role, of which Log is told once: a user has a name, and an anonymous visitor
	// whom the program lets in needs one too.
	Auth func(*http.Request) (user, role string, err error)
	// Admit turns a user away who is to begin no run now, as where a quota is used up. Its
	// error is what they are told.
	Admit func(ctx context.Context, user string) error
	// MonthBudget is what all runs together may cost in a calendar month (UTC), in US dollars,
	// 0 for no limit. When that is spent, no other run begins. Nil means no limit.
	MonthBudget func() float64
	// UsualModel names the model that an agent uses where nobody chose another for the
	// session, as provider/name, several with commas between them. It is asked for every
	// session that is listed. Nil means that nobody knows.
	UsualModel func(agent string) string
	// StoreSize says how many sessions the store has, and how many bytes it takes, 0 where
	// that is not known. Nil means that operators are not shown it.
	StoreSize func(ctx context.Context) (sessions int, bytes int64, err error)
	// Diagnose looks at everything that the server needs, for operators. Nil means that it
	// cannot be asked for.
	Diagnose func(ctx context.Context) []Check
	// Audit hears of every request that may change something, when it was answered.
	Audit func(Audited)
	// IsProxy says of the address of a connection, with its port, whether it is a proxy of
	// ours, which says in X-Forwarded-For whom it was asked by. Nil means that none is.
	IsProxy func(address string) bool
	// StoreTrouble says why the store takes nothing at the moment, nil if it does. Without
	// it nobody knows before something is to be stored.
	StoreTrouble func() error
	// Operators are the users who may look at and change settings. Without users,
	// whoever has the token is one.
	Operators []string
	// UserName is how the page calls the one user of a server without users.
	UserName string
	// SignOut is where the page posts to sign out somebody whom Auth knows, as in
	// "auth/logout"; empty where that is done elsewhere. Without Auth the server has a
	// route of its own for it.
	SignOut string
	// SignIn is where the page sends somebody to sign in whom Auth does not know, as in "/login",
	// with the part of the page they want in its parameter to; SignInName is who signs them in,
	// as in "Company". Without an address the page offers to be loaded anew.
	SignIn, SignInName string
	// ModelTries is how often a model call is tried, for the page to say.
	ModelTries int
	// AddPerson lets somebody in from then on, and returns their token; AddExamples writes
	// agents to begin with into a project that has none. Their errors are shown to the
	// operator who asked. Nil means that the page cannot do it.
	AddPerson   func(ctx context.Context, name string) (token string, err error)
	AddExamples func(ctx context.Context) error
	// RemovePerson keeps one of Users from coming in from then on; what they have written
	// stays. Its error is shown to the operator who asked. Nil means that the page cannot do it.
	RemovePerson func(ctx context.Context, name string) error
	// Prefix is the path under which the program mounts the handler, as in "/troupe",
	// for addresses that answers name. The page itself finds out.
	Prefix string
	// Dir is where the server keeps what people decide about sessions: queues, chosen
	// models, files edited by hand, sessions in which nothing was said yet. Empty means in memory, until the server ends.
	Dir string
	// Shelf is where all of that is kept, with the token that is made at random and where
	// conversations of OpenAI's clients are on record, if the store has other servers, too.
	Shelf Shelf
	// Places count the runs and readers of users on all servers of the store together. Nil
	// means that this server counts its own.
	Places Places
	// Version is shown to people.
	Version string
	// Models are what a conversation may choose from. Nil means that it may not.
	Models Models
	// Settings are what operators may change. Nil means nothing.
	Settings Settings
	// Documents are the project's own. Nil means that there are none. SharedDocuments says
	// that all people see the same ones, where otherwise each has their own.
	Documents       Documents
	SharedDocuments bool
	// ToolServers and Skills are shown to operators. Nil means none.
	ToolServers ToolServers
	Skills      func(ctx context.Context) ([]Skill, error)
	// SwitchSkill has agents use a skill from then on, or not. Nil means that the page cannot
	// do it.
	SwitchSkill func(ctx context.Context, name string, on bool) error
	// Instructions are what an agent's model is told before anybody speaks, for operators.
	// Its errors are those of [Cast.Step]. Nil means that they are not shown.
	Instructions func(ctx context.Context, agent string) ([]Instruction, error)
	// Explain says what is known of where agents' instructions come from, and of prices.
	Explain explain.Options
	// StepIn, where set, makes the step of a session in place of Cast and Models, so that
	// a conversation goes on with the agent that it began with. The model is empty for the
	// usual one. Its errors are those of [Cast.Step].
	StepIn func(ctx context.Context, name, model, session string) (troupe.Step, error)
	// Greeter returns what an agent is given so that it speaks first, and whether its
	// author had it do so. Nil means that none does.
	Greeter func(agent string) (troupe.Input, bool)
	// Made are the files that deliveries write elsewhere than into their session's folder. Nil
	// means that there are none.
	Made Made
	// Granted reads a file that an agent has saved in a directory which it was granted beside
	// the session's folder, by the name with which that is on record: {docs}/a.md. Nil means
	// that such files are not shown.
	Granted func(ctx context.Context, agent, name string) (string, error)
	// Deliveries are what can be done about deliveries. Nil means that they can be begun
	// as configured and no more.
	Deliveries Deliveries
	// Page holds the static files, index.html among them. Nil means none.
	Page fs.FS
	// Log is told of what goes wrong. Nil means nobody is.
	Log *slog.Logger
}

// Runs carries out runs: see [troupe.Engine], which has these methods.
type Runs interface {
	Run(ctx context.Context, step troupe.Step, input troupe.Input) iter.Seq2[troupe.Event, error]
	Resume(ctx context.Context, step troupe.Step, session string) iter.Seq2[troupe.Event, error]
	Cancel(ctx context.Context, session string) error
}

// A Cast is what a server can run. It may be used concurrently.
type Cast interface {
	Agents() []Agent
	Flows() []Flow
	// Step makes the agent or the flow of a name. It fails with ErrUnknown if there
	// is none. The pipeline, where there is one, is named [Pipeline].
	Step(ctx context.Context, name string) (troupe.Step, error)
}

// ErrUnknown reports a name that neither an agent nor a flow has.
var ErrUnknown = errors.New("no such agent or flow")

// ErrBroken reports an agent that cannot start as it is configured. What the error says is
// shown to whoever wants to talk to it.
var ErrBroken = errors.New("the agent cannot start")

// Pipeline is the name under which a [Cast] has the step that takes a request
// through all phases.
const Pipeline = "deliver"

// Folders say where a session's files are, and copy them for a session that goes on
// from another.
type Folders interface {
	Path(session string) (string, error)
	Copy(ctx context.Context, from, to string, files []string) (missing []string, err error)
}

// Made are the files that a delivery writes elsewhere than into its session's folder: documents
// of its phases, by their path in its output, and what it has built.
type Made interface {
	Read(ctx context.Context, session, path string) (string, error)
	// Write replaces a document, which is used as it is from then on. One that is not there is
	// fs.ErrNotExist.
	Write(ctx context.Context, session, path, text string) error
}

// Limits bound what requests may take. A zero field means its default.
type Limits struct {
	// Runs is how many may be under way at once, 1,000 by default, and RunsPerUser
	// how many of a user who has a name: 100. See [Config.Places].
	Runs, RunsPerUser int
	// Readers is how many may follow events at once, 2,000 by default, and
	// ReadersPerUser how many of a user who has a name: 200.
	Readers, ReadersPerUser int
	// Connections is how many there may be at once, 4,096 by default, or fewer where the
	// system lets the process open fewer files. Others are told at once that there is no
	// room; those over which nothing is asked make room first.
	Connections int
	// Unauthenticated is how many of them there may be over which nobody has proved who
	// they are, a quarter by default, and UnauthenticatedPerAddress how many of one
	// address other than this machine's: a sixteenth.
	Unauthenticated, UnauthenticatedPerAddress int
	// Body is the most bytes of a request that may have attachments, 16 MiB by
	// default, and Attachment that of one of them: 8 MiB.
	Body, Attachment int64
}

func (l Limits) orDefault() Limits {
	l.Connections = cmp.Or(l.Connections, 4096)
	l.Unauthenticated = cmp.Or(l.Unauthenticated, max(l.Connections/4, 1))
	return Limits{
		Runs: cmp.Or(l.Runs, 1000), RunsPerUser: cmp.Or(l.RunsPerUser, 100),
		Readers: cmp.Or(l.Readers, 2000), ReadersPerUser: cmp.Or(l.ReadersPerUser, 200),
		Connections: l.Connections, Unauthenticated: l.Unauthenticated,
		UnauthenticatedPerAddress: cmp.Or(l.UnauthenticatedPerAddress, max(l.Connections/16, 1)),
		Body:                      cmp.Or(l.Body, 16<<20), Attachment: cmp.Or(l.Attachment, 8<<20),
	}
}

// within returns limits that fit into so many open files, of which half are for
// everything but connections where they are few.
func (l Limits) within(files int) Limits {
	const others = 512
	if most := max(files-others, files/2); files > 0 && l.Connections > most {
		l.Connections = most
		l.Unauthenticated = min(l.Unauthenticated, max(most/4, 1))
		l.UnauthenticatedPerAddress = min(l.UnauthenticatedPerAddress, max(most/16, 1))
	}
	return l
}

// A Server answers requests. It may be used concurrently.
type Server struct {
	config  Config
	started time.Time
	keys    keys
	hosts   []string
	runs    *pool
	readers *pool
	counts  counts
	active  sync.Map // the sessions of runs under way, each with its *watched
	drafts  *drafts
	notes   *noteBook
	hub     hub
	frames  *frames
	bodies  *bodies
	links   bounded[[sha256.Size]byte, linked]
	// removed are the users who may not come in any more, by name, and added those who may once
	// the configuration is read again.
	removed, added sync.Map
	// authMistakes are what Log was told of Config.Auth.
	authMistakes sync.Map
	// mistake is why a configuration was not taken over that is there since.
	mistake atomic.Pointer[string]
	// successor answers in place of this server, which answered in place of predecessor.
	successor   atomic.Pointer[Server]
	predecessor *Server
	// summaries are what is known of sessions, by id.
	summaries bounded[string, *summary]
	// lastAnswers are how sessions end, by id.
	lastAnswers bounded[string, lastAnswer]
	// writing is held while a version is added by hand, configuring while settings are changed.
	writing, configuring sync.Mutex
	// saying is held while the next message of a queue is said and taken from it: the run that it
	// begins may have ended by then.
	saying lanes
	// month is what was spent in this one, and seen when people last asked for something.
	month   month
	seen    bounded[string, time.Time]
	roles   bounded[string, string] // of those whom Config.Auth knows, by user
	talks   bounded[talkKey, talkPlace]
	mux     *http.ServeMux
	routes  []route
	openapi []byte
	page    *pageSet
}

// New returns a server. It fails if a part is missing that nothing can be done
// without, or if a token is too short to be one.
func New(c Config) (*Server, error) {
	if c.Engine == nil || c.Store == nil || c.Cast == nil {
		return nil, errors.New("new server: it needs an engine, a store and a cast")
	}
	if c.Runs == nil {
		c.Runs = c.Engine
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = observe.NewMetrics()
	}
	c.Limits = c.Limits.orDefault()
	keys, err := newKeys(c.Users, c.Shelf)
	if err != nil {
		return nil, err
	}
	book, err := newNoteBook(c.Dir, c.Shelf)
	if err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	made, err := newDrafts(c.Dir, c.Shelf)
	if err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	s := &Server{
		notes: book, drafts: made, frames: newFrames(), bodies: &bodies{most: max(c.Limits.Body, mostBodies)}, config: c, started: time.Now(), keys: keys, hosts: append([]string{"localhost", "127.0.0.1", "::1"}, c.Hosts...),
		runs:    newPool("runs", c.Limits.Runs, c.Limits.RunsPerUser),
		readers: newPool("readers", c.Limits.Readers, c.Limits.ReadersPerUser),
		mux:     http.NewServeMux(), routes: routes(),
	}
	if s.openapi, err = describe(s.routes, s.config.Prefix); err != nil {
		return nil, fmt.Errorf("new server: %w", err)
	}
	if c.Page != nil {
		if s.page, err = loadPage(c.Page); err != nil {
			return nil, fmt.Errorf("new server: read the page: %w", err)
		}
		s.routes = append(s.routes, pageRoute)
	}
	for i := range s.routes {
		r := &s.routes[i]
		s.mux.Handle(r.method+" "+r.path, s.serving(r))
	}
	s.mux.HandleFunc("/", s.lost)
	s.frames.number, s.frames.place = s.versionNumber, s.begunAt
	s.runs.admit = s.mayBegin
	s.runs.places, s.readers.places = c.Places, c.Places
	return s, nil
}

// Token returns the token that was made at random, or "" where users have theirs, or the
// program knows its users itself.
// A program shows it once, as the fragment of the page's address: #token=...
func (s *Server) Token() string {
	if s.config.Auth != nil {
		return ""
	}
	return s.keys.made
}

// Handler returns what answers requests, for a program that listens by itself.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.handle) }
