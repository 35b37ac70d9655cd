package config

import (
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/suggest"
)

// check refuses what the kinds of values alone do not rule out.
func (r *reader) check(c *Config, root *yaml.Node) {
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		line := lineOf(root, "providers", name)
		if name == "" || strings.Contains(name, "/") {
			r.wrong(line, "the name of a provider has no slash: models are chosen as provider/name")
		}
		if base := c.Providers[name].BaseURL; base != "" && !isHTTP(base) {
			r.wrong(lineOf(root, "providers", name, "base_url"), "providers.%s.base_url must begin with http:// or https:// and a host", name)
		}
		if p := c.Providers[name]; min(p.BeginTimeout, p.IdleTimeout, p.AnswerTimeout) < 0 || min(p.MaxAnswer, p.MaxLine) < 0 {
			r.wrong(line, "providers.%s: neither times nor sizes are negative", name)
		}
		for model, m := range c.Providers[name].Models {
			if m.Window < 0 || m.Output < 0 || m.Price.Input < 0 || m.Price.CachedInput < 0 || m.Price.CacheWrite < 0 || m.Price.Output < 0 {
				r.wrong(lineOf(root, "providers", name, "models", model), "providers.%s.models.%s: neither window nor price is negative", name, model)
			}
		}
	}
	if all, ok := c.Agents[Everyone]; ok && all.Instructions+all.Description != "" {
		r.wrong(lineOf(root, "agents", Everyone), `agents."*" holds for all agents, and so has neither instructions nor a description`)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		if s := c.MCP[name]; (s.Command == "") == (s.URL == "") {
			r.wrong(lineOf(root, "mcp", name), "mcp.%s needs either a command or a url", name)
		} else if s.URL != "" && !isHTTP(s.URL) {
			r.wrong(lineOf(root, "mcp", name, "url"), "mcp.%s.url must begin with http:// or https:// and a host", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.A2A)) {
		if !isToolName(name) {
			r.wrong(lineOf(root, "a2a", name), "a2a: the name %q must be at most 60 letters, digits, _ and -: it is part of a tool's name", name)
		}
		if !isHTTP(c.A2A[name].URL) {
			r.wrong(lineOf(root, "a2a", name), "a2a.%s.url must begin with http:// or https:// and a host", name)
		}
	}
	r.checkStore(c, root)
	r.checkServer(&c.Server, root)
	r.checkQueues(c, root)
	r.checkLimits(&c.Limits, root)
	r.checkModels(c.Model, root, "model")
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		r.checkModels(c.Agents[name].Model, root, "agents", name, "model")
	}
	if w := c.Web.Search; w.BaseURL != "" && !isHTTP(w.BaseURL) {
		r.wrong(lineOf(root, "web", "search", "base_url"), "web.search.base_url must begin with http:// or https:// and a host")
	} else if w.Engine == "searxng" && w.BaseURL == "" {
		r.wrong(lineOf(root, "web", "search", "engine"), "web.search.base_url says where your SearXNG is")
	}
	for i, rule := range c.Approve {
		if rule.Tool == "" || rule.Do == "" {
			r.wrong(lineOf(root, "approve"), "rule %d of approve needs both tool and do", i+1)
		}
	}
	for i, phase := range c.Pipeline.Phases {
		if phase.Name == "" {
			r.wrong(lineOf(root, "pipeline", "phases"), "phase %d of pipeline.phases has no name", i+1)
		}
	}
	for i, check := range c.Pipeline.Checks {
		if check.Name == "" || check.Run == "" {
			r.wrong(lineOf(root, "pipeline", "checks"), "check %d of pipeline.checks needs both name and run", i+1)
		}
	}
	if server := c.Knowledge.Server; server != "" && c.MCP[server].Command == "" && c.MCP[server].URL == "" {
		r.wrong(lineOf(root, "knowledge", "server"), "knowledge.server: there is no server %q in mcp%s", server, suggest.Hint(server, slices.Collect(maps.Keys(c.MCP))))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Flows)) {
		flow := c.Flows[name]
		if flow.node == nil {
			r.wrong(lineOf(root, "flows", name), "flows.%s says nothing", name)
			continue
		}
		r.checkFlow(&flow, "flows."+name)
	}
}

// scheme is what an address begins with. One letter is that of a drive.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// keywords is how psql is told a database otherwise than by an address.
var keywords = regexp.MustCompile(`(^|\s)(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=`)

// checkStore refuses addresses that nothing is known of, which would be taken for the names of
// files. They may have a password in them, and are not shown.
func (r *reader) checkStore(c *Config, root *yaml.Node) {
	const example = "postgres://user:password@host/database"
	if files := c.Files; files != "" && files != "store" && files != "directory" && !strings.HasPrefix(files, "s3://") {
		r.wrong(lineOf(root, "files"), "files must be store, directory or s3://BUCKET/PREFIX?region=REGION")
	}
	store, line := c.Store, lineOf(root, "store")
	if strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://") {
		return
	}
	kind := ""
	if m := scheme.FindStringSubmatch(store); m != nil {
		kind = m[1]
	}
	switch {
	case keywords.MatchString(store):
		r.wrong(line, "store: a database is told by its address, not by words such as host=: %s", example)
	case strings.HasPrefix(store, "postgres:"), strings.HasPrefix(store, "postgresql:"):
		r.wrong(line, "store: the address of a PostgreSQL database has two slashes after its colon: %s", example)
	case kind == "sqlite", kind == "file":
		r.wrong(line, "store: write the name of a file as it is, without %s:, or the address of a PostgreSQL database: %s", kind, example)
	case kind != "":
		r.wrong(line, "store: %.32q is no kind of store: write the name of a file, or the address of a PostgreSQL database, %s%s", kind, example, suggest.Hint(kind, []string{"postgres", "postgresql"}))
	case strings.Contains(store, "://"):
		r.wrong(line, "store: this is no address that is known: write the name of a file, or the address of a PostgreSQL database, %s", example)
	}
}

func (r *reader) checkServer(s *Server, root *yaml.Node) {
	if s.URL != "" && !isHTTP(s.URL) {
		r.wrong(lineOf(root, "server", "url"), "server.url must begin with http:// or https:// and a host")
	}
	if min(s.Quota.Runs, s.Quota.Tokens) < 0 || s.Quota.Cost < 0 {
		r.wrong(lineOf(root, "server", "quota"), "server.quota: nothing in it is negative")
	}
	for key, n := range map[string]int{"runs_per_user": s.RunsPerUser, "readers_per_user": s.ReadersPerUser} {
		if line := lineOf(root, "server", key); n < 0 {
			r.wrong(line, "server.%s must be 1 or more; without it there are as many as usual", key)
		}
	}
	if node := at(root, "server", "month_cost"); node != nil && node.Tag != "!!null" && !(s.MonthCost > 0) && !r.hasProblem(node.Line) { // which is not true of what is no number
		r.wrong(node.Line, "server.month_cost must be more than 0; leave it out for no limit")
	}
	o := s.OIDC
	switch line := lineOf(root, "server", "oidc"); {
	case o.Issuer == "" && (o.ClientID != "" || o.SecretEnv != "" || len(o.Groups) > 0 || len(o.OperatorGroups) > 0):
		r.wrong(line, "server.oidc.issuer says which provider signs people in")
	case o.Issuer == "":
	case !isHTTP(o.Issuer):
		r.wrong(lineOf(root, "server", "oidc", "issuer"), "server.oidc.issuer must begin with https:// and a host")
	case o.ClientID == "" || o.SecretEnv == "":
		r.wrong(line, "server.oidc needs client_id, and secret_env for the environment variable with the client's secret")
	case s.URL == "":
		r.wrong(line, "server.oidc needs server.url: the provider sends people back there")
	case s.Proxy.UserHeader != "":
		r.wrong(line, "server.oidc and server.proxy both sign people in: choose one")
	}
}

// maxQueueName is how long the name of a queue may be: it is part of another's.
const maxQueueName = 60

func (r *reader) checkQueues(c *Config, root *yaml.Node) {
	line := lineOf(root, "queues")
	if len(c.Queues) > 0 && (c.Engine == "" || c.Engine == "embedded") {
		r.wrong(line, "queues are for workers: set engine: workers or engine: temporal")
	}
	seen := map[string]bool{}
	for i, q := range c.Queues {
		switch {
		case q.Name == "":
			r.wrong(line, "queue %d of queues has no name", i+1)
		case len(q.Name) > maxQueueName || !isToolName(q.Name):
			r.wrong(line, "queues: the name %.64q must be at most %d letters, digits, _ and -", q.Name, maxQueueName)
		case seen[q.Name]:
			r.wrong(line, "queues: there are two named %s", q.Name)
		}
		if !(q.Rate >= 0) { // which is not true of what is no number
			r.wrong(line, "queues: rate of %s must be a number, 0 or more", q.Name)
		} else if q.Rate > 0 && c.Engine == "workers" {
			r.wrong(line, "queues: rate of %s needs engine: temporal", q.Name)
		}
		for _, model := range q.Models {
			if !strings.ContainsAny(model, "/*") && model != "rehearsal" {
				r.wrong(line, "queues: models of %s are named as provider/name, and %.64q is not; %s/* is all of a provider's", q.Name, model, model)
			}
		}
		if q.FitsAll() && i < len(c.Queues)-1 {
			r.wrong(line, "queues: %s takes every run, and %s after it none: put it last, or say which users, agents, models or tools it is for", q.Name, c.Queues[i+1].Name)
		}
		seen[q.Name] = true
	}
}

// checkLimits refuses limits that would bound nothing, though somebody wrote them. Where a
// limit has a default, a negative one takes it away.
func (r *reader) checkLimits(l *Limits, root *yaml.Node) {
	for _, limit := range []struct {
		key        string
		value      float64
		hasDefault bool
	}{
		{"cost", l.Cost, false}, {"tokens", float64(l.Tokens), false}, {"time", float64(l.Time), false}, {"tool_calls", float64(l.ToolCalls), true},
		{"turns", float64(l.Turns), true}, {"depth", float64(l.Depth), true}, {"tool_timeout", float64(l.ToolTimeout), true},
		{"attempts", float64(l.Attempts), true}, {"model_tries", float64(l.ModelTries), true},
	} {
		node := at(root, "limits", limit.key)
		switch {
		case node == nil || node.Tag == "!!null" || limit.value > 0:
		case r.hasProblem(node.Line): // it could not be read
		case limit.hasDefault && limit.value == 0:
			r.wrong(node.Line, "limits.%s must not be 0: leave it out for the default, -1 is no limit", limit.key)
		case !limit.hasDefault: // 0, negative, or no number
			r.wrong(node.Line, "limits.%s must be more than 0; leave it out for no limit", limit.key)
		}
	}
}

// hasProblem reports whether something is known to be wrong with a line.
func (r *reader) hasProblem(line int) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Line == line })
}

// checkModels refuses a list without models, and a model without a name: agents would
// rehearse, and nobody has said so.
func (r *reader) checkModels(refs []string, root *yaml.Node, path ...string) {
	node := at(root, path...)
	if node == nil || node.Tag == "!!null" {
		return
	}
	name := strings.Join(path, ".")
	if node.Kind == yaml.SequenceNode && len(node.Content) == 0 {
		r.wrong(node.Line, "%s has no model in it; leave it out for the usual one", name)
	}
	for i, ref := range refs {
		line := node.Line
		if node.Kind == yaml.SequenceNode && i < len(node.Content) {
			line = node.Content[i].Line
		}
		if strings.TrimSpace(ref) == "" && !r.hasProblem(line) {
			r.wrong(line, "%s is empty: write provider/name, as in openai/gpt-4.1-mini, or rehearsal; leave it out for the usual one", name)
		}
	}
}

// at is the value at a path, nil where there is none.
func at(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		var next *yaml.Node
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}

// isToolName says whether models can call a tool of a name that has this in it.
func isToolName(name string) bool {
	return name != "" && len(name) <= 60 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// LineOf returns the line of the key at the end of a path in a file, or of as much of the
// path as is there; 0 if the file cannot be read. Items of lists are counted from 0.
func LineOf(file string, path ...string) int {
	src, err := os.ReadFile(file)
	var document yaml.Node
	if err != nil || yaml.Unmarshal(src, &document) != nil || len(document.Content) == 0 {
		return 0
	}
	return lineOf(document.Content[0], path...)
}

// lineOf returns the line of the key at the end of a path, or of as much of the
// path as is there.
func lineOf(n *yaml.Node, path ...string) int {
	line := n.Line
	for _, key := range path {
		var next *yaml.Node
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				line, next = n.Content[i].Line, n.Content[i+1]
			}
		}
		if i, err := strconv.Atoi(key); n.Kind == yaml.SequenceNode && err == nil && i < len(n.Content) {
			line, next = n.Content[i].Line, n.Content[i]
		}
		if next == nil {
			return line
		}
		n = next
	}
	return line
}
