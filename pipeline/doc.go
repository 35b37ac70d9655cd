// Package pipeline runs phases whose JSON output is checked against a contract, and
// delivers what they want into a repository: applied, checked, committed and reviewed.
//
// The agents of the phases only think: they have no tools but such that read. Each answers with one JSON
// object, an [Output], that names what it found and describes the documents to keep.
// All effects are the pipeline's own, and each is a tool call on record, so that a
// delivery that was killed goes on where it was and repeats nothing.
//
// A [Contract] says what the answer of a phase must hold. [Contract.Check] tells what
// is critical from what is only worth a warning; [Contract.Parse] reads the answer out
// of what a model really says: JSON, JSON with words around it, JSON whose syntax is
// broken, or markdown. It never chooses between two answers, and what it cannot read
// it keeps as it is, with the gate closed.
package pipeline
