package server

// An Agent is how an agent is listed.
type Agent struct {
	Bundle      string    `json:"bundle"`
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	Icon        string    `json:"icon"`
	Description string    `json:"description"`
	EntryPoint  bool      `json:"entry_point"`
	Format      string    `json:"format"`
	Path        string    `json:"path"`
	Commands    []Command `json:"commands"`
}

// A Command is something that an agent can be told to do by name.
type Command struct {
	Cmd         string `json:"cmd"`
	Description string `json:"description"`
	Kind        string `json:"kind"`
	Target      string `json:"target"`
}

// A Flow is how a flow is listed.
type Flow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Tree draws its steps, one on each line.
	Tree string `json:"tree"`
}

func (s *Server) listAgents(*call) ([]Agent, error) { return listed(s.config.Cast.Agents()), nil }

func (s *Server) listFlows(*call) ([]Flow, error) { return listed(s.config.Cast.Flows()), nil }

// listed is a list that JSON shows as one when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) runFlow(c *call, in message) (started, error) {
	return s.runApart(c, c.r.PathValue("name"), in)
}

// A delivery is a request to the pipeline.
type delivery struct {
	Request string `json:"request"`
}

func (s *Server) deliver(c *call, in delivery) (started, error) {
	return s.runApart(c, Pipeline, message{Text: in.Request})
}

// runApart runs a step in a session of its own.
func (s *Server) runApart(c *call, name string, in message) (started, error) {
	return s.onlyOnce(c, func() (started, error) {
		input, err := s.input(in)
		if err != nil {
			return started{}, err
		}
		run, err := s.say(c, name, input)
		if err != nil {
			return started{}, err
		}
		return run.started, nil
	})
}
