// Package bundle reads directories of agent definitions into agents.
//
// A bundle is a directory with agents, workflows, templates and a config file. It
// comes in several formats, which [Find] tells apart: custom bundles with a
// bundle.yaml, installed and source trees of BMAD from version 4 on, and agents
// written as skills. Whatever its format, an agent becomes one [Definition], and
// [Catalog.Agent] makes a [troupe.Agent] of it:
//
//	catalog, err := bundle.Find(dir, bundle.Config{})
//	...
//	defer catalog.Close()
//	alex, err := catalog.Agent("alex", bundle.Options{Model: model})
//	...
//	for event, err := range engine.Run(ctx, alex, troupe.Input{Text: "*help"}) {
//
// Files are read when they are needed: finding bundles reads their manifests, an
// agent starts with its own file and those its critical actions name, and a
// workflow is read when the model asks for it. All of them are opened by a
// [workspace.Workspace], so a bundle cannot name its way out of its directory.
//
// What looks wrong in a bundle is a [Finding] with file and line. A broken bundle
// or agent does not keep the others from being loaded.
package bundle
