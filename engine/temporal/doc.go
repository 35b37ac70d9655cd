// Package temporal has runs carried out by the workers of a Temporal cluster.
//
// A run is a workflow with one activity. The run's input is on record in Troupe's store
// before the workflow is started, and what travels through Temporal is a [work.Job]: ids,
// and never what anybody said. The activity resumes the run over its log and says every few seconds
// that it lives. A worker that dies is followed by another, which takes the session
// over and repeats nothing that is on record. A run that ends with a question has ended: its
// answer is another run.
//
// This is a module of its own, so that programs which do not use it do not link Temporal.
package temporal
