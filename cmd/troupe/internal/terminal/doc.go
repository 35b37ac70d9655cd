// Package terminal shows conversations with agents to people.
//
// [Chat] is the interactive way. The program owns the last lines of the screen: the
// reply in the making, the input, a status line. All that is finished is printed
// above them once and then belongs to the terminal, so scrolling, selecting and
// searching work as they do for any other output.
//
// Nothing that a model or a file says reaches the terminal with control characters
// in it: see [Clean].
package terminal
