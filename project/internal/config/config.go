// Package config reads troupe.yaml, the configuration of a project.
//
// A key that is not known is an error with its line, and so is a value of the wrong
// kind: all of them are reported at once. ${NAME} in a value stands for an
// environment variable, and $${ for a plain ${. No value that came from the
// environment is part of any error.
package config

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A Config is what troupe.yaml says. What it does not say is zero, except for Data
// and Skills, which have defaults.
type Config struct {
	// Path is the file that was read, empty where there is none.
	Path string `yaml:"-"`

	Model        []string             `yaml:"model" doc:"The model that agents use unless they have their own, as provider/name. Of several, each is asked where the one before is down or refuses."`
	Providers    map[string]Provider  `yaml:"providers" doc:"Model servers by the name that models are chosen with. Known names need an entry only to change something."`
	Bundles      []string             `yaml:"bundles" doc:"Patterns of further bundle directories, relative to the project."`
	Core         string               `yaml:"core" doc:"The directory that {core-root} means. Default: bmad/core or _bmad/core."`
	Skills       []string             `yaml:"skills" doc:"Directories that hold skills. Default: skills."`
	SkillsOff    map[string]bool      `yaml:"skills_off" doc:"Skills that are switched off, by name, as in {meeting-notes: true}: no agent hears of them. Default: none."`
	Documents    string               `yaml:"documents" enum:"kept,in-place,shared" doc:"Where the documents are that agents name inside the project: kept in the data directory, a set for each user where there are users; shared by all users; or in-place, in the document folders of the project that a bundle's configuration names. Default: kept."`
	Data         string               `yaml:"data" doc:"The directory for sessions and what agents save. Default: data."`
	Store        string               `yaml:"store" doc:"Where sessions are kept: a file, or the address of a PostgreSQL database that many servers share, such as postgres://user:${DB_PASSWORD}@host/troupe. Default: troupe.db in the data directory."`
	Files        string               `yaml:"files" doc:"Where files of sessions and documents are kept, with a PostgreSQL store: in it (store), so that every machine has them; in a bucket that speaks S3, such as s3://BUCKET/PREFIX?region=REGION&endpoint=https://HOST; or in the data directory, which all machines then mount (directory). Default: store."`
	Retention    time.Duration        `yaml:"retention" doc:"How long a session is kept in which nothing happens, such as 720h: 'troupe serve' deletes it then, with its files. Default: for ever."`
	Engine       string               `yaml:"engine" enum:"embedded,workers,temporal" doc:"Who carries out what servers are asked for: the server itself, workers that share the PostgreSQL store, or workers of a Temporal cluster. Default: embedded."`
	Queues       []Queue              `yaml:"queues" doc:"Which runs go to workers of their own, with engine: workers or temporal. The first queue that fits takes a run; what fits none goes to the usual one."`
	Agents       map[string]Agent     `yaml:"agents" doc:"What single agents do differently, by id. What \"*\" has holds for all that do not say otherwise."`
	DefaultAgent string               `yaml:"default_agent" doc:"The agent or flow that 'troupe chat' talks with where nobody names one. Default: the only one, or an analyst."`
	Limits       Limits               `yaml:"limits" doc:"What a run may use. A negative number means no limit."`
	MCP          map[string]MCPServer `yaml:"mcp" doc:"MCP servers by name, each with a command or a url."`
	A2A          map[string]A2AAgent  `yaml:"a2a" doc:"Agents elsewhere that speak the Agent2Agent protocol, by name. Agents here ask them with the tool ask_NAME, where they are given it."`
	Flows        map[string]Flow      `yaml:"flows" doc:"Agents arranged into flows, by name."`
	Web          Web                  `yaml:"web" doc:"What the web tools may reach, and how they search."`
	Approve      []Approval           `yaml:"approve" doc:"Which tool calls a person is asked about. The first rule that matches decides; what none matches is allowed."`
	Pipeline     Pipeline             `yaml:"pipeline" doc:"How requests are delivered, phase by phase."`
	Knowledge    Knowledge            `yaml:"knowledge" doc:"The knowledge base."`
	Log          Log                  `yaml:"log" doc:"What goes to the log."`
	Server       Server               `yaml:"server" doc:"The HTTP server."`
}

// A Queue is runs that workers of their own carry out: of a tenant, of a model with a quota,
// or of tools that only some machines have.
type Queue struct {
	Name   string   `yaml:"name" doc:"What workers ask for it by: troupe worker --queue NAME."`
	Users  []string `yaml:"users" doc:"Whose runs it is for; a star stands for any characters, as in *@example.org. Default: everybody's."`
	Agents []string `yaml:"agents" doc:"The agents and flows it is for; a star stands for any characters. Default: all."`
	Models []string `yaml:"models" doc:"Runs in which an agent has one of these models, as provider/name; a star stands for any characters, as in openai/*. Default: any."`
	Tools  []string `yaml:"tools" doc:"Runs in which an agent has one of these tools; a star stands for any characters. Default: any."`
	Rate   float64  `yaml:"rate" doc:"How many runs all workers of the queue together begin in a second, with engine: temporal. Default: no limit."`
}

// FitsAll says that no run is left to the queues after it.
func (q *Queue) FitsAll() bool {
	return len(q.Users)+len(q.Agents)+len(q.Models)+len(q.Tools) == 0
}

// A Provider is a server with models.
type Provider struct {
	Type    string            `yaml:"type" enum:"openai" doc:"An older word for api: openai means chat."`
	API     string            `yaml:"api" enum:"chat,responses,messages,gemini,ollama" doc:"The protocol to speak. Default: the best that the provider is known to have, and chat for others."`
	BaseURL string            `yaml:"base_url" doc:"Where the API is, such as http://localhost:8000/v1."`
	Vars    map[string]string `yaml:"vars" doc:"What stands in braces in the provider's own address, such as resource of azure. Default: the variables that people set for it."`
	KeyEnv  string            `yaml:"key_env" doc:"The environment variable that holds the key. Default: the ones that people set for it."`
	Headers map[string]string `yaml:"headers" doc:"Sent with every request."`

	BeginTimeout  time.Duration `yaml:"begin_timeout" doc:"The longest wait for an answer to begin, and for a tool call to come. Default: 5m, and 30m for servers of your own."`
	IdleTimeout   time.Duration `yaml:"idle_timeout" doc:"The longest silence in the midst of an answer. Default: 1m, and 10m for servers of your own."`
	AnswerTimeout time.Duration `yaml:"answer_timeout" doc:"The longest time for a whole answer. Default: none."`
	MaxAnswer     int           `yaml:"max_answer" doc:"The largest answer, in bytes. Default: 4 MiB."`
	MaxLine       int           `yaml:"max_line" doc:"The largest event of a stream, in bytes. Default: what an answer needs."`

	// OneSystem is an older place for that of Quirks.
	OneSystem bool             `yaml:"one_system" doc:"As quirks.one_system."`
	Quirks    Quirks           `yaml:"quirks" doc:"In what the server differs from the book. Most are known or found out."`
	Models    map[string]Model `yaml:"models" doc:"What is known of single models, by name. It goes before the built-in catalogue."`
}

// Quirks are in what a server differs.
type Quirks struct {
	NoStreamOptions *bool  `yaml:"no_stream_options" doc:"It refuses stream_options."`
	MaxTokensField  string `yaml:"max_tokens_field" doc:"What the limit of an answer is called: max_tokens or max_completion_tokens."`
	OneSystem       *bool  `yaml:"one_system" doc:"It takes one system message only."`
	Schema          string `yaml:"schema" enum:"strict,json_schema,json_object,prompt" doc:"How far it can bind answers to a JSON schema."`
	ToolIDs         string `yaml:"tool_ids" enum:"any,40,9" doc:"The form of call ids that it insists on: at most 40 bytes, or nine letters and digits."`
	ReasoningBack   *bool  `yaml:"reasoning_back" doc:"Its reasoning must be sent back with calls."`
	NoTools         *bool  `yaml:"no_tools" doc:"It takes no tools."`
	TextCalls       string `yaml:"text_calls" enum:"auto,always,never" doc:"Whether calls that a model writes into its text are carried out. Default: auto, for models known for it."`
}

// A Model is what is known of a model beside its name.
type Model struct {
	Window int   `yaml:"window" doc:"How many tokens the model can hold. Near it, older turns are summed up."`
	Output int   `yaml:"output" doc:"How many tokens it writes at most."`
	Price  Price `yaml:"price" doc:"What the model costs, in US dollars per million tokens."`
}

// A Price is in US dollars per million tokens.
type Price struct {
	Input       float64 `yaml:"input"`
	CachedInput float64 `yaml:"cached_input" doc:"Default: as input."`
	CacheWrite  float64 `yaml:"cache_write" doc:"Default: as input."`
	Output      float64 `yaml:"output"`
	Free        bool    `yaml:"free" doc:"It costs nothing."`
}

// An Agent is what one agent does differently.
type Agent struct {
	Instructions string   `yaml:"instructions" doc:"What it is told. An agent that has these needs no bundle."`
	Description  string   `yaml:"description" doc:"What it is good for, for agents that can call it or hand over to it."`
	Model        []string `yaml:"model" doc:"Its model, as provider/name, or several: see model above."`
	Tools        []string `yaml:"tools" doc:"The only tools it may use: bundle for those its bundle gives it, ready tools, and those of MCP servers; a star stands for any characters. Default: bundle."`
	Commands     []string `yaml:"commands" doc:"Command lines that it may run in the project's directory with the tool run_command, in a sandbox, such as go test *. Default: none."`
	Skills       *bool    `yaml:"skills" doc:"Whether it may use the project's skills. Default: true."`

	Temperature *float64 `yaml:"temperature"`
	TopP        *float64 `yaml:"top_p"`
	MaxTokens   *int     `yaml:"max_tokens" doc:"How long one answer may be."`
	Seed        *int     `yaml:"seed"`
	Effort      string   `yaml:"effort" enum:"none,minimal,low,medium,high,xhigh,max" doc:"How hard a reasoning model should think."`

	ReadProject *bool             `yaml:"read_project" doc:"Whether it may read the project's files, except dot-files and keys. Default: false."`
	Read        map[string]string `yaml:"read" doc:"Further directories that it may read, by the name it knows them by."`
	Write       map[string]string `yaml:"write" doc:"Further directories that it may read and write."`
}

// Everyone is the id under which agents has what holds for all of them.
const Everyone = "*"

// Agent returns what holds for an agent: its own entry, completed by that of Everyone.
// Directories and commands are added to its own; of everything else its own counts.
func (c *Config) Agent(id string) Agent {
	own, all := c.Agents[id], c.Agents[Everyone]
	if len(own.Model) == 0 {
		own.Model = all.Model
	}
	if own.Tools == nil {
		own.Tools = all.Tools
	}
	own.Skills = cmp.Or(own.Skills, all.Skills)
	own.Temperature, own.TopP = cmp.Or(own.Temperature, all.Temperature), cmp.Or(own.TopP, all.TopP)
	own.MaxTokens, own.Seed = cmp.Or(own.MaxTokens, all.MaxTokens), cmp.Or(own.Seed, all.Seed)
	own.Effort = cmp.Or(own.Effort, all.Effort)
	own.ReadProject = cmp.Or(own.ReadProject, all.ReadProject)
	own.Commands = slices.Concat(own.Commands, all.Commands)
	own.Read, own.Write = union(own.Read, all.Read), union(own.Write, all.Write)
	return own
}

// union is both, of which the first wins.
func union(first, second map[string]string) map[string]string {
	if len(second) == 0 {
		return first
	}
	both := maps.Clone(second)
	maps.Copy(both, first)
	return both
}

// MayReadProject says whether the agent is granted the project's files.
func (a *Agent) MayReadProject() bool { return a.ReadProject != nil && *a.ReadProject }

// Limits bound a run: see troupe.Limits, which has the same fields.
type Limits struct {
	Turns       int           `yaml:"turns" doc:"How many times models are asked. Default: 50."`
	ToolCalls   int           `yaml:"tool_calls"`
	Tokens      int           `yaml:"tokens"`
	Cost        float64       `yaml:"cost" doc:"In US dollars. A model whose price is not known is refused then: see cost_unknown."`
	CostUnknown string        `yaml:"cost_unknown" enum:"refuse,allow" doc:"What becomes of models without a known price where cost is limited. Default: refuse."`
	Time        time.Duration `yaml:"time"`
	Depth       int           `yaml:"depth" doc:"How deep agents may call agents. Default: 5."`
	ToolTimeout time.Duration `yaml:"tool_timeout" doc:"Default: 10s."`
	Attempts    int           `yaml:"attempts" doc:"How often in a row a tool may fail. Default: 3."`
	ModelTries  int           `yaml:"model_tries" doc:"How often a model call is tried that fails for a passing reason. Default: 4."`
}

// Web says what the web tools may reach.
type Web struct {
	Allow  []string  `yaml:"allow" doc:"Hosts, host:port or networks such as 10.0.0.0/8 that tools may reach although they are not public."`
	Search WebSearch `yaml:"search" doc:"The search engine behind web_search."`
}

// WebSearch is a search engine.
type WebSearch struct {
	Engine  string `yaml:"engine" enum:"searxng,brave,tavily"`
	BaseURL string `yaml:"base_url" doc:"Where it is. SearXNG needs one; the others have theirs."`
	KeyEnv  string `yaml:"key_env" doc:"The environment variable that holds the key."`
}

// An Approval is a rule about tool calls.
type Approval struct {
	Tool  string            `yaml:"tool" doc:"The tool's name. A star stands for any characters, a question mark for one."`
	Where map[string]string `yaml:"where" doc:"What arguments must look like, by their names. A star stands for any characters; in a pattern such as https://*.example.org/docs/* it does not cross a slash, and ** does."`
	Do    string            `yaml:"do" enum:"allow,ask,deny"`
}

// An MCPServer is a program to start, or an address to connect to.
type MCPServer struct {
	Command string            `yaml:"command" doc:"The program to start."`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env" doc:"Its whole environment: it inherits none."`
	URL     string            `yaml:"url" doc:"The address of a server that is running already."`
	Headers map[string]string `yaml:"headers" doc:"Sent with every request to the url."`
	Timeout time.Duration     `yaml:"timeout" doc:"How long one call may take. Default: that of all tools."`
	Off     bool              `yaml:"off" doc:"Switched off: it is not started, and nobody has its tools."`
}

// An A2AAgent is an agent elsewhere.
type A2AAgent struct {
	URL         string            `yaml:"url" doc:"The address of the agent, or of its card."`
	Description string            `yaml:"description" doc:"What it is good for. Default: what its card says."`
	Headers     map[string]string `yaml:"headers" doc:"Sent with every request, such as Authorization."`
	Timeout     time.Duration     `yaml:"timeout" doc:"How long one answer may take. Default: 5m."`
}

// Log says what is logged.
type Log struct {
	Level string  `yaml:"level" enum:"debug,info,warn,error" doc:"What standard error gets. With info or debug, that is everything agents do. Default: warn."`
	File  LogFile `yaml:"file" doc:"A file that gets everything agents do, as JSON lines. It is made anew when it is full."`
}

// LogFile is where the log is kept.
type LogFile struct {
	Path     string `yaml:"path" doc:"Relative to the project. Default: there is no file."`
	Level    string `yaml:"level" enum:"debug,info,warn,error" doc:"Default: info."`
	MaxSize  int    `yaml:"max_size" doc:"In megabytes. Default: 100."`
	MaxAge   int    `yaml:"max_age" doc:"How many days older files are kept. Default: for ever."`
	MaxCount int    `yaml:"max_count" doc:"How many older files are kept. Default: all."`
	Compress bool   `yaml:"compress" doc:"Whether older files are compressed."`
}

// Server says how the HTTP server listens.
type Server struct {
	Addr  string            `yaml:"addr" doc:"Default: 127.0.0.1:7717."`
	Hosts []string          `yaml:"hosts" doc:"The names under which other machines reach it, such as troupe.example.org."`
	Users map[string]string `yaml:"users" doc:"Who may use it: by name, the environment variable that holds the user's token. Default: whoever has the printed link."`
	// Proxy is for servers behind one that signs people in.
	Proxy Proxy  `yaml:"proxy" doc:"A reverse proxy that signs people in and says in a header who they are."`
	URL   string `yaml:"url" doc:"Where people and other programs reach it, such as https://troupe.example.org. Needed for oidc; cards of agents have it, too. Default: as requests say."`
	OIDC  OIDC   `yaml:"oidc" doc:"An OpenID Connect provider that signs people in, such as Keycloak, Entra ID, Google or Okta."`
	Audit string `yaml:"audit" doc:"A file that gets a line of JSON for everything that somebody changes through the server, and for every sign-in. Default: none."`
	Quota Quota  `yaml:"quota" doc:"What each user may use in a day, UTC. Default: as much as they like."`
	// MonthCost bounds everybody together.
	MonthCost float64 `yaml:"month_cost" doc:"What everything together may cost in a calendar month (UTC), in US dollars, where prices are known. When it is spent the server begins nothing more until the next month. Default: no limit."`
	// RunsPerUser and ReadersPerUser are of server.Limits.
	RunsPerUser    int `yaml:"runs_per_user" doc:"How many runs a user who has a name may have under way at the same time, on all servers of a PostgreSQL store together. Default: 100."`
	ReadersPerUser int `yaml:"readers_per_user" doc:"How many pages and programs of theirs may follow events at the same time, likewise. Default: 200."`
	// Operators are server.Config's.
	Operators []string `yaml:"operators" doc:"The users who may change settings and keys on the page. Without users, whoever has the printed link may."`
}

// A Quota is what a user may use in a day. What is under way when it is used up is finished.
type Quota struct {
	Runs   int     `yaml:"runs" doc:"How many messages, flows and deliveries."`
	Tokens int     `yaml:"tokens" doc:"How many tokens, sent and received."`
	Cost   float64 `yaml:"cost" doc:"In US dollars, where prices are known."`
}

// OIDC says where people sign in, and who they are then.
type OIDC struct {
	Issuer         string        `yaml:"issuer" doc:"The provider's address, such as https://login.example.org/realms/company."`
	ClientID       string        `yaml:"client_id" doc:"What the provider knows this server by. Its redirect address is the server's url with /auth/callback."`
	SecretEnv      string        `yaml:"secret_env" doc:"The environment variable that holds the client's secret."`
	Name           string        `yaml:"name" doc:"What people call the provider. Default: its host."`
	UserClaim      string        `yaml:"user_claim" doc:"The claim that has the user's name. Default: email."`
	GroupsClaim    string        `yaml:"groups_claim" doc:"The claim that has the user's groups. Default: groups."`
	Groups         []string      `yaml:"groups" doc:"The groups whose members may use the server. Default: whoever the provider signs in."`
	OperatorGroups []string      `yaml:"operator_groups" doc:"The groups whose members may change settings and keys, beside operators."`
	Scopes         []string      `yaml:"scopes" doc:"Asked for beside openid, profile and email."`
	Session        time.Duration `yaml:"session" doc:"How long somebody stays signed in. Default: 12h."`
}

// A Proxy signs people in, and passes on who they are.
type Proxy struct {
	UserHeader     string   `yaml:"user_header" doc:"The header that has the user's name, such as X-Forwarded-User."`
	GroupsHeader   string   `yaml:"groups_header" doc:"The header that has the user's groups, with commas between them."`
	OperatorGroups []string `yaml:"operator_groups" doc:"The groups whose members may change settings and keys, beside operators."`
	From           []string `yaml:"from" doc:"The addresses of the proxy, such as 10.0.0.0/8. Headers from anywhere else count for nothing. Default: this machine."`
	SecretEnv      string   `yaml:"secret_env" doc:"The environment variable that holds a secret of the proxy and this server, of 32 characters or more. The headers are then believed only beside it, in X-Troupe-Proxy-Secret. Default: the address is enough."`
}

// Pipeline says how requests are delivered.
type Pipeline struct {
	Output     string  `yaml:"output" doc:"Where a repository is made for deliveries of a project that is in none. Default: delivery."`
	Project    string  `yaml:"project" doc:"A directory whose files the knowledge of a delivery may come from. Default: the repository."`
	Approve    string  `yaml:"approve" enum:"auto,plan,diff,manual" doc:"When a person is asked: at closed gates only, after planning, before the end, or after every phase. Default: auto."`
	Compensate bool    `yaml:"compensate" doc:"Whether files that agents claim to have written are written as artifacts. Default: they are proposals."`
	Phases     []Phase `yaml:"phases" doc:"The phases in their order. Default: requirements, architecture, discovery, planning, implementation, qa."`

	Repo      string   `yaml:"repo" doc:"A directory in the repository that is changed. Default: the one around the project, else a new one."`
	Branch    string   `yaml:"branch" doc:"The branch of a delivery; <feature> and <id> are filled in. Default: troupe/<feature>-<id>."`
	Documents string   `yaml:"documents" enum:"branch,outside" doc:"Whether the phases' documents are a commit of the branch, or kept outside. Default: branch."`
	Setup     []string `yaml:"setup" doc:"Commands that run before the checks, with network, such as npm ci."`
	Again     string   `yaml:"setup_again" enum:"ask,never,always" doc:"Whether the setup runs again where a step changes what the project depends on: on the base's files and the changed manifests. Default: ask, with the difference shown."`
	Scripts   bool     `yaml:"setup_scripts" doc:"Whether install scripts of dependencies run then, where the tool can be told not to. Default: they do not."`
	Link      []string `yaml:"link" doc:"Directories of the checkout that git ignores and that checks may read. Default: node_modules, .venv, venv and vendor."`
	Copy      []string `yaml:"copy" doc:"Files of the checkout that git ignores and that are copied. The file .worktreeinclude is read as well."`
	Checks    []Check  `yaml:"checks" doc:"What the result is checked with. Default: what is found in the repository."`
	Format    []string `yaml:"format" doc:"Commands that run before the checks; what they do to changed files is kept."`
	Protect   []string `yaml:"protect" doc:"Paths that no agent may change, such as migrations/** or LICENSE."`
	Edits     string   `yaml:"edits" enum:"auto,json,blocks" doc:"Whether agents write code within JSON or in blocks beside it. Default: auto."`
	Rounds    int      `yaml:"rounds" doc:"How often the checks of a step may fail. Default: 4."`
	QARounds  *int     `yaml:"qa_rounds" doc:"How often the result is reviewed; 0 leaves reviews out. Default: 3."`
	Sandbox   string   `yaml:"sandbox" enum:"auto,full,files,off" doc:"How checks are kept apart. Default: auto, the best there is."`
	Wrap      []string `yaml:"sandbox_command" doc:"A command that runs a check in place of the sandbox, such as a container engine's; {worktree} is filled in."`
	Network   []string `yaml:"network" doc:"Hosts that checks may reach, such as registry.example.org, *.example.org or example.org:443. Default: none."`
	Read      []string `yaml:"read" doc:"Further directories that checks may read."`
	Env       []string `yaml:"env" doc:"Environment variables that checks get, by name. Default: none of yours."`
	Cost      float64  `yaml:"cost" doc:"US dollars that a delivery may cost. Default: the project's limit."`
}

// A Check is a command that says by its exit code whether all is well.
type Check struct {
	Name    string        `yaml:"name"`
	Run     string        `yaml:"run" doc:"The command."`
	Timeout time.Duration `yaml:"timeout" doc:"How long it may take. Default: 10m."`
	When    string        `yaml:"when" doc:"It runs only if a path that matches was changed, such as **/*.go."`
}

// A Phase is one phase of a delivery.
type Phase struct {
	Name     string   `yaml:"name" doc:"Built-in phases are known by their names, and need no more."`
	Agent    string   `yaml:"agent" doc:"The agent that thinks; it gets no tools here. Default: one that knows its role."`
	Title    string   `yaml:"title" doc:"The agent's role."`
	Task     string   `yaml:"task" doc:"What the agent is to do."`
	Path     string   `yaml:"path" doc:"Where its document goes; YYYY-MM-DD and <feature> are filled in."`
	Schema   string   `yaml:"schema" doc:"A file with the JSON schema of the phase's outputs. A phase of your own needs one."`
	Critical []string `yaml:"critical" doc:"The outputs without which the phase has failed."`
}

// Knowledge says where documents are kept.
type Knowledge struct {
	Path        string `yaml:"path" doc:"The file of the embedded base. Default: the PostgreSQL database where store names one, else knowledge.db in the data directory."`
	Shared      bool   `yaml:"shared" doc:"Whether all users of the server share one base. Default: each has documents of their own."`
	User        string `yaml:"user" doc:"Whose documents they are, in the embedded base. Default: local."`
	Server      string `yaml:"server" doc:"A server of mcp that keeps them instead."`
	Style       string `yaml:"style" enum:"gkchatty,memory" doc:"How that server's tools are called. Default: gkchatty."`
	UserEnv     string `yaml:"user_env" doc:"The environment variable that holds the user's name for the server."`
	PasswordEnv string `yaml:"password_env" doc:"The environment variable that holds the password."`
}

// useDefaults fills in what a project has without saying so.
func (c *Config) useDefaults() {
	if c.Data == "" {
		c.Data = "data"
	}
	if c.Pipeline.Output == "" {
		c.Pipeline.Output = "delivery"
	}
	if c.Skills == nil {
		c.Skills = []string{"skills"}
	}
}
