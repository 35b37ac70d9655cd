// Package troupetest tests agents without a model, and models and stores against
// their contracts.
//
// A [Script] is a model that says what a test tells it to and fails the test when
// the conversation takes another course. [Transcript] runs whole conversations
// that are written as files and compares the events. A [Sampler] calls every tool
// it is offered with arguments that fit. [TestModel] and [TestStore] check
// implementations of the interfaces, and a [Server] is a model server that
// misbehaves by plan.
package troupetest
