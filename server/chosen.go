package server

// ChosenModel returns the model that was chosen for a session, for programs beside a server
// that carry out its runs: empty where none was. The directory and the shelf are those of
// [Config].
func ChosenModel(dir string, shelf Shelf, session string) (string, error) {
	book := openNoteBook(dir, shelf)
	book.isVisitor = true
	n, err := book.of(session)
	return n.Model, err
}

// ChooseModel has a model answer in a session from its next run on, in whatever program
// that is. An empty model means the usual one.
func ChooseModel(dir string, shelf Shelf, session, model string) error {
	book, err := newNoteBook(dir, shelf)
	if err != nil {
		return err
	}
	book.isVisitor = true
	return book.change(session, func(n *notes) { n.Model = model })
}

// ChosenAgent returns the agent or flow that was chosen to go on with a session which has
// this many events: empty where none was, or where somebody has gone on with it since.
func ChosenAgent(dir string, shelf Shelf, session string, events int64) (string, error) {
	book := openNoteBook(dir, shelf)
	book.isVisitor = true
	n, err := book.of(session)
	if err != nil || n.After != events {
		return "", err
	}
	return n.Agent, nil
}

// ChooseAgent has an agent or flow go on with a session which has this many events, in
// whatever program that is.
func ChooseAgent(dir string, shelf Shelf, session, agent string, events int64) error {
	book, err := newNoteBook(dir, shelf)
	if err != nil {
		return err
	}
	book.isVisitor = true
	return book.change(session, func(n *notes) { n.Agent, n.After = agent, events })
}
