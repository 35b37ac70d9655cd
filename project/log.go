package project

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/troupe-dev/troupe/observe"
	"github.com/troupe-dev/troupe/store/postgres"
)

// openLog opens what the project's log goes to: what the program gives it, and a file
// where there is one. No secret gets there.
func (p *Project) openLog(own func(slog.Level) slog.Handler) error {
	c := p.config
	level, err := observe.ParseLevel(c.Log.Level)
	if err != nil {
		return err
	}
	var handlers []slog.Handler
	if own != nil {
		console := p.Redact(own(level))
		handlers = append(handlers, console)
		if console.Enabled(context.Background(), slog.LevelInfo) {
			// What agents do is shown as it happens anyway, with warnings and failures:
			// only who asks for more gets the log of it too.
			p.sinks = append(p.sinks, observe.Log(console))
		}
	}
	if c.Log.File.Path != "" {
		file, err := p.openLogFile()
		if err != nil {
			return err
		}
		handlers = append(handlers, file)
		p.sinks = append(p.sinks, observe.Log(file))
	}
	p.log = slog.New(slog.NewMultiHandler(handlers...))
	return nil
}

func (p *Project) openLogFile() (slog.Handler, error) {
	c := p.config.Log.File
	level, err := observe.ParseLevel(cmp.Or(c.Level, "info"))
	if err != nil {
		return nil, err
	}
	file, err := observe.OpenFile(observe.FileOptions{
		Path: within(p.dir, c.Path), MaxSize: c.MaxSize, MaxAge: c.MaxAge, MaxCount: c.MaxCount, Compress: c.Compress,
	})
	if err != nil {
		return nil, err
	}
	p.logFile = file
	return p.Redact(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: level})), nil
}

// Redact returns a handler that passes records on without the keys, the tokens and
// the passwords that the project knows of.
func (p *Project) Redact(h slog.Handler) slog.Handler { return observe.Redact(h, p.secrets()...) }

// secrets are the values that must not be in any log.
func (p *Project) secrets() []string {
	c := p.config
	variables := append(p.models.KeyVariables(), c.Web.Search.KeyEnv)
	var secrets []string
	for _, provider := range c.Providers {
		secrets = slices.AppendSeq(secrets, maps.Values(provider.Headers))
	}
	for _, server := range c.MCP {
		secrets = slices.AppendSeq(secrets, maps.Values(server.Headers))
		for name, value := range server.Env {
			if name != "PATH" && name != "HOME" {
				secrets = append(secrets, value)
			}
		}
	}
	for _, name := range variables {
		if name != "" {
			secrets = append(secrets, p.models.Getenv(name))
		}
	}
	if postgres.IsAddress(c.Store) {
		secrets = append(secrets, postgres.Password(c.Store))
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}
