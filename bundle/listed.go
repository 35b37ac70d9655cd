package bundle

// A Listed agent is one as people see it before they talk to it.
type Listed struct {
	// Entry has the name, title, icon and description that the agent's file says.
	Entry
	// Definition is nil if the file cannot be read.
	Definition *Definition
	// Broken says why the agent cannot start, nil if it can.
	Broken error
}

// List reads all agents and tries to start each, with the options that it would run
// with, as far as that goes without a model.
func (c *Catalog) List(options func(id string) Options) []Listed {
	list := make([]Listed, len(c.entries))
	for i, e := range c.entries {
		list[i] = Listed{Entry: e.Entry}
		d, err := e.load()
		if err != nil {
			list[i].Broken = err
			continue
		}
		list[i].Entry, list[i].Definition = d.Entry, d
		var o Options
		if options != nil {
			o = options(e.ID)
		}
		_, list[i].Broken = c.PromptWith(e.ID, o)
	}
	return list
}
