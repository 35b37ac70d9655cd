// Package project opens a directory with a troupe.yaml: its agents, flows, tools,
// skills and models, the store of its sessions, an engine that runs them and an HTTP
// server that offers them. It is what the program troupe is made of.
//
//	p, err := project.Open("my-project", project.Options{})
//	...
//	defer p.Close()
//	engine, err := p.Engine(ctx)
//	...
//	mira, err := p.Agent(ctx, "mira")
//	...
//	outcome, err := troupe.Collect(engine.Run(ctx, mira, troupe.Input{Text: "Hello"}))
//
// A project in which nobody has chosen a model, and for which no provider's key is in
// the environment, is rehearsed: agents answer with no model at all, and their
// workflows can be walked through.
package project
