// Package troupe runs troupes of AI agents.
//
// An [Agent] is a model with instructions and the tools it may use. An [Engine]
// runs an agent, or any other [Step], and reports what happens as [Event]s:
//
//	engine, err := troupe.New(troupe.Config{})
//	...
//	for event, err := range engine.Run(ctx, agent, troupe.Input{Text: "What is 2+3?"}) {
//		...
//	}
//
// Every event is numbered and stored before it is shown, and the log of a run is
// its journal: running again over it repeats nothing that is in it. So a killed
// run resumes by running again, and history, logs, traces and metrics are all
// computed from events.
package troupe
