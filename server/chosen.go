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
